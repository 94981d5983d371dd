"""Queries that the core can measure: integer answers, with a sensitivity derived from the query.

Every one of them is a function of exact counts or sums that an engine knows how to make.
A family that measures others names them in its entry of the registry.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor, prod
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, assert_never, runtime_checkable

import numpy as np
import numpy.typing as npt

from discreet.errors import BadInput
from discreet.privacy.adjacency import (
    Adjacency,
    Sensitivity,
    sensitivity_of_disjoint_counts,
    sensitivity_of_one_count,
)
from discreet.privacy.exact import exact
from discreet.schema import Schema
from discreet.schema.limits import MOST_CELLS

if TYPE_CHECKING:
    from discreet.queries.tallies import Tally

Counts = npt.NDArray[np.int64]

SATURATION = 1 << 61
"""Exact answers are clamped to this, either side of 0, before noise: a 1-Lipschitz map, so no
sensitivity grows, and no sum can wrap in 64 bits."""


@runtime_checkable
class CountQuery(Protocol):
    """Integers computed from the exact counts of one marginal."""

    kind: ClassVar[str]

    @property
    def columns(self) -> tuple[str, ...]: ...

    def size(self, schema: Schema) -> int:
        """How many integers the answer has: public, from the schema alone."""
        ...

    def sensitivity(self, schema: Schema) -> Sensitivity:
        """How far one privacy unit can move the answer, under the schema's adjacency and unit."""
        ...

    def evaluate(self, counts: Counts) -> Counts:
        """The answer, flat, from the marginal over `columns`."""
        ...

    def to_dict(self) -> dict[str, Any]: ...


def counted_for(query: CountQuery) -> tuple[tuple[str, ...], ...]:
    """The marginals that `evaluate` takes: that over the query's columns, unless it names others behind it."""
    return tuple(getattr(query, "counted", (query.columns,)))


@dataclass(frozen=True, slots=True)
class Marginal:
    """Count rows per combination of cells of `columns`. A row lies in at most one cell."""

    columns: tuple[str, ...]
    kind: ClassVar[str] = "marginal"
    is_table: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if len(set(self.columns)) != len(self.columns):
            raise BadInput(f"A query names a column twice: {', '.join(self.columns)}.")

    def shape(self, schema: Schema) -> tuple[int, ...]:
        return tuple(schema.column(name).cells for name in self.columns)

    def size(self, schema: Schema) -> int:
        cells = prod(self.shape(schema))
        if cells > MOST_CELLS:
            raise BadInput(
                f"The marginal over {', '.join(self.columns)} has {cells:,} cells; at most "
                f"{MOST_CELLS:,} can be counted one by one. Use wider cells, fewer columns, "
                "or intervals, which need no list of cells."
            )
        return cells

    def sensitivity(self, schema: Schema) -> Sensitivity:
        return sensitivity_of_disjoint_counts(schema.adjacency, schema.unit)

    def evaluate(self, counts: Counts) -> Counts:
        return counts.reshape(-1)

    def to_dict(self) -> dict[str, Any]:
        return {"kind": self.kind, "columns": list(self.columns)}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Marginal:
        return cls(columns=tuple(data["columns"]))


@dataclass(frozen=True, slots=True)
class ClampedSum:
    """Sum of `column`, each value clamped to the schema's bounds and moved by `center`, in units of 1/grid.

    A row contributes the integer round(grid * (clamp(value) - center)); a null contributes 0.
    Centring halves the sensitivity under add-remove: a mean is then center + sum / count.
    The center lies on the grid, so that it can be taken off after rounding.
    """

    column: str
    grid: int = 1
    center: Fraction = Fraction(0)
    kind: ClassVar[str] = "clamped-sum"

    def __post_init__(self) -> None:
        if self.grid < 1:
            raise BadInput(
                f"The grid of a sum over {self.column} is {self.grid}; it must be at least 1."
            )
        if (Fraction(self.center) * self.grid).denominator != 1:
            raise BadInput(
                f"The center of a sum over {self.column} is {self.center}, which is not a multiple of "
                f"the grid's step 1/{self.grid}."
            )

    def unit_bounds(self, schema: Schema) -> tuple[int, int]:
        """The least and greatest integer that one row can contribute, 0 (a null) included."""
        bounds = schema.column(self.column).value_bounds
        if bounds is None:
            raise BadInput(
                f"Column {self.column} is of kind {schema.column(self.column).kind}; "
                "only integer and number columns can be summed."
            )
        low, high = (Fraction(bound) - self.center for bound in bounds)
        return min(0, floor(low * self.grid)), max(0, ceil(high * self.grid))

    def size(self, schema: Schema) -> int:
        self.unit_bounds(schema)
        return 1

    def sensitivity(self, schema: Schema) -> Sensitivity:
        low, high = self.unit_bounds(schema)
        match schema.adjacency:
            case Adjacency.ADD_REMOVE:
                furthest = max(-low, high)
            case Adjacency.CHANGE_ONE:
                furthest = high - low
            case _ as unknown:
                assert_never(unknown)
        moved = max(1, furthest) * schema.unit.max_rows
        return Sensitivity(l1=moved, l2_squared=moved * moved)

    def to_dict(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "column": self.column,
            "grid": self.grid,
            "center": str(self.center),
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> ClampedSum:
        return cls(data["column"], data["grid"], exact(data["center"], name="center"))


@dataclass(frozen=True, slots=True)
class PresentCount:
    """Count the rows that `ClampedSum` adds up: those with a value in the column's domain.

    It needs no list of cells, of which a column may have 2^64.
    """

    column: str
    kind: ClassVar[str] = "present-count"

    def size(self, schema: Schema) -> int:
        column = schema.column(self.column)
        if column.value_bounds is None:
            raise BadInput(
                f"Column {self.column} is of kind {column.kind}; only the values of integer and number "
                "columns can be counted this way."
            )
        return 1

    def sensitivity(self, schema: Schema) -> Sensitivity:
        return sensitivity_of_one_count(schema.unit)

    def to_dict(self) -> dict[str, Any]:
        return {"kind": self.kind, "column": self.column}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> PresentCount:
        return cls(column=data["column"])


@runtime_checkable
class TallyQuery(Protocol):
    """Integers computed from exact tallies, in their order: sums and counts for groups of rows."""

    kind: ClassVar[str]

    def tallies(self, schema: Schema) -> tuple[Tally, ...]: ...
    def size(self, schema: Schema) -> int: ...
    def sensitivity(self, schema: Schema) -> Sensitivity: ...
    def answered(self, tallied: Sequence[Counts], schema: Schema) -> Counts: ...
    def to_dict(self) -> dict[str, Any]: ...


Query = CountQuery | TallyQuery | ClampedSum | PresentCount
