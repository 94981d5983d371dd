"""Intervals for ratios of noisy numbers, and for quantiles, by inverting tests (Fieller's way).

A mean is S/N. For a candidate value t, S - t N is 0 where t is the mean, so the noisy S - t N is
then noise alone, x - t y, whose law is known. The values t whose noisy difference is within that
noise's exact quantile form a set that holds the mean with the stated confidence, whatever N is:
nothing is assumed of the denominator, and where it is small the set is wide.

A quantile: cell c holds it only if at most q of the rows lie below c and at least q at or below it.
Both are linear in the noisy counts, so each cell is tested by itself, one side each, and the hull of
the cells that pass is the interval.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from discreet.arrays import Floats
from discreet.families.shared.estimate.combination import half_width
from discreet.privacy.laws import NoiseLaw

Counts = npt.NDArray[np.int64]
Ends = tuple[Floats, Floats]
"""The lower and the upper ends of some intervals."""
STEPS = 8
"""Values of t are rounded up to this many steps, because each needs its own quantile."""
ROUNDS = 2
MOST_LISTED = 50_000
"""Values of the denominator's noise that are listed one by one."""
LISTED = 1 - Fraction(1, 10**13)
"""How much of it they must hold: what is left out is far below the slack of 1e-11."""


@lru_cache(maxsize=1 << 14)
def _ratio_width(
    unit: float, above: NoiseLaw, t: float, below: NoiseLaw, confidence: Fraction
) -> float:
    width = listed_width(unit, above, t, below, float(1 - confidence))
    return half_width([(unit, above, 1), (t, below, 1)], confidence) if width is None else width


def listed_width(
    unit: float, above: NoiseLaw, t: float, below: NoiseLaw, miss: float
) -> float | None:
    """An h with P(|unit X + t Y| > h) <= miss, summed over Y's values with X's exact tail.

    The tenth of a general convolution's time. None where Y is too wide to list, or the miss
    probability is close to what rounding leaves open.
    """
    reach = below.half_width(LISTED)
    if reach > MOST_LISTED or miss < 1e-6:
        return None
    places = np.arange(-reach, reach + 1)
    masses = np.asarray(below.pmf(places), dtype=np.float64)

    def beyond(h: float) -> float:
        """P(|unit X + t Y| > h), a hair above: twice P(X > (h - t y) / unit), by symmetry."""
        least = np.floor((h - t * places) / unit * (1 - 1e-12)) + 1  # X must be at least this
        far = above.tail(np.where(least >= 1, least - 1, -least))
        return 2 * float(np.where(least >= 1, far, 1 - far) @ masses) + 1e-11

    low, high = 0.0, unit * above.std + t * below.std
    while beyond(high) > miss:
        low, high = high, 2 * high
    while high - low > 1e-4 * high:
        middle = (low + high) / 2
        low, high = (low, middle) if beyond(middle) <= miss else (middle, high)
    return high


def ratio_interval(
    numerator: Floats,
    denominator: Floats,
    *,
    unit: float,
    above: NoiseLaw,
    below: NoiseLaw | None,
    low: float,
    high: float,
    confidence: Fraction,
) -> tuple[Floats, Floats]:
    """Where numerator/denominator lies, before noise, given that it is between `low` and `high`.

    `unit` is the value of one step of the numerator's noise; `below` is None for a denominator
    without noise.
    """
    lower = np.full(len(numerator), low)
    upper = np.full(len(numerator), high)
    reach = max(abs(low), abs(high), 1e-300)
    usable = denominator > 0
    safe = np.where(usable, denominator, 1.0)
    for _ in range(ROUNDS if below is not None else 1):
        furthest = np.maximum(np.abs(lower), np.abs(upper)) / reach
        places = np.minimum(np.ceil(furthest * STEPS - 1e-9), STEPS).astype(np.int64)
        widths = np.empty(len(numerator))
        for place in np.unique(places):
            if below is None:
                width = unit * above.half_width(confidence)
            else:
                width = _ratio_width(unit, above, int(place) / STEPS * reach, below, confidence)
            widths[places == place] = width
        narrowed_low = np.maximum(lower, (numerator - widths) / safe)
        narrowed_high = np.minimum(upper, (numerator + widths) / safe)
        # An empty set has the probability of a miss; the whole range is the honest answer then.
        holds = usable & (narrowed_low <= narrowed_high)
        lower = np.where(holds, narrowed_low, low)
        upper = np.where(holds, narrowed_high, high)
    return lower, upper


def variance_interval(
    mean: tuple[Floats, Floats], square: tuple[Floats, Floats], *, widest: float
) -> tuple[Floats, Floats]:
    """E[z^2] - E[z]^2 from intervals of both that hold together; at most width^2/4 (Popoviciu)."""
    farthest = np.maximum(mean[0] ** 2, mean[1] ** 2)
    crosses = (mean[0] <= 0) & (mean[1] >= 0)
    nearest = np.where(crosses, 0.0, np.minimum(mean[0] ** 2, mean[1] ** 2))
    lower = np.clip(square[0] - farthest, 0.0, widest)
    upper = np.clip(square[1] - nearest, 0.0, widest)
    return lower, np.maximum(lower, upper)


