"""A bound for all boxes at once, in the manner of `range_usefulness`, looser.

A box is the sum of the measured nodes inside it whose parents are not. At each level those have a parent
that one of the box's faces cuts, so there are at most as many as the cut parents have children, and no
more than the level has nodes. Given what decided the nodes of a level their noise is fresh, so over the
levels the logarithms of moment generating functions add (the error is a martingale with bounded steps in
that sense), and Chernoff's bound with the union bound over all boxes of the domain bounds their sum.

The published estimates differ from the measured numbers, node by node, by what is seen in the release;
for any box that adds to at most the largest sum, over the places of each face, of the differences below
the parents that it cuts. In two columns it is worked out for all boxes at once (`box_distances`). Rows in leaves that a face cuts count not at all or in full. Which of the cut
nodes are leaves was decided by their own noise, so what they hide is bounded for any choice among them:
by the sum of max(noise, 0), whose moment generating function is known. It goes with that of the box's own noise.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from discreet.arrays import Codes, Floats, Integers
from discreet.families.ranges.answer.levels import MeasuredLevel, measured_levels
from discreet.families.ranges.answer.ranges import RangeSource
from discreet.families.ranges.estimate.all_ranges import ROUNDING, reach
from discreet.families.ranges.estimate.tree_nodes import TreeNodes
from discreet.privacy.laws import NoiseLaw
from discreet.queries.tree import Nodes, bits_of

CHANCES = 3
"""Ways to fail: noise upward, noise downward, and noise downward with what cut leaves hide."""
FACES = 2
"""Faces of a box in each column."""
MOST_CORNERS = 1 << 29
"""Pairs of rows of corners, times the corners of a row, that all boxes are worked out from."""
CORNERS = 4
"""Parents that faces of both of two columns cut."""
THEOREM = (
    "Chernoff bounds of the noise of each level, the union bound over all boxes of the domain, and the "
    "distance of the published estimates from the measured numbers"
)


def box_bound(source: RangeSource, delta: float) -> float:
    """What no box's estimate is off by, with probability 1 - delta."""
    measured = measured_levels(source)
    nodes = source.nodes
    bits = measured.depths[-1]
    ids_of = {
        layer.depth: ids for layer, ids in zip(source.tree.layers, nodes.by_layer, strict=True)
    }
    log_boxes = sum(2 * math.log(source.schema.column(name).value_cells) for name in source.columns)
    risk = math.log(CHANCES / delta) + log_boxes
    draws = BoxDraws()
    apart = {"estimate": 0.0, "count": 0.0}
    steps: dict[str, list[Step]] = {name: [] for name in apart}
    cells = [source.schema.column(name).value_cells for name in source.columns]
    above: tuple[int, ...] = (0,) * len(bits)
    shown = np.zeros(len(nodes))
    for level in measured.levels:
        parents, place = _parents(level, above)
        many = min(len(level.nodes), round(_cut(parents, np.bincount(place))))
        if above == level.depth:
            many = 1  # the root, which no face cuts: the box is the whole
        # The sum of at most `many` draws, whichever they are: the widest ones.
        scale = float(level.scale.max(initial=0.0))
        draws.add(
            float(np.sort(level.variance)[::-1][:many].sum()),
            float(np.sort(level.slack)[::-1][:many].sum()),
            scale,
        )
        if level.depth != bits:
            # Noise decides which nodes of an adaptive tree are leaves, so each may be one.
            may_hide = np.ones(len(level.nodes)) if measured.is_adaptive else 1.0 * level.stopped
            draws.hide(min(float(may_hide.sum()), _cut(level.nodes, may_hide)), scale)
        ids = ids_of[level.depth]
        for name in apart:
            signed = getattr(nodes, name)[ids] - level.numbers
            steps[name].append(Step(level.depth, level.nodes, signed))
            off = np.abs(signed)
            if above == level.depth:
                apart[name] += float(off.max(initial=0.0))
                continue
            below = np.bincount(place, off)
            most = min(_cut(parents, below), float(off.sum()))
            if len(bits) == 2:
                corners = CORNERS * float(below.max(initial=0.0))
                most = min(most, corners + _strips(level, above, parents, place, signed))
            apart[name] += most
        shown[ids] = np.maximum(level.numbers, 0.0)
        above = level.depth
    for name in apart:
        exact = box_distances(cells, bits, steps[name]) if len(bits) == 2 else None
        if exact is not None:
            apart[name] = min(apart[name], exact)
    leaves = np.flatnonzero(nodes.is_leaf)
    bound = max(
        draws.reach(risk) + apart["count"],
        draws.reach(risk) + apart["estimate"] + _crossed(nodes, leaves, nodes.estimate[leaves]),
        draws.reach_and_hidden(risk) + apart["estimate"] + _crossed(nodes, leaves, shown[leaves]),
    )
    return min(bound, _all_rows(measured.levels[0], nodes, risk)) + ROUNDING


