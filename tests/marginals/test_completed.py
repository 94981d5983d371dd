"""Columns that leave rows out: their tables are put together with others, and say what the schema says of such rows."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations, product

import numpy as np
import pandas
import pytest

from discreet import Budget, Schema, open_release, plan, release_to_file
from discreet.answering import ReleaseReader
from discreet.artifacts.files import read_release
from discreet.families.tables.answer.evidence import COUNTED_APART, WITHOUT_A_CELL
from discreet.families.tables.answer.linear_tables import LinearTable
from discreet.families.tables.estimate.consistent import ConsistentTables
from discreet.families.tables.estimate.residuals import ResidualTables
from discreet.families.tables.queries.completing import completed_table, tables_for
from discreet.families.tables.queries.residuals import BinnedTable, ModelDistance, Residual
from discreet.families.tables.release.residual import PreparedResiduals
from discreet.privacy.adjacency import Adjacency, sensitivity_of_disjoint_counts
from discreet.queries.measurable import counted_for
from discreet.releases.preparing import prepare
from discreet.releases.verifying import verify
from discreet.schema.completed import completed, completed_names, declared_schema
from tests.no_noise import without_noise
from tests.releasing import release

TEXT = """
dataset = "t"
adjacency = "{adjacency}"
people = 300
[columns.a]
kind = "category"
values = ["x", "y", "z"]
other = false
[columns.b]
kind = "integer"
range = [0, 4]
nulls = "exclude"
[columns.c]
kind = "boolean"
[columns.d]
kind = "integer"
range = [0, 2]
outside = "exclude"
nulls = "exclude"
"""
VALUES = {
    "a": ["x", "y", "z", "q", None],
    "b": [0, 1, 2, 3, 4, None],
    "c": [True, False, None],
    "d": [0, 1, 2, 7, None],
}
PAIRS = "marginals(2)"


def schema_of(adjacency: str = "add-remove") -> Schema:
    return Schema.loads(TEXT.format(adjacency=adjacency))


def rows_of(seed: int = 1, many: int = 300) -> pandas.DataFrame:
    public = np.random.default_rng(seed)
    drawn = {
        name: public.choice(np.array(each, dtype=object), many) for name, each in VALUES.items()
    }
    drawn["b"] = np.where(drawn["a"] == "x", 3, drawn["b"])  # columns that go together
    return pandas.DataFrame(drawn).astype(object)


def codes_of(schema: Schema, rows: pandas.DataFrame) -> dict[str, list[int | None]]:
    return {name: [schema.column(name).code_of(each) for each in rows[name]] for name in rows}


def truth_of(schema: Schema, codes: dict[str, list[int | None]], own: tuple[str, ...]):
    """Rows in each cell, of the rows that have one in every column of the table."""
    found = np.zeros(schema.sizes(own), dtype=np.int64)
    for cell in zip(*(codes[name] for name in own), strict=True):
        if None not in cell:
            found[cell] += 1
    return found


def asked(reader: ReleaseReader, own: tuple[str, ...]):
    by = ", ".join(own)
    return reader.ask(f"SELECT {by}, count(*) FROM t GROUP BY {by}").columns[0]


def released(folder, algorithm: str, adjacency: str, budget: Budget, workload: str = PAIRS):
    schema, rows = schema_of(adjacency), rows_of()
    made = release(
        rows, schema, budget=budget, workload=[workload],
        algorithms={workload: algorithm}, ledger=folder / "l.db",
    )  # fmt: skip
    return schema, rows, made


# --- what is measured ---------------------------------------------------------------------------


def test_a_completed_table_has_every_row_in_one_cell_and_is_counted_from_smaller_tables():
    schema, rows = schema_of(), rows_of()
    complete, codes = completed(schema, schema.names), codes_of(schema, rows)
    for own in [*combinations(schema.names, 3), ("a",), ("a", "d"), ()]:
        more = completed_names(complete, own)
        wanted = np.zeros(complete.sizes(own), dtype=np.int64)
        filled = [
            [schema.column(name).cells if code is None else code for code in codes[name]]
            for name in own
        ]
        for cell in zip(*filled, strict=True) if own else [()] * len(rows):
            wanted[cell] += 1
        tables = {
            each: truth_of(schema, codes, each) if each else np.array([len(rows)])
            for each in tables_for(own, more)
        }
        found = completed_table(own, more, tables)
        assert (found == wanted).all() and found.sum() == len(rows)


def test_a_completed_schema_answers_no_condition_with_the_cell_that_it_adds():
    schema = schema_of()
    complete = completed(schema, ["a", "c"])
    assert complete.sizes(schema.names) == (5, 5, 3, 3) and schema.sizes(schema.names) == (
        4,
        5,
        3,
        3,
    )
    assert completed(complete, ["a"]) is complete and declared_schema(complete) is schema
    column = complete.column("a")
    for operator, literal in [("!=", "x"), ("not in", ["x"]), ("is null", None), ("is not null", None)]:  # fmt: skip
        assert column.codes_where(operator, literal) == schema.column("a").codes_where(operator, literal)  # fmt: skip
    assert column.code_of("q") == 4 and column.code_of("y") == 1 and column.code_of(None) == 3
    assert column.value_in(4, 0) == "(other)" and completed(schema, ["b"]).column("b").value_in(5, 0) is None  # fmt: skip


SMALL = """
dataset = "t"
adjacency = "{adjacency}"
[columns.a]
kind = "boolean"
nulls = "exclude"
[columns.b]
kind = "category"
values = ["x", "y"]
other = false
[columns.c]
kind = "boolean"
"""


@pytest.mark.parametrize("kind", [Residual, BinnedTable])
@pytest.mark.parametrize("own", [("a",), ("a", "b"), ("b", "c")])
@pytest.mark.parametrize("adjacency", list(Adjacency))
def test_the_sensitivity_of_a_completed_query_is_the_largest_move_of_any_pair_of_neighbours(
    adjacency, own, kind
):
    """Over all rows, also those without a cell in some column or in all."""
    schema = Schema.loads(SMALL.format(adjacency=adjacency.value))
    query = kind(own, completed=completed_names(completed(schema, own), own))
    values = {"a": [True, False, None], "b": ["x", "y", None, "q"], "c": [True, False, None]}

    def counted(row):
        codes = {name: [schema.column(name).code_of(value)] for name, value in zip(own, row, strict=True)}  # fmt: skip
        return query.evaluate(
            *(
                truth_of(schema, codes, each) if each else np.array([1])
                for each in counted_for(query)
            )
        )

    moves = [counted(row) for row in product(*(values[name] for name in own))]
    if adjacency is Adjacency.CHANGE_ONE:
        moves = [one - other for one in moves for other in moves]
    declared = query.sensitivity(schema)
    assert declared.l1 == max(int(np.abs(move).sum()) for move in moves)
    assert declared.l2_squared == max(int((move**2).sum()) for move in moves)
    if kind is BinnedTable:
        assert declared == sensitivity_of_disjoint_counts(schema.adjacency, schema.unit)
        assert all(move.sum() == (adjacency is Adjacency.ADD_REMOVE) for move in moves)


def test_completed_queries_are_stored_and_others_as_before():
    for query in (
        Residual(("a", "b"), completed=("a",)),
        BinnedTable(("a",), ((0, 0, 1),), ("a",)),
        ModelDistance.to(("a",), np.array([1, 2, 3]), completed=("a",)),
    ):
        stored = query.to_dict()
        assert stored["completed"] == ["a"] and type(query).from_dict(stored) == query
        del stored["completed"]
        assert type(query).from_dict(stored) != query
    assert Residual(("a",)).to_dict() == {"kind": "residual", "columns": ["a"], "bins": None}


# --- what is answered ---------------------------------------------------------------------------


@pytest.mark.parametrize("delta", ["0", "1e-6"])
@pytest.mark.parametrize("adjacency", ["add-remove", "change-one"])
@pytest.mark.parametrize("algorithm", ["residuals", "adaptive"])
def test_without_noise_every_table_counts_the_rows_with_a_cell_in_its_own_columns(
    tmp_path, algorithm, adjacency, delta
):
    budget = Budget(epsilon=60, delta=delta) if delta != "0" else Budget(epsilon=60)
    with without_noise():
        schema, rows, made = released(tmp_path, algorithm, adjacency, budget)
    reader, codes = ReleaseReader(made), codes_of(schema, rows)
    measured = made.parts[0].facts[WITHOUT_A_CELL]
    assert made.parts[0].algorithm == algorithm and measured == COUNTED_APART
    assert reader.ask("SELECT count(*) FROM t")[0].answer.estimate == len(rows)
    known = [each.query for each in made.parts[0].noisy]
    for own in [*combinations(schema.names, 1), *combinations(schema.names, 2)]:
        found, truth = asked(reader, own), truth_of(schema, codes, own).reshape(-1)
        assert (found.lower <= truth).all() and (truth <= found.upper).all()
        if any(each.columns == own and each.bins is None for each in known if not isinstance(each, ModelDistance)):  # fmt: skip
            assert (found.estimate == truth).all()
    assert verify(made).ok


@pytest.mark.parametrize("algorithm", ["residuals", "adaptive", "automatic"])
def test_with_noise_intervals_hold_answers_agree_and_the_file_is_verified(tmp_path, algorithm):
    """Errors of 3 to 8 rows at 95%: of 162 intervals for each of three algorithms, 130 hold but for one run in a million."""
    schema, rows = schema_of(), rows_of()
    path = tmp_path / "r.release"
    release_to_file(
        rows, schema, path, budget=Budget(epsilon=3), workload=[PAIRS],
        algorithms={PAIRS: algorithm}, ledger=tmp_path / "l.db",
    )  # fmt: skip
    assert verify(path).ok and read_release(path).parts[0].algorithm in ("residuals", "adaptive", "direct")  # fmt: skip
    reader, codes = open_release(path), codes_of(schema, rows)
    held = many = 0
    for own in combinations(schema.names, 2):
        found, truth = asked(reader, own), truth_of(schema, codes, own).reshape(-1)
        held += int(((found.lower <= truth) & (truth <= found.upper)).sum())
        many += len(truth)
        assert (found.estimate >= 0).all()
    assert held >= 0.8 * many
    if algorithm == "residuals":
        inside = asked(reader, ("a", "c")).estimate.reshape(4, 3).sum(axis=0)
        assert (inside <= asked(reader, ("c",)).estimate).all(), "the rest has no cell in a"


def test_a_weighted_sum_of_declared_cells_has_the_noise_of_just_these():
    """Each draw moves the sum by its coefficient: seen by moving the measured numbers one by one."""
    schema = Schema.loads(SMALL.format(adjacency="add-remove"))
    (prepared,) = prepare(
        schema, budget=Budget(epsilon=1, delta="1e-6"), workload=["marginals(a, b; b, c)"],
        algorithms={"marginals(a, b; b, c)": "residuals"},
    ).parts  # fmt: skip
    assert isinstance(prepared, PreparedResiduals)
    silent = prepared.tables()
    weights = np.array([[1.0, 0.0, 2.0], [0.0, 0.0, 3.0]])

    def table(measured):
        return LinearTable(("a", "b"), ConsistentTables(ResidualTables(prepared.complete, measured), ()))  # fmt: skip

    drawn = {key[1][0]: row for key, _, row in table(silent.measured).draws(weights)}
    assert table(silent.measured).counts.shape == weights.shape == schema.sizes(("a", "b"))
    for place, each in enumerate(silent.measured):
        for number in range(len(each.values)):
            moved = list(silent.measured)
            moved[place] = replace(each, values=np.eye(len(each.values), dtype=np.int64)[number])
            told = float((table(moved).counts * weights).sum())
            own = drawn.get(each.query.columns)
            assert told == pytest.approx(0.0 if own is None else own[number])


def test_synthetic_rows_are_left_out_as_often_as_rows_are(tmp_path):
    budget = Budget(epsilon=60)
    with without_noise():
        schema, rows, made = released(tmp_path, "residuals", "add-remove", budget)
    drawn = ReleaseReader(made).synthesize(seed=5)
    assert len(drawn) == len(rows)
    assert any("no cell in a, b, d" in note for note in drawn.notes)
    mine = {name: [schema.column(name).code_of(each) for each in drawn.column(name)] for name in drawn.names}  # fmt: skip
    true = codes_of(schema, rows)
    for own in [*combinations(schema.names, 1), *combinations(schema.names, 2)]:
        apart = np.abs(truth_of(schema, mine, own) - truth_of(schema, true, own)).sum()
        assert apart <= 0.1 * len(rows)
    drawn.write(tmp_path / "drawn.csv")
    drawn.write(tmp_path / "drawn.parquet")


def test_one_table_with_noise_on_its_cells_lies_beside_completed_ones(tmp_path):
    schema, rows = schema_of(), rows_of()
    workload = ["marginals(a, b; b, c; a, c)", "marginals(a, d)"]
    with without_noise():
        made = release(
            rows, schema, budget=Budget(epsilon=60), workload=workload,
            algorithms={workload[0]: "residuals"}, ledger=tmp_path / "l.db",
        )  # fmt: skip
    reader, codes = ReleaseReader(made), codes_of(schema, rows)
    assert [part.kind for part in made.parts] == ["residuals", "marginals"]
    for own in [("a", "b"), ("b", "c"), ("a", "c"), ("a", "d"), ("a",), ("b",)]:
        assert (asked(reader, own).estimate == truth_of(schema, codes, own).reshape(-1)).all(), own
    assert len(reader.synthesize(seed=1)) == len(rows) and verify(made).ok


def test_ranges_beside_a_completed_table_of_their_column_agree_with_it(tmp_path):
    schema, rows = schema_of(), rows_of()
    made = release(
        rows, schema, budget=Budget(epsilon=2), workload=["marginals(a, b; b, c)", "intervals(b)"],
        algorithms={"marginals(a, b; b, c)": "residuals"}, ledger=tmp_path / "l.db",
    )  # fmt: skip
    reader = ReleaseReader(made)
    groups = asked(reader, ("b",)).estimate
    (row,) = reader.ask("SELECT count(*) FROM t WHERE b BETWEEN 1 AND 3")
    assert row.answer.estimate == groups[1:4].sum() and verify(made).ok


def test_declared_empty_cells_stay_empty_and_say_nothing_of_rows_without_a_cell(tmp_path):
    text = TEXT.format(adjacency="add-remove") + '[[impossible]]\na = "x"\nb = { "<" = 3 }\n'
    schema, rows = Schema.loads(text), rows_of()
    for algorithm in ("residuals", "adaptive"):
        made = release(
            rows, schema, budget=Budget(epsilon=1), workload=[PAIRS],
            algorithms={PAIRS: algorithm}, ledger=tmp_path / f"{algorithm}.db",
        )  # fmt: skip
        found = asked(ReleaseReader(made), ("a", "b")).estimate.reshape(4, 5)
        assert (found[0, :3] == 0).all() and verify(made).ok
        assert len(ReleaseReader(made).synthesize(seed=1, rows=50)) == 50


# --- what is planned ----------------------------------------------------------------------------


def test_one_column_that_leaves_rows_out_no_longer_costs_a_class_its_shared_noise():
    """All pairs of 12 columns of 4 cells, with a delta: noise on each table has a third more error."""
    lines = 'dataset = "t"\n' + "".join(
        f'[columns.c{place}]\nkind = "category"\nvalues = ["x", "y", "z"]\nother = false\n'
        for place in range(12)
    )
    closed = Schema.loads(lines + 'nulls = "exclude"\n')
    budget, errors = Budget(epsilon=1, delta="1e-6"), {}
    for algorithm in ("automatic", "direct"):
        (row,) = plan(closed, workload=PAIRS, budget=budget, algorithms={PAIRS: algorithm}).classes
        errors[algorithm] = row.error.expected
        assert row.algorithm == ("residuals" if algorithm == "automatic" else "direct")
        assert ("--algorithm" in row.error.note) == (algorithm == "direct")
        assert row.error.queries == 55 * 16 + 11 * 12
    assert errors["automatic"] < 0.75 * errors["direct"]
