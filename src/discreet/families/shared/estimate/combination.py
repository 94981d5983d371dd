"""Estimates that are linear in noisy numbers: their combination, and how wide their intervals are.

An estimate is a value and the noise in it, as terms (weight, law, count): `count` independent
draws of `law`, each times `weight`. Several unbiased estimates of one quantity with independent
noise are combined with weights inversely proportional to their variances, which is the linear
unbiased combination of least variance (Gauss and Markov).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction

import numpy as np

from discreet.arrays import Floats, Integers
from discreet.errors import BadInput
from discreet.families.shared.estimate.risk import at_part_of_risk
from discreet.privacy.exact import Exactable
from discreet.privacy.laws import NoiseLaw, miss_probability
from discreet.privacy.laws.exact_sums import Term, Terms, cumulants_of
from discreet.privacy.laws.sums import (
    SERIES_MISS,
    contribution,
    cornish_fisher,
    sum_half_width,
    sum_half_widths,
    terms_half_width,
    weighted_half_widths,
)

__all__ = [
    "Term",
    "Terms",
    "half_width",
    "half_widths",
    "halved",
    "inverse_variance_weights",
    "likely_rows",
    "scaled",
    "variance_of",
]


LEAST_WEIGHT = 1e-3
"""An estimate that would get less of the weight than this is left out: it changes nothing."""
MOST_ESTIMATES = 16
MOST_EXACT = 24
"""Distinct weights up to which the law of a weighted sum is convolved exactly."""
MOST_DISTINCT = 2000
FEW = 6
"""Distinct weights up to which the exact law is always taken."""
SERIES_SLACK = 1.006


def variance_of(terms: Terms) -> float:
    return math.fsum(weight * weight * law.variance * count for weight, law, count in terms)


def inverse_variance_weights(variances: Sequence[float]) -> list[float]:
    """Weights that add to 1. A number without noise is taken alone."""
    if not variances:
        raise BadInput("There is nothing to combine.")
    exact_ones = [place for place, variance in enumerate(variances) if variance == 0]
    if exact_ones:
        return [float(place == exact_ones[0]) for place in range(len(variances))]
    best = sorted(range(len(variances)), key=lambda place: variances[place])[:MOST_ESTIMATES]
    shares = [0.0] * len(variances)
    for place in best:
        shares[place] = variances[best[0]] / variances[place]
    total = math.fsum(shares)
    shares = [share if share >= LEAST_WEIGHT * total else 0.0 for share in shares]
    total = math.fsum(shares)
    return [share / total for share in shares]


def scaled(terms: Terms, weight: float) -> Terms:
    return tuple((weight * inner, law, count) for inner, law, count in terms)


def half_width(terms: Iterable[Term], confidence: Exactable) -> float:
    """An h with P(|sum of the terms' noise| <= h) >= confidence: the smallest, or very nearly."""
    merged: dict[tuple[float, NoiseLaw], int] = {}
    for weight, law, count in terms:
        size = abs(float(weight))
        if not math.isfinite(size):
            raise BadInput("A weight is not finite.")
        if size and count:
            merged[size, law] = merged.get((size, law), 0) + count
    if not merged:
        return 0.0
    if len(merged) == 1:
        ((weight, law), count) = next(iter(merged.items()))
        return weight * sum_half_width(law, count, confidence) * (1 + 1e-15 * (weight != 1))
    return _weighted_half_width(merged, confidence)


def _weighted_half_width(merged: dict[tuple[float, NoiseLaw], int], confidence: Exactable) -> float:
    miss = miss_probability(confidence)
    if len(merged) > FEW:
        groups = _ordered(_coarser(merged, MOST_DISTINCT))
        width = _series_width(groups, miss)
        if width is not None:
            return width
    return terms_half_width(_ordered(_coarser(merged, MOST_EXACT)), miss)


def _series_width(groups: Terms, miss: float) -> float | None:
    """Cornish and Fisher's expansion for many different weights, or None where it is not close.

    With an excess kurtosis of at most 0.3 and a miss probability of at least 1/1000 it is within
    0.5% of the exact width (compared with inversion, for 10 draws and more), and SERIES_SLACK is
    more than that. Half the largest weight is added for the lattice that the sum lives on.
    """
    second, fourth, sixth = cumulants_of(groups)
    step = max(weight for weight, _, _ in groups)
    smooth = step <= 0.15 * math.sqrt(second)
    if miss < SERIES_MISS or not smooth or abs(fourth) > 0.3 * second**2:
        return None
    return float(cornish_fisher(second, fourth, sixth, miss)) * SERIES_SLACK + step / 2


def _ordered(merged: dict[tuple[float, NoiseLaw], int]) -> Terms:
    groups = [(weight, law, count) for (weight, law), count in merged.items()]
    return tuple(sorted(groups, key=contribution))


def _coarser(
    merged: dict[tuple[float, NoiseLaw], int], levels: int
) -> dict[tuple[float, NoiseLaw], int]:
    """At most `levels` distinct weights a law, each rounded up.

    A larger weight only spreads a sum of symmetric unimodal draws further (Birnbaum 1948, on
    peakedness), so the interval can only grow, by less than one part in `levels`.
    """
    if len(merged) <= levels:
        return merged
    step = max(weight for weight, _ in merged) / levels
    coarse: dict[tuple[float, NoiseLaw], int] = {}
    for (weight, law), count in merged.items():
        key = (math.ceil(weight / step * (1 - 1e-12)) * step, law)
        coarse[key] = coarse.get(key, 0) + count
    return coarse


def half_widths(cell: Terms, cells: Integers, confidence: Exactable) -> Floats:
    """`half_width` of the sum of `cells` cells, each with the noise `cell`, for a whole array."""
    if len(cell) == 1 and cell[0][0] == 1:
        _, law, count = cell[0]
        return np.asarray(sum_half_widths(law, cells * count, confidence), dtype=np.float64)
    distinct, where = np.unique(cells, return_inverse=True)
    miss = miss_probability(confidence)
    if len(cell) > 1 and miss >= SERIES_MISS:
        shape = (len(distinct), len(cell))
        weights = np.broadcast_to([weight for weight, _, _ in cell], shape)
        counts = distinct[:, None] * np.array([count for _, _, count in cell])
        laws = [law for _, law, _ in cell]
        widths = weighted_half_widths(laws, weights, counts, miss)
        return widths[where].reshape(cells.shape)
    found = [
        half_width(((weight, law, count * int(many)) for weight, law, count in cell), confidence)
        for many in distinct
    ]
    return np.array(found, dtype=np.float64)[where].reshape(cells.shape)


def halved(confidence: Exactable) -> Fraction:
    """The level at which two intervals hold together at `confidence` (union bound)."""
    return at_part_of_risk(confidence, Fraction(1, 2))


def likely_rows(noisy: float, std: float, people: int | None) -> float:
    """The rows that a model stands for: as they were counted, unless noise hides them.

    Where the noise alone is more than a quarter of the declared people, their public number says more.
    """
    if people is not None and 4 * std > people:
        return float(people)
    return noisy
