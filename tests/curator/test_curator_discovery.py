"""Values that no schema lists, by private partition selection."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pandas as pd
import pytest

import discreet as dc
from tests.curator.conftest import schema_of

NEEDED = {"age": 1, "income": 1.0, "born": "2000-01-01", "member": True}
BUDGET = dc.Budget(epsilon=1, delta="1e-9")


def people(values: list[str | None]) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "person": range(len(values)),
            "sex": values,
            **{k: [v] * len(values) for k, v in NEEDED.items()},
        }
    )


def test_values_that_many_hold_are_named_and_those_of_one_person_are_not(tmp_path: Path) -> None:
    """At epsilon 1 and delta 1e-9, 100 people are sure to be named; a false name among 50: 5e-8."""
    frame = people(
        ["F"] * 100 + ["unlisted"] * 100 + [None] * 50 + [f"only {n}" for n in range(50)]
    )
    with dc.Curator(
        frame, schema_of(), ledger=tmp_path / "l.db", cap=dc.Budget(epsilon=2, delta="1e-3")
    ) as curator:
        found = curator.discover("sex", budget=BUDGET)
        assert found.values == ("F", "unlisted")
        assert found.charged.delta == Fraction(1, 10**9)
        assert curator.discover("sex", budget=BUDGET) == found
        assert curator.spent == BUDGET


def test_naming_values_needs_a_delta_and_a_category(tmp_path: Path) -> None:
    with dc.Curator(
        people(["F"]), schema_of(), ledger=tmp_path / "l.db", cap=dc.Budget(epsilon=2, delta="1e-3")
    ) as curator:
        with pytest.raises(dc.BadBudget, match="delta"):
            curator.discover("sex", budget=dc.Budget(epsilon=1))
        with pytest.raises(dc.BadInput, match="categories"):
            curator.discover("age", budget=BUDGET)
        assert curator.spent.amount == 0
