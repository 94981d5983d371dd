"""The rows between two cells of a column: what each step of a noisy search counts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from discreet.errors import BadInput
from discreet.privacy.adjacency import Sensitivity, sensitivity_of_one_count
from discreet.queries.measurable import Counts, Marginal
from discreet.schema import Schema


@dataclass(frozen=True, slots=True)
class RangeCount:
    """Count the rows in the cells first..last of one column: one number."""

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
        return sensitivity_of_one_count(schema.unit)

    def evaluate(self, counts: Counts) -> Counts:
        return np.array([counts[self.first : self.last + 1].sum(dtype=np.int64)], dtype=np.int64)

    def to_dict(self) -> dict[str, Any]:
        return {"kind": self.kind, "column": self.column, "first": self.first, "last": self.last}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> RangeCount:
        return cls(column=data["column"], first=int(data["first"]), last=int(data["last"]))
