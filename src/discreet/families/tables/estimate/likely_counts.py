"""Counts that are likely, given noisy ones and what was expected of them: empirical Bayes.

A count of which e rows are expected follows a mixture of negative binomial laws of mean e and variances e + e^2 / shape: from counts that
fall by chance to a few that hold nearly all rows. The weights of the shapes are estimated from all counts of a table (by expectation
maximization), so the table itself says how far its counts are from what was expected (Stephens 2017, adaptive shrinkage). What is taken
for a count is its mean given the noisy one. Where noise is small that is the noisy count, where it is large the expected one.

The noise counts as normal. Counts that are further from what was expected than `REACH` deviations are left as they were measured.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from discreet.arrays import Bools, Floats, Integers

SHAPES = (1e6, 100.0, 30.0, 10.0, 3.0, 1.0, 0.3, 0.1, 0.03)
REACH = 8.0
PLACES = 64
"""Distances from the expected count that are told apart; in between it is interpolated."""
WIDTH = 2 * REACH / PLACES
MOST_CLASSES, RATIO = 16, 0.3
"""Classes of expected counts, at most; and how far apart they are in logarithms, at least."""
GRID = 0.1
"""Classes whose logarithms differ by less are taken for one: hundreds of pairs of columns then share a few dozen of them."""
STEP, WHOLE = 0.25, 1.5
"""Counts are summed over in steps of so many deviations; whole counts where such a step is at most `WHOLE`."""
STEPS = 30
LEAST_VARIANCE, LEAST_EXPECTED, TINY = 0.02, 1e-9, 1e-200


@dataclass(frozen=True, slots=True, eq=False)
class LikelyCounts:
    """Noisy counts, and for classes of them what each shape makes of a distance from the expected count."""

    noisy: Floats
    near: Bools | slice
    """Those that are within `REACH`."""
    std: Floats
    """The standard deviation of each near count, with its noise, if rows fall into cells by chance."""
    cells: Integers
    """The class and the place of each near count, as one number."""
    between: Floats
    """How far towards the next place the distance is."""
    seen: Floats
    """How many counts have each class and place."""
    likelihoods: Floats
    means: Floats
    """By class, shape and place: how likely such a noisy count is, and how far the mean count is from it, in deviations."""

    @classmethod
    def of(cls, noisy: Floats, expected: Floats, variance: float) -> LikelyCounts:
        """Counts of noise of one `variance`."""
        expected = np.maximum(expected, LEAST_EXPECTED)
        std = np.sqrt(expected + variance)
        distance = (noisy - expected) / std
        near = (distance > -REACH) & (distance < REACH)
        chosen = slice(None) if near.all() else near  # a slice of all is no copy
        logs = np.log(expected[chosen])
        low = float(logs.min(initial=math.inf))
        wide = max(float(logs.max(initial=-math.inf)) - low, 0.0) if len(logs) else 0.0
        many = min(MOST_CLASSES, math.ceil(wide / RATIO)) or 1
        classes = ((logs - low) * (many / max(wide, RATIO))).astype(np.int64)
        np.minimum(classes, many - 1, out=classes)
        between = distance[chosen] / WIDTH + (REACH / WIDTH - 0.5)
        places = between.astype(np.int64)
        np.minimum(places, PLACES - 2, out=places)
        between -= places
        np.clip(between, 0.0, 1.0, out=between)
        cells = classes * PLACES
        cells += places
        seen = np.asarray(np.bincount(cells, 1 - between, many * PLACES), dtype=np.float64)
        seen[1:] += np.bincount(cells, between, many * PLACES)[:-1]
        held = np.bincount(classes, minlength=many)
        centres = np.bincount(classes, logs, many) / np.maximum(held, 1)
        found = [_by_shape(round(each / GRID), variance) for each in centres.tolist()]
        likelihoods, means = (np.stack(each) for each in zip(*found, strict=True))
        seen = seen.reshape(many, PLACES)
        return cls(noisy, chosen, std[chosen], cells, between, seen, likelihoods, means)

    def given(self, weights: Floats) -> Floats:
        """The mean of each count, if shapes have these weights."""
        whole = np.einsum("s,csp->cp", weights, self.likelihoods)
        off = (np.einsum("s,csp,csp->cp", weights, self.likelihoods, self.means) / whole).ravel()
        moved = np.diff(off, append=0.0)[self.cells]  # from a place to the next one
        moved *= self.between
        moved += off[self.cells]
        moved *= self.std
        found = self.noisy.astype(np.float64)
        found[self.near] += moved
        return np.maximum(found, 0.0, out=found)

    def evidence(self, weights: Floats) -> float:
        """The logarithm of how likely all near counts are."""
        whole = np.einsum("s,csp->cp", weights, self.likelihoods)
        return float((self.seen * np.log(whole)).sum())


def fitted_weights(tables: Sequence[LikelyCounts], held: float) -> Floats:
    """The weights of shapes that make some tables likely, as if `held` counts with even weights had been seen too."""
    even = np.full(len(SHAPES), 1 / len(SHAPES))
    weights = even
    for _ in range(STEPS):
        mine = held * even
        for each in tables:
            whole = np.einsum("s,csp->cp", weights, each.likelihoods)
            mine = mine + weights * np.einsum("csp,cp->s", each.likelihoods, each.seen / whole)
        weights = mine / mine.sum()
    return weights


def likely(noisy: Floats, expected: Floats, variance: float, held: float) -> Floats:
    """The counts of one table by themselves."""
    table = LikelyCounts.of(noisy, expected, variance)
    return table.given(fitted_weights([table], held))


@lru_cache(maxsize=1024)
def _by_shape(level: int, variance: float) -> tuple[Floats, Floats]:
    """For each shape and place: how likely the noisy count is there, and how far the mean count is from it."""
    expected = math.exp(level * GRID)
    std = math.sqrt(expected + variance)
    counts, chances, summed = _chances(expected, std)
    noisy = expected + std * (WIDTH * (np.arange(PLACES) + 0.5) - REACH)
    off = (noisy[None, :] - counts[:, None]) / math.sqrt(max(variance, LEAST_VARIANCE))
    noise = np.exp(-off * off / 2)
    likelihoods = chances @ noise
    means = summed @ noise + TINY * np.maximum(noisy, 0.0)
    likelihoods += TINY
    return likelihoods, (means / likelihoods - noisy) / std


def _chances(expected: float, std: float) -> tuple[Floats, Floats, Floats]:
    """Counts near the expected one; for each shape how likely these are, and that times their mean."""
    from scipy.special import gammainc, gammaln  # slow to import, and only synthetic rows need it

    shape = np.array(SHAPES)[:, None]
    low, high = max(0.0, math.floor(expected - 11 * std)), expected + 11 * std + 2
    if STEP * std <= WHOLE:
        counts = np.arange(low, math.ceil(high) + 1)
        ways = gammaln(shape + counts) - gammaln(shape) - gammaln(counts + 1)
        rest = np.log(shape / (shape + expected))
        chances = np.exp(ways + shape * rest + counts * np.log(expected / (shape + expected)))
        return counts, chances, chances * counts
    edges = np.arange(low, high + STEP * std, STEP * std)
    own = 1 / (1 / shape + 1 / expected)  # a gamma law of the same mean and variance
    below = edges * own / expected
    summed = expected * np.diff(gammainc(own + 1, below), axis=1)
    return (edges[1:] + edges[:-1]) / 2, np.diff(gammainc(own, below), axis=1), summed
