"""Pieces of cells agree with the schema about which cells a single comparison selects."""

from __future__ import annotations

from datetime import date
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import NotAnswerable
from discreet.questions.cells.cutting import pieces_of
from discreet.questions.cells.ordered_pieces import extents
from discreet.questions.expressions import TYPE_OF_KIND, Call, ColumnValue, Constant, Expression
from discreet.schema import (
    CategoryColumn,
    Column,
    DateColumn,
    IntegerColumn,
    NumberColumn,
    OrderedColumn,
)

COLUMNS: list[tuple[Column, Any]] = [
    (IntegerColumn("x", -4, 7, 3), st.integers(-9, 12) | st.sampled_from([-4.5, 0.25, 7.5])),
    (IntegerColumn("x", 0, 5, 1, outside="other", nulls="exclude"), st.integers(-3, 9)),
    (NumberColumn("x", 0, 10, cuts=(2.5, 4.0)), st.sampled_from([-1.0, 0.0, 2.5, 3, 4.0, 10.0, 11.0])),
    (
        NumberColumn("x", 0, 10, bits=2, closed="right", outside="other"),
        st.sampled_from([-1.0, 0.0, 2.5, 3, 5.0, 10.0, 11.0]),
    ),
    (NumberColumn("x", 0, 1, bits=13), st.floats(-0.5, 1.5)),
    (DateColumn("x", date(2000, 1, 1), date(2000, 6, 30), "month"), st.dates(date(1999, 11, 1), date(2000, 9, 1))),
    (CategoryColumn("x", ("a", "b"), other=False), st.sampled_from(["a", "b", "c"])),
    (CategoryColumn("x", ("a", "7")), st.sampled_from(["a", "b", "c", 7, 7.5])),
]  # fmt: skip


def compared(column: Column, sign: str, *literals: Any) -> Expression:
    type_ = TYPE_OF_KIND[column.kind]
    constants = [Constant(one, type_) for one in literals]
    return Call(sign, (ColumnValue(column.name, type_), *constants), "boolean")


def cells(ranges: tuple[tuple[int, int], ...], column: Column) -> np.ndarray:
    found = np.zeros(column.cells, dtype=np.bool_)
    for start, stop in ranges:
        found[start:stop] = True
    return found


@settings(max_examples=250, deadline=None)
@given(data=st.data())
def test_inner_and_outer_cells_are_the_schemas(data: Any) -> None:
    column, literals = data.draw(st.sampled_from(COLUMNS))
    signs = ["=", "!=", "<", "<=", ">", ">="] if column.is_ordered else ["=", "!="]
    sign, literal = data.draw(st.sampled_from(signs)), data.draw(literals)
    others = [compared(column, "=", one) for one in data.draw(st.lists(literals, max_size=2))]
    atom = compared(column, sign, literal)
    pieces = pieces_of(column, [atom, *others])
    truth = pieces.truth(atom, positive=True)
    expected = column.codes_where(sign, literal)
    assert np.array_equal(
        np.logical_and.reduceat(truth, pieces.starts), cells(expected.inner, column)
    )
    assert np.array_equal(
        np.logical_or.reduceat(truth, pieces.starts), cells(expected.outer, column)
    )
    weights = np.add.reduceat(pieces.weight, pieces.starts)
    assert np.allclose(weights, 1) and len(weights) == column.cells


@pytest.mark.parametrize("column", [one for one, _ in COLUMNS if isinstance(one, OrderedColumn)])
def test_extents_are_the_schemas(column: OrderedColumn) -> None:
    first, last = extents(column)
    codes = range(0, column.value_cells, max(1, column.value_cells // 50))
    for code in codes:
        assert (first[code], last[code]) == tuple(map(float, column.extent(code)))


def test_an_estimate_does_not_depend_on_literals_that_change_nothing() -> None:
    column = CategoryColumn("x", ("a",))
    asked = compared(column, "!=", "zzz")
    for others in ([], [compared(column, "=", "q")], [compared(column, "in", "q", "r", "s")]):
        pieces = pieces_of(column, [asked, *others])
        share = np.add.reduceat(pieces.weight * pieces.truth(asked, positive=True), pieces.starts)
        assert share.tolist() == [1, 1, 0]


def test_columns_with_too_many_cells_are_refused_with_what_would_serve() -> None:
    with pytest.raises(NotAnswerable, match="intervals"):
        pieces_of(IntegerColumn("x", -(2**62), 2**62), [])
