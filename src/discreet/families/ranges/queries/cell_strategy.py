"""Whole-number combinations of the cells of one ordered column: what a factorised release of ranges measures."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from discreet.errors import BadInput
from discreet.families.predicates.queries.strategy import column_moves, stored_matrix
from discreet.privacy.adjacency import Adjacency, Sensitivity
from discreet.schema import Schema

Counts = npt.NDArray[np.int64]
Matrix = tuple[tuple[int, ...], ...]


@dataclass(frozen=True, slots=True)
class CellStrategy:
    """`matrix` times the number of rows in each value cell of a column.

    A row lies in one value cell, or in none where it has no value or one outside the range. So adding
    it moves the answer by a column of the matrix, and changing it by the difference of two, a column of
    zeros included: the sensitivity is the largest of these, times the rows of a unit.
    """

    column: str
    matrix: Matrix
    kind: ClassVar[str] = "cell-strategy"

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.column,)

    @property
    def array(self) -> Counts:
        return np.array(self.matrix, dtype=np.int64)

    def size(self, schema: Schema) -> int:
        cells = schema.column(self.column).value_cells
        if not self.matrix or any(len(row) != cells for row in self.matrix):
            raise BadInput(
                f"A strategy over column {self.column!r} has one number for each of its {cells:,} cells."
            )
        return len(self.matrix)

    def sensitivity(self, schema: Schema) -> Sensitivity:
        l1, l2 = _moves(self.matrix, schema.adjacency)
        rows = schema.unit.max_rows
        return Sensitivity(l1=max(1, l1) * rows, l2_squared=max(1, l2) * rows * rows)

    def evaluate(self, counts: Counts) -> Counts:
        """From the counts of the column's cells, of which those of values come first."""
        matrix = self.array
        return np.asarray(matrix @ counts[: matrix.shape[1]])

    def to_dict(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "column": self.column,
            "matrix": [list(row) for row in self.matrix],
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> CellStrategy:
        rows = stored_matrix(data["matrix"])
        return cls(str(data["column"]), rows)


@lru_cache(maxsize=16)
def _moves(matrix: Matrix, adjacency: Adjacency) -> tuple[int, int]:
    return column_moves(np.array(matrix, dtype=np.int64), adjacency)
