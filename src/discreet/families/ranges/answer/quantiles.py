"""Medians and quantiles from a released tree over one column.

The p-quantile lies between the last boundary at which the distribution is surely below p and the first at
which it is surely above. Each boundary is tested with its own exact standard deviation (an inverted test). Where
there are many boundaries, one of them always seems to pass by chance, so between the ends that this gives the
counts are made to rise (`monotone`) and tested again. Their standard deviation is smaller; by how much is simulated,
about the smoothed counts. Coverage of the second test is measured, not proved: see docs/groups.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

import numpy as np

from discreet.answering.estimates import Estimates
from discreet.arrays import Floats, Integers
from discreet.artifacts.answer import Unit
from discreet.families.ranges.estimate.cell_strategies import CellIntervals
from discreet.families.ranges.estimate.monotone import monotone
from discreet.families.ranges.estimate.tree_intervals import IntervalIndex
from discreet.privacy.laws.sums import spread_factor
from discreet.schema import OrderedColumn, Schema
from discreet.schema.columns.temporal import TemporalColumn

Cells = tuple[int, int]
"""The first and the last of some cells."""
MOST_SIMULATED = 512
"""Boundaries that are tested a second time; where there are more, so many of them first."""
DRAWS = 64
"""Simulated draws of the noise. They tell by how much less rising counts err than measured ones."""
MOST_MEASURED = 0.99
"""The highest confidence at which the second test's coverage was measured; above it there is none."""
LEAST_SPREAD = 1e-6


class OneColumn(Protocol):
    """What quantiles are read off: all ranges of one column."""

    @property
    def schema(self) -> Schema: ...
    @property
    def columns(self) -> tuple[str, ...]: ...
    @property
    def intervals(self) -> IntervalIndex | CellIntervals: ...
    @property
    def kurtosis(self) -> float: ...
    @property
    def note(self) -> str: ...


def quantile(
    source: OneColumn, level: Fraction, confidence: float, among: tuple[Cells, Cells] | None = None
) -> Estimates:
    """The value of the `level` quantile, between the values that it may be.

    `among`: which rows are meant, by their first and last cell: those that surely are, and those that may be.
    """
    found = quantile_cells(source, level, confidence, among)
    column = source.schema.column(source.columns[0])
    assert isinstance(column, OrderedColumn)
    lower, upper = float(column.extent(found.lower)[0]), float(column.extent(found.upper)[1])
    begin, end = (float(each) for each in column.extent(found.cell))
    estimate = begin + found.within * (end - begin)
    unit = Unit.NUMBER
    if isinstance(column, TemporalColumn):
        unit = Unit.DATE if column.kind == "date" else Unit.DATETIME
        estimate = float(round(estimate))
    std = (upper - lower) / (2 * float(spread_factor(1 - confidence, source.kurtosis)))
    more = {"is_exact": False, "is_count": False, "unit": unit, "notes": (source.note,)}
    return Estimates.single(estimate, lower, upper, std, **more)


@dataclass(frozen=True, slots=True)
class QuantileCells:
    """The cell of a quantile, how far through it, and between which cells the quantile lies."""

    cell: int
    within: float
    lower: int
    upper: int


def quantile_cells(
    source: OneColumn, level: Fraction, confidence: float, among: tuple[Cells, Cells] | None = None
) -> QuantileCells:
    """The `level` quantile of the column of a tree over one column."""
    index, p = source.intervals, float(level)
    everything = 0, int(index.ends[-1])
    inner, outer = (everything, everything) if among is None else among
    inside, touched = _inside(index, inner), _touched(index, outer)
    # More rows at the low end move a quantile down, and more at the high end up.
    low = _between(source, p, confidence, touched[0], max(inside[1], touched[0] + 1))
    high = low
    if inside != touched:
        high = _between(source, p, confidence, min(inside[0], touched[1] - 1), touched[1])
    lower = max(int(index.starts[low[0]]), outer[0])
    upper = max(lower, min(int(index.ends[high[1]]), outer[1]))
    before, rows = _rows_before(index, outer[0]), _rows_before(index, outer[1] + 1)
    target = before + p * (rows - before)
    leaf = int(np.searchsorted(index.prefix, target, side="right")) - 1
    leaf = min(max(leaf, 0), len(index.leaves) - 1)
    rows = float(index.prefix[leaf + 1] - index.prefix[leaf])
    share = (target - float(index.prefix[leaf])) / rows if rows > 0 else 0.5
    offset = min(max(share, 0.0), 1.0) * float(index.widths[leaf])
    step = min(int(offset), int(index.widths[leaf]) - 1)
    cell = min(max(int(index.starts[leaf]) + step, lower), upper)
    return QuantileCells(cell, min(max(offset - step, 0.0), 1.0), lower, upper)


