"""Wide columns: cells that may be taken together, and rows that are moved to where tables want them."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from discreet.families.shared.estimate.public_random import generator
from discreet.families.tables.estimate.compressed_fit import fit_by_bins
from discreet.families.tables.estimate.fitting import MOST_FITTED, most_bins
from discreet.families.tables.estimate.merging import merged_cells
from discreet.families.tables.estimate.mixture import Mixture, Target
from discreet.families.tables.estimate.residuals import centred
from discreet.families.tables.estimate.settling import _add, _change, _moves, _take_off


def test_cells_that_go_along_with_the_same_values_are_taken_together():
    """400 cells in four runs of different lengths, each with a value of its own of another column."""
    owner = np.repeat([0, 1, 2, 3], [130, 20, 50, 200])
    shares = np.random.default_rng().dirichlet(np.full(400, 5.0))
    profiles = shares[:, None] * np.eye(4)[owner] / 1e-4
    labels = merged_cells(profiles, shares, 4)
    assert labels.max() == 3 and [len(set(labels[owner == each])) for each in range(4)] == [1] * 4


@pytest.mark.parametrize("most", [1, 2, 7, 49, 50, 80])
def test_groups_are_runs_of_cells_and_no_more_than_asked_for(most: int) -> None:
    source = np.random.default_rng()
    labels = merged_cells(source.normal(size=(50, 3)), source.dirichlet(np.ones(50)), most)
    assert labels[0] == 0 and labels.max() + 1 == min(most, 50)
    assert set(np.diff(labels).tolist()) <= {0, 1}


def test_a_wide_column_that_decides_another_is_fitted_by_few_bins():
    """1,200 cells in 24 hours: 48 bins are enough, for none of them crosses an hour."""
    hour = np.arange(1200) // 50
    table = np.zeros((1200, 24))
    table[np.arange(1200), hour] = 1 / 1200
    alone = [table.sum(axis=1), table.sum(axis=0)]
    target = Target(
        columns=(0, 1), bins=(None, None), table=centred(table).astype(np.float32), std=1e-5
    )
    model = Mixture.independent(alone, generator(0))
    fit_by_bins(model, [target], alone, rows=1e5, steps=200, fitted=0.5, most=48)
    assert np.abs(model.marginal((0, 1)) - table).sum() / 2 < 0.1


def test_the_cells_that_are_fitted_are_few_however_wide_the_columns():
    assert most_bins([2, 3, 5]) >= 5
    for sizes in ([2400, 2400, 16], [100] * 4, [40] * 3):
        most = most_bins(sizes)
        assert most >= 32 and sum(min(most, size) for size in sizes) <= MOST_FITTED


def test_a_move_changes_the_distance_by_what_is_said_before_it():
    source = np.random.default_rng()
    sizes = (3, 4, 5)
    edges = np.concatenate([[0], np.cumsum(sizes)])
    rows = np.stack([source.integers(0, size, 200) for size in sizes], axis=1)
    wanted = source.normal(size=(12, 12)).astype(np.float32) * 20
    wanted += wanted.T
    for low, high in pairwise(edges):  # a column's own block holds its counts alone
        wanted[low:high, low:high] = np.diag(np.diagonal(wanted)[low:high])
    missing = wanted.copy()
    _take_off(missing, rows, edges)
    chosen = np.arange(40)
    places = rows + edges[:-1]
    there = edges[1] + source.integers(0, 4, 40)
    others = np.delete(places[chosen], 1, axis=1)
    cells, steps = _moves(others, places[chosen, 1], there, slice(int(edges[1]), int(edges[2])), 12)
    mirrored = cells % 12 * 12 + cells // 12
    before = float((missing.astype(float) ** 2).sum())
    expected = before + _change(missing, cells, mirrored, steps)
    _add(missing, cells, mirrored, steps)
    rows[chosen, 1] = there - edges[1]
    again = wanted.copy()
    _take_off(again, rows, edges)
    assert np.allclose(missing, again, atol=1e-3)
    assert float((again.astype(float) ** 2).sum()) == pytest.approx(expected, rel=1e-4)
