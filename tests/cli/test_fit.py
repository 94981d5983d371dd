"""`discreet schema check` with a table: what does not fit is counted, for the custodian alone."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from discreet.custodian.fit import fit, fit_of_declarations
from discreet.schema import Schema
from tests.command_line import Done

SCHEMA = """
dataset = "t"
[columns.age]
kind = "integer"
range = [0, 9]
[columns.ok]
kind = "boolean"
[columns.town]
kind = "category"
values = ["ash", "elm"]
[columns.day]
kind = "date"
range = ["2020-01-01", "2020-12-31"]
outside = "other"
"""
ROWS = ["5,ja,ash,2020-02-03", "99,nein,elm,2019-01-01", ",ja,,2020-01-01", "3,nein,xx,soon"]


@pytest.fixture
def table(tmp_path: Path) -> Path:
    place = tmp_path / "t.csv"
    place.write_text("age,ok,town,day\n" + "\n".join(ROWS) + "\n")
    return place


def test_rows_that_do_not_fit_are_counted(table: Path) -> None:
    found = {one.column: one for one in fit(str(table), Schema.loads(SCHEMA))}
    counts = {name: (one.rows, one.nulls, one.outside) for name, one in found.items()}
    assert counts == {"age": (4, 1, 1), "ok": (4, 4, 0), "town": (4, 1, 1), "day": (4, 1, 1)}
    assert found["age"].treatment == "counted at the nearest bound"
    assert found["day"].treatment == found["town"].treatment == "counted as (other)"
    assert "do the values read as boolean" in found["ok"].warning
    assert 'declare kind = "category"' in found["ok"].warning
    assert not found["town"].warning


def test_an_empty_table_fits(tmp_path: Path) -> None:
    place = tmp_path / "t.csv"
    place.write_text("age,ok,town,day\n")
    assert all(one.rows == 0 and not one.warning for one in fit(str(place), Schema.loads(SCHEMA)))


def test_the_command_says_that_it_is_not_private(discreet, table: Path, tmp_path: Path) -> None:
    place = tmp_path / "t.toml"
    place.write_text(SCHEMA)
    done: Done = discreet("schema", "check", str(place), str(table))
    assert done.code == 0 and done.out.count("NOT PRIVATE") == 1
    data = json.loads(discreet("schema", "check", str(place), str(table), "--json").out)
    assert [one["nulls"] for one in data["columns"]] == [1, 4, 1, 1]
    assert "NOT PRIVATE" in data["banner"]


DECLARED = """
[columns.kind]
kind = "category"
values = ["low", "high"]
[derived]
kind = "CASE WHEN age < 5 THEN 'low' ELSE 'high' END"
[[impossible]]
town = "elm"
day = { "is null" = true }
[[impossible]]
town = "ash"
age = 9
"""


def test_rows_that_break_a_declaration_are_counted(discreet, tmp_path: Path) -> None:
    """Two of five rows have another `kind` than their age says, and one is in an impossible cell."""
    lines = [
        "4,ash,2020-01-01,low",
        "5,ash,2020-01-01,low",
        "6,elm,soon,high",
        "1,elm,2020-01-01,high",
    ]
    table, schema = tmp_path / "t.csv", tmp_path / "t.toml"
    table.write_text("\n".join(["age,town,day,kind", *lines, "7,ash,2020-01-01,high"]) + "\n")
    schema.write_text(SCHEMA.replace('[columns.ok]\nkind = "boolean"\n', "") + DECLARED)
    broken = fit_of_declarations(str(table), Schema.loads(schema.read_text()))
    assert [(each.columns, each.rows) for each in broken] == [
        (("town", "day"), 1),
        (("age", "kind"), 2),
    ]
    done: Done = discreet("schema", "check", str(schema), str(table))
    assert (
        "town, day: 1 row is in combinations that [[impossible]] or [derived] rules out" in done.out
    )
    assert "age, kind: 2 rows are" in done.out
    told = discreet("schema", "check", str(schema), str(table), "--json").json
    assert told["broken"][1] == {"columns": ["age", "kind"], "rows": 2, "private": False}
