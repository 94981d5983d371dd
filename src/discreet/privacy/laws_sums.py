"""How wide an interval must be for a sum, or a weighted sum, of independent draws.

A few terms: the exact law, by inversion of the characteristic function or, where less than one in a
thousand may miss, by convolution on a fine grid. Many terms: Cornish and Fisher's expansion with
exact cumulants up to the sixth, used only where its error is below 1e-4 of the width.
Every rounding goes outwards.

May import errors, privacy.exact, privacy.laws_noise and privacy.laws_fourier only.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from discreet.errors import BadInput
from discreet.privacy.exact import Exactable
from discreet.privacy.laws_fourier import fourier_half_widths
from discreet.privacy.laws_noise import Floats, NoiseLaw, miss_probability

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

FREQUENCIES = 1 << 15
INVERSION_SLACK = 1e-11
"""More than the absolute error of the inversion: aliasing, cut-off frequencies, rounding."""
GRID_STEPS_PER_STD = 3_000
GRID_STEPS_PER_DRAW = 250
"""At least so many steps per standard deviation: half a step per draw is then below .2% of it."""
GRID_POINTS = 1 << 20


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
    by_series = _series_applies(law, distinct.astype(np.float64), miss)
    widths[by_series] = _series_width(law, distinct[by_series].astype(np.float64), miss)
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
    if bool(_series_applies(law, np.float64(terms), miss)):  # type: ignore[arg-type]
        return int(_series_width(law, np.float64(terms), miss))  # type: ignore[arg-type]
    if miss < SMALLEST_MISS:
        return math.floor(_chernoff_radius([(1.0, law, terms)], miss))
    return _inverted_width(law, terms, miss)


def _series_applies(law: NoiseLaw, terms: Floats, miss: float) -> NDArray[np.bool_]:
    second, fourth, _ = law.cumulants()
    variance = np.maximum(terms * second, 1e-300)
    small = np.abs(terms * fourth) <= SERIES_KURTOSIS * variance**2
    return np.asarray((terms >= 2) & (variance >= SERIES_VARIANCE) & small & (miss >= SERIES_MISS))


def _series_width(law: NoiseLaw, terms: Floats, miss: float) -> Floats:
    # P(S <= h) = P(S + U <= h + 1/2) exactly, U uniform of width 1, and S + U is smooth.
    second, fourth, sixth = law.cumulants()
    width = _cornish_fisher(
        terms * second + 1 / 12, terms * fourth - 1 / 120, terms * sixth + 1 / 252, miss
    )
    return np.asarray(np.ceil(width - 0.5))


def _cornish_fisher(second: Floats, fourth: Floats, sixth: Floats, miss: float) -> Floats:
    z = -float(ndtri(miss / 2))
    k4, k6 = fourth / second**2, sixth / second**3
    scaled = (
        z
        + k4 * (z**3 - 3 * z) / 24
        + k6 * (z**5 - 10 * z**3 + 15 * z) / 720
        - k4**2 * (3 * z**5 - 24 * z**3 + 29 * z) / 384
    )
    return np.asarray(scaled * np.sqrt(second) * EXPANSION_SLACK)


Terms = list[tuple[float, NoiseLaw, int]]


def _chernoff_radius(terms: Terms, miss: float) -> float:
    """An r with P(|sum of count draws, each times its weight| > r) <= miss, by Chernoff's bound."""
    std = math.sqrt(math.fsum(n * w * w * law.variance for w, law, n in terms))
    limit = min(law.mgf_limit / w for w, law, _ in terms)
    top = 60 * math.sqrt(-math.log(miss)) / max(std, 1e-150)
    high = min(0.999 * limit, top)
    t = np.geomspace(min(1e-3 / max(std, 1e-150), high / 10), high, 400)
    exponent = sum((n * law.log_mgf(w * t) for w, law, n in terms), np.zeros(t.shape))
    return float(np.min((exponent + math.log(2 / miss)) / t)) * (1 + 1e-9)


