"""Intervals of counts that a model fills in, as far as such counts usually are off.

The error of a count has a known law but for one number, the misfit of the model in its table (`cell_errors`). The misfit has a
distribution, from the measured distances (`misfits`). So the error is a mixture: for each misfit, a Student's t of 4 degrees of
freedom with the deviation that follows. Tails of errors are a little longer than normal ones. The interval leaves out half of the
risk at either end. Where it reaches down to 0, no count is below it, and the upper end gets the whole risk. Counts are whole, so
ends are rounded to the nearest count that keeps the risk.

**What is proved:** nothing. Sampling and the noise of single columns are laws that hold for random rows; that a missed dependence
spreads in this way is an assumption. **What is measured:** how often intervals hold, by `benchmarks/intervals.py`: over all
cells, over the largest of each table, over tables of few cells, and over sets of cells. Beyond a confidence of 99% nothing
was measured, and only the proved bound is used.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from discreet.arrays import Floats
from discreet.families.tables.answer.models.cell_errors import MEAN_ABSOLUTE, CellErrors
from discreet.families.tables.answer.models.misfits import KNOTS, MISFITS, at_misfits, misfits_of
from discreet.privacy.exact import Exactable, exact

FREEDOM = 4
MOST_MEASURED = Fraction(991, 1000)
"""The largest confidence at which coverage was measured: 99%, and a tenth of the risk to other bounds."""
HALVINGS = 40
FARTHEST = 50.0
"""No interval reaches farther, in deviations of the largest misfit."""
_MEAN = 2 * math.sqrt(FREEDOM / math.pi) * math.gamma((FREEDOM + 1) / 2)
_SCALE = MEAN_ABSOLUTE * math.gamma(FREEDOM / 2) * (FREEDOM - 1) / _MEAN
"""Makes the mean absolute value of a Student's t that of a standard normal number: distances are sums of absolute values."""


@dataclass(frozen=True, slots=True, eq=False)
class UsualErrors:
    """How far the counts of one table are usually off. Thread safe: it never changes."""

    cells: CellErrors
    weights: Floats
    """How likely each of `MISFITS` is."""
    distance: float
    """How many rows the model gets wrong in all, on average over the misfits."""

    @classmethod
    def of(cls, tables: Sequence[tuple[CellErrors, float, float]]) -> list[UsualErrors]:
        """For each of a model's tables, from all of them: their cells, noisy distances, and deviations of that noise."""
        expected = [cells.distances(KNOTS) for cells, _, _ in tables]
        sizes = np.array([cells.expected.mean() for cells, _, _ in tables])
        weights = misfits_of(
            [distance for _, distance, _ in tables],
            [noise for *_, noise in tables],
            expected,
            [cells.distance_of_columns for cells, _, _ in tables],
            sizes,
        )
        return [
            cls(cells, own, float(own @ at_misfits(means)))
            for (cells, _, _), own, means in zip(tables, weights, expected, strict=True)
        ]

    def within(self, declared: tuple[slice, ...]) -> UsualErrors:
        """The same for some of the cells."""
        return replace(self, cells=self.cells.changed(lambda each: each[declared]))

    def ends(self, sets: CellErrors, confidence: Exactable) -> tuple[Floats, Floats] | None:
        """For sets of cells, both ends of their intervals, in whole rows; `None` where that was not measured."""
        level = exact(confidence, name="confidence")
        if level > MOST_MEASURED:
            return None
        risk = float(1 - level)
        reach = self._reach(sets, risk)
        lower = np.maximum(np.floor(sets.expected - reach + 0.5), 0.0)
        above = np.where(lower > 0, reach, self._reach(sets, 2 * risk))
        return lower, np.maximum(np.ceil(sets.expected + above - 0.5), lower)

    def _reach(self, sets: CellErrors, risk: float) -> Floats:
        """How far errors reach, of which `risk` reach farther to either side."""
        if risk >= 1:
            return np.zeros(sets.expected.shape)
        deviations = usual_deviations(risk)
        low, high = 0.0, FARTHEST * float(MISFITS[-1])
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            if float(self.weights @ _beyond(middle / MISFITS)) > risk:
                low = middle
            else:
                high = middle
        return deviations * sets.deviation(high / deviations)

    def deviations(self, sets: CellErrors) -> Floats:
        return sets.deviation(math.sqrt(float(self.weights @ MISFITS**2)))


def usual_deviations(risk: float) -> float:
    """How many deviations an error reaches for a known misfit, if `risk` reach farther to either side."""
    low, high = 0.0, FARTHEST
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if float(_beyond(np.array(middle))) > risk else (low, middle)
    return high


def _beyond(deviations: Floats) -> Floats:
    """The probability of an error of more than so many deviations, to either side: Student's t of 4 degrees of freedom."""
    square = (deviations / _SCALE) ** 2
    cosine = FREEDOM / (FREEDOM + square)
    within = np.sqrt(1 - cosine) * (1 + cosine / 2)
    return np.asarray(1 - within)
