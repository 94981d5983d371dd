"""Counts over the boxes of a grid whose lines lie anywhere: what a search along each column found."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from math import prod
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from discreet.errors import BadInput
from discreet.privacy.adjacency import Sensitivity, sensitivity_of_disjoint_counts
from discreet.schema import Schema
from discreet.schema.limits import MOST_CELLS

Counts = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class CutCounts:
    """Count rows per box: each column's value cells are cut before the cells in `starts`.

    Rows without a value in one of the columns are in no box. Boxes are disjoint.
    """

    columns: tuple[str, ...]
    starts: tuple[tuple[int, ...], ...]
    """First cells of the slabs of each column, from 0 up."""
    value_cells: tuple[int, ...]
    """Of each column, as the schema has it: the answer is computed from counts alone."""
    kind: ClassVar[str] = "cut-counts"

    def __post_init__(self) -> None:
        sizes = {len(self.columns), len(self.starts), len(self.value_cells)}
        if len(set(self.columns)) != len(self.columns) or sizes != {len(self.columns)}:
            raise BadInput("A grid needs distinct columns, and the cuts of each of them.")
        for cuts, cells in zip(self.starts, self.value_cells, strict=True):
            rising = all(a < b for a, b in pairwise((*cuts, cells)))
            if not cuts or cuts[0] != 0 or not rising:
                raise BadInput("The cuts of a column go up from its first cell.")

    def size(self, schema: Schema) -> int:
        for name, cells in zip(self.columns, self.value_cells, strict=True):
            column = schema.column(name)
            if not column.is_ordered or column.value_cells != cells:
                raise BadInput(f"The cuts of column {name} do not fit the schema.")
        if prod(schema.column(name).cells for name in self.columns) > MOST_CELLS:
            raise BadInput(
                f"The columns {', '.join(self.columns)} have too many combinations of cells; at most "
                f"{MOST_CELLS:,} can be counted."
            )
        return prod(map(len, self.starts))

    def sensitivity(self, schema: Schema) -> Sensitivity:
        return sensitivity_of_disjoint_counts(schema.adjacency, schema.unit)

    def evaluate(self, counts: Counts) -> Counts:
        counts = counts[tuple(slice(0, cells) for cells in self.value_cells)]
        for axis, cuts in enumerate(self.starts):
            counts = np.add.reduceat(counts, np.array(cuts), axis=axis, dtype=np.int64)
        return counts.reshape(-1)

    def to_dict(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "columns": list(self.columns),
            "starts": [list(cuts) for cuts in self.starts],
            "value_cells": list(self.value_cells),
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> CutCounts:
        return cls(
            columns=tuple(data["columns"]),
            starts=tuple(tuple(map(int, cuts)) for cuts in data["starts"]),
            value_cells=tuple(map(int, data["value_cells"])),
        )
