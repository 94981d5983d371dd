"""Boxes of several columns on a pruned tree: estimate and exact variance, many boxes at once.

All boxes go down the tree together, one halving at a time. A half outside its box counts for nothing,
one inside it counts whole, a leaf that the box cuts counts from outside only; all others are halved
again. The coefficients then go up, and with them the variance. The work is the number of nodes on the
boxes' surfaces, never the number of cells in them.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from discreet.arrays import Bools, Codes, Floats, Integers
from discreet.families.ranges.estimate.tree_intervals import RangeEstimates
from discreet.families.ranges.estimate.tree_nodes import NONE, TreeNodes, added

BATCH = 1024
"""Boxes that go down together; their nodes then stay in a processor's cache."""
OUTSIDE, WHOLE, CUT = 0, 1, 2
"""Places of the halves that are not halved again, before those that are."""
ENDINGS = np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 0.0], [0.0, 1.0, 1.0], [0.0, 0.0, 0.0]])
"""Coefficient and variance of these three, from inside and then from outside."""


@dataclass(slots=True, eq=False)
class _Front:
    """Pairs of a box and a node of one depth that is to be halved."""

    box: Integers
    node: Integers
    sides: Integers
    """Which of the node's faces the box leaves out: a bit each, two a column."""


@dataclass(frozen=True, slots=True, eq=False)
class _Step:
    """The nodes that were halved, and the places of their halves one depth below."""

    node: Integers
    left: Integers
    right: Integers


@dataclass(slots=True, eq=False)
class _Found:
    """Nodes that count whole, and leaves that are cut, with their boxes."""

    whole: list[tuple[Integers, Integers]] = field(default_factory=list)
    cut: list[tuple[Integers, Integers]] = field(default_factory=list)


