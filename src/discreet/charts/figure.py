"""Figures and tables as plain data, for any page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

LONGEST = 160


def clipped(text: str) -> str:
    """Names come from files that others wrote: however long one is, the page stays small."""
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of text; `right` numbers the columns that align right."""

    headers: Sequence[str] = ()
    rows: Sequence[Sequence[str]] = ()
    right: Sequence[int] = ()
    note: str = ""

    def __post_init__(self) -> None:
        rows = tuple(tuple(map(clipped, row)) for row in self.rows)
        # A column that is empty in every row says nothing.
        kept = [at for at in range(len(self.headers)) if not rows or any(row[at] for row in rows)]
        object.__setattr__(self, "headers", tuple(clipped(self.headers[at]) for at in kept))
        object.__setattr__(self, "rows", tuple(tuple(row[at] for at in kept) for row in rows))
        object.__setattr__(self, "right", tuple(kept.index(at) for at in self.right if at in kept))


@dataclass(frozen=True, slots=True)
class Figure:
    """A picture with its caption, its legend (style, label), and its numbers as a table."""

    title: str
    caption: str
    picture: Markup
    legend: Sequence[tuple[str, str]] = ()
    table: Table | None = None

    @property
    def size(self) -> int:
        """Bytes on the page, about: the picture's, and those of the table's cells with their tags."""
        cells = () if self.table is None else (cell for row in self.table.rows for cell in row)
        return 600 + len(self.picture.encode()) + sum(len(cell.encode()) + 22 for cell in cells)
