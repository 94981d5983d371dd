"""How far sums of measured numbers along a tree over one column can be off, all boundaries at once.

The rows before a boundary are the rows before its node's parent plus the siblings to its left, or the rows
before the parent's end less the siblings to its right. Which of the two is taken follows from the noise
laws alone. So, from the root down, the error at a boundary is a walk whose steps are sums of fresh draws.

A tree that stops early ends some of these walks early, at a time that its own noise decides. But every
value that a walk can end at is one of the full tree's walks: think of the numbers below a stopped node as
drawn and not shown. So what all walks of the full tree stay within, at all levels, holds for the stopped
tree too, however its nodes were stopped. That is a maximum of public noise, which is simulated.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from discreet.arrays import Floats
from discreet.families.ranges.estimate.all_ranges import (
    FEWEST_DRAWS,
    MOST_DRAWS,
    SEED,
    UP,
    drawn,
    exceeding,
)
from discreet.families.shared.estimate.public_random import generator
from discreet.privacy.laws import NoiseLaw

MOST_NUMBERS = 1 << 26
"""Draws times nodes of one simulation."""
BATCH = 500


@dataclass(frozen=True, slots=True)
class WalkLevel:
    """One measured level of a full tree: 2^shift cells to a node."""

    shift: int
    law: NoiseLaw


def walk_bound(cells: int, levels: Sequence[WalkLevel], delta: float) -> float | None:
    """What no difference of two boundaries' errors exceeds with probability 1 - delta.

    None where there are too many nodes, or delta is too small, to simulate it.
    """
    furthest = _furthest(cells, tuple(levels))
    above = exceeding(len(furthest), delta) if len(furthest) else None
    return None if above is None else float(furthest[len(furthest) - 1 - above]) * UP


@lru_cache(maxsize=64)
def _furthest(cells: int, levels: tuple[WalkLevel, ...]) -> Floats:
    nodes = sum(((cells - 1) >> level.shift) + 1 for level in levels)
    draws = min(MOST_DRAWS, MOST_NUMBERS // nodes)
    if draws < FEWEST_DRAWS:
        return np.zeros(0)
    public = generator(SEED)
    found = []
    for at in range(0, draws, BATCH):
        found.append(_walked(cells, levels, min(BATCH, draws - at), public))
    return np.sort(np.concatenate(found))


def _walked(
    cells: int,
    levels: tuple[WalkLevel, ...],
    many: int,
    public: np.random.Generator,  # noqa: TID251 - the type only; the generator is public
) -> Floats:
    """The highest less the lowest value of all walks, of each of so many draws."""
    starts, ends = np.zeros((many, 1)), np.zeros((many, 1))
    start_spread, end_spread = np.zeros(1), np.full(1, np.inf)
    highest, lowest = np.zeros(many), np.zeros(many)
    above: int | None = None
    for level in levels:
        size = ((cells - 1) >> level.shift) + 1
        parent = np.zeros(size, dtype=np.int64)
        if above is not None:
            parent = np.arange(size) >> (above - level.shift)
        noise = drawn(level.law, (many, size), public)
        first = np.flatnonzero(np.diff(parent, prepend=-1))
        running = np.concatenate([np.zeros((many, 1)), np.cumsum(noise, axis=1)], axis=1)
        last = np.append(first[1:], size)
        left = np.arange(size) - first[parent]
        right = last[parent] - np.arange(size)
        sides = []
        around = level.law.envelope().variance
        for after in (0, 1):  # a node's start, then its end
            to_left = running[:, after : size + after] - running[:, first][:, parent]
            to_right = running[:, last][:, parent] - running[:, after : size + after]
            spread_left = start_spread[parent] + (left + after) * around
            spread_right = end_spread[parent] + (right - after) * around
            by_left = spread_left <= spread_right * (1 + 1e-9)
            walk = np.where(by_left, starts[:, parent] + to_left, ends[:, parent] - to_right)
            sides.append((walk, np.where(by_left, spread_left, spread_right)))
            highest = np.maximum(highest, walk.max(axis=1))
            lowest = np.minimum(lowest, walk.min(axis=1))
        (starts, start_spread), (ends, end_spread) = sides
        above = level.shift
    return highest - lowest


__all__ = ["WalkLevel", "walk_bound"]
