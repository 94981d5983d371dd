"""Conditions and tallies in the engine, held to a plain Python reading of the same rows."""

from __future__ import annotations

import csv
import random
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import discreet as dc
from discreet.engines import open_engine
from discreet.queries.tallies import (
    Cells,
    Persons,
    Present,
    Rows,
    Squares,
    Tally,
    Term,
    Total,
    Valued,
    steps_of,
)
from discreet.questions.dialects.curator_sql import parse_curator_question
from discreet.questions.expressions import TRUE, Expression
from tests.curator.conftest import schema_of
from tests.curator.reference import clamped_value, column_value, evaluate

RAW = {
    "age": ["1", "50", "0", "-1", "119", "9223372036854775807", "-9223372036854775808", "", "x", "3.7", "1e30"],
    "sex": ["F", "M", "X", "f", "", "F%", "ü", "longer text"],
    "income": ["0", "1.5", "999.75", "NaN", "inf", "1e308", "-1e308", "1e-320", "", "7", "abc"],
    "born": ["2001-02-03", "1989-12-31", "2020-02-30", "", "2020-12-31", "2012-02-29"],
    "member": ["true", "no", "1", "", "maybe"],
}  # fmt: skip

CONDITIONS = [
    "age * age > 10", "age * age IS NULL", "age + age = 2", "age - 9223372036854775807 < 0",
    "-age > 0", "abs(age) = 1", "abs(age) IS NULL", "1 % age = 0", "age % 0 IS NULL", "age % -3 = -1",
    "age / 0 IS NULL", "age / 3 > 1.5", "income * income * income > 0", "income * income IS NULL",
    "income + 1e308 IS NULL", "income / income = 1", "income % 2 = 1", "income % 0 IS NULL",
    "floor(income) = 1", "ceil(income) = 2", "income > age", "age = 50.0", "age BETWEEN 0 AND 50",
    "age NOT BETWEEN 0 AND 50", "age IN (1, 50, 7)", "age NOT IN (1, 50)", "age NOT IN (1, NULL)",
    "age IN (-1, NULL)", "sex = 'F'", "sex <> 'F'", "sex LIKE 'F%'", "sex NOT LIKE '_'",
    "sex ILIKE 'f'", "lower(sex) = 'f'", "upper(sex) = 'F'", "length(sex) > 1", "sex > 'M'",
    "sex IN ('F', 'M')", "coalesce(sex, 'none') = 'none'", "coalesce(age, 0) = 0",
    "coalesce(income, age) > 3", "born >= '2001-02-03'", "born = DATE '2012-02-29'",
    "year(born) = 2020", "extract(month FROM born) = 2", "extract(day FROM born) = 29",
    "extract(quarter FROM born) = 4", "extract(dow FROM born) = 6", "born > '2001-02-03T12:00'",
    "member", "NOT member", "member IS TRUE", "member IS NOT TRUE", "member IS FALSE",
    "member = false", "age IS NULL", "income IS NOT NULL", "NULL", "TRUE", "age = NULL",
    "least(age, 50) = 50", "greatest(age, income) > 3", "least(age, NULL) IS NULL", "least(income, 7) = 7",
    "round(income) = 1000", "round(income, 1) = 1.5", "round(age, -1) = 50", "round(-income) = -2",
    "CASE WHEN age > 0 THEN 1 WHEN member THEN 2 ELSE 0 END = 2", "CASE sex WHEN 'F' THEN age END = 1",
    "CASE WHEN member THEN age ELSE income END IS NULL", "CASE WHEN age > 1 THEN 'a' ELSE sex END = 'M'",
    "age > 0 AND income > 0 OR NOT member", "NOT (age > 0 OR sex = 'F')", "age < 4.5 AND -age < 0.5",
]  # fmt: skip


def rows_of(count: int) -> list[dict[str, str]]:
    generator = random.Random(7)
    people = [f"p{generator.randrange(count // 3 + 1)}" for _ in range(count)]
    return [
        {"person": person, **{name: generator.choice(values) for name, values in RAW.items()}}
        for person in people
    ]


