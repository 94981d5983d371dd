"""Conditions with linear inequalities over boxes of cells: which boxes lie inside, which may, in what part.

A box is inside if all of its rows satisfy the condition whatever they are, and touched if some could.
Comparisons look at the pieces of their column's cells; inequalities compare the box's extreme values
in integers, without rounding. AND and OR of boxes inside are inside; NOT stands at the atoms, where
it swaps the comparison. A row with a null satisfies no comparison, and the boxes hold none: so a
condition that such a row could satisfy is refused, for it would be missed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from math import lcm
from typing import Any

import numpy as np

from discreet.arrays import Bools, Floats, Integers
from discreet.errors import NotAnswerable
from discreet.families.shared.estimate.public_random import generator
from discreet.questions.cells.cutting import pieces_of
from discreet.questions.cells.ordered_pieces import extents
from discreet.questions.conditions import Leaf, Node, Normal, normal_form, simple_of
from discreet.questions.expressions import Expression, columns_of
from discreet.questions.inequality import Inequality, inequality_of
from discreet.schema import OrderedColumn, Schema

POINTS = 64
"""Public points in each cut box at which a condition is looked at, to place the estimate."""
HELD = 1 << 62
Asked = Normal | Inequality


@dataclass(frozen=True, slots=True, eq=False)
class Chosen:
    """For each box: surely satisfied, possibly satisfied, and which part of it."""

    inner: Bools
    outer: Bools
    share: Floats


class Boxed:
    """Boxes of cells of some columns, and conditions evaluated over them."""

    def __init__(
        self, schema: Schema, columns: Sequence[str], first: Integers, last: Integers
    ) -> None:
        self._schema, self._names = schema, tuple(columns)
        self._first, self._last = first, last
        self._columns = [schema.column(name) for name in columns]
        # What of each box is asked for: all of it, some of it, and which part.
        self._whole: Bools = np.ones(len(first), dtype=np.bool_)
        self._touched: Bools = np.ones(len(first), dtype=np.bool_)
        self._part: Floats = np.ones(len(first))

    @property
    def many(self) -> int:
        return len(self._first)

    def narrowed(self, codes: Mapping[int, int]) -> Boxed:
        """The same boxes, restricted to rows in one cell of some columns."""
        found = Boxed(self._schema, self._names, self._first.copy(), self._last.copy())
        found._whole, found._touched = self._whole.copy(), self._touched.copy()
        found._part = self._part.copy()
        for axis, code in codes.items():
            first, last = found._first[:, axis], found._last[:, axis]
            found._touched &= (first <= code) & (code <= last)
            found._whole &= (first == code) & (code == last)
            found._part /= last - first + 1.0
            first[found._touched] = last[found._touched] = code
        return found

    def chosen(self, condition: Expression | Inequality) -> Chosen:
        asked = condition if isinstance(condition, Inequality) else normal_form(condition)
        inner, outer = self._masks(asked)
        inner, outer = inner & self._whole, outer & self._touched
        share = inner.astype(np.float64)
        cut = np.flatnonzero(outer & ~inner)
        if len(cut):
            share[cut] = self._part[cut] * self._shares(asked, cut)
        return Chosen(inner, outer, share)

    def _masks(self, asked: Asked) -> tuple[Bools, Bools]:
        if isinstance(asked, bool):
            same = np.full(len(self._first), asked)
            return same, same
        if isinstance(asked, Node):
            inside = [self._masks(part) for part in asked.parts]
            join = np.logical_and if asked.every else np.logical_or
            return (
                reduce(join, [each[0] for each in inside]),
                reduce(join, [each[1] for each in inside]),
            )
        inequality = self._as_inequality(asked)
        if inequality is not None:
            return self._inequality(inequality)
        assert isinstance(asked, Leaf)
        return self._atom(asked)

    def _as_inequality(self, asked: Leaf | Inequality) -> Inequality | None:
        if isinstance(asked, Inequality):
            return asked
        found = inequality_of(asked.atom, self._schema)
        return found if found is None or asked.positive else found.negated()

    def _axis(self, leaf: Leaf) -> int:
        names = sorted(set(columns_of(leaf.atom)))
        if len(names) > 1:
            raise NotAnswerable(
                f"Beside a linear inequality, only inequalities compare {' and '.join(names)}: use "
                "+, -, numbers as factors, and <, <=, > or >=."
            )
        return self._names.index(names[0])

    def _atom(self, leaf: Leaf) -> tuple[Bools, Bools]:
        axis = self._axis(leaf)
        surely, perhaps, _ = self._cells(leaf)
        first, last = self._first[:, axis], self._last[:, axis]
        many = last - first + 1
        sums = [np.concatenate([[0], np.cumsum(each)]) for each in (surely, perhaps)]
        inside, touched = (each[last + 1] - each[first] for each in sums)
        return inside == many, touched > 0

    def _cells(self, leaf: Leaf) -> tuple[Bools, Bools, Floats]:
        """For each value cell of the atom's column: surely true, possibly true, in what part."""
        column = self._columns[self._axis(leaf)]
        cells = column.value_cells
        asked = simple_of(leaf.atom)
        if asked is not None and asked.sign == "is null":  # the boxes hold no nulls
            same = np.full(cells, not leaf.positive)
            return same, same, same.astype(np.float64)
        pieces = pieces_of(column, [leaf.atom])
        true = pieces.truth(leaf.atom, positive=leaf.positive)
        here = pieces.cell < cells
        cell, held = pieces.cell[here], true[here]
        pieces_each = np.bincount(cell, minlength=cells)
        pieces_true = np.bincount(cell, held, cells)
        part = np.bincount(cell, held * pieces.weight[here], cells)
        return pieces_true == pieces_each, pieces_true > 0, np.clip(part, 0.0, 1.0)

    def _inequality(self, signed: Inequality) -> tuple[Bools, Bools]:
        """The least and greatest value of the form over each box, in integers."""
        coefficients, bound, strict = signed.as_at_least()
        axes = [self._names.index(name) for name in signed.columns]
        low, high = [], []
        scale = bound.denominator
        for axis, coefficient in zip(axes, coefficients, strict=True):
            ends = extents(self._ordered(axis))
            side = (0, 1) if coefficient >= 0 else (1, 0)
            codes = (self._first[:, axis], self._last[:, axis])
            least, most = (_terms(coefficient, ends[s], codes[s]) for s in side)
            low.append(least)
            high.append(most)
            scale = lcm(scale, least.scale, most.scale)
        goal = int(bound * scale)
        found = []
        for terms in (low, high):
            sums = _summed(terms, scale, goal)
            found.append(np.asarray(sums > goal if strict else sums >= goal, dtype=np.bool_))
        return found[0], found[1]

    def _ordered(self, axis: int) -> OrderedColumn:
        column = self._columns[axis]
        if not isinstance(column, OrderedColumn):
            raise NotAnswerable(f"Column {column.name!r} has no order.")
        return column

    def _shares(self, asked: Asked, cut: Integers) -> Floats:
        """The part of each cut box that satisfies the condition, rows spread evenly in it."""
        unit = generator(11).random((POINTS, len(self._names)))
        codes: list[Integers] = []
        values: list[Floats] = []
        for axis in range(len(self._names)):
            first = self._first[cut, axis][:, np.newaxis]
            place = unit[:, axis] * (self._last[cut, axis][:, np.newaxis] - first + 1)
            code = first + place.astype(np.int64)
            low, high = extents(self._ordered(axis))
            codes.append(code)
            values.append(low[code] + (place - np.floor(place)) * (high[code] - low[code]))
        return np.asarray(self._at(asked, codes, values).mean(axis=1))

    def _at(self, asked: Asked, codes: list[Integers], values: list[Floats]) -> Floats:
        if isinstance(asked, bool):
            return np.full(codes[0].shape, float(asked))
        if isinstance(asked, Node):
            inside = [self._at(part, codes, values) for part in asked.parts]
            return np.asarray(reduce(np.minimum if asked.every else np.maximum, inside))
        signed = self._as_inequality(asked)
        if signed is None:
            assert isinstance(asked, Leaf)
            return self._cells(asked)[2][codes[self._axis(asked)]]
        coefficients, bound, strict = signed.as_at_least()
        total = np.zeros(codes[0].shape)
        for name, coefficient in zip(signed.columns, coefficients, strict=True):
            total = total + float(coefficient) * values[self._names.index(name)]
        goal = float(bound)
        return (total > goal if strict else total >= goal).astype(np.float64)


@dataclass(frozen=True, slots=True, eq=False)
class _Terms:
    """One column's exact terms: a table of the distinct ones, and which box has which."""

    distinct: list[Fraction]
    place: Integers
    scale: int


def _terms(coefficient: Fraction, values: Floats, codes: Integers) -> _Terms:
    used, place = np.unique(codes, return_inverse=True)
    distinct = [coefficient * Fraction(float(values[code])) for code in used]
    scale = reduce(lcm, (each.denominator for each in distinct), 1)
    return _Terms(distinct, place.astype(np.int64), scale)


def _summed(terms: Sequence[_Terms], scale: int, goal: int) -> Any:
    """The sums times `scale`: in 64 bits where they fit, else in Python's own integers."""
    tables = [[int(each * scale) for each in term.distinct] for term in terms]
    reach = sum(max(map(abs, table), default=0) for table in tables) + abs(goal)
    kind = np.int64 if reach < HELD else object
    total = np.zeros(len(terms[0].place), dtype=kind)
    for term, table in zip(terms, tables, strict=True):
        total = total + np.array(table, dtype=kind)[term.place]
    return total
