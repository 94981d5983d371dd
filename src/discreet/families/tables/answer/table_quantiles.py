"""Medians and quantiles of a column from a table that holds its cells, for each group.

A row at the q-quantile v has at most q of the rows below v and at least q at or below it. With
D(v) = (1 - q) (rows at or below v) - q (rows above v), D(v) >= 0 holds from the quantile's cell on, and D
before it is at most 0. Each cell is tested by itself with the noise of its own D: the cell before the
quantile's may seem too high and the quantile's own too low, each with half of the risk, so the hull of the
cells that pass both tests holds the quantile with the stated confidence (an inverted test).
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from discreet.answering.estimates import Estimates
from discreet.answering.regions.selecting import Selection
from discreet.arrays import Floats
from discreet.artifacts.answer import Unit
from discreet.errors import NotAnswerable
from discreet.families.tables.answer.linear_tables import WeightedTable
from discreet.privacy.exact import Exactable, exact
from discreet.schema import OrderedColumn
from discreet.schema.columns.temporal import TemporalColumn

MOST_WORK = 1 << 26
"""Cells of the table, times cells of the column."""
CLOSE = 1e-12
"""How far sums may be off by rounding, as a part of all counts."""


def quantile_of_cells(
    table: WeightedTable,
    selection: Selection,
    axis: int,
    level: Fraction,
    *,
    group_axes: tuple[int, ...],
    confidence: Exactable,
) -> Estimates:
    """The `level` quantile of the column on `axis` over the selected rows, one a group."""
    column = selection.columns[axis]
    assert isinstance(column, OrderedColumn)
    cells = column.value_cells
    if table.cells * cells > MOST_WORK:
        raise NotAnswerable(
            f"A quantile of {column.name!r} looks at {cells:,} cells of the column in a table of "
            f"{table.cells:,} cells, which takes too long. Release intervals({column.name}) for its quantiles."
        )
    shape = tuple(table.counts.shape[each] for each in group_axes)
    # D times the denominator of q: of whole counts it is whole, and just 0 where q of the rows end with a cell.
    q, rest_of_q = float(level.numerator), float(level.denominator - level.numerator)
    inner, outer = (
        np.broadcast_to(each, table.counts.shape).astype(np.float64)
        for each in (selection.inner(), selection.outer())
    )
    rest = tuple(each for each in range(table.counts.ndim) if each not in group_axes)
    low, high, middle = (np.empty((cells, *shape)) for _ in range(3))
    close = CLOSE * level.denominator * float(np.abs(table.counts).sum())

    def width_if_it_decides(weights: Floats, above: Floats) -> Floats | float:
        """The half-width of a sum that lies so far above 0; or 0, where it surely does not decide whether 0 is in reach.

        No half-width is more than Chebyshev's bound, and most cells of a column lie further from their quantile.
        """
        if not table.is_model:
            bound = table.deviations(weights, group_axes) / math.sqrt(
                1 - float(exact(confidence, name="confidence"))
            )
            if not np.any((above > close) & (above <= close + bound * (1 + CLOSE))):
                return 0.0
        return table.widths(weights, group_axes, confidence)[0]

    for cell in range(cells):
        below = _up_to(cell, axis, table.counts.ndim, table.counts.shape[axis], cells)
        above = _up_to(cells - 1, axis, table.counts.ndim, table.counts.shape[axis], cells) - below
        least = rest_of_q * below * inner - q * above * outer
        most = rest_of_q * below * outer - q * above * inner
        sums = [np.sum(table.counts * each, axis=rest) for each in (least, most)]
        low[cell] = sums[0] - width_if_it_decides(least, sums[0])
        high[cell] = sums[1] + width_if_it_decides(most, -sums[1])
        middle[cell] = (sums[0] + sums[1]) / 2
    # Cell c is possible where D(c) may be at or above 0, and D(c - 1) at or below it; rounding decides nothing.
    reaches = high >= -close
    starts = np.concatenate([np.ones((1, *shape), dtype=bool), low[:-1] <= close])
    first = np.where(reaches.any(axis=0), reaches.argmax(axis=0), cells - 1)
    last = np.where(starts.any(axis=0), cells - 1 - starts[::-1].argmax(axis=0), 0)
    first, last = np.minimum(first, last), np.maximum(first, last)
    passed = middle >= -close
    likeliest = np.where(passed.any(axis=0), passed.argmax(axis=0), cells - 1)
    likeliest = np.clip(likeliest, first, last)
    ends = np.array([[float(each) for each in column.extent(code)] for code in range(cells)])
    lower, upper = ends[first, 0], ends[last, 1]
    estimate = (ends[likeliest, 0] + ends[likeliest, 1]) / 2
    unit = Unit.NUMBER
    if isinstance(column, TemporalColumn):
        unit, estimate = Unit(column.kind), np.round(estimate)
    is_exact = bool((ends[:, 0] == ends[:, 1]).all()) and bool(np.array_equal(inner, outer))
    return Estimates(
        estimate=np.asarray(estimate),
        lower=np.asarray(lower),
        upper=np.asarray(upper),
        std=np.asarray((upper - lower) / 4),
        is_exact=is_exact,
        is_model=table.is_model,
        is_count=False,
        unit=unit,
    )


def _up_to(cell: int, axis: int, dimensions: int, size: int, value_cells: int) -> Floats:
    """1 for the value cells up to `cell`, along an axis."""
    places = np.arange(size)
    chosen = ((places <= cell) & (places < value_cells)).astype(np.float64)
    return chosen.reshape([-1 if each == axis else 1 for each in range(dimensions)])
