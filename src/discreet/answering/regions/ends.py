"""Arrays of range ends, as values or as cell numbers, to the first and last cell of each range.

A range of values surely holds the cells that lie in it whole, and maybe those that it cuts. An empty
range comes out with its first cell above its last.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from discreet.arrays import Codes, Floats
from discreet.errors import BadInput
from discreet.questions.cells.ordered_pieces import extents
from discreet.schema import IntegerColumn, OrderedColumn
from discreet.schema.limits import MOST_CELLS

Ends = tuple[Codes, Codes]
"""First and last cells, one row a range."""


def whole_codes(low: npt.NDArray[np.generic], high: npt.NDArray[np.generic], cells: int) -> Ends:
    """Cell numbers as given, cut to the domain; both ends are included."""
    for each in (low, high):
        if each.dtype.kind not in "iu":
            raise BadInput("Cell numbers must be whole numbers.")
    last = np.uint64(cells - 1)
    empty = (high < 0) | (low.astype(np.float64) >= cells) | (low > high)  # type: ignore[operator]
    first = np.where(low < 0, 0, low).astype(np.uint64)  # type: ignore[operator]
    final = np.minimum(np.where(high < 0, 0, high).astype(np.uint64), last)  # type: ignore[operator]
    return _ends(np.minimum(first, last), final, empty)


def value_codes(column: OrderedColumn, low: Floats, high: Floats) -> tuple[Ends, Ends]:
    """The cells inside each range of values, and those that it touches."""
    cells = column.value_cells
    if isinstance(column, IntegerColumn):
        origin, width = float(column.extent(0)[0]), float(column.width)
        start, stop = np.ceil(low) - origin, np.floor(high) - origin
        inner = np.ceil(start / width), np.floor((stop + 1) / width) - 1
        outer = np.floor(start / width), np.floor(stop / width)
        # The last cell of a domain may be shorter than the others.
        whole_end = high >= float(column.extent(cells - 1)[1])
        inner = inner[0], np.where(whole_end, cells - 1, inner[1])
    elif cells <= MOST_CELLS:
        begin, end = extents(column)
        inner = (
            np.searchsorted(begin, low, side="left").astype(np.float64),
            np.searchsorted(end, high, side="right").astype(np.float64) - 1,
        )
        outer = (
            np.searchsorted(end, low, side="left").astype(np.float64),
            np.searchsorted(begin, high, side="right").astype(np.float64) - 1,
        )
    else:
        raise BadInput(
            f"Column {column.name!r} has {cells:,} cells; give ranges of it as cell numbers, with codes=True."
        )
    empty = low > high
    return _cut(inner[0], inner[1], empty, cells), _cut(outer[0], outer[1], empty, cells)


def _cut(first: Floats, last: Floats, empty: npt.NDArray[np.bool_], cells: int) -> Ends:
    empty = empty | (first > last) | (last < 0) | (first >= cells)
    top = float(cells - 1)
    return _ends(
        np.clip(first, 0, top).astype(np.uint64), np.clip(last, 0, top).astype(np.uint64), empty
    )


def _ends(first: Codes, last: Codes, empty: npt.NDArray[np.bool_]) -> Ends:
    first, last = np.where(empty, np.uint64(1), first), np.where(empty, np.uint64(0), last)
    return first[:, np.newaxis], last[:, np.newaxis]
