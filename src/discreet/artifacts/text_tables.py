"""Tables as plain text, for people at a prompt."""

from __future__ import annotations

import math
from collections.abc import Sequence


def text_lines(
    header: Sequence[str], rows: Sequence[Sequence[str]], numeric: Sequence[bool]
) -> list[str]:
    """The lines of a table; numbers stand at the right."""
    widths = [max(len(row[place]) for row in [header, *rows]) for place in range(len(header))]

    def line(cells: Sequence[str]) -> str:
        placed = zip(cells, widths, numeric, strict=True)
        return "  ".join(
            text.rjust(width) if number else text.ljust(width) for text, width, number in placed
        ).rstrip()

    return [line(header), line(["-" * width for width in widths]), *map(line, rows)]


def plain_number(value: float | None) -> str:
    """A number for a table: whole where it is large, four digits where it is small."""
    if value is None or not math.isfinite(value):
        return "unknown" if value is None or math.isnan(value) else "unbounded"
    if value == int(value) and abs(value) < 1e15:
        return f"{int(value):,}"
    return f"{value:,.4g}" if abs(value) < 1000 else f"{value:,.0f}"
