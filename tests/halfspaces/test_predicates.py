"""Declared predicates: exact parts, exact sensitivities, strategies that help, bounds that hold."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import product
from pathlib import Path

import numpy as np
import polars
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet import plan, release
from discreet.answering.regions.region import Region
from discreet.artifacts.files import read_release, write_release
from discreet.artifacts.measurement import Measurement
from discreet.core.noise import DrawnNoise
from discreet.core.vault import Grant
from discreet.errors import BadInput, NotAnswerable
from discreet.families.predicates.answer.predicates import PredicateSource
from discreet.families.predicates.estimate.multiplicative import foreseen_error
from discreet.families.predicates.estimate.strategies import strategies
from discreet.families.predicates.queries.predicates import Predicates, partition
from discreet.families.predicates.queries.strategy import (
    InequalityCounts,
    StrategyCounts,
)
from discreet.families.predicates.release import mwem as predicates_mwem
from discreet.families.shared.queries.matrices import column_moves
from discreet.privacy.adjacency import Adjacency
from discreet.privacy.budget import Budget
from discreet.queries.classes import parse_class
from discreet.questions.dialects.sql import parse_question
from discreet.questions.inequality import lone_inequality
from discreet.releases.verifying import verify
from discreet.schema import Schema

PEOPLE = """
dataset = "people"
people = 400
adjacency = "{adjacency}"
{unit}
[columns.age]
kind = "integer"
range = [0, 9]
[columns.sex]
kind = "category"
values = ["f", "m"]
[columns.kids]
kind = "integer"
range = [0, 3]
"""
CONDITIONS = (
    "age >= 6",
    "sex = 'f' AND kids > 1",
    "NOT (age < 3) OR sex IS NULL",
    "age + 2*kids >= 9",
)


def schema_of(adjacency: str = "add-remove", *, rows: int = 1) -> Schema:
    unit = f'[unit]\nidentifier = "who"\nmax_rows = {rows}' if rows > 1 else ""
    return Schema.loads(PEOPLE.format(adjacency=adjacency, unit=unit))


def holds(age: int | None, sex: str | None, kids: int | None) -> list[bool]:
    """SQL's meaning, written out."""
    return [
        age is not None and age >= 6,
        sex == "f" and kids is not None and kids > 1,
        (age is not None and age >= 3) or sex is None,
        age is not None and kids is not None and age + 2 * kids >= 9,
    ]


def people(many: int, seed: int = 0) -> list[dict[str, object]]:
    draw = np.random.default_rng(seed)
    ages = [None, *range(10)]
    return [
        {
            "age": ages[draw.integers(11)],
            "sex": [None, "f", "m", "x"][draw.integers(4)],
            "kids": int(draw.integers(4)),
        }
        for _ in range(many)
    ]


def table_of(schema: Schema, rows: list[dict[str, object]], columns: tuple[str, ...]) -> np.ndarray:
    kinds = [schema.column(name) for name in columns]
    table = np.zeros([column.cells for column in kinds], dtype=np.int64)
    for row in rows:
        codes = tuple(column.code_of(row[column.name]) for column in kinds)
        if None not in codes:
            table[codes] += 1
    return table


def test_parts_say_of_every_row_what_the_conditions_say():
    schema = schema_of()
    found = partition(schema, CONDITIONS)
    assert found.columns == ("age", "sex", "kids")
    shape = tuple(schema.column(name).cells for name in found.columns)
    for age, sex, kids in product([None, *range(10)], [None, "f", "m", "x"], range(4)):
        codes = [
            schema.column(name).code_of(value)
            for name, value in zip(found.columns, (age, sex, kids), strict=True)
        ]
        part = found.part[np.ravel_multi_index(codes, shape)]
        assert found.workload[:, part].tolist() == holds(age, sex, kids)
    assert len({tuple(column) for column in found.workload.T}) == found.parts


def test_counts_of_predicates_and_of_inequalities_are_the_rows_that_satisfy_them():
    schema = schema_of()
    rows = people(300)
    truth = np.sum([holds(row["age"], row["sex"], row["kids"]) for row in rows], axis=0)
    query = StrategyCounts.of(schema, CONDITIONS)
    assert query.evaluate(table_of(schema, rows, query.columns)).tolist() == truth.tolist()
    condition = inequality(CONDITIONS[3], schema)
    strict = inequality("age + 2*kids > 9", schema)
    both = InequalityCounts.of(schema, [condition, strict])
    above = sum(row["age"] is not None and row["age"] + 2 * row["kids"] > 9 for row in rows)
    assert both.evaluate(table_of(schema, rows, both.columns)).tolist() == [truth[3], above]


