"""How far the rows before the boundaries of a tree over one column can be off, all boundaries at once.

From the root down, the rows before a boundary are read off the line between the two ends of its node's parent, plus the
node's measured siblings before it, less the part of all siblings that the line has there already: a bridge
between two boundaries that are known better. (It is least squares with the parents held fixed.) The error at a
boundary is a combination of fresh draws whose weights are public.

A tree that stops early leaves some bridges out, at places that its own noise decides. But a bridge goes
through the boundaries above it, so every boundary of a stopped tree has the error that it has in the full tree:
think of the numbers below a stopped node as drawn and not shown. So what all boundaries of the full tree stay
within holds for the stopped tree too, however its nodes were stopped. That is a maximum of public noise, which
is simulated.

Where the root counts by weights, the numbers of the first level, of which no node is ever missing, are first moved by public
parts of the difference between the root's number and theirs. Then numbers of light paths have less noise than those of the heaviest, whose
law is simulated. That makes no bound too small: each draw is symmetric and log-concave, so making one of them smaller
never makes a symmetric convex set of the draws less likely (Anderson 1955; Prekopa 1973).
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

MOST_NUMBERS = 10_000_000
"""Draws times nodes of one simulation."""
BATCH = 500


@dataclass(frozen=True, slots=True)
class BridgeLevel:
    """One measured level of a full tree: 2^shift cells to a node."""

    shift: int
    law: NoiseLaw


@dataclass(frozen=True, slots=True)
class BridgeRoot:
    """A root that counts by weights: one for each node of the first level."""

    weights: tuple[int, ...]
    law: NoiseLaw

    def moved(self, numbers: Floats, root: Floats, law: NoiseLaw) -> Floats:
        """The numbers of the first level, or their noise, moved towards the root's: by least squares under these laws."""
        weights = np.array(self.weights[: numbers.shape[-1]], dtype=np.float64)
        both = law.variance * (weights @ weights) + self.law.variance
        if both == 0:
            return numbers  # a budget that leaves no noise: there is nothing to move
        part = weights * law.variance / both
        return np.asarray(numbers + (root - numbers @ weights)[..., np.newaxis] * part)


def bridge_bound(
    cells: int, levels: Sequence[BridgeLevel], delta: float, root: BridgeRoot | None = None
) -> float | None:
    """A bound on all differences of two boundaries' errors, with probability 1 - delta.

    None where there are too many nodes, or delta is too small, to simulate it.
    """
    furthest = _furthest(cells, tuple(levels), root)
    above = exceeding(len(furthest), delta) if len(furthest) else None
    return None if above is None else float(furthest[len(furthest) - 1 - above]) * UP


@lru_cache(maxsize=64)
def _furthest(cells: int, levels: tuple[BridgeLevel, ...], root: BridgeRoot | None) -> Floats:
    nodes = sum(((cells - 1) >> level.shift) + 1 for level in levels)
    draws = min(MOST_DRAWS, MOST_NUMBERS // nodes)
    if draws < FEWEST_DRAWS:
        return np.zeros(0)
    public = generator(SEED)
    found = []
    for at in range(0, draws, BATCH):
        errors = bridged(cells, levels, min(BATCH, draws - at), public, root)
        found.append(errors.max(axis=1) - errors.min(axis=1))
    return np.sort(np.concatenate(found))


def bridged(
    cells: int,
    levels: Sequence[BridgeLevel],
    many: int,
    public: np.random.Generator,  # noqa: TID251 - the type only; the generator is public
    root: BridgeRoot | None = None,
) -> Floats:
    """The errors at all boundaries of the last level, from the first to the last, of so many draws."""
    errors = np.zeros((many, 1))
    above: int | None = None
    for level in levels:
        size = ((cells - 1) >> level.shift) + 1
        noise = drawn(level.law, (many, size), public)
        if root is not None and above is None:
            noise = root.moved(noise, drawn(root.law, (many, 1), public)[:, 0], level.law)
        running = np.concatenate([np.zeros((many, 1)), np.cumsum(noise, axis=1)], axis=1)
        if above is None:
            errors = running  # nothing is known of the whole yet
        else:
            parent = np.arange(size) >> (above - level.shift)
            first = np.flatnonzero(np.diff(parent, prepend=-1))
            start, end = first[parent], np.append(first[1:], size)[parent]
            part = (np.arange(size) + 1 - start) / (end - start)
            own = running[:, 1:] - running[:, start]
            own -= part * (running[:, end] - running[:, start])
            line = errors[:, parent] + part * (errors[:, parent + 1] - errors[:, parent])
            errors = np.concatenate([np.zeros((many, 1)), line + own], axis=1)
        above = level.shift
    return errors


__all__ = ["BridgeLevel", "BridgeRoot", "bridge_bound", "bridged"]
