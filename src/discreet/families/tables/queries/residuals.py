"""Residuals of marginals: what a table says beyond its smaller tables, as integers.

A marginal splits into independent pieces, one for each subset of its columns: the piece of a set
is the marginal over it, centred along every axis. For binary columns these are the parities
(Walsh and Hadamard); for columns of any size see Xiao, He, Zhang, Kifer 2023 (ResidualPlanner).
Centring divides by the number of cells, so the piece is measured times the product of those
numbers: an integer. Each factor is then the matrix d I - 1, applied along its axis.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import combinations, product
from math import prod
from typing import Any, ClassVar, assert_never

import numpy as np
import numpy.typing as npt

from discreet.errors import BadInput
from discreet.families.tables.queries.completing import completed_table, tables_for
from discreet.privacy.adjacency import (
    Adjacency,
    PrivacyUnit,
    Sensitivity,
    sensitivity_of_disjoint_counts,
)
from discreet.schema import Schema
from discreet.schema.completed import all_cells

Counts = npt.NDArray[np.int64]
Bins = tuple[int, ...]
"""For each cell of a column, the bin that it is counted in."""

MOST_CELLS = 1 << 22
"""Cells of one residual: with fewer than 2^40 rows every number of it stays below 2^62."""
MOST_ROWS_A_CELL = 1 << 40
"""A count is cut off here, which moves no neighbours further apart, so nothing can wrap around."""
MOST_COLUMNS = 8


@dataclass(frozen=True, slots=True)
class Residual:
    """The marginal over `columns`, centred along each axis, times the product of the axes' sizes.

    `bins` counts a column in fewer, wider cells; `None` keeps its own. Over no columns it is the
    number of rows. A row without a cell in one of the columns adds nothing, unless the column is `completed`: then
    it has one more cell for such rows, the last.
    """

    columns: tuple[str, ...]
    bins: tuple[Bins | None, ...] | None = None
    completed: tuple[str, ...] = ()
    kind: ClassVar[str] = "residual"

    def __post_init__(self) -> None:
        if len(set(self.columns)) != len(self.columns):
            raise BadInput(f"A query names a column twice: {', '.join(self.columns)}.")
        if self.completed != tuple(name for name in self.columns if name in self.completed):
            raise BadInput("The completed columns of a query are some of its columns, in order.")
        if len(self.columns) > MOST_COLUMNS:
            raise BadInput(f"A residual has at most {MOST_COLUMNS} columns.")
        if self.bins is not None and len(self.bins) != len(self.columns):
            raise BadInput("A residual has bins for each of its columns, or for none.")
        for each in self.bins or ():
            if each is not None and _many(each) is None:
                raise BadInput("The bins of a residual are numbered 0, 1, 2, ... without a gap.")

    def shape(self, schema: Schema) -> tuple[int, ...]:
        """How many cells, or bins, each column has."""
        sizes: list[int] = []
        for place, name in enumerate(self.columns):
            column, own = schema.column(name), self._bins(place)
            cells = all_cells(column) if name in self.completed else column.cells
            if own is not None and len(own) != cells:
                raise BadInput(f"Column {name} has {cells:,} cells and the bins name {len(own):,}.")
            many = cells if own is None else _many(own)
            assert many is not None  # seen to when it was made
            sizes.append(many)
        return tuple(sizes)

    def size(self, schema: Schema) -> int:
        sizes = self.shape(schema)
        if prod(sizes) > MOST_CELLS:
            raise BadInput(
                f"The residual over {', '.join(self.columns)} has {prod(sizes):,} cells; at most "
                f"{MOST_CELLS:,} are measured. Use wider cells or fewer columns."
            )
        if 1 in sizes:
            raise BadInput(
                f"A column of {', '.join(self.columns)} has a single cell; its residual is always 0."
            )
        return prod(sizes)

    def sensitivity(self, schema: Schema) -> Sensitivity:
        sizes = self.shape(schema)
        if not sizes:
            return _of_the_total(schema.adjacency, schema.unit)
        rows = schema.unit.max_rows
        first, second = _reach(tuple(sorted(sizes)), schema.adjacency)
        return Sensitivity(l1=rows * first, l2_squared=rows * rows * second)

    def times(self, schema: Schema) -> int:
        """By what its numbers are multiplied to be those of the residual as integers: nothing, they are."""
        return 1

    @property
    def counted(self) -> tuple[tuple[str, ...], ...]:
        """The tables that it is computed from: its own, and smaller ones that count the rows without a cell."""
        return tables_for(self.columns, self.completed)

    def evaluate(self, *counts: Counts) -> Counts:
        table = self.table(counts)
        table = table.reshape([1]) if not self.columns else table
        return centred_integers(self.coarse(table)).reshape(-1)

    def table(self, counts: Sequence[Counts]) -> Counts:
        """The table over `columns`, from those that are `counted`."""
        known = dict(zip(self.counted, counts, strict=True))
        table = completed_table(self.columns, self.completed, known)
        return np.minimum(table, MOST_ROWS_A_CELL)

    def coarse(self, table: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """`table` with its cells added up into bins."""
        for axis in range(len(self.columns)):
            own = self._bins(axis)
            if own is not None:
                table = binned(table, own, axis)
        return table

    def _bins(self, place: int) -> Bins | None:
        return None if self.bins is None else self.bins[place]

    def to_dict(self) -> dict[str, Any]:
        bins = (
            None
            if self.bins is None
            else [None if each is None else list(each) for each in self.bins]
        )
        more = {"completed": list(self.completed)} if self.completed else {}
        return {"kind": self.kind, "columns": list(self.columns), "bins": bins, **more}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Residual:
        return cls(tuple(data["columns"]), _bins_from(data["bins"]), _completed_from(data))


@dataclass(frozen=True, slots=True)
class BinnedTable:
    """The marginal over `columns`, in their own cells or in bins, measured for the sake of its residual alone.

    Laplace noise is scaled by L1, and a row moves one cell of the table but every number of the residual. So noise on the cells
    leaves less noise in the residual: by a factor of 2 (1 - 1/d) for each column of d cells, where a row is added or removed.
    Gaussian noise is scaled by L2, which centring makes smaller, so it is better put on the residual.
    """

    columns: tuple[str, ...]
    bins: tuple[Bins | None, ...] | None = None
    completed: tuple[str, ...] = ()
    kind: ClassVar[str] = "binned-table"

    def __post_init__(self) -> None:
        if not self.columns:
            raise BadInput("A table in bins has at least one column.")
        self.residual  # noqa: B018 - refuses what is no set of columns, or no bins

    @property
    def residual(self) -> Residual:
        return Residual(self.columns, self.bins, self.completed)

    def shape(self, schema: Schema) -> tuple[int, ...]:
        return self.residual.shape(schema)

    def size(self, schema: Schema) -> int:
        return self.residual.size(schema)

    def sensitivity(self, schema: Schema) -> Sensitivity:
        """A row lies in at most one cell."""
        return sensitivity_of_disjoint_counts(schema.adjacency, schema.unit)

    def times(self, schema: Schema) -> int:
        """By what its numbers, centred, are multiplied to be those of the residual as integers."""
        return prod(self.shape(schema))

    @property
    def counted(self) -> tuple[tuple[str, ...], ...]:
        return self.residual.counted

    def evaluate(self, *counts: Counts) -> Counts:
        return self.coarse(self.residual.table(counts)).reshape(-1)

    def coarse(self, table: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """`table` with its cells added up into bins."""
        return self.residual.coarse(table)

    def to_dict(self) -> dict[str, Any]:
        return self.residual.to_dict() | {"kind": self.kind}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> BinnedTable:
        return cls(tuple(data["columns"]), _bins_from(data["bins"]), _completed_from(data))


@dataclass(frozen=True, slots=True)
class ModelDistance:
    """How many rows a model's table is off: the sum over cells of |count - reference|.

    The reference is computed from noisy numbers before this is asked, so it is public; a file
    keeps its digest only, for it can be computed again.
    """

    columns: tuple[str, ...]
    digest: str
    bins: tuple[Bins | None, ...] | None = None
    reference: Counts | None = field(default=None, compare=False, repr=False)
    completed: tuple[str, ...] = ()
    kind: ClassVar[str] = "model-distance"

    @classmethod
    def to(
        cls,
        columns: tuple[str, ...],
        reference: Counts,
        bins: tuple[Bins | None, ...] | None = None,
        completed: tuple[str, ...] = (),
    ) -> ModelDistance:
        fixed = np.ascontiguousarray(reference, dtype=np.int64)
        digest = hashlib.sha256(fixed.tobytes()).hexdigest()
        return cls(columns, digest, bins, fixed, completed)

    @property
    def _residual(self) -> Residual:
        return Residual(self.columns, self.bins, self.completed)

    @property
    def counted(self) -> tuple[tuple[str, ...], ...]:
        return self._residual.counted

    def size(self, schema: Schema) -> int:
        shape = self._residual.shape(schema)
        if self.reference is not None and self.reference.shape != shape:
            raise BadInput("The model's table has not the shape of the marginal.")
        return 1

    def sensitivity(self, schema: Schema) -> Sensitivity:
        """Each cell's distance moves by at most as much as its count."""
        moved = sensitivity_of_disjoint_counts(schema.adjacency, schema.unit).l1
        return Sensitivity(l1=moved, l2_squared=moved * moved)

    def evaluate(self, *counts: Counts) -> Counts:
        if self.reference is None:
            raise BadInput("A distance read from a file has no reference to measure from.")
        table = self._residual.coarse(self._residual.table(counts))
        return np.array([np.abs(table - self.reference).sum(dtype=np.int64)], dtype=np.int64)

    def to_dict(self) -> dict[str, Any]:
        return self._residual.to_dict() | {"kind": self.kind, "digest": self.digest}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> ModelDistance:
        return cls(
            tuple(data["columns"]),
            str(data["digest"]),
            _bins_from(data["bins"]),
            completed=_completed_from(data),
        )