def inequality(text, schema):
    condition = parse_question(f"SELECT count(*) FROM people WHERE {text}", schema).condition
    found = lone_inequality(condition, schema)
    assert found is not None
    return found


matrices = st.integers(1, 4).flatmap(
    lambda rows: st.lists(
        st.lists(st.integers(-6, 6), min_size=rows, max_size=rows), min_size=1, max_size=6
    ).map(lambda columns: np.array(columns, dtype=np.int64).T)
)


@settings(max_examples=150, deadline=None)
@given(matrix=matrices)
@pytest.mark.parametrize("adjacency", list(Adjacency))
def test_the_sensitivity_of_a_strategy_is_the_furthest_any_neighbour_moves_it(adjacency, matrix):
    """All pairs of places for one row, `nowhere` included: exact, neither above nor below."""
    places = [*matrix.T, np.zeros(len(matrix), dtype=np.int64)]
    if adjacency is Adjacency.ADD_REMOVE:
        moves = places
    else:
        moves = [one - other for one in places for other in places]
    assert column_moves(matrix, adjacency) == (
        max(int(np.abs(move).sum()) for move in moves),
        max(int((move * move).sum()) for move in moves),
    )


@pytest.mark.parametrize("adjacency", ["add-remove", "change-one"])
@pytest.mark.parametrize("rows", [1, 3])
def test_no_unit_moves_the_counts_by_more_than_their_sensitivity(adjacency, rows):
    schema = schema_of(adjacency, rows=rows)
    matrix = np.random.default_rng(1).integers(-3, 4, size=(5, partition(schema, CONDITIONS).parts))
    condition = inequality(CONDITIONS[3], schema)
    queries = [
        StrategyCounts.of(schema, CONDITIONS),
        StrategyCounts.of(schema, CONDITIONS, matrix),
        InequalityCounts.of(schema, [condition]),
    ]
    draw = np.random.default_rng(2)
    base = people(20)
    for query in queries:
        moved = query.sensitivity(schema)
        for _ in range(150):
            one, other = ([people(1, int(draw.integers(10**6)))[0]] * rows for _ in range(2))
            before = base + (other if adjacency == "change-one" else [])
            counts = [
                query.evaluate(table_of(schema, each, query.columns))
                for each in (before, base + one)
            ]
            difference = counts[0] - counts[1]
            assert np.abs(difference).sum() <= moved.l1
            assert (difference**2).sum() <= moved.l2_squared


@pytest.mark.parametrize("squared", [True, False])
def test_an_optimised_strategy_beats_single_counts_and_parts_on_all_intervals(squared):
    parts = 48
    workload = np.array(
        [[a <= x <= b for x in range(parts)] for a in range(parts) for b in range(a, parts)]
    )
    errors = {}
    for each in strategies(workload, squared=squared):
        matrix = workload.astype(np.int64) if each.matrix is None else each.matrix
        l1, l2 = column_moves(matrix, Adjacency.ADD_REMOVE)
        errors[each.name] = float(np.sqrt(l2) if squared else l1) * float(
            np.sqrt((each.reach**2).mean())
        )
        assert np.abs(each.reconstruction @ matrix - workload).max() < 1e-6
    assert errors["optimised"] < (0.85 if squared else 0.95) * min(
        errors["parts"], errors["independent"]
    )