@dataclass(frozen=True, slots=True, eq=False)
class Step:
    """A level's nodes, and by how much the estimate of each differs from its measured number."""

    depth: tuple[int, ...]
    nodes: Nodes
    signed: Floats


def box_distances(cells: Sequence[int], bits: Sequence[int], steps: Sequence[Step]) -> float | None:
    """The largest distance of a box's estimate from its measured sum, over all boxes of two columns.

    The rows before a corner (x, y) are the measured nodes below and left of it whose parents are not. A box
    is a signed sum of its four corners. In it a node has the weight 1[u] - 1[p], where u says that the
    node's own upper corner lies in the box and p that its parent's does. So a node counts only if a face
    cuts its parent, once at most: the noise is bounded as for the nodes inside a box. The distances of all
    corners are one sum over the plane, and of all boxes the differences of its rows. None where that
    takes too long.
    """
    places, numbers = [], []
    above: tuple[int, ...] | None = None
    for step in steps:
        places.append(_upper_corners(step.nodes, step.depth, cells, bits))
        numbers.append(step.signed)
        if above is not None:
            down = np.array(step.depth, np.uint64) - np.array(above, np.uint64)
            places.append(_upper_corners(step.nodes >> down, above, cells, bits))
            numbers.append(-step.signed)
        above = step.depth
    corners, signed = np.concatenate(places), np.concatenate(numbers)
    axes = [np.unique(np.append(corners[:, axis], 0), return_inverse=True) for axis in range(2)]
    sizes = [len(values) for values, _ in axes]
    if sizes[0] * sizes[1] * min(sizes) > MOST_CORNERS:
        return None
    grid = np.zeros(sizes)
    np.add.at(grid, tuple(place.reshape(-1)[:-1] for _, place in axes), signed)
    sums = grid.cumsum(axis=0).cumsum(axis=1)
    if sizes[0] > sizes[1]:
        sums = sums.T
    largest = 0.0
    for first in range(len(sums)):
        between = sums[first:] - sums[first]
        largest = max(largest, float((between.max(axis=1) - between.min(axis=1)).max()))
    return largest


def _upper_corners(
    nodes: Nodes, depth: Sequence[int], cells: Sequence[int], bits: Sequence[int]
) -> Integers:
    """The cell after the last one of each node, in each column."""
    found = [
        np.minimum((nodes[:, axis].astype(np.int64) + 1) << (bits[axis] - depth[axis]), cells[axis])
        for axis in range(len(cells))
    ]
    return np.stack(found, axis=1)


class BoxDraws:
    """The draws that a box may add up, over all levels."""

    def __init__(self) -> None:
        self.variance = self.slack = self.scale = 0.0
        self._hidden: list[tuple[float, float]] = []

    def add(self, variance: float, slack: float, scale: float) -> None:
        self.variance += variance
        self.slack += slack
        self.scale = max(self.scale, scale)

    def reach(self, risk: float) -> float:
        """How far their sum goes, but for a chance of exp(-risk) a side."""
        far = reach(np.array([self.variance]), risk, np.array([self.scale]))
        return float(far[0]) + self.slack

    def hide(self, many: float, scale: float) -> None:
        """At one level, so many leaves may be cut, each with a draw of this scale on what it hides."""
        if many > 0 and scale > 0:
            self._hidden.append((many, scale))

    def reach_and_hidden(self, risk: float) -> float:
        """How far their sum and that of max(draw, 0) over all cut leaves go together.

        Nodes in a box and nodes that its faces cut are different ones, so the logarithms of moment generating
        functions add, and one risk does for all levels and for both.
        """
        if not self._hidden or self.scale == 0:
            return self.reach(risk)
        widest = max(self.scale, *(scale for _, scale in self._hidden))
        slopes = np.arange(1, 100) / 100 / widest
        inside = self.variance / (2 * widest**2) * -np.log1p(-((slopes * widest) ** 2))
        return (
            float(((inside + log_moments(self._hidden, slopes) + risk) / slopes).min()) + self.slack
        )


