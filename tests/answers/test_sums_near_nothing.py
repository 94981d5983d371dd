"""Sums of groups without rows: noise may push them below 0, and their interval never looks certain."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import discreet as dc
from discreet.families.shared.estimate.rounding import plausible_ends

EMPTY = 600
SCHEMA = f"""
dataset = "people"
people = 100
[cap]
epsilon = "10"
[columns.pay]
kind = "integer"
range = [0, 9]
[columns.place]
kind = "integer"
range = [0, {EMPTY}]
nulls = "exclude"
"""
TABLE = pd.DataFrame({"pay": [row % 10 for row in range(100)], "place": [0] * 100})
QUESTION = "SELECT place, sum(pay) AS total FROM people WHERE place > 0 GROUP BY place"


def ends_of(answers: dc.Answers) -> pd.DataFrame:
    frame = answers.to_pandas()
    assert len(frame) == EMPTY
    return frame


def check(frame: pd.DataFrame) -> None:
    """Before, about 2.5% of the groups had [0, 0]: none of 600 would, with probability 3e-7."""
    assert (frame.total_lower >= 0).all() and (frame.total_upper > 0).all()
    assert (frame.total_lower <= frame.total).all() and (frame.total <= frame.total_upper).all()


@pytest.mark.parametrize(
    "made_for",
    [
        "sums(pay by place)",
        "means(pay by place)",
        "quantiles(pay by place)",
        "marginals(pay, place)",
    ],
)
def test_a_sum_of_no_rows_in_a_release_keeps_the_width_of_its_noise(
    made_for: str, tmp_path: Path
) -> None:
    reader = dc.release(
        TABLE,
        dc.Schema.loads(SCHEMA),
        budget=dc.Budget(epsilon=1),
        workload=[made_for],
        ledger=tmp_path / "ledger.db",
    )
    check(ends_of(reader.ask(QUESTION)))


def test_a_sum_of_no_rows_in_a_live_answer_keeps_the_width_of_its_noise(tmp_path: Path) -> None:
    with dc.Curator(TABLE, dc.Schema.loads(SCHEMA), ledger=tmp_path / "ledger.db") as curator:
        check(ends_of(curator.ask(QUESTION, budget=dc.Budget(epsilon=1))))


def test_ends_are_moved_outwards_only_and_keep_their_distance() -> None:
    estimate = np.array([-30.0, -3.0, 50.0, 98.0, 130.0])
    found = plausible_ends(estimate, estimate - 10, estimate + 10, least=0.0, most=100.0)
    assert found[0].tolist() == [0.0, 0.0, 50.0, 98.0, 100.0]
    assert found[1].tolist() == [0.0, 0.0, 40.0, 88.0, 90.0]
    assert found[2].tolist() == [10.0, 10.0, 60.0, 100.0, 100.0]
