"""How wide an interval must be for a sum, or a weighted sum, of independent draws.

A few terms: the exact law, by inversion of the characteristic function or, where less than one in a
thousand may miss, by convolution on a fine grid. Many terms: Cornish and Fisher's expansion with
exact cumulants up to the sixth, used only where its error is below 1e-4 of the width.
Where only a variance and a kurtosis are known: `spread_factor`.
Every rounding goes outwards.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import Bools, Floats
from discreet.errors import BadInput
from discreet.privacy.exact import Exactable
from discreet.privacy.laws.exact_sums import (
    Term,
    Terms,
    chernoff_half_width,
    cumulants_of,
    grid_half_width,
    inverted_half_width,
)
from discreet.privacy.laws.fourier import fourier_half_widths
from discreet.privacy.laws.law import NoiseLaw, miss_probability

SERIES_KURTOSIS = 0.06
"""Largest excess kurtosis for which the expansion is used."""
SERIES_VARIANCE = 25.0
"""Smallest variance, in squared lattice steps, for which the lattice is smooth enough."""
SERIES_MISS = 1e-3
"""Smallest miss probability for which the expansion is used."""
EXPANSION_SLACK = 1 + 1e-4
"""More than the expansion's error inside these limits (tested against the exact law)."""
SMALLEST_MISS = 1e-9
"""Below, inversion in float64 is too coarse and Chernoff's bound is returned."""

SHORTFALL, SHORT_WITHIN = 0.0068, 0.5
"""By how much of itself, a unit of kurtosis, the first correction falls short where it vanishes, and how
far around that place (in deviations)."""


def spread_factor(miss: float | Floats, kurtosis: float | Floats) -> Floats:
    """How many standard deviations hold a sum of draws, but for a probability of `miss`.

    Cornish and Fisher's first correction (1938) for the sum's excess kurtosis, z + k (z^3 - 3z) / 24, and
    never less than a normal law's z. Near z = sqrt(3), where the correction vanishes, the next
    ones do not, and up to 0.68% a unit of kurtosis is added. So it is never below the exact
    quantile of a sum of equal Laplace draws of any number (tested), lattice steps apart. Nor is it
    more than Chebyshev's bound, which holds for every law: noise that is almost always 0 has a huge kurtosis.
    """
    half = np.asarray(miss, dtype=np.float64) / 2
    if half.size and 0 < half.flat[0] < 1 and bool((half == half.flat[0]).all()):
        z = np.full(half.shape, -NormalDist().inv_cdf(float(half.flat[0])))
    else:
        from scipy.special import ndtri  # slow to import, and few questions need it

        z = -ndtri(half)
    corrected = np.maximum(z + kurtosis * (z**3 - 3 * z) / 24, z)
    near = np.maximum(1 - np.abs(z - math.sqrt(3)) / SHORT_WITHIN, 0.0)
    factor = corrected * (1 + SHORTFALL * np.clip(kurtosis, 0.0, 3.0) * near**2)
    with np.errstate(divide="ignore"):
        return np.asarray(np.minimum(factor, 1 / np.sqrt(2 * half)))


def sum_half_width(law: NoiseLaw, terms: int, confidence: Exactable) -> int:
    """An h with P(|X_1 + ... + X_terms| <= h) >= confidence: the smallest, or very nearly."""
    if isinstance(terms, bool) or not isinstance(terms, (int, np.integer)) or terms < 0:
        raise BadInput(f"terms is {terms!r}; it must be a whole number of at least 0.")
    return _sum_half_width(law, int(terms), miss_probability(confidence))


def sum_half_widths(law: NoiseLaw, terms: NDArray[np.integer], confidence: Exactable) -> Floats:
    """`sum_half_width` for a whole table of term counts, as float64 (they are integers)."""
    counts = np.asarray(terms)
    if counts.size and counts.min() < 0:
        raise BadInput("A number of terms is negative.")
    miss = miss_probability(confidence)
    distinct, where = np.unique(counts, return_inverse=True)
    widths = np.zeros(distinct.shape)
    by_series = series_applies(law, distinct.astype(np.float64), miss)
    widths[by_series] = series_half_width(law, distinct[by_series].astype(np.float64), miss)
    for place in np.flatnonzero(~by_series):
        widths[place] = _sum_half_width(law, int(distinct[place]), miss)
    return np.asarray(widths[where].reshape(counts.shape))


@lru_cache(maxsize=1 << 16)
def _sum_half_width(law: NoiseLaw, terms: int, miss: float) -> int:
    if terms == 0:
        return 0
    if terms == 1:
        return law.half_width(1 - Fraction(miss))
    if 2 * terms * float(law.tail(np.zeros(()))) <= miss:  # union bound: all draws are 0
        return 0
    if bool(series_applies(law, np.float64(terms), miss)):  # type: ignore[arg-type]
        return int(series_half_width(law, np.float64(terms), miss))  # type: ignore[arg-type]
    if miss < SMALLEST_MISS:
        return math.floor(chernoff_half_width([(1.0, law, terms)], miss))
    return inverted_half_width(law, terms, miss)


