"""`[derived]`: columns that are declared to be functions of others, in answers, synthetic rows and the statement."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import discreet as dc
from discreet.audits.observing import recording
from discreet.questions.cells.impossible import impossible_cells, impossible_rows
from discreet.questions.derived import ANY, computed, derived_columns, schema_mistakes
from discreet.releases.verifying import verify
from tests.no_noise import without_noise
from tests.releasing import release

PLAIN = """
dataset = "people"
[columns.born]
kind = "date"
range = [1960-01-01, 2019-12-31]
granularity = "quarter"
[columns.age]
kind = "integer"
range = [0, 99]
[columns.stage]
kind = "category"
values = ["child", "adult"]
[columns.sex]
kind = "category"
values = ["F", "M"]
"""
DERIVED = """
[derived]
stage = "CASE WHEN age < 18 THEN 'child' ELSE 'adult' END"
age = "2024 - year(born)"
"""
IMPOSSIBLE = """
[[impossible]]
stage = "child"
sex = "M"
"""
SCHEMA = dc.Schema.loads(PLAIN + DERIVED + IMPOSSIBLE)
SMALL = dc.Schema.loads(
    PLAIN.replace("[1960-01-01, 2019-12-31]", "[2001-01-01, 2012-12-31]")
    .replace("quarter", "year")
    .replace("[0, 99]", "[0, 24]")
    + DERIVED
    + IMPOSSIBLE
)
"""Fewer cells, for synthetic rows, which take long to fit to large tables."""
SURE = 1 - 1e-8


def stage_of(age: int) -> str:
    return "child" if age < 18 else "adult"


def frame(first: int = 1960, years: int = 60) -> pd.DataFrame:
    """2,000 people who fit the declarations, and one of each kind who does not."""
    born = [date(first + place % years, 1 + place % 12, 1) for place in range(2_000)]
    ages = [2024 - day.year for day in born]
    rows: list[Any] = [
        (day, age, stage_of(age), "F" if age < 18 or place % 2 else "M")
        for place, (day, age) in enumerate(zip(born, ages, strict=True))
    ]
    rows += [(born[0], 5, "adult", "F"), (born[0], 64, "child", "M")]
    return pd.DataFrame(rows, columns=["born", "age", "stage", "sex"])


def test_a_declaration_is_a_map_of_cells_and_is_written_as_it_was_read() -> None:
    assert dc.Schema.loads(SCHEMA.dumps()) == SCHEMA
    assert dc.Schema.loads(PLAIN).digest() != dc.Schema.loads(PLAIN + DERIVED).digest()
    age, stage = derived_columns(SCHEMA)  # what others rest on first
    assert (age.column, age.source, stage.source) == ("age", "born", "age")
    assert age.cells[:5].tolist() == [64, 64, 64, 64, 63]
    assert age.cells[SCHEMA.column("born").null_cell] == SCHEMA.column("age").null_cell
    assert stage.cells[:19].tolist() == [0] * 18 + [1]


@pytest.mark.parametrize(
    ("declared", "words"),
    [
        ('age = "2024 - yeer(born)"', "column 'age'"),
        ('age = "1990 - year(born)"', "no single cell of 'age'"),
        ('age = "month(born)"', "no single cell of 'age'"),
        ('stage = "age + 1"', "is of kind category, and the expression is of type"),
        ('age = "age + 1"', "not a function of one other column"),
        ('age = "year(born) + CASE WHEN sex = \'F\' THEN 1 ELSE 2 END"', "not a function of one"),
        ('age = "born"', "write one expression"),
        ('age = "year(born) HAVING 1"', "column 'age'"),
        ('stage = "CASE WHEN age < 18 THEN \'kid\' ELSE \'adult\' END"', "no single cell of 'stage'"),
        ('height = "age + 1"', "there is no column 'height'. If the table has it, declare it"),
        ("age = 3", "age"),
        ('sex = "CASE WHEN stage = \'child\' THEN \'F\' ELSE \'M\' END"\n'
         'stage = "CASE WHEN sex = \'F\' THEN \'child\' ELSE \'adult\' END"', "from one another"),
    ],
)  # fmt: skip
def test_what_is_no_function_of_cells_is_refused_in_a_sentence(
    declared: str, words: str, tmp_path: Path
) -> None:
    text = f"{PLAIN}\n[derived]\n{declared}\n"
    assert any(words in mistake for mistake in schema_mistakes(text)), schema_mistakes(text)
    with pytest.raises(dc.BadInput):
        dc.release(
            tmp_path / "not there.csv", dc.Schema.loads(text), budget=dc.Budget(epsilon=1),
            workload="marginals(sex)", ledger=tmp_path / "l.db",
        )  # fmt: skip
    assert not (tmp_path / "l.db").exists()


def test_every_other_combination_is_an_empty_cell() -> None:
    empty = impossible_cells(SCHEMA, ("age", "stage", "sex"))
    assert empty is not None
    assert empty[17, 1, 0] and not empty[17, 0, 0] and empty[17, 0, 1] and not empty[18, 1, 1]
    turned = impossible_cells(SCHEMA, ("sex", "stage", "age"))
    assert turned is not None and np.array_equal(turned, empty.transpose(2, 1, 0))
    codes = np.stack(np.unravel_index(np.arange(empty.size), empty.shape), axis=1)
    assert np.array_equal(
        impossible_rows(SCHEMA, ("age", "stage", "sex"), codes), empty.reshape(-1)
    )
    assert impossible_cells(SCHEMA, ("born", "sex")) is None
    silent = dc.Schema.loads(
        PLAIN
        + "[derived]\nage = \"CASE WHEN stage = 'child' THEN 5 WHEN stage = 'adult' THEN 50 END\"\n"
    )
    (only,) = derived_columns(silent)
    column = silent.column("stage")
    assert only.cells.tolist()[:2] == [5, 50] and only.cells[column.other_cell] in (ANY, 100)


def test_what_is_measured_and_charged_does_not_depend_on_the_declaration(tmp_path: Path) -> None:
    """Rows that break it are in the counts before the noise, wherever they say that they are."""
    exact = []
    for place, text in enumerate((PLAIN, PLAIN + DERIVED + IMPOSSIBLE)):
        with recording() as tape:
            release(
                frame(), dc.Schema.loads(text), budget=dc.Budget(epsilon=1),
                workload=["marginals(age, stage)", "marginals(stage, sex)"], ledger=tmp_path / f"{place}.db",
                algorithms={"marginals(age, stage)": "direct", "marginals(stage, sex)": "direct"},
            )  # fmt: skip
        exact.append([(step.exact.tolist(), step.laws) for step in tape.steps])
    assert exact[0] == exact[1]
    assert sum(exact[1][0][0]) == len(frame())


def test_a_derived_column_is_answered_from_what_it_is_derived_from(tmp_path: Path) -> None:
    """False alarm: 1e-8 a question."""
    reader = dc.release(
        frame(), SCHEMA, budget=dc.Budget(epsilon=4), workload=["marginals(born)"], ledger=tmp_path / "l.db"
    )  # fmt: skip
    by_born = [2024 - day.year for day in frame()["born"]]
    asked = "SELECT count(*) FROM people WHERE "
    for condition, rows in (
        ("age BETWEEN 20 AND 29", sum(20 <= age <= 29 for age in by_born)),
        ("stage = 'child'", sum(age < 18 for age in by_born)),
        ("stage = 'child' AND age < 10", sum(age < 10 for age in by_born)),
    ):
        found = reader.ask(asked + condition, confidence=SURE)
        assert found.only.lower <= rows <= found.only.upper
        assert any("derived from another: " in note for note in found.notes)
        assert found.only.upper - found.only.lower < 200
    groups = reader.ask("SELECT stage, count(*) FROM people GROUP BY stage", confidence=SURE)
    counted = {row.group["stage"]: row.answer for row in groups}
    assert counted["adult"].lower <= sum(age >= 18 for age in by_born) <= counted["adult"].upper
    none = reader.ask(asked + "stage = 'child' AND age = 40")
    assert (none.only.estimate, none.only.lower, none.only.upper) == (0, 0, 0)
    with pytest.raises(dc.NotAnswerable, match="marginals\\(sex\\)"):
        reader.ask(asked + "sex = 'F'")
    with pytest.raises(dc.NotAnswerable):
        reader.ask("SELECT avg(age) FROM people")


@pytest.mark.parametrize(
    "workload",
    [["marginals(2)"], ["marginals(born)"], ["intervals(born)", "marginals(stage, sex)"], ["marginals(age, sex)"]],
)  # fmt: skip
def test_no_synthetic_row_breaks_a_declaration(workload: list[str], tmp_path: Path) -> None:
    reader = dc.release(
        frame(2001, 12),
        SMALL,
        budget=dc.Budget(epsilon=4),
        workload=workload,
        ledger=tmp_path / "l.db",
    )
    drawn = reader.synthesize(500, seed=1)
    rows = drawn.to_dict()
    assert not impossible_rows(SMALL, drawn.names, drawn.codes).any()
    if "born" in rows:
        for day, age in zip(rows["born"], rows["age"], strict=True):
            assert age == (None if day is None else 2024 - day.year)
    for age, stage in zip(rows["age"], rows["stage"], strict=True):
        assert age is None or stage == stage_of(age)
    for stage, sex in zip(rows["stage"], rows.get("sex", ["F"] * 500), strict=True):
        assert (stage, sex) != ("child", "M")
    assert any("as the schema declares" in note for note in drawn.notes)


def test_the_statement_says_what_becomes_of_rows_that_break_a_declaration(tmp_path: Path) -> None:
    reader = dc.release_to_file(
        frame(), SCHEMA, tmp_path / "a.release", budget=dc.Budget(epsilon=1), workload=["marginals(stage, sex)"],
        ledger=tmp_path / "l.db",
    )  # fmt: skip
    assert "the promise does not rest on the declaration" in str(reader.statement())
    assert verify(tmp_path / "a.release").ok
    plain = dc.release(
        frame(), dc.Schema.loads(PLAIN), budget=dc.Budget(epsilon=1), workload=["marginals(sex)"],
        ledger=tmp_path / "p.db",
    )  # fmt: skip
    assert "declaration" not in str(plain.statement())


def test_a_derived_column_is_computed_cell_by_cell_whatever_was_drawn_of_it() -> None:
    """Rows are not left to be repaired one by one, which would move other columns."""
    born = np.arange(SCHEMA.column("born").cells).reshape(-1, 1)
    names, codes, done = computed(("born",), born, SCHEMA)
    assert (names, done) == (("born", "age", "stage"), ("age", "stage"))
    age, stage = derived_columns(SCHEMA)
    assert np.array_equal(codes[:, 1], age.cells)
    assert np.array_equal(codes[:, 2], stage.cells[age.cells])
    drawn = np.concatenate([born, np.zeros_like(born)], axis=1)
    again = computed(("born", "age"), drawn, SCHEMA)
    assert np.array_equal(again[1], codes)
    sexes = np.zeros((3, 1), dtype=np.int64)
    assert computed(("sex",), sexes, SCHEMA) == (("sex",), sexes, ())


def test_numbers_from_a_derived_column_and_from_its_source_stand_side_by_side(
    tmp_path: Path,
) -> None:
    """One count of the statement is answered through `kids`, whose groups have other codes than those of `family`."""
    schema = dc.Schema.loads("""
