"""Where an expression has which value, on declared cells: boxes of cells, halved until each has one value.

The value over a box of cells comes from `reach`. A box on which it may be several things is halved,
down to single cells. A single cell on which the truth of a condition may still be several things is cut
by the condition. So `FLOOR(x/500)*500 = 1000` over 2^60 cells takes a few hundred looks, and no cell is
ever listed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache, partial
from itertools import product

import numpy as np
import numpy.typing as npt

from discreet.errors import NotAnswerable
from discreet.questions.cells.periods import steps_of
from discreet.questions.cells.reach import GREATEST, NULL, Reach, numbers, texts
from discreet.questions.cells.reaching.expressions import reach_from, reach_of
from discreet.questions.expressions import Call, Constant, Expression, Unit
from discreet.schema import BooleanColumn, CategoryColumn, Column, NumberColumn, OrderedColumn
from discreet.schema.columns.column import CodeSelection, Range, merged
from discreet.schema.columns.numeric import double_at, rank_of

Bits = npt.NDArray[np.uint8]

TRUE, FALSE, UNKNOWN = 1, 2, 4
SINGLE = (TRUE, FALSE, UNKNOWN)
MOST_LOOKS = 1 << 16
"""Boxes that are looked at for one expression."""
MOST_KEPT = 1 << 14
"""Boxes of which is kept what an expression may be on them, some megabytes."""
MOST_LOOKS_INSIDE = 1 << 9
"""Stretches that are looked at inside one cell; what is not settled then stays cut."""


def bits_of(truth: Reach) -> int:
    """Which truths are possible."""
    known = TRUE * (True in truth.options) + FALSE * (False in truth.options)
    return known + UNKNOWN * truth.null


def has_one_truth(truth: Reach) -> bool:
    return truth.null + len(truth.options) == 1


def reach_of_cells(column: Column, start: int, stop: int) -> Reach:
    """What a row in one of the value cells from `start` to before `stop` may hold."""
    if isinstance(column, OrderedColumn):
        return numbers(column.extent(start)[0], column.extent(stop - 1)[1])
    if isinstance(column, BooleanColumn):
        return Reach(options=frozenset([False, True][start:stop]))
    assert isinstance(column, CategoryColumn)
    return texts(frozenset(column.values[start:stop]))


def reach_outside(column: Column) -> Reach:
    """What a row in the cell of other values may hold."""
    if isinstance(column, NumberColumn):
        return numbers(-GREATEST, GREATEST)
    if isinstance(column, OrderedColumn):
        return numbers(-(2**63), 2**63 - 1)
    assert isinstance(column, CategoryColumn)
    return Reach(any_text=True, but=frozenset(column.values))


@lru_cache(maxsize=32)
def truth_boxes(
    atom: Expression, columns: tuple[Column, ...]
) -> tuple[tuple[tuple[Range, ...], Reach], ...]:
    """The value cells of `columns` in boxes, each with one truth or a single cell. Kept: sources ask again."""
    return tuple(boxes(atom, columns, has_one_truth))


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
    look = _looking(expression, columns, others or {})
    looks = 0
    while waiting:
        ranges = waiting.pop()
        looks += 1
        if looks > MOST_LOOKS:
            named = ", ".join(column.name for column in columns)
            raise NotAnswerable(
                f"The question divides the cells of {named} into more than {MOST_LOOKS // 2:,} ranges; "
                "ask about fewer of them at once."
            )
        found = look(ranges)
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


def _looking(
    expression: Expression, columns: Sequence[Column], others: Mapping[str, Reach]
) -> Callable[[tuple[Range, ...]], Reach]:
    """What the expression may be on a box of cells.

    Each group of a computed key is a comparison of one expression with another value, so what the two sides of a
    comparison over one column may be is kept.
    """

    def reach(node: Expression, ranges: tuple[Range, ...]) -> Reach:
        where = dict(others)
        for column, (start, stop) in zip(columns, ranges, strict=True):
            where[column.name] = reach_of_cells(column, start, stop)
        return reach_of(node, where)

    if others or len(columns) != 1 or not isinstance(expression, Call) or expression.name == "case":
        return partial(reach, expression)
    constants = {
        place: reach_of(each, {})
        for place, each in enumerate(expression.arguments)
        if isinstance(each, Constant)
    }
    sides = {
        place: (each, _kept_reaches(each, columns[0]))
        for place, each in enumerate(expression.arguments)
        if place not in constants
    }
    parts = [constants.get(place, NULL) for place in range(len(expression.arguments))]

    def looked(ranges: tuple[Range, ...]) -> Reach:
        for place, (side, kept) in sides.items():
            found = kept.get(ranges)
            if found is None:
                if len(kept) >= MOST_KEPT:  # many questions about a fine column
                    kept.clear()
                found = kept[ranges] = reach(side, ranges)
            parts[place] = found
        return reach_from(expression, parts)

    return looked


@lru_cache(maxsize=8)
def _kept_reaches(side: Expression, column: Column) -> dict[tuple[Range, ...], Reach]:
    """What an expression may be on cells of a column, as far as it was looked at: `MOST_KEPT` boxes at most."""
    return {}


def _middle_cell(column: Column, start: int, stop: int, steps: Sequence[int]) -> int:
    """Where cells are halved: at a step of the expression near the middle, if there is one between."""
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


def selections(atom: Expression, column: Column) -> tuple[CodeSelection, CodeSelection]:
    """The value cells of one column where the atom is true, and those where it is false."""
    found = [
        (ranges[0], _refined(atom, column, ranges[0], truth))
        for ranges, truth in truth_boxes(atom, (column,))
    ]

    def where(truth: int) -> CodeSelection:
        return CodeSelection(
            merged(pair for pair, bits in found if bits == truth),
            merged(pair for pair, bits in found if bits & truth),
        )

    return where(TRUE), where(FALSE)


def _refined(atom: Expression, column: Column, cells: Range, truth: Reach) -> int:
    """The truths that are possible on some cells: a single ordered one is looked into."""
    if has_one_truth(truth) or not isinstance(column, OrderedColumn):
        return bits_of(truth)
    bits = 0
    for _, _, inside in halved_units(atom, column, *column.extent(cells[0]), has_one_truth):
        bits |= bits_of(inside)
    return bits


def cell_bits(atom: Expression, columns: Sequence[Column]) -> Bits:
    """The possible truths on every cell of the columns, those of other values and of nulls included."""
    found = np.zeros([column.cells for column in columns], dtype=np.uint8)
    for chosen in product(*([None, *special_cells(column)] for column in columns)):
        pairs = list(zip(columns, chosen, strict=True))
        free = [column for column, cell in pairs if cell is None]
        others = {column.name: cell[1] for column, cell in pairs if cell is not None}
        known = boxes(atom, free, has_one_truth, others) if others else truth_boxes(atom, (*free,))
        for ranges, truth in known:
            open_ranges = iter(ranges)
            place = tuple(
                slice(*next(open_ranges)) if cell is None else cell[0] for _, cell in pairs
            )
            found[place] = bits_of(truth)
    return found


def special_cells(column: Column) -> list[tuple[int, Reach]]:
    """The cells without declared values, and what a row there may hold."""
    found: list[tuple[int, Reach]] = []
    if column.other_cell is not None:
        found.append((column.other_cell, reach_outside(column)))
    if column.null_cell is not None:
        found.append((column.null_cell, NULL))
    return found


@lru_cache(maxsize=32)
def truth_stretches(
    atom: Expression, column: OrderedColumn
) -> tuple[tuple[Unit, Unit, Reach], ...]:
    """The stretches of a column's units on which an atom has one truth. Kept: sources ask again."""
    found: list[tuple[Unit, Unit, Reach]] = []
    for first, last, truth in stretches(atom, column, has_one_truth):
        # Neighbours of one truth are one stretch: what is settled cell by cell would be cut at every cell.
        if found and has_one_truth(truth) and bits_of(found[-1][2]) == bits_of(truth):
            first, _, _ = found.pop()
        found.append((first, last, truth))
    return tuple(found)


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
    looks = 0
    while waiting:
        low, high = waiting.pop()
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
