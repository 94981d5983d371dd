"""How far boxes of two columns can be off by noise, all at once, simulated from the public noise laws.

From the top down, the children of a node are their measured numbers, moved in proportion to their cells so that they
add up to the node. Of a full tree the error of every box is then a combination of draws with public weights, and the
furthest error of all boxes, M, is simulated.

A tree that stops early leaves draws out, at places that its own noise decides. Given all draws that it shows, those
that it does not show are still independent with mean 0; and the rows of a stopped node are spread evenly, as the mean over
what its children might have said. So a box's error is the conditional expectation of what it would be in the full
tree, and by Jensen's inequality E f(M') <= E f(M) for the furthest error M' of the stopped tree and any convex, growing f,
however its nodes were stopped. With f(m) = max(m - a, 0), Markov's inequality gives P(M' >= t) <= E max(M - a, 0) / (t - a).

Discrete Laplace noise is itself the conditional expectation of continuous noise of the same scale: a Brownian motion
that is stopped at an exponential time has the continuous law, where it last was at an integer it has the discrete
one, and what it did since has mean 0. So M may be simulated with continuous noise. That is log-concave and M is a
seminorm, so its tail falls fast (Borell 1974): if P(M <= u) is c > 1/2, then P(M > t u) <= c ((1 - c) / c)^((t + 1) / 2) for t >= 1.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial

import numpy as np

from discreet.arrays import Floats
from discreet.families.ranges.estimate.all_ranges import SEED, UP, drawn, exceeding
from discreet.families.shared.estimate.public_random import generator
from discreet.privacy.laws import DiscreteLaplaceLaw, NoiseLaw

Level = tuple[tuple[int, ...], NoiseLaw]
"""The depth of a measured level in both columns, and its noise."""
Draw = Callable[[tuple[int, ...], np.random.Generator], Floats]  # noqa: TID251 - the type only
"""Public draws of a noise law."""

DRAWS = 2_000
MOST_WORK = 1 << 30
"""Draws times the pairs of rows of corners, times the corners of a row."""
CHANCES = (0.5, 0.3, 0.2, 0.15, 0.1, 0.07, 0.05, 0.035, 0.025, 0.018, 0.0114)
"""The quantiles of M that are read off the draws; each is too small with a probability below 1e-9."""
LEAST_DELTA = 1e-4
"""Below, the tail of a few thousand draws says less than Chernoff's bound."""
MULTIPLES = np.linspace(1, 6, 51)
"""Where the tail is looked at, as multiples of the last quantile."""


def simulated_boxes(
    cells: tuple[int, int], levels: Sequence[Level], delta: float, *, is_whole: bool
) -> float | None:
    """A bound on the errors of all boxes, except with probability delta. None where that takes too long, or delta is too small, to simulate.

    `is_whole`: whether no node can be stopped early. Then the noise is simulated as it is.
    """
    few, many = sorted(cells)
    if DRAWS * few * few * many > 2 * MOST_WORK:
        return None
    if is_whole:
        drawing = [(depth, partial(drawn, law)) for depth, law in levels]
        furthest = _furthest(cells, _Drawing(tuple(levels), drawing))
        above = exceeding(len(furthest), delta)
        return None if above is None else float(furthest[len(furthest) - 1 - above]) * UP
    scales = [law.scale for _, law in levels if isinstance(law, DiscreteLaplaceLaw)]
    if len(scales) < len(levels) or delta < LEAST_DELTA:
        return None
    # Continuous noise is the same at every epsilon but for its scale, so it is simulated once for all.
    ratios = [(depth, scale / scales[0]) for (depth, _), scale in zip(levels, scales, strict=True)]
    drawing = [(depth, partial(_laplace, float(ratio))) for depth, ratio in ratios]
    furthest = float(scales[0]) * _furthest(cells, _Drawing(tuple(ratios), drawing))
    places = [float(furthest[len(furthest) - 1 - (exceeding(DRAWS, p) or 0)]) for p in CHANCES]
    last, rest = places[-1], CHANCES[-1]
    ratio = rest / (1 - rest)
    # The integral of the tail beyond each multiple of the last quantile.
    beyond = last * (1 - rest) * ratio ** ((MULTIPLES + 1) / 2) * 2 / -math.log(ratio)
    found = float((MULTIPLES * last + beyond / delta).min())
    tail = float(beyond[0])
    for place in reversed(range(len(places) - 1)):
        tail += (places[place + 1] - places[place]) * CHANCES[place]
        found = min(found, places[place] + tail / delta)
    return found * UP


@dataclass(frozen=True)
class _Drawing:
    """How the noise of each level is drawn; told apart by its key."""

    key: Hashable
    levels: Sequence[tuple[tuple[int, ...], Draw]] = field(compare=False)


def _laplace(scale: float, shape: tuple[int, ...], public: np.random.Generator) -> Floats:  # noqa: TID251 - the type only; the generator is public
    return public.laplace(scale=scale, size=shape)


@lru_cache(maxsize=16)
def _furthest(cells: tuple[int, int], drawing: _Drawing) -> Floats:
    public = generator(SEED)
    batch = max(1, min(DRAWS, (1 << 21) // math.prod(cells)))
    found = []
    for at in range(0, DRAWS, batch):
        errors = bridged_cells(cells, drawing.levels, min(batch, DRAWS - at), public)
        found.append(_most_of_boxes(errors))
    return np.sort(np.concatenate(found))


def bridged_cells(
    cells: tuple[int, int],
    levels: Sequence[tuple[tuple[int, ...], Draw]],
    many: int,
    public: np.random.Generator,  # noqa: TID251 - the type only; the generator is public
) -> Floats:
    """The errors of all nodes of the last level, in their places, of so many draws; a row each."""
    bits = [(each - 1).bit_length() for each in cells]
    errors, sizes = np.zeros((many, 1, 1)), [np.ones(1), np.ones(1)]
    above: tuple[int, ...] | None = None
    for depth, draw in levels:
        edges = [
            np.append(np.arange(0, size, 1 << (bit - deep)), size)
            for size, bit, deep in zip(cells, bits, depth, strict=True)
        ]
        inner = [np.diff(each).astype(np.float64) for each in edges]
        noise = draw((many, len(inner[0]), len(inner[1])), public)
        if above is None:
            errors = noise
        else:
            parent = [np.arange(len(inner[axis])) >> (depth[axis] - above[axis]) for axis in (0, 1)]
            total = noise
            for axis in (0, 1):
                first = np.flatnonzero(np.diff(parent[axis], prepend=-1))
                total = np.add.reduceat(total, first, axis=axis + 1)
            missing = (errors - total)[:, parent[0]][:, :, parent[1]]
            share = np.multiply.outer(
                inner[0] / sizes[0][parent[0]], inner[1] / sizes[1][parent[1]]
            )
            errors = noise + share * missing
        sizes, above = inner, depth
    return errors


def _most_of_boxes(errors: Floats) -> Floats:
    """For each draw, the largest absolute sum over a box."""
    if errors.shape[1] > errors.shape[2]:
        errors = errors.transpose(0, 2, 1)
    sums = np.zeros((len(errors), errors.shape[1] + 1, errors.shape[2] + 1), dtype=np.float32)
    sums[:, 1:, 1:] = errors.cumsum(axis=1).cumsum(axis=2)
    largest = np.zeros(len(errors))
    for row in range(errors.shape[1]):
        between = sums[:, row + 1 :] - sums[:, row : row + 1]
        wide = between.max(axis=2) - between.min(axis=2)
        np.maximum(largest, wide.max(axis=1), out=largest)
    return largest