@pytest.mark.parametrize("algorithm", ["strategy", "independent"])
@pytest.mark.parametrize("budget", [Budget(epsilon=1), Budget(epsilon=1, delta=1e-6)], ids=str)
def test_answers_to_declared_predicates_cover_as_often_as_they_say(tmp_path, algorithm, budget):
    """2,000 draws of all noise, the worst predicate of four: a true 95% falls below 92% with
    probability under 1e-8; caught almost surely: intervals that hold in 90% of the draws."""
    schema = schema_of("change-one")
    rows = people(400)
    asked = Predicates(CONDITIONS)
    made = release(
        polars.DataFrame(rows), schema, budget=budget, workload=[asked],
        algorithms={asked.text: algorithm}, ledger=tmp_path / "l.db",
    ).release  # fmt: skip
    assert verify(made).ok
    (part,) = made.parts
    (measured,) = part.measurements
    query = StrategyCounts.of(
        schema,
        CONDITIONS,
        None if measured.query.matrix is None else np.array(measured.query.matrix),
    )
    exact = query.evaluate(table_of(schema, rows, query.columns))
    truth = np.sum([holds(row["age"], row["sex"], row["kids"]) for row in rows], axis=0)
    questions = [
        parse_question(f"SELECT count(*) FROM people WHERE {each}", schema) for each in CONDITIONS
    ]
    draws = 2_000
    noise = DrawnNoise().draw(measured.law, draws * len(exact)).reshape(draws, -1)

    def asked(shown, condition):
        found = PredicateSource(shown, 0, schema).read_one(Region(condition), 0.95)
        assert found is not None
        return found

    # The interval's width does not depend on the draw, so it is computed once for each question.
    for place, question in enumerate(questions):
        held = 0
        base = asked(part, question.condition)
        units = []
        for k in range(len(exact)):
            one = np.zeros(len(exact), dtype=np.int64)
            one[k] = 1
            shown = replace(part, measurements=(replace(measured, values=one),))
            found = asked(shown, question.condition)
            assert found.upper - found.lower == pytest.approx(base.upper - base.lower, abs=1e-6)
            units.append(float(found.estimate[0]))
        half = float(base.upper[0] - base.lower[0]) / 2
        estimates = (exact + noise) @ np.array(units)
        held = int((np.abs(estimates - truth[place]) <= half + 1e-9).sum())
        assert held >= 0.92 * draws


@pytest.mark.parametrize("adjacency", ["add-remove", "change-one"])
def test_the_bound_of_a_model_holds_for_all_predicates_at_once(tmp_path, adjacency):
    """12 runs; a bound that truly holds at 95% fails in 7 or more with probability under 1e-6."""
    schema = schema_of(adjacency)
    rows = people(400)
    frame = polars.DataFrame(rows)
    truth = np.sum([holds(row["age"], row["sex"], row["kids"]) for row in rows], axis=0)
    asked = Predicates(CONDITIONS)
    failed = 0
    for run in range(12):
        opened = release(
            frame, schema, budget=Budget(epsilon=2), workload=[asked],
            algorithms={asked.text: "mwem"}, ledger=tmp_path / f"{run}.db",
        )  # fmt: skip
        assert verify(opened.release).ok
        (claim,) = opened.release.claims
        assert claim.simultaneous
        model = opened.release.parts[0].estimates["answers"]
        failed += bool(np.abs(model - truth).max() > claim.bound)
        answer = opened.ask(f"SELECT count(*) FROM people WHERE {CONDITIONS[0]}").only
        assert answer.covers.value == "noise + model"
    assert failed <= 6


def test_a_predicate_is_found_however_it_is_written_and_others_are_refused(tmp_path):
    schema = schema_of()
    opened = release(
        polars.DataFrame(people(200)), schema, budget=Budget(epsilon=5),
        workload=[Predicates(["age >= 6", "sex = 'f'"])], ledger=tmp_path / "l.db",
    )  # fmt: skip
    first = opened.ask("SELECT count(*) FROM people WHERE age >= 6").only
    assert opened.ask("SELECT count(*) FROM people WHERE NOT age <= 5").only == first
    assert opened.ask("SELECT count(*) FROM people WHERE age BETWEEN 6 AND 9").only == first
    with pytest.raises(NotAnswerable):
        opened.ask("SELECT count(*) FROM people WHERE age >= 7")
    write_release(opened.release, tmp_path / "p.release")
    again = type(opened)(read_release(tmp_path / "p.release"))
    assert again.ask("SELECT count(*) FROM people WHERE age >= 6").only == first


def test_a_predicate_that_cuts_a_cell_is_refused_before_anything_is_charged():
    wide = Schema.loads(
        'dataset = "people"\n[columns.age]\nkind = "integer"\nrange = [0, 99]\nwidth = 10'
    )
    partition(wide, ("age >= 30",))
    with pytest.raises(BadInput, match="cuts through a cell"):
        partition(wide, ("age >= 33",))


def test_a_strategy_that_was_altered_does_not_verify(tmp_path):
    schema = schema_of()
    asked = Predicates(CONDITIONS)
    made = release(
        polars.DataFrame(people(50)), schema, budget=Budget(epsilon=1), workload=[asked],
        algorithms={asked.text: "independent"}, ledger=tmp_path / "l.db",
    ).release  # fmt: skip
    (part,) = made.parts
    (measured,) = part.measurements
    assert isinstance(measured, Measurement)
    tripled = StrategyCounts.of(schema, CONDITIONS, 3 * measured.query.array(schema))
    forged = replace(part, measurements=(replace(measured, query=tripled),))
    assert not verify(replace(made, parts=(forged,))).ok


