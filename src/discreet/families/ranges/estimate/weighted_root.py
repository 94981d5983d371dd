"""A root that counts each row by a weight, of the first level's node that the row lies in.

A range of random length holds rows of the middle more often than rows near the ends, so a weighted count tells more
about ranges than a plain one. A path pays for the root by its weight. What a light path saves is spent below: all its
numbers have `parts` times the epsilon of the heaviest path's.

Least squares: with x the counts of the first level's nodes, each from its own subtree, D their variances and
y = w x + noise, the counts move by D w (y - w x) / t with t = w D w + Var(noise), and their covariance is
D - D w w D / t. So any sum of leaves has the variance that it has without the root, less the square of the sum of
their `pull`. Estimates are smoothed along a chain from the root down instead: there each half of a node is given its true variance
and its true covariance with the node, and what halves of different nodes have in common beyond that is left out.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from discreet.arrays import Floats, Integers
from discreet.artifacts.measurement import TreeLevel
from discreet.queries.tree import Nodes, Tree

LEAST_SHARE = 1e-3
"""The least share of a node's error that a half is given."""


@dataclass(frozen=True, slots=True, eq=False)
class WeightedRoot:
    """The weight of each node of the first level, and the noisy weighted count."""

    weights: Floats
    value: float
    variance: float

    def total(self, variance: Floats) -> float:
        """The variance of the weighted count, less what the nodes of the first level say it is."""
        return float(variance @ self.weights**2) + self.variance

    def pull(self, variance: Floats) -> Floats:
        """Covariances of these nodes' counts with that difference, in its deviations: none is negative."""
        return np.asarray(variance * self.weights / math.sqrt(self.total(variance)))

    def surplus(self, value: Floats, variance: Floats) -> float:
        """The difference, in its deviations."""
        return (self.value - float(value @ self.weights)) / math.sqrt(self.total(variance))


def halves_of(places: Sequence[Floats], total: float, halvings: int) -> Halves:
    """The parts of the first block after 0, 1, ... `halvings` halvings, from counts, variances and weights of its places.

    Sums of D and of D w over a part make all its variances. The two halves of a part are given variances of their own of
    which `PrunedTree.fitted` makes the share and the split that are wanted.
    """
    value, variance, weights = places
    counts, sums, moves = [value], [variance], [variance * weights]
    for _ in range(halvings):
        for each in (counts, sums, moves):
            each.insert(0, each[0][0::2] + each[0][1::2])
    found = Halves([], [], counts[0], sums[0] - moves[0] ** 2 / total)
    for level in range(1, halvings + 1):
        whole = np.maximum(sums[level - 1] - moves[level - 1] ** 2 / total, 0.0)
        left, right = sums[level][0::2], sums[level][1::2]
        shared = left - moves[level][0::2] * moves[level - 1] / total
        own = np.maximum(left - moves[level][0::2] ** 2 / total, 0.0)
        share = np.divide(shared, whole, out=np.ones_like(whole), where=whole > 0)
        share = np.clip(share, LEAST_SHARE, 1 - LEAST_SHARE)
        split = np.maximum(own - share**2 * whole, 0.0) / (share * (1 - share))
        both = (left > 0) & (right > 0)  # otherwise a half lies beyond the domain
        noise = np.empty(2 * len(whole))
        noise[0::2] = np.where(both, share * split, own)
        noise[1::2] = np.where(both, (1 - share) * split, 0.0)
        found.value.append(counts[level][np.newaxis])
        found.variance.append(noise[np.newaxis])
    return found


@dataclass(slots=True, eq=False)
class Halves:
    """The parts of a block after 1, 2, ... halvings, and the root."""

    value: list[Floats]
    variance: list[Floats]
    root: Floats
    root_variance: Floats


@dataclass(frozen=True, slots=True, eq=False)
class Paths:
    """The weights of a tree's paths, and the share of epsilon that the heaviest pays for the root."""

    tree: Tree
    weights: Integers
    share: float

    @classmethod
    def of(cls, tree: Tree, weights: Sequence[int], levels: Sequence[TreeLevel]) -> Paths | None:
        """Those of a tree whose root was measured; None where it is a plain count."""
        if not weights or not levels:
            return None
        share = float(levels[0].refined_epsilon / levels[0].stopped_epsilon)
        return cls(tree, np.array(weights, dtype=np.int64), share)

    def weight_of(self, depth: int, nodes: Nodes) -> Integers:
        """The weight of the path of each node."""
        shift = np.uint64(depth - self.tree.depths[1][0])
        return np.asarray(self.weights[(nodes[:, 0] >> shift).astype(np.int64)])

    def parts(self, depth: int, nodes: Nodes) -> Floats:
        """The epsilon of each node's numbers, as a part of that of the heaviest path's."""
        paid = self.share * self.weight_of(depth, nodes) / self.weights.max()
        return np.asarray((1 - paid) / (1 - self.share))

    def root(self, level: TreeLevel, nodes: Nodes, variance: float) -> WeightedRoot:
        """What the root says of the nodes of the first level; `variance` is that of its noise."""
        weights = self.weight_of(self.tree.depths[1][0], nodes).astype(np.float64)
        return WeightedRoot(weights, float(level.values[0]), variance)
