"""DuckDB, PostgreSQL and Spark say the same numbers of the same awkward values, integer for integer."""

from __future__ import annotations

import random

import pytest

from tests.harness.battery import CONDITIONS, LISTED, SCHEMAS, Outcome, compared, made_up
from tests.spark_session import compiled, setting

QUICK = (
    ("text", "plain people"),
    ("doubles", "awkward people"),
    ("long integers", "awkward rows"),
    ("dates", "plain rows"),
    ("zoned moments", "plain people"),
    ("no rows", "plain people"),
)
QUICK_IN_SPARK = (1,)
"""Places of the tables that `make test` compares in Spark too: doubles. `make trust` compares all."""


def said(outcome: Outcome, capsys: pytest.CaptureFixture[str]) -> None:
    with capsys.disabled():
        print(f"\n{outcome}")  # noqa: T201 (the number of cells is part of what is shown)


@pytest.mark.parametrize(("name", "schema"), QUICK)
def test_both_engines_count_awkward_values_alike(
    name: str, schema: str, capsys: pytest.CaptureFixture[str]
) -> None:
    listed = [values for values in LISTED if values.name == name]
    outcome = compared(listed, [schema], ["PostgreSQL"])
    said(outcome, capsys)
    assert outcome.differences == []
    assert outcome.cells > 100


@pytest.mark.parametrize("place", QUICK_IN_SPARK)
def test_spark_counts_awkward_values_as_duckdb_does(
    place: int, capsys: pytest.CaptureFixture[str]
) -> None:
    """In ANSI mode or without it; each with some of the conditions."""
    name, schema = QUICK[place]
    listed = [values for values in LISTED if values.name == name]
    with setting("spark.sql.ansi.enabled", "true" if place % 2 else "false"):
        outcome = compared(listed, [schema], ["Spark"], CONDITIONS[place::24])
    said(outcome, capsys)
    assert outcome.differences == []
    assert outcome.cells > 100


@pytest.mark.trust
def test_all_engines_count_every_listed_value_alike(capsys: pytest.CaptureFixture[str]) -> None:
    outcome = compared(LISTED, others=["PostgreSQL"])
    outcome.add(compared(LISTED, ("plain people", "awkward people"), ["Spark"]))
    said(outcome, capsys)
    assert outcome.differences == []
    assert outcome.cells > 100_000
    assert len(SCHEMAS) == 4


@pytest.mark.trust
def test_spark_counts_every_listed_value_alike_compiled_and_without_ansi_mode(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with setting("spark.sql.ansi.enabled", "false"), compiled():
        outcome = compared(LISTED, ["awkward rows"], ["Spark"])
    said(outcome, capsys)
    assert outcome.differences == []


@pytest.mark.trust
def test_all_engines_count_made_up_values_alike(capsys: pytest.CaptureFixture[str]) -> None:
    """Fresh values each time. A value that one engine reads otherwise changes some number for certain."""
    seed = random.SystemRandom().getrandbits(64)
    schemas = ("plain rows", "awkward people")
    values = list(made_up(6_000, seed))
    outcome = compared(values, schemas, ["PostgreSQL"])
    outcome.add(compared(values[:4], schemas, ["Spark"]))
    said(outcome, capsys)
    assert outcome.differences == [], seed
    assert outcome.values == 6_960
