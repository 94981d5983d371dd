"""How far single cells of a model are usually off, from the measured distances of all its tables together.

With D the rows that the model gets wrong in a table, measured for each, a cell is off by D over the cells on
average. Two things decide how that is spread. Large cells are off by more, about as (count + 1/2)^0.45. And the
model's columns alone were measured, so that its errors add up to 0 along each: of n cells so many errors follow
from the others, and a table of few cells is off by about as much in each. So a cell's size is a mean of its own
(count + 1/2)^0.45 and the table's average, the latter by the share of errors that follow from the others. With S the
sum of sizes over all tables that the model fills in, a cell is usually off by

    (sum of D + 1.645 standard deviations of its noise) / S * its size

What is proved: the mean error, at its upper end of 95%. What is measured, and not proved: that 95 of 100 cells
are off by at most 2.55 times that. The factor was found on published and on generated tables, and
`benchmarks/intervals.py` measures it on others. It grows with the confidence as tails between normal and
exponential ones do. Beyond a confidence of 99% nothing was measured, and only the proved bound is used: it
holds for every cell, and is many times as wide.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from math import prod

import numpy as np

from discreet.arrays import Floats
from discreet.privacy.exact import Exactable, exact
from discreet.privacy.laws import NoiseLaw

OFFSET, POWER = 0.5, 0.45
USUAL_MISS = 0.05
USUAL_FACTOR = 2.55
"""How many times its usual error 95 of 100 cells are off by at most."""
TAIL_POWER = 1.25
MOST_MEASURED = Fraction(991, 1000)
"""The largest confidence at which the factor was measured: 99%, and a tenth of the risk to other bounds."""
UPPER_END = 1.645
"""Standard deviations of noise that are added to the distances: they are below that with 95%."""
LEAST = 1.0
"""No interval is narrower than a row to either side."""
DEVIATION = 1.25
"""A standard deviation, in mean absolute errors, of normal numbers."""


def factor_at(confidence: Exactable) -> float | None:
    """How many usual errors an interval reaches; `None` where that was not measured."""
    level = exact(confidence, name="confidence")
    if level > MOST_MEASURED:
        return None
    grown = math.log(1 / float(1 - level)) / math.log(1 / USUAL_MISS)
    return USUAL_FACTOR * math.pow(grown, TAIL_POWER)


def sizes_of(counts: Floats) -> Floats:
    """How errors are spread over the cells of a table."""
    own = (np.maximum(counts, 0.0) + OFFSET) ** POWER
    free = prod(max(size - 1, 0) for size in counts.shape) / max(counts.size, 1)
    return np.asarray(free * own + (1 - free) * own.mean())


@dataclass(frozen=True, slots=True)
class UsualErrors:
    """How far the cells of one model are usually off. Thread safe: it never changes."""

    rate: float

    @classmethod
    def of(cls, tables: Iterable[tuple[Floats, float, NoiseLaw]]) -> UsualErrors:
        """From the model's tables with their noisy distances."""
        size = distance = variance = 0.0
        for counts, measured, law in tables:
            size += float(sizes_of(counts).sum())
            distance += measured
            variance += law.variance
        # A sum below 0 shows nothing but its noise, which stays in.
        return cls((max(distance, 0.0) + UPPER_END * math.sqrt(variance)) / size)

    def half_widths(self, sizes: Floats, confidence: Exactable) -> Floats | None:
        """For cells of these sizes half the width of their intervals, in whole rows."""
        factor = factor_at(confidence)
        if factor is None:
            return None
        return np.maximum(np.ceil(factor * self.rate * sizes), LEAST)

    def deviations(self, sizes: Floats) -> Floats:
        return DEVIATION * self.rate * sizes
