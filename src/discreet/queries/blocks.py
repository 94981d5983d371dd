"""Counts over blocks of neighbouring cells: what trees, grids and searches measure.

The value cells of each column are cut into runs, and a block is one run in each column. Blocks are
disjoint, so a row lies in at most one of them. Three ways to say where the runs begin, each with a
name of its own in release files: powers of two (a level of a tree), whole widths (a grid), and any
first cells (what a search along each column found).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import astuple, dataclass
from itertools import chain, pairwise
from math import prod
from typing import Any, ClassVar, Self, cast

import numpy as np

from discreet.errors import BadInput
from discreet.privacy.adjacency import Sensitivity, sensitivity_of_disjoint_counts
from discreet.queries.measurable import Counts, Marginal
from discreet.schema import Schema


class Blocks(ABC):
    """Rows per block. Cells of other values and of nulls are in no block, or each in a run of its own."""

    __slots__ = ()
    columns: tuple[str, ...]
    value_cells: tuple[int, ...]
    """Value cells of each column, as the schema has them: an answer is computed from counts alone."""
    kind: ClassVar[str]
    stored: ClassVar[tuple[str, str, str]]
    """What its three fields are called in release files."""
    keeps_others: ClassVar[bool] = False
    """Whether the cells of other values and of nulls are counted too, each as a run of its own."""

    @abstractmethod
    def runs(self, axis: int) -> int:
        """Into how many runs the value cells of a column are cut."""

    @abstractmethod
    def first_cells(self, axis: int) -> Counts:
        """The first cell of each run of a column."""

    def _check(self, cuts: tuple[Any, ...], numbers: Iterable[int]) -> None:
        """Refuse what no release writes: `cuts` has an entry for each column, made of `numbers`."""
        sizes = {len(self.columns), len(cuts), len(self.value_cells)}
        if len(set(self.columns)) != len(self.columns) or sizes != {len(self.columns)}:
            raise BadInput("Blocks need distinct columns, and the cuts and cells of each of them.")
        if any(type(each) is not int for each in (*numbers, *self.value_cells)):
            raise BadInput("Blocks are cut at whole numbers of cells.")
        if any(cells < 1 for cells in self.value_cells):
            raise BadInput("Blocks need at least one cell a column.")

    def shape(self, schema: Schema) -> tuple[int, ...]:
        """Runs of each column; then, where they are kept, its single cells for other values and nulls."""
        found = []
        for axis, (name, cells) in enumerate(zip(self.columns, self.value_cells, strict=True)):
            column = schema.column(name)
            if not column.is_ordered or column.value_cells != cells:
                raise BadInput(f"The blocks of column {name} do not fit the schema.")
            others = column.cells - cells if self.keeps_others else 0
            found.append(self.runs(axis) + others)
        return tuple(found)

    def size(self, schema: Schema) -> int:
        Marginal(self.columns).size(schema)  # refuses more cells than can be counted
        return prod(self.shape(schema))

    def sensitivity(self, schema: Schema) -> Sensitivity:
        return sensitivity_of_disjoint_counts(schema.adjacency, schema.unit)

    def evaluate(self, counts: Counts) -> Counts:
        for axis, cells in enumerate(self.value_cells):
            starts = self.first_cells(axis)
            if self.keeps_others:
                starts = np.concatenate([starts, np.arange(cells, counts.shape[axis])])
            else:
                counts = counts[(slice(None),) * axis + (slice(0, cells),)]
            counts = np.add.reduceat(counts, starts, axis=axis, dtype=np.int64)
        return counts.reshape(-1)

    def to_dict(self) -> dict[str, Any]:
        values = map(_lists, astuple(cast(Any, self)))
        return {"kind": self.kind, **dict(zip(self.stored, values, strict=True))}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        return cls(*(_tuples(data[each]) for each in cls.stored))


@dataclass(frozen=True, slots=True)
class BlockCounts(Blocks):
    """One level of a tree over ordered columns: 2^shifts[c] value cells of column c to a run."""

    columns: tuple[str, ...]
    shifts: tuple[int, ...]
    value_cells: tuple[int, ...]
    kind: ClassVar[str] = "block-counts"
    stored: ClassVar[tuple[str, str, str]] = ("columns", "shifts", "cells")

    def __post_init__(self) -> None:
        self._check(self.shifts, self.shifts)
        if any(not 0 <= shift <= 64 for shift in self.shifts):
            raise BadInput("Blocks need shifts from 0 to 64.")

    def runs(self, axis: int) -> int:
        return ((self.value_cells[axis] - 1) >> self.shifts[axis]) + 1

    def first_cells(self, axis: int) -> Counts:
        cells = self.value_cells[axis]
        return np.arange(0, cells, min(1 << self.shifts[axis], cells))


@dataclass(frozen=True, slots=True)
class GridCounts(Blocks):
    """A grid: `widths` value cells of each column to a run, of which the last may be shorter."""

    columns: tuple[str, ...]
    widths: tuple[int, ...]
    value_cells: tuple[int, ...]
    kind: ClassVar[str] = "grid-counts"
    stored: ClassVar[tuple[str, str, str]] = ("columns", "widths", "value_cells")
    keeps_others: ClassVar[bool] = True

    def __post_init__(self) -> None:
        self._check(self.widths, self.widths)
        if any(width < 1 for width in self.widths):
            raise BadInput("The width of a block is a whole number of cells, at least 1.")

    def runs(self, axis: int) -> int:
        return -(-self.value_cells[axis] // self.widths[axis])

    def first_cells(self, axis: int) -> Counts:
        return np.arange(0, self.value_cells[axis], self.widths[axis])


@dataclass(frozen=True, slots=True)
class CutCounts(Blocks):
    """A grid whose lines lie anywhere: the runs of each column begin at the cells in `starts`."""

    columns: tuple[str, ...]
    starts: tuple[tuple[int, ...], ...]
    value_cells: tuple[int, ...]
    kind: ClassVar[str] = "cut-counts"
    stored: ClassVar[tuple[str, str, str]] = ("columns", "starts", "value_cells")

    def __post_init__(self) -> None:
        self._check(self.starts, chain.from_iterable(self.starts))
        for cuts, cells in zip(self.starts, self.value_cells, strict=True):
            rising = all(a < b for a, b in pairwise((*cuts, cells)))
            if not cuts or cuts[0] != 0 or not rising:
                raise BadInput("The cuts of a column go up from its first cell.")

    def runs(self, axis: int) -> int:
        return len(self.starts[axis])

    def first_cells(self, axis: int) -> Counts:
        return np.array(self.starts[axis], dtype=np.int64)


def _lists(stored: Any) -> Any:
    return [_lists(each) for each in stored] if isinstance(stored, tuple) else stored


def _tuples(stored: Any) -> Any:
    return tuple(map(_tuples, stored)) if isinstance(stored, list) else stored