def _inverted_width(law: NoiseLaw, terms: int, miss: float) -> int:
    """The exact law of the sum modulo an odd N: an average of N characteristic values.

    N is so large that wrapping around matters less than 1e-12 (Chernoff), and the
    frequencies left out matter less too: for n Laplace draws they fall off as j^(-2n-1).
    """
    radius = math.ceil(_chernoff_radius([(1.0, law, terms)], 1e-13)) + 1
    period = 2 * radius + 1
    t = 2 * math.pi * np.arange(1, min(radius, FREQUENCIES) + 1) / period
    wave = law.characteristic(t)
    power = np.sign(wave) ** terms * np.abs(wave) ** terms
    kept = np.flatnonzero(np.abs(power) > 1e-18)
    t, weight = t[kept], power[kept] / np.sin(t[kept] / 2)

    def covered(h: int) -> float:
        return (2 * h + 1 + 2 * float(np.sum(weight * np.sin((h + 0.5) * t)))) / period

    low, high = -1, radius
    while high - low > 1:
        middle = (low + high) // 2
        enough = covered(middle) >= 1 - miss + INVERSION_SLACK
        low, high = (low, middle) if enough else (middle, high)
    return high


def combination_half_width(
    weights_and_laws: Iterable[tuple[float | Fraction, NoiseLaw]], confidence: Exactable
) -> float:
    """An h with P(|w_1 X_1 + w_2 X_2 + ...| <= h) >= confidence, the draws independent.

    The heaviest terms are convolved on a grid; the rest, once together they are close to
    normal and each weight is small, enters by its Edgeworth expansion. Half a grid step
    per term and half the largest weight of the rest are added, so the lattice never
    makes the interval too short.
    """
    counts = Counter((abs(float(weight)), law) for weight, law in weights_and_laws if weight != 0)
    groups = tuple(sorted(((w, law, n) for (w, law), n in counts.items()), key=_contribution))
    if not all(math.isfinite(w) for w, _, _ in groups):
        raise BadInput("A weight is not finite.")
    return _combination_half_width(groups, miss_probability(confidence))


def _contribution(group: tuple[float, NoiseLaw, int]) -> tuple[float, float]:
    weight, law, count = group
    return -(weight**2) * law.variance * count, weight


def _cumulants_of(groups: Iterable[tuple[float, NoiseLaw, int]]) -> Floats:
    total = np.zeros(3)
    for weight, law, count in groups:
        total += count * np.array(law.cumulants()) * np.array([weight**2, weight**4, weight**6])
    return total


@lru_cache(maxsize=1 << 14)
def _combination_half_width(groups: tuple[tuple[float, NoiseLaw, int], ...], miss: float) -> float:
    if not groups:
        return 0.0
    if len(groups) == 1:
        weight, law, count = groups[0]
        return float(weight * _sum_half_width(law, count, miss) * (1 + 1e-15))
    if miss >= SERIES_MISS:
        weights, laws, counts = zip(*groups, strict=True)
        return float(weighted_half_widths(laws, np.array([weights]), np.array([counts]), miss)[0])
    std = math.sqrt(_cumulants_of(groups)[0])
    if miss < SMALLEST_MISS or std < 1e-100:
        return _chernoff_radius(list(groups), miss)
    # A rare miss: too far out for the series alone, so at least one is convolved.
    for heavy in range(1, len(groups) + 1):
        rest = groups[heavy:]
        if not rest or _is_nearly_normal(rest, std):
            break
    return _grid_width(groups[:heavy], groups[heavy:], std, miss)


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
    series = _cornish_fisher(
        one + lattice**2 / 12, two - lattice**4 / 120, three + lattice**6 / 252, miss
    )
    found[is_normal] = series + lattice / 2
    rest = ~is_normal
    found[rest] = fourier_half_widths(laws, sizes[rest], counts[rest].astype(np.int64), miss)
    return found


