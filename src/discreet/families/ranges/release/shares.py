"""How a path's epsilon is best spread over the levels of a tree, for random ranges.

With a share w_l at level l, least squares answers a query q with variance 2/epsilon^2 * sum_j T_j /
lambda_j: T_j is the energy of q in the differences between the halves at depth j, and lambda_j = sum
over measured levels l at or below depth j of w_l^2 * (cells of a node of l). (Each difference is an
eigenvector of the normal equations.) Ranges with random ends have energies in closed form; over
several columns they multiply. The least expected variance is found by descent. Only the shape of the
domain enters, so this is decided before any row is read.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Protocol

import numpy as np
from scipy.optimize import minimize

from discreet.arrays import Floats
from discreet.families.shared.release.splitting import LEAST_VARIANCE
from discreet.queries.tree import Tree, halvings

FINEST = 1024
"""Shares are multiples of 1/1024, so that noise scales stay short rationals."""
GRID = 256
"""Points a side, for the mean over random ends."""
EXACT_DEPTHS = 7
"""Beyond so many halvings of one column the two ends of a range are as good as independent."""


@dataclass(frozen=True, slots=True)
class Shares:
    """Shares by level, and the variance that a query then has, as a multiple of 2/epsilon^2."""

    shares: tuple[Fraction, ...]
    mean_variance: float
    worst_variance: float


@lru_cache(maxsize=64)
def best_shares(tree: Tree, power: int = 2) -> Shares:
    """The shares of least expected variance over random ranges.

    `power`: a level's precision grows with the square of its share of epsilon, or (1) with its
    share of rho.
    """
    order = halvings(tree.depths[-1])
    cuts = [sum(depth) for depth in tree.depths]
    mean = _energies(tree.depths[-1], order, RandomEnds())
    worst = _energies(tree.depths[-1], order, WorstEnds())
    if len(cuts) == 1:
        return Shares((Fraction(1),), 1.0, 1.0)
    rounded = rounded_shares(_descent(mean, cuts, power))
    weights = np.array([float(share) for share in rounded])
    return Shares(
        shares=rounded,
        mean_variance=_cost(weights, mean, cuts, power),
        worst_variance=_cost(weights, worst, cuts, power),
    )


def level_variance(tree: Tree, variances: Mapping[int, float]) -> tuple[float, float]:
    """Mean and worst variance of a range when whole levels are measured with these variances."""
    order = halvings(tree.depths[-1])
    cuts = [sum(depth) for depth in tree.depths]
    known = {level: max(variance, LEAST_VARIANCE) for level, variance in variances.items()}
    weights = np.array([1 / known[x] if x in known else 0.0 for x in range(len(cuts))])
    mean, worst = (
        _cost(weights, _energies(tree.depths[-1], order, ends), cuts, 1)
        for ends in (RandomEnds(), WorstEnds())
    )
    return mean, worst


class Energy(Protocol):
    """The energy of intervals of the unit line: what lies in the whole, and what each halving adds."""

    def whole(self) -> float: ...
    def added(self, depth: int, cells: float) -> float:
        """By halving the nodes of `depth`, which hold so many cells."""
        ...


class RandomEnds:
    """Intervals of uniform length, then of uniform place.

    The energy at a depth is the mean of sum over nodes of (overlap / node)^2 * node. An end that
    falls evenly into a node loses a sixth of it, so once the two ends fall into different nodes,
    each halving recovers half of what the one before it did. Ends lie between cells, which gives a
    node of m cells 1 + 2/m^2 times that.
    """

    def whole(self) -> float:
        return _mean_energy(0)

    def added(self, depth: int, cells: float) -> float:
        near = min(depth, EXACT_DEPTHS - 1)
        added = (_mean_energy(near + 1) - _mean_energy(near)) * 2.0 ** (near - depth)
        return added * (1 + 2 / cells**2)


class WorstEnds:
    """An upper bound for any interval: all of the line, and each end cutting each node in the middle."""

    def whole(self) -> float:
        return 1.0

    def added(self, depth: int, cells: float) -> float:
        return 2 * 0.25 * 2.0**-depth


@lru_cache(maxsize=EXACT_DEPTHS + 1)
def _mean_energy(depth: int) -> float:
    middles = (np.arange(GRID) + 0.5) / GRID
    length = middles[:, np.newaxis]
    low = middles[np.newaxis, :] * (1 - length)
    high = low + length
    h = 2.0**-depth
    first, last = np.floor(low / h), np.floor(high / h)
    apart = ((first + 1) * h - low) ** 2 / h + (last - first - 1) * h + (high - last * h) ** 2 / h
    return float(np.where(first == last, length**2 / h, apart).mean())


def energies_of(tree: Tree, energy: Energy) -> Floats:
    """The energy of a query in the whole, and what each halving of the tree adds."""
    return _energies(tree.depths[-1], halvings(tree.depths[-1]), energy)


def precisions_of(weights: Floats, cuts: list[int], depths: int) -> Floats:
    """lambda_j for each depth j, by the levels' shares of epsilon."""
    return _precisions(weights, cuts, depths, 2)


def _energies(bits: tuple[int, ...], order: tuple[int, ...], energy: Energy) -> Floats:
    """T_0, T_1, ...: the energy that each halving of the order adds. Columns multiply."""
    depth = [0] * len(bits)
    held = [energy.whole()] * len(bits)
    found = [float(np.prod(held))]
    for axis in order:
        more = energy.added(depth[axis], 2.0 ** (bits[axis] - depth[axis]))
        found.append(more * float(np.prod([each for c, each in enumerate(held) if c != axis])))
        held[axis] += more
        depth[axis] += 1
    return np.array(found)


def _precisions(weights: Floats, cuts: list[int], depths: int, power: int) -> Floats:
    """lambda_j for each depth j: what the measured levels at or below it contribute."""
    per_depth = np.zeros(depths)
    for weight, cut in zip(weights, cuts, strict=True):
        per_depth[cut] += weight**power * 2.0**-cut
    return np.cumsum(per_depth[::-1])[::-1]


def _cost(weights: Floats, energies: Floats, cuts: list[int], power: int) -> float:
    return float((energies / _precisions(weights, cuts, len(energies), power)).sum())


def _descent(energies: Floats, cuts: list[int], power: int) -> Floats:
    sizes = 2.0 ** -np.array(cuts, dtype=np.float64)

    def cost_and_slope(logits: Floats) -> tuple[float, Floats]:
        weights = np.exp(logits - logits.max())
        weights /= weights.sum()
        precisions = _precisions(weights, cuts, len(energies), power)
        by_precision = np.cumsum(-energies / precisions**2)[cuts]
        slope = by_precision * power * weights ** (power - 1) * sizes
        return float((energies / precisions).sum()), weights * (slope - (slope * weights).sum())

    found = minimize(
        cost_and_slope, np.zeros(len(cuts)), jac=True, method="L-BFGS-B", options={"maxiter": 500}
    )
    weights = np.exp(found.x - found.x.max())
    return np.asarray(weights / weights.sum())


def rounded_shares(weights: Floats) -> tuple[Fraction, ...]:
    """Multiples of 1/FINEST that add to 1; a level worth less than one of them is not measured."""
    parts = [round(FINEST * weight) for weight in weights]
    parts[-1] = max(1, parts[-1])
    parts[int(np.argmax(parts))] += FINEST - sum(parts)
    return tuple(Fraction(part, FINEST) for part in parts)
