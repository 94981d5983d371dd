"""Which cells a condition selects, over the columns that matter to it and no others.

The condition is evaluated on pieces (see `queries.pieces`) of all the columns that it names, at
once. A column on which the result does not depend is then left out, if every row has a cell in
it; so a condition that is always true asks for no column at all, however it was written.

Meaning: a question is about the rows that have a cell in each of its columns. Where a column
leaves rows out (nulls or outside values excluded by the schema) the answer carries a note.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from discreet.arrays import Bools, Floats
from discreet.errors import NotAnswerable
from discreet.questions.cells.cutting import pieces_of
from discreet.questions.cells.pieces import Pieces
from discreet.questions.cells.truths import FALSE, SINGLE, TRUE, Bits, cell_bits
from discreet.questions.conditions import Leaf, Node, Normal, both, normal_form, null_test, opposite
from discreet.questions.conditions import atoms as atoms_of
from discreet.questions.expressions import Expression, columns_of
from discreet.questions.limits.work import OF_A_SELECTION, spend
from discreet.schema import Column, Schema, keeps_every_row
from discreet.schema.limits import MOST_CELLS

Scalar = TypeVar("Scalar", bound=np.generic)

MOST_CUT = 1 << 25
"""Pieces of a condition that cuts through cells, all columns multiplied."""


@dataclass(frozen=True, slots=True, eq=False)
class Selection:
    """A condition over some columns, in the schema's order.

    `mask` has one axis a column; an axis of length 1 stands for a column that does not matter.
    """

    columns: tuple[Column, ...]
    pieces: tuple[Pieces, ...]
    mask: Bools

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.columns)

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(column.cells for column in self.columns)

    @property
    def loses_rows(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.columns if not keeps_every_row(column))

    def inner(self) -> Bools:
        """Cells whose rows all satisfy the condition, whatever their values."""
        found = self.mask
        for axis, part in self._cut_axes():
            found = np.logical_and.reduceat(found, part.starts, axis=axis)
        return np.asarray(found)

    def outer(self) -> Bools:
        """Cells of which some row may satisfy the condition."""
        return self._any_but(None)

    def _any_but(self, kept: int | None) -> Bools:
        found = self.mask
        for axis, part in self._cut_axes():
            if axis != kept:
                found = np.logical_or.reduceat(found, part.starts, axis=axis)
        return np.asarray(found)

    def share(self) -> Floats:
        """The share of each cell that satisfies the condition if values are spread evenly."""
        found: npt.NDArray[np.floating] = self.mask.astype(np.float32)
        for axis, part in self._cut_axes():
            weights = part.weight.reshape([-1 if a == axis else 1 for a in range(found.ndim)])
            found = np.add.reduceat(found * weights, part.starts, axis=axis)
        return np.asarray(found, dtype=np.float64)

    def _cut_axes(self) -> list[tuple[int, Pieces]]:
        return [
            (axis, part)
            for axis, part in enumerate(self.pieces)
            if part.is_cut and self.mask.shape[axis] > 1
        ]

    def hull(self, axis: int) -> tuple[float, float]:
        """Between which numbers every selected value of the column on `axis` lies."""
        part = self.pieces[axis]
        others = tuple(place for place in range(self.mask.ndim) if place != axis)
        chosen = np.broadcast_to(self.mask.any(axis=others), len(part.cell)) & part.in_domain
        if not chosen.any():
            return np.nan, np.nan
        low, high = part.values()
        return float(low[chosen].min()), float(high[chosen].max())

    def values(self, axis: int, center: float = 0.0) -> tuple[Floats, Floats, Floats]:
        """What a row of each cell adds to the sum of (the column on `axis` - center).

        The least, the greatest, and the expected number (0 where the condition rules it out): a
        row of a cell that is only partly selected may add nothing, so 0 is always in between.
        """
        part = self.pieces[axis]
        low, high = (_along(each - center, axis, self.mask.ndim) for each in part.values())
        chosen = np.broadcast_to(self.mask, _widened(self.mask.shape, axis, len(part.cell)))
        some = self._any_but(axis)
        some = np.broadcast_to(some, _widened(some.shape, axis, len(part.cell)))
        least = np.where(some, low, np.inf)
        greatest = np.where(some, high, -np.inf)
        weight = _along(part.weight, axis, self.mask.ndim)
        middle = np.where(chosen, (low + high) / 2 * weight, 0.0)
        for other, piece in enumerate(self.pieces):
            if not piece.is_cut or (other != axis and self.mask.shape[other] == 1):
                continue
            if other == axis:
                least = np.minimum.reduceat(least, piece.starts, axis=axis)
                greatest = np.maximum.reduceat(greatest, piece.starts, axis=axis)
            weights = 1.0 if other == axis else _along(piece.weight, other, self.mask.ndim)
            middle = np.add.reduceat(middle * weights, piece.starts, axis=other)
        inner, outer = self.inner(), self.outer()
        least = np.where(outer, np.where(inner, least, np.minimum(least, 0)), 0.0)
        greatest = np.where(outer, np.where(inner, greatest, np.maximum(greatest, 0)), 0.0)
        return least, greatest, np.asarray(middle)


def _widened(shape: tuple[int, ...], axis: int, size: int) -> tuple[int, ...]:
    return tuple(size if place == axis else length for place, length in enumerate(shape))


def _along(numbers: npt.NDArray[Scalar], axis: int, dimensions: int) -> npt.NDArray[Scalar]:
    return numbers.reshape([-1 if place == axis else 1 for place in range(dimensions)])


def select(
    condition: Expression,
    schema: Schema,
    *,
    keep: Sequence[str] = (),
    not_null: str | None = None,
    in_domain: str | Sequence[str] = (),
) -> Selection:
    """The cells of `condition`; the columns in `keep` stay although the condition may not need them.

    `not_null` adds that a column is not null; `in_domain` that the values of columns are those that sums add up.
    """
    summed = (in_domain,) if isinstance(in_domain, str) else tuple(in_domain)
    if not_null is not None and schema.column(not_null).null_cell is not None:
        condition = both(condition, opposite(null_test(not_null)))
    normal = normal_form(condition)
    by_column: dict[str, list[Expression]] = {}
    shared: dict[Expression, tuple[str, ...]] = {}
    for atom in dict.fromkeys(atoms_of(normal)):
        names = tuple(dict.fromkeys(columns_of(atom)))
        if len(names) > 1:
            shared[atom] = names
        for name in names:
            by_column.setdefault(name, []).extend([atom] if len(names) == 1 else [])
    wanted = {*by_column, *keep}
    wanted |= {name for name in (not_null, *summed) if name is not None}
    columns = [column for column in schema.columns if column.name in wanted]
    together = {
        atom: _Shared.of(atom, [column for column in columns if column.name in names])
        for atom, names in shared.items()
    }
    pieces = [
        pieces_of(
            column,
            by_column.get(column.name, ()),
            [(atom, one.bits) for atom, one in together.items() if one.splits(column)],
        )
        for column in columns
    ]
    axes = {column.name: axis for axis, column in enumerate(columns)}
    named = [
        len(part.cell)
        for part, column in zip(pieces, columns, strict=True)
        if column.name in by_column
    ]
    spend(OF_A_SELECTION + sum(len(part.cell) for part in pieces) // 10 + prod(named) // 100)
    cut = any(part.is_cut for part in pieces)
    if prod(named) > (MOST_CUT if cut else MOST_CELLS):
        raise NotAnswerable(
            f"The condition spans {prod(named):,} combinations of cells of {', '.join(by_column)}; "
            f"at most {MOST_CUT if cut else MOST_CELLS:,} are listed. Ask about fewer columns at once."
        )
    mask = _Evaluation(pieces, axes, together).where(normal)
    for name in summed:
        axis = axes[name]
        mask = mask & _along(pieces[axis].in_domain, axis, len(pieces))
    kept: list[int] = []
    for axis, column in enumerate(columns):
        constant = mask.shape[axis] == 1
        if not constant:
            constant = bool(np.array_equal(mask.all(axis=axis), mask.any(axis=axis)))
            if constant:
                mask = mask.take([0], axis=axis)
        if column.name in keep or not constant or not keeps_every_row(column):
            kept.append(axis)
    dropped = tuple(axis for axis in range(len(columns)) if axis not in kept)
    return Selection(
        columns=tuple(columns[axis] for axis in kept),
        pieces=tuple(pieces[axis] for axis in kept),
        mask=np.squeeze(mask, axis=dropped) if dropped else mask,
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Shared:
    """An atom over several columns: the truths that are possible on each combination of their cells.

    Where it cuts some, the pieces of its first column stand for the truths: each cell there is as many
    pieces as there are truths, and a combination that is cut has the truth of the piece.
    """

    columns: tuple[str, ...]
    cells: Bits
    bits: Bits
    """The truths that a piece of each cell of the first column may stand for."""

    @classmethod
    def of(cls, atom: Expression, columns: Sequence[Column]) -> _Shared:
        spanned = prod(column.cells for column in columns)
        names = tuple(column.name for column in columns)
        if spanned > MOST_CUT:
            raise NotAnswerable(
                f"The condition compares {' and '.join(names)}, which have {spanned:,} combinations of "
                f"cells; at most {MOST_CUT:,} are listed. Declare wider cells."
            )
        cells = cell_bits(atom, columns)
        cut = ~np.isin(cells, SINGLE)
        rest = tuple(range(1, cells.ndim))
        bits = np.bitwise_or.reduce(np.where(cut, cells, 0), axis=rest).astype(np.uint8)
        return cls(names, cells, np.where(bits, bits, TRUE).astype(np.uint8))

    def splits(self, column: Column) -> bool:
        return column.name == self.columns[0] and not np.isin(self.bits, SINGLE).all()


@dataclass(frozen=True, slots=True, eq=False)
class _Evaluation:
    """Where a normal form is true, on the product of the pieces; an axis that it ignores has length 1."""

    pieces: list[Pieces]
    axes: dict[str, int]
    shared: dict[Expression, _Shared]

    def where(self, normal: Normal) -> Bools:
        if isinstance(normal, bool):
            return np.full((1,) * len(self.pieces), normal)
        if isinstance(normal, Node):
            return self._joined(normal)
        if normal.atom in self.shared:
            return self._shared(normal)
        (name,) = set(columns_of(normal.atom))
        axis = self.axes[name]
        found = self.pieces[axis].truth(normal.atom, positive=normal.positive)
        return found.reshape([-1 if place == axis else 1 for place in range(len(self.pieces))])

    def _shared(self, leaf: Leaf) -> Bools:
        own = self.shared[leaf.atom]
        axes = [self.axes[name] for name in own.columns]
        cells = own.cells[np.ix_(*(self.pieces[axis].cell for axis in axes))]
        first = self.pieces[axes[0]]
        stands = first.bits.get(leaf.atom, np.full(len(first.cell), TRUE, dtype=np.uint8))
        stands = stands.reshape([-1] + [1] * (cells.ndim - 1))
        cut = ~np.isin(cells, SINGLE)
        # A piece that stands for a truth which this combination cannot have takes its least one.
        least = cells & (~cells + np.uint8(1))
        taken = np.where(cells & stands, stands, least)
        truth = np.where(cut, taken, cells)
        found = truth == (TRUE if leaf.positive else FALSE)
        shape = [1] * len(self.pieces)
        for place, axis in enumerate(axes):
            shape[axis] = found.shape[place]
        return np.asarray(found.reshape(shape))

    def _joined(self, node: Node) -> Bools:
        """Parts over the same columns are joined first, while they are small."""
        join = np.logical_and if node.every else np.logical_or
        groups: dict[tuple[int, ...], Bools] = {}
        for part in node.parts:
            found = self.where(part)
            held = groups.get(found.shape)
            groups[found.shape] = found if held is None else np.asarray(join(held, found))
        result = np.full((1,) * len(self.pieces), node.every)
        for shape in sorted(groups, key=prod):
            result = np.asarray(join(result, groups[shape]))
        return result
