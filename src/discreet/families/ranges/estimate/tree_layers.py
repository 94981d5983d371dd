"""Least squares on a pruned tree of noisy counts, exactly, touching only the nodes that were measured.

Between two measured levels a node's children form one dense block of 2, 4, ... 32 places, halved
column by column; places beyond the last cell hold nothing, exactly. With variances known, two
passes give the generalised least squares estimate of every node (Hay et al. 2010, with unequal
variances as in Qardaji et al. 2013): upwards, the best estimate of each node from its own subtree;
downwards, what the rest of the tree adds to it. Given its parent, a left half is then the parent's
count times `share` plus independent noise of variance `split`: the whole covariance, in two numbers
a node.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

import numpy as np

from discreet.arrays import Bools, Floats, Integers
from discreet.artifacts.measurement import TreeLevel, TreeMeasurement
from discreet.families.ranges.estimate.weighted_root import Paths, WeightedRoot, halves_of
from discreet.privacy.laws import DiscreteLaplaceLaw
from discreet.queries.tree import Nodes, Tree, bits_of, halvings
from discreet.schema import Schema

LEAST_VARIANCE = 1e-30
"""Below this a variance counts as this: its inverse is still a number that adds."""


@dataclass(frozen=True, slots=True, eq=False)
class Layer:
    """One level: noisy counts of its nodes, and which of them are leaves of the pruned tree."""

    depth: tuple[int, ...]
    nodes: Nodes
    values: Floats
    precision: Floats
    """1 / variance of each value; 0 where the node was not measured."""
    stopped: Bools
    weighted: WeightedRoot | None = None
    """What a root of weights says; the layer itself is then one that was not measured."""

    @property
    def alive(self) -> Integers:
        return np.flatnonzero(~self.stopped)


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """The children of a layer's live nodes: one row a parent, 2^halvings places."""

    axes: tuple[int, ...]
    """Which column each halving splits, the first halving first."""
    place: Integers | slice
    """The place of each child in the flat block, in the next layer's order; of a full block, all of it."""
    shape: tuple[int, int]
    cells: tuple[Floats, ...]
    """How many cells of the domain lie in each part: after 0, 1, ... all halvings."""

    def spread(self, numbers: Floats) -> Floats:
        """The children's numbers in their places; 0 in places beyond the domain."""
        if isinstance(self.place, slice):
            return numbers.reshape(self.shape)
        dense = np.zeros(self.shape[0] * self.shape[1])
        dense[self.place] = numbers
        return dense.reshape(self.shape)

    def gathered(self, dense: Floats) -> Floats:
        """The inverse of `spread`."""
        return np.asarray(dense.reshape(-1)[self.place])

    def even(self, level: int) -> Floats:
        """The part of the cells of each part that its left half holds, after so many halvings."""
        cells = self.cells[level + 1]
        left, right = cells[:, 0::2], cells[:, 1::2]
        if not any(cells.strides):  # all alike
            return np.broadcast_to(np.float64(0.5), left.shape)
        return np.asarray(left / np.maximum(left + right, 1.0))

    def parents(self, children: Integers) -> Integers:
        """The rows of this block that some children, given by their place in their layer, lie in."""
        places = children if isinstance(self.place, slice) else self.place[children]
        return np.unique(places // self.shape[1])


@dataclass(slots=True, eq=False)
class Upward:
    """Each node's best estimate from its own subtree, and its variance."""

    value: list[Floats] = field(default_factory=list)
    variance: list[Floats] = field(default_factory=list)
    inner_value: list[list[Floats]] = field(default_factory=list)
    """The parts of each block after 1, 2, ... all halvings."""
    inner_variance: list[list[Floats]] = field(default_factory=list)


@dataclass(slots=True, eq=False)
class Fitted:
    """The least squares estimate of every node, with its variance and how its halves share it."""

    value: list[Floats]
    variance: list[Floats]
    inner_value: list[list[Floats]]
    inner_variance: list[list[Floats]]
    share: list[list[Floats]]
    """The left half's share of a change, for each block's parts after 0, 1, ... halvings."""
    split: list[list[Floats]]
    """The variance of the left half, given the part that it is half of."""
    pull: list[Floats]
    """How far a weighted root moves each node, in its deviations; the variances are those without it. Without one, 0."""


class PrunedTree:
    """Layers from the root down, and the blocks between them."""

    def __init__(self, layers: Sequence[Layer], *, columns: Sequence[str], schema: Schema) -> None:
        self.layers = tuple(layers)
        self.bits = tuple(bits_of(schema.column(name).value_cells) for name in columns)
        self._last = tuple(schema.column(name).value_cells - 1 for name in columns)
        self.blocks = tuple(
            self._block(upper, lower)
            for upper, lower in zip(self.layers[:-1], self.layers[1:], strict=True)
        )

    def cells(self, layer: Layer) -> Floats:
        """How many cells of the domain each node of a layer holds."""
        shifts = [bits - deep for bits, deep in zip(self.bits, layer.depth, strict=True)]
        if all(
            (last + 1) % (1 << shift) == 0 for last, shift in zip(self._last, shifts, strict=True)
        ):
            return np.broadcast_to(np.float64(2.0 ** sum(shifts)), len(layer.nodes))
        size = np.ones(len(layer.nodes))
        for axis, (shift, last) in enumerate(zip(shifts, self._last, strict=True)):
            edge = last >> shift
            width = np.full(len(layer.nodes), 2.0**shift)
            width[layer.nodes[:, axis] == edge] = float(last - (edge << shift) + 1)
            size *= width
        return size

    def _block(self, upper: Layer, lower: Layer) -> Block:
        extra = [low - high for high, low in zip(upper.depth, lower.depth, strict=True)]
        axes = halvings(extra)
        fan = 1 << len(axes)
        shape = (len(upper.alive), fan)
        first = lower.nodes[:, 0]
        if len(extra) == 1 and len(first) == shape[0] * fan and np.all(first[1:] > first[:-1]):
            block = Block(axes, slice(None), shape, ())  # no parent lacks a child
        else:
            block = Block(axes, _places(lower.nodes, extra, axes), shape, ())
        parts = [block.spread(self.cells(lower))]
        for _ in axes:
            parts.append(_joined(parts[-1]))
        return replace(block, cells=tuple(reversed(parts)))

    def upward(self, layers: Sequence[Layer] | None = None) -> Upward:
        """Bottom-up: each node's count from its subtree alone; of `layers`, if not its own, with its nodes.

        A weighted root moves the nodes of the first level, and those above them are halved as `halves_of` says.
        """
        found = self._upward(self.layers if layers is None else layers)
        root = self.layers[0].weighted
        if root is not None and len(self.layers) > 1:
            block, value, variance = self.blocks[0], found.value[1], found.variance[1]
            moved = value + root.pull(variance) * root.surplus(value, variance)
            places = [block.spread(each)[0] for each in (moved, variance, root.weights)]
            halves = halves_of(places, root.total(variance), len(block.axes))
            found.inner_value[0], found.inner_variance[0] = halves.value, halves.variance
            found.value[0], found.variance[0] = halves.root, halves.root_variance
        return found

    def _upward(self, layers: Sequence[Layer]) -> Upward:
        found = Upward()
        for place in range(len(self.layers) - 1, -1, -1):
            layer = layers[place]
            value, variance = layer.values, np.zeros(len(layer.values))
            np.divide(1, layer.precision, out=variance, where=layer.precision > 0)
            alive = layer.alive
            if len(alive):
                value = value.copy()
                inner = self._halves(place, found)
                below, spread = inner[0][0][:, 0], inner[1][0][:, 0]
                own = layer.precision[alive]
                precision = own + 1 / spread
                value[alive] = (own * layer.values[alive] + below / spread) / precision
                variance[alive] = 1 / precision
                found.inner_value.insert(0, inner[0][1:])
                found.inner_variance.insert(0, inner[1][1:])
            found.value.insert(0, value)
            found.variance.insert(0, variance)
        return found

    def _halves(self, place: int, found: Upward) -> tuple[list[Floats], list[Floats]]:
        block = self.blocks[place]
        values = [block.spread(found.value[0])]
        variances = [block.spread(found.variance[0])]
        for _ in block.axes:
            values.insert(0, values[0][:, 0::2] + values[0][:, 1::2])
            variances.insert(0, variances[0][:, 0::2] + variances[0][:, 1::2])
        return values, variances

    def fitted(self, upward: Upward | None = None) -> Fitted:
        """Top-down: generalised least squares of every node, with its variance."""
        up = self._upward(self.layers) if upward is None else upward
        value, variance = [up.value[0]], [up.variance[0]]
        made = Fitted(value, variance, [], [], [], [], [np.zeros(1)])
        root = self.layers[0].weighted
        for place, block in enumerate(self.blocks):
            alive = self.layers[place].alive
            top, spread = value[-1][alive][:, np.newaxis], variance[-1][alive][:, np.newaxis]
            pull = made.pull[-1][alive][:, np.newaxis]
            values: list[Floats] = []
            variances: list[Floats] = []
            shares: list[Floats] = []
            splits: list[Floats] = []
            for level in range(len(block.axes)):
                estimate = up.inner_value[place][level]
                noise = up.inner_variance[place][level]
                left, right = noise[:, 0::2], noise[:, 1::2]
                both = left + right
                share = np.divide(left, both, out=np.ones_like(both), where=both > 0)
                split = share * right
                change = top - estimate[:, 0::2] - estimate[:, 1::2]
                top = _interleaved(
                    estimate[:, 0::2] + share * change,
                    estimate[:, 1::2] + (1 - share) * change,
                )
                spread = _interleaved(split + share**2 * spread, split + (1 - share) ** 2 * spread)
                pull = _interleaved(share * pull, (1 - share) * pull)
                values.append(top)
                variances.append(spread)
                shares.append(share)
                splits.append(split)
            value.append(block.gathered(top))
            variance.append(block.gathered(spread))
            made.pull.append(block.gathered(pull))
            if root is not None and place == 0:
                made.pull[1] = root.pull(variance[1])
                made.pull[0] = np.array([made.pull[1].sum()])
                surplus = root.surplus(value[1], variance[1])
                value[0], value[1] = (
                    each + surplus * own for each, own in zip(value, made.pull, strict=True)
                )
            made.inner_value.append(values)
            made.inner_variance.append(variances)
            made.share.append(shares)
            made.split.append(splits)
        return made

    def leaves(self, numbers: Sequence[Floats]) -> Floats:
        """The leaves' numbers among those of each layer, one layer after the other."""
        return np.concatenate(
            [each[layer.stopped] for each, layer in zip(numbers, self.layers, strict=True)]
        )


def _places(nodes: Nodes, extra: Sequence[int], axes: Sequence[int]) -> Integers:
    """Where children stand in the flat block of their parents."""
    place = np.zeros(len(nodes), dtype=np.int64)
    if not len(nodes):
        return place
    # Children of one parent stand together, in the order of their parents.
    changed = np.zeros(len(nodes), dtype=np.bool_)
    for axis, more in enumerate(extra):
        prefix = nodes[:, axis] >> np.uint64(more)
        changed[1:] |= prefix[1:] != prefix[:-1]
    taken = [0] * len(extra)
    for axis in axes:
        taken[axis] += 1
        shift = np.uint64(extra[axis] - taken[axis])
        bit = (nodes[:, axis] >> shift) & np.uint64(1)
        place = 2 * place + bit.astype(np.int64)
    place += np.cumsum(changed) << len(axes)
    return place


def _joined(cells: Floats) -> Floats:
    """The cells of each two halves together; where all are alike they are still held as one number."""
    if not any(cells.strides):
        return np.broadcast_to(2 * cells[:1, :1], (len(cells), cells.shape[1] // 2))
    return np.asarray(cells[:, 0::2] + cells[:, 1::2])


def _interleaved(left: Floats, right: Floats) -> Floats:
    both = np.empty((left.shape[0], 2 * left.shape[1]))
    both[:, 0::2], both[:, 1::2] = left, right
    return both


def layers_of(measured: TreeMeasurement) -> list[Layer]:
    """The published levels of a refined tree; a root that was not measured has no precision."""
    paths = Paths.of(measured.tree, measured.weights, measured.levels)
    return [
        *_unmeasured_root(measured.tree, measured.levels),
        *(_layer(measured.tree, level, paths, measured.levels) for level in measured.levels),
    ]


def full_layers(
    tree: Tree, measured: Mapping[int, tuple[Integers, float]], schema: Schema
) -> list[Layer]:
    """A tree of which whole levels were measured: by level, its counts and their variance."""
    layers: list[Layer] = []
    nodes = tree.root()
    last = len(tree.depths) - 1
    for level in range(len(tree.depths)):
        if level:
            nodes = tree.children(nodes, level - 1, schema)
        if level in measured or level == 0:
            values, variance = measured.get(level, (np.zeros(len(nodes)), np.inf))
            layers.append(
                Layer(
                    tree.depths[level],
                    nodes,
                    _in_order(nodes, tree, level, schema, values.astype(np.float64)),
                    np.full(len(nodes), 1 / max(variance, LEAST_VARIANCE)),
                    np.full(len(nodes), level == last),
                )
            )
    return layers


def _in_order(nodes: Nodes, tree: Tree, level: int, schema: Schema, flat: Floats) -> Floats:
    """Counts in the order of their blocks, to the order in which a tree lists its nodes."""
    sizes = [
        ((schema.column(name).value_cells - 1) >> shift) + 1
        for name, shift in zip(tree.columns, tree.shifts(level), strict=True)
    ]
    place = np.zeros(len(nodes), dtype=np.int64)
    for axis, size in enumerate(sizes):
        place = place * size + nodes[:, axis].astype(np.int64)
    return flat[place]


def _unmeasured_root(tree: Tree, levels: Sequence[TreeLevel]) -> list[Layer]:
    if levels and levels[0].level == 0:
        return []
    nothing = np.zeros(1)
    return [Layer(tree.depths[0], tree.root(), nothing, nothing, np.zeros(1, dtype=np.bool_))]


def _layer(
    tree: Tree, level: TreeLevel, paths: Paths | None = None, levels: Sequence[TreeLevel] = ()
) -> Layer:
    """What was kept of a level: its final numbers, each with the noise it was drawn with."""
    if paths is not None and level.level == 0:
        return _weighted_root(paths, level, [each.nodes for each in levels if each.level == 1])
    stopped = _precisions(tree, level.level, level.nodes, level.stopped_epsilon, paths)
    if level.refined_epsilon:
        refined = _precisions(tree, level.level, level.nodes, level.refined_epsilon, paths)
        precision = np.where(level.stopped, stopped, refined)
    else:
        precision = stopped
    return Layer(
        tree.depths[level.level],
        level.nodes,
        level.values.astype(np.float64),
        precision,
        level.stopped,
    )


def shown_layers(
    tree: Tree, above: Sequence[TreeLevel], level: int, nodes: Nodes, first: Integers,
    first_epsilon: Fraction, weights: Sequence[int] = (),
) -> list[Layer]:  # fmt: skip
    """The tree as a stopping rule sees it: the levels above, and this level's first numbers."""
    paths = Paths.of(tree, weights, above)
    precision = np.array(_precisions(tree, level, nodes, first_epsilon, paths))
    ends = np.ones(len(nodes), dtype=np.bool_)
    shown = Layer(tree.depths[level], nodes, first.astype(np.float64), precision, ends)
    if not above and level == 0:
        return [shown]
    layers = [_layer(tree, each, paths, above) for each in above]
    if paths is not None and level == 1:
        layers[0] = _weighted_root(paths, above[0], [nodes])
    return [*_unmeasured_root(tree, above), *layers, shown]


def _weighted_root(paths: Paths, level: TreeLevel, below: Sequence[Nodes]) -> Layer:
    """A root that was not counted, with what it says of the nodes of the level below it."""
    nothing = np.zeros(1)
    variance = laplace_variance(float(level.refined_epsilon / int(paths.weights.max())))
    weighted = paths.root(level, below[0], variance) if below else None
    return Layer(paths.tree.depths[0], level.nodes, nothing, nothing, level.stopped, weighted)


def _precisions(
    tree: Tree, level: int, nodes: Nodes, epsilon: Fraction, paths: Paths | None
) -> Floats:
    """1 / variance of each node's number, when the heaviest path's is drawn with `epsilon`."""
    if paths is None:
        return np.broadcast_to(np.float64(1 / laplace_variance(float(epsilon))), len(nodes))
    parts, which = np.unique(paths.parts(tree.depths[level][0], nodes), return_inverse=True)
    return np.array([1 / laplace_variance(float(epsilon) * part) for part in parts])[which]


def laplace_variance(epsilon: float) -> float:
    """The variance of discrete Laplace noise with parameter epsilon: 2p / (1-p)^2 with p = exp(-epsilon)."""
    return max(DiscreteLaplaceLaw(scale=1 / Fraction(epsilon)).variance, LEAST_VARIANCE)
