"""Values that no schema lists, by private partition selection."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pandas as pd
import pytest

import discreet as dc
from discreet.kernel.engines import open_engine
from discreet.kernel.mechanisms.partition_selection import PartitionSelection
from tests.curator.conftest import schema_of

NEEDED = {"age": 1, "income": 1.0, "born": "2000-01-01", "member": True}
BUDGET = dc.Budget(epsilon=1, delta="1e-6")


@pytest.mark.parametrize("touched", [1, 2, 7])
@pytest.mark.parametrize("epsilon", ["1/10", "1", "12"])
@pytest.mark.parametrize("delta", ["1/100", "1e-6", "1e-30"])
def test_a_value_of_one_unit_is_named_with_probability_at_most_delta(
    touched: int, epsilon: str, delta: str
) -> None:
    """All the values that only one unit holds together: the union bound over those it touches."""
    mechanism = PartitionSelection(epsilon=Fraction(epsilon), delta=Fraction(delta))
    law, threshold = mechanism.law(touched), mechanism.threshold(touched)
    named = law.cdf(1 - threshold)  # P(1 + X >= threshold), X symmetric
    assert touched * named <= float(Fraction(delta))
    assert law.scale == touched / Fraction(epsilon)


def people(values: list[str | None]) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "person": range(len(values)),
            "sex": values,
            **{k: [v] * len(values) for k, v in NEEDED.items()},
        }
    )


def test_values_that_many_hold_are_named_and_those_of_one_person_are_not(tmp_path: Path) -> None:
    """At epsilon 1 and delta 1e-6 the threshold is 16: 100 rows are missed, and 1 is named, with less than 1e-6."""
    frame = people(
        ["F"] * 100 + ["unlisted"] * 100 + [None] * 50 + [f"only {n}" for n in range(50)]
    )
    with dc.Curator(
        frame, schema_of(), ledger=tmp_path / "l.db", cap=dc.Budget(epsilon=2, delta="1e-3")
    ) as curator:
        found = curator.discover("sex", budget=BUDGET)
        assert found.values == ("F", "unlisted")
        assert found.charged.delta == Fraction(1, 10**6)
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


@pytest.mark.parametrize("max_rows", [None, 2])
def test_a_person_holds_a_value_once(max_rows: int | None) -> None:
    frame = people(["F", "F", "x", "x"]).assign(person=["p", "p", "p", "q"])
    with open_engine(frame, schema_of(max_rows=max_rows)) as engine:
        texts, counts = engine.texts("sex")
    found = dict(zip(texts, counts.tolist(), strict=True))
    assert found.get("F", 0) <= (2 if max_rows is None else 1)
    assert sum(found.values()) == 4 if max_rows is None else sum(found.values()) <= 3
