"""The tree of a public reference population, and the errors of halfspaces on it.

The population is a multiplicative cascade: each halving of the domain gives one half, chosen by a
public draw, `BIAS` of the rows and the other half the rest. Real tables are mostly as uneven or more
(the 80/20 law and its kin; Wang, Madhyastha, Chan, Papadimitriou, Faloutsos 2002 fit such cascades to
traces with biases of .6 to .8). An adaptive tree gains from unevenness, so this does not flatter it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from discreet.arrays import Codes, Floats
from discreet.families.halfspaces.estimate.grid import CANONICAL, UNEVENNESS
from discreet.families.halfspaces.estimate.prior import random_halfspaces
from discreet.families.halfspaces.estimate.tree import TreeCells
from discreet.families.ranges.estimate.tree_layers import Layer, PrunedTree, laplace_variance
from discreet.families.shared.estimate.public_random import generator
from discreet.queries.tree import Tree
from discreet.questions.cells.ordered_pieces import extents
from discreet.schema import OrderedColumn, Schema

BIAS = 0.8
MOST_NODES = 1 << 14
"""A level that would have more is not gone into: errors below are smaller than what is foreseen."""


@dataclass(frozen=True, slots=True, eq=False)
class Foreseen:
    """What is foreseen of each canonical halfspace: the noise's deviation, and the rows in leaves that it cuts."""

    deviation: Floats
    cut: Floats
    leaves: int

    @property
    def expected(self) -> float:
        """The mean absolute error, in rows."""
        noise = math.sqrt(2 / math.pi) * self.deviation
        return float(np.mean(noise + UNEVENNESS * self.cut))


def foreseen(
    tree: Tree,
    schema: Schema,
    *,
    shares: Sequence[float],
    path: float,
    thresholds: Sequence[float],
    rows: float,
) -> Foreseen:
    """The adaptive tree on the cascade, without noise: what stops, and how precise the rest is."""
    layers = _layers(tree, schema, shares, path, thresholds, rows)
    pruned = PrunedTree(layers, columns=tree.columns, schema=schema)
    columns = [schema.column(name) for name in tree.columns]
    sides = [extents(each) for each in columns if isinstance(each, OrderedColumn)]
    cells = TreeCells(pruned, pruned.leaves([layer.values for layer in layers]), sides)
    low = np.array([each[0][0] for each in sides])
    high = np.array([each[1][-1] for each in sides])
    normals, bounds = random_halfspaces(low, high, CANONICAL, seed=0)
    found = cells(normals, bounds)
    return Foreseen(
        deviation=(found.inner_std + found.outer_std) / 2,
        cut=np.maximum(found.outer - found.inner, 0.0),
        leaves=cells.leaves,
    )


def _layers(
    tree: Tree,
    schema: Schema,
    shares: Sequence[float],
    path: float,
    thresholds: Sequence[float],
    rows: float,
) -> list[Layer]:
    layers: list[Layer] = []
    nodes, counts, left = tree.root(), np.array([float(rows)]), path
    last = len(tree.depths) - 1
    for level, share in enumerate(shares):
        if level:
            nodes, counts = _halved(tree, nodes, counts, level, schema)
        if share == 0 and level:
            continue
        ends = level == last or len(nodes) > MOST_NODES
        stopped = np.full(len(nodes), ends) if level else np.full(1, last == 0)
        if level and not ends:
            stopped = counts < thresholds[level]
        precision = np.where(
            stopped,
            1 / laplace_variance(left),
            1 / laplace_variance(share * path) if share else 0.0,
        )
        layers.append(Layer(tree.depths[level], nodes, counts, precision, stopped))
        left -= share * path
        nodes, counts = nodes[~stopped], counts[~stopped]
        if not len(nodes):
            break
    return layers


def _halved(
    tree: Tree,
    nodes: Codes,
    counts: Floats,
    level: int,
    schema: Schema,
) -> tuple[Codes, Floats]:
    """The children of a level's nodes, each with its part of the cascade."""
    below = tree.children(nodes, level - 1, schema)
    extra = [a - b for a, b in zip(tree.depths[level], tree.depths[level - 1], strict=True)]
    changed = np.zeros(len(below), dtype=np.bool_)
    for axis, more in enumerate(extra):
        prefix = below[:, axis] >> np.uint64(more)
        changed[1:] |= prefix[1:] != prefix[:-1]
    parent = np.cumsum(changed)
    draw = generator(level)
    weight = np.ones(len(below))
    for axis, more in enumerate(extra):
        for bit in range(more):
            side = (below[:, axis] >> np.uint64(bit)) & np.uint64(1)
            heavy = draw.integers(0, 2, len(nodes))[parent]
            weight *= np.where(side == heavy, BIAS, 1 - BIAS)
    total = np.bincount(parent, weight, len(nodes))
    return below, counts[parent] * weight / total[parent]
