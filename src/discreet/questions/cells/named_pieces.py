"""Pieces of a category or a boolean: a cell is cut only where undeclared values lie."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import numpy as np

from discreet.arrays import Bools, Floats, Integers
from discreet.errors import BadQuestion
from discreet.questions.cells.functions import matches
from discreet.questions.cells.halving import Bits, bits_of, reach_of_cells, reach_outside
from discreet.questions.cells.pieces import Pieces, literals_of
from discreet.questions.cells.reach import NULL, Reach, one
from discreet.questions.cells.reaching.expressions import reach_of
from discreet.questions.conditions import Simple, simple_of
from discreet.questions.expressions import Expression
from discreet.schema import CategoryColumn, Column
from discreet.schema.columns.values import category_text_of

MOST_PATTERNS = 4
"""Patterns that a column with a cell for undeclared values can be asked about at once."""


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
            for literal in literals_of(asked):
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
            named = {self._found[_key(literal)] for literal in literals_of(asked)}
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


def _key(literal: object) -> tuple[str, object]:
    return type(literal).__name__, literal  # True, 1 and 1.0 are equal, and mean different texts


def _shown(text: str | float) -> str:
    return text if isinstance(text, str) else f"{text:g}"
