"""The values of an expression on declared cells: boxes of cells are halved until each has one value.

The value over a box of cells comes from `reach`. A box on which it may be several things is halved,
down to single cells. So `FLOOR(x/500)*500 = 1000` over 2^60 cells takes a few hundred looks, and no cell is
ever listed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache

from discreet.errors import NotAnswerable
from discreet.questions.cells.periods import steps_of
from discreet.questions.cells.reach import GREATEST, NULL, Reach, numbers, texts
from discreet.questions.cells.reaching.expressions import reach_of
from discreet.questions.expressions import Call, Expression, Unit
from discreet.questions.limits.work import OF_A_LOOK, OF_AN_OPERATION, spend
from discreet.schema import BooleanColumn, CategoryColumn, Column, NumberColumn, OrderedColumn
from discreet.schema.columns.column import Range
from discreet.schema.columns.numeric import double_at, rank_of

MOST_LOOKS = 1 << 16
"""Boxes that are looked at for one expression."""
MOST_LOOKS_INSIDE = 1 << 9
"""Stretches that are looked at inside one cell; what is not settled then stays cut."""


def reach_of_cells(column: Column, start: int, stop: int) -> Reach:
    """The possible values of a row in the value cells from `start` to before `stop`."""
    if isinstance(column, OrderedColumn):
        return numbers(column.extent(start)[0], column.extent(stop - 1)[1])
    if isinstance(column, BooleanColumn):
        return Reach(options=frozenset([False, True][start:stop]))
    assert isinstance(column, CategoryColumn)
    return texts(frozenset(column.values[start:stop]))


def reach_outside(column: Column) -> Reach:
    """The possible values of a row in the cell of other values."""
    if isinstance(column, NumberColumn):
        return numbers(-GREATEST, GREATEST)
    if isinstance(column, OrderedColumn):
        return numbers(-(2**63), 2**63 - 1)
    assert isinstance(column, CategoryColumn)
    return Reach(any_text=True, but=frozenset(column.values))


def boxes(
    expression: Expression,
    columns: Sequence[Column],
    is_settled: Callable[[Reach], bool],
    others: Mapping[str, Reach] | None = None,
) -> Iterator[tuple[tuple[Range, ...], Reach]]:
    """The value cells of `columns` in boxes (half-open ranges of codes), each settled or a single cell.

    They come in the order of the first column's cells. Columns in `others` stay where they are.
    """
    if not all(column.value_cells for column in columns):
        return
    waiting = [tuple((0, column.value_cells) for column in columns)]
    steps = steps_of(expression) if len(columns) == 1 else ()
    looks, steps_of_a_look = 0, _steps_of_a_look(expression)
    while waiting:
        ranges = waiting.pop()
        looks += 1
        spend(steps_of_a_look)
        if looks > MOST_LOOKS:
            named = ", ".join(column.name for column in columns)
            raise NotAnswerable(
                f"The question divides the cells of {named} into more than {MOST_LOOKS // 2:,} ranges; "
                "ask about fewer of them at once."
            )
        where = dict(others or {})
        for column, (start, stop) in zip(columns, ranges, strict=True):
            where[column.name] = reach_of_cells(column, start, stop)
        found = reach_of(expression, where)
        sizes = [stop - start for start, stop in ranges]
        most = max(sizes, default=1)
        if most == 1 or is_settled(found):
            yield ranges, found
            continue
        axis = sizes.index(most)
        start, stop = ranges[axis]
        middle = _middle_cell(columns[axis], start, stop, steps)
        for half in ((middle, stop), (start, middle)):
            waiting.append((*ranges[:axis], half, *ranges[axis + 1 :]))


@lru_cache(maxsize=256)
def _steps_of_a_look(expression: Expression) -> int:
    return OF_A_LOOK + OF_AN_OPERATION * _operations(expression)


def _operations(node: Expression) -> int:
    """How many operations and literals are worked out for a value; a list of literals is looked up."""
    if not isinstance(node, Call):
        return 1
    arguments = node.arguments[:1] if node.name == "in" else node.arguments
    return 1 + sum(map(_operations, arguments))


def _middle_cell(column: Column, start: int, stop: int, steps: Sequence[int]) -> int:
    """The cell at which a box is halved: a step of the expression near the middle, if the box has one."""
    middle = (start + stop) // 2
    if not steps or not isinstance(column, OrderedColumn) or isinstance(column, NumberColumn):
        return middle
    unit = int(column.extent(middle)[0])
    for size in steps:
        for edge in (unit - unit % size, unit - unit % size + size):
            code = column.code_of_unit(edge)
            if start < code < stop and column.extent(code)[0] == edge:
                return code
    return middle


def _middle_unit(low: int, high: int, steps: Sequence[int]) -> int:
    """The last unit of the first half."""
    middle = (low + high) // 2
    for size in steps:
        edge = middle - middle % size
        for unit in (edge - 1, edge + size - 1):
            if low <= unit < high:
                return unit
    return middle


def special_cells(column: Column) -> list[tuple[int, Reach]]:
    """The cells without declared values, and what a row there may hold."""
    found: list[tuple[int, Reach]] = []
    if column.other_cell is not None:
        found.append((column.other_cell, reach_outside(column)))
    if column.null_cell is not None:
        found.append((column.null_cell, NULL))
    return found


def stretches(
    expression: Expression,
    column: OrderedColumn,
    is_settled: Callable[[Reach], bool],
    most_inside: int = MOST_LOOKS_INSIDE,
) -> Iterator[tuple[Unit, Unit, Reach]]:
    """The units of a column's value cells, first and last of each stretch, in their order.

    Cells are divided only where the expression asks for it. A stretch that is not settled lies inside
    one cell, where the expression changes too often to follow.
    """
    looks = 0
    for ((start, stop),), found in boxes(expression, [column], is_settled):
        first, last = column.extent(start)[0], column.extent(stop - 1)[1]
        if is_settled(found) or looks > MOST_LOOKS:
            yield first, last, found
            continue
        inside = list(halved_units(expression, column, first, last, is_settled, most_inside))
        looks += 2 * len(inside)
        yield from inside


def halved_units(
    expression: Expression,
    column: OrderedColumn,
    first: Unit,
    last: Unit,
    is_settled: Callable[[Reach], bool],
    most: int = MOST_LOOKS_INSIDE,
) -> Iterator[tuple[Unit, Unit, Reach]]:
    """The units from `first` to `last`, halved until each stretch is settled, or after `most` looks.

    Doubles are halved by their number in the order of all doubles.
    """
    is_double = isinstance(column, NumberColumn)
    steps = () if is_double else steps_of(expression)
    unit: Callable[[int], Unit] = double_at if is_double else int
    place: Callable[[Unit], int] = rank_of if is_double else int
    waiting = [(place(first), place(last))]
    looks, steps_of_a_look = 0, _steps_of_a_look(expression)
    while waiting:
        low, high = waiting.pop()
        spend(steps_of_a_look)
        found = reach_of(expression, {column.name: numbers(unit(low), unit(high))})
        looks += 1
        if low == high or is_settled(found) or looks > most:
            yield unit(low), unit(high), found
            continue
        middle = _middle_unit(low, high, steps)
        waiting += [(middle + 1, high), (low, middle)]


def joined_stretches(
    found: Iterator[tuple[Unit, Unit, Reach]],
) -> list[tuple[Unit, Unit, Reach]]:
    """Neighbours of the same value made one."""
    kept: list[tuple[Unit, Unit, Reach]] = []
    for first, last, value in found:
        if kept and kept[-1][2] == value and value.is_one:
            kept[-1] = (kept[-1][0], last, value)
        else:
            kept.append((first, last, value))
    return kept
