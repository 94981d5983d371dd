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

from collections.abc import Iterable
from fractions import Fraction

import numpy as np

from discreet.arrays import Bools, Floats, Integers
from discreet.errors import NotAnswerable
from discreet.questions.cells.truths import FALSE, SINGLE, TRUE, UNKNOWN, Bits
from discreet.questions.conditions import Simple, simple_of
from discreet.questions.expressions import Expression
from discreet.schema import Column

Number = int | float | Fraction

MOST_PIECES = 1 << 22
"""Pieces of one column, where its cells leave the truth of several conditions open."""


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
        if np.isin(bits, SINGLE).all():
            self.bits = {**self.bits, atom: bits}
            return
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
        """The pieces in which the atom is true, or false. For nulls it is neither, except in IS tests."""
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
            found = self._true(equal, atom) & ~self.is_null
            return found if positive else ~found
        if asked.has_null and not positive:
            return np.zeros(len(self.cell), dtype=np.bool_)
        found = self._true(asked, atom)
        return (found if positive else ~found) & ~self.is_null

    def _true(self, asked: Simple, atom: Expression) -> Bools:
        """Where a comparison holds, which `atom` is or stands for."""
        raise NotImplementedError

    def values(self) -> tuple[Floats, Floats]:
        """The least and greatest number that a row of each piece adds to a sum; NaN outside the domain."""
        raise NotImplementedError


def literals_of(asked: Simple) -> Iterable[object]:
    if asked.sign in ("is true", "is false"):
        return (asked.sign == "is true",)
    return () if asked.sign in ("is null", "like", "ilike") else asked.literals
