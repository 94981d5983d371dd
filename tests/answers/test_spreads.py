"""Spreads of columns with wide cells: the interval holds wherever values lie in their cells, and is not wider than need be."""

from __future__ import annotations

import numpy as np
import polars
import pytest

from discreet import Budget, Schema, release

TEXT = """
dataset = "d"
people = 400
[cap]
epsilon = "1000"
[columns.x]
kind = "number"
bounds = [0.0, 160.0]
bits = 5
[columns.y]
kind = "number"
bounds = [-10.0, 30.0]
bits = 4
"""
ROWS = 400


def placed(how: str, width: float, cells: np.ndarray, low: float) -> np.ndarray:
    """Values at one place of their cells, outward from the mean, or anywhere."""
    anywhere = np.random.default_rng(5).random(len(cells))
    outward = np.where(cells < cells.mean(), 0.0, 0.999)
    part = {"anywhere": anywhere, "outward": outward}
    return low + width * (cells + part[how])


@pytest.mark.parametrize("how", ["anywhere", "outward"])
def test_the_interval_of_a_spread_holds_wherever_values_lie_in_their_cells(how, tmp_path):
    """At epsilon 100 all noise is 0 but for a chance below 1e-40: only the cells are left."""
    public = np.random.default_rng(3)
    first = np.clip(public.poisson(5, ROWS), 0, 31)
    second = np.clip(first // 2 + public.integers(0, 4, ROWS), 0, 15)
    x, y = placed(how, 5.0, first, 0.0), placed(how, 2.5, second, -10.0)
    made = release(
        polars.DataFrame({"x": x, "y": y}), Schema.loads(TEXT), budget=Budget(epsilon=100),
        workload=["marginals(x, y)"], ledger=tmp_path / "l.db",
    )  # fmt: skip
    asked = (
        "SELECT var_pop(x) AS v, stddev_pop(x) AS s, covar_pop(x, y) AS c, corr(x, y) AS r FROM d"
    )
    (row,) = made.ask(asked)
    truth = {"v": x.var(), "s": x.std(), "c": np.cov(x, y, bias=True)[0, 1], "r": np.corrcoef(x, y)[0, 1]}  # fmt: skip
    for name, true in truth.items():
        assert row[name].lower <= true <= row[name].upper, name
    # Around the middle of the bounds alone, 80, a cell of 5 leaves the variance open by 2 * 55 * 5 and more.
    assert row["v"].upper - row["v"].lower < 350