def product_of(left: Ends, right: Ends) -> Ends:
    """All products of a value of one interval and a value of another; 0 times infinity counts as 0."""
    with np.errstate(invalid="ignore"):
        corners = [a * b for a in left for b in right]
    known = np.nan_to_num(np.array(corners), nan=0.0, posinf=np.inf, neginf=-np.inf)
    return known.min(axis=0), known.max(axis=0)


def divided(above: Ends, below: Ends) -> Ends:
    """All quotients, with a divisor that is not negative; unbounded where it may be 0."""
    least, most = below
    with np.errstate(divide="ignore", invalid="ignore"):
        lower = np.where(above[0] < 0, above[0] / least, above[0] / most)
        upper = np.where(above[1] > 0, above[1] / least, above[1] / most)
    return np.nan_to_num(lower, nan=0.0, posinf=np.inf, neginf=-np.inf), np.nan_to_num(
        upper, nan=0.0, posinf=np.inf, neginf=-np.inf
    )


ROUNDING = 1e-12
"""Relative errors of sums of doubles are smaller."""


class QuantileBand:
    """The noisy counts below every edge, from levels of histograms, coarse to fine."""

    def __init__(
        self, levels: Sequence[Counts], shifts: Sequence[int], law: NoiseLaw, level: Fraction
    ) -> None:
        self.law, self.level = law, level
        self.buckets = len(levels[-1])
        edges = np.arange(self.buckets + 1)
        q = float(level)
        below = np.zeros(self.buckets + 1)
        above = np.zeros(self.buckets + 1)
        self.nodes_below = np.zeros(self.buckets + 1, dtype=np.int64)
        self.nodes_above = np.zeros(self.buckets + 1, dtype=np.int64)
        first = np.zeros_like(edges)  # what the coarser levels have covered, in their own nodes
        last = np.zeros_like(edges)
        for place, (counts, shift) in enumerate(zip(levels, shifts, strict=True)):
            sums = np.concatenate([[0], np.cumsum(counts)])
            depth = shift - shifts[-1]
            fan = 0 if place == 0 else shifts[place - 1] - shift
            start = first << fan
            stop = edges >> depth
            until = np.full_like(edges, len(counts)) if place == 0 else last << fan
            since = -((-edges) >> depth)
            until = np.minimum(until, len(counts))
            since = np.minimum(since, until)
            below += sums[stop] - sums[start]
            above += sums[until] - sums[since]
            self.nodes_below += stop - start
            self.nodes_above += until - since
            first, last = stop, since
        self.difference = (1 - q) * below - q * above
        # Counts are whole, so that a difference often lies just at the end of the band: no rounding may put it outside.
        self._slack = ROUNDING * (1 + np.abs(below) + np.abs(above))

    def _width(self, edge: int, confidence: Fraction) -> float:
        counts = (int(self.nodes_below[edge]), int(self.nodes_above[edge]))
        width = _band_width(self.law, self.level, *map(_rounded_up, counts), confidence)
        return width + ROUNDING * (1 + width)

    def interval(self, confidence: Fraction) -> tuple[int, int, int]:
        """The first and last bucket that may hold the quantile, and the likeliest."""
        most = _band_width(
            self.law,
            self.level,
            _rounded_up(int(self.nodes_below.max())),
            _rounded_up(int(self.nodes_above.max())),
            confidence,
        )
        first = last = None
        most += ROUNDING * (1 + most)
        high, low = self.difference + self._slack, self.difference - self._slack
        for bucket in np.flatnonzero(high[1:] >= -most):
            if high[bucket + 1] >= -self._width(int(bucket) + 1, confidence):
                first = int(bucket)
                break
        for bucket in np.flatnonzero(low[:-1] <= most)[::-1]:
            if low[bucket] <= self._width(int(bucket), confidence):
                last = int(bucket)
                break
        lowest = self.buckets - 1 if first is None else first
        highest = 0 if last is None else last
        lowest, highest = min(lowest, highest), max(lowest, highest)
        reached = np.flatnonzero(high[1:] >= 0)
        likeliest = int(reached[0]) if len(reached) else self.buckets - 1
        return lowest, highest, min(max(likeliest, lowest), highest)


@lru_cache(maxsize=1 << 14)
def _band_width(
    law: NoiseLaw, level: Fraction, below: int, above: int, confidence: Fraction
) -> float:
    terms = [(float(1 - level), law, below), (float(level), law, above)]
    return half_width(terms, confidence)


def _rounded_up(count: int) -> int:
    """Rounds up to two significant binary digits: more draws only spread a sum further, so it stays valid."""
    if count < 8:
        return count
    step = 1 << (count.bit_length() - 3)
    return -(-count // step) * step


def mean_std(numerator: NoiseLaw, unit: float, ratio: Floats, below: NoiseLaw | None) -> Floats:
    """The standard deviation of numerator - ratio * denominator."""
    variance = np.full(len(ratio), numerator.variance * unit * unit)
    if below is not None:
        variance += ratio**2 * below.variance
    std: Floats = np.sqrt(variance)
    return std
