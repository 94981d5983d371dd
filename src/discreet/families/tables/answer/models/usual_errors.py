"""How far counts that a model fills in are usually off, from the measured distance of their own table.

With D the rows that the model gets wrong in a table, a set of cells is off by its share of D, usually. Two
questions remain.

**How large is D?** It was measured with noise, and that may be larger than D. Tables of one model are alike, so
the others say something too: distances are taken to be exponentially distributed, with the mean of all tables (at
the upper end of its noise). Given the measured number, D is then below

    the quantile at 1 - 2 risk of a normal number around (measured - variance / mean), cut off at 0.

Where noise is small, that is the measured number; where it hides everything, a few times the mean. A table
whose columns depend on each other so gets wide intervals, however many other tables the model fits well.

**How is D spread over the cells?** What noise leaves grows slowly with the count of a cell, about as (count + 1/2)^0.45.
A dependence that the model misses grows as the count itself. A cell's share is the larger of the two. And the model's
columns were measured, so its errors add up to 0 along each: of n cells so many errors follow from the others, and in
a table of few cells all are off by about as much. So each share is a mean of the cell's own and of the table's
average, the latter by the share of errors that follow from the others.

A count is then within 2.55 times its share of D. **What is measured, and not proved:** that this holds as often as
stated. The factor was found on published and on generated tables, and `benchmarks/intervals.py` measures it on others:
over all cells, over the largest of each table, over small tables, and over sets of cells. It grows with the confidence as
tails between normal and exponential ones do. Beyond a confidence of 99% nothing was measured, and only the proved
bound is used.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import prod
from statistics import NormalDist

import numpy as np

from discreet.arrays import Floats
from discreet.privacy.exact import Exactable, exact
from discreet.privacy.laws import NoiseLaw

OFFSET = 0.5
POWERS = (0.45, 1.0)
"""How errors grow with the count of a cell: those of noise, and those of a dependence that the model misses."""
USUAL_MISS = 0.05
USUAL_FACTOR = 2.55
"""How many times its share of the distance a count is off by at most, in 95 of 100."""
TAIL_POWER = 1.25
MOST_MEASURED = Fraction(991, 1000)
"""The largest confidence at which the factor was measured: 99%, and a tenth of the risk to other bounds."""
UPPER_END = 1.645
"""Standard deviations of noise that are added to the mean distance: it is below that with 95%."""
LEAST = 1.0
"""No interval is narrower than a row to either side."""
DEVIATION = 1.25
"""A standard deviation, in mean absolute errors, of normal numbers."""
PLACES = 256
"""Cells for which a plan computes shares; those between them are taken to be alike."""
FAR_BELOW = -30.0
"""So many deviations below 0, what is left of a normal law above 0 is an exponential one."""


def factor_at(confidence: Exactable) -> float | None:
    """How many shares of the distance an interval reaches; `None` where that was not measured."""
    level = exact(confidence, name="confidence")
    if level > MOST_MEASURED:
        return None
    grown = math.log(1 / float(1 - level)) / math.log(1 / USUAL_MISS)
    return USUAL_FACTOR * math.pow(grown, TAIL_POWER)


def shares_of(counts: Floats) -> Floats:
    """The part of a table's distance that each cell may hold. They add up to more than 1."""
    return _spread(counts, 1.0, _free(counts.shape))


@lru_cache(maxsize=4096)
def shares_of_falling_counts(shape: tuple[int, ...], people: int) -> float:
    """What the shares of all cells come to where counts fall as 1, 1/2, 1/3, ... (Zipf's law)."""
    cells = prod(shape)
    ends = np.unique(np.geomspace(1.0, cells + 1.0, PLACES).round())
    alike = np.diff(ends)  # the largest cells one by one, of the small ones many together
    falling = 1 / ends[:-1]
    counts = people * falling / (alike * falling).sum()
    return float((alike * _spread(counts, alike, _free(shape))).sum())


def _free(shape: tuple[int, ...]) -> float:
    """The share of errors that do not follow from the others, given the tables of single columns."""
    return prod(max(size - 1, 0) for size in shape) / max(prod(shape), 1)


def _spread(counts: Floats, alike: Floats | float, free: float) -> Floats:
    """`alike`: how many cells each count stands for."""
    largest = np.zeros(counts.shape)
    cells = np.broadcast_to(alike, counts.shape).sum()
    for power in POWERS:
        own = (np.maximum(counts, 0.0) + OFFSET) ** power
        total = (alike * own).sum()
        size = free * own + (1 - free) * total / cells
        np.maximum(largest, size / total, out=largest)
    return largest


def mean_distance(distances: Sequence[float], variance: float) -> float:
    """The mean distance of all tables of a model, at its upper end; `variance` is that of the noise in their sum."""
    # A sum below 0 shows nothing but its noise, which stays in.
    return (max(math.fsum(distances), 0.0) + UPPER_END * math.sqrt(variance)) / len(distances)


def distance_below(measured: float, noise: float, mean: float, confidence: Exactable) -> float:
    """A usual upper bound on a distance, from the measured one, its noise, and the mean of all tables."""
    level = max(1 - 2 * float(1 - exact(confidence, name="confidence")), 0.5)
    if noise <= 0:
        return max(measured, 0.0)
    middle = measured - noise * noise / mean
    if middle < FAR_BELOW * noise:
        return noise * noise / -middle * -math.log(1 - level)
    above = 0.5 * math.erfc(-middle / noise / math.sqrt(2)) * (1 - level)
    return max(middle - noise * NormalDist().inv_cdf(above), 0.0)


@dataclass(frozen=True, slots=True, eq=False)
class UsualErrors:
    """How far the counts of one table are usually off. Thread safe: it never changes."""

    shares: Floats
    """By cell, the part of the distance that it may hold."""
    measured: float
    """The distance of the table, with noise."""
    noise: float
    """The standard deviation of that noise."""
    mean: float
    """The mean distance of all tables that the model fills in."""

    @classmethod
    def of(cls, tables: Sequence[tuple[Floats, float, NoiseLaw]]) -> list[UsualErrors]:
        """For each of a model's tables, from all of them with their noisy distances."""
        variance = math.fsum(law.variance for _, _, law in tables)
        mean = mean_distance([distance for _, distance, _ in tables], variance)
        return [cls(shares_of(counts), distance, law.std, mean) for counts, distance, law in tables]

    def half_widths(self, shares: Floats, confidence: Exactable) -> Floats | None:
        """For sets of cells with these shares, half the width of their intervals, in whole rows."""
        factor = factor_at(confidence)
        if factor is None:
            return None
        most = distance_below(self.measured, self.noise, self.mean, confidence)
        return np.maximum(np.ceil(factor * most * shares), LEAST)

    @property
    def distance(self) -> float:
        """The distance of the table, in the middle of what is plausible."""
        return distance_below(self.measured, self.noise, self.mean, Fraction(1, 2))

    def deviations(self, shares: Floats) -> Floats:
        return DEVIATION * self.distance * shares