def test_the_text_of_the_class_is_read_back():
    for each in (
        Predicates("age >= 65"),
        Predicates(["sex = 'f' AND \"net income\" > 40", "a = 'it''s, (so)'"]),
    ):
        assert parse_class(each.text) == each
        assert parse_class(each.text + " * 3").weight == Fraction(3)


def test_a_table_with_less_noise_answers_before_a_declared_predicate(tmp_path):
    schema = schema_of()
    rows = people(200)
    answers = []
    for weight in (1, 50):
        opened = release(
            polars.DataFrame(rows), schema, budget=Budget(epsilon=2),
            workload=[Predicates(["sex = 'f'"]), f"marginals(sex) * {weight}"],
            ledger=tmp_path / f"{weight}.db",
        )  # fmt: skip
        answers.append(opened.ask("SELECT count(*) FROM people WHERE sex = 'f'").only.std)
    assert answers[1] < answers[0]


def test_every_selection_and_measurement_of_a_model_is_paid_for(tmp_path, monkeypatch):
    """What the grant was asked for adds up to the whole share, one entry for each use of the rows."""
    paid: list[Fraction] = []
    real = Grant._spend

    def spend(self, costs):
        paid.extend(cost.epsilon for cost in costs)
        return real(self, costs)

    monkeypatch.setattr(Grant, "_spend", spend)
    asked = Predicates(CONDITIONS)
    opened = release(
        polars.DataFrame(people(100)), schema_of("add-remove"), budget=Budget(epsilon=2),
        workload=[asked], algorithms={asked.text: "mwem"}, ledger=tmp_path / "l.db",
    )  # fmt: skip
    rounds = opened.release.parts[0].facts["rounds"]
    assert len(paid) == 2 * rounds + 3
    assert sum(paid) == 2


WIDE = """
dataset = "people"
people = 200
[columns.age]
kind = "integer"
range = [0, 19]
{width}
[columns.kids]
kind = "integer"
range = [0, 4]
[columns.sex]
kind = "category"
values = ["f", "m"]
"""


def test_a_declared_inequality_that_cuts_a_cell_is_refused_alone_and_joined():
    for text in ("age + kids >= 9", "sex = 'f' AND NOT age + kids >= 9"):
        with pytest.raises(BadInput, match="cuts through cells of column 'age'"):
            plan(
                Schema.loads(WIDE.format(width="width = 5")),
                workload=Predicates([text]),
                budget=Budget(epsilon=1),
            )


def test_a_declared_inequality_is_joined_with_other_conditions_and_negated(tmp_path):
    draw = np.random.default_rng(3)
    rows = [
        {"age": int(a), "kids": None if k > 4 else int(k), "sex": "fm"[s]}
        for a, k, s in zip(
            draw.integers(0, 20, 200),
            draw.integers(0, 6, 200),
            draw.integers(0, 2, 200),
            strict=True,
        )
    ]
    texts = {
        "sex = 'f' AND age + 2*kids >= 12": lambda r: r["sex"] == "f" and r["age"] + 2 * r["kids"] >= 12,
        "NOT (sex = 'f' OR age + 2*kids >= 12)": lambda r: r["sex"] == "m" and r["age"] + 2 * r["kids"] < 12,
    }  # fmt: skip
    opened = release(
        polars.DataFrame(rows), Schema.loads(WIDE.format(width="")), budget=Budget(epsilon=200),
        workload=[Predicates(list(texts))], ledger=tmp_path / "l.db",
    )  # fmt: skip
    for text, holds_of in texts.items():
        truth = sum(holds_of(row) for row in rows if row["kids"] is not None)
        found = opened.ask(f"SELECT count(*) FROM people WHERE {text}", confidence=1 - 1e-9).only
        assert found.lower <= truth <= found.upper
        assert abs(found.estimate - truth) <= 1


def test_mwem_is_chosen_where_it_expects_less_and_only_there():
    """Sixty intervals: at a tiny budget any model beats noise as large as the table, at a large one none does."""
    schema = Schema.loads(WIDE.format(width=""))
    asked = Predicates([f"age BETWEEN {a} AND {b}" for a in range(8) for b in range(a + 2, a + 9)])
    chosen = {}
    for epsilon in ("1/200", "20"):
        (row,) = plan(schema, workload=asked, budget=Budget(epsilon=epsilon)).classes
        chosen[epsilon] = row.algorithm
        expected = [
            plan(
                schema, workload=asked, budget=Budget(epsilon=epsilon), algorithms={asked.text: name}
            ).classes[0].error.expected
            for name in ("mwem", "independent")
        ]  # fmt: skip
        assert row.error.expected <= min(expected)
    assert chosen["1/200"] == "mwem"
    assert chosen["20"] != "mwem"


