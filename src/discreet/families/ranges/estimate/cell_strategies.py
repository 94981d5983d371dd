"""Strategies for all intervals of a short column, and intervals read off what they measured.

With A the strategy over the cells and y = A x + noise, least squares gives x^ = A^+ y with covariance
(noise variance) (A'A)^-1, so a table of the covariances of running sums has the exact variance of every
interval. Which strategy errs least is public (`strategies`): for Gaussian noise the optimum over all
matrices, for Laplace noise a p-identity one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from discreet.arrays import Codes, Floats, Integers
from discreet.families.predicates.estimate.strategies import best_l1, best_l2, whole
from discreet.families.ranges.estimate.tree_intervals import RangeEstimates
from discreet.families.ranges.estimate.tree_layers import LEAST_VARIANCE, Layer, PrunedTree
from discreet.families.ranges.estimate.tree_shrinkage import smoothed
from discreet.families.ranges.queries.ranges import range_tree
from discreet.families.shared.estimate.public_random import generator
from discreet.schema import Schema

MOST_CELLS_L2, MOST_CELLS_L1 = 256, 128
"""Cells up to which a strategy is looked for: a second's work, and a file that stays small."""


@lru_cache(maxsize=16)
def interval_strategy(cells: int, *, squared: bool) -> Integers:
    """A matrix of whole numbers that errs little over all intervals of so many cells.

    `squared`: for noise that follows the L2 sensitivity.
    """
    workload: Floats = np.asarray(np.linalg.cholesky(_intervals_gram(cells)).T, dtype=np.float64)
    found = whole(best_l2(workload) if squared else best_l1(workload))
    found.flags.writeable = False
    return found


def interval_variances(matrix: npt.NDArray[np.generic]) -> tuple[float, float]:
    """Mean and largest variance of an interval's count, for noise of variance 1 on each number."""
    cells = matrix.shape[1]
    prefix = prefix_covariance(matrix)
    spread = np.diag(prefix)
    variance = spread[:, None] + spread[None, :] - 2 * prefix
    between = variance[np.triu_indices(cells + 1, 1)]
    return float(between.mean()), float(between.max())


def prefix_covariance(matrix: npt.NDArray[np.generic]) -> Floats:
    """Covariances of the rows before each cell and of all rows, for noise of variance 1 on each number."""
    plain = np.asarray(matrix, dtype=np.float64)
    covariance = np.linalg.inv(plain.T @ plain)
    cells = len(covariance)
    found = np.zeros((cells + 1, cells + 1))
    found[1:, 1:] = covariance.cumsum(axis=0).cumsum(axis=1)
    return found


def _intervals_gram(cells: int) -> Floats:
    """W'W of all intervals: in how many of them two cells lie together."""
    place = np.arange(cells, dtype=np.float64)
    together = np.minimum.outer(place, place) + 1
    return np.asarray(together * (cells - np.maximum.outer(place, place)))


