"""A bound for all ranges at once that assumes nothing of the tree: neither its shape nor its estimates.

For an adaptive tree the numbers that were shown first are used: at each level their noise is fresh, given
all that decided which nodes are there. Walking down to a fixed boundary of the domain, the rows before it
are those before its node's start plus the siblings to its left, or those before its node's end less the
siblings to its right; so the error is a sum of draws of which each is independent of those before, and
which draws enter is known beforehand. With draws of scale b_i <= b, the log moment generating function of
the sum is at most 1.151 s^2 sum b_i^2 for |s| <= 1/(2b), because -ln(1-x) <= 1.151 x up to x = 1/4, and
discrete Laplace noise lies below the continuous one: (cosh s - 1)/(cosh e - 1) <= (s/e)^2 for s <= e.
Chernoff's bound and the union bound over all boundaries that the levels have give a band around these
sums that the true distribution leaves with probability at most delta. Where the tree was fixed before its
numbers were drawn (two stages, whole levels), the final numbers and the tree's own boundaries do.

What a reader is told is another estimate of the same counts, smoothed and fitted; how far it lies from
the sums is seen in the release, and added. An end that cuts a leaf lies between the leaf's boundaries.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from discreet.arrays import Bools, Codes, Floats, Integers
from discreet.families.ranges.answer.levels import MeasuredLevel, measured_levels
from discreet.families.ranges.answer.ranges import RangeSource
from discreet.families.ranges.estimate.all_ranges import ROUNDING, reach
from discreet.families.ranges.estimate.walks import WalkLevel, walk_bound
from discreet.privacy.laws import DiscreteLaplaceLaw
from discreet.queries.blocks import BlockCounts
from discreet.queries.tree import bits_of

OF_ALL_ROWS = 0.1
"""The part of delta that bounds how many rows there are."""
TIE = 1e-9
"""Sums of equal variance are told apart by no rounding: which one is taken is public."""
THEOREM = (
    "Chernoff bounds of the noise at every boundary that the tree could have, level by level, the union "
    "bound over them, and the distance of the published estimates from the sums that it holds for"
)


def interval_bound(source: RangeSource, delta: float) -> float:
    """What no interval's estimate is off by, with probability 1 - delta."""
    noise = _simulated(source, (1 - OF_ALL_ROWS) * delta)
    starts, ends = _boundaries(source, (1 - OF_ALL_ROWS) * delta)
    if noise is not None:
        starts.reach, ends.reach = np.zeros(len(starts.rows)), np.zeros(len(ends.rows))
    nodes = source.nodes
    leaves = np.flatnonzero(nodes.is_leaf)
    leaves = leaves[np.argsort(nodes.low[leaves, 0], kind="stable")]
    wide = nodes.high[leaves, 0] > nodes.low[leaves, 0]
    bounds = []
    for counts, is_cut in ((nodes.estimate, wide), (nodes.count, None)):
        prefix = np.concatenate([[0.0], np.cumsum(counts[leaves])])
        before, after = prefix[:-1] - starts.rows, prefix[1:] - ends.rows
        most = np.maximum(before + starts.reach, after + ends.reach)
        least = np.minimum(before - starts.reach, after - ends.reach)
        if is_cut is not None:
            # An end inside a leaf: true and estimated rows lie between those of its two boundaries.
            inside = np.where(is_cut, np.diff(prefix), 0.0)
            most = np.maximum(most, before + starts.reach + inside)
            least = np.minimum(least, after - ends.reach - inside)
        bounds.append(max(float(most.max()), 0.0) - min(float(least.min()), 0.0))
    bound = max(bounds) + (noise or 0.0)
    return min(bound, _all_rows(source, starts, ends, OF_ALL_ROWS * delta)) + ROUNDING


