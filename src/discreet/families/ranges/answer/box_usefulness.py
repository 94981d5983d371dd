"""A bound for all boxes at once, in the manner of `usefulness`.

From the top down, the children of a node are their measured numbers, moved in proportion to their cells so that they
add up to the node. (Where all have as many cells, it is least squares with the parents held fixed.) A leaf's rows are
spread evenly over its cells. Over two columns with few cells the noise of all boxes is simulated (`estimate/box_bridges`).
Else: in a box a draw has the weight of its node's part in the box, less that of its parent: it
counts only below parents that a face cuts, and the squares of the weights of f siblings add up to f/4 at most
(`_weights` for children at the end of a column, which may have fewer cells). Given what
decided the nodes of a level their noise is fresh, so over the levels the logarithms of moment generating
functions add (the error is a martingale), and Chernoff's bound with the union bound over all boxes of the domain
bounds their sum. How many parents a face may cut is seen in the tree; so the bound is taken at
several slopes at once, by the union bound over these. The top level, which has few and wide draws, has a part of the risk
for itself, and a union bound over its own boxes: between the edges of its nodes its part is linear in each face.

Rows spread evenly are not where they truly are. A cut leaf's true part in a box differs from the even part by at most
1 - 1/m of its rows, where the face that cuts it has m places. Which of the cut nodes are leaves was decided by noise, so what
they hide is bounded for any choice among them: by the leaves' final numbers plus the sum of max(-noise, 0)
of the final numbers that all the cut nodes would have, whose moment generating function is known.

The published estimates differ from the numbers that this holds for by what is seen in the release. In two
columns it is worked out for all boxes at once (`box_distances`), else parent by parent.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from discreet.arrays import Codes, Floats, Integers
from discreet.families.ranges.answer.levels import MeasuredLevel, MeasuredLevels, measured_levels
from discreet.families.ranges.answer.ranges import RangeSource
from discreet.families.ranges.answer.usefulness import of_delta
from discreet.families.ranges.estimate.all_ranges import ROUNDING, reach
from discreet.families.ranges.estimate.box_bridges import simulated_boxes
from discreet.families.ranges.estimate.tree_nodes import TreeNodes
from discreet.privacy.laws import NoiseLaw
from discreet.queries.tree import Nodes, bits_of

OF_HIDDEN = 0.1
"""The part of delta that bounds what cut leaves hide."""
OF_ALL_ROWS = 0.1
"""The part of delta that bounds how many rows there are."""
OF_TOP = 0.2
"""The part of the rest for the noise of the top level."""
SLOPES = np.geomspace(1 / 64, 0.9, 16)
"""Chernoff's bound is taken at these slopes, of 1 / scale."""
SIDES = 2
"""Noise upward and downward."""
FACES = 2
"""Faces of a box in each column."""
MOST_CORNERS = 1 << 29
"""Pairs of rows of corners, times the corners of a row, that all boxes are worked out from."""
MOST_PLACES = 1 << 11
"""Places of a face up to which all pairs of faces are looked at."""
THEOREM = (
    "the largest noise of all boxes of a full tree, simulated from the noise laws, with the inequalities of Jensen and Borell, "
    "or Chernoff and union bounds; what leaves may hide; and the distance of the published estimates from the numbers "
    "that it holds for"
)


