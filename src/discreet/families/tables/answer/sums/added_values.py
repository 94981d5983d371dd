"""What a row of each cell adds to the sum of an expression over some columns, or to a moment.

A row of a cell adds at least the least and at most the greatest number that the cell allows, by interval
arithmetic, so the sum lies between two weighted sums of true counts; see `summing`. Where a condition
cuts a cell, only the stretch that it leaves is looked at.

A moment is the sum of a column less its middle, or of products of two such: for spreads and correlations.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

import numpy as np

from discreet.answering.regions.selecting import Selection
from discreet.arrays import Floats
from discreet.errors import NotAnswerable
from discreet.questions.cells.halving import reach_of_cells, reach_outside
from discreet.questions.cells.pieces import Pieces
from discreet.questions.cells.reach import NULL, Reach, numbers, one
from discreet.questions.cells.reaching.expressions import reach_of
from discreet.questions.expression_bounds import CLAMPED
from discreet.questions.expressions import Call, ColumnValue, Expression, columns_of
from discreet.questions.question import middle_of
from discreet.schema import Column

MOST_EVALUATED = 1 << 16
"""Combinations of cells that an expression is worked out on, one by one."""
FARTHEST = 1e150
"""A number beyond which no sum is of use: what a quotient reaches where its divisor can be 0."""
SUMMED = "summed "
"""Stands before the name of a column whose value is added up, clamped as the schema says."""

Where = Mapping[str, Reach]


def expression_values(
    selection: Selection, expression: Expression, *, counts: bool = False
) -> tuple[Floats, Floats, Floats]:
    """The least, the greatest, and the number expected of a row; of `counts`, 1 where it has a value."""
    node = _named_apart(expression)
    used = {name.removeprefix(SUMMED) for name in columns_of(node)}
    axes = [axis for axis, column in enumerate(selection.columns) if column.name in used]
    sizes = [len(selection.pieces[axis].cell) for axis in axes]
    if prod(sizes) > MOST_EVALUATED:
        raise NotAnswerable(
            f"The expression has to be computed on {prod(sizes):,} combinations of cells of "
            f"{', '.join(selection.columns[axis].name for axis in axes)}; the most is {MOST_EVALUATED:,}. "
            "Declare wider cells."
        )
    columns = [selection.columns[axis] for axis in axes]
    pieces = [selection.pieces[axis] for axis in axes]
    ends = [_reaches(column, piece) for column, piece in zip(columns, pieces, strict=True)]
    least, greatest, middle = (np.zeros(sizes) for _ in range(3))
    for place in np.ndindex(*sizes):
        where: dict[str, Reach] = {}
        centre: dict[str, Reach] = {}
        for own, at in zip(ends, place, strict=True):
            where |= own[at][0]
            centre |= own[at][1]
        reach, expected = reach_of(node, where), reach_of(node, centre)
        found = _added(reach, expected, counts)
        least[place], greatest[place], middle[place] = found
    if max(-least.min(initial=0.0), greatest.max(initial=0.0)) > FARTHEST:
        raise NotAnswerable(
            "A divisor in the sum can be 0 in a declared cell, so the sum has no bounds. Keep it away from 0, "
            "as in a / greatest(b, 1)."
        )
    dimensions = selection.mask.ndim
    shape = [sizes[axes.index(axis)] if axis in axes else 1 for axis in range(dimensions)]
    return _of_cells(selection, *(each.reshape(shape) for each in (least, greatest, middle)))


def _of_cells(
    selection: Selection, least: Floats, greatest: Floats, middle: Floats
) -> tuple[Floats, Floats, Floats]:
    """From pieces of cells to cells: only pieces that the condition leaves count."""
    chosen = selection.mask
    least = np.where(chosen, least, np.inf)
    greatest = np.where(chosen, greatest, -np.inf)
    middle = np.where(chosen, middle, 0.0)
    for axis, part in enumerate(selection.pieces):
        if not part.is_cut or middle.shape[axis] == 1:
            continue
        weights = part.weight.reshape([-1 if place == axis else 1 for place in range(middle.ndim)])
        least = np.minimum.reduceat(least, part.starts, axis=axis)
        greatest = np.maximum.reduceat(greatest, part.starts, axis=axis)
        middle = np.add.reduceat(middle * weights, part.starts, axis=axis)
    inner, outer = selection.inner(), selection.outer()
    least = np.where(outer, np.where(inner, least, np.minimum(least, 0.0)), 0.0)
    greatest = np.where(outer, np.where(inner, greatest, np.maximum(greatest, 0.0)), 0.0)
    return least, greatest, np.clip(np.where(outer, middle, 0.0), least, greatest)


def _added(reach: Reach, expected: Reach, counts: bool) -> tuple[float, float, float]:
    if counts:
        low, high = float(reach.has_value and not reach.null), float(reach.has_value)
        return low, high, float(expected.has_value)
    if reach.low is None or reach.high is None:
        return 0.0, 0.0, 0.0
    low, high = float(reach.low), float(reach.high)
    if reach.null:  # such a row adds nothing
        low, high = min(low, 0.0), max(high, 0.0)
    middle = (low + high) / 2
    if expected.low is not None and expected.high is not None:
        middle = (float(expected.low) + float(expected.high)) / 2
    return low, high, min(max(middle, low), high)


def _named_apart(node: Expression) -> Expression:
    """A column that is added up under a name of its own: as such it is null where it has no number."""
    if not isinstance(node, Call):
        return node
    if node.name == CLAMPED:
        (column,) = node.arguments
        assert isinstance(column, ColumnValue)
        return ColumnValue(SUMMED + column.column, column.type)
    return Call(node.name, tuple(map(_named_apart, node.arguments)), node.type)


def _reaches(column: Column, part: Pieces) -> list[tuple[Where, Where]]:
    """For each piece of the column, what a row there may hold, and the value in the middle."""
    low, high = part.values()
    found: list[tuple[Where, Where]] = []
    for place, cell in enumerate(part.cell.tolist()):
        if part.in_domain[place] and column.kind in ("integer", "number"):
            ends = float(low[place]), float(high[place])
            if column.kind == "integer":
                reach, middle = numbers(int(ends[0]), int(ends[1])), one(round(sum(ends) / 2))
            else:
                reach, middle = numbers(*ends), one(sum(ends) / 2)
            found.append(_both(column.name, reach, reach, middle, middle))
        elif cell < column.value_cells:
            reach = reach_of_cells(column, cell, cell + 1)
            found.append(_both(column.name, reach, reach, reach, reach))
        elif cell == column.null_cell:
            found.append(_both(column.name, NULL, NULL, NULL, NULL))
        else:
            outside = reach_outside(column)
            found.append(_both(column.name, outside, NULL, outside, NULL))
    return found


def _both(
    name: str, reach: Reach, added: Reach, middle: Reach, expected: Reach
) -> tuple[Where, Where]:
    return {name: reach, SUMMED + name: added}, {name: middle, SUMMED + name: expected}


def moment_values(
    selection: Selection, axis: int, other: int | None, centres: Sequence[float] = ()
) -> tuple[Floats, Floats, Floats]:
    """What a row of each cell adds: the least, the greatest, and the number expected of it."""
    least, greatest, middle = _less_centre(selection, axis, *centres[:1])
    if other == axis:
        ends = least**2, greatest**2
        crosses = (least <= 0) & (greatest >= 0)
        middle = (
            least**2 + least * greatest + greatest**2
        ) / 3  # values spread evenly over the cell
        least, greatest = np.where(crosses, 0.0, np.minimum(*ends)), np.maximum(*ends)
    elif other is not None:
        low, high, mean = _less_centre(selection, other, *centres[1:])
        corners = [one * two for one in (least, greatest) for two in (low, high)]
        least, greatest = np.minimum.reduce(corners), np.maximum.reduce(corners)
        middle = middle * mean
    inner, outer, share = selection.inner(), selection.outer(), selection.share()
    least = np.where(outer, np.where(inner, least, np.minimum(least, 0.0)), 0.0)
    greatest = np.where(outer, np.where(inner, greatest, np.maximum(greatest, 0.0)), 0.0)
    return least, greatest, np.where(outer, middle * share, 0.0)


def _less_centre(
    selection: Selection, axis: int, centre: float | None = None
) -> tuple[Floats, Floats, Floats]:
    """The least, greatest and mean value of each cell of a column, less its middle or another centre."""
    part, column = selection.pieces[axis], selection.columns[axis]
    taken = middle_of(column) if centre is None else centre
    low, high = (np.asarray(each) - taken for each in part.values())
    low, high = np.where(part.in_domain, low, 0.0), np.where(part.in_domain, high, 0.0)
    if part.is_cut:
        low = np.minimum.reduceat(low, part.starts)
        high = np.maximum.reduceat(high, part.starts)
    shape = [-1 if place == axis else 1 for place in range(selection.mask.ndim)]
    low, high = low.reshape(shape), high.reshape(shape)
    return low, high, (low + high) / 2
