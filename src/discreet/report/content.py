"""What a page holds, as plain data: filled by `gathering`, written by `page`."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

from discreet.charts.figure import Figure, Table


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