def box_bound(source: RangeSource, delta: float) -> float:
    """A bound on the errors of all boxes, with probability 1 - delta."""
    measured = measured_levels(source)
    nodes = source.nodes
    cells = [source.schema.column(name).value_cells for name in source.columns]
    ids_of = {
        layer.depth: ids for layer, ids in zip(source.tree.layers, nodes.by_layer, strict=True)
    }
    draws = _top_draws(cells, measured.depths[-1], measured.levels[0])
    held = np.zeros(len(nodes))
    apart = {"estimate": 0.0, "count": 0.0}
    above: tuple[int, ...] | None = None
    for level in measured.levels:
        ids = ids_of[level.depth]
        if above is None:
            held[ids] = level.numbers
            for name in apart:
                off = getattr(nodes, name)[ids] - held[ids]
                apart[name] += max(
                    float(np.maximum(off, 0).sum()), float(np.maximum(-off, 0).sum())
                )
        else:
            parents, place = _parents(level, above)
            from_above = _placed(ids_of[above], measured, above, parents)
            share = _cell_shares(nodes, ids, place)
            held[ids] = level.numbers
            held[ids] += share * (held[from_above] - np.bincount(place, level.numbers))[place]
            split = [here > there for here, there in zip(level.depth, above, strict=True)]
            # Draws of weight w count as w^2; where rounding has a say, f/4 of them stand for weights of f/2.
            weights = _weights(parents, above, level.depth, measured.depths[-1], cells)
            spread = np.asarray(np.bincount(place, level.variance) * weights)
            widest = _largest(level.variance)
            taken = min(_cut(parents, spread, split), float(spread.sum())) / (widest or 1.0)
            draws.add(Draws(taken, widest, _largest(level.scale), 2 * _largest(level.slack)))
            for name in apart:
                off = getattr(nodes, name)[ids] - held[ids]
                off = off - share * np.bincount(place, off)[place]
                half = np.bincount(place, np.abs(off)) / 2
                apart[name] += min(_cut(parents, half, split), float(half.sum()))
        if level.depth != measured.depths[-1]:
            # Noise decides which nodes of an adaptive tree are leaves, so each may be one.
            may_hide = np.ones(len(level.nodes)) if measured.is_adaptive else 1.0 * level.stopped
            draws.hide(min(float(may_hide.sum()), _cut(level.nodes, may_hide)), level.final_scale)
        above = level.depth
    leaves = np.flatnonzero(nodes.is_leaf)
    for name in apart:
        exact = box_distances(
            nodes.low[leaves], nodes.high[leaves], getattr(nodes, name)[leaves] - held[leaves]
        )
        apart[name] = min(apart[name], math.inf if exact is None else exact)
    final = np.zeros(len(nodes))
    for level in measured.levels:
        final[ids_of[level.depth]] = np.maximum(level.final, 0.0)
    # A reader's estimate may be drawn to what is fitted to the leaves inside a box, or to all that it cuts.
    fitted = apart["count"] + crossed(nodes, leaves, np.maximum(-nodes.count[leaves], 0.0))
    boxes = sum(2 * math.log(each) for each in cells)
    noise = _simulated(measured, cells, (1 - OF_HIDDEN - OF_ALL_ROWS) * delta)
    if noise is None:
        noise = draws.reach(
            (1 - OF_HIDDEN - OF_ALL_ROWS) * delta, boxes, is_public=not measured.is_adaptive
        )
    bound = (
        noise
        + draws.hidden(math.log(1 / (OF_HIDDEN * delta)) + boxes)
        + max(apart["estimate"], fitted)
        + crossed(nodes, leaves, final[leaves])
    )
    return min(bound, _all_rows(measured.levels[0], nodes, OF_ALL_ROWS * delta)) + ROUNDING


def _simulated(measured: MeasuredLevels, cells: Sequence[int], delta: float) -> float | None:
    """The noise of all boxes, where it can be simulated."""
    levels = [(level.depth, level.law) for level in measured.levels if level.law is not None]
    if len(levels) < len(measured.levels):
        return None  # two stages, with noise of several widths in one level
    is_short = levels[-1][0] != measured.depths[-1]
    possible = len(measured.depths) if is_short else 1
    return simulated_noise(cells, levels, delta, is_whole=not measured.is_adaptive, ends=possible)


def simulated_noise(
    cells: Sequence[int],
    levels: Sequence[tuple[tuple[int, ...], NoiseLaw]],
    delta: float,
    *,
    is_whole: bool,
    ends: int = 1,
) -> float | None:
    """A plan and a release use the same. `ends`: at how many levels the tree may end, see `of_delta`."""
    if len(cells) != 2:
        return None
    part = 1.0 if is_whole else of_delta(ends)
    return simulated_boxes((cells[0], cells[1]), levels, part * delta, is_whole=is_whole)


