"""Rows by group and bucket of an ordered column, and whole-number combinations of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar, Self

import numpy as np

from discreet.errors import BadInput
from discreet.families.shared.queries.matrices import Matrix, cells_of, column_moves, stored_matrix
from discreet.privacy.adjacency import Adjacency, Sensitivity, sensitivity_of_disjoint_counts
from discreet.queries.measurable import Counts
from discreet.queries.tallies import Cells, Tally
from discreet.schema import Schema


class OneTally:
    """A query that is one tally, as it is."""

    __slots__ = ()

    def tallies(self, schema: Schema) -> tuple[Tally, ...]:
        raise NotImplementedError

    def size(self, schema: Schema) -> int:
        return self.tallies(schema)[0].size(schema)

    def sensitivity(self, schema: Schema) -> Sensitivity:
        return self.tallies(schema)[0].sensitivity(schema)

    def answered(self, tallied: Sequence[Counts], schema: Schema) -> Counts:
        return tallied[0]


@dataclass(frozen=True, slots=True)
class GroupBuckets(OneTally):
    """Rows of each group in each bucket of 2^shift value cells: one level of a tree in every group.

    A row with a value is in one bucket of one group; nulls and values outside the range are in none.
    """

    column: str
    groups: tuple[str, ...]
    shift: int
    kind: ClassVar[str] = "group-buckets"

    def __post_init__(self) -> None:
        check_groups(self.column, self.groups)
        if not 0 <= self.shift <= 64:
            raise BadInput("A bucket is 2^0 to 2^64 cells wide.")

    def buckets(self, schema: Schema) -> int:
        """How many buckets one group has."""
        return Cells(self.column, self.shift).buckets(schema)

    def tallies(self, schema: Schema) -> tuple[Tally, ...]:
        return (Tally(Cells(self.column, self.shift), self.groups),)

    def sensitivity(self, schema: Schema) -> Sensitivity:
        return sensitivity_of_disjoint_counts(schema.adjacency, schema.unit)

    def to_dict(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "column": self.column,
            "groups": list(self.groups),
            "shift": self.shift,
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        return cls(str(data["column"]), tuple(data["groups"]), int(data["shift"]))


@dataclass(frozen=True, slots=True)
class GroupStrategy:
    """In each group, `matrix` times the number of rows in each value cell of a column.

    Adding a row moves the numbers of one group by a column of the matrix. Changing it moves one
    group's by the difference of two columns, or two groups' by a column each: the sensitivity is the
    largest of these, times the rows of a unit.
    """

    column: str
    groups: tuple[str, ...]
    matrix: Matrix
    kind: ClassVar[str] = "group-strategy"

    def __post_init__(self) -> None:
        check_groups(self.column, self.groups)

    @property
    def array(self) -> Counts:
        return np.array(self.matrix, dtype=np.int64)

    def tallies(self, schema: Schema) -> tuple[Tally, ...]:
        return (Tally(Cells(self.column, 0), self.groups),)

    def size(self, schema: Schema) -> int:
        cells = cells_of(self.matrix, self.column, schema)
        return self.tallies(schema)[0].size(schema) // cells * len(self.matrix)

    def sensitivity(self, schema: Schema) -> Sensitivity:
        l1, l2 = _moves(self.matrix, schema.adjacency)
        rows = schema.unit.max_rows
        return Sensitivity(l1=max(1, l1) * rows, l2_squared=max(1, l2) * rows * rows)

    def answered(self, tallied: Sequence[Counts], schema: Schema) -> Counts:
        matrix = self.array
        return np.asarray((tallied[0].reshape(-1, matrix.shape[1]) @ matrix.T).reshape(-1))

    def to_dict(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "column": self.column,
            "groups": list(self.groups),
            "matrix": [list(row) for row in self.matrix],
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        return cls(str(data["column"]), tuple(data["groups"]), stored_matrix(data["matrix"]))


@lru_cache(maxsize=16)
def _moves(matrix: Matrix, adjacency: Adjacency) -> tuple[int, int]:
    array = np.array(matrix, dtype=np.int64)
    one_l1, one_l2 = column_moves(array, Adjacency.ADD_REMOVE)
    if adjacency is Adjacency.ADD_REMOVE:
        return one_l1, one_l2
    same_l1, same_l2 = column_moves(array, adjacency)
    return max(same_l1, 2 * one_l1), max(same_l2, 2 * one_l2)


def check_groups(column: str, groups: tuple[str, ...]) -> None:
    if not groups or len({column, *groups}) != 1 + len(groups):
        raise BadInput("A query by group names a column and at least one other, each once.")