def written(rows: list[dict[str, str]], path: Path) -> Path:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, fieldnames=list(rows[0]), quoting=csv.QUOTE_ALL)
        writer.writeheader()
        writer.writerows(rows)
    return path


def met(
    rows: list[dict[str, Any]], condition: Expression, schema: dc.Schema
) -> list[dict[str, Any]]:
    return [row for row in rows if evaluate(condition, row, schema) is True]


def read(rows: list[dict[str, str]]) -> list[dict[str, str | None]]:
    """An empty field of a CSV file is null."""
    return [{name: value or None for name, value in row.items()} for row in rows]


@pytest.mark.parametrize("source", ["csv", "pandas"])
def test_every_operation_means_the_same_in_the_engine_and_in_python(
    source: str, tmp_path: Path
) -> None:
    schema, rows = schema_of(), rows_of(300)
    given = written(rows, tmp_path / "t.csv") if source == "csv" else pd.DataFrame(read(rows))
    conditions = [
        parse_curator_question(f"SELECT count(*) FROM people WHERE {text}", schema).condition
        for text in CONDITIONS
    ]
    with open_engine(given, schema) as engine:
        found = engine.tally([Tally(Rows(), (), condition) for condition in conditions])
    for text, condition, count in zip(CONDITIONS, conditions, found, strict=True):
        assert int(count[0]) == len(met(read(rows), condition, schema)), text


@pytest.mark.parametrize("groups", [(), ("sex",), ("sex", "member")], ids=str)
def test_tallies_of_one_scan_add_up_what_the_rows_say(
    groups: tuple[str, ...], tmp_path: Path
) -> None:
    schema, rows = schema_of(), rows_of(200)
    text = "SELECT count(*) FROM people WHERE age IS NOT NULL OR member"
    condition = parse_curator_question(text, schema).condition
    terms: list[Term] = [
        Rows(), Present("sex"), Valued("income"), Total("age", 2, 119), Total("income", 8, 0),
        Squares("age", 2, 119, 0), Squares("age", 2, 119, 5), Cells("age", 3), Cells("age", 0),
        Cells("born"), Total("member", 2, 1),
    ]  # fmt: skip
    with open_engine(written(rows, tmp_path / "t.csv"), schema) as engine:
        found = engine.tally([Tally(term, groups, condition) for term in terms])
    columns = [schema.column(name) for name in groups]
    for term, numbers in zip(terms, found, strict=True):
        tally = Tally(term, groups, condition)
        expected = np.zeros(tally.shape(schema), dtype=np.int64)
        for row in met(read(rows), condition, schema):
            codes = tuple(column.code_of(row[column.name]) for column in columns)
            if None in codes:
                continue
            place, amount = _added(term, row, schema)
            if amount:
                expected[(*codes, *place)] += amount
        assert numbers.tolist() == expected.reshape(-1).tolist(), term


def _added(term: Any, row: dict[str, Any], schema: dc.Schema) -> tuple[tuple[int, ...], int]:
    if isinstance(term, Rows):
        return (), 1
    if isinstance(term, Cells):
        column = schema.column(term.column)
        code = column.code_of(row[term.column])
        if term.shift is None:
            return (code or 0,), int(code is not None)
        valued = code is not None and code < column.value_cells
        return ((code or 0) >> term.shift,), int(valued)
    if isinstance(term, Present):
        if isinstance(term.of, str):
            return (), int(column_value(schema, term.of, row[term.of]) is not None)
        return (), int(evaluate(term.of, row, schema) is not None)
    if isinstance(term.of, str):
        value = clamped_value(schema, term.of, row[term.of])
    else:
        value = evaluate(term.of, row, schema)
    if value is None:
        return (), 0
    if isinstance(term, Valued):
        return (), 1
    low, high = steps_of(term.of, term.grid, schema)
    moved = min(max(round(value * term.grid), low), high) - term.center
    return (), moved if isinstance(term, Total) else moved * moved >> term.shift