ONE_COLUMN = """
dataset = "people"
people = 50000
[columns.age]
kind = "integer"
range = [0, 99]
"""


def test_a_single_count_is_never_planned_below_its_noise():
    """Whatever table a run is simulated on, by luck some threshold fits it: none may look better for that."""
    schema, budget = Schema.loads(ONE_COLUMN), Budget(epsilon="1/10")
    for low in range(5, 100, 5):
        asked = Predicates([f"age >= {low}"])
        (row,) = plan(schema, workload=asked, budget=budget).classes
        assert row.algorithm == "independent"
        assert row.error.expected >= 0.99 * np.sqrt(2 / np.pi) * np.sqrt(2) * 10


def test_a_model_that_is_named_is_never_planned_below_the_noise_of_one_count(monkeypatch):
    """Even where every simulated run were right by luck."""
    monkeypatch.setattr(predicates_mwem, "foreseen_error", lambda *_, **__: 0.0)
    predicates_mwem._foreseen.cache_clear()
    asked = Predicates(["age >= 20", "age >= 21"])
    named = {asked.text: "mwem"}
    for epsilon, rows, least in (("1/10", None, 11.2), ("1/10", 40, 10.0), ("1/100", None, 112.0)):
        (row,) = plan(
            Schema.loads(ONE_COLUMN), workload=asked, budget=Budget(epsilon=epsilon),
            algorithms=named, rows=rows,
        ).classes  # fmt: skip
        assert row.error.expected >= least
    predicates_mwem._foreseen.cache_clear()


def test_an_error_is_foreseen_on_several_tables():
    """Without a round nothing is learnt: on one table an even spread is right by luck for some threshold,
    on many tables it is right for none.
    """
    part = np.arange(10)
    errors = {}
    for low in range(1, 10):
        workload = (part >= low)[None, :]
        errors[low] = foreseen_error(
            workload, part, [(10, 10)], rows=1000, rounds=0, selecting=1.0, noise=0.0
        )
    assert min(errors.values()) >= 80, errors


def test_a_null_in_one_predicates_column_takes_no_row_from_another(tmp_path: Path) -> None:
    """Tables with few and with too many cells to list; noise at epsilon 60 is 0 but for one draw in 1e-12."""
    names = "abcd"
    for top in (9, 59):
        columns = "".join(
            f'[columns.{name}]\nkind = "integer"\nrange = [0, {top}]\n' for name in names
        )
        schema = Schema.loads(f'dataset = "p"\npeople = 500\n{columns}')
        values = {name: [top] * 500 for name in names}
        rows = polars.DataFrame({**values, "c": [None] * 400 + [top] * 100})
        asked = Predicates([f"a + b >= {top}", f"c + d >= {top}"])
        made = release(
            rows,
            schema,
            budget=Budget(epsilon=60),
            workload=[asked],
            ledger=tmp_path / f"{top}.db",
        )
        for condition, truth in zip(asked.conditions, (500, 100), strict=True):
            found = made.ask(f"SELECT count(*) FROM p WHERE {condition}").only
            assert found.lower <= truth <= found.upper, (top, condition)
            assert found.upper - found.lower < 50


@pytest.mark.parametrize(
    ("conditions", "is_refused"),
    [
        (("age >= 6", "kids > 1"), True),
        (("age >= 6 OR kids > 1",), True),
        (("NOT (age >= 6 AND kids > 1)",), True),
        (("kids IS NULL OR age >= 6",), True),
        (("age >= 6", "age + kids >= 4"), True),
        (("age >= 6 AND kids > 1", "NOT (age < 3 OR kids IN (0, 2))"), False),
        (("age + kids >= 4", "NOT (kids < 1 OR age + kids >= 7)"), False),
    ],
)
def test_a_column_that_leaves_rows_out_is_refused_where_others_would_lose_them(
    conditions: tuple[str, ...], is_refused: bool
) -> None:
    schema = Schema.loads(
        'dataset = "p"\n[columns.age]\nkind = "integer"\nrange = [0, 9]\n'
        '[columns.kids]\nkind = "integer"\nrange = [0, 3]\nnulls = "exclude"\n'
    )
    if is_refused:
        with pytest.raises(BadInput, match="'kids' leaves rows out"):
            Predicates(list(conditions)).check(schema)
    else:
        Predicates(list(conditions)).check(schema)
