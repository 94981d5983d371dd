"""The sources of a release: those that put the evidence of several parts together, then each part's own."""

from __future__ import annotations

from collections.abc import Callable

from discreet.answering.library import Library
from discreet.answering.source import Source
from discreet.families.halfspaces.answer.halfspaces import HalfspaceSource
from discreet.families.ranges.answer.tree_source import TreeSource
from discreet.families.tables.answer.table_source import TableSource

POOLED: tuple[Callable[[Library], Source], ...] = (TreeSource, TableSource, HalfspaceSource)
"""Arrays of counts come from the first of them that has them."""


def sources_of(library: Library) -> list[Source]:
    return [*(make(library) for make in POOLED), *library.own_sources]