def _cell_shares(nodes: TreeNodes, ids: Integers, place: Integers) -> Floats:
    """The part of its parent's cells that each node has."""
    cells = ((nodes.high[ids] - nodes.low[ids]).astype(np.float64) + 1.0).prod(axis=1)
    return np.asarray(cells / np.bincount(place, cells)[place])


def _weights(
    parents: Nodes,
    above: tuple[int, ...],
    depth: tuple[int, ...],
    bits: tuple[int, ...],
    cells: Sequence[int],
) -> Floats:
    """How much the squared weights of a parent's children add up to at most, for each child.

    With the mean m of their parts in the box and the part c of the parent, f children have the sum f (m (1 - m) + (m - c)^2)
    or less. Where all have as many cells, c is m: 1/4. If the last of k along one column has fewer,
    c is off by at most 1/k, k is 2 or more, and 1/2 does. No weight is above 1.
    """
    uneven = np.zeros(len(parents), dtype=np.int64)
    for axis, size in enumerate(cells):
        child, parent = bits[axis] - depth[axis], bits[axis] - above[axis]
        start = parents[:, axis].astype(np.float64) * 2.0**parent
        if size % (1 << child):
            uneven += (start < size) & (size < start + 2.0**parent)
    return np.array([0.25, 0.5, 1.0])[np.minimum(uneven, 2)]


def _placed(
    ids: Integers, measured: MeasuredLevels, depth: tuple[int, ...], parents: Nodes
) -> Integers:
    """The nodes' numbers of the parents, which are some of the level above."""
    (level,) = [each for each in measured.levels if each.depth == depth]
    order = np.lexsort(level.nodes.T[::-1])
    every, wanted = _keys(level.nodes[order]), _keys(parents)
    return ids[order[np.searchsorted(every, wanted)]]


def _keys(nodes: Nodes) -> npt.NDArray[np.void]:
    """Rows that compare as wholes, in the order of their columns."""
    big = np.ascontiguousarray(nodes.astype(">u8"))
    return big.view([("", big.dtype)] * big.shape[1]).reshape(-1)


def _largest(numbers: Floats) -> float:
    return float(numbers.max(initial=0.0))


def box_distances(low: Codes, high: Codes, rows: Floats) -> float | None:
    """The largest sum of leaves over any box of two columns, where a leaf's rows are spread evenly over it.

    It is largest for a box whose faces are edges of leaves, because it is linear between them in each face. The
    sums before all crossings of edges are one sum over the plane, and those of all boxes the differences of its
    rows. None for other columns, or where that takes too long.
    """
    if low.shape[1] != 2:
        return None
    edges = [np.unique(np.concatenate([low[:, axis], high[:, axis] + np.uint64(1)])) for axis in (0, 1)]  # fmt: skip
    sizes = [len(each) for each in edges]
    if sizes[0] * sizes[1] * min(sizes) > MOST_CORNERS:
        return None
    first = [np.searchsorted(edges[axis], low[:, axis]) for axis in (0, 1)]
    after = [np.searchsorted(edges[axis], high[:, axis] + np.uint64(1)) for axis in (0, 1)]
    sides = (high - low).astype(np.float64) + 1.0
    density = rows / (sides[:, 0] * sides[:, 1])
    change = np.zeros(sizes)
    for x, y, sign in (
        (first, first, 1),
        (after, first, -1),
        (first, after, -1),
        (after, after, 1),
    ):
        np.add.at(change, (x[0], y[1]), sign * density)
    widths = [np.diff(each.astype(np.float64)) for each in edges]
    inside = change.cumsum(axis=0).cumsum(axis=1)[:-1, :-1] * np.multiply.outer(*widths)
    sums = np.zeros(sizes)
    sums[1:, 1:] = inside.cumsum(axis=0).cumsum(axis=1)
    if sizes[0] > sizes[1]:
        sums = sums.T
    largest = 0.0
    for row in range(len(sums)):
        between = sums[row:] - sums[row]
        largest = max(largest, float((between.max(axis=1) - between.min(axis=1)).max()))
    return largest


