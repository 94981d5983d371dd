"""Remarks about a class, in a plan and after a release: what it does not hold, and what costs it accuracy."""

from __future__ import annotations

from discreet.queries.classes import NamesTables, QueryClass
from discreet.queries.places import loaded
from discreet.queries.registry import merged
from discreet.schema import Schema, keeps_every_row

NAMED = 3
"""So many columns are named."""


def left_out_note(query_class: QueryClass, schema: Schema) -> str:
    """A sentence about what was too large to be released with the rest; nothing where all is there."""
    return _said(query_class, schema)[0]


def remarks(query_class: QueryClass, schema: Schema, algorithm: str) -> list[str]:
    """All that is said of a class that was, or would be, released by an algorithm."""
    said = (*_said(query_class, schema), _of_different_rows(query_class, schema, algorithm))
    return [each for each in said if each]


def _of_different_rows(query_class: QueryClass, schema: Schema, algorithm: str) -> str:
    """A sentence about tables whose cells do not add up to smaller tables; nothing where they do."""
    if algorithm != "direct" or not isinstance(query_class, NamesTables):
        return ""
    tables = [each for each in query_class.sets(schema) if len(each) > 1]
    losing = [
        name
        for name in dict.fromkeys(name for each in tables for name in each)
        if not keeps_every_row(schema.column(name))
    ]
    if not losing:
        return ""
    named = ", ".join(losing[:NAMED]) + (" and more" if len(losing) > NAMED else "")
    return (
        f"Rows without a cell in {named} are in no count of such a table, so it cannot answer questions about fewer of its columns. For such questions, give nulls and other values cells in the schema, name the smaller tables too, or "
        f"say --algorithm '{query_class.text}=residuals'."
    )


def _said(query_class: QueryClass, schema: Schema) -> tuple[str, str]:
    place = merged("remarks").get(query_class.name)
    return ("", "") if place is None else loaded(place)(query_class, schema)
