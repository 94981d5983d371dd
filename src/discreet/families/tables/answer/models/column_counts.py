"""What the measured table of a column says of its counts, and how far they may be off.

A measured count is the true one plus noise of a known deviation s. True counts are not below 0, and add up to the rows. Before
anything is measured, they are taken to be spread by a gamma law around the average count of the column. Its shape is not known:
counts may be nearly equal, or a few may hold nearly all rows. All of `SHAPES` are given even weights beforehand, and the
measured counts of the whole column weigh them (Bayes' rule). The result is the mean and the variance of each count:

- A count of many deviations is what was measured, with the noise that it was measured with.
- A count that noise hides is near those that such columns have. It is off by less than the noise.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from discreet.arrays import Floats

SHAPES = (0.1, 0.2, 0.4, 0.8, 1.6, 4.0, 16.0)
"""Shapes of the gamma law, from a few cells that hold nearly all rows to counts that are nearly equal."""
SEEN = 8.0
"""A count of so many deviations is what was measured: no prior moves it by much."""
LEAST, MOST, POINTS = 1e-3, 14.0, 240
"""Counts at which a hidden one is weighed, in deviations. What is less than the least counts as 0."""
_BLOCK = 1 << 12
_NORMAL = math.sqrt(2 * math.pi)
_TINY = 1e-300


@dataclass(frozen=True, slots=True, eq=False)
class ColumnCounts:
    """The counts of a column, and the variance of what they are off by. Thread safe: it never changes."""

    mean: Floats
    variance: Floats

    @classmethod
    def of(cls, measured: Floats, variance: float, rows: float) -> ColumnCounts:
        """From counts that were measured with noise of `variance`, of about so many rows in all."""
        mean = np.maximum(np.asarray(measured, dtype=np.float64), 0.0)
        if variance <= 0:
            return cls(mean, np.zeros(mean.shape))
        deviation = math.sqrt(variance)
        average = max(rows / max(mean.size, 1), LEAST * deviation)
        hidden = measured < SEEN * deviation
        points, weights = _gamma_laws(deviation, average)
        seen = _log_densities(measured[~hidden], average).sum(axis=1)
        evidence = seen + np.log(deviation * _NORMAL) * int((~hidden).sum())
        moments = []
        for start in range(0, int(hidden.sum()), _BLOCK):
            own = measured[hidden][start : start + _BLOCK]
            away = (own[:, None] - points) / deviation
            nearest = np.minimum(own, 0.0)[:, None] / deviation  # to no count below 0
            likelihood = np.exp(0.5 * (nearest**2 - away**2))
            sums = [np.maximum(likelihood @ weights.T, _TINY)]
            sums += [likelihood @ (weights * points**power).T / sums[0] for power in (1, 2)]
            evidence = evidence + np.log(sums[0]).sum(axis=0)
            moments.append(np.stack(sums[1:]))
        found = np.full(mean.shape, float(variance))
        if moments:
            believed = np.exp(evidence - evidence.max())
            first, second = np.concatenate(moments, axis=1) @ (believed / believed.sum())
            mean[hidden], found[hidden] = first, np.maximum(second - first**2, 0.0)
        return cls(mean, found)


def _gamma_laws(deviation: float, average: float) -> tuple[Floats, Floats]:
    """Counts from 0 on; and by shape, the probability that a gamma law of this mean gives each of them."""
    logs = np.linspace(math.log(LEAST * deviation), math.log(MOST * deviation), POINTS)
    points = np.concatenate([[0.0], np.exp(logs)])
    found = []
    for shape in SHAPES:
        scale = average / shape
        constant = math.lgamma(shape) + shape * math.log(scale)
        own = np.exp(shape * logs - points[1:] / scale - constant) * (logs[1] - logs[0])
        own[0] /= 2  # the lower half of its range counts as 0
        below = shape * logs[0] - constant - math.log(shape)
        found.append(np.concatenate([[math.exp(min(below, 0.0))], own]))
    return points, np.stack(found)


def _log_densities(counts: Floats, average: float) -> Floats:
    """By shape, the logarithm of the density of a gamma law at each count."""
    found = []
    for shape in SHAPES:
        scale = average / shape
        constant = math.lgamma(shape) + shape * math.log(scale)
        found.append((shape - 1) * np.log(counts) - counts / scale - constant)
    return np.stack(found)