def _touched(index: IntervalIndex | CellIntervals, cells: Cells) -> tuple[int, int]:
    """The first leaf that has one of the cells, and the one after the last."""
    first, last = index.leaf_of(np.array(cells, dtype=np.uint64))
    return int(first), int(last) + 1


def _inside(index: IntervalIndex | CellIntervals, cells: Cells) -> tuple[int, int]:
    """The same of the leaves that have no other cell."""
    start, stop = _touched(index, cells)
    start += int(index.starts[start]) < cells[0]
    stop -= int(index.ends[stop - 1]) > cells[1]
    return start, stop


def _rows_before(index: IntervalIndex | CellIntervals, cell: int) -> float:
    """Smoothed rows before a cell, spread evenly over each leaf."""
    if cell > int(index.ends[-1]):
        return float(index.prefix[-1])
    leaf = int(index.leaf_of(np.array([cell], dtype=np.uint64))[0])
    rows = float(index.prefix[leaf + 1] - index.prefix[leaf])
    part = (cell - int(index.starts[leaf])) / float(index.widths[leaf])
    return float(index.prefix[leaf]) + part * rows


def _between(
    source: OneColumn, level: float, confidence: float, start: int, stop: int
) -> tuple[int, int]:
    """The first and the last leaf that may hold the quantile of the rows in leaves start..stop-1."""
    index = source.intervals
    prefix = index.fitted_prefix
    below = _less(level, prefix[start:stop], prefix[start], prefix[stop])
    deviation = index.excess(level, start, stop)
    z = spread_factor(1 - confidence, source.kurtosis)
    last = stop - 1
    ends = np.stack([below - z * deviation, below + z * deviation])
    first, last = _not_ruled_out(ends, np.arange(start, stop), last)
    while last - first > 1 and confidence <= MOST_MEASURED:
        width = last - first
        step = width // MOST_SIMULATED + 1
        at = np.arange(first, last + 1, step)
        own = deviation[at - start]
        weights = 1 / np.maximum(own, LEAST_SPREAD) ** 2
        rising = monotone(below[np.newaxis, at - start], weights)
        noise = _excess_noise(index, level, at, start, stop)
        likely = _less(level, index.prefix[at], index.prefix[start], index.prefix[stop])
        off = monotone(likely + noise, weights) - likely
        narrowed = np.mean(off**2, axis=0) / np.maximum(np.mean(noise**2, axis=0), LEAST_SPREAD**2)
        reach = z * own * np.sqrt(np.minimum(narrowed, 1.0))
        ends = monotone(np.concatenate([rising - reach, rising + reach]), weights)
        first, last = _not_ruled_out(ends, at, last)
        if step == 1 or last - first > width / 2:
            break
    return first, last


def _less(level: float, before: Floats, start: Floats, stop: Floats) -> Floats:
    """The excess at a boundary: the rows from the start up to it, less `level` times all those up to the stop.

    Each place is given by the rows before it.
    """
    return np.asarray(before - start - level * (stop - start))


def _excess_noise(
    index: IntervalIndex | CellIntervals, level: float, at: Integers, start: int, stop: int
) -> Floats:
    """Simulated noise of the excess at some boundaries."""
    noise = index.prefix_noise(np.append(at, [start, stop]), DRAWS)
    return _less(level, noise[:, :-2], noise[:, -2:-1], noise[:, -1:])


def _not_ruled_out(ends: Floats, at: Integers, last: int) -> tuple[int, int]:
    """The first and the last leaf that the quantile may lie in, of those up to `last`.

    `ends`: between which numbers the excess lies at the boundaries `at`, which are in order.
    """
    maybe_below, maybe_above = np.flatnonzero(ends[0] <= 0), np.flatnonzero(ends[1] >= 0)
    before = int(maybe_above[0]) - 1 if len(maybe_above) else len(at) - 1
    begin = int(at[max(before, 0)])
    after = int(maybe_below[-1]) + 1 if len(maybe_below) else 1
    end = int(at[after]) - 1 if after < len(at) else last
    return begin, max(begin, end)