@dataclass(frozen=True, slots=True)
class Draws:
    """So many draws of a noise law; see `MeasuredLevel`."""

    many: float
    variance: float
    scale: float
    slack: float


class BoxDraws:
    """The draws that a box may add up, over all levels."""

    def __init__(self, top: Draws, sides: Sequence[int]) -> None:
        """`sides`: nodes of the top level along each column."""
        self._top, self._sides = top, sides
        self._levels: list[Draws] = []
        self._hidden: list[tuple[float, float]] = []

    def add(self, draws: Draws) -> None:
        """The draws of a level below: as many as there would be if each had the weight 1."""
        self._levels.append(draws)

    def reach(self, delta: float, log_boxes: float, *, is_public: bool) -> float:
        """How far their sum goes, either way, but for a chance of delta.

        `is_public`: whether it is known beforehand how many they are. Else noise had a say in it, and one slope
        cannot be picked by it: the bound holds at all slopes at once, each with its part of the risk.
        """
        top = sum(math.log(side * (side + 1) / 2) for side in self._sides)
        risk = math.log(SIDES / (OF_TOP * delta)) + top
        first = self._top
        spread = np.array([first.many * first.variance]), risk, np.array([first.scale])
        far = float(reach(*spread)[0]) + first.many * first.slack
        risk = math.log(SIDES / ((1 - OF_TOP) * delta)) + log_boxes
        return far + self._below(risk if is_public else risk + math.log(len(SLOPES)))

    def _below(self, risk: float) -> float:
        levels = [each for each in self._levels if each.many > 0]
        if not levels:
            return 0.0
        slack = sum(each.many * each.slack for each in levels)
        widest = max(each.scale for each in levels)
        variance = sum(each.many * each.variance for each in levels)
        slopes = SLOPES / widest if widest > 0 else SLOPES * math.sqrt(8 * risk / variance)
        logs = np.zeros(len(slopes))
        for each in levels:
            # Laplace noise of scale b has -ln(1 - (s b)^2), and weights w below 1 no more than w^2 times that.
            if each.scale > 0:
                logs -= each.many * np.log1p(-((slopes * each.scale) ** 2))
            else:
                logs += each.many * each.variance * slopes**2 / 2
        return float(((risk + logs) / slopes).min()) + slack

    def hide(self, many: float, scale: float) -> None:
        """At one level, so many leaves may be cut, each with a draw of this scale on what it hides."""
        if many > 0 and scale > 0:
            self._hidden.append((many, scale))

    def hidden(self, risk: float) -> float:
        """How far the sum of max(draw, 0) over all cut leaves goes."""
        if not self._hidden:
            return 0.0
        slopes = SLOPES / max(scale for _, scale in self._hidden)
        risk += math.log(len(slopes))  # noise has a say in how many leaves there are
        return float(((log_moments(self._hidden, slopes) + risk) / slopes).min())


