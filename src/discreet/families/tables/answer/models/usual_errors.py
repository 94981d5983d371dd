"""Intervals of counts that a model fills in, as far as such counts usually are off.

The error of a count has a known variance but for one number, the misfit of the model in its table (`cell_errors`). The misfit has
a distribution, from the measured distances (`misfits`). So the error is a mixture: for each misfit, a normal law with the variance
that follows; where all errors of the table follow from one, a number of either sign. Where little is known of the misfit, the
mixture has long tails. The interval leaves out half of the risk at either end. Counts are not below 0, so those that may be off
by as much as they are have a longer tail above: the upper end is that of a gamma law of the same mean and variance, if that is
farther. Where the interval reaches down to 0, no count is below it, and the upper end gets the whole risk. Counts are whole, so
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
from statistics import NormalDist

import numpy as np

from discreet.arrays import Floats
from discreet.families.tables.answer.models.cell_errors import CellErrors, farthest_misfit
from discreet.families.tables.answer.models.misfits import KNOTS, MISFITS, at_misfits, misfits_of
from discreet.privacy.exact import Exactable, exact

MOST_MEASURED = Fraction(991, 1000)
"""The largest confidence at which coverage was measured: 99%, and a tenth of the risk to other bounds."""
HALVINGS = 40
UNLIKELY = 1e-7
"""Misfits of a smaller weight do not count."""
RATIOS: Floats = np.geomspace(1e-4, 1e6, 31)
"""Variances of what a model misses over those of the rest, at which reaches are computed; between them they are interpolated."""
OVER_NOISE: Floats = np.geomspace(0.05, 100.0, 20)
"""Deviations of what a model misses over those of the noise of columns, at which reaches are computed where one error is free."""
ROUNDING = 0.29
"""The deviation of a rounded count."""
SPREADS: Floats = np.geomspace(0.01, 3.0, 40)
"""Deviations over counts, at which upper ends are computed; between them they are interpolated."""


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
            [
                farthest_misfit(cells.expected.shape, float(cells.expected.sum()))
                for cells, _, _ in tables
            ],
            [cells.one_is_free for cells, _, _ in tables],
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
        whole = _reach_above(sets.expected, self._reach(sets, 2 * risk), 2 * risk)
        above = np.where(lower > 0, _reach_above(sets.expected, reach, risk), whole)
        return lower, np.maximum(np.ceil(sets.expected + above - 0.5), lower)

    def reach_of_sums(
        self, sums: CellErrors, sizes: Floats, confidence: Exactable
    ) -> Floats | None:
        """How far weighted sums are off to either side; `None` where that was not measured.

        `sizes`: the same sums without signs. Where the error is as large as these, a few cells may hold many rows more than is
        expected, and either end reaches as far as a gamma law does above.
        """
        level = exact(confidence, name="confidence")
        risk = float(1 - level)
        return None if level > MOST_MEASURED else _reach_above(sizes, self._reach(sums, risk), risk)

    def _reach(self, sets: CellErrors, risk: float) -> Floats:
        """How far errors reach, of which `risk` reach farther to either side, if as many are too large as too small."""
        if risk >= 1:
            return np.zeros(sets.expected.shape)
        if sets.one_is_free and sets.expected.size:
            return self._reach_of_one(sets, risk)
        from scipy.special import ndtr  # slow to import, and few questions need it

        likely = self.weights > UNLIKELY
        more, weights = np.maximum(MISFITS[likely] ** 2 - 1, 0.0), self.weights[likely]
        deviations = np.sqrt(1 + RATIOS[:, None] * more)
        # Less than the smallest deviation would give, no error reaches; more than the largest would, none does either.
        one = usual_deviations(risk)
        low, high = np.full(RATIOS.shape, one), one * deviations.max(axis=1)
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            too_near = 2 * ndtr(-middle[:, None] / deviations) @ weights > risk
            low, high = np.where(too_near, middle, low), np.where(too_near, high, middle)
        known = np.maximum(sets.known, sets.doubted**2 / RATIOS[-1])
        ratios = np.maximum(sets.doubted**2 / np.maximum(known, 1e-300), RATIOS[0])
        found = np.interp(np.log(ratios), np.log(RATIOS), np.log(high))
        return np.asarray(np.sqrt(known) * np.exp(found))

    def _reach_of_one(self, sets: CellErrors, risk: float) -> Floats:
        """The same where one error is free: the misfit says how large it is, and not its sign. Columns add normal noise."""
        from scipy.special import ndtr  # slow to import, and few questions need it

        likely = self.weights > UNLIKELY
        misfits, weights = MISFITS[likely], self.weights[likely]
        noise = np.maximum(np.hypot(sets.columns, ROUNDING), sets.missed / OVER_NOISE[-1])
        ratios = np.maximum(sets.missed / noise, OVER_NOISE[0])
        first, last = np.searchsorted(OVER_NOISE, [ratios.min(), ratios.max()])
        about = OVER_NOISE[max(first - 1, 0) : last + 1]
        sizes = misfits * about[:, None]
        low, high = np.zeros(about.shape), usual_deviations(risk) + sizes.max(axis=1)
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            beyond = ndtr(sizes - middle[:, None]) + ndtr(-sizes - middle[:, None])
            too_near = beyond @ weights > risk
            low, high = np.where(too_near, middle, low), np.where(too_near, high, middle)
        return np.asarray(noise * np.exp(np.interp(np.log(ratios), np.log(about), np.log(high))))

    def deviations(self, sets: CellErrors) -> Floats:
        return sets.deviation(math.sqrt(float(self.weights @ np.maximum(MISFITS, 1.0) ** 2)))


def usual_deviations(risk: float) -> float:
    """How many deviations an error reaches for a known misfit, if `risk` reach farther to either side."""
    return -NormalDist().inv_cdf(risk / 2)


def _reach_above(counts: Floats, reach: Floats, risk: float) -> Floats:
    """How far a count reaches up, that may be off by `reach` if it were as likely to be too large as too small.

    A gamma law with most of its weight at 0 reaches less far than a normal law, at low confidence. No interval relies on that.
    """
    if risk >= 1:
        return reach
    from scipy.special import gammaincinv  # slow to import, and few questions need it

    deviations = reach / usual_deviations(risk)
    shapes = 1 / SPREADS**2
    ends = (gammaincinv(shapes, 1 - risk / 2) - shapes) / np.sqrt(shapes)
    spreads = np.clip(deviations / np.maximum(counts, 1e-12), SPREADS[0], SPREADS[-1])
    above = deviations * np.interp(np.log(spreads), np.log(SPREADS), ends)
    return np.asarray(np.maximum(reach, above))