class BoxIndex:
    """Answers boxes of cell numbers, one row of first and one of last cells a box."""

    def __init__(self, nodes: TreeNodes) -> None:
        self._nodes = nodes
        self._middle = nodes.high[nodes.left].T.copy()  # by column; unused where there is no half

    def inside(self, first: Codes, last: Codes) -> RangeEstimates:
        """Rows in the cells first..last of every column, both included, where first <= last."""
        return RangeEstimates.joined(
            [
                self._batch(first[at : at + BATCH], last[at : at + BATCH])
                for at in range(0, max(len(first), 1), BATCH)
            ]
        )

    def _batch(self, first: Codes, last: Codes) -> RangeEstimates:
        nodes, many = self._nodes, len(first)
        lows, highs = first.T.copy(), last.T.copy()
        sides = np.zeros(many, dtype=np.int64)
        for axis in range(len(lows)):
            sides |= (lows[axis] > 0).astype(np.int64) << (2 * axis)
            sides |= (highs[axis] < nodes.last[axis]).astype(np.int64) << (2 * axis + 1)
        found = _Found()
        # The root stands for a half of its own: its place says how it counts.
        every = np.arange(many, dtype=np.int64)
        roots = np.zeros(many, dtype=np.int64)
        place, front = self._sorted(every, roots, sides, np.ones(many, np.bool_), 0, found)
        steps: list[_Step] = []
        for axis in nodes.axes:
            if not len(front.node):
                break
            step, front = self._halve(front, axis, lows[axis], highs[axis], found)
            steps.append(step)
        variances = self._upward(place, steps)
        if nodes.weighted is not None:
            variances = variances - self._pulled(found, many) ** 2
        estimate, inner, outer = self._counted(found, first, last, many)
        return RangeEstimates(estimate, inner, outer, *np.sqrt(np.maximum(variances, 0.0)))

    def _halve(
        self, front: _Front, axis: int, low: Codes, high: Codes, found: _Found
    ) -> tuple[_Step, _Front]:
        nodes = self._nodes
        box, node, sides = front.box, front.node, front.sides
        right = nodes.right[node]
        middle = self._middle[axis][node]
        low, high = low[box], high[box]
        below, above = 1 << (2 * axis), 1 << (2 * axis + 1)
        left_sides = np.where(high >= middle, sides & ~above, sides | above)
        right_sides = np.where(low <= middle + np.uint64(1), sides & ~below, sides | below)
        into_right = (high > middle) & (right != NONE)
        left_place, left = self._sorted(box, nodes.left[node], left_sides, low <= middle, 0, found)
        right_place, other = self._sorted(
            box, right, right_sides, into_right, len(left.node), found
        )
        joined = _Front(
            np.concatenate([left.box, other.box]),
            np.concatenate([left.node, other.node]),
            np.concatenate([left.sides, other.sides]),
        )
        return _Step(node, left_place, right_place), joined

    def _sorted(
        self,
        box: Integers,
        node: Integers,
        sides: Integers,
        touches: Bools,
        before: int,
        found: _Found,
    ) -> tuple[Integers, _Front]:
        """How each node counts for its box, as a place; those to be halved come out as a front."""
        whole = touches & (sides == 0)
        partly = touches & (sides != 0)
        leaf = self._nodes.is_leaf[node]
        cut = partly & leaf
        halved = np.flatnonzero(partly & ~leaf)
        place = whole.astype(np.int64)  # WHOLE, or OUTSIDE
        place[cut] = CUT
        place[halved] = np.arange(len(halved)) + (before + len(ENDINGS[0]))
        found.whole.append((box[whole], node[whole]))
        found.cut.append((box[cut], node[cut]))
        return place, _Front(box[halved], node[halved], sides[halved])

    def _counted(
        self, found: _Found, first: Codes, last: Codes, many: int
    ) -> tuple[Floats, Floats, Floats]:
        nodes = self._nodes
        box, node = (np.concatenate(each) for each in zip(*found.whole, strict=True))
        inner = added(box, nodes.count[node], many)
        estimate = added(box, nodes.estimate[node], many)
        box, node = (np.concatenate(each) for each in zip(*found.cut, strict=True))
        if not len(box):
            return estimate, inner, inner.copy()
        share = self._overlap(first[box], last[box], node)
        estimate = estimate + added(box, share * nodes.estimate[node], many)
        return estimate, inner, inner + added(box, nodes.count[node], many)

    def _pulled(self, found: _Found, many: int) -> Floats:
        """What a weighted root pulls the nodes inside each box by, and those that it touches."""
        parts = []
        for pairs in (found.whole, found.cut):
            box, node = (np.concatenate(each) for each in zip(*pairs, strict=True))
            parts.append(added(box, self._nodes.pull[node], many))
        return np.cumsum(parts, axis=0)

    def _overlap(self, first: Codes, last: Codes, node: Integers) -> Floats:
        """The share of each leaf's cells that lie in its box."""
        low, high = self._nodes.low[node], self._nodes.high[node]
        covered = np.minimum(high, last) - np.maximum(low, first)
        size = (high - low).astype(np.float64) + 1.0
        return np.asarray(np.prod((covered.astype(np.float64) + 1.0) / size, axis=1))

    def _upward(self, roots: Integers, steps: list[_Step]) -> Floats:
        """The variance of every box, from inside and from outside: coefficients and variances of pairs, from the deepest up."""
        nodes = self._nodes
        below = ENDINGS
        for step in reversed(steps):
            now = np.empty((4, len(step.node) + ENDINGS.shape[1]))
            now[:, : ENDINGS.shape[1]] = ENDINGS
            share, split = nodes.share[step.node], nodes.split[step.node]
            for side in (0, 2):
                left, right = below[side][step.left], below[side][step.right]
                difference = left - right
                now[side, 3:] = right + share * difference
                now[side + 1, 3:] = (
                    below[side + 1][step.left]
                    + below[side + 1][step.right]
                    + difference * difference * split
                )
            below = now
        top = below[:, roots]
        return np.asarray(top[1::2] + top[0::2] ** 2 * nodes.root_variance)
