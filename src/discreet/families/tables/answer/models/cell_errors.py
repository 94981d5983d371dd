"""How the errors of a table that a model fills in are spread over its cells.

The error of a cell has three causes, which are taken to be independent:

- **Sampling.** Rows fall into cells by chance, and no model knows where. A cell with m expected rows, whose column a has the
  share p_a of all rows in it, then differs from m with the variance m (1 - p_1) (1 - p_2): that of random rows, given the
  counts of single columns.
- **Missed dependence.** What the model does not follow makes errors larger. With the *misfit* k, the variance of sampling is
  multiplied by k^2. Large cells have more of what is added than sampling alone would give them: it grows with the count. So have
  the cells of small tables: errors add up to 0 along each column, so there all are off by about as much.
- **Noise of single columns.** Their tables were measured, and the variance of that noise is known. It moves all cells of a row
  of the table together. A column's count is believed less than it was measured where noise hides it.

The first and the third are known before anything is measured about the model. Only the misfit of each table is not.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from discreet.arrays import Floats

MEAN_ABSOLUTE = math.sqrt(2 / math.pi)
"""The mean absolute value of a standard normal number."""
SPREAD_OF_ABSOLUTE = math.sqrt(math.pi / 2 - 1)
"""The standard deviation of the absolute value of a normal number, over its mean."""
GROWS = 0.3
"""The power of its count with which a missed dependence weighs more on a cell than sampling does."""
EVEN = 2.0
"""How many average deviations each cell of a table has, whose errors all follow from those of a few."""
FEW = 0.5
"""A cell with fewer expected rows is rounded to 0: it is off by the rows that it has."""
_BLOCK = 1 << 14
"""Cells that are worked on at a time: what is in work stays in a processor's cache."""


@dataclass(frozen=True, slots=True, eq=False)
class CellErrors:
    """What is known of the errors of cells, or of sets of cells. Thread safe: it never changes."""

    expected: Floats
    """The rows that the model expects, not rounded."""
    sampling: Floats
    """The variance of sampling."""
    missed: Floats
    """The deviation of what a model misses, for a misfit of sqrt 2."""
    columns: Floats
    """The deviation that the noise of single columns causes."""

    @classmethod
    def of(cls, expected: Floats, variances: Sequence[float]) -> CellErrors:
        """For each cell of a table. `variances`: the noise of a cell of each column's own table."""
        rows = float(expected.sum())
        if rows <= 0:
            nothing = np.zeros(expected.shape)
            return cls(nothing, nothing, nothing, nothing)
        lines = [
            expected.sum(axis=tuple(a for a in range(expected.ndim) if a != axis), keepdims=True)
            for axis in range(expected.ndim)
        ]
        sampling = expected * _free(lines, rows)
        deviation, grown = np.sqrt(sampling), expected**GROWS
        total = float((deviation * grown).sum())
        heavier = grown * (float(deviation.sum()) / total) if total > 0 else np.ones(1)
        noisy = prod(
            line**2 + _believed(line, own) for line, own in zip(lines, variances, strict=True)
        )
        clean = prod(line**2 for line in lines)
        columns = np.sqrt(np.maximum(noisy - clean, 0.0)) / rows ** (expected.ndim - 1)
        free = prod(size - 1 for size in expected.shape) / expected.size
        even = EVEN * (1 - free) * float(deviation.mean())
        missed = np.maximum(deviation * np.maximum(heavier, 1.0), free * deviation + even)
        return cls(expected, sampling, missed, np.broadcast_to(columns, expected.shape))

    def changed(self, how: Callable[[Floats], Floats]) -> CellErrors:
        """Some of the cells, or sums of cells.

        Errors of sampling are independent, so their variances are added. The others may all have the same sign, so their
        deviations are added.
        """
        parts = (self.expected, self.sampling, self.missed, self.columns)
        return CellErrors(*(how(each) for each in parts))

    def deviation(self, misfit: float) -> Floats:
        """The standard deviation of the error."""
        fitted, more = min(misfit, 1.0) ** 2, max(misfit**2 - 1, 0.0)
        found = fitted * self.sampling + more * self.missed**2 + self.columns**2
        return np.asarray(np.sqrt(found))

    @property
    def distance_of_columns(self) -> tuple[float, float]:
        """The distance that the noise of single columns causes alone: its mean and its standard deviation, from so few draws."""
        mean = MEAN_ABSOLUTE * float(self.columns.sum())
        return mean, mean * SPREAD_OF_ABSOLUTE / math.sqrt(max(sum(self.columns.shape), 1))

    def distances(self, misfits: Floats) -> Floats:
        """The expected sum of all errors, for each misfit.

        No cell loses more rows than it has, and what it gains others lose: so sampling and a missed dependence cost
        at most twice the expected rows of a cell, and once in a cell that is rounded to 0.
        """
        most = np.where(self.expected < FEW, 1.0, 2.0) * self.expected
        deviations = np.sqrt(self.sampling), self.missed, most / MEAN_ABSOLUTE, self.columns
        squares = [np.ravel((MEAN_ABSOLUTE * each) ** 2) for each in deviations]
        found = np.zeros(len(misfits))
        for start in range(0, self.expected.size, _BLOCK):
            sampling, missed, limit, columns = (each[start : start + _BLOCK] for each in squares)
            for place, misfit in enumerate(misfits):
                own = min(misfit, 1.0) ** 2 * sampling
                if misfit > 1:
                    own += (misfit**2 - 1) * missed
                np.minimum(own, limit, out=own)
                own += columns
                found[place] += np.sqrt(own, out=own).sum()
        return found


def _free(lines: Sequence[Floats], rows: float) -> Floats:
    """The part of a cell's variance that is left, given the counts of single columns, if columns are independent."""
    shares = [line / rows for line in lines]
    cell = np.asarray(prod(shares))
    of_columns = sum(_of_others(shares, axis) - cell for axis in range(len(shares)))
    return np.asarray(np.maximum(1.0 - cell - of_columns, 0.0))


def _of_others(shares: Sequence[Floats], axis: int) -> Floats:
    return np.asarray(prod(each for place, each in enumerate(shares) if place != axis))


def _believed(line: Floats, variance: float) -> Floats:
    """The variance of the model's counts of a column, if the noise of the measured ones has `variance`.

    A count is not off by more than about its own size and an average count, however large the noise is.
    """
    if variance <= 0:
        return np.zeros(line.shape)
    size = (2 * line + min(float(line.mean()), math.sqrt(variance))) ** 2
    return np.asarray(variance * size / (variance + size))
