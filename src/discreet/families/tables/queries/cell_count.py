"""The rows in some cells of a table, as one number: no algorithm measures it now, but files may hold it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from discreet.errors import BadInput
from discreet.privacy.adjacency import Sensitivity, sensitivity_of_one_count
from discreet.queries.measurable import Counts, Marginal
from discreet.schema import Schema


@dataclass(frozen=True, slots=True)
class CellCount:
    """Count the rows in some cells of a marginal: one number."""

    columns: tuple[str, ...]
    cells: tuple[int, ...]
    """Flat positions in the marginal over `columns`."""
    kind: ClassVar[str] = "cell-count"

    def __post_init__(self) -> None:
        Marginal(self.columns)  # refuses a column that is named twice

    def size(self, schema: Schema) -> int:
        cells = Marginal(self.columns).size(schema)
        if any(not 0 <= cell < cells for cell in self.cells):
            raise BadInput(f"A cell lies outside the {cells:,} of {', '.join(self.columns)}.")
        return 1

    def sensitivity(self, schema: Schema) -> Sensitivity:
        return sensitivity_of_one_count(schema.unit)

    def evaluate(self, counts: Counts) -> Counts:
        chosen = np.array(sorted(set(self.cells)), dtype=np.int64)
        return np.array([counts.reshape(-1)[chosen].sum(dtype=np.int64)], dtype=np.int64)

    def to_dict(self) -> dict[str, Any]:
        return {"kind": self.kind, "columns": list(self.columns), "cells": list(self.cells)}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> CellCount:
        return cls(columns=tuple(data["columns"]), cells=tuple(data["cells"]))
