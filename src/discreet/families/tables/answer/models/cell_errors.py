"""How the errors of a table that a model fills in are spread over its cells.

Counts are expected where the model has them, moved so that each column has the counts that its own measured table says
(`column_counts`). What a cell has differs from this by three causes, which are taken to be independent:

- **Sampling.** Rows fall into cells by chance, and no model knows where. A cell with m expected rows, whose column a has the
  share p_a of all rows in it, then differs from m with the variance m (1 - p_1) (1 - p_2): that of random rows, given the
  counts of single columns.
- **Missed dependence.** What the model does not follow makes errors larger. With the *misfit* k, k^2 - 1 times the variance of
  sampling is added, in all. Large cells have more of it than of sampling: its deviation grows as the power 0.8 of the count. The
  cells of small tables have about the same: errors add up to 0 along each column, so there all are off by about as much.
- **Noise of single columns.** Their tables were measured, and what is not known of their counts moves all cells of a row of the
  table together.

Where a model misses much, the cells that it empties cannot be believed either: in intervals a missed dependence has at least half of the
deviation there that it would have if columns were independent.

In a table of two by two cells one error is free: given the counts of the columns, all four cells are off by the same. So sampling
and a missed dependence have the same deviation in all four, and so they have beside values that next to no rows have.

The first and the third are known before anything is measured about the model. Only the misfit of each table is not.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import prod

import numpy as np

from discreet.arrays import Bools, Floats
from discreet.families.tables.answer.models.column_counts import ColumnCounts

MEAN_ABSOLUTE = math.sqrt(2 / math.pi)
"""The mean absolute value of a standard normal number."""
SPREAD_OF_ABSOLUTE = math.sqrt(math.pi / 2 - 1)
"""The standard deviation of the absolute value of a normal number, over its mean."""
GROWS = 0.3
"""The power of its count with which a missed dependence weighs more on a cell than sampling does."""
EVEN = 3.0
"""How many average deviations each cell of a table has, whose errors all follow from those of a few."""
DOUBT = 0.5
"""The part of that deviation of independent columns that a cell has at least."""
RARE = 0.01
"""A value with a smaller part of the rows of an average value has next to none."""
FEW = 0.5
"""A cell with fewer expected rows is rounded to 0: it is off by the rows that it has."""
UNKNOWN = 0.01
"""A model that has a smaller part of the rows of a column's value says nothing of their dependence."""
ROUNDS = 3
"""How often a table is scaled to the counts of its columns."""
_BLOCK = 1 << 14
"""Cells that are worked on at a time: what is in work stays in a processor's cache."""


@dataclass(frozen=True, slots=True, eq=False)
class CellErrors:
    """What is known of the errors of cells, or of sets of cells. Thread safe: it never changes."""

    expected: Floats
    """The rows that are expected, not rounded."""
    sampling: Floats
    """The variance of sampling."""
    missed: Floats
    """The deviation of what a model misses, for a misfit of sqrt 2."""
    doubted: Floats
    """The same, but no less than if columns were independent: where a model misses much, a cell that it empties may hold rows."""
    columns: Floats
    """The deviation that the noise of single columns causes."""
    moved: Floats
    """The expected rows less those of the model."""
    one_is_free: bool = False
    """Whether all errors but those of columns follow from one."""

    @classmethod
    def of(cls, modelled: Floats, columns: Sequence[ColumnCounts]) -> CellErrors:
        """For each cell of a table that a model fills in, with what is known of the counts of its columns."""
        rows = float(modelled.sum())
        if rows <= 0:
            nothing = np.zeros(modelled.shape)
            return cls(nothing, nothing, nothing, nothing, nothing, nothing)
        lines = _lines([np.maximum(each.mean, 1e-9) for each in columns], rows)
        expected = _scaled(modelled, lines, rows)
        sampling = expected * _free(lines, rows)
        deviation = np.sqrt(sampling)
        grown = deviation * expected**GROWS
        total = float(grown.sum())
        heavier = grown * (float(deviation.sum()) / total) if total > 0 else grown
        free = prod(size - 1 for size in expected.shape) / expected.size
        shared = EVEN * (1 - free) * float(deviation.mean())
        missed = np.maximum(heavier, free * np.minimum(deviation, heavier) + shared)
        full = _full_cells(expected)
        one_is_free = full.sum() == 4 == 2**full.ndim
        if one_is_free:
            missed = np.where(full, float(deviation[full].mean()), deviation)
            sampling = missed**2
        even = rows * np.asarray(prod(line / rows for line in lines))
        doubted = np.maximum(missed, DOUBT * np.sqrt(even * _free(lines, rows)))
        variances = _lines([each.variance for each in columns])
        noise = prod(1 + own / line**2 for own, line in zip(variances, lines, strict=True)) - 1
        columns_off = expected * np.sqrt(noise)
        moved = expected - modelled
        return cls(expected, sampling, missed, doubted, columns_off, moved, one_is_free)

    def changed(self, how: Callable[[Floats], Floats]) -> CellErrors:
        """Some of the cells, or sums of cells.

        Errors of sampling are independent, so their variances are added. The others may all have the same sign, so their
        deviations are added.
        """
        return replace(
            self,
            expected=how(self.expected),
            sampling=how(self.sampling),
            missed=how(self.missed),
            doubted=how(self.doubted),
            columns=how(self.columns),
            moved=how(self.moved),
        )

    def weighted(self, weights: Floats, axes: tuple[int, ...]) -> CellErrors:
        """Weighted sums of cells, along some axes.

        Given the counts of a column, its cells are off in opposite directions, which weights of both signs may add up. So each cell has
        the whole variance of its rows, as if the columns were not known: weighted sums of those have no less.
        """
        sizes = np.abs(weights)

        def summed(each: Floats, by: Floats) -> Floats:
            return np.asarray(np.sum(each * by, axis=axes))

        return replace(
            self,
            expected=summed(self.expected, weights),
            sampling=summed(self.expected, sizes**2),
            missed=summed(self.missed, sizes),
            doubted=summed(self.doubted, sizes),
            columns=summed(self.columns, sizes),
            moved=summed(self.moved, weights),
        )

    @property
    def known(self) -> Floats:
        """The variance of what is known before anything is measured about the model."""
        return np.asarray(self.sampling + self.columns**2)

    def deviation(self, misfit: float) -> Floats:
        """The standard deviation of the error."""
        return np.asarray(np.sqrt(self.known + max(misfit**2 - 1, 0.0) * self.doubted**2))

    @property
    def distance_of_columns(self) -> tuple[float, float]:
        """The distance that single columns cause alone: its mean and its standard deviation, from so few draws."""
        mean = MEAN_ABSOLUTE * float(np.hypot(self.columns, self.moved).sum())
        noise = MEAN_ABSOLUTE * float(self.columns.sum())
        return mean, noise * SPREAD_OF_ABSOLUTE / math.sqrt(max(sum(self.columns.shape), 1))

    def distances(self, misfits: Floats) -> Floats:
        """The expected sum of all errors of the model, for each misfit.

        No cell loses more rows than it has, and what it gains others lose: so sampling and a missed dependence cost
        at most twice the expected rows of a cell, and once in a cell that is rounded to 0.
        """
        most = np.where(self.expected < FEW, 1.0, 2.0) * self.expected
        of_columns = np.hypot(self.columns, self.moved)
        deviations = np.sqrt(self.sampling), self.missed, most / MEAN_ABSOLUTE, of_columns
        mean = 1.0 if self.one_is_free else MEAN_ABSOLUTE
        means = mean, mean, MEAN_ABSOLUTE, MEAN_ABSOLUTE
        # Sums of so many roots need no more than single precision, which takes half as long.
        squares = [
            np.ravel((mean * each) ** 2).astype(np.float32)
            for mean, each in zip(means, deviations, strict=True)
        ]
        found = np.zeros(len(misfits))
        for start in range(0, self.expected.size, _BLOCK):
            sampling, missed, limit, columns = (each[start : start + _BLOCK] for each in squares)
            for place, misfit in enumerate(misfits):
                own = np.float32(min(misfit, 1.0) ** 2) * sampling
                if misfit > 1:
                    own += np.float32(misfit**2 - 1) * missed
                np.minimum(own, limit, out=own)
                own += columns
                found[place] += np.sqrt(own, out=own).sum()
        return found


