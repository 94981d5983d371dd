"""Half-widths of weighted sums of independent draws, for whole arrays of weights, from their waves.

With G a normal draw of deviation g, independent of the sum S, |S| > h + 4.75 g puts |S + G| above
h with probability 1 - 1e-6 at least: so P(|S| > h + 4.75 g) <= P(|S + G| > h) / (1 - 1e-6). The law of
S + G is a Fourier series: on a circle so long that wrapping around it matters less than a stated
probability (Chernoff), its coefficients are the product of the draws' characteristic functions,
which are known in closed form, and of G's, which ends it.

g is 2.2 times the largest weight where that is small beside the deviation of S, and at most 0.001
deviations. Terms are kept until the draws of small weights, whose functions only fall until G ends
the series, make the rest too small to matter: it is at most their product at the last term kept,
times log(last / J). Often few terms do.

What is left out or wraps around is added to the probability that must be covered, and the width is
taken at the next point of a grid.

"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from discreet.arrays import Floats, Integers
from discreet.privacy.laws.law import NoiseLaw

REACH = 4.75
"""Deviations of G that its one-sided tail of 1.02e-6 lies beyond."""
KEPT = 1 - 1.1e-6
FINE = 2.2
"""As a part of the largest weight: at pi / weight, where its draws' function is least, G's is exp(-23.9)."""
COARSE = 0.001
"""As a part of the sum's deviation; for few draws a quarter of that, because their sum may have steps."""
FEW = 16
LAST = 5.5
"""Past so many 1/g, G's function adds up to less than 1e-8."""
TOLERANCE = 2e-5
"""The part of the probability to miss that covers what the series leaves out, and wrapping around."""
FIRST_TERMS, MORE = 256, 8
GRID = 1 << 14
AT_ONCE = 1 << 21
MGF_POINTS = 60


def fourier_half_widths(
    laws: Sequence[NoiseLaw], weights: Floats, counts: Integers, miss: float
) -> Floats:
    """For each row an h with P(|sum of weight * draw| <= h) >= 1 - miss.

    One column a law: `weights[q, l]` is that of `counts[q, l]` draws of `laws[l]`.
    """
    sizes = np.where(counts > 0, np.abs(weights), 0.0)
    variance = np.sum(counts * sizes**2 * [law.variance for law in laws], axis=1)
    found = np.zeros(len(weights))
    # A draw is whole, so P(draw != 0) <= its variance: where these add to no more than `miss`, the sum is 0.
    nonzero = np.sum(np.where(sizes > 0, counts, 0) * [law.variance for law in laws], axis=1)
    some = np.flatnonzero((variance > 0) & (nonzero > miss))
    if not len(some):
        return found
    sizes, counts, std = sizes[some], counts[some], np.sqrt(variance[some])
    largest = sizes.max(axis=1)
    most = np.where(counts.sum(axis=1) <= FEW, COARSE / 4, COARSE) * std
    smooth = np.minimum(FINE * largest, most)
    slack = TOLERANCE * miss
    radius = _radius(laws, sizes, counts, smooth, std, slack)
    # Powers of two, so that a row's number does not depend on those beside it.
    needed = 2 ** np.ceil(np.log2(LAST / smooth * radius / math.pi)).astype(np.int64)
    falling = np.where(sizes <= (math.pi / LAST * smooth)[:, None], counts, 0)
    terms = np.minimum(FIRST_TERMS, needed)
    width = np.full(len(some), np.nan)
    while len(left := np.flatnonzero(np.isnan(width))):
        many = int(terms[left].min())
        now = left[terms[left] == many]
        for part in np.array_split(now, math.ceil(len(now) * max(many, GRID) / AT_ONCE)):
            wave = _wave(laws, sizes[part], counts[part], smooth[part], radius[part], many)
            last = _wave(laws, sizes[part], falling[part], smooth[part], radius[part] / many, 1)
            rest = np.abs(last[:, 0]) * np.log(np.maximum(needed[part] / many, 1.0)) * 2 / math.pi
            done = (needed[part] <= many) | (rest <= slack)
            covered = 1 - miss * KEPT + 4 * slack
            width[part[done]] = _quantiles(wave[done], radius[part[done]], covered)
            terms[part[~done]] = np.minimum(MORE * many, needed[part[~done]])
    found[some] = (width + REACH * smooth) * (1 + 1e-12)
    return found


def _radius(
    laws: Sequence[NoiseLaw],
    sizes: Floats,
    counts: Integers,
    smooth: Floats,
    std: Floats,
    miss: float,
) -> Floats:
    """An r with P(|S + G| > r) <= miss, by Chernoff's bound."""
    with np.errstate(divide="ignore", over="ignore"):  # without an end there is no limit
        limits = np.min([law.mgf_limit / sizes[:, at] for at, law in enumerate(laws)], axis=0)
    high = np.minimum(0.999 * limits, 4 * math.sqrt(-math.log(miss)) / std)
    t = high[:, None] * np.geomspace(0.02, 1.0, MGF_POINTS)
    exponent = (smooth[:, None] * t) ** 2 / 2
    for at, law in enumerate(laws):
        exponent += counts[:, at, None] * law.log_mgf(sizes[:, at, None] * t)
    return np.asarray(np.min((exponent + math.log(2 / miss)) / t, axis=1))


def _wave(
    laws: Sequence[NoiseLaw],
    sizes: Floats,
    counts: Integers,
    smooth: Floats,
    radius: Floats,
    many: int,
) -> Floats:
    """The characteristic function of S + G at the first frequencies of the circle."""
    t = (math.pi / radius)[:, None] * np.arange(1, many + 1)
    wave = np.exp(-((smooth[:, None] * t) ** 2) / 2)
    for at, law in enumerate(laws):
        one = law.characteristic(sizes[:, at, None] * t)
        power = np.abs(one) ** counts[:, at, None]
        wave *= np.where((one < 0) & (counts[:, at, None] % 2 == 1), -power, power)
    return np.asarray(wave)


def _quantiles(wave: Floats, radius: Floats, covered: float) -> Floats:
    """The first points of a grid within which S + G lies with probability `covered`."""
    many = wave.shape[1]
    size = max(GRID, 2 * many)
    series = np.zeros((len(wave), size // 2 + 1))
    series[:, 1 : many + 1] = wave * (2 / (math.pi * np.arange(1, many + 1)))
    inside = -np.fft.rfft(series, n=size, axis=1).imag + np.arange(size // 2 + 1) * (2 / size)
    place = np.argmax(inside >= covered, axis=1)
    beyond = inside[np.arange(len(place)), place] < covered
    return np.where(beyond, radius, place * (2 * radius / size))
