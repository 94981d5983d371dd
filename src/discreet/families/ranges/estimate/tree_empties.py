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
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from discreet.arrays import Bools, Floats, Integers
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
_BLOCK = 1 << 13
"""Leaves that are worked on at a time: what is in work stays in a processor's cache."""
LEAST_PART = 0.02
"""The part of the noise variance that is left to a leaf that is surely empty."""


def told_apart(layer: Layer) -> Layer:
    """The layer with each leaf's count weighed by the probability that the leaf is not empty."""
    if not layer.stopped.any():
        return layer
    # The leaves of a layer are drawn with the same noise, or, where the root is weighted, with about the same.
    own = layer.precision[layer.stopped]
    usual = float(own[0]) if own[0] == own[-1] else math.exp(float(np.log(own).mean()))
    chances = Empties(layer.values, 1 / usual, among=layer.stopped).chances
    values, precision = np.empty_like(layer.values), np.empty_like(layer.values)
    for block in _blocks(len(values)):
        seen, kept, spread = layer.values[block], values[block], precision[block]
        empty, noise = chances(block), 1 / layer.precision[block]
        np.multiply(seen, seen, out=spread)
        spread *= empty
        spread += noise
        spread *= np.subtract(1, empty, out=kept)
        np.maximum(spread, LEAST_PART * noise, out=spread)
        np.divide(1, spread, out=spread)
        kept *= seen
    alive = layer.alive
    values[alive], precision[alive] = layer.values[alive], layer.precision[alive]
    return replace(layer, values=values, precision=precision)


class Empties:
    """How likely counts are 0 that are `seen` with discrete Laplace noise of one variance; learnt from some `among` them."""

    def __init__(self, seen: Floats, variance: float, *, among: Bools) -> None:
        scale = laplace_scale(variance)
        self._width = max(1.0, scale / BINS_A_SCALE)
        self._highest = math.ceil(SURE_SCALES * scale / self._width)
        self._lowest = -math.ceil(GRID_SCALES * scale / self._width)
        size = self._highest - self._lowest + 1
        bins = np.zeros(size)
        self._places = np.empty(len(seen), dtype=np.int32)
        for block in _blocks(len(seen)):
            places = self._places[block] = self._bins(seen[block])
            bins += np.bincount(places[among[block]], minlength=size)
        there = np.flatnonzero(bins[:-1])
        self._chances = np.zeros(size)
        if not len(there):
            return
        counts = np.arange(GRID_SCALES + 1) * max(1.0, scale)
        distance = np.abs(((there + self._lowest) * self._width)[:, np.newaxis] - counts)
        likelihood = np.exp((distance.min(axis=1, keepdims=True) - distance) / scale)
        weights = _weights(likelihood, bins[there])
        self._chances[there] = weights[0] * likelihood[:, 0] / (likelihood @ weights)

    def chances(self, block: slice) -> Floats:
        """The probability that each of some of the counts is 0."""
        return self._chances[self._places[block]]

    def _bins(self, seen: Floats) -> Integers:
        near = seen / self._width
        np.clip(np.rint(near, out=near), self._lowest, self._highest, out=near)
        places = near.astype(np.int64)
        places -= self._lowest
        return places


def _blocks(many: int) -> Iterator[slice]:
    return (slice(start, start + _BLOCK) for start in range(0, many, _BLOCK))


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
