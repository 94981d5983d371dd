"""What a page holds, as plain data: filled by `gathering`, written by `page`."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

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


@dataclass(frozen=True, slots=True)
class Fact:
    """One of the large numbers at the top."""

    name: str
    value: str
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Content:
    """Everything on the page."""

    dataset: str
    lead: str
    facts: Sequence[Fact]
    guarantee: Sequence[str]
    not_promised: Sequence[str]
    loss: Figure | None
    meaning: Sequence[Table] = ()
    densities: Sequence[Figure] = ()
    parts: Table
    claims: Table
    numbers: Table
    tables: Table
    figures: Sequence[Figure]
    confidence: str
    questions: Sequence[str]
    python: str
    verify: str
    columns: Table
    software: str
    left_out: str = field(default="")

    def with_figures(self, kept: Collection[int]) -> Content:
        """The figures at these places, and a sentence about the others."""
        missing = [each.title for place, each in enumerate(self.figures) if place not in kept]
        if not missing:
            return self
        named = ", ".join(missing[:8]) + (", ..." if len(missing) > 8 else "")
        more = f"Not drawn here, but open to questions: {named}."
        return replace(
            self,
            figures=[self.figures[place] for place in kept],
            left_out=f"{self.left_out} {more}".strip(),
        )

    def shortened(self, lines: int) -> Content:
        """The same with tables cut to `lines`, for a schema of very many columns."""

        def cut(table: Table) -> Table:
            if len(table.rows) <= lines:
                return table
            note = f"{len(table.rows) - lines:,} more lines are in the release."
            return replace(table, rows=table.rows[:lines], note=note)

        return replace(
            self,
            loss=None,
            densities=(),
            parts=cut(self.parts),
            claims=cut(self.claims),
            numbers=cut(self.numbers),
            tables=cut(self.tables),
            columns=cut(self.columns),
        )

    def variables(self) -> dict[str, Any]:
        """For the template, with the table of contents."""
        held: dict[str, Any] = {each.name: getattr(self, each.name) for each in fields(self)}
        present = {
            "guarantee": "The promise",
            "meaning": "What it means to you" if self.meaning else "",
            "released": "What was released",
            "errors": "Errors" if self.claims.rows else "",
            "numbers": "Single numbers" if self.numbers.rows else "",
            "tables": "Tables" if self.tables.rows else "",
            "charts": "Charts" if self.figures else "",
            "ask": "How to ask",
            "verify": "How to check",
            "schema": "Public facts",
        }
        held["sections"] = [(anchor, title) for anchor, title in present.items() if title]
        return held
