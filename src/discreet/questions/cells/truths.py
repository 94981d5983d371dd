"""The truth of a condition on declared cells, and on values inside them.

A single cell on which the truth may be several things is cut by the condition. Equalities of a computed
expression are looked up (`equalities`); everything else is found by halving.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.errors import NotAnswerable
from discreet.questions.cells.equalities import (
    Ranges,
    Where,
    equal_boxes,
    equal_stretches,
    most_inside,
)
from discreet.questions.cells.halving import boxes, halved_units, special_cells, stretches
from discreet.questions.cells.reach import Reach
from discreet.questions.expressions import Expression, Unit
from discreet.schema import Column, OrderedColumn
from discreet.schema.columns.column import CodeSelection, Range, merged

Bits = npt.NDArray[np.uint8]

TRUE, FALSE, UNKNOWN = 1, 2, 4
SINGLE = (TRUE, FALSE, UNKNOWN)


def bits_of(truth: Reach) -> int:
    """Which truths are possible."""
    known = TRUE * (True in truth.options) + FALSE * (False in truth.options)
    return known + UNKNOWN * truth.null


def has_one_truth(truth: Reach) -> bool:
    return truth.null + len(truth.options) == 1


def truth_boxes(
    atom: Expression, columns: tuple[Column, ...], others: Where = ()
) -> tuple[tuple[Ranges, Reach], ...]:
    """The value cells of `columns` in boxes, each with one truth or a single cell.

    Of an equality that is looked up, those where it does not hold are left out.
    """
    found = _truth_boxes(atom, columns, others)
    if isinstance(found, str):
        raise NotAnswerable(found)
    return found


@lru_cache(maxsize=32)
def _truth_boxes(
    atom: Expression, columns: tuple[Column, ...], others: Where
) -> tuple[tuple[Ranges, Reach], ...] | str:
    """Kept, for sources and groups ask again; a refusal too, as its text."""
    try:
        found = equal_boxes(atom, columns, others)
        return tuple(boxes(atom, columns, has_one_truth, dict(others)) if found is None else found)
    except NotAnswerable as refusal:
        return str(refusal)


def selections(atom: Expression, column: Column) -> tuple[CodeSelection, CodeSelection]:
    """The value cells of one column where the atom is true, and those where it is false."""
    found = list(_cells_found(atom, column))

    def where(truth: int) -> CodeSelection:
        return CodeSelection(
            merged(pair for pair, bits in found if bits == truth),
            merged(pair for pair, bits in found if bits & truth),
        )

    return where(TRUE), where(FALSE)


def _cells_found(atom: Expression, column: Column) -> Iterator[tuple[Range, int]]:
    """Ranges of a column's value cells, and the truths that are possible on each."""
    known = equal_stretches(atom, column) if isinstance(column, OrderedColumn) else None
    if isinstance(column, OrderedColumn) and known is not None:
        yield from _cells_met(known, column)
        return
    for ranges, truth in truth_boxes(atom, (column,)):
        yield ranges[0], _refined(atom, column, ranges[0], truth)


def _cells_met(
    found: Iterable[tuple[Unit, Unit, Reach]], column: OrderedColumn
) -> Iterator[tuple[Range, int]]:
    """The cells in which each stretch lies, and the truths of all that meet in one."""
    cut: dict[int, int] = {}
    for first, last, truth in found:
        start, stop = column.code_of_unit(first), column.code_of_unit(last) + 1
        bits = bits_of(truth)
        if column.extent(start)[0] != first:
            cut[start] = cut.get(start, 0) | bits
            start += 1
        if start < stop and column.extent(stop - 1)[1] != last:
            cut[stop - 1] = cut.get(stop - 1, 0) | bits
            stop -= 1
        if start < stop:
            yield (start, stop), bits
    for code, bits in cut.items():
        yield (code, code + 1), bits


def _refined(atom: Expression, column: Column, cells: Range, truth: Reach) -> int:
    """The truths that are possible on some cells: a single ordered one is looked into."""
    if has_one_truth(truth) or not isinstance(column, OrderedColumn):
        return bits_of(truth)
    bits = 0
    units, most = column.extent(cells[0]), most_inside(atom)
    for _, _, inside in halved_units(atom, column, *units, has_one_truth, most):
        bits |= bits_of(inside)
    return bits


def value_bits(atom: Expression, column: Column) -> Bits:
    """The possible truths on every value cell of a column."""
    found = np.full(column.value_cells, FALSE, dtype=np.uint8)
    for ((start, stop),), truth in truth_boxes(atom, (column,)):
        found[start:stop] = bits_of(truth)
    return found


def cell_bits(atom: Expression, columns: Sequence[Column]) -> Bits:
    """The possible truths on every cell of the columns, those of other values and of nulls included."""
    found = np.zeros([column.cells for column in columns], dtype=np.uint8)
    for chosen in product(*([None, *special_cells(column)] for column in columns)):
        pairs = list(zip(columns, chosen, strict=True))
        free = [column for column, cell in pairs if cell is None]
        others = tuple((column.name, cell[1]) for column, cell in pairs if cell is not None)

        def place(ranges: Sequence[Range], pairs: Any = pairs) -> tuple[slice | int, ...]:
            left = iter(ranges)
            return tuple(slice(*next(left)) if cell is None else cell[0] for _, cell in pairs)

        # What is left out of the boxes of an equality is where it does not hold.
        found[place([(0, column.value_cells) for column in free])] = FALSE
        for ranges, truth in truth_boxes(atom, (*free,), others):
            found[place(ranges)] = bits_of(truth)
    return found


@lru_cache(maxsize=32)
def truth_stretches(
    atom: Expression, column: OrderedColumn
) -> tuple[tuple[Unit, Unit, Reach], ...]:
    """The stretches of a column's units on which an atom has one truth. Kept: sources ask again."""
    found: list[tuple[Unit, Unit, Reach]] = []
    known: Iterable[tuple[Unit, Unit, Reach]] | None = equal_stretches(atom, column)
    if known is None:
        known = stretches(atom, column, has_one_truth, most_inside(atom))
    for first, last, truth in known:
        # Neighbours of one truth are one stretch: what is settled cell by cell would be cut at every cell.
        if found and has_one_truth(truth) and bits_of(found[-1][2]) == bits_of(truth):
            first, _, _ = found.pop()
        found.append((first, last, truth))
    return tuple(found)
