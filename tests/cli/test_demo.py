"""The demo runs, runs again, and its people are the same everywhere."""

from __future__ import annotations

import csv
import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from discreet.demo import COLUMNS, PEOPLE, make_people, schema_text, write_csv
from discreet.demo.people import EDUCATIONS
from discreet.schema import Schema
from tests.command_line import Done


def test_the_demo_publishes_asks_and_reports_and_can_be_run_again(
    discreet: Callable[..., Done], tmp_path: Path
) -> None:
    for _ in range(2):
        done = discreet("demo")
        assert done.code == 0, done.err
        for name in ("people.csv", "people.toml", "people.release", "people.html"):
            assert (tmp_path / "demo-output" / name).stat().st_size > 0
        assert done.out.count("SELECT") >= 3
        assert "people.html" in done.out
        assert "generated" in done.out
    assert not (tmp_path / "state").exists()  # the user's own ledger is not touched


def test_the_people_are_the_same_at_every_run() -> None:
    first, second = make_people(2000), make_people(2000)
    for name in COLUMNS:
        assert np.array_equal(first[name], second[name], equal_nan=name == "income")


def test_the_people_correlate_and_some_are_incomplete() -> None:
    people: dict[str, Any] = make_people()
    age, education = people["age"], people["education"]
    income = people["income"].astype(np.float64)
    assert len(age) == PEOPLE
    assert np.isnan(income).mean() > 0.04
    assert 0.005 < (education < 0).mean() < 0.03
    adult = (age >= 30) & (age < 60) & ~np.isnan(income)
    high = adult & (education >= EDUCATIONS.index("master"))
    low = adult & (education >= 0) & (education <= EDUCATIONS.index("secondary"))
    assert income[high].mean() > 1.3 * income[low].mean()


def test_every_generated_value_lies_in_the_declared_domain(tmp_path: Path) -> None:
    write_csv(tmp_path / "people.csv", make_people(3000))
    schema = Schema.loads(schema_text())
    with (tmp_path / "people.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 3000
    assert tuple(rows[0]) == COLUMNS == schema.names
    for column in schema.columns:
        for row in rows:
            code = column.code_of(row[column.name] or None)
            assert code is not None
            if row[column.name]:
                assert code < column.value_cells


@pytest.mark.parametrize("count", [1, 10])
def test_a_few_people_can_be_had_too(count: int, tmp_path: Path) -> None:
    write_csv(tmp_path / "few.csv", make_people(count))
    digest = hashlib.sha256((tmp_path / "few.csv").read_bytes()).hexdigest()
    write_csv(tmp_path / "few.csv", make_people(count))
    assert hashlib.sha256((tmp_path / "few.csv").read_bytes()).hexdigest() == digest
