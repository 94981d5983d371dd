"""A column's cells, cut where a question's literals fall: on each piece every atom has one truth.

`age >= 33` over cells of ten years cuts the cell 30 to 39 into two pieces. Conditions are then
plain boolean arithmetic on pieces, however they were written, and only the last step goes back to
cells: a cell is surely selected if all its pieces are, possibly if one is. Equal questions thus
get equal cells. A piece's weight is its share of the cell if values are spread evenly there; the
weights only place an estimate inside its interval, they never shorten the interval.

An atom that is no plain comparison cuts cells where its truth changes (`truth_boxes`). Where it changes too
often to follow, or depends on other columns or on undeclared values, a piece is doubled: one copy
for each truth that is possible there, since rows of either kind may be in it.

Values are meant as the schema counts them: clamped to the edge cells where it says so.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product

import numpy as np
import numpy.typing as npt

from discreet.errors import BadQuestion, NotAnswerable
from discreet.questions.cells.functions import matches
from discreet.questions.cells.halving import (
    FALSE,
    SINGLE,
    TRUE,
    UNKNOWN,
    Bits,
    bits_of,
    reach_of_cells,
    reach_outside,
    special_cells,
    truth_stretches,
)
from discreet.questions.cells.reach import NULL, Reach, one
from discreet.questions.cells.reaching.expressions import reach_of
from discreet.questions.conditions import Simple, simple_of
from discreet.questions.expressions import Expression
from discreet.schema import CategoryColumn, Column, NumberColumn, OrderedColumn
from discreet.schema.columns.values import category_text_of
from discreet.schema.limits import MOST_CELLS

Bools = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Number = int | float | Fraction

MOST_PATTERNS = 4
"""Patterns that a column with a cell for undeclared values can be asked about at once."""
MOST_PIECES = 1 << 22
"""Pieces of one column, where its cells leave the truth of several conditions open."""


def pieces_of(
    column: Column, atoms: Sequence[Expression], hidden: Sequence[tuple[Expression, Bits]] = ()
) -> Pieces:
    """The cells of `column`, cut as the atoms need it.

    `hidden` are atoms over several columns that cut some of their cells: with each, the truths that are
    possible in some cell of this column.
    """
    if column.cells > MOST_CELLS:
        raise NotAnswerable(
            f"Column {column.name!r} has {column.cells:,} cells; at most {MOST_CELLS:,} are listed "
            "to answer a question. A release of intervals over it would be needed."
        )
    pieces: Pieces
    if isinstance(column, OrderedColumn):
        pieces = OrderedPieces(column, atoms)
    else:
        pieces = NamedPieces(column, atoms)
    for atom, bits in hidden:
        pieces.double(atom, bits[pieces.cell])
    return pieces


class Pieces:
    """Pieces in the order of their cells; every cell has at least one."""

    column: Column
    cell: Integers
    weight: Floats
    bits: dict[Expression, Bits]
    """The truth on each piece, for atoms that are no plain comparisons."""

    def _arrange(self, cell: Integers, weight: Floats) -> None:
        self.cell, self.weight, self.bits = cell, weight, {}
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

    def double(self, atom: Expression, bits: Bits) -> None:
        """Note the truths of an atom on each piece; a piece with several becomes several.

        Undeclared values are presumed not to satisfy it; elsewhere each truth gets an equal share.
        """
        truths = np.stack([bits & truth for truth in SINGLE])
        copies = (truths > 0).sum(axis=0)
        if copies.sum() > MOST_PIECES:
            raise NotAnswerable(
                f"The question has too many conditions on column {self.column.name!r} whose truth its cells "
                "leave open. Ask about fewer of them at once."
            )
        place = np.repeat(np.arange(len(bits)), copies)
        first = np.cumsum(copies) - copies
        rank = np.arange(len(place)) - first[place]
        order = np.cumsum(truths > 0, axis=0) - 1
        own = np.zeros(len(place), dtype=np.uint8)
        for row, truth in zip(order, SINGLE, strict=True):
            own[((bits[place] & truth) > 0) & (row[place] == rank)] = truth
        weight = self.weight[place] / copies[place]
        other = self.cell[place] == self.column.other_cell
        if self.column.other_cell is not None and other.any():
            presumed = np.where((bits[place] & FALSE) > 0, FALSE, UNKNOWN)
            kept = np.where(copies[place] > 1, own == presumed, True)
            weight = np.where(other, self.weight[place] * kept, weight)
        held = {each: found[place] for each, found in self.bits.items()}
        self._take(place)
        self._arrange(self.cell[place], weight)
        self.bits = {**held, atom: own}

    def _take(self, place: Integers) -> None:
        """Copy what a kind of pieces knows of each piece."""
        raise NotImplementedError

    def truth(self, atom: Expression, *, positive: bool) -> Bools:
        """Where the atom is true, or where it is false: nulls are neither, but for IS tests."""
        known = self.bits.get(atom)
        if known is not None:
            return np.asarray(known == (TRUE if positive else FALSE))
        asked = simple_of(atom)
        assert asked is not None
        if asked.sign == "is null":
            if self.column.null_cell is None and positive:
                raise NotAnswerable(
                    f"The schema leaves nulls of column {self.column.name!r} out of every count, "
                    "so no release of it can tell how many there are."
                )
            return self.is_null if positive else ~self.is_null
        if asked.sign in ("is true", "is false"):
            equal = Simple(asked.column, "=", (asked.sign == "is true",))
            found = self._true(equal) & ~self.is_null
            return found if positive else ~found
        if asked.has_null and not positive:
            return np.zeros(len(self.cell), dtype=np.bool_)
        found = self._true(asked)
        return (found if positive else ~found) & ~self.is_null

    def _true(self, asked: Simple) -> Bools:
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

    region: Integers
    _low: Floats
    _high: Floats

    def __init__(self, column: OrderedColumn, atoms: Sequence[Expression]) -> None:
        self.column = self.ordered = column
        self._whole = not isinstance(column, NumberColumn)  # units are integers, not doubles
        asked = {atom: simple_of(atom) for atom in atoms}
        limits = {
            column._literal(literal)
            for each in asked.values()
            if each is not None
            for literal in _literals(each)
        }
        general = {
            atom: [(first, bits_of(truth)) for first, _, truth in truth_stretches(atom, column)]
            for atom, each in asked.items()
            if each is None
        }
        for found in general.values():
            limits |= {Fraction(first) if self._whole else first for first, _ in found[1:]}
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

    def _bits(self, atom: Expression, found: list[tuple[int | float, int]]) -> Bits:
        """The truths of an atom on each piece, from the stretches on which it has one."""
        starts = [first for first, _ in found[1:]]
        truths = np.array([bits for _, bits in found], dtype=np.uint8)
        # The stretch below the limit Lk (region 2k) starts at the one before it, or before all of them.
        passed = [bisect_right(starts, limit) for limit in self.limits]
        by_region = np.zeros(2 * len(self.limits) + 1, dtype=np.int64)
        by_region[1::2] = passed
        by_region[2::2] = passed
        bits = truths[by_region[np.maximum(self.region, 0)]]
        for cell, reach in special_cells(self.column):
            here = self.cell == cell
            bits[here] = bits_of(reach_of(atom, {self.column.name: reach}))
        return np.asarray(bits)

    def _take(self, place: Integers) -> None:
        self.region = self.region[place]
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

    def _true(self, asked: Simple) -> Bools:
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
        return self._place[self.ordered._literal(literal)]

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


class NamedPieces(Pieces):
    """Cells without order. Only the cell of undeclared values is ever cut.

    It falls into the undeclared values that the question names, and the rest, once for each way
    in which the rest may fit the question's patterns. An undeclared value is presumed not to be a
    named one and to fit no pattern: only the estimate depends on that.
    """

    def __init__(self, column: Column, atoms: Sequence[Expression]) -> None:
        self.column = column
        self._found: dict[tuple[str, object], tuple[str, object]] = {}
        named: list[str | float] = []
        patterns: list[tuple[str, bool]] = []
        general: list[Expression] = []
        for atom in atoms:
            asked = simple_of(atom)
            if asked is None:
                general.append(atom)
                continue
            if asked.sign in ("like", "ilike"):
                pattern = str(asked.literals[0]), asked.sign == "ilike"
                if pattern not in patterns:
                    patterns.append(pattern)
                continue
            for literal in _literals(asked):
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
                fit = tuple(matches(each, _shown(text), folds) for each, folds in patterns)
                tail.append((text, fit, 0.0))
            tail += [(None, fit, float(not any(fit))) for fit in fits]
        cell = list(range(column.value_cells)) + [other or 0] * len(tail)
        weight = [1.0] * column.value_cells + [share for _, _, share in tail]
        if column.null_cell is not None:
            cell.append(column.null_cell)
            weight.append(1.0)
        places = [-1] * column.value_cells + list(range(len(tail)))
        places += [-1] * (column.null_cell is not None)
        self._tail, self._tail_place = tail, np.array(places, dtype=np.int64)
        self._arrange(np.array(cell, dtype=np.int64), np.array(weight, dtype=np.float64))
        for atom in general:
            self.double(atom, self._bits(atom))

    def _bits(self, atom: Expression) -> Bits:
        """The truths of an atom on each piece: of undeclared values, all that are possible."""
        found: dict[tuple[int, int], int] = {}
        for key in zip(self.cell.tolist(), self._tail_place.tolist(), strict=True):
            if key not in found:
                found[key] = bits_of(reach_of(atom, {self.column.name: self._reach(*key)}))
        pairs = zip(self.cell.tolist(), self._tail_place.tolist(), strict=True)
        return np.array([found[key] for key in pairs], dtype=np.uint8)

    def _reach(self, cell: int, tail: int) -> Reach:
        if cell == self.column.null_cell:
            return NULL
        if tail < 0:
            return reach_of_cells(self.column, cell, cell + 1)
        text = self._tail[tail][0]
        return reach_outside(self.column) if text is None else one(_shown(text))

    def _take(self, place: Integers) -> None:
        self._tail_place = self._tail_place[place]

    def _true(self, asked: Simple) -> Bools:
        inside = self._tail_place < 0
        tail = np.zeros(len(self._tail) + 1, dtype=np.bool_)
        if asked.sign in ("like", "ilike"):
            assert isinstance(self.column, CategoryColumn)
            text, folds = pattern = str(asked.literals[0]), asked.sign == "ilike"
            which = self._patterns.index(pattern)
            cells = np.array([matches(text, value, folds) for value in self.column.values])
            tail[:-1] = [fit[which] for _, fit, _ in self._tail]
        else:
            named = {self._found[_key(literal)] for literal in _literals(asked)}
            chosen = [code for what, code in named if what == "cell" and isinstance(code, int)]
            cells = np.zeros(self.column.value_cells, dtype=np.bool_)
            cells[np.array(chosen, dtype=np.int64)] = True
            tail[:-1] = [
                text is not None and ("undeclared", text) in named for text, _, _ in self._tail
            ]
        known = np.zeros(self.column.cells, dtype=np.bool_)
        known[: self.column.value_cells] = cells
        found = np.where(inside, known[self.cell], tail[self._tail_place])
        return ~found if asked.sign == "!=" else found

    def values(self) -> tuple[Floats, Floats]:
        numbers = np.full(len(self.cell), np.nan)
        if self.column.kind == "boolean":
            valued = self.in_domain
            numbers[valued] = self.cell[valued]
        return numbers, numbers.copy()


def _literals(asked: Simple) -> Iterable[object]:
    if asked.sign in ("is true", "is false"):
        return (asked.sign == "is true",)
    return () if asked.sign in ("is null", "like", "ilike") else asked.literals


def _key(literal: object) -> tuple[str, object]:
    return type(literal).__name__, literal  # True, 1 and 1.0 are equal, and mean different texts


def _shown(text: str | float) -> str:
    return text if isinstance(text, str) else f"{text:g}"
