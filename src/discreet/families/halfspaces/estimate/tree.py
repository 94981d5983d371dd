"""Halfspaces on a pruned tree: which leaves lie inside, which are cut, and the noise of their sums.

Many halfspaces go down the tree together. Children of a node that lie inside a halfspace count
whole, those outside not at all, leaves that it cuts count from outside only; other children are
looked into. So the work is the number of nodes along the plane, never the number of leaves.

The noise comes up again. Given the count of a node, the least squares counts of its children have the
covariance diag(v) - v v' / sum(v), where v are the variances of what each child's own subtree says.
A sum that takes the part u_i of child i is thus sum(v u) / sum(v) of the node's count, plus noise of
variance sum(v u^2) - sum(v u)^2 / sum(v) and what lies below.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from discreet.arrays import Bools, Floats, Integers
from discreet.errors import BadRelease
from discreet.families.halfspaces.estimate.cells import ROUNDING
from discreet.families.halfspaces.estimate.prior import uniform_share
from discreet.families.ranges.estimate.tree_intervals import RangeEstimates
from discreet.families.ranges.estimate.tree_layers import Block, Layer, PrunedTree
from discreet.families.ranges.estimate.tree_nodes import NONE, added

BATCH = 1024
"""Halfspaces that go down together; their nodes then stay in a processor's cache."""
MOST_EXACT = 3
"""Columns up to which a cut leaf's share is its exact volume."""
LOGISTIC = 1.702
"""A logistic curve this steep is within .01 of the normal law."""


@dataclass(frozen=True, slots=True, eq=False)
class _Family:
    """The children of a layer's live nodes: one row a parent, one place for each possible child."""

    low: tuple[Floats, ...]
    """By column: the first value of each child's side, one row a parent."""
    high: tuple[Floats, ...]
    count: Floats
    """Least squares; 0 in places beyond the domain."""
    variance: Floats
    """The variance of what the child's own subtree says."""
    estimate: Floats
    total: Floats
    """The variances of each row, added."""
    below: Integers
    """The child's place among the live nodes of the next layer, or NONE."""
    leaf: Integers
    """Its place among the leaves, or NONE."""