def test_people_are_counted_once_and_at_most_max_rows_of_each_are_seen(tmp_path: Path) -> None:
    schema, rows = schema_of(max_rows=2), rows_of(200)
    shuffled = random.Random(1).sample(rows, len(rows))
    tallies = [
        Tally(Persons()),
        Tally(Rows()),
        Tally(Persons(), ("sex",)),
        Tally(Total("age", 1, 0)),
    ]
    text = "SELECT count(*) FROM people WHERE age * 3 > 100"
    tallies.append(Tally(Rows(), ("sex",), parse_curator_question(text, schema).condition))
    answers = []
    for order in (rows, shuffled):
        with open_engine(written(order, tmp_path / "t.csv"), schema) as engine:
            answers.append([found.tolist() for found in engine.tally(tallies)])
    assert answers[0] == answers[1]
    people = [row["person"] for row in rows]
    assert answers[0][0] == [len(set(people))]
    assert answers[0][1] == [sum(min(people.count(one), 2) for one in set(people))]


def test_no_row_can_make_a_condition_fail(tmp_path: Path) -> None:
    """Integers at the ends of 64 bits and doubles at the ends of their range, through every operation."""
    schema = dc.Schema.loads(
        'dataset = "t"\n[columns.x]\nkind = "integer"\nrange = [-9223372036854775808, 9223372036854775807]\n'
        'width = 18446744073709551616\n[columns.y]\nkind = "number"\nbounds = [-1e300, 1e300]\nbits = 4\n'
    )
    frame = pd.DataFrame(
        {
            "x": [-(2**63), 2**63 - 1, 0, -1, 1],
            "y": [1.7e308, -1.7e308, 5e-324, float("nan"), float("-inf")],
        }
    )
    signs = ("+", "-", "*", "/", "%")
    texts = [f"{a} {sign} {b} > 0" for sign in signs for a in ("x", "y", "-x") for b in ("x", "y")]
    texts += ["1 % x = 0", "x * x IS NULL", "abs(x) IS NULL", "-x IS NULL", "floor(y) > ceil(y)"]
    conditions = [
        parse_curator_question(f"SELECT count(*) FROM t WHERE {text}", schema).condition
        for text in texts
    ]
    with open_engine(frame, schema) as engine:
        found = engine.tally([Tally(Rows(), (), condition) for condition in conditions])
    rows = frame.to_dict("records")
    for text, condition, count in zip(texts, conditions, found, strict=True):
        assert int(count[0]) == len(met(rows, condition, schema)), text


def test_an_empty_table_is_tallied_like_any_other() -> None:
    frame = pd.DataFrame({name: pd.array([], dtype="string") for name in RAW})
    tallies = [
        Tally(Rows()),
        Tally(Total("age", 1, 5), ("sex",)),
        Tally(Cells("age", 0)),
        Tally(Rows(), (), TRUE),
    ]
    with open_engine(frame, schema_of()) as engine:
        for tally, found in zip(tallies, engine.tally(tallies), strict=True):
            assert found.tolist() == [0] * tally.size(schema_of())


def test_a_sum_is_rounded_down_once_and_a_row_moves_it_by_no_more_than_its_bounds() -> None:
    """All groups of two rows with negative and positive values, within the bounds and outside."""
    schema = dc.Schema.loads(
        'dataset = "t"\n[columns.y]\nkind = "number"\nbounds = [-1.3, 2.7]\nbits = 4\n'
        '[columns.g]\nkind = "integer"\nrange = [0, 99]\nnulls = "exclude"\n'
    )
    term = Total("y", 2, 0, 30)
    low, high = Tally(term).row_bounds(schema)
    values = [-5.0, -1.3, -0.7, -1e-9, 0.0, 1e-9, 0.49, 2.69999, 9.0]
    tables = [(), *((x,) for x in values), *((x, y) for x in values for y in values)]
    rows = [(place, x) for place, table in enumerate(tables) for x in table]
    with open_engine(pd.DataFrame(rows, columns=["g", "y"]), schema) as engine:
        (found,) = engine.tally([Tally(term, ("g",))])
    sums = dict(zip(tables, found.tolist(), strict=False))
    for table in tables:
        fine = sum(round(min(max(x, -1.3), 2.7) * 2 * 2**30) for x in table)
        assert sums[table] == fine >> 30
    moves = [sums[table] - sums[table[:-1]] for table in sums if table]
    assert (low, high) == (-3, 6)
    assert low <= min(moves) == -3
    assert max(moves) == high
