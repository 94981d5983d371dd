"""Pieces of a category or a boolean: a cell is cut only where undeclared values lie."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import product

import numpy as np

from discreet.arrays import Bools, Floats, Integers
from discreet.errors import BadQuestion
from discreet.questions.cells.functions import matches
from discreet.questions.cells.halving import reach_outside
from discreet.questions.cells.pieces import Pieces, literals_of
from discreet.questions.cells.reach import NULL, one
from discreet.questions.cells.reaching.expressions import reach_of
from discreet.questions.cells.truths import Bits, bits_of, value_bits
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
        named: dict[str | float, None] = {}
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
            named |= dict.fromkeys(_named(atom, column)[1])
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
        values, beside = column.value_cells, len(tail)
        nulls = [] if column.null_cell is None else [column.null_cell]
        cell = np.concatenate([np.arange(values), np.full(beside, other or 0), nulls])
        weight = np.concatenate(
            [np.ones(values), [share for _, _, share in tail], [1.0] * len(nulls)]
        )
        places = np.full(len(cell), -1, dtype=np.int64)
        places[values : values + beside] = np.arange(beside)
        self._tail, self._tail_place = tail, places
        self._arrange(cell.astype(np.int64), weight)
        for atom in general:
            self.double(atom, self._bits(atom))

    def _bits(self, atom: Expression) -> Bits:
        """The truths of an atom on each piece: of undeclared values, all that are possible."""
        inside = self.in_domain
        found = np.zeros(len(self.cell), dtype=np.uint8)
        found[inside] = value_bits(atom, self.column)[self.cell[inside]]
        beside = self._tail_place[~inside].tolist()
        texts = [None if place < 0 else (self._tail[place][0],) for place in beside]
        known = {text: self._bits_beside(atom, text) for text in dict.fromkeys(texts)}
        found[~inside] = [known[text] for text in texts]
        return found

    def _bits_beside(self, atom: Expression, text: tuple[str | float | None] | None) -> int:
        """The truths of an atom on a null, on a named undeclared value, or on any other."""
        reach = NULL
        if text is not None:
            reach = reach_outside(self.column) if text[0] is None else one(_shown(text[0]))
        return bits_of(reach_of(atom, {self.column.name: reach}))

    def _take(self, place: Integers) -> None:
        self._tail_place = self._tail_place[place]

    def _true(self, asked: Simple, atom: Expression) -> Bools:
        inside = self._tail_place < 0
        tail = np.zeros(len(self._tail) + 1, dtype=np.bool_)
        if asked.sign in ("like", "ilike"):
            assert isinstance(self.column, CategoryColumn)
            text, folds = pattern = str(asked.literals[0]), asked.sign == "ilike"
            which = self._patterns.index(pattern)
            cells = np.array([matches(text, value, folds) for value in self.column.values])
            tail[:-1] = [fit[which] for _, fit, _ in self._tail]
        else:
            cells, undeclared = _named(atom, self.column)
            tail[:-1] = [text is not None and text in undeclared for text, _, _ in self._tail]
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


@lru_cache(maxsize=64)
def _named(atom: Expression, column: Column) -> tuple[Bools, tuple[str | float, ...]]:
    """The value cells that the literals of a plain comparison name, and the undeclared values. Kept: lists may be long."""
    asked = simple_of(atom)
    assert asked is not None
    cells = np.zeros(column.value_cells, dtype=np.bool_)
    undeclared: dict[str | float, None] = {}
    for literal in literals_of(asked):
        found = column.codes_where("=", literal).inner
        text = category_text_of(literal)
        if found:
            cells[found[0][0]] = True
        elif text is not None:
            undeclared[text] = None
    cells.setflags(write=False)
    return cells, tuple(undeclared)


def _shown(text: str | float) -> str:
    return text if isinstance(text, str) else f"{text:g}"
