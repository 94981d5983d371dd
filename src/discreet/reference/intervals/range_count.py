"""How many rows lie between two cells of a column: what the noisy search asks, one number at a time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from discreet.errors import BadInput
from discreet.privacy.adjacency import Sensitivity
from discreet.queries.measurable import Counts, Marginal
from discreet.schema import Schema


@dataclass(frozen=True, slots=True)
class RangeCount:
    """Count the rows in the cells first..last of one column: one number.

    It moves by at most a unit's rows under either adjacency, as any single count does.
    """

    column: str
    first: int
    last: int
    kind: ClassVar[str] = "range-count"

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.column,)

    def size(self, schema: Schema) -> int:
        Marginal(self.columns).size(schema)
        if not 0 <= self.first <= self.last < schema.column(self.column).value_cells:
            raise BadInput(f"A range of {self.column} is empty, or leaves the column's cells.")
        return 1

    def sensitivity(self, schema: Schema) -> Sensitivity:
        rows = schema.unit.max_rows
        return Sensitivity(l1=rows, l2_squared=rows * rows)

    def evaluate(self, counts: Counts) -> Counts:
        return np.array([counts[self.first : self.last + 1].sum(dtype=np.int64)], dtype=np.int64)

    def to_dict(self) -> dict[str, Any]:
        return {"kind": self.kind, "column": self.column, "first": self.first, "last": self.last}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> RangeCount:
        return cls(column=data["column"], first=int(data["first"]), last=int(data["last"]))
