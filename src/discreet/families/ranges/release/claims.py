"""What a released tree claims: the bound for all its ranges at once, computed from what is published."""

from __future__ import annotations

from discreet.artifacts.release import ErrorClaim
from discreet.families.ranges.answer.class_bounds import tree_bound
from discreet.families.ranges.answer.ranges import RangeSource
from discreet.families.ranges.queries.ranges import Ranges

MOST_CLAIMED = 1 << 17
"""Leaves of a tree whose bound is computed at once; of a larger one it is computed when asked for."""


def tree_claims(source: RangeSource, confidence: float) -> tuple[ErrorClaim, ...]:
    """The claim of `answers.usefulness`, which anybody can compute again: post-processing, so free."""
    part = source.part
    assert isinstance(part.query_class, Ranges)
    if len(part.estimates["leaves"]) > MOST_CLAIMED:
        return ()
    bound, theorem = tree_bound(source, part.query_class.pieces, 1 - confidence)
    return (
        ErrorClaim(
            query_class=part.query_class.text,
            bound=bound,
            confidence=confidence,
            simultaneous=True,
            theorem=theorem,
        ),
    )
