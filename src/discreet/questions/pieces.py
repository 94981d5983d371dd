"""A column's cells, cut where a question's literals fall: on each piece every atom has one truth.

`age >= 33` over cells of ten years cuts the cell 30 to 39 into two pieces. Conditions are then
plain boolean arithmetic on pieces, however they were written, and only the last step goes back to
cells: a cell is surely selected if all its pieces are, possibly if one is. Equal questions thus
get equal cells. A piece's weight is its share of the cell if values are spread evenly there; the
weights only place an estimate inside its interval, they never shorten the interval.

Values are meant as the schema counts them: clamped to the edge cells where it says so.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product

import numpy as np
import numpy.typing as npt

from discreet.errors import BadQuestion, NotAnswerable
from discreet.questions.conditions import (
    Atom,
    Comparison,
    Membership,
    NullTest,
    Pattern,
    TruthTest,
)
from discreet.questions.limits import MOST_CELLS
from discreet.schema import CategoryColumn, Column, NumberColumn, OrderedColumn
from discreet.schema.columns.values import category_text_of

Bools = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Number = int | float | Fraction

MOST_PATTERNS = 4
"""Patterns that a column with a cell for undeclared values can be asked about at once."""


def pieces_of(column: Column, atoms: Sequence[Atom]) -> Pieces:
    """The cells of `column`, cut as the atoms need it."""
    if column.cells > MOST_CELLS:
        raise NotAnswerable(
            f"Column {column.name!r} has {column.cells:,} cells; at most {MOST_CELLS:,} are listed "
            "to answer a question. A release of intervals over it would be needed."
        )
    if column.kind != "boolean" and any(isinstance(atom, TruthTest) for atom in atoms):
        raise BadQuestion(f"Column {column.name!r} is not boolean; IS takes NULL there.")
    if isinstance(column, OrderedColumn):
        return OrderedPieces(column, atoms)
    return NamedPieces(column, atoms)


class Pieces:
    """Pieces in the order of their cells; every cell has at least one."""

    column: Column
    cell: Integers
    weight: Floats

    def _arrange(self, cell: Integers, weight: Floats) -> None:
        self.cell, self.weight = cell, weight
        self.starts = np.flatnonzero(np.diff(cell, prepend=-1)).astype(np.int64)

    @property
    def is_cut(self) -> bool:
        return len(self.cell) > len(self.starts)

    @property
    def is_null(self) -> Bools:
        null = self.column.null_cell
        return np.zeros(len(self.cell), dtype=np.bool_) if null is None else self.cell == null

    @property
    def in_domain(self) -> Bools:
        """Pieces of value cells: the rows that a sum adds up. Others and nulls add nothing."""
        return self.cell < self.column.value_cells

    def truth(self, atom: Atom, *, positive: bool) -> Bools:
        """Where the atom is true, or where it is false: nulls are neither, but for IS tests."""
        if isinstance(atom, NullTest):
            if self.column.null_cell is None and positive:
                raise NotAnswerable(
                    f"The schema leaves nulls of column {self.column.name!r} out of every count, "
                    "so no release of it can tell how many there are."
                )
            return self.is_null if positive else ~self.is_null
        if isinstance(atom, TruthTest):
            found = self._true(Comparison(atom.column, "=", atom.truth)) & ~self.is_null
            return found if positive else ~found
        if isinstance(atom, Membership) and atom.has_null and not positive:
            return np.zeros(len(self.cell), dtype=np.bool_)
        found = self._true(atom)
        return (found if positive else ~found) & ~self.is_null

    def _true(self, atom: Comparison | Membership | Pattern) -> Bools:
        raise NotImplementedError

    def values(self) -> tuple[Floats, Floats]:
        """The least and greatest number that a row of each piece adds to a sum; NaN outside the domain."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class _Piece:
    region: int
    low: Number
    high: Number


