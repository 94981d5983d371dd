"""DuckDB and PostgreSQL say the same numbers of the same awkward values, integer for integer."""

from __future__ import annotations

import random

import pytest

from tests.harness.battery import LISTED, SCHEMAS, Outcome, compared, made_up

QUICK = (
    ("text", "plain people"),
    ("doubles", "awkward people"),
    ("long integers", "awkward rows"),
    ("dates", "plain rows"),
    ("zoned moments", "plain people"),
    ("no rows", "plain people"),
)


def said(outcome: Outcome, capsys: pytest.CaptureFixture[str]) -> None:
    with capsys.disabled():
        print(f"\n{outcome}")  # noqa: T201 (the number of cells is part of what is shown)


@pytest.mark.parametrize(("name", "schema"), QUICK)
def test_both_engines_count_awkward_values_alike(
    name: str, schema: str, capsys: pytest.CaptureFixture[str]
) -> None:
    outcome = compared([values for values in LISTED if values.name == name], [schema])
    said(outcome, capsys)
    assert outcome.differences == []
    assert outcome.cells > 100


@pytest.mark.trust
def test_both_engines_count_every_listed_value_alike(capsys: pytest.CaptureFixture[str]) -> None:
    outcome = compared(LISTED)
    said(outcome, capsys)
    assert outcome.differences == []
    assert outcome.cells > 100_000
    assert len(SCHEMAS) == 4


@pytest.mark.trust
def test_both_engines_count_made_up_values_alike(capsys: pytest.CaptureFixture[str]) -> None:
    """Fresh values each time. A value that one engine reads otherwise changes some number for certain."""
    seed = random.SystemRandom().getrandbits(64)
    outcome = compared(list(made_up(6_000, seed)), ("plain rows", "awkward people"))
    said(outcome, capsys)
    assert outcome.differences == [], seed
    assert outcome.values == 6_000
