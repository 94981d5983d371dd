"""A table that a model filled in, and what is known of its errors."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cache, partial

import numpy as np

from discreet.arrays import Bools, Floats, Integers
from discreet.families.shared.answer.evidence import Evidence
from discreet.families.shared.estimate.risk import at_part_of_risk
from discreet.families.tables.answer.linear_tables import WeightedTable, others, summed
from discreet.families.tables.answer.models.cell_errors import CellErrors
from discreet.families.tables.answer.models.usual_errors import UsualErrors
from discreet.families.tables.estimate.consistent import Filled
from discreet.families.tables.estimate.residuals import centred
from discreet.families.tables.queries.residuals import subsets
from discreet.privacy.exact import Exactable, exact
from discreet.privacy.laws import NoiseLaw

TOTAL_RISK = Fraction(1, 10)
"""The part of an interval's risk that goes to the total: its noise is the smaller one by far."""
CEILING_RISK = Fraction(1, 10)
"""The part of an interval's risk that goes to the tables of single columns above it."""
LEAST = 1.0
"""No interval is narrower than a row to either side: a single number would look certain."""


@dataclass(eq=False)
class ModelTable(WeightedTable):
    """A table that a model filled in, and a noisy measurement of how many rows it is off in all.

    With e the errors of the cells, |sum of w e| <= max|w| * sum|e|; the sum of |e| was measured
    with noise, so its upper end at `confidence` bounds every question about the table at once.
    Where the total is known too, rows that are too many in some cells are missing in others: with
    weights between a and b, |sum of w e| <= (b - a)/2 * sum|e| + |a + b|/2 * |sum of e|. A count is
    then off by half the distance, about.
    """

    columns: tuple[str, ...]
    counts: Floats
    distance: float
    law: NoiseLaw
    total: float | None = None
    """The number of rows in the table, as it was measured; `None`: some rows may be in no cell."""
    total_law: NoiseLaw | None = None
    """The noise of `total`; `None`: it is exact."""
    everywhere: float | None = None
    """What its cells come to with those that are not shown: see `within`. `None`: all are shown."""
    is_model: bool = field(default=True, init=False)
    margins: dict[int, WeightedTable] = field(default_factory=dict, init=False)
    find_usual: Callable[[], UsualErrors | None] | None = field(default=None, init=False)
    """See `usual`, which is found when it is first asked for: it takes longer than all else about a table."""

    @property
    def usual(self) -> UsualErrors | None:
        """How far counts are usually off, where the model fills the table in."""
        return None if self.find_usual is None else self.find_usual()

    def summed_to(self, columns: tuple[str, ...]) -> ModelTable:
        """The table over some of the columns. Its cells are sums, and no sum is off by more than its parts together."""
        axes = tuple(place for place, name in enumerate(self.columns) if name not in columns)
        counts = np.asarray(self.counts.sum(axis=axes))
        return ModelTable(columns, counts, self.distance, self.law, self.total, self.total_law)

    def within(self, declared: tuple[slice, ...]) -> ModelTable:
        """The table without cells for rows that columns leave out. Its errors are some of those that were measured."""
        shown = np.asarray(self.counts[declared])
        if shown.shape == self.counts.shape:
            return self
        found = replace(self, counts=shown, everywhere=float(self.counts.sum()))
        found.find_usual = cache(lambda: self.usual and self.usual.within(declared))
        return found

    def ends(
        self,
        mask: Bools,
        group_axes: tuple[int, ...],
        rows: int | None,
        confidence: Exactable,
    ) -> tuple[Floats, Floats, Floats, Floats]:
        value, width, std = self.count(mask, group_axes, rows, confidence)
        if self.usual is None:
            return value, width, width, std
        axes = others(self.counts.ndim, group_axes)
        sets = self.usual.cells.changed(lambda each: summed(each, mask, axes))
        return value, *self._narrowed(self.usual, sets, value, width, std, confidence)

    def cell_widths(
        self, codes: Sequence[Integers], confidence: Exactable
    ) -> tuple[Floats, Floats, Floats] | None:
        if self.usual is None:
            return None
        one = np.zeros(self.counts.shape)
        one[(0,) * one.ndim] = 1.0
        width, std = (np.array(each) for each in self.reach(one, confidence))
        places = tuple(codes)
        cells = self.usual.cells.changed(lambda each: each[places])
        return self._narrowed(self.usual, cells, self.counts[places], width, std, confidence)

    @staticmethod
    def _narrowed(
        usual: UsualErrors,
        sets: CellErrors,
        value: Floats,
        width: Floats,
        std: Floats,
        confidence: Exactable,
    ) -> tuple[Floats, Floats, Floats]:
        """How far intervals reach below and above: as is proved for every set of cells, or as far as such sets usually are off."""
        ends = usual.ends(sets, confidence)
        if ends is None:
            wide = np.broadcast_to(width, value.shape)
            return wide, wide, np.broadcast_to(std, value.shape)
        below = np.maximum(value - ends[0], LEAST)
        above = np.maximum(ends[1] - value, LEAST)
        deviations = np.minimum(std, usual.deviations(sets))
        return np.minimum(width, below), np.minimum(width, above), deviations

    @property
    def usually_off(self) -> float:
        """How many rows the model gets wrong in all, usually: a noisy distance alone may be far too small, or below 0."""
        return max(self.distance, self.law.std) if self.usual is None else self.usual.distance

    def model_level(self, confidence: Exactable) -> Fraction:
        return at_part_of_risk(confidence, 1 - CEILING_RISK if self.margins else Fraction(1))

    def ceilings(
        self, selected: Bools, group_axes: tuple[int, ...], confidence: Exactable
    ) -> Floats:
        """What the counts of the selected cells cannot exceed, one a group.

        No more rows are in some cells than in the cells of one column that they lie in, which were
        measured: each such sum, at its upper end, is a bound (Frechet's). Together they fail with
        probability `CEILING_RISK` of the interval's risk.
        """
        sizes = [self.counts.shape[axis] for axis in group_axes]
        least = np.full(sizes, np.inf)
        wide = np.broadcast_to(selected, self.counts.shape)
        for axis in self.margins:
            if axis in group_axes:
                place = group_axes.index(axis)
                shape = [size if at == place else 1 for at, size in enumerate(sizes)]
                least = np.minimum(least, self._ceiling_of_cells(axis, confidence).reshape(shape))
            else:
                others = tuple(other for other in range(wide.ndim) if other != axis)
                touched = np.asarray(wide.any(axis=others))
                least = np.minimum(least, self._ceiling(axis, touched, confidence))
        return least

    def ceilings_of_cells(self, codes: Sequence[Integers], confidence: Exactable) -> Floats | None:
        if not self.margins:
            return None
        least = np.full(len(codes[0]), np.inf)
        for axis in self.margins:
            least = np.minimum(least, self._ceiling_of_cells(axis, confidence)[codes[axis]])
        return least

    def _ceiling_of_cells(self, axis: int, confidence: Exactable) -> Floats:
        margin = self.margins[axis]
        first = np.zeros(margin.counts.shape)
        first[0] = 1.0  # all cells of a column are alike to the noise
        reach, _ = margin.reach(first, self._one_sided(confidence))
        return np.asarray(np.maximum(margin.counts, 0.0) + reach)

    def _ceiling(self, axis: int, touched: Bools, confidence: Exactable) -> float:
        margin, weights = self.margins[axis], touched.astype(np.float64)
        if not touched.any():
            return 0.0
        reach, _ = margin.reach(weights, self._one_sided(confidence))
        return max(0.0, float((margin.counts * weights).sum())) + reach

    def _one_sided(self, confidence: Exactable) -> Fraction:
        return at_part_of_risk(confidence, 2 * CEILING_RISK / len(self.margins))

    def reach(self, weights: Floats, confidence: Exactable) -> tuple[float, float]:
        largest = float(np.abs(weights).max(initial=0.0))
        width = largest * self._most_off(exact(confidence, name="confidence"))
        if self.total is not None:
            whole = float(self.counts.sum()) if self.everywhere is None else self.everywhere
            off = abs(self.total - whole)
            if self.total_law is not None:
                off += self.total_law.half_width(float(at_part_of_risk(confidence, TOTAL_RISK)))
            within = self._most_off(at_part_of_risk(confidence, 1 - TOTAL_RISK))
            top, bottom = float(weights.max(initial=0.0)), float(weights.min(initial=0.0))
            width = min(width, (top - bottom) / 2 * within + abs(top + bottom) / 2 * off)
        # Half the measured distance is what a random half of the cells is off by, about.
        return width, largest * max(self.distance, self.law.std) / 2

    def _most_off(self, level: Fraction) -> float:
        """An upper bound on the distance, with probability `level`: one side of its noise.

        No distance is below 0. A measured one that is below 0 shows nothing but its noise, and must
        not take the noise out of the bound: that would leave intervals of no width.
        """
        two_sided = max(2 * level - 1, Fraction(1, 2))
        return max(0.0, self.distance) + self.law.half_width(float(two_sided))


def model_residuals(models: Iterable[ModelTable]) -> dict[tuple[str, ...], Filled]:
    """What the tables of a model say of the residual of each set of columns, and how far that is off in a cell.

    Several tables hold the residual of a set, each rounded to whole rows. The first one's is taken for all, so that tables agree.
    """
    found: dict[tuple[str, ...], Filled] = {}
    for model in models:
        for own in subsets(model.columns):
            if own not in found:
                axes = tuple(a for a, name in enumerate(model.columns) if name not in own)
                table = centred(np.asarray(model.counts.sum(axis=axes), dtype=np.float64))
                found[own] = Filled(table, partial(_off_in_a_cell, model, max(1, table.size)))
    return found


def _off_in_a_cell(model: ModelTable, cells: int) -> float:
    return max(model.usually_off, 1.0) / cells


def models_of(evidence: Evidence) -> list[ModelTable]:
    """The tables that models filled in."""
    return [each for each in evidence.models if isinstance(each, ModelTable)]
