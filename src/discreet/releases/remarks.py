"""What a class does not hold although its words may sound so, and what costs it accuracy: said in a plan and after a release."""

from __future__ import annotations

from discreet.queries.classes import QueryClass
from discreet.queries.places import loaded
from discreet.queries.registry import merged
from discreet.schema import Schema


def left_out_note(query_class: QueryClass, schema: Schema) -> str:
    """A sentence about what was too large to be released with the rest; nothing where all is there."""
    return _said(query_class, schema)[0]


def remarks(query_class: QueryClass, schema: Schema) -> list[str]:
    """All that is said of a class that was, or would be, released."""
    return [each for each in _said(query_class, schema) if each]


def _said(query_class: QueryClass, schema: Schema) -> tuple[str, str]:
    place = merged("remarks").get(query_class.name)
    return ("", "") if place is None else loaded(place)(query_class, schema)