class TreeCells:
    """The leaves of a pruned tree as boxes, ready for any number of halfspaces."""

    def __init__(
        self,
        tree: PrunedTree,
        leaf_estimates: Floats,
        extents: Sequence[tuple[Floats, Floats]],
    ) -> None:
        self._extents = tuple(extents)
        self._edges = tuple(middle_edges(low, high) for low, high in extents)
        self._shifts = [
            tuple(bits - depth for bits, depth in zip(tree.bits, layer.depth, strict=True))
            for layer in tree.layers
        ]
        firsts = [_first_cells(*each) for each in zip(tree.layers, self._shifts, strict=True)]
        stopped = [layer.stopped for layer in tree.layers]
        self.leaves = int(sum(each.sum() for each in stopped))
        if leaf_estimates.shape != (self.leaves,):
            raise BadRelease("a tree's estimates do not have the shape of its leaves.")
        first = np.concatenate([each[ends] for each, ends in zip(firsts, stopped, strict=True)])
        size = np.concatenate(
            [
                np.broadcast_to(1 << np.array(shift, dtype=np.int64), (int(ends.sum()), len(shift)))
                for shift, ends in zip(self._shifts, stopped, strict=True)
            ]
        )
        self.first: Integers = first
        cells = np.array([len(low) for low, _ in extents], dtype=np.int64)
        self.last: Integers = np.minimum(first + size, cells) - 1
        self.estimate = leaf_estimates
        low, high = self.bounds()
        self._is_point: Bools = np.all(low == high, axis=1)
        self._low_edges, self._high_edges = self.edges()
        up = tree.upward()
        fitted = tree.fitted(up)
        self.root_variance = float(fitted.variance[0][0])
        self.families = self._families(tree, up.variance, fitted.value, firsts)

    def _families(
        self,
        tree: PrunedTree,
        variances: Sequence[Floats],
        values: Sequence[Floats],
        firsts: Sequence[Integers],
    ) -> list[_Family]:
        """From the deepest layer up: a live node's estimate is the sum of its children's."""
        starts = np.cumsum([0, *(int(layer.stopped.sum()) for layer in tree.layers)])
        families: list[_Family] = []
        sums: Floats = np.zeros(0)  # of the live nodes of the layer below
        for place in range(len(tree.blocks) - 1, -1, -1):
            block, lower = tree.blocks[place], tree.layers[place + 1]
            by_column = _by_column(block)

            def spread(
                numbers: Floats, block: Block = block, order: Integers = by_column
            ) -> Floats:
                return np.ascontiguousarray(block.spread(numbers)[:, order])

            ends = lower.stopped
            below = np.where(ends, NONE, np.cumsum(~ends) - 1)
            leaf = np.where(ends, np.cumsum(ends) - 1 + starts[place + 1], NONE)
            estimate = np.zeros(len(lower.nodes))
            estimate[ends] = self.estimate[starts[place + 1] : starts[place + 2]]
            estimate[~ends] = sums
            variance, dense = spread(variances[place + 1]), spread(estimate)
            low, high = self._sides(
                firsts[place][tree.layers[place].alive],
                [block.axes.count(axis) for axis in range(len(self._extents))],
                self._shifts[place + 1],
            )
            family = _Family(
                low=low,
                high=high,
                count=spread(values[place + 1]),
                variance=variance,
                estimate=dense,
                total=variance.sum(axis=1),
                below=spread(below - NONE).astype(np.int64) + NONE,
                leaf=spread(leaf - NONE).astype(np.int64) + NONE,
            )
            families.insert(0, family)
            sums = dense.sum(axis=1)
        return families

    def _sides(
        self, first: Integers, extra: Sequence[int], shift: Sequence[int]
    ) -> tuple[tuple[Floats, ...], tuple[Floats, ...]]:
        """By column, the values at which each child's side begins and ends."""
        lows, highs = [], []
        for axis, (low, high) in enumerate(self._extents):
            step = np.arange(1 << extra[axis], dtype=np.int64) << shift[axis]
            start = np.minimum(first[:, axis : axis + 1] + step, len(low) - 1)
            end = np.minimum(start + (1 << shift[axis]), len(low)) - 1
            lows.append(low[start])
            highs.append(high[end])
        return tuple(lows), tuple(highs)

    def bounds(self) -> tuple[Floats, Floats]:
        """The least and greatest value of each leaf in each column."""
        columns = range(len(self._extents))
        low = np.stack([self._extents[c][0][self.first[:, c]] for c in columns], axis=1)
        high = np.stack([self._extents[c][1][self.last[:, c]] for c in columns], axis=1)
        return low, high

    def own_counts(self) -> tuple[Floats, Floats]:
        """By least squares the rows of each leaf, and the variance of what was measured of it alone."""
        counts, variances = self.estimate.copy(), np.full(self.leaves, self.root_variance)
        for family in self.families:
            ends = family.leaf >= 0
            counts[family.leaf[ends]] = family.count[ends]
            variances[family.leaf[ends]] = family.variance[ends]
        return counts, variances

    def edges(self) -> tuple[Floats, Floats]:
        """The box over which each leaf's rows are spread: half-way to the cells beside it."""
        columns = range(len(self._extents))
        low = np.stack([self._edges[c][self.first[:, c]] for c in columns], axis=1)
        high = np.stack([self._edges[c][self.last[:, c] + 1] for c in columns], axis=1)
        return low, high

    def __call__(self, normals: Floats, bounds: Floats) -> RangeEstimates:
        """`normals . x >= bounds`; a leaf that rounding could misplace counts as cut."""
        reach = np.array([max(abs(low[0]), abs(high[-1])) for low, high in self._extents])
        slack = ROUNDING * (np.abs(normals) @ reach + np.abs(bounds))
        return RangeEstimates.joined(
            [
                self._batch(
                    normals[at : at + BATCH], bounds[at : at + BATCH], slack[at : at + BATCH]
                )
                for at in range(0, max(len(bounds), 1), BATCH)
            ]
        )

    def _batch(self, normals: Floats, bounds: Floats, slack: Floats) -> RangeEstimates:
        many = len(bounds)
        up, down = np.maximum(normals, 0.0), np.minimum(normals, 0.0)
        surely, perhaps = bounds + slack, bounds - slack
        asked = parent = np.arange(many, dtype=np.int64)
        node = np.zeros(many, dtype=np.int64)
        own = np.full(many, self.root_variance)
        estimate, inner, cut_off = np.zeros(many), np.zeros(many), np.zeros(many)
        steps: list[_Step] = []
        for family in self.families:
            if not len(node):
                break
            least, most = _ends(family, node, up[asked], down[asked])
            inside, touched = least >= surely[asked, None], most >= perhaps[asked, None]
            pair, place = np.nonzero(touched ^ inside)
            taken = inside.astype(np.float64)
            variance = family.variance[node]
            weight = np.einsum("pf,pf->p", taken, variance)
            estimate += added(asked, np.einsum("pf,pf->p", taken, family.estimate[node]), many)
            inner += added(asked, np.einsum("pf,pf->p", taken, family.count[node]), many)
            below = family.below[node[pair], place]
            ends = below == NONE
            cut, cut_place = pair[ends], place[ends]
            cut_node, cut_asked = node[cut], asked[cut]
            outer = weight + added(cut, variance[cut, cut_place], len(node))
            cut_off += added(cut_asked, family.count[cut_node, cut_place], many)
            share = self._share(
                family.leaf[cut_node, cut_place], normals[cut_asked], bounds[cut_asked]
            )
            estimate += added(cut_asked, share * family.estimate[cut_node, cut_place], many)
            steps.append(_Step(parent, own, np.stack([weight, outer]), family.total[node]))
            parent, place = pair[~ends], place[~ends]
            own = variance[parent, place]
            asked, node = asked[parent], below[~ends]
        inner_std, outer_std = self._upward(steps)
        return RangeEstimates(estimate, inner, inner + cut_off, inner_std, outer_std)

    def _share(self, leaf: Integers, normals: Floats, bounds: Floats) -> Floats:
        """The part of each cut leaf that lies inside, its rows spread evenly over its box.

        A leaf that is a point is cut by rounding only: it lies on the plane, and that is inside.
        """
        low, high = self._low_edges[leaf], self._high_edges[leaf]
        scaled = normals * (high - low)
        goal = bounds - (normals * low).sum(axis=1)
        columns = scaled.shape[1]
        if columns <= MOST_EXACT:
            share = uniform_share(scaled, goal, np.zeros(columns), np.ones(columns))
        else:  # a sum of so many even spreads is nearly normal
            spread = np.sqrt((scaled * scaled).sum(axis=1) / 12) + 1e-300
            distance = np.clip((scaled.sum(axis=1) / 2 - goal) / spread, -20.0, 20.0)
            share = 1 / (1 + np.exp(-LOGISTIC * distance))
        return np.where(self._is_point[leaf], 1.0, share)

    def _upward(self, steps: Sequence[_Step]) -> tuple[Floats, Floats]:
        """Standard deviations of the inner and the outer sum, from the deepest pairs up."""
        first = second = extra = np.zeros((2, 0))
        parent: Integers = np.zeros(0, dtype=np.int64)
        own: Floats = np.zeros(0)
        part = variance = first
        for step in reversed(steps):
            pairs = len(step.total)
            first, second, extra = step.weight.copy(), step.weight.copy(), np.zeros((2, pairs))
            if len(parent):
                for side in (0, 1):
                    first[side] += added(parent, own * part[side], pairs)
                    second[side] += added(parent, own * part[side] ** 2, pairs)
                    extra[side] += added(parent, variance[side], pairs)
            part = first / step.total
            variance = np.maximum(second - first * part, 0.0) + extra
            parent, own = step.parent, step.own
        found = np.sqrt(variance + part**2 * self.root_variance)
        return found[0], found[1]

    def masked(self, inner: Bools, outer: Bools) -> RangeEstimates:
        """Sums over chosen leaves, one row of each mask a question; the estimate is of the inner ones."""
        found = [self._masked(mask) for mask in (inner, outer)]
        return RangeEstimates(
            inner @ self.estimate, found[0][0], found[1][0], found[0][1], found[1][1]
        )

    def _masked(self, mask: Bools) -> tuple[Floats, Floats]:
        many = len(mask)
        sums = np.zeros(many)
        part: Floats = np.zeros((many, 0))
        variance: Floats = np.zeros((many, 0))
        for family in reversed(self.families):
            taken = np.where(family.leaf >= 0, mask[:, family.leaf], False).astype(np.float64)
            sums += np.einsum("qpf,pf->q", taken, family.count)
            extra = np.zeros(taken.shape)
            live = family.below >= 0
            if live.any():
                taken[:, live] = part[:, family.below[live]]
                extra[:, live] = variance[:, family.below[live]]
            first = np.einsum("qpf,pf->qp", taken, family.variance)
            second = np.einsum("qpf,qpf,pf->qp", taken, taken, family.variance)
            part = first / family.total
            variance = np.maximum(second - first * part, 0.0) + extra.sum(axis=2)
        return sums, np.sqrt(variance[:, 0] + part[:, 0] ** 2 * self.root_variance)


