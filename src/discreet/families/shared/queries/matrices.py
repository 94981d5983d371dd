"""Strategies: matrices of whole numbers, times the rows in each part or cell. How they are stored, and how far a row moves them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, assert_never

import numpy as np

from discreet.arrays import Integers
from discreet.errors import BadInput
from discreet.privacy.adjacency import Adjacency
from discreet.schema import Schema

Matrix = tuple[tuple[int, ...], ...]
MOST_EXACT = 1 << 52
"""Whole numbers up to which doubles are exact."""
MOST_PARTS = 4096
"""Parts of which all pairs are compared."""


def stored_matrix(stored: Sequence[Sequence[Any]]) -> Matrix:
    """The matrix in a release file: whole numbers, none of them larger than a sensitivity is exact for."""
    rows = tuple(tuple(row) for row in stored)
    for each in (one for row in rows for one in row):
        if isinstance(each, bool) or not isinstance(each, int) or abs(each) > MOST_EXACT:
            raise BadInput("A strategy consists of whole numbers that are not too large.")
    return rows


def cells_of(matrix: Matrix, column: str, schema: Schema) -> int:
    """The value cells of a column, of which each row of the matrix has a number."""
    cells = schema.column(column).value_cells
    if not matrix or any(len(row) != cells for row in matrix):
        raise BadInput(
            f"A strategy over column {column!r} has one number for each of its {cells:,} cells."
        )
    return cells


def column_moves(array: Integers, adjacency: Adjacency) -> tuple[int, int]:
    """How far one row moves `array` times the rows in each part: in L1, and in squared L2.

    Where there are too many parts to compare all pairs, an upper bound for change-one: no entry
    moves further than from the least to the greatest of its row, 0 included.
    """
    # Not abs: of the least 64-bit integer it is negative, and would pass for a small one.
    largest = max(int(array.max(initial=0)), -int(array.min(initial=0)))
    if largest * largest * 4 * max(1, len(array)) > MOST_EXACT:
        raise BadInput("A strategy has entries too large for its sensitivity to be exact.")
    match adjacency:
        case Adjacency.ADD_REMOVE:
            return int(np.abs(array).sum(axis=0).max()), int((array * array).sum(axis=0).max())
        case Adjacency.CHANGE_ONE:
            if array.shape[1] > MOST_PARTS:
                reach = array.max(axis=1, initial=0) - array.min(axis=1, initial=0)
                return int(reach.sum()), int((reach * reach).sum())
            # A row that the schema leaves out lies in no part: a column of zeros.
            columns = np.concatenate([array, np.zeros((len(array), 1), dtype=np.int64)], axis=1).T
            l1 = max(
                int(np.abs(columns[place:] - columns[place]).sum(axis=1).max())
                for place in range(len(columns))
            )
            numbers = columns.astype(np.float64)  # exact: whole and below 2^52
            squares = (numbers * numbers).sum(axis=1)
            l2 = (squares[:, None] + squares[None, :] - 2 * numbers @ numbers.T).max()
            return l1, int(l2)
    assert_never(adjacency)
