"""Fitting a mixture whose columns have many cells, by bins of these.

Where pairs were measured by coarse bins only, nothing tells the cells of a bin apart. Where they were
measured cell by cell, cells that hardly differ are taken together. All components then share one
distribution inside each bin: that of the column alone. The fit moves the shares of bins, which are few, and
noise on single cells has no say in when it has gone far enough.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from discreet.arrays import Floats, Singles
from discreet.families.tables.estimate.merging import merged_cells
from discreet.families.tables.estimate.mixture import Mixture, Target, bin_matrix, even_bins
from discreet.families.tables.estimate.residuals import centred

LARGE = 48
"""Cells from which a column is fitted by its bins."""
PROFILE = 32
"""Bins of other columns by which the cells of a column are compared."""
Labels = npt.NDArray[np.int64]


def fit_by_bins(
    model: Mixture,
    targets: Sequence[Target],
    alone: Sequence[Floats],
    *,
    rows: float,
    steps: int,
    fitted: float,
    most: int | None = None,
) -> None:
    """As `model.fit`, with the cells of large columns moved together where no pair tells them apart.

    `alone` are the shares of each column's cells by themselves. With `most`, a column of more cells
    is fitted by about so many runs of cells even where pairs tell its cells apart (see `merging`).
    """
    found = {
        column: _labels(column, targets, alone, most)
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
    kept = [_coarser(target, bins, alone) for target in targets]
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


def _labels(
    column: int, targets: Sequence[Target], alone: Sequence[Floats], most: int | None
) -> Labels | None:
    """The bins of which every bin of every pair is made up; None where a pair needs all the cells."""
    size = len(alone[column])
    seen = [np.zeros(size, dtype=np.int64)]
    by_cells: list[Target] = []
    for target in targets:
        if len(target.columns) < 2 or column not in target.columns:
            continue
        own = target.bins[target.columns.index(column)]
        if own is None:
            by_cells.append(target)
        else:
            seen.append(own.argmax(axis=0))
    if by_cells:
        if most is None or size <= most:
            return None
        profiles = np.concatenate([_profile(each, column, alone) for each in by_cells], axis=1)
        seen.append(merged_cells(profiles, alone[column], most))
    labels = np.unique(np.stack(seen), axis=1, return_inverse=True)[1]
    return np.asarray(labels, dtype=np.int64).reshape(-1)


def _profile(target: Target, column: int, alone: Sequence[Floats]) -> Floats:
    """What a pair says of each cell of a column, by some bins of the other one, in units of noise."""
    axis = target.columns.index(column)
    table = _whole(target, alone)
    table = table if axis == 0 else table.T
    other = target.columns[1 - axis]
    shares = alone[other] if target.bins[1 - axis] is None else table.sum(axis=0)
    matrix = bin_matrix(even_bins(shares, PROFILE))
    if matrix is not None:
        table = table @ matrix.T
    return table / (target.std * math.sqrt(len(shares) / table.shape[1]))


def _whole(target: Target, alone: Sequence[Floats]) -> Floats:
    """The shares that a pair's residual stands for, with those of its columns by themselves."""
    own = [
        alone[column] if matrix is None else matrix @ alone[column]
        for column, matrix in zip(target.columns, target.bins, strict=True)
    ]
    one, other = own
    table = target.table.astype(np.float64) - 1 / (len(one) * len(other))
    return np.asarray(table + one[:, None] / len(other) + other[None, :] / len(one))


def _matrix(labels: Labels) -> Singles:
    matrix = bin_matrix(labels.tolist())
    assert matrix is not None
    return matrix


def _coarser(target: Target, bins: dict[int, Labels], alone: Sequence[Floats]) -> Target:
    if len(target.columns) == 1:
        labels = bins.get(target.columns[0])
        if labels is None:
            return target
        shares = target.table.astype(np.float64) + 1 / len(labels)
        return _of_shares(target, _matrix(labels).astype(np.float64) @ shares, (None,))
    matrices: list[Singles | None] = [None, None]
    own = list(target.bins)
    for axis, column in enumerate(target.columns):
        measured, labels = own[axis], bins.get(column)
        if labels is None:
            continue
        if measured is None:
            matrices[axis] = _matrix(labels)
        else:
            first = np.unique(labels, return_index=True)[1]
            own[axis] = measured[:, first]
    if all(matrix is None for matrix in matrices):
        return replace(target, bins=tuple(own))
    table = _whole(target, alone)
    for axis, matrix in enumerate(matrices):
        if matrix is not None:
            table = matrix @ table if axis == 0 else table @ matrix.T
    return _of_shares(target, table, tuple(own))


def _of_shares(target: Target, shares: Floats, bins: tuple[Singles | None, ...]) -> Target:
    """A target for sums of cells. Where bins have unequal numbers of cells, its noise is their mean."""
    spread = target.std * math.sqrt(target.table.size / shares.size)
    table = centred(shares).astype(np.float32)
    return replace(target, table=table, std=spread, bins=bins)
