"""A bound for all ranges at once that assumes nothing of the tree: neither its shape nor its estimates.

For an adaptive tree the numbers that were shown first are used: at each level their noise is fresh, given
all that decided which nodes are there. Rows before a boundary come from bridges between the boundaries above
(`estimate/bridges`), so the error at a boundary is a combination of draws of which each is independent of those
before, with weights between -1 and 1 that are known beforehand. Where it can be, the largest error of all boundaries is
simulated. Else, with draws of scale b_i <= b, the log moment generating function of
the sum is at most 1.151 s^2 sum b_i^2 for |s| <= 1/(2b), because -ln(1-x) <= 1.151 x up to x = 1/4, and
discrete Laplace noise lies below the continuous one: (cosh s - 1)/(cosh e - 1) <= (s/e)^2 for s <= e.
Chernoff's bound and the union bound over all boundaries that the levels have give a band around these
sums that the true distribution leaves with probability at most delta. Where the tree was fixed before its
numbers were drawn (two stages, whole levels), the final numbers and the tree's own boundaries do.

What a reader is told is another estimate of the same counts, smoothed and fitted; how far it lies from
the bridges is seen in the release, and added. An end that cuts a leaf lies between the leaf's boundaries.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from discreet.arrays import Bools, Codes, Floats, Integers
from discreet.artifacts.measurement import TreeMeasurement
from discreet.families.ranges.answer.levels import (
    MeasuredLevel,
    MeasuredLevels,
    bridge_root,
    counted_levels,
    measured_levels,
)
from discreet.families.ranges.answer.ranges import RangeSource
from discreet.families.ranges.estimate.all_ranges import ROUNDING, reach
from discreet.families.ranges.estimate.bridges import BridgeLevel, BridgeRoot, bridge_bound
from discreet.privacy.laws import DiscreteLaplaceLaw
from discreet.queries.blocks import BlockCounts
from discreet.queries.tree import bits_of

OF_ALL_ROWS = 0.1
"""The part of delta that bounds how many rows there are."""
OF_SHORT_TREES = 0.1
"""The part of the rest for trees of which no path reaches the last level."""
THEOREM = (
    "the largest error at all boundaries that the tree could have, simulated from the noise laws or by Chernoff and "
    "union bounds, and the distance of the published estimates from the numbers that it holds for"
)


def interval_bound(source: RangeSource, delta: float) -> float:
    """A bound on the errors of all intervals, with probability 1 - delta."""
    noise = _simulated(source, (1 - OF_ALL_ROWS) * delta)
    starts, ends = _boundaries(source, (1 - OF_ALL_ROWS) * delta, is_simulated=noise is not None)
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
            cells = (nodes.high[leaves, 0] - nodes.low[leaves, 0]).astype(np.float64) + 1.0
            inside = np.where(is_cut, np.diff(prefix) * (1 - 1 / cells), 0.0)
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
            BridgeLevel(
                bits - trees[0].tree.depths[level.level][0],
                DiscreteLaplaceLaw(scale=1 / level.first_epsilon),
            )
            for level in counted_levels(trees[0])
        ]
        is_whole = trees[0].levels[-1].level == len(trees[0].tree.depths) - 1
        possible = 1 if is_whole else len(trees[0].tree.depths)
        return adaptive_noise(column.value_cells, levels, possible, delta, bridge_root(trees[0]))
    laws = {
        each.query.shifts[0]: each.law
        for each in source.part.noisy
        if isinstance(each.query, BlockCounts)
    }
    ordered = [BridgeLevel(shift, laws[shift]) for shift in sorted(laws, reverse=True)]
    return bridge_bound(column.value_cells, ordered, delta)


def adaptive_noise(
    cells: int,
    levels: Sequence[BridgeLevel],
    possible: int,
    delta: float,
    root: BridgeRoot | None = None,
) -> float | None:
    """The bound for an adaptive tree. A plan and a release use the same."""
    return bridge_bound(cells, levels, of_delta(possible) * delta, root)


def of_delta(ends: int) -> float:
    """The part of delta for an adaptive tree that may end at so many levels.

    One that reaches its last level (`ends` is 1) has most of it. One that ends at an earlier level, which its noise
    decides, shares the rest with the `ends` levels that there are.
    """
    return 1 - OF_SHORT_TREES if ends == 1 else OF_SHORT_TREES / ends


def chernoff_noise(levels: Sequence[BridgeLevel], bits: int, delta: float) -> float:
    """The same without simulation, where no node is stopped early: for columns with very many cells."""
    variance = scale = 0.0
    above = bits
    for place, level in enumerate(levels):
        around = level.law.envelope()
        fan = 1 << (above - level.shift)
        # The largest variance of a bridge is that at its middle; the first level has no ends to hold it.
        variance += (fan / 4 if place else fan) * around.variance
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

    def between(self, other: _Rows, part: Floats) -> _Rows:
        """On the line to another boundary. Its variance is at most the line between theirs (Jensen)."""
        return _Rows(
            self.rows + part * (other.rows - self.rows),
            self.variance + part * (other.variance - self.variance),
            np.maximum(self.scale, other.scale),
            self.slack + part * (other.slack - self.slack),
        )

    def plus(self, other: _Rows) -> _Rows:
        return _Rows(
            self.rows + other.rows,
            self.variance + other.variance,
            np.maximum(self.scale, other.scale),
            self.slack + other.slack,
        )


def _boundaries(
    source: RangeSource, delta: float, *, is_simulated: bool = True
) -> tuple[_Rows, _Rows]:
    """Rows before the start and before the end of every leaf, leaves in order.

    A weighted root has a say where the noise of what it moves is simulated.
    """
    levels = measured_levels(source)
    if is_simulated and levels.is_adaptive:
        levels = _moved(levels, source.part.trees[0])
    bits = levels.depths[-1][0]
    found: list[tuple[Codes, _Rows, _Rows]] = []
    alive = np.zeros(1, dtype=np.uint64)
    starts = ends = _Rows(*(np.zeros(1) for _ in range(4)))
    depth, is_held = 0, False
    boundaries = sum(int(level.stopped.sum()) for level in levels.levels)
    for level in levels.levels:
        nodes = level.nodes[:, 0]
        below = np.uint64(level.depth[0] - depth)
        parent = np.searchsorted(alive, nodes >> below)
        one, two = starts.at(parent), ends.at(parent)
        sides = [
            one.between(two, part).plus(own) if is_held else own
            for part, own in _bridges(level, parent, len(alive), is_held=is_held)
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
        alive, depth, is_held = nodes[~leaf], level.depth[0], True
    order = np.argsort(np.concatenate([codes for codes, _, _ in found]), kind="stable")
    return (
        _joined([first for _, first, _ in found], order),
        _joined([last for _, _, last in found], order),
    )


def _moved(levels: MeasuredLevels, tree: TreeMeasurement) -> MeasuredLevels:
    """With the numbers of the first level moved by a weighted root."""
    root, first = bridge_root(tree), levels.levels[0]
    if root is None or first.law is None:
        return levels
    numbers = root.moved(first.numbers, tree.levels[0].first[0].astype(np.float64), first.law)
    return replace(levels, levels=(replace(first, numbers=numbers), *levels.levels[1:]))


def _bridges(
    level: MeasuredLevel, parent: Integers, parents: int, *, is_held: bool
) -> list[tuple[Floats, _Rows]]:
    """At each node's start and at its end: how far along its parent it lies, and what its siblings say beyond the line.

    How far is the part of the siblings' variance that lies before. If the level is not held by one above, its
    numbers are added up from the left.
    """

    def sums(numbers: Floats) -> tuple[Floats, list[Floats]]:
        total = np.bincount(parent, numbers, parents).astype(np.float64)
        running = np.concatenate([[0.0], np.cumsum(numbers)])
        offset = np.concatenate([[0.0], np.cumsum(total)])[:-1][parent]
        return total[parent], [running[:-1] - offset, running[1:] - offset]

    whole, rows = sums(level.numbers)
    spread, variances = sums(level.variance)
    slack, slacks = sums(level.slack)
    largest = np.zeros(parents)
    np.maximum.at(largest, parent, level.scale)
    scale = largest[parent]
    found = []
    for each, variance, loose in zip(rows, variances, slacks, strict=True):
        before = np.minimum(_tidy(variance), spread)
        part = np.where(spread > 0, before / np.where(spread > 0, spread, 1.0), 0.0)
        if not is_held:
            found.append((part, _Rows(each, before, scale, _tidy(loose))))
            continue
        own = _Rows(each - part * whole, _tidy(before * (1 - part)), scale, slack)
        found.append((part, own))
    return found


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