dataset = "t"
[columns.kids]
kind = "integer"
range = [-3, 2]
nulls = "exclude"
[columns.family]
kind = "category"
values = ["none", "some"]
other = true
nulls = "exclude"
[derived]
family = "CASE WHEN kids <= 0 THEN 'none' WHEN kids > 0 THEN 'some' END"
""")
    kids = [-3, -1, 0, 1, 2] * 10
    table = pd.DataFrame({"kids": kids, "family": ["none" if k <= 0 else "some" for k in kids]})
    workload = "marginals(kids, family)"
    with without_noise():
        made = dc.release(
            table,
            schema,
            budget=dc.Budget(epsilon=8),
            workload=[workload],
            algorithms={workload: "residuals"},
            ledger=tmp_path / "ledger.db",
        )
    answers = made.ask(
        "SELECT family IN ('none', '(other)') AS empty, family, "
        "count(*) FILTER (WHERE (family IS DISTINCT FROM '8.0' OR starts_with(family, 'S'))) AS a, count_if(length(family) = 6) AS b "
        "FROM t GROUP BY family IN ('none', '(other)'), family ORDER BY family LIMIT 5"
    )
    found = {tuple(row.group.values()): (row["a"].estimate, row["b"].estimate) for row in answers}
    assert found[("true", "none")] == (30.0, 0.0)
    assert found[("false", "some")] == (20.0, 0.0)
    assert {key: own for key, own in found.items() if own != (0.0, 0.0)}.keys() == {
        ("true", "none"),
        ("false", "some"),
    }


def test_groups_are_joined_by_their_values_where_codes_are_in_another_order(tmp_path: Path) -> None:
    """`g` is declared as low, high; asked through `b` its groups come as high, low. Equal codes were taken for equal groups."""
    schema = dc.Schema.loads("""