def box_noise_bound(
    cells: Sequence[int], levels: Sequence[tuple[tuple[int, ...], NoiseLaw]], delta: float
) -> float:
    """The part of `box_bound` that noise has where no node is stopped early: what a plan can know.

    `levels`: the depth of each measured level, from the top, and its noise.
    """
    risk = math.log(CHANCES / delta) + sum(2 * math.log(each) for each in cells)
    bits = [bits_of(each) for each in cells]
    draws = BoxDraws()
    above = (0,) * len(bits)
    for depth, law in levels:
        here, there = _sides(cells, bits, depth), _sides(cells, bits, above)
        fan = math.prod(1 << (low - high) for low, high in zip(depth, above, strict=True))
        cut = sum(FACES * fan * math.prod(there) // side for side in there)
        many = 1 if depth == above else min(math.prod(here), cut)
        around = law.envelope()
        draws.add(many * around.variance, many * around.slack, around.scale)
        above = depth
    return draws.reach(risk) + ROUNDING


def _sides(cells: Sequence[int], bits: Sequence[int], depth: Sequence[int]) -> list[int]:
    """Nodes along each column at a depth."""
    return [
        ((many - 1) >> (whole - here)) + 1
        for many, whole, here in zip(cells, bits, depth, strict=True)
    ]


def _all_rows(top: MeasuredLevel, nodes: TreeNodes, risk: float) -> float:
    """No more rows can be wrong than there are: estimated, fitted, or in truth by the top level's sum."""
    fitted = float(np.maximum(nodes.count[nodes.is_leaf], 0.0).sum())
    spread = np.array([top.variance.sum()]), risk, np.array([top.scale.max(initial=0.0)])
    truly = float(top.numbers.sum()) + float(reach(*spread)[0]) + float(top.slack.sum())
    return max(float(nodes.estimate[0]), fitted, truly)


def log_moments(hidden: Sequence[tuple[float, float]], slopes: Floats) -> Floats:
    """The logarithm of E exp(s X), of a sum X of max(draw, 0): so many discrete Laplace draws of each scale."""
    total = np.zeros(len(slopes))
    for many, scale in hidden:
        p, growth = math.exp(-1 / scale), np.exp(slopes - 1 / scale)
        total = total + many * np.log((1 + (1 - p) * growth / (1 - growth)) / (1 + p))
    return total


def _parents(level: MeasuredLevel, above: tuple[int, ...]) -> tuple[Nodes, Integers]:
    """The nodes of the measured level above, and which of them each node lies in."""
    shifts = np.array(
        [here - there for here, there in zip(level.depth, above, strict=True)], dtype=np.uint64
    )
    up = np.where(shifts < 64, level.nodes >> np.minimum(shifts, 63), 0).astype(np.uint64)
    parents, place = np.unique(up, axis=0, return_inverse=True)
    return parents, place.reshape(-1)


def _cut(nodes: Nodes, weights: npt.NDArray[np.generic]) -> float:
    """The largest weight of nodes of one depth that a box's faces can cut: at one place along each column."""
    total = 0.0
    for axis in range(nodes.shape[1]):
        _, place = np.unique(nodes[:, axis], return_inverse=True)
        total += FACES * float(np.bincount(place.reshape(-1), weights).max(initial=0.0))
    return total


def _strips(
    level: MeasuredLevel, above: tuple[int, ...], parents: Nodes, place: Integers, signed: Floats
) -> float:
    """The largest sum of numbers of nodes between a box's faces and the next parents inside, two columns.

    A face across one column, at some place in a row of parents, leaves in each the children before or
    after it; a box has a run of such parents. Two faces in one row leave the difference of two such sums.
    """
    total = 0.0
    for axis in range(2):
        order = np.lexsort((parents[:, 1 - axis], parents[:, axis]))
        rows = np.flatnonzero(np.diff(parents[order, axis], prepend=parents[order[0], axis]))
        starts = np.concatenate([[0], rows])
        fan = 1 << (level.depth[axis] - above[axis])
        within = (level.nodes[:, axis] & np.uint64(fan - 1)).astype(np.int64)
        largest = 0.0
        for cut in range(fan):
            for taken in (within >= cut, within <= cut):
                sums = np.bincount(place, np.where(taken, signed, 0.0), len(parents))[order]
                running = np.cumsum(sums)
                before = np.concatenate([[0.0], running])[starts]
                high = np.maximum(np.maximum.reduceat(running, starts) - before, 0.0)
                low = np.minimum(np.minimum.reduceat(running, starts) - before, 0.0)
                largest = max(largest, float((high - low).max()))
        total += FACES * largest
    return total


def _crossed(nodes: TreeNodes, leaves: Integers, weights: Floats) -> float:
    """The largest weight of leaves that a box's faces can cut."""
    return sum(
        FACES * _most_crossed(nodes.low[leaves, axis], nodes.high[leaves, axis], weights)
        for axis in range(nodes.low.shape[1])
    )


def _most_crossed(low: Codes, high: Codes, weights: Floats) -> float:
    """The largest weight of leaves that one face can cut: low < place <= high."""
    wide = high > low
    if not wide.any():
        return 0.0
    edges = np.concatenate([low[wide], high[wide]])
    change = np.concatenate([weights[wide], -weights[wide]])
    # A leaf ends before another begins at the same place: places lie between cells.
    order = np.lexsort((change, edges))
    return float(np.cumsum(change[order]).max(initial=0.0))
