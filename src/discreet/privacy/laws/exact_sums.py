"""The law of a sum of independent draws, exact or bounded: inversion, convolution, Chernoff's bound.

Every rounding goes outwards, so a half-width is never too short.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import Floats
from discreet.privacy.laws.law import NoiseLaw

Term = tuple[float, NoiseLaw, int]
"""A weight, a law, and how many independent draws of it get that weight."""
Terms = tuple[Term, ...]

FREQUENCIES = 1 << 15
INVERSION_SLACK = 1e-11
"""More than the absolute error of the inversion: aliasing, cut-off frequencies, rounding."""
GRID_STEPS_PER_STD = 3_000
GRID_STEPS_PER_DRAW = 250
"""At least so many steps per standard deviation: half a step per draw is then below .2% of it."""
GRID_POINTS = 1 << 20


def cumulants_of(terms: Iterable[Term]) -> Floats:
    """The second, fourth and sixth cumulant of the sum."""
    total = np.zeros(3)
    for weight, law, count in terms:
        total += count * np.array(law.cumulants()) * np.array([weight**2, weight**4, weight**6])
    return total


def kurtosis_of(terms: Iterable[Term]) -> float:
    """The excess kurtosis of the sum; 0 where there is no noise."""
    second, fourth, _ = cumulants_of(terms)
    return float(fourth / second / second) if second else 0.0


def chernoff_half_width(terms: Iterable[Term], miss: float) -> float:
    """An r with P(|sum of count draws, each times its weight| > r) <= miss, by Chernoff's bound."""
    terms = list(terms)
    std = math.sqrt(math.fsum(n * w * w * law.variance for w, law, n in terms))
    limit = min(law.mgf_limit / w for w, law, _ in terms)
    top = 60 * math.sqrt(-math.log(miss)) / max(std, 1e-150)
    high = min(0.999 * limit, top)
    t = np.geomspace(min(1e-3 / max(std, 1e-150), high / 10), high, 400)
    exponent = sum((n * law.log_mgf(w * t) for w, law, n in terms), np.zeros(t.shape))
    return float(np.min((exponent + math.log(2 / miss)) / t)) * (1 + 1e-9)


def inverted_half_width(law: NoiseLaw, terms: int, miss: float) -> int:
    """The exact law of the sum modulo an odd N: an average of N characteristic values.

    N is so large that wrapping around matters less than 1e-12 (Chernoff), and the
    frequencies left out matter less too: for n Laplace draws they fall off as j^(-2n-1).
    """
    radius = math.ceil(chernoff_half_width([(1.0, law, terms)], 1e-13)) + 1
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


def grid_half_width(heavy: Terms, rest: Terms, std: float, miss: float) -> float:
    """The `heavy` terms are convolved on a grid; the `rest` enters by its Edgeworth expansion.

    Half a grid step per term and half the largest weight of the rest are added, so the lattice
    never makes the interval too short.
    """
    terms = [*heavy, *rest]
    radius = chernoff_half_width(terms, min(miss, 1e-6) * 1e-5)
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
        second, fourth, sixth = cumulants_of(rest)
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
        return chernoff_half_width(terms, miss)
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
    from scipy.special import ndtr  # slow to import, and few questions need it

    z = x / math.sqrt(second)
    k4, k6 = fourth / second**2, sixth / second**3
    bell = np.exp(-z * z / 2) / math.sqrt(2 * math.pi)
    he3 = z**3 - 3 * z
    he5 = z**5 - 10 * z**3 + 15 * z
    he7 = z**7 - 21 * z**5 + 105 * z**3 - 105 * z
    return np.asarray(ndtr(z) - bell * (k4 / 24 * he3 + k6 / 720 * he5 + k4**2 / 1152 * he7))