def _simulated(source: RangeSource, delta: float) -> float | None:
    """The noise of the sums at all boundaries, where it can be simulated.

    A tree that was stopped early may end at any of its levels; each has a part of delta. None for a
    tree of two stages, whose numbers have noise of several widths in one level.
    """
    trees, column = source.part.trees, source.schema.column(source.columns[0])
    bits = bits_of(column.value_cells)
    if len(trees) > 1:
        return None
    if trees:
        levels = [
            WalkLevel(
                bits - trees[0].tree.depths[level.level][0],
                DiscreteLaplaceLaw(scale=1 / level.first_epsilon),
            )
            for level in trees[0].levels
        ]
        return adaptive_noise(column.value_cells, levels, len(trees[0].tree.depths), delta)
    laws = {
        each.query.shifts[0]: each.law
        for each in source.part.noisy
        if isinstance(each.query, BlockCounts)
    }
    ordered = [WalkLevel(shift, laws[shift]) for shift in sorted(laws, reverse=True)]
    return walk_bound(column.value_cells, ordered, delta)


def adaptive_noise(
    cells: int, levels: Sequence[WalkLevel], possible: int, delta: float
) -> float | None:
    """The bound for a tree that may end at any of its `possible` levels. A plan and a release use the same."""
    return walk_bound(cells, levels, delta / possible)


