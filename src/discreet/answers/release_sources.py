"""The sources of a release: those that put the evidence of several parts together, then each part's own."""

from __future__ import annotations

from collections.abc import Callable

from discreet.answers.halfspaces import HalfspaceSource
from discreet.answers.library import Library
from discreet.answers.source import Source
from discreet.answers.table_source import TableSource
from discreet.answers.tree_source import TreeSource

POOLED: tuple[Callable[[Library], Source], ...] = (TreeSource, TableSource, HalfspaceSource)
"""Arrays of counts come from the first of them that has them."""


def sources_of(library: Library) -> list[Source]:
    return [*(make(library) for make in POOLED), *library.own_sources]