@dataclass(frozen=True, slots=True, eq=False)
class _Step:
    """Pairs of a halfspace and a live node that it cuts, and what of their children lies inside."""

    parent: Integers
    """The pair one layer above."""
    own: Floats
    """The variance of what the node's own subtree says."""
    weight: Floats
    """The variances of the children that count whole, added: from inside, then from outside."""
    total: Floats


def _ends(family: _Family, node: Integers, up: Floats, down: Floats) -> tuple[Floats, Floats]:
    """The least and greatest value of the forms over each child: columns apart, then added."""
    least: Floats = np.zeros((0, 0))
    most = least
    for axis, (lows, highs) in enumerate(zip(family.low, family.high, strict=True)):
        low, high = lows[node], highs[node]
        rise, fall = up[:, axis : axis + 1], down[:, axis : axis + 1]
        own = rise * low + fall * high, rise * high + fall * low
        if axis == 0:
            least, most = own
            continue
        least = (least[:, :, None] + own[0][:, None, :]).reshape(len(node), -1)
        most = (most[:, :, None] + own[1][:, None, :]).reshape(len(node), -1)
    return least, most


def _first_cells(layer: Layer, shift: Sequence[int]) -> Integers:
    """The first cell of each node, column by column."""
    return np.asarray(layer.nodes.astype(np.int64) << np.array(shift, dtype=np.int64))


def _by_column(block: Block) -> Integers:
    """The places of a block's children, those that differ in the last column only side by side.

    A block numbers them halving by halving; the sides of a child are told column by column.
    """
    order = np.argsort(block.axes, kind="stable")
    halves = (2,) * len(order)
    places = np.arange(block.shape[1], dtype=np.int64)
    return places.reshape(halves).transpose(order).reshape(-1) if halves else places


def middle_edges(low: Floats, high: Floats) -> Floats:
    """Half-way between neighbouring cells; a point at an end reaches as far out as in."""
    middle = (high[:-1] + low[1:]) / 2
    edges = np.concatenate([[low[0]], middle, [high[-1]]])
    if len(low) > 1:
        edges[0] -= (low[1] - high[0]) / 2
        edges[-1] += (low[-1] - high[-2]) / 2
    return edges