class OrderedPieces(Pieces):
    """Cells on a line, cut at the literals.

    With literals L0 < L1 < ... the line falls into regions: 2k is the open stretch below Lk, 2k+1
    is Lk itself. Each piece lies in one region, so a comparison with Lk looks at its number only.
    """

    def __init__(self, column: OrderedColumn, atoms: Sequence[Atom]) -> None:
        self.column = self.ordered = column
        self._whole = not isinstance(column, NumberColumn)  # units are integers, not doubles
        limits = {column._literal(literal) for atom in atoms for literal in _literals(atom)}
        self.limits: list[Number] = sorted(limits)
        self._place = {limit: place for place, limit in enumerate(self.limits)}
        cells = column.value_cells
        codes = np.array(
            [min(max(column.code_of_unit(self._floor(limit)), -1), cells) for limit in self.limits],
            dtype=np.int64,
        )
        cut: dict[int, list[int]] = {}
        for place, code in enumerate(codes.tolist()):
            if 0 <= code < cells:
                cut.setdefault(code, []).append(place)
        self._cut: dict[int, list[_Piece]] = {
            code: self._split(*column.extent(code), places) for code, places in cut.items()
        }
        self._assemble(codes)

    def _assemble(self, codes: Integers) -> None:
        column, cells = self.ordered, self.ordered.value_cells
        many = np.ones(cells, dtype=np.int64)
        for code, parts in self._cut.items():
            many[code] = len(parts)
        cell = np.repeat(np.arange(cells, dtype=np.int64), many)
        region = 2 * np.searchsorted(codes, cell, side="left").astype(np.int64)
        weight = np.ones(len(cell))
        starts = np.cumsum(many) - many
        self._cut_places: list[tuple[int, _Piece]] = []
        for code, parts in self._cut.items():
            shares = self._shares(parts)
            for offset, (part, share) in enumerate(zip(parts, shares, strict=True)):
                place = int(starts[code]) + offset
                region[place], weight[place] = part.region, share
                self._cut_places.append((place, part))
        tail_cells: list[int] = []
        tail_regions: list[int] = []
        tail_weights: list[float] = []
        if column.other_cell is not None:
            for parts, nearest in self._outside():
                tail_cells += [column.other_cell] * len(parts)
                tail_regions += [part.region for part in parts]
                tail_weights += [0.5 * (place == nearest) for place in range(len(parts))]
        if column.null_cell is not None:
            tail_cells.append(column.null_cell)
            tail_regions.append(-1)
            tail_weights.append(1.0)
        self.region = np.concatenate([region, np.array(tail_regions, dtype=np.int64)])
        self._arrange(
            np.concatenate([cell, np.array(tail_cells, dtype=np.int64)]),
            np.concatenate([weight, np.array(tail_weights, dtype=np.float64)]),
        )

    def _outside(self) -> list[tuple[list[_Piece], int]]:
        """Pieces of the values below the domain and above it; the nearest one stands for its side."""
        first = self.ordered.extent(0)[0]
        last = self.ordered.extent(self.ordered.value_cells - 1)[1]
        below = [place for place, limit in enumerate(self.limits) if limit < first]
        above = [place for place, limit in enumerate(self.limits) if limit > last]
        under = self._split(-math.inf, self._before(first), below, start=0)
        over = self._split(
            self._after(last), math.inf, above, start=2 * (len(self.limits) - len(above))
        )
        return [(under, len(under) - 1), (over, 0)]

    def _split(
        self, first: Number, last: Number, places: Sequence[int], start: int = 0
    ) -> list[_Piece]:
        """The closed stretch of units from `first` to `last`, cut at the limits in `places`."""
        parts: list[_Piece] = []
        at = first
        region = start
        for place in places:
            limit = self.limits[place]
            below = min(self._before(limit), last)
            if at <= below:
                parts.append(_Piece(2 * place, at, below))
            if at <= limit <= last and self._is_unit(limit):
                parts.append(_Piece(2 * place + 1, limit, limit))
            at = max(at, self._after(limit))
            region = 2 * place + 2
        if at <= last:
            parts.append(_Piece(region, at, last))
        return parts

    def _shares(self, parts: list[_Piece]) -> list[float]:
        if self._whole:
            sizes = [float(part.high - part.low + 1) for part in parts]
        else:
            sizes = [float(part.high) - float(part.low) for part in parts]
        total = math.fsum(sizes)
        if total <= 0:
            return [1 / len(parts)] * len(parts)
        return [size / total for size in sizes]

    def _floor(self, limit: Number) -> int | float:
        return math.floor(limit) if self._whole else float(limit)

    def _is_unit(self, limit: Number) -> bool:
        return not self._whole or limit == math.floor(limit)

    def _before(self, limit: Number) -> Number:
        return math.ceil(limit) - 1 if self._whole else math.nextafter(float(limit), -math.inf)

    def _after(self, limit: Number) -> Number:
        return math.floor(limit) + 1 if self._whole else math.nextafter(float(limit), math.inf)

    def _true(self, atom: Comparison | Membership | Pattern) -> Bools:
        if isinstance(atom, Pattern):
            raise BadQuestion(f"Column {atom.column!r} is not of texts; LIKE means nothing there.")
        if isinstance(atom, Membership):
            points = [2 * self._place_of(literal) + 1 for literal in atom.literals]
            return np.isin(self.region, np.array(points, dtype=np.int64))
        place = 2 * self._place_of(atom.literal)
        match atom.operator:
            case "<":
                found = self.region <= place
            case "<=":
                found = self.region <= place + 1
            case ">":
                found = self.region > place + 1
            case ">=":
                found = self.region > place
            case "=":
                found = self.region == place + 1
            case _:
                found = self.region != place + 1
        return np.asarray(found)

    def _place_of(self, literal: object) -> int:
        return self._place[self.ordered._literal(literal)]

    def values(self) -> tuple[Floats, Floats]:
        cell_low, cell_high = extents(self.ordered)
        valued = self.in_domain
        low, high = np.full(len(self.cell), np.nan), np.full(len(self.cell), np.nan)
        low[valued], high[valued] = cell_low[self.cell[valued]], cell_high[self.cell[valued]]
        for place, part in self._cut_places:
            low[place], high[place] = float(part.low), float(part.high)
        return low, high


