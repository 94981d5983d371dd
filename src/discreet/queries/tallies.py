"""Tallies: integers added up per group over the rows that meet a condition, and their sensitivity.

A row lies in at most one group, and adds there an integer between two public bounds. Whatever the
condition says, a row that fails it adds 0, so the bounds always include 0.

With M the greater bound in absolute value and m the rows of a unit:
  add-remove            L1 = m M                        L2 = m M
  change-one, one cell  L1 = m (high - low)             L2 the same
  change-one, several   L1 = 2 m M                      L2 = m max(high - low, sqrt(2) M)
A changed row takes its old value out of one cell and puts its new one into the same cell (high -
low at most) or another (M in each), and the m rows' changes add up at worst.

Keys that were found on the way count as several cells, however many were found. A unit is seen in
at most `max_groups` groups, which matters where people are counted: for rows it may be one group.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from math import ceil, floor, prod
from typing import Any, ClassVar, assert_never

import numpy as np

from discreet.errors import BadInput
from discreet.privacy.adjacency import Adjacency, Sensitivity
from discreet.queries.measurable import Counts
from discreet.questions.expression_bounds import Ends, expression_bounds
from discreet.questions.expressions import TRUE, Bins, Expression, canonical
from discreet.schema import Schema
from discreet.schema.limits import MOST_CELLS

FARTHEST_STEP = 1 << 60
"""Values in steps of a grid lie nearer to 0 than this, centred or not, with room for rounding."""
MOST_ROWS = 1 << 40
"""Rows that a sum's rounding is bounded for."""
Key = tuple[str, ...]
"""The texts of some category columns, of a row or of a group."""
Summand = str | Expression
"""What an aggregate adds up: a column, or an expression over clamped columns."""


@dataclass(frozen=True, slots=True)
class FoundKeys:
    """Groups that no schema lists: the keys over `columns` that partition selection named."""

    columns: tuple[str, ...]
    texts: tuple[Key, ...] = ()


@dataclass(frozen=True, slots=True)
class Rows:
    """1 for each row."""

    kind: ClassVar[str] = "rows"


@dataclass(frozen=True, slots=True)
class Present:
    """1 for each row whose column, or expression over raw columns, is not null: COUNT(column)."""

    of: Summand
    kind: ClassVar[str] = "present"


@dataclass(frozen=True, slots=True)
class Valued:
    """1 for each row that a sum adds up: the column's cell is a value cell, or the expression not null."""

    of: Summand
    kind: ClassVar[str] = "valued"


@dataclass(frozen=True, slots=True)
class Total:
    """round(grid * clamped value) - grid * center for each valued row.

    With `bits`, each row is rounded to a grid 2^bits times as fine, and only the sum is rounded down
    to this one. A sum that moves by d fine steps moves by at most d / 2^bits steps, rounded up, so
    no row counts for more than its bounds in steps, rounded outwards.

    An expression's value is clamped to its own bounds, row by row and in steps, after it was rounded:
    what a row can add rests on that clamp of integers, and on no property of doubles.
    """

    of: Summand
    grid: int
    center: int
    """In steps of the grid."""
    bits: int = 0
    kind: ClassVar[str] = "total"

    @property
    def rounding(self) -> Fraction:
        """How far rounding can move the sum, either way, once half a step is added to it."""
        if not self.bits:
            return Fraction(0)
        return (Fraction(1, 2) + Fraction(MOST_ROWS, 2 << self.bits)) / self.grid


@dataclass(frozen=True, slots=True)
class Squares:
    """The square of what `Total` adds, divided by 2^shift and rounded down."""

    of: Summand
    grid: int
    center: int
    shift: int
    kind: ClassVar[str] = "squares"


@dataclass(frozen=True, slots=True)
class Cells:
    """1 for each row in the cell of its column; with a shift, of value cells, 2^shift to a bucket."""

    column: str
    shift: int | None = None
    """None: every cell of the column; a number: value cells only, in buckets."""
    kind: ClassVar[str] = "cells"

    def buckets(self, schema: Schema) -> int:
        column = schema.column(self.column)
        if self.shift is None:
            return column.cells
        return ((column.value_cells - 1) >> self.shift) + 1


@dataclass(frozen=True, slots=True)
class Persons:
    """1 for each privacy unit with a row in the group."""

    kind: ClassVar[str] = "persons"


Term = Rows | Present | Valued | Total | Squares | Cells | Persons


