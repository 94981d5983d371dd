"""The values that a release publishes by name, as a table on the page."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from markupsafe import Markup

from discreet.charts.figure import Figure, Table, clipped
from discreet.families.keys.queries import Keys
from discreet.questions.spelling import sql_name

if TYPE_CHECKING:
    from discreet.answering import ReleaseReader

MOST_LINES = 40


def key_figures(reader: ReleaseReader, confidence: float) -> Iterator[Figure]:
    """One table for each class of keys: the values with the most rows first."""
    table = sql_name(reader.schema.dataset)
    for part in reader.release.parts:
        if not isinstance(part.query_class, Keys):
            continue
        column = reader.schema.column(part.query_class.column)
        name = sql_name(column.name)
        listed = reader.ask(
            f"SELECT {name}, count(*) AS n FROM {table} GROUP BY {name} ORDER BY n DESC LIMIT {MOST_LINES}",
            confidence=confidence,
        )
        rows = [
            (clipped(next(iter(row.group.values()))), f"{row.answer.estimate:,.0f}",
             f"{row.answer.lower:,.0f} to {row.answer.upper:,.0f}")
            for row in listed
        ]  # fmt: skip
        many = sum(len(each.keys) for each in part.namings)
        facts = part.facts
        who = "rows" if reader.schema.unit.identifier is None else "people"
        yield Figure(
            f"Values of {column.name} that are published by name",
            f"{many:,} values are published, by {facts['mechanism']}: each with a probability of a half or more if "
            f"{facts['even']:,} {who} hold it, and certainly from {facts['certain']:,} on. A value that is not listed may still be in the table; every listed value is in it.",
            Markup(""),
            table=Table((column.name, "rows", "interval"), rows, right=(1, 2)),
        )