def box_noise_bound(
    cells: Sequence[int],
    levels: Sequence[tuple[tuple[int, ...], NoiseLaw]],
    delta: float,
    *,
    is_whole: bool,
) -> float:
    """The part of `box_bound` that noise has where no node is stopped early: what a plan can know.

    `levels`: the depth of each measured level, from the top, and its noise.
    """
    noise = (1 - OF_HIDDEN - OF_ALL_ROWS) * delta
    simulated = simulated_noise(cells, levels, noise, is_whole=is_whole)
    if simulated is not None:
        return simulated + ROUNDING
    bits = tuple(bits_of(each) for each in cells)
    (above, law), *below = levels
    around = law.envelope()
    sides = _sides(cells, bits, above)
    top = Draws(math.prod(sides), around.variance, around.scale, around.slack)
    draws = BoxDraws(top, sides)
    for depth, law in below:
        there = _sides(cells, bits, above)
        fan = math.prod(1 << (low - high) for low, high in zip(depth, above, strict=True))
        split = [side for side, low, high in zip(there, depth, above, strict=True) if low > high]
        cut = sum(FACES * fan * math.prod(there) // side for side in split)
        many = (
            min(math.prod(_sides(cells, bits, depth)), cut) / 4
        )  # a few more at the end of a column
        around = law.envelope()
        draws.add(Draws(many, around.variance, around.scale, 2 * around.slack))
        above = depth
    boxes = sum(2 * math.log(each) for each in cells)
    return draws.reach(noise, boxes, is_public=True) + ROUNDING


def _top_draws(cells: Sequence[int], bits: tuple[int, ...], level: MeasuredLevel) -> BoxDraws:
    top = Draws(
        len(level.nodes), _largest(level.variance), _largest(level.scale), _largest(level.slack)
    )
    return BoxDraws(top, _sides(cells, bits, level.depth))


def _sides(cells: Sequence[int], bits: Sequence[int], depth: Sequence[int]) -> list[int]:
    """Nodes along each column at a depth."""
    return [
        ((many - 1) >> (whole - here)) + 1
        for many, whole, here in zip(cells, bits, depth, strict=True)
    ]


def _all_rows(top: MeasuredLevel, nodes: TreeNodes, delta: float) -> float:
    """No more rows can be wrong than there are: estimated, fitted, or in truth by the top level's sum."""
    fitted = float(np.maximum(nodes.count[nodes.is_leaf], 0.0).sum())
    spread = np.array([top.variance.sum()]), math.log(1 / delta), np.array([_largest(top.scale)])
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


def _cut(
    nodes: Nodes, weights: npt.NDArray[np.generic], columns: Sequence[bool] | None = None
) -> float:
    """The largest weight of nodes of one depth that a box's faces across `columns` can cut, one place each."""
    total = 0.0
    for axis in range(nodes.shape[1]):
        if columns is None or columns[axis]:
            _, place = np.unique(nodes[:, axis], return_inverse=True)
            total += FACES * float(np.bincount(place.reshape(-1), weights).max(initial=0.0))
    return total


def crossed(nodes: TreeNodes, leaves: Integers, rows: Floats) -> float:
    """How many rows of leaves can lie elsewhere than spread evenly, as seen by a box whose faces cut them."""
    total = 0.0
    for axis in range(nodes.low.shape[1]):
        low, high = nodes.low[leaves, axis], nodes.high[leaves, axis]
        places = (high - low).astype(np.float64) + 1.0
        total += _most_crossed(low, high, rows * (1 - 1 / places))
    return total


def _most_crossed(low: Codes, high: Codes, weights: Floats) -> float:
    """The largest weight of leaves that two faces across one column can cut; a face: low < place <= high.

    A leaf that both cut counts once.
    """
    wide = (high > low) & (weights > 0)
    if not wide.any():
        return 0.0
    low, high, weights = low[wide], high[wide], weights[wide]
    places = np.unique(
        low
    )  # a face may as well lie right after the last leaf's beginning before it
    first = np.searchsorted(places, low)
    last = np.searchsorted(places, high)  # the leaf ends before this one
    change = np.bincount(first, weights, len(places) + 1)
    change -= np.bincount(last, weights, len(places) + 1)
    cut = np.cumsum(change)[:-1]
    if len(places) > MOST_PLACES:
        return FACES * float(cut.max())
    both = np.zeros((len(places) + 1, len(places) + 1))
    for x, y, sign in ((first, first, 1), (last, first, -1), (first, last, -1), (last, last, 1)):
        np.add.at(both, (x, y), sign * weights)
    both = both.cumsum(axis=0).cumsum(axis=1)[:-1, :-1]
    return float((cut[:, np.newaxis] + cut - both).max())
