"""Budgets at which hardly any noise is left: a release that has been charged is made all the same."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import discreet as dc

SCHEMA = dc.Schema.loads("""
dataset = "t"
[columns.a]
kind = "integer"
range = [0, 5]
[columns.b]
kind = "integer"
range = [0, 7]
[columns.c]
kind = "category"
values = ["x", "y"]
other = false
""")


@pytest.mark.filterwarnings("ignore::discreet.errors.LargeCap")
@pytest.mark.parametrize("algorithm", ["adaptive", "adaptive-even", "residuals"])
@pytest.mark.parametrize("delta", ["0", "1e-9"])
@pytest.mark.parametrize("epsilon", [1_000, 1_000_000])
def test_a_model_is_fitted_to_numbers_without_noise(
    epsilon: int, delta: str, algorithm: str, tmp_path: Path
) -> None:
    """Squares of a deviation near 0 left no number, after the charge."""
    many = np.arange(500)
    table = pd.DataFrame(
        {"a": many % 6, "b": many**2 % 8, "c": np.where(many % 3 > 0, "x", "elsewhere")}
    )
    made = dc.release(
        table,
        SCHEMA,
        budget=dc.Budget(epsilon=epsilon, delta=delta),
        workload=["marginals(2)"],
        algorithms={"marginals(2)": algorithm},
        ledger=tmp_path / "ledger.db",
    )
    counts = made.ask("SELECT a, count(*) FROM t GROUP BY a").columns[0].estimate
    assert counts.tolist() == [84, 84, 83, 83, 83, 83, 0]
