"""Boxes of several columns on a pruned tree: estimate and exact variance, many boxes at once.

All boxes go down the tree together, one halving at a time. A node inside its box, or a leaf that the
box cuts, goes no further; the coefficients then go up again, and with them the variance. The work is
the number of nodes on the boxes' surfaces, never the number of cells in them.

May import errors, privacy, schema, queries, artifacts.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from discreet.inference.tree_intervals import RangeEstimates
from discreet.inference.tree_nodes import NONE, TreeNodes

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
Codes = npt.NDArray[np.uint64]

BATCH = 2048
"""Boxes that go down together; their nodes then stay in a processor's cache."""


@dataclass(slots=True, eq=False)
class _Front:
    """Pairs of a box and a node of one depth that touch; the node is not inside the box."""

    box: Integers
    node: Integers
    sides: Integers
    """Which of the node's faces the box leaves out: a bit each, two a column."""


@dataclass(slots=True, eq=False)
class _Step:
    """One halving: which pairs were halved, and where their halves went. NONE: outside the box."""

    halved: Integers
    node: Integers
    left: Integers
    right: Integers


class BoxIndex:
    """Answers boxes of cell numbers, one row of first and one of last cells a box."""

    def __init__(self, nodes: TreeNodes) -> None:
        self._nodes = nodes

    def inside(self, first: Codes, last: Codes) -> RangeEstimates:
        """Rows in the cells first..last of every column, both included, where first <= last."""
        parts = [
            self._batch(first[at : at + BATCH], last[at : at + BATCH])
            for at in range(0, max(len(first), 1), BATCH)
        ]
        return RangeEstimates(
            *(
                np.concatenate([getattr(part, name) for part in parts])
                for name in ("estimate", "inner", "outer", "inner_std", "outer_std")
            )
        )

    def _batch(self, first: Codes, last: Codes) -> RangeEstimates:
        nodes, many = self._nodes, len(first)
        estimate, inner, outer = np.zeros(many), np.zeros(many), np.zeros(many)
        sides = np.zeros(many, dtype=np.int64)
        for axis in range(first.shape[1]):
            sides |= (first[:, axis] > 0).astype(np.int64) << (2 * axis)
            sides |= (last[:, axis] < nodes.last[axis]).astype(np.int64) << (2 * axis + 1)
        front = _Front(np.arange(many), np.zeros(many, dtype=np.int64), sides)
        fronts: list[tuple[Bools, int]] = []
        steps: list[_Step] = []
        for depth in range(len(nodes.axes) + 1):
            whole = front.sides == 0
            cut = ~whole & nodes.is_leaf[front.node]
            box, node = front.box[whole], front.node[whole]
            inner += np.bincount(box, nodes.count[node], many)
            outer += np.bincount(box, nodes.count[node], many)
            estimate += np.bincount(box, nodes.estimate[node], many)
            if cut.any():
                box, node = front.box[cut], front.node[cut]
                outer += np.bincount(box, nodes.count[node], many)
                share = self._overlap(first[box], last[box], node)
                estimate += np.bincount(box, share * nodes.estimate[node], many)
            fronts.append((whole, len(cut)))
            halved = np.flatnonzero(~whole & ~cut)
            if not len(halved):
                steps.append(_Step(halved, halved, halved, halved))
                break
            step, front = self._halve(front, halved, nodes.axes[depth], first, last)
            steps.append(step)
        inner_std, outer_std = self._upward(fronts, steps)
        return RangeEstimates(estimate, inner, outer, inner_std, outer_std)

    def _halve(
        self, front: _Front, halved: Integers, axis: int, first: Codes, last: Codes
    ) -> tuple[_Step, _Front]:
        nodes = self._nodes
        box, node, sides = front.box[halved], front.node[halved], front.sides[halved]
        left, right = nodes.left[node], nodes.right[node]
        low, high = first[:, axis][box], last[:, axis][box]
        middle = nodes.high[:, axis][left]  # a node that is halved always has a left half
        into_left = low <= middle
        into_right = (high > middle) & (right != NONE)
        below, above = 1 << (2 * axis), 1 << (2 * axis + 1)
        left_sides = np.where(high >= middle, sides & ~above, sides | above)
        right_sides = np.where(low <= middle + np.uint64(1), sides & ~below, sides | below)
        count = int(into_left.sum())
        left_place = np.where(into_left, np.cumsum(into_left) - 1, NONE)
        right_place = np.where(into_right, count + np.cumsum(into_right) - 1, NONE)
        below_front = _Front(
            np.concatenate([box[into_left], box[into_right]]),
            np.concatenate([left[into_left], right[into_right]]),
            np.concatenate([left_sides[into_left], right_sides[into_right]]),
        )
        return _Step(halved, node, left_place, right_place), below_front

    def _overlap(self, first: Codes, last: Codes, node: Integers) -> Floats:
        """The share of each leaf's cells that lie in its box."""
        low, high = self._nodes.low[node], self._nodes.high[node]
        covered = np.minimum(high, last) - np.maximum(low, first)
        size = (high - low).astype(np.float64) + 1.0
        return np.asarray(np.prod((covered.astype(np.float64) + 1.0) / size, axis=1))

    def _upward(self, fronts: list[tuple[Bools, int]], steps: list[_Step]) -> tuple[Floats, Floats]:
        """Coefficient and variance of every pair, from the deepest up; from inside and from outside."""
        nodes = self._nodes
        found: list[Floats] = []
        for place in range(len(steps) - 1, -1, -1):
            (whole, size), step = fronts[place], steps[place]
            # Rows: coefficient and variance inside, then outside. A cut leaf counts outside only.
            now = np.zeros((4, size + 1))
            now[0, :-1], now[2, :-1] = whole, 1.0
            if len(step.halved):
                below = found[-1]
                left, right = below[:, step.left], below[:, step.right]
                share, split = nodes.share[step.node], nodes.split[step.node]
                for side in (0, 2):
                    now[side, step.halved] = share * left[side] + (1 - share) * right[side]
                    now[side + 1, step.halved] = (
                        left[side + 1] + right[side + 1] + (left[side] - right[side]) ** 2 * split
                    )
            now[:, -1] = 0.0  # what NONE points at
            found.append(now)
        top = found[-1][:, :-1]
        variance = top[1::2] + top[0::2] ** 2 * nodes.root_variance
        return np.sqrt(variance[0]), np.sqrt(variance[1])
