"""Which parts of a release measured what a class by group asks for."""

from __future__ import annotations

from collections.abc import Iterator

from discreet.artifacts.release import Part
from discreet.families.groups.queries.classes import ByGroup
from discreet.families.shared.answer.library import Library


def measured_parts(library: Library, query_class: ByGroup, kind: str) -> Iterator[Part]:
    """The parts of some kind with the same groups and all the columns that the class measures."""
    schema = library.schema
    groups, wanted = query_class.groups(schema), set(query_class.measured(schema))
    for part in library.release.parts:
        made = part.query_class
        if part.kind != kind or not isinstance(made, ByGroup) or made.groups(schema) != groups:
            continue
        if wanted <= set(made.measured(schema)):
            yield part