def side_by_side(parts: Sequence[CellErrors]) -> CellErrors:
    """Some sums of the same cells, one after the other along a new first axis."""

    def stacked(which: Callable[[CellErrors], Floats]) -> Floats:
        return np.stack([which(each) for each in parts])

    return replace(
        parts[0],
        expected=stacked(lambda each: each.expected),
        sampling=stacked(lambda each: each.sampling),
        missed=stacked(lambda each: each.missed),
        doubted=stacked(lambda each: each.doubted),
        columns=stacked(lambda each: each.columns),
        moved=stacked(lambda each: each.moved),
    )


def farthest_misfit(shape: Sequence[int], rows: float) -> float:
    """The misfit of a model that misses a dependence of columns that determine each other.

    Pearson's chi-square of such a table is rows times its smaller size less 1. It is spread over as many cells as are free.
    """
    return math.sqrt(1 + max(rows, 0.0) / max(max(shape) - 1, 1))


def _lines(parts: Sequence[Floats], rows: float | None = None) -> list[Floats]:
    """The numbers of each column beside the cells of the table; where `rows` is given, as many in all."""
    found = []
    for axis, own in enumerate(parts):
        shape = [own.size if place == axis else 1 for place in range(len(parts))]
        whole = own if rows is None else own * (rows / float(own.sum()))
        found.append(whole.reshape(shape))
    return found


def _scaled(modelled: Floats, lines: Sequence[Floats], rows: float) -> Floats:
    """The model's table with the counts of its columns: its dependence is kept (iterative proportional fitting).

    Where the model has next to no row of a column's value, it knows no dependence.
    """
    own = [
        modelled.sum(axis=_but(axis, modelled.ndim), keepdims=True) for axis in range(len(lines))
    ]
    even, alone = (rows * prod(each / rows for each in parts) for parts in (lines, own))
    found = np.asarray(even * (modelled + UNKNOWN * even) / (alone + UNKNOWN * even))
    for _ in range(ROUNDS):
        for axis, line in enumerate(lines):
            found *= line / found.sum(axis=_but(axis, found.ndim), keepdims=True)
    return found


def _but(axis: int, many: int) -> tuple[int, ...]:
    return tuple(place for place in range(many) if place != axis)


def _full_cells(expected: Floats) -> Bools:
    """The cells of values that have more than next to no rows, in each column."""
    found = np.ones(expected.shape, dtype=bool)
    for axis, size in enumerate(expected.shape):
        line = expected.sum(axis=_but(axis, expected.ndim), keepdims=True)
        found &= line > RARE * line.sum() / size
    return found


def _free(lines: Sequence[Floats], rows: float) -> Floats:
    """The part of a cell's variance that is left, given the counts of single columns, if columns are independent."""
    shares = [line / rows for line in lines]
    cell = np.asarray(prod(shares))
    of_columns = sum(_of_others(shares, axis) - cell for axis in range(len(shares)))
    return np.asarray(np.maximum(1.0 - cell - of_columns, 0.0))


def _of_others(shares: Sequence[Floats], axis: int) -> Floats:
    return np.asarray(prod(each for place, each in enumerate(shares) if place != axis))
