"""Tables with their noise: measured cell by cell, or put together from residuals.

Where cells share noise a table cannot be asked for the noise of "so many cells": what matters is which. Every
table answers for weights on its cells instead. A question with groups has one width for each distinct pattern
of weights inside a group, for all cells of a column are alike to the noise.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import prod
from types import MappingProxyType

import numpy as np
import numpy.typing as npt

from discreet.answering.regions.public_total import counted_down
from discreet.arrays import Bools, Floats, Integers
from discreet.families.shared.estimate.combination import (
    Terms,
    half_width,
    half_widths,
    variance_of,
)
from discreet.families.shared.estimate.linear_widths import (
    linear_half_widths,
    repeated_half_width,
    repeated_terms,
    variance_of_repeated,
)
from discreet.families.tables.estimate.consistent import Coefficients, ConsistentTables
from discreet.families.tables.estimate.drawn_cells import DrawnCells, Draws
from discreet.privacy.exact import Exactable
from discreet.privacy.laws import NoiseLaw
from discreet.questions.limits.work import OF_A_TERM, OF_A_WIDTH, OF_SEVERAL_LAWS, spend


def summed(numbers: npt.NDArray[np.generic], mask: Bools, axes: tuple[int, ...]) -> Floats:
    """The sum of `numbers` over `axes` where `mask` holds."""
    where = np.broadcast_to(mask, numbers.shape)
    return np.asarray(np.sum(numbers, axis=axes, where=where), dtype=np.float64)


def others(dimensions: int, axes: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(axis for axis in range(dimensions) if axis not in axes)


def below_a_ceiling(
    lower: Floats, upper: Floats, width: Floats, most: Floats
) -> tuple[Floats, Floats]:
    """An interval, cut at what the count cannot exceed.

    A ceiling below the interval shows that one of the two has missed. The interval is then as wide as
    the noise from the ceiling down: cut to a single number, it would look certain.
    """
    cut = np.minimum(upper, most)
    return np.minimum(lower, cut - width), cut


@dataclass(frozen=True, slots=True, eq=False)
class Agreed:
    """Counts over some columns that add up however they are summed, which answers are."""

    counts: Floats
    most: int | None
    """A public number that no count exceeds, if there is one."""
    of_whole_table: bool = False
    """Whether they are sums of one table over all columns, from which sums of values are read too."""
    as_measured: bool = False
    """Whether they may be fractions, and below 0."""
    includes_ranges: bool = False
    """Whether trees over just these columns had a say in them."""


class WeightedTable(ABC):
    """A table over exactly some columns that knows the noise of any weighted sum of its cells."""

    columns: tuple[str, ...]
    counts: Floats
    is_model: bool = False
    """Whether an interval covers what a model left out, beside noise."""
    has_own_draws: bool = False
    """Whether each cell has draws of noise of its own, and as many as any other."""
    margins: Mapping[int, WeightedTable] = MappingProxyType({})
    """By axis, the table of that column alone, where a model needs it and measurements determine it."""
    whole: Agreed | None = None
    """What answers are, where they add up; `counts` are then those measured."""

    @property
    def cells(self) -> int:
        return int(self.counts.size)

    @abstractmethod
    def reach(self, weights: Floats, confidence: Exactable) -> tuple[float, float]:
        """Half the width of the interval, and the standard deviation, of one weighted sum."""

    def deviation(self, weights: Floats) -> float:
        """The standard deviation of one weighted sum."""
        return self.reach(weights, 0.95)[1]

    def terms(self, weights: Floats) -> Terms | None:
        """The draws in one weighted sum; `None` where it has a bias."""
        return None

    draws_behind: int = 0
    """How many draws may be in one weighted sum."""

    def draws(self, weights: Floats) -> list[Draws] | None:
        """The weight of every single draw in one weighted sum; `None` where they are not known."""
        return None

    def count(
        self,
        mask: Bools,
        group_axes: tuple[int, ...],
        rows: int | None,
        confidence: Exactable,
    ) -> tuple[Floats, Floats, Floats]:
        """The sum of the cells in `mask`, one a group, with half its interval and its standard deviation.

        `rows` is the public number of all rows in the table, if there is one.
        """
        value = summed(self.counts, mask, others(self.counts.ndim, group_axes))
        return value, *self.widths(mask, group_axes, confidence)

    def ends(
        self,
        mask: Bools,
        group_axes: tuple[int, ...],
        rows: int | None,
        confidence: Exactable,
    ) -> tuple[Floats, Floats, Floats, Floats]:
        """The same, with how far the interval reaches below and above the sum, and the standard deviation."""
        value, width, std = self.count(mask, group_axes, rows, confidence)
        return value, width, width, std

    def cut_deviation(self, inner: Floats, outer: Floats, spread: Floats) -> Floats:
        """The deviation of an estimate between those of two sums; `spread` sums the squares of shares."""
        return outer

    def deviations(self, weights: Floats, group_axes: tuple[int, ...]) -> Floats:
        """The standard deviations of weighted sums, one a group."""
        return self._by_group(weights, group_axes, lambda one: (0.0, self.deviation(one)))[1]

    def model_level(self, confidence: Exactable) -> Exactable:
        """What is left of the confidence for the table itself, after the ceilings."""
        return confidence

    def ceilings(
        self, selected: Bools, group_axes: tuple[int, ...], confidence: Exactable
    ) -> Floats:
        """What the counts of the selected cells cannot exceed, one a group."""
        return np.array(np.inf)

    def ceilings_of_cells(self, codes: Sequence[Integers], confidence: Exactable) -> Floats | None:
        """The same for single cells, by their codes in each column."""
        return None

    def cell_widths(
        self, codes: Sequence[Integers], confidence: Exactable
    ) -> tuple[Floats, Floats, Floats] | None:
        """How far intervals of single cells reach below and above, and deviations, where they differ from cell to cell."""
        return None

    def widths(
        self, weights: npt.NDArray[np.generic], group_axes: tuple[int, ...], confidence: Exactable
    ) -> tuple[Floats, Floats]:
        """Half-widths and standard deviations, one a group: a combination of cells of the group axes."""
        return self._by_group(weights, group_axes, lambda one: self.reach(one, confidence))

    def _by_group(
        self,
        weights: npt.NDArray[np.generic],
        group_axes: tuple[int, ...],
        numbers: Callable[[Floats], tuple[float, float]],
    ) -> tuple[Floats, Floats]:
        """Two numbers for the weights of each group; found once for weights that have the same noise."""
        shape = self.counts.shape
        varies = [axis for axis in group_axes if weights.shape[axis] > 1]
        kept = [1 if a in group_axes and a not in varies else n for a, n in enumerate(shape)]
        wide = np.broadcast_to(np.asarray(weights, dtype=np.float64), kept)
        rows = np.moveaxis(wide, group_axes, range(len(group_axes)))
        groups, inside = rows.shape[: len(group_axes)], rows.shape[len(group_axes) :]
        flat = np.ascontiguousarray(rows.reshape(prod(groups), -1))
        known: dict[bytes, tuple[float, float]] = {}
        found = np.empty((2, len(flat)))
        for place, row in enumerate(flat):
            key = self.pattern(row).tobytes()
            if key not in known:
                asked = self._asked(row.reshape(inside), group_axes)
                known[key] = numbers(asked) if row.any() else (0.0, 0.0)
            found[:, place] = known[key]
        sizes = [shape[axis] for axis in group_axes]
        one, other = (np.broadcast_to(each.reshape(groups), sizes) for each in found)
        return one, other

    def _asked(self, weights: Floats, group_axes: tuple[int, ...]) -> Floats:
        """Weights on the cells of one group, as weights on all cells; to the noise all groups are alike."""
        question = np.zeros(self.counts.shape)
        first = np.moveaxis(question, group_axes, range(len(group_axes)))
        first[(0,) * len(group_axes)] = weights
        return question

    def pattern(self, row: Floats) -> Floats:
        """What rows of weights have in common that have the same noise."""
        return row

    def first_cells(self, most: int, confidence: Exactable) -> tuple[Floats, Floats]:
        """Half-widths and standard deviations of the sum of the first 0, 1, ..., `most` cells."""
        found = np.zeros((2, most + 1))
        for many in range(1, most + 1):
            question = np.zeros(self.counts.size)
            question[:many] = 1.0
            found[:, many] = self.reach(question.reshape(self.counts.shape), confidence)
        return found[0], found[1]


@dataclass(frozen=True, eq=False)
class CombinedTable(WeightedTable):
    """Every cell has draws of its own, of the same laws: one measured table, or several of them combined."""

    columns: tuple[str, ...]
    counts: Floats
    noise: Terms
    whole: Agreed | None = None
    sources: tuple[DrawnCells, ...] = ()
    """The measured tables behind each term of `noise`."""
    has_own_draws: bool = field(default=True, init=False)

    @property
    def draws_behind(self) -> int:  # type: ignore[override]
        return sum(prod(source.shape) for source in self.sources)

    def draws(self, weights: Floats) -> list[Draws] | None:
        if len(self.sources) != len(self.noise):
            return None
        return [
            (source.key, law, share * source.spread(weights, self.columns))
            for source, (share, law, _) in zip(self.sources, self.noise, strict=True)
        ]

    @cached_property
    def cell_variance(self) -> float:
        return sum(weight**2 * law.variance * many for weight, law, many in self.noise)

    @cached_property
    def total(self) -> float:
        return float(self.counts.sum())

    def reach(self, weights: Floats, confidence: Exactable) -> tuple[float, float]:
        terms = self.terms(weights)
        several = OF_SEVERAL_LAWS if len(self.noise) > 1 else 0
        spend(OF_A_WIDTH + several + OF_A_TERM * len(terms))
        return half_width(terms, confidence), math.sqrt(variance_of(terms))

    def deviation(self, weights: Floats) -> float:
        return math.sqrt(variance_of(self.terms(weights)))

    def terms(self, weights: Floats) -> Terms:
        distinct, times = np.unique(weights, return_counts=True)
        return tuple(
            (share * float(weight), law, draws * int(count))
            for weight, count in zip(distinct, times, strict=True)
            for share, law, draws in self.noise
        )

    def count(
        self,
        mask: Bools,
        group_axes: tuple[int, ...],
        rows: int | None,
        confidence: Exactable,
    ) -> tuple[Floats, Floats, Floats]:
        axes = others(self.counts.ndim, group_axes)
        many = np.broadcast_to(mask, self.counts.shape).sum(axis=axes, dtype=np.int64)
        sums = summed(self.counts, mask, axes)
        value, draws = counted_down(rows, self.cells, self.total, sums, np.asarray(many))
        std = np.sqrt(self.cell_variance * draws)
        return value, half_widths(self.noise, draws, confidence), std

    def cut_deviation(self, inner: Floats, outer: Floats, spread: Floats) -> Floats:
        return np.asarray(np.sqrt(inner**2 + self.cell_variance * spread))

    def deviations(self, weights: Floats, group_axes: tuple[int, ...]) -> Floats:
        axes = others(self.counts.ndim, group_axes)
        squares = np.sum(np.broadcast_to(weights**2, self.counts.shape), axis=axes)
        return np.asarray(np.sqrt(self.cell_variance * squares))

    def _asked(self, weights: Floats, group_axes: tuple[int, ...]) -> Floats:
        return weights  # the noise does not depend on where they stand

    def pattern(self, row: Floats) -> Floats:
        return np.sort(np.abs(row))  # which cell has which weight is all the same

    def first_cells(self, most: int, confidence: Exactable) -> tuple[Floats, Floats]:
        many = np.arange(most + 1, dtype=np.int64)
        return half_widths(self.noise, many, confidence), np.sqrt(self.cell_variance * many)


class LinearTable(WeightedTable):
    """A table put together from all that was measured: residuals, and tables with noise on each cell.

    The weights of the combination do not depend on the question, so equal questions get equal
    answers and cells add up. Cells for rows that columns leave out are put together too, and not shown.
    """

    def __init__(
        self, columns: tuple[str, ...], tables: ConsistentTables, whole: Agreed | None = None
    ) -> None:
        self.columns, self._tables, self.whole = columns, tables, whole
        self.counts = np.asarray(tables.table(columns)[tables.declared_cells(columns)])
        self._reached: dict[tuple[int, Exactable], tuple[float, float]] = {}

    def reach(self, weights: Floats, confidence: Exactable) -> tuple[float, float]:
        if self._is_of_one_column and bool(np.isin(weights, (0.0, 1.0)).all()):
            asked = int(weights.sum()), confidence
            if asked not in self._reached:
                width, std = self._of_cells(np.array([asked[0]]), confidence)
                self._reached[asked] = float(width[0]), float(std[0])
            return self._reached[asked]
        rows = self._coefficients(weights)
        terms = sum(len(np.unique(row)) for _, row, _ in rows)
        spend(2 * OF_A_WIDTH + weights.size // 20 + 2 * OF_A_TERM * terms)
        return repeated_half_width(rows, confidence), math.sqrt(variance_of_repeated(rows))

    @property
    def draws_behind(self) -> int:  # type: ignore[override]
        return self._tables.draws_behind(self.columns)

    def draws(self, weights: Floats) -> list[Draws]:
        return self._tables.draws(self.columns, self._tables.everywhere(self.columns, weights))

    def deviation(self, weights: Floats) -> float:
        return math.sqrt(variance_of_repeated(self._coefficients(weights)))

    def terms(self, weights: Floats) -> Terms:
        return tuple(repeated_terms(self._coefficients(weights)))

    def _coefficients(self, weights: Floats) -> Coefficients:
        everywhere = self._tables.everywhere(self.columns, weights)
        return self._tables.coefficients(self.columns, everywhere)

    def first_cells(self, most: int, confidence: Exactable) -> tuple[Floats, Floats]:
        if not self._is_of_one_column:
            return super().first_cells(most, confidence)
        return self._of_cells(np.arange(most + 1), confidence)

    @property
    def _is_of_one_column(self) -> bool:
        """Whether it has one column of more than two cells: a parity of two moves them in opposite directions."""
        return len(self.columns) == 1 and self.counts.size > 2

    def _of_cells(self, many: Integers, confidence: Exactable) -> tuple[Floats, Floats]:
        """For sums of so many cells of the one column, all at once: its cells are alike to the noise.

        The coefficients of n cells follow from those of one: an even part, which grows with n, and
        a centred one, which is one number on those cells and another on the rest.
        """
        (cells,) = self._tables.sizes(self.columns)
        one = np.zeros(self.counts.size)
        one[0] = 1.0
        laws: list[NoiseLaw] = []
        weights: list[Floats] = []
        counts: list[Integers] = []
        for law, row, times in self._coefficients(one):
            if row.size == 1:
                laws.append(law)
                weights.append(row[0] * many)
                counts.append(np.full(many.shape, times))
                continue
            laws += [law, law]
            weights += [row[0] - row[1] + row[1] * many, row[1] * many]
            counts += [times * many, times * (cells - many)]
        if not laws:
            return np.zeros(many.shape), np.zeros(many.shape)
        return linear_half_widths(laws, np.stack(weights, 1), np.stack(counts, 1), confidence)
