"""A release with a very large epsilon: analysts make one to compare its answers with the truth."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import discreet as dc
from discreet.privacy.laws.sums import spread_factor

ROWS = 3_000
SCHEMA = """
dataset = "people"
people = 3000
[cap]
epsilon = "1000000"
[columns.age]
kind = "integer"
range = [0, 99]
[columns.sex]
kind = "category"
values = ["f", "m"]
"""
TABLE = pd.DataFrame(
    {
        "age": [row * row % 97 for row in range(ROWS)],
        "sex": ["f" if row % 3 else "m" for row in range(ROWS)],
    }
)
FROM_13_TO_57 = int(TABLE.age.between(13, 57).sum())


@pytest.mark.parametrize("epsilon", [60, 150, 1000, 1_000_000])
@pytest.mark.parametrize("table", ["histogram(age)", "marginals(age, sex)"])
@pytest.mark.filterwarnings("ignore")
def test_where_noise_is_almost_never_drawn_the_interval_of_a_tree_and_a_table_is_narrow(
    epsilon: int, table: str, tmp_path: Path
) -> None:
    """False alarm below 1e-6: at epsilon 60 a draw of the tables is not 0 with probability 2e-13, of the tree 1e-4."""
    reader = dc.release(
        TABLE,
        dc.Schema.loads(SCHEMA),
        budget=dc.Budget(epsilon=epsilon),
        workload=["intervals(age)", table],
        ledger=tmp_path / "ledger.db",
    )
    for question, truth in (
        ("SELECT count(*) FROM people", ROWS),
        ("SELECT count(*) FROM people WHERE age BETWEEN 13 AND 57", FROM_13_TO_57),
    ):
        answer = reader.ask(question).only
        assert abs(answer.estimate - truth) <= 2
        assert truth - 2 <= answer.lower <= answer.upper <= truth + 2


@pytest.mark.parametrize("kurtosis", [0.0, 3.0, 50.0, 1e10, 1e200])
@pytest.mark.parametrize("miss", [0.5, 0.1, 0.05, 1e-3, 1e-9])
def test_an_interval_is_never_wider_than_chebyshevs_nor_narrower_than_a_normal_laws(
    kurtosis: float, miss: float
) -> None:
    factor = float(spread_factor(miss, kurtosis))
    assert float(spread_factor(miss, 0.0)) <= factor <= 1 / math.sqrt(miss)
    assert float(spread_factor(np.array([miss, 0.2]), kurtosis)[0]) == pytest.approx(factor)
