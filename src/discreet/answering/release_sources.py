"""The sources of a release: those that put the evidence of several parts together, then each part's own."""

from __future__ import annotations

from discreet.answering.source import Source
from discreet.families.shared.answer.library import Library
from discreet.queries.places import loaded
from discreet.queries.registry import families


def additive_sources(library: Library) -> list[Source]:
    """Sources whose counts add up however they are summed: see `Family.additive`."""
    return [loaded(place)(library) for family in families() for place in family.additive]


def sources_of(library: Library) -> list[Source]:
    """Arrays of counts come from the first of them that has them."""
    places = [place for family in families() for place in family.pooled]
    pooled: list[Source] = [loaded(place)(library) for place in places]
    pooled.sort(key=lambda source: not source.is_first)
    return [*pooled, *library.evidence.sources]
