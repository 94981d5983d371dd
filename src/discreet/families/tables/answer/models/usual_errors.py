"""How far single cells of a model are usually off, from the measured distances of its tables.

With D the rows that the model gets wrong in a table, measured with noise, a cell is off by D over the cells on
average. Two things decide how that is spread. Large cells are off by more, about as (count + 1/50)^0.45; a cell
of which the model says that it is empty mostly is. And the model's columns alone were measured, so that its
errors add up to 0 along each: of n cells so many errors follow from the others, and a table of few cells is off by
about as much in each. So a cell's size is a mean of its own (count + 1/50)^0.45 and the table's average, the latter by
the share of errors that follow from the others. With S the sum of sizes over a table, a cell is usually off by D / S
times its size.

D of one table is known up to noise, and so is the sum over all tables, of which D would be a part by size if all
tables were alike. D is taken between the two: as far towards the table's own as tables differ by more than
noise explains (empirical Bayes). Its noise that is left widens the interval, so that over the noise and the cells
together the interval misses as often as it may (a predictive interval).

What is proved: the mean error over all tables, up to noise. What is measured, and not proved: that 95 of 100 cells
are off by at most 2.5 times their usual error. The factor was found on published and on generated tables, and
`benchmarks/intervals.py` measures it on others. It grows with the confidence as tails between normal and
exponential ones do. Beyond a confidence of 99% nothing was measured, and only the proved bound is used: it
holds for every cell, and is many times as wide.

Releases of earlier versions are read as they were made: by one distance for all tables at its upper end.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import prod

import numpy as np

from discreet.arrays import Floats
from discreet.privacy.exact import Exactable, exact
from discreet.privacy.laws import NoiseLaw

POWER = 0.45
USUAL_MISS = 0.05
TAIL_POWER = 1.25
MOST_MEASURED = Fraction(991, 1000)
"""The largest confidence at which the factor was measured: 99%, and a tenth of the risk to other bounds."""
UPPER_END = 1.645
"""Standard deviations of noise that earlier versions added to the distances: they are below that with 95%."""
LEAST = 1.0
"""No interval is narrower than a row to either side."""
LEAST_DISTANCE = 0.5
"""In deviations of its noise: a sum of distances below that shows nothing but noise, which stays in."""
TINY = 1e-12
"""The variance of a distance without noise: it is divided by."""
LEAST_PART = 0.1
"""Of its part of the sum: no table is taken to be nearer to the truth than that."""
DEVIATION = 1.25
"""A standard deviation, in mean absolute errors, of normal numbers."""
SEEN = np.linspace(-4.0, 4.0, 161)
"""Deviations of noise that a distance is averaged over."""
HALVINGS = 50

Audit = tuple[Floats, float, NoiseLaw]
"""A model's table with its noisy distance."""


@dataclass(frozen=True, slots=True)
class Shape:
    """How errors are spread over cells."""

    offset: float
    """What is added to a count: the rows that an empty cell is taken for."""
    factor: float
    """How many times its usual error 95 of 100 cells are off by at most."""

    def sizes(self, counts: Floats) -> Floats:
        """How errors are spread over the cells of a table."""
        own = (np.maximum(counts, 0.0) + self.offset) ** POWER
        free = prod(max(size - 1, 0) for size in counts.shape) / max(counts.size, 1)
        return np.asarray(free * own + (1 - free) * own.mean())


PRESENT, EARLIER = Shape(0.02, 2.5), Shape(0.5, 2.55)


def factor_at(confidence: Exactable, shape: Shape = PRESENT) -> float | None:
    """How many usual errors an interval reaches; `None` where that was not measured."""
    level = exact(confidence, name="confidence")
    if level > MOST_MEASURED:
        return None
    grown = math.log(1 / float(1 - level)) / math.log(1 / USUAL_MISS)
    return shape.factor * math.pow(grown, TAIL_POWER)


def reach(mean: float, std: float, factor: float, shape: Shape = PRESENT) -> float:
    """What `factor` times a distance becomes, if the distance is known up to normal noise.

    Of a known distance d, errors beyond h are as frequent as USUAL_MISS ** ((h / (shape.factor d)) ** (1 / TAIL_POWER)).
    h is such that the mean of that over all d above 0, by the noise, is what it is at `factor` times a known one.
    """
    if std == 0:
        return factor * mean
    grown = factor / shape.factor
    return std * shape.factor * _in_deviations(round(mean / std, 2), round(grown, 9))


@lru_cache(maxsize=4096)
def _in_deviations(mean: float, grown: float) -> float:
    distances = mean + SEEN
    weights = np.exp(-(SEEN**2) / 2)[distances > 0]
    distances = distances[distances > 0]
    tail = math.log(1 / USUAL_MISS)
    risk = math.exp(-tail * grown ** (1 / TAIL_POWER))

    def missed(h: float) -> float:
        beyond = np.exp(-tail * (h / distances) ** (1 / TAIL_POWER))
        return float(weights @ beyond / weights.sum())

    least, most = 0.0, grown * float(distances[-1])
    for _ in range(HALVINGS):
        middle = (least + most) / 2
        least, most = (middle, most) if missed(middle) > risk else (least, middle)
    return most


@dataclass(frozen=True, slots=True)
class UsualErrors:
    """How far the cells of one of a model's tables are usually off. Thread safe: it never changes."""

    rate: float
    """The rows that a cell of size 1 is off by."""
    noise: float = 0.0
    """The standard deviation of that."""
    shape: Shape = PRESENT

    @classmethod
    def of_each(cls, audits: Sequence[Audit]) -> list[UsualErrors]:
        """Of each table, from its own distance and those of all together."""
        sizes = np.array([float(PRESENT.sizes(counts).sum()) for counts, _, _ in audits])
        own = np.array([distance for _, distance, _ in audits])
        variances = np.array([max(law.variance, TINY) for _, _, law in audits])
        std = math.sqrt(float(variances.sum()))
        shared = sizes / sizes.sum()
        alike = max(float(own.sum()), LEAST_DISTANCE * std) * shared
        own = np.maximum(own, 0.0)  # as every distance is; below 0 there is nothing but noise
        differ = float(((own - alike) ** 2 - variances).sum()) / float((alike**2).sum())
        between = max(differ, 0.0) * alike**2
        trust = between / (between + variances)
        means = np.maximum(alike + trust * (own - alike), LEAST_PART * alike)
        stds = np.sqrt(trust * variances + ((1 - trust) * shared * std) ** 2)
        return [
            cls(float(mean / size), float(left / size))
            for mean, left, size in zip(means, stds, sizes, strict=True)
        ]

    @classmethod
    def of_all(cls, audits: Sequence[Audit]) -> UsualErrors:
        """Of all tables alike, as earlier versions had it: at the upper end of the distances' noise."""
        size = distance = variance = 0.0
        for counts, measured, law in audits:
            size += float(EARLIER.sizes(counts).sum())
            distance += measured
            variance += law.variance
        # A sum below 0 shows nothing but its noise, which stays in.
        rate = (max(distance, 0.0) + UPPER_END * math.sqrt(variance)) / size
        return cls(rate, shape=EARLIER)

    def half_widths(self, sizes: Floats, confidence: Exactable) -> Floats | None:
        """For cells of these sizes half the width of their intervals, in whole rows."""
        factor = factor_at(confidence, self.shape)
        if factor is None:
            return None
        return np.maximum(np.ceil(reach(self.rate, self.noise, factor, self.shape) * sizes), LEAST)

    def deviations(self, sizes: Floats) -> Floats:
        return DEVIATION * max(self.rate, self.noise) * sizes