def extents(column: OrderedColumn) -> tuple[Floats, Floats]:
    """The first and last unit of every value cell, as doubles."""
    cells = column.value_cells
    if column.kind == "integer":
        width = int(getattr(column, "width", 1))
        first = column.extent(0)[0] + width * np.arange(cells, dtype=np.float64)
        return first, first + (width - 1)
    if isinstance(column, NumberColumn) and column.inner_edges is not None:
        edges = np.array([column.low, *column.inner_edges, column.high])
        low, high = edges[:-1].copy(), edges[1:].copy()
        if column.closed == "left":
            high[:-1] = np.nextafter(high[:-1], -np.inf)
        else:
            low[1:] = np.nextafter(low[1:], np.inf)
        return low, high
    both = np.array([column.extent(code) for code in range(cells)], dtype=np.float64)
    return both[:, 0], both[:, 1]


class NamedPieces(Pieces):
    """Cells without order. Only the cell of undeclared values is ever cut.

    It falls into the undeclared values that the question names, and the rest, once for each way
    in which the rest may fit the question's patterns. An undeclared value is presumed not to be a
    named one and to fit no pattern: only the estimate depends on that.
    """

    def __init__(self, column: Column, atoms: Sequence[Atom]) -> None:
        self.column = column
        self._found: dict[tuple[str, object], tuple[str, object]] = {}
        named: list[str | float] = []
        patterns: list[Pattern] = []
        for atom in atoms:
            if isinstance(atom, Pattern):
                if not isinstance(column, CategoryColumn):
                    raise BadQuestion(
                        f"Column {column.name!r} is not of texts; LIKE means nothing there."
                    )
                plain = Pattern("", atom.text, atom.ignores_case)
                if plain not in patterns:
                    patterns.append(plain)
            if isinstance(atom, Comparison) and atom.operator not in ("=", "!="):
                column.codes_where(atom.operator, atom.literal)  # says why it is refused
            for literal in _literals(atom):
                found = column.codes_where("=", literal).inner
                if found:
                    self._found[_key(literal)] = ("cell", found[0][0])
                    continue
                text = category_text_of(literal)
                self._found[_key(literal)] = ("undeclared", text)
                if text is not None and text not in named:
                    named.append(text)
        self._patterns = patterns
        other = column.other_cell
        if other is not None and len(patterns) > MOST_PATTERNS:
            raise BadQuestion(
                f"Column {column.name!r} is compared with more than {MOST_PATTERNS} LIKE patterns."
            )
        # (which named value it is, which patterns it fits, weight)
        fits = list(product((False, True), repeat=len(patterns)))
        tail: list[tuple[str | float | None, tuple[bool, ...], float]] = []
        if other is not None:
            for text in named:
                fit = tuple(pattern.matches(_shown(text)) for pattern in patterns)
                tail.append((text, fit, 0.0))
            tail += [(None, fit, float(not any(fit))) for fit in fits]
        self._tail = tail
        cell = list(range(column.value_cells)) + [other or 0] * len(tail)
        weight = [1.0] * column.value_cells + [share for _, _, share in tail]
        if column.null_cell is not None:
            cell.append(column.null_cell)
            weight.append(1.0)
        self._arrange(np.array(cell, dtype=np.int64), np.array(weight, dtype=np.float64))

    def _true(self, atom: Comparison | Membership | Pattern) -> Bools:
        found = np.zeros(len(self.cell), dtype=np.bool_)
        first = self.column.value_cells
        if isinstance(atom, Pattern):
            assert isinstance(self.column, CategoryColumn)
            which = self._patterns.index(Pattern("", atom.text, atom.ignores_case))
            found[:first] = [atom.matches(value) for value in self.column.values]
            for offset, (_, fit, _) in enumerate(self._tail):
                found[first + offset] = fit[which]
            return found
        named = {self._found[_key(literal)] for literal in _literals(atom)}
        cells = [code for what, code in named if what == "cell" and isinstance(code, int)]
        found[np.array(cells, dtype=np.int64)] = True
        for offset, (text, _, _) in enumerate(self._tail):
            found[first + offset] = text is not None and ("undeclared", text) in named
        if isinstance(atom, Comparison) and atom.operator == "!=":
            return ~found
        return found

    def values(self) -> tuple[Floats, Floats]:
        numbers = np.full(len(self.cell), np.nan)
        if self.column.kind == "boolean":
            numbers[:2] = 0.0, 1.0
        return numbers, numbers.copy()


def _literals(atom: Atom) -> Iterable[object]:
    if isinstance(atom, Comparison):
        return (atom.literal,)
    if isinstance(atom, TruthTest):
        return (atom.truth,)
    return atom.literals if isinstance(atom, Membership) else ()


def _key(literal: object) -> tuple[str, object]:
    return type(literal).__name__, literal  # True, 1 and 1.0 are equal, and mean different texts


def _shown(text: str | float) -> str:
    return text if isinstance(text, str) else f"{text:g}"
