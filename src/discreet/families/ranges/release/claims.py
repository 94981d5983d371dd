"""What a released tree claims: the bound for all its ranges at once, computed from what is published."""

from __future__ import annotations

from collections.abc import Sequence

from discreet.artifacts.release import ErrorClaim
from discreet.families.ranges.answer.box_usefulness import box_noise_bound
from discreet.families.ranges.answer.class_bounds import levels_noise_bound, tree_bound
from discreet.families.ranges.answer.ranges import RangeSource
from discreet.families.ranges.answer.usefulness import (
    OF_ALL_ROWS,
    adaptive_noise,
    chernoff_noise,
)
from discreet.families.ranges.estimate.all_ranges import ROUNDING
from discreet.families.ranges.estimate.bridges import BridgeLevel, BridgeRoot
from discreet.families.ranges.queries.ranges import Ranges
from discreet.privacy.laws import NoiseLaw
from discreet.queries.tree import bits_of

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


Levels = Sequence[tuple[tuple[int, ...], NoiseLaw]]
"""Measured levels from the top: the depth of each in every column, and its noise."""


def whole_levels_bound(cells: Sequence[int], levels: Levels, delta: float) -> float:
    """What a plan says of whole levels, by the functions that the release's claim is computed with."""
    if len(cells) > 1:
        return box_noise_bound(cells, levels, delta, is_whole=True)
    bits = bits_of(cells[0])
    laws = {bits - depth[0]: law for depth, law in levels}
    found = levels_noise_bound(cells[0], laws, delta)
    return _of_bridges(cells[0], levels, 1, delta) if found is None else found


def stopped_levels_bound(
    cells: Sequence[int],
    levels: Levels,
    *,
    possible: int | None,
    delta: float,
    root: BridgeRoot | None = None,
) -> float:
    """The same for a tree that stops where rows are few, as if no node were stopped early.

    `possible`: at how many levels it may end; None for a tree whose bound is not simulated. `root`: one that counts by
    weights, which is none of the levels.
    """
    if len(cells) > 1:
        return box_noise_bound(cells, levels, delta, is_whole=False)
    return _of_bridges(cells[0], levels, possible, delta, root)


def _of_bridges(
    cells: int,
    levels: Levels,
    possible: int | None,
    delta: float,
    root: BridgeRoot | None = None,
) -> float:
    bits, delta = bits_of(cells), (1 - OF_ALL_ROWS) * delta
    bridges = [BridgeLevel(bits - depth[0], law) for depth, law in levels]
    noise = None if possible is None else adaptive_noise(cells, bridges, possible, delta, root)
    return (chernoff_noise(bridges, bits, delta) if noise is None else noise) + ROUNDING
