"""Whole-number combinations of the parts that predicates make: what a factorised release measures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, ClassVar, assert_never

import numpy as np
import numpy.typing as npt

from discreet.arrays import Bools, Integers
from discreet.errors import BadInput
from discreet.families.predicates.queries.predicates import (
    MOST_EXACT,
    check_cells,
    doubled_middles,
    integer_inequality,
    partition,
)
from discreet.privacy.adjacency import Adjacency, Sensitivity
from discreet.questions.inequality import Inequality
from discreet.schema import Schema
from discreet.schema.limits import MOST_CELLS

Counts = npt.NDArray[np.int64]

MOST_PARTS = 4096


@dataclass(frozen=True, slots=True)
class StrategyCounts:
    """`matrix` times the number of rows in each part of the partition by `conditions`.

    Without a matrix, the predicates themselves are counted. One row of a unit lies in one part, or
    in none where the schema leaves it out. So adding it moves the answer by a column of the matrix,
    and changing it by the difference of two, none included: the sensitivity is the largest of these.
    """

    conditions: tuple[str, ...]
    columns: tuple[str, ...]
    matrix: tuple[tuple[int, ...], ...] | None
    parts: Integers | None = field(default=None, compare=False, repr=False)
    """The part of each cell, where rows are to be counted; a stored query has no use for it."""
    workload: Bools | None = field(default=None, compare=False, repr=False)
    kind: ClassVar[str] = "strategy-counts"

    @classmethod
    def of(
        cls, schema: Schema, conditions: tuple[str, ...], matrix: Integers | None = None
    ) -> StrategyCounts:
        found = partition(schema, conditions)
        rows = None if matrix is None else tuple(tuple(map(int, row)) for row in matrix)
        return cls(conditions, found.columns, rows, found.part, found.workload)

    def array(self, schema: Schema) -> Integers:
        found = partition(schema, self.conditions)
        if self.matrix is None:
            return found.workload.astype(np.int64)
        return np.array(self.matrix, dtype=np.int64)

    def size(self, schema: Schema) -> int:
        found = partition(schema, self.conditions)
        if found.columns != self.columns:
            raise BadInput("The columns of a strategy are not those of its predicates.")
        if self.matrix is None:
            return len(self.conditions)
        if not self.matrix or any(len(row) != found.parts for row in self.matrix):
            raise BadInput("A strategy has one column for each part, and at least one row.")
        return len(self.matrix)

    def sensitivity(self, schema: Schema) -> Sensitivity:
        l1, l2 = _moves(schema, self.conditions, self.matrix)
        rows = schema.unit.max_rows
        return Sensitivity(l1=max(1, l1) * rows, l2_squared=max(1, l2) * rows * rows)

    def evaluate(self, counts: Counts) -> Counts:
        if self.parts is None:
            raise BadInput("A stored strategy cannot be measured again.")
        flat = counts.reshape(-1)
        in_part = np.zeros(int(self.parts.max(initial=0)) + 1, dtype=np.int64)
        np.add.at(in_part, self.parts, flat)
        if self.matrix is not None:
            return np.array(self.matrix, dtype=np.int64) @ in_part
        assert self.workload is not None
        return self.workload.astype(np.int64) @ in_part

    def to_dict(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "conditions": list(self.conditions),
            "columns": list(self.columns),
            "matrix": None if self.matrix is None else [list(row) for row in self.matrix],
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> StrategyCounts:
        rows = None if data["matrix"] is None else stored_matrix(data["matrix"])
        return cls(tuple(data["conditions"]), tuple(data["columns"]), rows)


@dataclass(frozen=True, slots=True)
class InequalityCounts:
    """The number of rows in each of a list of halfspaces, over columns with any number of cells.

    A row counts with the middle of its cells' values; a row without a value in a column that a halfspace
    names is outside of that one. Each count moves by at most a unit's rows, under either adjacency: a changed row enters
    or leaves. So k counts move by k of them in L1, and by k times their square in squared L2.
    """

    columns: tuple[str, ...]
    coefficients: tuple[tuple[int, ...], ...]
    """For doubled middles, one row a halfspace: coefficients . doubled middles >= bound."""
    bounds: tuple[int, ...]
    middles: tuple[tuple[int, ...], ...] = field(default=(), compare=False, repr=False)
    """Twice the middle value of each value cell, where rows are to be counted."""
    kind: ClassVar[str] = "inequality-counts"

    @classmethod
    def of(cls, schema: Schema, asked: Sequence[Inequality]) -> InequalityCounts:
        named = {name for each in asked for name in each.columns}
        columns = tuple(name for name in schema.names if name in named)
        check_cells(schema, columns, MOST_CELLS)
        coefficients, bounds = [], []
        for each in asked:
            scaled, bound, strict = integer_inequality(schema, each, columns)
            coefficients.append(tuple(scaled))
            bounds.append(bound + strict)  # of whole numbers: above a bound is at least the next
        middles = []
        for name in columns:
            doubled, known = doubled_middles(schema, name)
            middles.append(tuple(int(each) for each in doubled[known]))
        return cls(columns, tuple(coefficients), tuple(bounds), tuple(middles))

    def size(self, schema: Schema) -> int:
        check_cells(schema, self.columns, MOST_CELLS)
        rows = (len(row) == len(self.columns) for row in self.coefficients)
        if not self.bounds or len(self.coefficients) != len(self.bounds) or not all(rows):
            raise BadInput("Halfspaces have one bound each, and one coefficient for each column.")
        return len(self.bounds)

    def sensitivity(self, schema: Schema) -> Sensitivity:
        rows, many = schema.unit.max_rows, len(self.bounds)
        return Sensitivity(l1=many * rows, l2_squared=many * rows * rows)

    def evaluate(self, counts: Counts) -> Counts:
        """Only cells with rows are looked at; sums of whole numbers below 2^52 are exact as floats."""
        if not self.middles:
            raise BadInput("A stored list of halfspaces cannot be measured again.")
        places = np.nonzero(counts)
        weights = counts[places]
        normals = np.array(self.coefficients, dtype=np.float64)
        bounds = np.array(self.bounds, dtype=np.float64)
        points = np.zeros((len(weights), len(self.middles)))
        missing = np.zeros(points.shape, dtype=np.bool_)
        for axis, (middles, place) in enumerate(zip(self.middles, places, strict=True)):
            missing[:, axis] = place >= len(middles)  # value cells come first
            valued = ~missing[:, axis]
            points[valued, axis] = np.array(middles, dtype=np.float64)[place[valued]]
        found = np.empty(len(bounds), dtype=np.int64)
        for at in range(0, len(bounds), 64):
            some = normals[at : at + 64]
            inside = points @ some.T >= bounds[at : at + 64]
            inside &= ~(missing @ (some != 0).T)
            found[at : at + 64] = [weights[column].sum() for column in inside.T]
        return found

    def to_dict(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "columns": list(self.columns),
            "coefficients": [list(each) for each in self.coefficients],
            "bounds": list(self.bounds),
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> InequalityCounts:
        rows = tuple(tuple(each) for each in data["coefficients"])
        bounds = tuple(data["bounds"])
        for each in (*bounds, *(one for row in rows for one in row)):
            if isinstance(each, bool) or not isinstance(each, int):
                raise BadInput("Halfspaces are stored as whole numbers.")
        return cls(tuple(data["columns"]), rows, bounds)


@lru_cache(maxsize=64)
def _moves(
    schema: Schema, conditions: tuple[str, ...], matrix: tuple[tuple[int, ...], ...] | None
) -> tuple[int, int]:
    """The largest L1 and squared L2 size of a column, or of a difference of two columns."""
    if matrix is None:
        array = partition(schema, conditions).workload.astype(np.int64)
    else:
        array = np.array(matrix, dtype=np.int64)
    return column_moves(array, schema.adjacency)


def stored_matrix(data: Sequence[Sequence[int]]) -> tuple[tuple[int, ...], ...]:
    """The matrix of a strategy in a file: whole numbers, none of them larger than a sensitivity is exact for."""
    rows = tuple(tuple(row) for row in data)
    for each in (one for row in rows for one in row):
        if isinstance(each, bool) or not isinstance(each, int) or abs(each) > MOST_EXACT:
            raise BadInput("A strategy consists of whole numbers that are not too large.")
    return rows


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
