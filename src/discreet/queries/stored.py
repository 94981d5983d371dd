"""Queries out of files: those that the core knows, and the families' own."""

from __future__ import annotations

from typing import Any

from discreet.errors import BadInput, BadRelease
from discreet.queries.measurable import ClampedSum, Marginal, PresentCount, Query
from discreet.queries.registry import query_kinds

_OF_THE_CORE: tuple[Any, ...] = (
    Marginal,
    ClampedSum,
    PresentCount,
)


def query_types() -> dict[str, Any]:
    """Every type of query by its kind: those of the core, then the families' own."""
    return {query.kind: query for query in _OF_THE_CORE} | query_kinds()


def query_from_dict(data: dict[str, Any]) -> Query:
    """A query out of a file. An unknown kind fails: it is never guessed."""
    try:
        found: Query = query_types()[data["kind"]].from_dict(data)
        return found
    except (KeyError, TypeError, ValueError) as error:
        if isinstance(error, BadInput):
            raise
        raise BadRelease("A stored query is not readable by this version.") from None
