"""Shares of a tree over one column whose root is a weighted count.

Ranges of random length hold rows of the middle of the line far more often than rows near its ends. So the root counts a
row by a weight that rises from the ends to the middle, and a path pays for it by its weight. By the formula of `shares` the
standard deviation of a random range is then .95 to .97 of that with a plain root. That would be a little less still, if ranges
from an end of the line, and all of it, were let go; here they count too (`FROM_AN_END`, `ALL`), and have about the noise that
they have with a plain root. Ranges of a twentieth of the line have 3 to 5% more.

The nodes of the first level have precisions Q f_k^2, where f_k is the epsilon of the path below k as a part of the heaviest
one's, and the root adds w w' / (its noise). So a query that takes the parts c of these nodes has the variance c S c + (what
lies inside the nodes that it cuts), with S = D - D w w D / t in closed form. Only the shape of the domain enters.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
from scipy.optimize import minimize

from discreet.arrays import Floats
from discreet.families.ranges.queries.ranges import DEEP
from discreet.families.ranges.release.shares import (
    RandomEnds,
    Shares,
    energies_of,
    precisions_of,
    rounded_shares,
)
from discreet.queries.tree import Tree

FROM_AN_END, ALL = 0.2, 0.1
"""The part of the queries that begin or end where the line does, and that are all of it; the others are random ranges."""
HEAVIEST = 64
"""The largest weight. Weights are whole numbers."""
GRID = 256
"""Points a side, for the mean over random ends."""
FEWEST_LEVELS, FEWEST_PLACES = 3, 8
"""A shallower tree, or one with fewer nodes in its first level, has a plain root."""


@dataclass(frozen=True, slots=True)
class WeightedShares:
    """Shares by level of the heaviest path, the weights, and the variance of a range as a multiple of 2/epsilon^2."""

    shares: tuple[Fraction, ...]
    weights: tuple[int, ...]
    mean_variance: float
    worst_variance: float


def may_weigh(tree: Tree) -> bool:
    """Whether a tree gets a weighted root: public facts decide."""
    return (
        len(tree.columns) == 1
        and len(tree.depths) >= FEWEST_LEVELS
        and 1 << tree.depths[1][0] >= FEWEST_PLACES
        and tree.depths[-1][0] <= DEEP
    )


@lru_cache(maxsize=64)
def weighted_shares(tree: Tree, plain: Shares) -> WeightedShares:
    """The best shares and weights, by descent from those with a `plain` root."""
    model = _Model(tree)
    start = np.log(np.maximum([float(each) for each in plain.shares], 1e-3))
    found = minimize(
        model.cost, np.append(start, [-1.0, 0.0]), method="L-BFGS-B", options={"maxiter": 200}
    )
    shares, weights = model.read(found.x)
    rounded = rounded_shares(shares)
    whole = np.maximum(np.rint(HEAVIEST * weights / weights.max()), 1.0)
    exact = np.array([float(each) for each in rounded])
    return WeightedShares(
        rounded,
        tuple(int(each) for each in whole),
        model.variance(exact, whole / HEAVIEST, model.random),
        model.worst(exact, whole / HEAVIEST),
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Queries:
    """Moments of the parts of the nodes that queries take, and how many ends they have in each node."""

    moments: Floats
    ends: Floats


class _Model:
    """The expected variance of a tree, by its shares and weights."""

    def __init__(self, tree: Tree) -> None:
        self._cuts = [depth[0] for depth in tree.depths]
        self._energies = energies_of(tree, RandomEnds())
        self.random, self.mixed = _queries(1 << self._cuts[1])

    def read(self, numbers: Floats) -> tuple[Floats, Floats]:
        """Shares of the heaviest path, and weights of at most 1: from those at the ends they rise by a power."""
        *logs, at_ends, power = numbers
        shares = np.exp(np.array(logs) - max(logs))
        places = (np.arange(1 << self._cuts[1]) + 0.5) / (1 << self._cuts[1])
        ends = 1 / (1 + np.exp(-at_ends))
        weights = ends + (1 - ends) * (1 - np.abs(2 * places - 1) ** np.exp(power))
        return shares / shares.sum(), np.asarray(weights / weights.max())

    def cost(self, numbers: Floats) -> float:
        return self.variance(*self.read(numbers), self.mixed)

    def variance(self, shares: Floats, weights: Floats, of: _Queries) -> float:
        own, moved, inside = self._parts(shares, weights)
        between = float(own @ np.diag(of.moments)) - float(moved @ of.moments @ moved)
        return between + float(inside @ of.ends)

    def worst(self, shares: Floats, weights: Floats) -> float:
        """Of ranges that end at a node of the first level or in its middle, where they cut every node below, too."""
        own, moved, inside = self._parts(shares, weights)
        nodes = len(own)
        points = np.arange(2 * nodes + 1) / 2
        below = np.clip(points[:, np.newaxis] - np.arange(nodes), 0.0, 1.0)
        cut = np.where(points % 1 > 0, inside[np.minimum(points.astype(int), nodes - 1)], 0.0)
        first, last = np.triu_indices(len(points), 1)
        parts = below[last] - below[first]
        # No halving of a node that is cut adds more than 3 times the energy that it adds to one that is cut evenly.
        variance = parts**2 @ own - (parts @ moved) ** 2 + 3 * (cut[first] + cut[last])
        return float(variance.max())

    def _parts(self, shares: Floats, weights: Floats) -> tuple[Floats, Floats, Floats]:
        """D; D w / sqrt(t); and the variance inside a node that a range ends in."""
        below = precisions_of(np.append(0.0, shares[1:]), self._cuts, len(self._energies))
        first = self._cuts[1]
        part = (1 - shares[0] * weights) / (1 - shares[0])
        own = 2.0**-first / below[first] / part**2
        heavy = shares[0] * weights
        total = float(own @ heavy**2) + 1.0
        deep = slice(first + 1, None)
        inside = float((self._energies[deep] / below[deep]).sum()) / 2 / part**2
        return own, own * heavy / np.sqrt(total), inside


@lru_cache(maxsize=8)
def _queries(nodes: int) -> tuple[_Queries, _Queries]:
    """Random ranges, and the mix that shares are made for."""
    middles = (np.arange(GRID) + 0.5) / GRID
    length = np.repeat(middles, GRID)
    low = np.tile(middles, GRID) * (1 - length)
    random = _of_ranges(low, low + length, nodes)
    line = (np.arange(GRID * 8) + 0.5) / (GRID * 8)
    one, other = _of_ranges(0 * line, line, nodes), _of_ranges(line, 0 * line + 1, nodes)
    mixed = _Queries(
        (1 - FROM_AN_END - ALL) * random.moments
        + FROM_AN_END / 2 * (one.moments + other.moments)
        + ALL,
        (1 - FROM_AN_END - ALL) * random.ends + FROM_AN_END / nodes,
    )
    return random, mixed


def _of_ranges(low: Floats, high: Floats, nodes: int) -> _Queries:
    edges = np.arange(nodes) / nodes
    parts = nodes * (
        np.clip(high[:, np.newaxis] - edges, 0.0, 1 / nodes)
        - np.clip(low[:, np.newaxis] - edges, 0.0, 1 / nodes)
    )
    places = np.minimum((np.concatenate([low, high]) * nodes).astype(np.int64), nodes - 1)
    return _Queries(parts.T @ parts / len(low), np.bincount(places, minlength=nodes) / len(low))
