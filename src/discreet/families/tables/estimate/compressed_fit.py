"""Fitting a mixture whose columns have many cells, of which pairs are known by coarse bins only.

What was measured of such a column together with others does not tell the cells of a bin apart, so
all components share one distribution inside each bin: that of the column alone. The fit then moves the
shares of bins, which are few, and noise on single cells has no say in when it has gone far enough.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from discreet.arrays import Floats, Singles
from discreet.families.tables.estimate.mixture import Mixture, Target, bin_matrix
from discreet.families.tables.estimate.residuals import centred

LARGE = 48
"""Cells from which a column is fitted by its bins."""
Labels = npt.NDArray[np.int64]


def fit_by_bins(
    model: Mixture,
    targets: Sequence[Target],
    alone: Sequence[Floats],
    *,
    rows: float,
    steps: int,
    fitted: float,
) -> None:
    """As `model.fit`, with the cells of large columns moved together where no pair tells them apart.

    `alone` are the shares of each column's cells by themselves.
    """
    found = {
        column: _labels(column, size, targets)
        for column, size in enumerate(model.sizes)
        if size >= LARGE
    }
    bins = {column: labels for column, labels in found.items() if labels is not None}
    if not bins:
        model.fit(targets, rows=rows, steps=steps, fitted=fitted)
        return
    blocks = [model.shares_of(column) for column in range(len(model.sizes))]
    small = [
        block @ _matrix(bins[column]).T if column in bins else block
        for column, block in enumerate(blocks)
    ]
    coarse = Mixture.of([block.shape[1] for block in small], np.concatenate(small, axis=1))
    kept = [_coarser(target, bins) for target in targets]
    coarse.fit([each for each in kept if each.freedom], rows=rows, steps=steps, fitted=fitted)
    finer = []
    for column in range(len(blocks)):
        moved = coarse.shares_of(column)
        if column in bins:
            labels = bins[column]
            shares = np.maximum(alone[column], 1e-12)
            inside = shares / np.bincount(labels, shares)[labels]
            moved = moved[:, labels] * inside.astype(np.float32)
        finer.append(moved)
    model.set_shares(np.concatenate(finer, axis=1))


def _labels(column: int, size: int, targets: Sequence[Target]) -> Labels | None:
    """The bins of which every bin of every pair is made up; None where some pair has the cells."""
    seen = [np.zeros(size, dtype=np.int64)]
    for target in targets:
        if len(target.columns) < 2 or column not in target.columns:
            continue
        own = target.bins[target.columns.index(column)]
        if own is None:
            return None
        seen.append(own.argmax(axis=0))
    labels = np.unique(np.stack(seen), axis=1, return_inverse=True)[1]
    return np.asarray(labels, dtype=np.int64).reshape(-1)


def _matrix(labels: Labels) -> Singles:
    matrix = bin_matrix(labels.tolist())
    assert matrix is not None
    return matrix


def _coarser(target: Target, bins: dict[int, Labels]) -> Target:
    if len(target.columns) == 1:
        labels = bins.get(target.columns[0])
        if labels is None:
            return target
        shares = target.table.astype(np.float64) + 1 / len(labels)
        summed = centred(_matrix(labels).astype(np.float64) @ shares)
        # Bins have about as many cells each; where they have not, this is their mean variance.
        spread = target.std * math.sqrt(len(labels) / len(summed))
        return replace(target, table=summed.astype(np.float32), std=spread)
    own = list(target.bins)
    for axis, column in enumerate(target.columns):
        matrix, labels = own[axis], bins.get(column)
        if matrix is not None and labels is not None:
            first = np.unique(labels, return_index=True)[1]
            own[axis] = matrix[:, first]
    return replace(target, bins=tuple(own))