@dataclass(frozen=True, slots=True, eq=False)
class CellIntervals:
    """Intervals of cells whose counts were estimated together; every cell is a leaf of its own."""

    fitted: Floats
    """The least squares count of each cell."""
    estimate: Floats
    """The smoothed count of each cell, not negative."""
    covariance: Floats
    """Covariances of the rows before each cell and of all rows."""

    @property
    def leaves(self) -> Integers:
        return np.arange(len(self.fitted), dtype=np.int64)

    @property
    def starts(self) -> Codes:
        return np.arange(len(self.fitted), dtype=np.uint64)

    @property
    def ends(self) -> Codes:
        return self.starts

    @property
    def widths(self) -> Floats:
        return np.ones(len(self.fitted))

    @property
    def prefix(self) -> Floats:
        return np.concatenate([[0.0], np.cumsum(self.estimate)])

    @property
    def fitted_prefix(self) -> Floats:
        return np.concatenate([[0.0], np.cumsum(self.fitted)])

    def leaf_of(self, codes: Codes) -> Integers:
        return codes.astype(np.int64)

    def between(self, first: Codes, last: Codes) -> RangeEstimates:
        """Rows in cells first..last, both included, where first <= last: nothing is hidden inside a cell."""
        start, stop = self.leaf_of(first), self.leaf_of(last) + 1
        prefix = self.fitted_prefix
        rows, std = prefix[stop] - prefix[start], self.deviation(start, stop)
        best = self.prefix
        return RangeEstimates(best[stop] - best[start], rows, rows, std, std)

    def together(self, first: Codes, last: Codes) -> RangeEstimates:
        """Rows in any of several intervals that are apart: one number, with its exact variance."""
        weights = np.zeros(len(self.covariance))
        np.add.at(weights, self.leaf_of(last) + 1, 1.0)
        np.add.at(weights, self.leaf_of(first), -1.0)
        rows = np.array([weights @ self.fitted_prefix])
        std = np.sqrt(np.maximum(np.array([weights @ self.covariance @ weights]), 0.0))
        return RangeEstimates(rows, rows, rows, std, std)

    def deviation(self, start: Integers, stop: Integers) -> Floats:
        """Standard deviation of the least squares count of cells start..stop-1."""
        spread = np.diag(self.covariance)
        return np.sqrt(
            np.maximum(spread[start] + spread[stop] - 2 * self.covariance[start, stop], 0.0)
        )

    def excess(self, level: float, start: int, stop: int) -> Floats:
        """Standard deviations at the cells start..stop-1: of the rows from the first of these up to each, less `level` times those of all."""
        steps = np.zeros((stop - start, len(self.covariance)))  # of the rows before each boundary
        steps[:, start] -= 1 - level
        steps[:, stop] -= level
        steps[np.arange(stop - start), np.arange(start, stop)] += 1.0
        variance = ((steps @ self.covariance) * steps).sum(axis=1)
        return np.asarray(np.sqrt(np.maximum(variance, 0.0)))

    def weighted_deviation(self, weights: Floats) -> float:
        """Standard deviation of the least squares counts of all cells, each times its weight, added up."""
        steps = -np.diff(weights, prepend=0.0, append=0.0)  # of the rows before each boundary
        return math.sqrt(max(float(steps @ self.covariance @ steps), 0.0))

    def prefix_noise(self, boundaries: Integers, draws: int) -> Floats:
        """Noise of the rows before some cells, drawn from public randomness with the true covariance.

        A row a draw; the same each time. After the last cell come all rows.
        """
        sizes, vectors = np.linalg.eigh(self.covariance)
        roots = vectors * np.sqrt(np.maximum(sizes, 0.0))
        normals = generator(0).standard_normal((draws, len(sizes)))
        return np.asarray(normals @ roots[boundaries].T)


def cell_intervals(
    matrix: npt.NDArray[np.generic], values: Floats, variance: float, estimate: Floats | None = None
) -> CellIntervals:
    """From the noisy numbers of a strategy, each with noise of this variance."""
    plain = np.asarray(matrix, dtype=np.float64)
    fitted: Floats = np.asarray(np.linalg.lstsq(plain, values, rcond=None)[0], dtype=np.float64)
    covariance = variance * prefix_covariance(matrix)
    return CellIntervals(fitted, fitted if estimate is None else estimate, covariance)


def smoothed_cells(found: CellIntervals, column: str, schema: Schema) -> Floats:
    """Smoothed counts of the cells, by the tree of all halvings over them.

    Every node is given its least squares count and as much precision of its own as makes up its true
    variance, so that the tree says of each node what the strategy does.
    """
    tree = range_tree((column,), schema, every=True)
    cells = len(found.fitted)
    prefix = found.fitted_prefix
    layers: list[Layer] = []
    below = np.zeros(0)
    for level in range(len(tree.depths) - 1, -1, -1):
        (shift,) = tree.shifts(level)
        width = 1 << shift
        starts = np.arange(0, cells, width)
        stops = np.minimum(starts + width, cells)
        variance = np.maximum(found.deviation(starts, stops) ** 2, LEAST_VARIANCE)
        precision = 1 / variance
        is_last = not layers
        if not is_last:
            halves = np.add.reduceat(below, np.arange(0, len(below), 2))
            precision = np.maximum(precision - 1 / halves, 0.0)
        layers.insert(
            0,
            Layer(
                tree.depths[level],
                np.arange(len(starts), dtype=np.uint64)[:, np.newaxis],
                prefix[stops] - prefix[starts],
                precision,
                np.full(len(starts), is_last),
            ),
        )
        below = variance
    pruned = PrunedTree(layers, columns=(column,), schema=schema)
    return pruned.leaves(smoothed(pruned))
