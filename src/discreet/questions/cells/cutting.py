"""The cells of any column, cut as the conditions of a question need it."""

from __future__ import annotations

from collections.abc import Sequence

from discreet.errors import NotAnswerable
from discreet.questions.cells.named_pieces import NamedPieces
from discreet.questions.cells.ordered_pieces import OrderedPieces
from discreet.questions.cells.pieces import Pieces
from discreet.questions.cells.truths import Bits
from discreet.questions.expressions import Expression
from discreet.schema import Column, OrderedColumn
from discreet.schema.limits import MOST_CELLS


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
