"""Which leaves of a pruned tree are empty: learnt from all leaves of a layer at once.

Where a tree stops, most of what it finds is often nothing at all, and least squares adds up the noise of
every empty leaf. The noisy counts of a layer's leaves, all drawn with the same noise, tell together how
many of them are empty: a law of non-negative counts with a weight of its own at 0 is fitted to them by
EM (the nonparametric maximum likelihood of Kiefer and Wolfowitz 1956, on a grid). A leaf then counts as
what was seen with the probability that it is not empty. Counts that are not 0 are not drawn towards each
other, for neighbours err alike, and ranges add them up. Post-processing, so free; it moves estimates
only.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from discreet.arrays import Floats
from discreet.families.ranges.estimate.tree_layers import Layer

GRID_SCALES = 40
"""Counts that a leaf may have, one every noise scale up to so many; 0 besides."""
SURE_SCALES = 32
"""A leaf that is seen with so many noise scales or more is not empty."""
BINS_A_SCALE = 8
"""How finely noisy counts are told apart."""
EMPTY_AT_FIRST = 0.5
"""The weight of 0 before anything is seen."""
PSEUDO_COUNT = 2.0
"""How many leaves the first weights count for."""
ROUNDS = 30
"""Rounds of EM."""
LEAST_PART = 0.02
"""The part of the noise variance that is left to a leaf that is surely empty."""


def told_apart(layer: Layer) -> Layer:
    """The layer with each leaf's count weighed by the probability that the leaf is not empty."""
    if not layer.stopped.any():
        return layer
    all_leaves = bool(layer.stopped.all())
    leaves = slice(None) if all_leaves else np.flatnonzero(layer.stopped)
    # The leaves of a layer are all drawn with the same noise.
    each = float(layer.precision[np.argmax(layer.stopped)])
    seen = layer.values[leaves]
    empty = chances_of_empty(seen, 1 / each)
    spread = seen * seen
    spread *= empty
    spread += 1 / each
    kept = np.subtract(1, empty, out=empty)
    spread *= kept
    np.maximum(spread, LEAST_PART / each, out=spread)
    values, precision = np.multiply(kept, seen, out=kept), np.divide(1, spread, out=spread)
    if not all_leaves:
        some, exact = values, precision
        values, precision = layer.values.copy(), layer.precision.copy()
        values[leaves], precision[leaves] = some, exact
    return replace(layer, values=values, precision=precision)


def chances_of_empty(seen: Floats, variance: float) -> Floats:
    """The probability that each count is 0, seen with discrete Laplace noise of one variance."""
    scale = laplace_scale(variance)
    width = max(1.0, scale / BINS_A_SCALE)
    highest = math.ceil(SURE_SCALES * scale / width)
    lowest = -math.ceil(GRID_SCALES * scale / width)
    near = seen / width
    np.clip(np.rint(near, out=near), lowest, highest, out=near)
    places = near.astype(np.int64)
    places -= lowest
    bins = np.bincount(places, minlength=highest - lowest + 1)[:-1].astype(np.float64)
    there = np.flatnonzero(bins)
    if not len(there):
        return np.zeros(len(seen))
    counts = np.arange(GRID_SCALES + 1) * max(1.0, scale)
    distance = np.abs(((there + lowest) * width)[:, np.newaxis] - counts)
    likelihood = np.exp((distance.min(axis=1, keepdims=True) - distance) / scale)
    weights = _weights(likelihood, bins[there])
    chances = np.zeros(len(bins) + 1)
    chances[there] = weights[0] * likelihood[:, 0] / (likelihood @ weights)
    return chances[places]


def _weights(likelihood: Floats, many: Floats) -> Floats:
    """EM for the weights of the grid's counts; `many` leaves have each row's likelihood."""
    first = np.full(likelihood.shape[1], (1 - EMPTY_AT_FIRST) / (likelihood.shape[1] - 1))
    first[0] = EMPTY_AT_FIRST
    weights = first
    for _ in range(ROUNDS):
        expected = weights * ((many / (likelihood @ weights)) @ likelihood)
        weights = (expected + PSEUDO_COUNT * first) / (many.sum() + PSEUDO_COUNT)
    return weights


def laplace_scale(variance: float) -> float:
    """The scale of discrete Laplace noise, 1/epsilon, from its variance 2p / (1-p)^2 with p = exp(-epsilon)."""
    ratio = variance / (variance + 1 + math.sqrt(2 * variance + 1))
    return -1 / math.log(ratio)