def _is_nearly_normal(rest: tuple[tuple[float, NoiseLaw, int], ...], std: float) -> bool:
    second, fourth, _ = _cumulants_of(rest)
    largest = max(weight for weight, _, _ in rest)
    fine = largest <= 0.02 * std and largest <= 0.2 * math.sqrt(second)
    return bool(fine and abs(fourth) <= SERIES_KURTOSIS * second**2)


def _grid_width(
    heavy: Terms | tuple[tuple[float, NoiseLaw, int], ...],
    rest: Terms | tuple[tuple[float, NoiseLaw, int], ...],
    std: float,
    miss: float,
) -> float:
    terms = [*heavy, *rest]
    radius = _chernoff_radius(terms, min(miss, 1e-6) * 1e-5)
    largest = max(weight for weight, _, _ in heavy)
    # A step that divides the largest weight keeps that term on the grid.
    draws = sum(count for _, _, count in heavy)
    fineness = max(GRID_STEPS_PER_STD, GRID_STEPS_PER_DRAW * draws) / std
    step = 1 / fineness
    if step < largest:
        step = largest / math.ceil(largest / step)
    step = max(step, 2.2 * radius / GRID_POINTS)
    reach = math.ceil(radius / step) + 1
    size = 1 << (2 * reach + 1).bit_length()
    edges = (np.arange(-reach, reach + 2, dtype=np.float64) - 0.5) * step
    outside, slack = 0.0, 0.0
    wave: NDArray[np.complex128] | None = None
    for weight, law, count in heavy:
        # Mass of weight * X in each half-open cell of the grid; X <= x iff X <= floor(x).
        below = np.asarray(law.cdf(np.floor(edges / weight)))
        mass = np.diff(below)
        outside += count * max(0.0, 1 - float(mass.sum()))
        ratio = weight / step
        if abs(ratio - round(ratio)) > 1e-9:
            slack += count * step / 2
        wave = _times(wave, np.fft.rfft(_centred(mass, size)) ** count)
    if rest:
        second, fourth, sixth = _cumulants_of(rest)
        lattice = max(weight for weight, _, _ in rest)
        slack += lattice / 2 + step / 2
        density = np.diff(_edgeworth(edges, second + lattice**2 / 12, fourth, sixth))
        wave = _times(wave, np.fft.rfft(_centred(np.maximum(density, 0), size)))
    assert wave is not None
    law_of_sum = np.fft.irfft(wave, size)
    inside = law_of_sum[0] + np.concatenate(
        [[0.0], np.cumsum(law_of_sum[1 : reach + 1] + law_of_sum[-1 : -reach - 1 : -1])]
    )
    target = 1 - miss + outside + INVERSION_SLACK
    place = int(np.searchsorted(np.maximum.accumulate(inside), target))
    if place > reach:
        return _chernoff_radius(terms, miss)
    return (place * step + slack) * (1 + 1e-12)


def _times(
    left: NDArray[np.complex128] | None, right: NDArray[np.complex128]
) -> NDArray[np.complex128]:
    return right if left is None else left * right


def _centred(mass: Floats, size: int) -> Floats:
    reach = (len(mass) - 1) // 2
    circle = np.zeros(size)
    circle[: reach + 1] = mass[reach:]
    circle[-reach:] = mass[:reach]
    return circle


def _edgeworth(x: Floats, second: float, fourth: float, sixth: float) -> Floats:
    z = x / math.sqrt(second)
    k4, k6 = fourth / second**2, sixth / second**3
    bell = np.exp(-z * z / 2) / math.sqrt(2 * math.pi)
    he3 = z**3 - 3 * z
    he5 = z**5 - 10 * z**3 + 15 * z
    he7 = z**7 - 21 * z**5 + 105 * z**3 - 105 * z
    return np.asarray(ndtr(z) - bell * (k4 / 24 * he3 + k6 / 720 * he5 + k4**2 / 1152 * he7))