def _bins_from(data: Any) -> tuple[Bins | None, ...] | None:
    if data is None:
        return None
    return tuple(None if each is None else tuple(int(place) for place in each) for each in data)


def _completed_from(data: dict[str, Any]) -> tuple[str, ...]:
    return tuple(str(name) for name in data.get("completed", ()))


@lru_cache(maxsize=1024)
def _many(bins: Bins) -> int | None:
    """How many bins there are; `None` where their numbers leave a gap."""
    found = set(bins)
    return len(found) if found == set(range(len(found))) else None


def binned(table: npt.NDArray[Any], bins: Sequence[int], axis: int) -> npt.NDArray[Any]:
    """`table` with the cells of one axis added up into bins."""
    order, starts = _runs(tuple(bins))
    moved = np.moveaxis(table, axis, 0)
    if order is not None:
        moved = moved[order]
    return np.moveaxis(np.add.reduceat(moved, starts, axis=0), 0, axis)


@lru_cache(maxsize=1024)
def _runs(bins: Bins) -> tuple[npt.NDArray[np.int64] | None, npt.NDArray[np.int64]]:
    """An order in which the cells of a bin follow one another, unless they do, and where each bin starts in it."""
    places, order = np.asarray(bins), None
    if np.any(places[1:] < places[:-1]):
        order = np.argsort(places, kind="stable")
        places = places[order]
    return order, np.flatnonzero(np.diff(places, prepend=-1))  # bins are numbered without a gap


