"""Trees over ordered columns: the domain of an adaptive release, never materialised.

A column's value cells are numbered 0 .. cells-1 and padded to a power of two; a node at
depth (k1, k2, ...) is a vector of prefixes of k1, k2, ... bits. A row lies in exactly
one node of each level, so a root-to-leaf path is all that one row touches.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.errors import BadInput
from discreet.schema import Schema

Nodes = npt.NDArray[np.uint64]
"""One row a node, one prefix a column."""

MOST_COLUMNS, MOST_BITS = 6, 64


def bits_of(cells: int) -> int:
    """Bits that number `cells` cells from 0."""
    return max(0, (cells - 1).bit_length())


@dataclass(frozen=True, slots=True)
class Tree:
    """Columns, and the depth of each of them at each level, from the root (all 0) to single cells."""

    columns: tuple[str, ...]
    depths: tuple[tuple[int, ...], ...]

    def __post_init__(self) -> None:
        if not 1 <= len(self.columns) <= MOST_COLUMNS:
            raise BadInput(f"A tree spans 1 to {MOST_COLUMNS} columns, not {len(self.columns)}.")
        if len(set(self.columns)) != len(self.columns):
            raise BadInput(f"A tree names a column twice: {', '.join(self.columns)}.")
        if not self.depths or any(len(depth) != len(self.columns) for depth in self.depths):
            raise BadInput("Each level of a tree gives one depth for each column.")
        if any(depth != 0 for depth in self.depths[0]):
            raise BadInput("A tree starts at its root: depth 0 in every column.")
        for upper, lower in pairwise(self.depths):
            if any(a > b for a, b in zip(upper, lower, strict=True)) or upper == lower:
                raise BadInput("Each level of a tree is deeper than the one above it.")
        if any(depth > MOST_BITS for depth in self.depths[-1]):
            raise BadInput(f"A tree goes down to at most {MOST_BITS} bits a column.")

    def check(self, schema: Schema) -> None:
        """Refuse columns without order, and a last level that is not single cells."""
        for name, depth in zip(self.columns, self.depths[-1], strict=True):
            column = schema.column(name)
            if not column.is_ordered:
                raise BadInput(
                    f"Column {name} is of kind {column.kind}, which has no order; a tree needs one."
                )
            if depth != bits_of(column.value_cells):
                raise BadInput(
                    f"The tree's last level has {depth} bits of column {name}, whose "
                    f"{column.value_cells:,} cells need {bits_of(column.value_cells)}."
                )

    def root(self) -> Nodes:
        return np.zeros((1, len(self.columns)), dtype=np.uint64)

    def shifts(self, level: int) -> tuple[int, ...]:
        """How far a cell's number is shifted right to give its node at `level`."""
        return tuple(
            last - here for last, here in zip(self.depths[-1], self.depths[level], strict=True)
        )

    def children(self, nodes: Nodes, level: int, schema: Schema, *, most: int = 1 << 28) -> Nodes:
        """The nodes of level+1 below `nodes`, in order, without those beyond the last cell (a public fact)."""
        for axis, name in enumerate(self.columns):
            extra = self.depths[level + 1][axis] - self.depths[level][axis]
            edge = np.uint64((schema.column(name).value_cells - 1) >> self.shifts(level + 1)[axis])
            first, full = nodes[:, axis] << np.uint64(extra), np.uint64((1 << extra) - 1)
            further = np.minimum(edge - np.minimum(first, edge), full)  # children beside the first
            # First the largest, so that the sum cannot wrap.
            if int(further.max(initial=0)) > most or int(further.sum()) + len(nodes) > most:
                raise BadInput(f"Level {level + 1} of the tree has more than {most:,} nodes.")
            many = further.astype(np.int64) + 1
            times = int(many[0]) if len(many) and np.all(many == many[0]) else many
            nodes = nodes.copy()
            nodes[:, axis] = first - (np.cumsum(many) - many).astype(np.uint64)
            nodes = np.repeat(nodes, times, axis=0)  # what wrapped around comes back in the sum
            nodes[:, axis] += np.arange(len(nodes), dtype=np.uint64)
        return nodes

    def to_dict(self) -> dict[str, Any]:
        return {"columns": list(self.columns), "depths": [list(depth) for depth in self.depths]}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Tree:
        return cls(
            columns=tuple(data["columns"]), depths=tuple(tuple(depth) for depth in data["depths"])
        )


def halvings(extra: Sequence[int]) -> tuple[int, ...]:
    """Which column each halving splits, when column c is halved extra[c] times: in turns."""
    left = list(extra)
    order: list[int] = []
    while any(left):
        for axis, many in enumerate(left):
            if many:
                order.append(axis)
                left[axis] -= 1
    return tuple(order)
