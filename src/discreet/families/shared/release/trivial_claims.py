"""Claims are never larger than what is true in any case: no count is off by more than all rows."""

from __future__ import annotations

from dataclasses import replace

from discreet.answering.usefulness import TRIVIAL
from discreet.artifacts.release import ErrorClaim, Part, Release
from discreet.queries.class_tables import counts_rows


def no_more_than_all_rows(
    claims: tuple[ErrorClaim, ...], part: Part, public_rows: int | None
) -> tuple[ErrorClaim, ...]:
    """Claims about counts, where the number of rows is public: answers are cut to it, so errors are too."""
    if (
        public_rows is None
        or not counts_rows(part.query_class.name)
        or part.is_answered_as_measured
    ):
        return claims
    return tuple(
        replace(claim, bound=float(public_rows), theorem=TRIVIAL)
        if claim.bound >= public_rows
        else claim
        for claim in claims
    )


def drowned(release: Release) -> set[str]:
    """Classes of counts of which a claim is larger than the number of people that the schema states."""
    people = release.schema.people
    counted = {
        part.query_class.text for part in release.parts if counts_rows(part.query_class.name)
    }
    return {
        claim.query_class
        for claim in release.claims
        if people is not None and claim.bound >= people and claim.query_class in counted
    }