def chernoff_noise(levels: Sequence[WalkLevel], bits: int, delta: float) -> float:
    """The same without simulation, where no node is stopped early: for columns with very many cells."""
    variance = scale = 0.0
    above = bits
    for level in levels:
        around = level.law.envelope()
        fan = 1 << (above - level.shift)
        variance += max(1, fan // 2) * around.variance
        scale = max(scale, around.scale)
        above = level.shift
    risk = math.log(2 * len(levels) / delta) + bits * math.log(2)
    return 2 * float(reach(np.array([variance]), risk, np.array([scale]))[0])


def _all_rows(source: RangeSource, starts: _Rows, ends: _Rows, delta: float) -> float:
    """No more rows can be wrong than there are: estimated, fitted, or in truth by the top level's sum."""
    top = measured_levels(source).levels[0]
    nodes = source.nodes
    spread = np.array([top.variance.sum()]), math.log(1 / delta), np.array([top.scale.max()])
    truly = float(top.numbers.sum()) + float(reach(*spread)[0]) + float(top.slack.sum())
    prefix = np.cumsum(nodes.count[np.flatnonzero(nodes.is_leaf)])
    fitted = float(np.maximum(prefix, 0.0).max()) - float(np.minimum(prefix, 0.0).min())
    return max(float(nodes.estimate[0]), fitted, truly)


class _Rows:
    """Rows before some boundaries as sums of measured numbers, and how far they may be off."""

    def __init__(self, rows: Floats, variance: Floats, scale: Floats, slack: Floats) -> None:
        self.rows, self.variance, self.scale, self.slack = rows, variance, scale, slack
        self.reach = np.zeros(len(rows))

    def at(self, places: npt.NDArray[np.generic]) -> _Rows:
        return _Rows(
            self.rows[places], self.variance[places], self.scale[places], self.slack[places]
        )

    def shifted(self, rows: Floats, level: _Sums) -> _Rows:
        return _Rows(
            self.rows + rows,
            self.variance + level.variance,
            np.maximum(self.scale, np.where(level.variance > 0, level.scale, 0.0)),
            self.slack + level.slack,
        )

    def where(self, mask: Bools, other: _Rows) -> _Rows:
        return _Rows(
            np.where(mask, self.rows, other.rows),
            np.where(mask, self.variance, other.variance),
            np.where(mask, self.scale, other.scale),
            np.where(mask, self.slack, other.slack),
        )


class _Sums:
    """What some siblings add: variance, the largest scale among them, and rounding of their noise."""

    def __init__(self, variance: Floats, scale: Floats, slack: Floats) -> None:
        self.variance, self.scale, self.slack = variance, scale, slack


def _boundaries(source: RangeSource, delta: float) -> tuple[_Rows, _Rows]:
    """Rows before the start and before the end of every leaf, leaves in order."""
    levels = measured_levels(source)
    bits = levels.depths[-1][0]
    found: list[tuple[Codes, _Rows, _Rows]] = []
    alive = np.zeros(1, dtype=np.uint64)
    starts = _Rows(*(np.zeros(1) for _ in range(4)))
    ends = _Rows(np.zeros(1), np.full(1, np.inf), np.zeros(1), np.zeros(1))
    depth = 0
    boundaries = sum(int(level.stopped.sum()) for level in levels.levels)
    for level in levels.levels:
        nodes = level.nodes[:, 0]
        below = np.uint64(level.depth[0] - depth)
        parent = np.searchsorted(alive, nodes >> below)
        before, after = _beside(level, parent, len(alive))
        one, two = starts.at(parent), ends.at(parent)
        lefts = [one.shifted(before.rows[side], before.sums[side]) for side in (0, 1)]
        rights = [two.shifted(-after.rows[side], after.sums[side]) for side in (0, 1)]
        sides = [
            left.where(left.variance <= right.variance * (1 + TIE), right)
            for left, right in zip(lefts, rights, strict=True)
        ]
        risk = math.log(2 * boundaries / delta)
        if levels.is_adaptive:
            many = len(levels.levels)
            risk = math.log(2 * many / delta) + level.depth[0] * math.log(2)
        for each in sides:
            each.reach = reach(each.variance, risk, each.scale) + each.slack
        leaf = level.stopped
        shift = np.uint64(bits - level.depth[0])
        first, last = (_kept(each, leaf) for each in sides)
        found.append(
            (nodes[leaf] << shift if bits - level.depth[0] < 64 else nodes[leaf], first, last)
        )
        starts, ends = (each.at(~leaf) for each in sides)
        alive, depth = nodes[~leaf], level.depth[0]
    order = np.argsort(np.concatenate([codes for codes, _, _ in found]), kind="stable")
    return (
        _joined([first for _, first, _ in found], order),
        _joined([last for _, _, last in found], order),
    )


class _Beside:
    """Sums over a node's siblings on one side: without the node itself, and with it."""

    def __init__(self, rows: list[Floats], sums: list[_Sums]) -> None:
        self.rows, self.sums = rows, sums


def _beside(level: MeasuredLevel, parent: Integers, parents: int) -> tuple[_Beside, _Beside]:
    """Siblings before each node's start and end; and siblings after its start and end."""

    def sums(numbers: Floats) -> tuple[list[Floats], list[Floats]]:
        total = np.bincount(parent, numbers, parents)
        running = np.concatenate([[0.0], np.cumsum(numbers)])
        offset = np.concatenate([[0.0], np.cumsum(total)])[:-1][parent]
        to_start, to_end = running[:-1] - offset, running[1:] - offset
        return [to_start, to_end], [total[parent] - to_start, total[parent] - to_end]

    rows, variance, slack = sums(level.numbers), sums(level.variance), sums(level.slack)
    largest = np.zeros(parents)
    np.maximum.at(largest, parent, level.scale)
    scale = largest[parent]
    return (
        _Beside(rows[0], [_Sums(_tidy(v), scale, _tidy(s)) for v, s in zip(variance[0], slack[0], strict=True)]),
        _Beside(rows[1], [_Sums(_tidy(v), scale, _tidy(s)) for v, s in zip(variance[1], slack[1], strict=True)]),
    )  # fmt: skip


def _tidy(numbers: Floats) -> Floats:
    """Differences of running sums, without what rounding leaves below 0."""
    return np.where(
        numbers < 1e-9 * max(float(np.abs(numbers).max(initial=0.0)), 1e-300), 0.0, numbers
    )


def _kept(rows: _Rows, mask: Bools) -> _Rows:
    found = rows.at(mask)
    found.reach = rows.reach[mask]
    return found


def _joined(parts: list[_Rows], order: Integers) -> _Rows:
    columns = [
        np.concatenate([getattr(part, name) for part in parts])[order]
        for name in ("rows", "variance", "scale", "slack", "reach")
    ]
    found = _Rows(*columns[:4])
    found.reach = columns[4]
    return found
