"""Pieces of an ordered column: stretches of numbers or moments between the literals of a question."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np

from discreet.arrays import Bools, Floats, Integers
from discreet.questions.cells.halving import special_cells
from discreet.questions.cells.pieces import Number, Pieces, literals_of
from discreet.questions.cells.reaching.expressions import reach_of
from discreet.questions.cells.truths import Bits, bits_of, truth_stretches
from discreet.questions.conditions import Simple, simple_of
from discreet.questions.expressions import Expression, Unit
from discreet.schema import NumberColumn, OrderedColumn


@dataclass(frozen=True, slots=True)
class _Piece:
    region: int
    low: Number
    high: Number


@dataclass(frozen=True, slots=True, eq=False)
class _Stretched:
    """The stretches on which an atom has one truth."""

    starts: Sequence[Unit]
    bits: Bits
    """The truths on each stretch."""
    codes: Integers
    """The cell in which each stretch starts, and then the number of cells."""
    inside: frozenset[Number]
    """The starts inside a cell: those at its edge cut nothing."""

    def of_cells(self) -> Bits:
        """The truths on each cell that no start lies inside of."""
        return np.repeat(self.bits, np.diff(self.codes))


@lru_cache(maxsize=64)
def _stretched(atom: Expression, column: OrderedColumn) -> _Stretched:
    """Kept: the condition of a question stands beside each of its groups."""
    found = truth_stretches(atom, column)
    starts = [first for first, _, _ in found]
    codes = [column.code_of_unit(first) for first in starts]
    inside = {
        first if isinstance(column, NumberColumn) else Fraction(first)
        for first, code in zip(starts, codes, strict=True)
        if column.extent(code)[0] != first
    }
    return _Stretched(
        starts,
        np.array([bits_of(truth) for _, _, truth in found], dtype=np.uint8),
        np.array([*codes, column.value_cells], dtype=np.int64),
        frozenset(inside),
    )


class OrderedPieces(Pieces):
    """Cells on a line, cut at the literals.

    With literals L0 < L1 < ... the line falls into regions: 2k is the open stretch below Lk, 2k+1
    is Lk itself. Each piece lies in one region, so a comparison with Lk looks at its number only.
    """

    region: Integers
    _part: Integers
    """Which of the parts of cells that are cut each piece is, or -1."""
    _low: Floats
    _high: Floats

    def __init__(self, column: OrderedColumn, atoms: Sequence[Expression]) -> None:
        self.column = self.ordered = column
        self._whole = not isinstance(column, NumberColumn)  # units are integers, not doubles
        asked = {atom: simple_of(atom) for atom in atoms}
        limits = {
            column.literal_in_units(literal)
            for each in asked.values()
            if each is not None
            for literal in literals_of(each)
        }
        general = {atom: _stretched(atom, column) for atom, each in asked.items() if each is None}
        for found in general.values():
            limits |= found.inside
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
        for atom, found in general.items():
            self.double(atom, self._bits(atom, found))

    def _bits(self, atom: Expression, found: _Stretched) -> Bits:
        """The truths of an atom on each piece: those of the cell, or of the stretch in it that holds the piece."""
        bits = found.of_cells()[np.minimum(self.cell, self.column.value_cells - 1)]
        if self._parts:
            stretch = [bisect_right(found.starts, part.low) - 1 for part in self._parts]
            bits = np.where(self._part < 0, bits, found.bits[stretch][self._part])
        for cell, reach in special_cells(self.column):
            here = self.cell == cell
            bits[here] = bits_of(reach_of(atom, {self.column.name: reach}))
        return np.asarray(bits)

    def _take(self, place: Integers) -> None:
        self.region = self.region[place]
        self._part = self._part[place]
        self._low, self._high = self._low[place], self._high[place]

    def _assemble(self, codes: Integers) -> None:
        column, cells = self.ordered, self.ordered.value_cells
        many = np.ones(cells, dtype=np.int64)
        for code, parts in self._cut.items():
            many[code] = len(parts)
        cell = np.repeat(np.arange(cells, dtype=np.int64), many)
        region = 2 * np.searchsorted(codes, cell, side="left").astype(np.int64)
        weight = np.ones(len(cell))
        starts = np.cumsum(many) - many
        cut_places: list[tuple[int, _Piece]] = []
        for code, parts in self._cut.items():
            shares = self._shares(parts)
            for offset, (part, share) in enumerate(zip(parts, shares, strict=True)):
                place = int(starts[code]) + offset
                region[place], weight[place] = part.region, share
                cut_places.append((place, part))
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
        self._low, self._high = (np.full(len(self.cell), np.nan) for _ in range(2))
        self._parts = [part for _, part in cut_places]
        self._part = np.full(len(self.cell), -1, dtype=np.int64)
        self._part[[place for place, _ in cut_places]] = np.arange(len(cut_places))
        for place, part in cut_places:
            self._low[place], self._high[place] = float(part.low), float(part.high)

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

    def _true(self, asked: Simple, atom: Expression) -> Bools:
        if asked.sign == "in":
            points = [2 * self._place_of(literal) + 1 for literal in asked.literals]
            return np.isin(self.region, np.array(points, dtype=np.int64))
        place = 2 * self._place_of(asked.literals[0])
        match asked.sign:
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
        return self._place[self.ordered.literal_in_units(literal)]

    def values(self) -> tuple[Floats, Floats]:
        cell_low, cell_high = extents(self.ordered)
        valued = self.in_domain
        low, high = np.full(len(self.cell), np.nan), np.full(len(self.cell), np.nan)
        low[valued], high[valued] = cell_low[self.cell[valued]], cell_high[self.cell[valued]]
        known = ~np.isnan(self._low)
        low[known], high[known] = self._low[known], self._high[known]
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