@dataclass(frozen=True, slots=True)
class Tally:
    """One integer a group (for `Cells`, one a group and bucket), over the rows that meet `condition`."""

    term: Term
    groups: tuple[str | Bins, ...] = ()
    """Columns, a group for each of their cells; or public maps of what rows can be to groups."""
    condition: Expression = TRUE
    found: FoundKeys | None = None

    def shape(self, schema: Schema) -> tuple[int, ...]:
        """Found keys, cells of each group column or groups of each map, then buckets."""
        sizes = [] if self.found is None else [len(self.found.texts)]
        sizes += [
            each.size if isinstance(each, Bins) else schema.column(each).cells
            for each in self.groups
        ]
        if isinstance(self.term, Cells):
            sizes.append(self.term.buckets(schema))
        return tuple(sizes)

    def size(self, schema: Schema) -> int:
        cells = prod(self.shape(schema))
        if cells > MOST_CELLS:
            raise BadInput(
                f"The question has {cells:,} cells; at most {MOST_CELLS:,} are counted one by one. "
                "Nothing was read or charged. Group by fewer columns, or declare wider cells."
            )
        return cells

    def row_bounds(self, schema: Schema) -> tuple[int, int]:
        """The least and greatest integer that one row can add, 0 included."""
        term = self.term
        match term:
            case Rows() | Present() | Valued() | Cells() | Persons():
                return 0, 1
            case Total(of=of, grid=grid, center=center, bits=bits):
                low, high = _near_zero(of, grid, bits, schema)
                return min(0, low - center), max(0, high - center)
            case Squares(of=of, grid=grid, center=center, shift=shift):
                low, high = _near_zero(of, grid, 0, schema)
                return 0, max((low - center) ** 2, (high - center) ** 2) >> shift
        assert_never(term)

    def sensitivity(self, schema: Schema) -> Sensitivity:
        low, high = self.row_bounds(schema)
        furthest, width = max(-low, high, 1), max(high - low, 1)
        cells = self.size(schema) if self.found is None else MOST_CELLS
        rows = schema.unit.max_rows
        if isinstance(self.term, Persons):
            return _sensitivity_of_persons(min(schema.unit.groups, cells), cells, schema.adjacency)
        match schema.adjacency:
            case Adjacency.ADD_REMOVE:
                return Sensitivity(l1=rows * furthest, l2_squared=(rows * furthest) ** 2)
            case Adjacency.CHANGE_ONE if cells == 1:
                return Sensitivity(l1=rows * width, l2_squared=(rows * width) ** 2)
            case Adjacency.CHANGE_ONE:
                squared = max(width**2, 2 * furthest**2)
                return Sensitivity(l1=2 * rows * furthest, l2_squared=rows**2 * squared)
            case _ as unknown:
                assert_never(unknown)

    def to_dict(self) -> dict[str, Any]:
        parts = {name: getattr(self.term, name) for name in self.term.__slots__}
        if "of" in parts and not isinstance(parts["of"], str):
            parts["of"] = canonical(parts["of"])
        return {
            "kind": self.term.kind,
            **parts,
            "groups": [asdict(each) if isinstance(each, Bins) else each for each in self.groups],
            "found": None if self.found is None else list(self.found.columns),
            "condition": canonical(self.condition),
        }


@dataclass(frozen=True, slots=True)
class WeightedCounts:
    """Scores for a private choice: every cell of each tally of rows, times the tally's weight.

    One unit moves any one count by at most its rows, under either adjacency, so no score moves by
    more than that times the greatest weight.
    """

    tallies: tuple[Tally, ...]
    weights: tuple[int, ...]

    def __post_init__(self) -> None:
        if len(self.tallies) != len(self.weights) or not self.tallies:
            raise BadInput("A choice needs candidates, each with a weight.")
        if any(not isinstance(tally.term, (Rows, Cells)) for tally in self.tallies):
            raise BadInput("A choice is between counts of rows.")
        if any(not 0 < abs(weight) <= 1 << 30 for weight in self.weights):
            raise BadInput("A candidate's weight is a whole number between 1 and 2^30.")

    def candidates(self, schema: Schema) -> int:
        return sum(tally.size(schema) for tally in self.tallies)

    def sensitivity(self, schema: Schema) -> int:
        return max(map(abs, self.weights)) * schema.unit.max_rows

    def evaluate(self, counts: Sequence[Counts]) -> Counts:
        weighted = zip(counts, self.weights, strict=True)
        most = 1 << 31
        return np.concatenate([np.minimum(count, most) * weight for count, weight in weighted])


def keys_touched(schema: Schema) -> int:
    """How many keys' numbers of units one unit can move, each by 1.

    Changed, it leaves up to `max_groups` keys and enters as many others.
    """
    match schema.adjacency:
        case Adjacency.ADD_REMOVE:
            return schema.unit.groups
        case Adjacency.CHANGE_ONE:
            return 2 * schema.unit.groups
    assert_never(schema.adjacency)


def _sensitivity_of_persons(touched: int, cells: int, adjacency: Adjacency) -> Sensitivity:
    """A unit adds 1 to each group it is seen in, at most `max_groups` and at most its rows.

    Changed, it leaves up to `touched` groups and enters as many others: each of them moves by 1.
    """
    match adjacency:
        case Adjacency.ADD_REMOVE:
            moved = touched
        case Adjacency.CHANGE_ONE:
            moved = min(2 * touched, cells)
        case _ as unknown:
            assert_never(unknown)
    return Sensitivity(l1=moved, l2_squared=moved)


def summand_bounds(of: Summand, schema: Schema) -> Ends:
    """The least and the greatest number that a row can add."""
    if not isinstance(of, str):
        return expression_bounds(of, schema)
    bounds = schema.column(of).value_bounds
    if bounds is None:
        raise BadInput(
            f"Column {of} is of kind {schema.column(of).kind}; only integer, number and boolean "
            "columns can be summed. Nothing was read or charged."
        )
    return Fraction(bounds[0]), Fraction(bounds[1])


def _near_zero(of: Summand, grid: int, bits: int, schema: Schema) -> tuple[int, int]:
    """`steps_of`, where the engine can hold them: it centres a value only after it has it in 64 bits."""
    low, high = steps_of(of, grid, schema)
    if max(-low, high) << bits >= FARTHEST_STEP << 2:
        raise BadInput(
            "The values inside an aggregate are too far from 0 to be held in 64-bit integers. Nothing was read or "
            "charged. Subtract a constant, or narrow the bounds."
        )
    return low, high


def steps_of(of: Summand, grid: int, schema: Schema) -> tuple[int, int]:
    """The clamped value in steps of the grid, rounded outwards."""
    low, high = summand_bounds(of, schema)
    return floor(low * grid), ceil(high * grid)


def is_whole(of: Summand, schema: Schema) -> bool:
    """Whether every value is a whole number, so that no grid rounds it."""
    return schema.column(of).kind != "number" if isinstance(of, str) else of.type == "integer"
