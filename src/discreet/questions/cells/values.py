"""What a cell of a column stands for, as a value of its own type: for results that programs read."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from discreet.schema import Column, OrderedColumn
from discreet.schema.columns.column import OTHER_LABEL

LAST = Fraction((1 << 62) - 1, 1 << 62)
"""How far through a cell its last value lies."""


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """A cell of many values: its first and last value, and what it is called. Thread safe: it never changes."""

    first: Any
    last: Any
    label: str

    def __str__(self) -> str:
        return self.label


def cell_value(column: Column, code: int) -> object:
    """`None` for the null cell, the value of a cell that holds one, and a `Span` for a cell of several."""
    if code == column.null_cell:
        return None
    if code == column.other_cell:
        return OTHER_LABEL
    first = column.value_in(code, 0)
    if not isinstance(column, OrderedColumn):
        return first
    low, high = column.extent(code)
    return first if low == high else Span(first, column.value_in(code, LAST), column.label(code))
