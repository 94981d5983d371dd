"""The sources of a release: those that put the evidence of several parts together, then each part's own."""

from __future__ import annotations

from discreet.answering.library import Library
from discreet.answering.source import Source
from discreet.queries.registry import families, loaded


def sources_of(library: Library) -> list[Source]:
    """Arrays of counts come from the first of them that has them."""
    places = [place for family in families() for place in family.pooled]
    pooled: list[Source] = [loaded(place)(library) for place in places]
    pooled.sort(key=lambda source: not source.is_first)
    return [*pooled, *library.own_sources]
