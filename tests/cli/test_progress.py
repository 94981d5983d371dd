"""Long commands say how far they have come: report and compare step by step, never with a number of rows."""

from __future__ import annotations

from pathlib import Path

import pytest

import discreet as dc
from discreet.custodian.comparison import compare

SCHEMA = """
dataset = "people"
[columns.age]
kind = "integer"
range = [0, 7]
[columns.sex]
kind = "category"
values = ["f", "m"]
"""


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("progress") / "people.csv"
    place.write_text("age,sex\n" + "".join(f"{n % 9},{'fm'[n % 2]}\n" for n in range(400)))
    return place


@pytest.fixture(scope="module")
def reader(table: Path) -> dc.ReleaseReader:
    return dc.release(
        table,
        dc.Schema.loads(SCHEMA),
        budget=dc.Budget(epsilon=4),
        workload=["marginals(age, sex)", "quantiles(age by sex)"],
        ledger=table.with_name("ledger.db"),
    )


def test_a_report_tells_its_steps(reader: dc.ReleaseReader) -> None:
    told: list[tuple[str, float]] = []
    page = dc.render_report(reader, progress=lambda step, done: told.append((step, done)))
    parts = [done for _, done in told]
    assert len({step for step, _ in told}) >= 4
    assert parts == sorted(parts) and parts[0] >= 0 and parts[-1] < 1
    assert page == dc.render_report(reader)


def test_a_comparison_tells_its_steps_and_compares_the_groups_that_are_answered(
    reader: dc.ReleaseReader, table: Path
) -> None:
    """The ranges by group answer without the cell of nulls, which the table has: shapes differ."""
    told: list[str] = []
    (found,) = compare(
        reader, table, confidence=0.95, progress=lambda step, done: told.append(step)
    )
    assert list(dict.fromkeys(told)) == [
        "counting the table",
        "drawing synthetic rows",
        "comparing tables",
    ]
    assert found.columns == ("age", "sex") and 0 <= found.held <= 1
