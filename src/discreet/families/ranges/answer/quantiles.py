"""Medians and quantiles from a released tree over one column.

The p-quantile lies between the last boundary at which the distribution is surely below p and the first at
which it is surely above, each boundary tested with its own exact standard deviation (an inverted test, so a
nominal interval for the value itself).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

import numpy as np

from discreet.answering.estimates import Estimates
from discreet.artifacts.answer import Unit
from discreet.families.ranges.estimate.cell_strategies import CellIntervals
from discreet.families.ranges.estimate.tree_intervals import IntervalIndex
from discreet.privacy.laws.sums import spread_factor
from discreet.schema import OrderedColumn, Schema
from discreet.schema.columns.temporal import TemporalColumn


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


def quantile(source: OneColumn, level: Fraction, confidence: float) -> Estimates:
    """The value of the `level` quantile, between the values that it may be."""
    found = quantile_cells(source, level, confidence)
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


def quantile_cells(source: OneColumn, level: Fraction, confidence: float) -> QuantileCells:
    """The `level` quantile of the column of a tree over one column."""
    index = source.intervals
    below, deviation = index.excess(float(level))
    z = spread_factor(1 - confidence, source.kurtosis)
    # Entry k is about the rows before leaf k; the first and the last boundary are known.
    maybe_above = np.flatnonzero(below + z * deviation >= 0)
    maybe_below = np.flatnonzero(below - z * deviation <= 0)
    first = int(maybe_above[0]) if len(maybe_above) else len(index.leaves)
    last = int(maybe_below[-1]) if len(maybe_below) else -1
    lower = int(index.starts[max(first - 1, 0)])
    upper = int(index.ends[max(last, 0)])
    upper = max(upper, lower)
    target = float(level) * float(index.prefix[-1])
    leaf = int(np.searchsorted(index.prefix, target, side="right")) - 1
    leaf = min(max(leaf, 0), len(index.leaves) - 1)
    rows = float(index.prefix[leaf + 1] - index.prefix[leaf])
    share = (target - float(index.prefix[leaf])) / rows if rows > 0 else 0.5
    offset = min(max(share, 0.0), 1.0) * float(index.widths[leaf])
    step = min(int(offset), int(index.widths[leaf]) - 1)
    cell = min(max(int(index.starts[leaf]) + step, lower), upper)
    return QuantileCells(cell, min(max(offset - step, 0.0), 1.0), lower, upper)
