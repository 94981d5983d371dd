"""Columns of numbers: integers in a range, and real numbers cut into finitely many cells."""

from __future__ import annotations

import math
import struct
from bisect import bisect_left, bisect_right
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from typing import ClassVar, Literal

from discreet.schema.columns.column import Nulls, Outside
from discreet.schema.columns.ordered import OrderedColumn
from discreet.schema.columns.values import double_of, integer_of, plain

SMALLEST_INTEGER, LARGEST_INTEGER = -(2**63), 2**63 - 1
MOST_BITS = 48
"""Beyond it, a double's own rounding is as coarse as a cell."""
MOST_LISTED_EDGES = 4096
"""Up to so many cells are told apart by listed edges, more by a formula."""

UNCUT = "it has neither `bits` nor `cuts`, and a column of numbers must be divided into cells: over a continuous domain no private release is useful (Blum, Ligett and Roth 2008). Write `bits = 10` for 1024 equal cells between the bounds, or `cuts = [1.5, 20]` for cells of your own."


def outside_mistakes(outside: object) -> list[str]:
    if outside in ("edge", "other", "exclude"):
        return []
    return [f'`outside` is {outside!r}; write "edge", "other" or "exclude".']


@dataclass(frozen=True, slots=True)
class IntegerColumn(OrderedColumn):
    """Integers from `low` to `high`, both included, `width` of them to a cell.

    A number with a fraction counts as the integer below it.
    """

    kind: ClassVar[str] = "integer"
    example: ClassVar[str] = "a number such as 7"  # type: ignore[misc]

    name: str
    low: int
    high: int
    width: int = 1
    outside: Outside = "edge"
    nulls: Nulls = "cell"

    def mistakes(self) -> list[str]:
        found = outside_mistakes(self.outside)
        for what, number in (("low", self.low), ("high", self.high), ("width", self.width)):
            if isinstance(number, bool) or not isinstance(number, int):
                return [*found, f"its {what} is {number!r}; it must be a whole number."]
        if (
            min(self.low, self.high) < SMALLEST_INTEGER
            or max(self.low, self.high) > LARGEST_INTEGER
        ):
            return [*found, "`range` leaves the 64-bit integers, -2^63 to 2^63-1; narrow it."]
        if self.width > 2**64:
            return [*found, "`width` is more than 2^64, and there are no more integers than that."]
        if self.low > self.high:
            found.append(
                f"`range` runs from {self.low} to {self.high}; write the smaller number first."
            )
        span = self.high - self.low + 1
        if self.width < 1:
            found.append(f"`width` is {self.width}; a cell holds at least 1 integer.")
        elif span >= 1 and span % self.width:
            longer = self.low + -(-span // self.width) * self.width - 1
            found.append(
                f"`width` is {self.width}, which does not divide the {span} integers from {self.low} "
                f"to {self.high}; end the range at {longer}, or take another width."
            )
        return found

    @property
    def value_cells(self) -> int:
        return (self.high - self.low + 1) // self.width

    @property
    def value_bounds(self) -> tuple[Fraction, Fraction]:
        return Fraction(self.low), Fraction(self.high)

    def unit_of(self, value: object) -> int | None:
        return integer_of(value)

    def code_of_unit(self, unit: int | float) -> int:
        return (math.floor(unit) - self.low) // self.width

    def extent(self, code: int) -> tuple[int, int]:
        first = self.low + self._value_code(code) * self.width
        return first, first + self.width - 1

    def bounds(self, code: int) -> tuple[int, int]:
        """The first integer of the cell, and the first after it."""
        first, last = self.extent(code)
        return first, last + 1

    def literal_in_units(self, literal: object) -> Fraction:
        value = plain(literal)
        if isinstance(value, bool) or not isinstance(value, (int, float, Decimal, Fraction)):
            raise self._wrong()
        return Fraction(value)

    def _value_label(self, code: int) -> str:
        first, last = self.extent(code)
        return str(first) if first == last else f"{first} to {last}"

    def _value_in(self, code: int, fraction: Fraction) -> object:
        return self.extent(code)[0] + math.floor(fraction * self.width)


@dataclass(frozen=True, slots=True)
class DoubleFormula:
    """A number's cell in IEEE doubles, alike in Python and SQL: each step rounds to nearest.

    closed left:  floor((x - low) * scale); closed right: ceil((x - low) * scale) - 1;
    then clamped into 0 .. cells - 1. Only for low <= x <= high.
    """

    low: float
    high: float
    scale: float
    cells: int
    closed: Literal["left", "right"]

    def code(self, number: float) -> int:
        place = (number - self.low) * self.scale
        code = math.floor(place) if self.closed == "left" else math.ceil(place) - 1
        return min(max(code, 0), self.cells - 1)


@dataclass(frozen=True, slots=True)
class NumberColumn(OrderedColumn):
    """Doubles from `low` to `high`, both included, in 2^`bits` equal cells or cut at `cuts`.

    `closed` says which end of a cell belongs to it: with "left" a cell is [a, b) and the last one
    also holds `high`; with "right" it is (a, b] and the first one also holds `low`.
    """

    kind: ClassVar[str] = "number"
    example: ClassVar[str] = "a number such as 2.5"  # type: ignore[misc]

    name: str
    low: float
    high: float
    bits: int | None = None
    cuts: tuple[float, ...] | None = None
    closed: Literal["left", "right"] = "left"
    outside: Outside = "edge"
    nulls: Nulls = "cell"
    inner_edges: tuple[float, ...] | None = field(init=False, repr=False, compare=False)
    """The edges between cells, where they are few enough to list; else see `double_formula`."""
    double_formula: DoubleFormula | None = field(init=False, repr=False, compare=False)
    """The formula, where there are too many cells to list their edges."""

    def __post_init__(self) -> None:
        OrderedColumn.__post_init__(self)
        for name in ("low", "high"):
            object.__setattr__(self, name, float(getattr(self, name)) + 0.0)  # -0.0 is 0.0
        edges: tuple[float, ...] | None = None
        formula: DoubleFormula | None = None
        if self.cuts is not None:
            edges = tuple(float(cut) + 0.0 for cut in self.cuts)
            object.__setattr__(self, "cuts", edges)
        elif self.value_cells <= MOST_LISTED_EDGES:
            low, step = Fraction(self.low), Fraction(self.high) - Fraction(self.low)
            cells = self.value_cells
            edges = tuple(float(low + step * k / cells) for k in range(1, cells))
        else:
            scale = float(self.value_cells) / (self.high - self.low)
            formula = DoubleFormula(self.low, self.high, scale, self.value_cells, self.closed)
        object.__setattr__(self, "inner_edges", edges)
        object.__setattr__(self, "double_formula", formula)

    def mistakes(self) -> list[str]:
        found = outside_mistakes(self.outside)
        if self.closed not in ("left", "right"):
            found.append(
                f'`closed` is {self.closed!r}; write "left" for [a, b) or "right" for (a, b].'
            )
        numbers = (self.low, self.high, *(self.cuts or ()))
        for number in numbers:
            if isinstance(number, bool) or not isinstance(number, (int, float)):
                return [*found, f"{number!r} is not a number."]
            if double_of(number) is None:
                return [
                    *found,
                    f"{str(number)[:20]} is not a finite double; give finite bounds and cuts.",
                ]
        low, high = float(self.low), float(self.high)
        if low >= high:
            found.append(f"`bounds` run from {low!r} to {high!r}; write the smaller number first.")
        elif not math.isfinite(high - low):
            found.append(
                f"`bounds` from {low!r} to {high!r} are too far apart for a double; narrow them."
            )
        if self.bits is None and self.cuts is None:
            found.append(UNCUT)
        elif self.bits is not None and self.cuts is not None:
            found.append("`bits` and `cuts` are both given; keep one of them.")
        elif self.bits is not None:
            found += self._bits_mistakes(low, high)
        elif self.cuts is not None:
            found += _cuts_mistakes([float(cut) for cut in self.cuts], low, high)
        return found

    def _bits_mistakes(self, low: float, high: float) -> list[str]:
        bits = self.bits
        if isinstance(bits, bool) or not isinstance(bits, int) or not 1 <= bits <= MOST_BITS:
            return [f"`bits` is {bits!r}; it must be a whole number from 1 to {MOST_BITS}."]
        if not low < high or not math.isfinite(high - low):
            return []
        if (high - low) / 2**bits < 2 * max(math.ulp(low), math.ulp(high)) or (
            not math.isfinite(2.0**bits / (high - low))
        ):
            return [
                f"`bits = {bits}` makes cells narrower than doubles can tell apart between {low!r} "
                f"and {high!r}; take fewer bits."
            ]
        return []

    @property
    def value_cells(self) -> int:
        if self.cuts is not None:
            return len(self.cuts) + 1
        return 1 << (self.bits or 0)

    @property
    def value_bounds(self) -> tuple[Fraction, Fraction]:
        return Fraction(self.low), Fraction(self.high)

    def unit_of(self, value: object) -> float | None:
        return double_of(value)

    def code_of_unit(self, unit: int | float) -> int:
        if unit < self.low:
            return -1
        if unit > self.high:
            return self.value_cells
        if self.inner_edges is not None:
            if self.closed == "left":
                return bisect_right(self.inner_edges, unit)
            return bisect_left(self.inner_edges, unit)
        assert self.double_formula is not None
        return self.double_formula.code(unit)

    def _edge(self, code: int) -> float:
        """The edge below cell `code`: in the cell when closed left, in the one before when closed right."""
        if code == 0:
            return self.low
        if code == self.value_cells:
            return self.high
        if self.inner_edges is not None:
            return self.inner_edges[code - 1]
        # The formula never decreases, so its steps are found by halving among all doubles.
        below, above = rank_of(self.low), rank_of(self.high)
        while above - below > 1:
            middle = (below + above) // 2
            if self.code_of_unit(double_at(middle)) >= code:
                above = middle
            else:
                below = middle
        return double_at(above if self.closed == "left" else below)

    def extent(self, code: int) -> tuple[float, float]:
        code = self._value_code(code)
        low, high = self._edge(code), self._edge(code + 1)
        if self.closed == "left" and code < self.value_cells - 1:
            high = math.nextafter(high, -math.inf)
        elif self.closed == "right" and code > 0:
            low = math.nextafter(low, math.inf)
        return low, high

    def bounds(self, code: int) -> tuple[float, float]:
        """The two edges of the cell; `closed` says which one belongs to it."""
        code = self._value_code(code)
        return self._edge(code), self._edge(code + 1)

    def literal_in_units(self, literal: object) -> float:
        value = plain(literal)
        number = double_of(value)
        if number is None or isinstance(value, (bool, str)):
            raise self._wrong()
        return number

    def _value_label(self, code: int) -> str:
        low, high = self.bounds(code)
        if self.double_formula is not None:
            # The round number that is meant, not the nearest double that is reached.
            start, step = Fraction(self.low), Fraction(self.high) - Fraction(self.low)
            low, high = (float(start + step * k / self.value_cells) for k in (code, code + 1))
        opening = "[" if self.closed == "left" or code == 0 else "("
        closing = "]" if self.closed == "right" or code == self.value_cells - 1 else ")"
        return f"{opening}{low:.15g}, {high:.15g}{closing}"

    def _value_in(self, code: int, fraction: Fraction) -> object:
        low, high = self.bounds(code)
        first, last = self.extent(code)
        number = float(Fraction(low) + fraction * (Fraction(high) - Fraction(low)))
        return min(max(number, first), last)


def _cuts_mistakes(cuts: list[float], low: float, high: float) -> list[str]:
    found: list[str] = []
    if not cuts:
        found.append("`cuts` is empty; list at least one number between the bounds.")
    for left, right in pairwise(cuts):
        if left >= right:
            found.append(f"`cuts` must increase, but {left!r} comes before {right!r}.")
            break
    beyond = [cut for cut in cuts if not low < cut < high]
    if low < high and beyond:
        found.append(
            f"the cut {beyond[0]!r} is not between the bounds {low!r} and {high!r}, "
            "which are edges already; take it out or widen the bounds."
        )
    return found


def rank_of(number: float) -> int:
    """Doubles numbered in their order, so that neighbours differ by 1."""
    bits: int = struct.unpack("<q", struct.pack("<d", number))[0]
    return bits if bits >= 0 else -(bits & (2**63 - 1))


def double_at(rank: int) -> float:
    bits = rank if rank >= 0 else -rank - 2**63
    number: float = struct.unpack("<d", struct.pack("<q", bits))[0]
    return number
