"""Whom the guarantee protects: which tables are neighbours, and how much of a table is one person."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import assert_never

from discreet.errors import BadInput
from discreet.privacy.exact import at_least_one


class Adjacency(StrEnum):
    """Which tables are neighbours.

    `add-remove`: one unit more or less; the number of rows is then a secret.
    `change-one`: one unit's rows replaced by others; the number of rows is then public.

    Thread safe: it never changes.
    """

    ADD_REMOVE = "add-remove"
    CHANGE_ONE = "change-one"


@dataclass(frozen=True, slots=True)
class PrivacyUnit:
    """One row, or all rows that share an identifier, of which at most `max_rows` are kept.

    A row whose identifier is null, NaN or infinite belongs to nobody, and is left out of every count.

    A grouped question uses at most `max_groups` groups of a unit (None: as many as it has rows).

    Thread safe: it never changes.
    """

    identifier: str | None = None
    max_rows: int = 1
    max_groups: int | None = None

    def __post_init__(self) -> None:
        at_least_one(self.max_rows, name="max_rows")
        if self.identifier is None and self.max_rows != 1:
            raise BadInput(
                "max_rows needs an identifier column: without one, the unit is a single row."
            )
        if self.max_groups is None:
            return
        at_least_one(self.max_groups, name="max_groups")
        if self.identifier is None:
            raise BadInput(
                "max_groups needs an identifier column: without one, the unit is a single row."
            )

    @property
    def groups(self) -> int:
        """In how many groups of a question a unit can be."""
        return min(self.max_rows, self.max_groups or self.max_rows)


@dataclass(frozen=True, slots=True)
class Sensitivity:
    """How far one unit can move a vector of integers: in L1, and in L2 (squared, so that it stays an integer)."""

    l1: int
    l2_squared: int

    def __post_init__(self) -> None:
        if self.l1 < 1 or self.l2_squared < 1:
            raise BadInput("A sensitivity is a positive integer.")


def sensitivity_of_disjoint_counts(adjacency: Adjacency, unit: PrivacyUnit) -> Sensitivity:
    """Counts over cells of which a row lies in at most one.

    A unit has up to m rows, in the worst case all in one cell: adding it moves one cell by m;
    changing it moves m from one cell to another, which is 2m in L1 and m*m + m*m in squared L2.
    """
    rows = unit.max_rows
    match adjacency:
        case Adjacency.ADD_REMOVE:
            return Sensitivity(l1=rows, l2_squared=rows * rows)
        case Adjacency.CHANGE_ONE:
            return Sensitivity(l1=2 * rows, l2_squared=2 * rows * rows)
    assert_never(adjacency)


def sensitivity_of_one_count(unit: PrivacyUnit) -> Sensitivity:
    """One count of rows moves by at most a unit's rows, under either adjacency.

    A changed row leaves what is counted, or enters it, but cannot do both.
    """
    return Sensitivity(l1=unit.max_rows, l2_squared=unit.max_rows**2)
