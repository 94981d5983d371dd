"""Choices in every group: how far one unit moves their scores, and what a score says."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import pytest

import discreet as dc
from discreet.privacy.adjacency import Adjacency
from discreet.queries.group_choices import CellScores, RankScores
from discreet.queries.scores import GroupScores
from discreet.queries.tallies import Cells, Tally

SCHEMA = dc.Schema.loads(
    """
dataset = "t"
[columns.x]
kind = "integer"
range = [0, 3]
nulls = "exclude"
[columns.g]
kind = "integer"
range = [0, 1]
nulls = "exclude"
"""
)
LEVELS = [Fraction(1, 2), Fraction(1, 10), Fraction(9, 10), Fraction(2, 3)]
MAKERS: list[Any] = [*(partial(RankScores, level=level) for level in LEVELS), CellScores]
SCORES = [make(Tally(Cells("x", 0), groups)) for groups in ((), ("g",)) for make in MAKERS]


def tables(groups: int) -> Iterator[np.ndarray]:
    """All tables of up to a few rows."""
    for cells in product(range(3), repeat=4 * groups):
        if sum(cells) <= 3:
            yield np.array(cells, dtype=np.int64)


def moved(scores: GroupScores, one: np.ndarray, other: np.ndarray) -> int:
    difference = scores.evaluate(one, SCHEMA) - scores.evaluate(other, SCHEMA)
    return int(np.abs(difference).max(axis=1).sum())


@pytest.mark.parametrize("scores", SCORES, ids=str)
def test_one_row_moves_the_scores_of_all_groups_by_no_more_than_is_said(
    scores: GroupScores,
) -> None:
    """Every table of up to three rows, every row added to it, and every row changed into any other."""
    places = 8 if scores.tally.groups else 4
    rows = np.eye(places, dtype=np.int64)
    added = changed = 0
    for table in tables(places // 4):
        for row in rows:
            added = max(added, moved(scores, table, table + row))
        for row, other in product(rows, rows):
            changed = max(changed, moved(scores, table + row, table + other))
    change_one = replace(SCHEMA, adjacency=Adjacency.CHANGE_ONE)
    assert added == scores.sensitivity(SCHEMA)
    assert changed == scores.sensitivity(change_one)
    several = replace(SCHEMA, unit=replace(SCHEMA.unit, identifier="p", max_rows=7))
    assert scores.sensitivity(several) == 7 * added


@pytest.mark.parametrize("level", LEVELS)
def test_the_best_bucket_is_the_one_that_holds_the_quantile(level: Fraction) -> None:
    scores = RankScores(Tally(Cells("x", 0)), level)
    for counts in tables(1):
        if not counts.any():
            continue
        (row,) = scores.evaluate(counts, SCHEMA)
        values = np.repeat(np.arange(4), counts)
        place = -(-level * len(values) // 1) - 1
        assert row[values[int(place)]] == 0 == row.max()
