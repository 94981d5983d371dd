"""Columns of many cells, fitted by the bins that pairs were measured in."""

from __future__ import annotations

import numpy as np

from discreet.families.shared.estimate.public_random import generator
from discreet.families.tables.estimate.compressed_fit import LARGE, fit_by_bins
from discreet.families.tables.estimate.mixture import Mixture, Target, bin_matrix
from discreet.families.tables.estimate.residuals import centred


def targets_of(joint, halves):
    """What was measured of a table of a large column and a small one: both alone, and bins of the pair."""
    matrix = bin_matrix(halves)
    first, second = joint.sum(axis=1), joint.sum(axis=0)
    return [
        Target((0,), (None,), centred(first).astype(np.float32), 1e-5),
        Target((1,), (None,), centred(second).astype(np.float32), 1e-5),
        Target((0, 1), (matrix, None), centred(matrix @ joint).astype(np.float32), 1e-5),
    ]


def test_bins_of_a_large_column_follow_the_pair_and_cells_the_column_alone():
    """Public randomness with a fixed seed: no false alarm."""
    cells = 2 * LARGE
    halves = [place % 2 for place in range(cells)]
    alone = np.linspace(1, 3, cells)
    alone /= alone.sum()
    odd = np.array(halves, dtype=np.float64)
    joint = alone[:, None] * np.stack([0.2 + 0.6 * odd, 0.8 - 0.6 * odd], axis=1)
    model = Mixture.independent([alone, joint.sum(axis=0)], generator(0))
    fit_by_bins(
        model,
        targets_of(joint, halves),
        [alone, joint.sum(axis=0)],
        rows=1e5,
        steps=600,
        fitted=0.9,
    )
    assert np.abs(model.marginal([0, 1]) - joint).sum() / 2 < 0.02
    assert np.allclose(model.theta[:, :cells].sum(axis=1), 1, atol=1e-4)


def test_a_large_column_that_some_pair_has_cell_by_cell_is_fitted_cell_by_cell():
    cells = LARGE
    alone = np.full(cells, 1 / cells)
    place = np.arange(cells) % 3 / 2
    joint = alone[:, None] * np.stack([0.1 + 0.8 * place, 0.9 - 0.8 * place], axis=1)
    targets = targets_of(joint, [0] * (cells // 2) + [1] * (cells - cells // 2))
    targets.append(Target((0, 1), (None, None), centred(joint).astype(np.float32), 1e-5))
    model = Mixture.independent([alone, joint.sum(axis=0)], generator(0))
    fit_by_bins(model, targets, [alone, joint.sum(axis=0)], rows=1e5, steps=60, fitted=0.9)
    # Inside a bin cells differ as they should; fitted by bins they would all be alike.
    shares = model.marginal([0, 1])
    assert np.corrcoef(shares[:, 0] / shares.sum(axis=1), place)[0, 1] > 0.95