def series_applies(law: NoiseLaw, terms: Floats, miss: float) -> Bools:
    """Whether the expansion is close for so many draws of `law`."""
    second, fourth, _ = law.cumulants()
    variance = np.maximum(terms * second, 1e-300)
    small = np.abs(terms * fourth) <= SERIES_KURTOSIS * variance**2
    return np.asarray((terms >= 2) & (variance >= SERIES_VARIANCE) & small & (miss >= SERIES_MISS))


def series_half_width(law: NoiseLaw, terms: Floats, miss: float) -> Floats:
    """The half-width of a sum of draws of one law, by the expansion."""
    # P(S <= h) = P(S + U <= h + 1/2) exactly, U uniform of width 1, and S + U is smooth.
    second, fourth, sixth = law.cumulants()
    width = cornish_fisher(
        terms * second + 1 / 12, terms * fourth - 1 / 120, terms * sixth + 1 / 252, miss
    )
    return np.asarray(np.ceil(width - 0.5))


def cornish_fisher(second: Floats, fourth: Floats, sixth: Floats, miss: float) -> Floats:
    """The half-width of a smooth symmetric law with these cumulants, close to a normal one."""
    z = -NormalDist().inv_cdf(miss / 2)
    k4, k6 = fourth / second**2, sixth / second**3
    scaled = (
        z
        + k4 * (z**3 - 3 * z) / 24
        + k6 * (z**5 - 10 * z**3 + 15 * z) / 720
        - k4**2 * (3 * z**5 - 24 * z**3 + 29 * z) / 384
    )
    return np.asarray(scaled * np.sqrt(second) * EXPANSION_SLACK)


def contribution(term: Term) -> tuple[float, float]:
    """Orders terms: those that add most to the variance first."""
    weight, law, count = term
    return -(weight**2) * law.variance * count, weight


@lru_cache(maxsize=1 << 14)
def terms_half_width(groups: Terms, miss: float) -> float:
    """An h with P(|sum of weight * draw| <= h) >= 1 - miss.

    Each (weight, law) stands once, ordered by `contribution`; `combination.half_width`
    makes any terms so.
    """
    if not groups:
        return 0.0
    if len(groups) == 1:
        weight, law, count = groups[0]
        return float(weight * _sum_half_width(law, count, miss) * (1 + 1e-15))
    if miss >= SERIES_MISS:
        weights, laws, counts = zip(*groups, strict=True)
        return float(weighted_half_widths(laws, np.array([weights]), np.array([counts]), miss)[0])
    std = math.sqrt(cumulants_of(groups)[0])
    if miss < SMALLEST_MISS or std < 1e-100:
        return chernoff_half_width(groups, miss)
    # A rare miss: too far out for the series alone, so at least one is convolved.
    for heavy in range(1, len(groups) + 1):
        rest = groups[heavy:]
        if not rest or _is_nearly_normal(rest, std):
            break
    return grid_half_width(groups[:heavy], groups[heavy:], std, miss)


def weighted_half_widths(
    laws: Sequence[NoiseLaw], weights: Floats, counts: NDArray[np.integer], miss: float
) -> Floats:
    """For each row an h with P(|sum of weight * draw| <= h) >= 1 - miss, where miss >= 1/1000.

    One column a law: `weights[q, l]` is that of `counts[q, l]` draws of `laws[l]`.
    """
    if miss < SERIES_MISS:
        raise BadInput("Rarer misses than one in a thousand are worked out one by one.")
    sizes = np.where(counts > 0, np.abs(weights), 0.0)
    cumulants = np.array([law.cumulants() for law in laws])
    second, fourth, sixth = (
        np.sum(counts * cumulants[:, place] * sizes**power, axis=1)
        for place, power in enumerate((2, 4, 6))
    )
    step = sizes.max(axis=1, initial=0.0)
    # Far below any weight in use, where squares would vanish.
    is_normal = (step <= 0.02 * np.sqrt(second)) & (fourth <= SERIES_KURTOSIS * second**2)
    is_normal &= second > 1e-200
    found = np.zeros(len(sizes))
    one, two, three, lattice = (each[is_normal] for each in (second, fourth, sixth, step))
    # |S| <= |S + step U| + step / 2, and S + step U is smooth
    series = cornish_fisher(
        one + lattice**2 / 12, two - lattice**4 / 120, three + lattice**6 / 252, miss
    )
    found[is_normal] = series + lattice / 2
    rest = ~is_normal
    found[rest] = fourier_half_widths(laws, sizes[rest], counts[rest].astype(np.int64), miss)
    return found


def _is_nearly_normal(rest: Terms, std: float) -> bool:
    second, fourth, _ = cumulants_of(rest)
    largest = max(weight for weight, _, _ in rest)
    fine = largest <= 0.02 * std and largest <= 0.2 * math.sqrt(second)
    return bool(fine and abs(fourth) <= SERIES_KURTOSIS * second**2)
