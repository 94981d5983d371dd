"""Counts over blocks of cells: a marginal whose ordered columns are coarsened by whole factors."""

from __future__ import annotations

from dataclasses import dataclass
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
class GridCounts:
    """Count rows per block: `widths` neighbouring value cells of each column together.

    The last block of a column may be shorter; its cells for other values and for nulls stay
    single. Blocks are disjoint, so a row lies in at most one.
    """

    columns: tuple[str, ...]
    widths: tuple[int, ...]
    value_cells: tuple[int, ...]
    """Of each column, as the schema has it: the answer is computed from counts alone."""
    kind: ClassVar[str] = "grid-counts"

    def __post_init__(self) -> None:
        sizes = {len(self.columns), len(self.widths), len(self.value_cells)}
        if len(set(self.columns)) != len(self.columns) or sizes != {len(self.columns)}:
            raise BadInput("Blocks need distinct columns, and a width for each of them.")
        if any(isinstance(w, bool) or not isinstance(w, int) or w < 1 for w in self.widths):
            raise BadInput("The width of a block is a whole number of cells, at least 1.")

    def blocks(self) -> tuple[int, ...]:
        """Blocks of values of each column."""
        return tuple(-(-v // w) for v, w in zip(self.value_cells, self.widths, strict=True))

    def shape(self, schema: Schema) -> tuple[int, ...]:
        """Blocks of each column, then its single cells for other values and nulls."""
        found = []
        for name, values, blocks in zip(self.columns, self.value_cells, self.blocks(), strict=True):
            column = schema.column(name)
            if not column.is_ordered or column.value_cells != values:
                raise BadInput(f"The blocks of column {name} do not fit the schema.")
            found.append(blocks + column.cells - values)
        return tuple(found)

    def size(self, schema: Schema) -> int:
        cells = prod(schema.column(name).cells for name in self.columns)
        if cells > MOST_CELLS:
            raise BadInput(
                f"The columns {', '.join(self.columns)} have {cells:,} combinations of cells; at most "
                f"{MOST_CELLS:,} can be counted. Declare wider cells, or take fewer columns."
            )
        return prod(self.shape(schema))

    def sensitivity(self, schema: Schema) -> Sensitivity:
        return sensitivity_of_disjoint_counts(schema.adjacency, schema.unit)

    def evaluate(self, counts: Counts) -> Counts:
        for axis, (values, width) in enumerate(zip(self.value_cells, self.widths, strict=True)):
            first = np.arange(0, values, width)
            starts = np.concatenate([first, np.arange(values, counts.shape[axis])])
            counts = np.add.reduceat(counts, starts, axis=axis, dtype=np.int64)
        return counts.reshape(-1)

    def to_dict(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "columns": list(self.columns),
            "widths": list(self.widths),
            "value_cells": list(self.value_cells),
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> GridCounts:
        return cls(
            columns=tuple(data["columns"]),
            widths=tuple(data["widths"]),
            value_cells=tuple(data["value_cells"]),
        )
