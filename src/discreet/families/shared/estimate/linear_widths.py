"""How far a weighted sum of many draws can be off, for estimates with thousands of coefficients.

Wide Gaussian noise, discrete or rounded: a sum of such draws, smoothed by a uniform draw of the
width of the largest weight, is normal up to less than 1e-9 (Poisson summation: the error of a
lattice of step w falls as exp(-2 (pi sigma)^2)), so half that weight is added and no series is
needed. Anything else goes to the exact laws, or, where less than one in a thousand may miss, to
Chernoff's bound, which is never too short.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist

import numpy as np

from discreet.arrays import Floats, Integers
from discreet.families.shared.estimate.combination import Term, half_width
from discreet.privacy.exact import Exactable
from discreet.privacy.laws import NoiseLaw, miss_probability
from discreet.privacy.laws.exact_sums import chernoff_half_width
from discreet.privacy.laws.sums import SERIES_MISS, weighted_half_widths

SLACK = 1 + 1e-6


def linear_half_width(coefficients: Sequence[tuple[NoiseLaw, Floats]], level: Exactable) -> float:
    """An h with P(|sum of coefficient * draw| <= h) >= level."""
    return repeated_half_width([(law, row, 1) for law, row in coefficients], level)


def repeated_half_width(
    coefficients: Sequence[tuple[NoiseLaw, Floats, int]], level: Exactable
) -> float:
    """The same where each coefficient is that of several draws."""
    used = [(law, row, many) for law, row, many in coefficients if row.size and bool(np.any(row))]
    if not used:
        return 0.0
    miss = miss_probability(level)
    if all(law.sums_are_normal for law, _, _ in used):
        variance = variance_of_repeated(used)
        largest = max(float(np.abs(row).max()) for _, row, _ in used)
        return float(_normal(variance + largest**2 / 12, miss)) + largest / 2
    return _terms_half_width(repeated_terms(used), level, miss)


def _terms_half_width(terms: list[Term], level: Exactable, miss: float) -> float:
    if miss < SERIES_MISS and len(terms) > 1:
        return chernoff_half_width(terms, miss)
    return half_width(terms, level)


def linear_half_widths(
    laws: Sequence[NoiseLaw], weights: Floats, counts: Integers, level: Exactable
) -> tuple[Floats, Floats]:
    """Half-widths and standard deviations, one a row, of `counts` draws of each law times a weight."""
    sizes = np.where(counts > 0, np.abs(weights), 0.0)
    variance = np.sum(counts * sizes**2 * [law.variance for law in laws], axis=1)
    miss = miss_probability(level)
    if all(law.sums_are_normal for law in laws):
        largest = sizes.max(axis=1)
        width = _normal(variance + largest**2 / 12, miss) + largest / 2
    elif miss >= SERIES_MISS:
        width = weighted_half_widths(laws, sizes, counts, miss)
    else:
        rows = zip(sizes.tolist(), counts.tolist(), strict=True)
        listed = [
            [(w, law, n) for w, law, n in zip(size, laws, count, strict=True) if w and n]
            for size, count in rows
        ]
        width = np.array([_terms_half_width(terms, level, miss) for terms in listed])
    return width, np.sqrt(variance)


def variance_of_repeated(coefficients: Sequence[tuple[NoiseLaw, Floats, int]]) -> float:
    return math.fsum(law.variance * float(np.sum(row * row)) * n for law, row, n in coefficients)


def repeated_terms(coefficients: Sequence[tuple[NoiseLaw, Floats, int]]) -> list[Term]:
    """As (weight, law, how many)."""
    return [
        (weight, law, times * many)
        for law, row, many in coefficients
        for weight, _, times in grouped([(law, row)])
    ]


def grouped(coefficients: Sequence[tuple[NoiseLaw, Floats]]) -> list[Term]:
    """Equal coefficients together, as (weight, law, how many); dust of rounding left out."""
    found: list[Term] = []
    for law, row in coefficients:
        sizes = np.abs(row).reshape(-1)
        largest = float(sizes.max(initial=0.0))
        if largest == 0:
            continue
        steps, many = np.unique(np.round(sizes / largest, 12), return_counts=True)
        found += [
            (float(step) * largest, law, int(n))
            for step, n in zip(steps, many, strict=True)
            if step > 0
        ]
    return found


def _normal(variance: float | Floats, miss: float) -> Floats:
    return np.asarray(-NormalDist().inv_cdf(miss / 2) * np.sqrt(variance) * SLACK)
