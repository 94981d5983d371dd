"""Tables about one and the same rows: those that have a cell in every one of some columns.

Where columns leave rows out (excluded nulls), a table leaves out the rows that lack a cell in its own columns. Two such
tables are then about different rows, and contradict each other even without noise. A `CompleteTable` leaves out the rows
that lack a cell in any of the columns of all the tables together, so that the tables agree.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from discreet.errors import BadInput
from discreet.families.tables.queries.residuals import MOST_ROWS_A_CELL
from discreet.privacy.adjacency import Sensitivity, sensitivity_of_disjoint_counts
from discreet.schema import Schema

Counts = npt.NDArray[np.int64]
MOST_CELLS = 1 << 22
"""Combinations of cells of all the columns: the core reads a count for each of them."""


@dataclass(frozen=True, slots=True)
class CompleteTable:
    """Count rows per combination of cells of `kept`, among the rows with a cell in each of `columns`.

    A sum of the marginal over `columns`. A row lies in at most one cell.
    """

    columns: tuple[str, ...]
    kept: tuple[str, ...]
    kind: ClassVar[str] = "complete-table"
    is_table: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if len(set(self.columns)) != len(self.columns):
            raise BadInput(f"A query names a column twice: {', '.join(self.columns)}.")
        if self.kept != tuple(name for name in self.columns if name in self.kept):
            raise BadInput("A complete table is over some of its columns, in their order.")

    def shape(self, schema: Schema) -> tuple[int, ...]:
        return schema.sizes(self.kept)

    def size(self, schema: Schema) -> int:
        cells = prod(schema.sizes(self.columns))
        if cells > MOST_CELLS:
            raise BadInput(
                f"The columns {', '.join(self.columns)} have {cells:,} combinations of cells; at most {MOST_CELLS:,} are "
                "counted together. Use fewer columns."
            )
        return prod(self.shape(schema))

    def sensitivity(self, schema: Schema) -> Sensitivity:
        return sensitivity_of_disjoint_counts(schema.adjacency, schema.unit)

    def evaluate(self, counts: Counts) -> Counts:
        rest = tuple(axis for axis, name in enumerate(self.columns) if name not in self.kept)
        table = np.minimum(counts, MOST_ROWS_A_CELL)  # 2^22 of them fit into 64 bits
        return np.asarray(table.sum(axis=rest, dtype=np.int64)).reshape(-1)

    def to_dict(self) -> dict[str, Any]:
        return {"kind": self.kind, "columns": list(self.columns), "kept": list(self.kept)}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> CompleteTable:
        return cls(columns=tuple(data["columns"]), kept=tuple(data["kept"]))