dataset = "t"
[columns.a]
kind = "category"
values = ["x", "y"]
other = false
nulls = "exclude"
[columns.b]
kind = "integer"
range = [0, 5]
nulls = "exclude"
[columns.d]
kind = "integer"
range = [0, 1]
nulls = "exclude"
[columns.g]
kind = "category"
values = ["low", "high"]
other = false
nulls = "exclude"
[derived]
g = "CASE WHEN b < 1 THEN 'low' ELSE 'high' END"
""")
    many = np.arange(600)
    b = many % 6
    table = pd.DataFrame(
        {
            "a": np.where(many % 4 == 0, "x", "y"),
            "b": b,
            "d": many % 2,
            "g": np.where(b < 1, "low", "high"),
        }
    )
    with without_noise():
        made = dc.release(
            table,
            schema,
            budget=dc.Budget(epsilon=9),
            workload=["marginals(a, b)", "marginals(d, g)"],
            ledger=tmp_path / "ledger.db",
        )
    found = made.ask(
        "SELECT g, count(*) AS n, count(*) FILTER (WHERE a = 'x') AS x, count(*) FILTER (WHERE d = 1) AS odd "
        "FROM t GROUP BY g"
    )
    counted = {row.group["g"]: [row[name].estimate for name in ("n", "x", "odd")] for row in found}
    true = {
        name: [int(own.size), int((own % 4 == 0).sum()), int((own % 2).sum())]
        for name, own in (("low", many[b < 1]), ("high", many[b >= 1]))
    }
    assert counted == true
