"""Sums and counts of a column for each group of rows: what a release of grouped means measures.

A group is one combination of cells of the group columns, so a row is in at most one. Adding a row
therefore moves the numbers of one group only, and many groups cost no more than one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor
from typing import Any, ClassVar, Self, assert_never

import numpy as np

from discreet.errors import BadInput
from discreet.families.groups.queries.group_ranges import OneTally, check_groups
from discreet.privacy.adjacency import Adjacency, Sensitivity
from discreet.queries.measurable import SATURATION, Counts
from discreet.queries.tallies import Tally, Total, Valued
from discreet.schema import Schema


@dataclass(frozen=True, slots=True)
class GroupEnds:
    """For each group, the sum of (value - low) and the sum of (high - value), in units of 1/grid.

    With W the width of the bounds in steps, the two numbers of a row with a value are not negative and
    add to W. So together they move by exactly W in L1 when such a row comes or goes: as much as one of
    them alone can. Their sum is W times the number of values, and their difference is twice the sum
    of the values measured from the middle of the bounds. With Laplace noise this is the K-norm
    mechanism whose unit ball is the convex hull of what a row can do to (sum, count), which is the
    best choice of ball (Hardt and Talwar 2010; Awan and Slavkovic 2021).

    Changing a row moves both numbers of a group by up to W, or one group's by W and another's by
    W: 2W in L1, sqrt(2) W in L2. A unit of m rows moves them by m times as much.
    """

    column: str
    groups: tuple[str, ...]
    grid: int
    kind: ClassVar[str] = "group-ends"

    def __post_init__(self) -> None:
        _check(self.column, self.groups, self.grid)

    def bounds(self, schema: Schema) -> tuple[int, int]:
        """The declared bounds in steps of the grid, rounded outwards."""
        bounds = schema.column(self.column).value_bounds
        if bounds is None:
            raise BadInput(
                f"Column {self.column} is of kind {schema.column(self.column).kind}; "
                "only integer, number and boolean columns can be summed."
            )
        low, high = (Fraction(bound) * self.grid for bound in bounds)
        return floor(low), ceil(high)

    def width(self, schema: Schema) -> int:
        low, high = self.bounds(schema)
        return max(1, high - low)

    def tallies(self, schema: Schema) -> tuple[Tally, ...]:
        low, _ = self.bounds(schema)
        return (
            Tally(Total(self.column, self.grid, low), self.groups),
            Tally(Valued(self.column), self.groups),
        )

    def size(self, schema: Schema) -> int:
        return 2 * self.tallies(schema)[0].size(schema)

    def sensitivity(self, schema: Schema) -> Sensitivity:
        moved = self.width(schema) * schema.unit.max_rows
        match schema.adjacency:
            case Adjacency.ADD_REMOVE:
                return Sensitivity(l1=moved, l2_squared=moved * moved)
            case Adjacency.CHANGE_ONE:
                return Sensitivity(l1=2 * moved, l2_squared=2 * moved * moved)
        assert_never(schema.adjacency)

    def answered(self, tallied: Sequence[Counts], schema: Schema) -> Counts:
        """First the sums from below, then those from above.

        The second is W times the count less the first, in whole numbers of any length. Where the
        first was clamped, the second takes up what it lost, so no unit moves the two further.
        """
        below, present = (each.astype(object) for each in tallied)
        above = self.width(schema) * present - below
        both = np.concatenate([below, above])
        return np.asarray(np.clip(both, -SATURATION, SATURATION).astype(np.int64))

    def to_dict(self) -> dict[str, Any]:
        return _stored(self)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        return cls(str(data["column"]), tuple(data["groups"]), _whole(data["grid"]))


@dataclass(frozen=True, slots=True)
class GroupSums(OneTally):
    """For each group, the sum of (value - center), in units of 1/grid; a null adds nothing."""

    column: str
    groups: tuple[str, ...]
    grid: int
    center: int
    """In steps of the grid."""
    kind: ClassVar[str] = "group-sums"

    def __post_init__(self) -> None:
        _check(self.column, self.groups, self.grid)

    def tallies(self, schema: Schema) -> tuple[Tally, ...]:
        return (Tally(Total(self.column, self.grid, self.center), self.groups),)

    def to_dict(self) -> dict[str, Any]:
        return {**_stored(self), "center": self.center}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        grid, center = _whole(data["grid"]), _whole(data["center"])
        return cls(str(data["column"]), tuple(data["groups"]), grid, center)


@dataclass(frozen=True, slots=True)
class GroupCounts(OneTally):
    """For each group, how many rows have a value in the column."""

    column: str
    groups: tuple[str, ...]
    kind: ClassVar[str] = "group-counts"

    def __post_init__(self) -> None:
        _check(self.column, self.groups, 1)

    def tallies(self, schema: Schema) -> tuple[Tally, ...]:
        return (Tally(Valued(self.column), self.groups),)

    def to_dict(self) -> dict[str, Any]:
        return {"kind": self.kind, "column": self.column, "groups": list(self.groups)}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        return cls(str(data["column"]), tuple(data["groups"]))


def _stored(query: GroupEnds | GroupSums) -> dict[str, Any]:
    return {
        "kind": query.kind,
        "column": query.column,
        "groups": list(query.groups),
        "grid": query.grid,
    }


def _check(column: str, groups: tuple[str, ...], grid: int) -> None:
    check_groups(column, groups)
    if grid < 1:
        raise BadInput(f"The grid of a sum over {column} is {grid}; it must be at least 1.")


def _whole(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise BadInput("A grid and a center are whole numbers.")
    return value