def centred_integers(table: Counts) -> Counts:
    """d I - 1 along every axis of d cells."""
    found = table
    for axis, cells in enumerate(table.shape):
        if cells > 1 or table.ndim > 1:
            found = cells * found - found.sum(axis=axis, keepdims=True)
    return found


def subsets(columns: tuple[str, ...]) -> list[tuple[str, ...]]:
    """All subsets, the smallest first, each in the order of `columns`."""
    return [each for size in range(len(columns) + 1) for each in combinations(columns, size)]


def _of_the_total(adjacency: Adjacency, unit: PrivacyUnit) -> Sensitivity:
    """The number of rows. Changing one row leaves it, and it is public then; a person's rows may be
    replaced by more or fewer."""
    if adjacency is Adjacency.CHANGE_ONE and unit.identifier is None:
        raise BadInput(
            "Under change-one adjacency the number of rows is public: it needs no noise."
        )
    return Sensitivity(l1=unit.max_rows, l2_squared=unit.max_rows**2)


@lru_cache(maxsize=65536)
def _reach(sizes: tuple[int, ...], adjacency: Adjacency) -> tuple[int, int]:
    """How far one row moves the residual: L1, and L2 squared, exactly.

    A row at a cell adds the product over columns of u = d e - 1, which has one entry d - 1 and
    d - 1 entries -1: L1 2(d - 1), squared L2 d(d - 1). A changed row moves the difference of two
    such products, which depends only on the columns in which the two cells differ; where they do,
    u.u' = -d. All choices of those columns are gone through. (All rows of a unit in one cell is
    the worst: the norm is convex, and a row in no cell moves less.)
    """
    one = prod(2 * (d - 1) for d in sizes), prod(d * (d - 1) for d in sizes)
    match adjacency:
        case Adjacency.ADD_REMOVE:
            return one
        case Adjacency.CHANGE_ONE:
            changes = [
                _difference(sizes, chosen)
                for many in range(1, len(sizes) + 1)
                for chosen in combinations(range(len(sizes)), many)
            ]
            return max(first for first, _ in changes), max(second for _, second in changes)
    assert_never(adjacency)


def _difference(sizes: tuple[int, ...], chosen: tuple[int, ...]) -> tuple[int, int]:
    """The norms of the difference of two cells that differ in the columns `chosen` only."""
    same = [d for place, d in enumerate(sizes) if place not in chosen]
    first, second = prod(2 * (d - 1) for d in same), prod(d * (d - 1) for d in same)
    # Along a column that differs: the cell of one, the cell of the other, and the d - 2 others.
    kinds = [
        [(d - 1, -1, 1), (-1, d - 1, 1), (-1, -1, d - 2)] for d in map(sizes.__getitem__, chosen)
    ]
    l1 = l2 = 0
    for each in product(*kinds):
        times = prod(many for _, _, many in each)
        moved = abs(prod(mine for mine, _, _ in each) - prod(other for _, other, _ in each))
        l1 += times * moved
        l2 += times * moved * moved
    return first * l1, second * l2
