"""A bound on the errors of the ranges of all groups: the bound of one group, at a level that all groups share."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from discreet.answering.asking import Asking
from discreet.artifacts.release import ErrorClaim, Part
from discreet.errors import NotAnswerable
from discreet.families.groups.answer.measured_parts import measured_parts
from discreet.families.groups.answer.noisy_ranges import GroupedRanges, noisy_ranges
from discreet.families.groups.queries.classes import ByGroup
from discreet.families.groups.queries.group_ranges import GroupBuckets, GroupStrategy
from discreet.families.ranges.estimate.all_ranges import (
    ROUNDING,
    THEOREM,
    LinearLeaves,
    all_ranges_bound,
    level_leaves,
    strategy_leaves,
)
from discreet.families.shared.answer.library import Library
from discreet.privacy.laws import NoiseLaw
from discreet.schema import Schema

MOST_CLAIMED = 1 << 17
"""Leaves over all groups whose distance from the measured numbers is computed at once."""


def linear_leaves(
    queries: list[tuple[GroupBuckets | GroupStrategy, NoiseLaw]], schema: Schema
) -> LinearLeaves | None:
    """The leaves of one group; None where they are too many."""
    first, law = queries[0]
    if isinstance(first, GroupStrategy):
        return strategy_leaves(first.array, law)
    finest = queries[-1][0]
    assert isinstance(finest, GroupBuckets)
    levels = [
        (query.shift - finest.shift, each)
        for query, each in queries
        if isinstance(query, GroupBuckets)
    ]
    return level_leaves(finest.buckets(schema), levels)


def noise_bound(
    queries: list[tuple[GroupBuckets | GroupStrategy, NoiseLaw]],
    schema: Schema,
    *,
    groups: int,
    delta: float,
) -> float | None:
    """A bound on the errors of all least squares counts of ranges in all groups, for plans and releases."""
    leaves = linear_leaves(queries, schema)
    return None if leaves is None else all_ranges_bound(leaves, delta, copies=groups) + ROUNDING


def group_range_bound(columns: list[GroupedRanges], schema: Schema, delta: float) -> float | None:
    """The bound for the estimates of all ranges of all groups of some columns."""
    found = []
    for each in columns:
        shape = tuple(schema.column(name).cells for name in each.groups)
        queries = [(numbers.query, numbers.law) for numbers in each.numbers]
        noise = noise_bound(queries, schema, groups=math.prod(shape), delta=delta / len(columns))
        if noise is None or each.numbers[-1].values.size > MOST_CLAIMED:
            return None
        sources = each.over(np.ones(shape, dtype=np.bool_), tuple(range(len(shape))))
        apart, cut = 0.0, 0.0
        for source in sources:
            index = source.intervals
            moved = index.prefix - index.fitted_prefix
            apart = max(apart, float(moved.max() - moved.min()))
            wide = np.asarray(index.widths) > 1
            if wide.any():
                # An end inside a leaf: true and estimated rows lie between those of its two boundaries.
                cut = max(cut, 2 * float(np.abs(np.diff(index.prefix))[wide].max()))
        found.append(noise + apart + cut)
    return max(found)


def group_range_claims(part: Part, schema: Schema, confidence: float) -> tuple[ErrorClaim, ...]:
    """The claim for all ranges of all groups at once; none where there are too many to compute it."""
    bound = group_range_bound(noisy_ranges(part.noisy, schema), schema, 1 - confidence)
    if bound is None:
        return ()
    return (ErrorClaim(part.query_class.text, bound, confidence, True, THEOREM),)


def ranges_bound(
    library: Library, asking: Asking, query_class: ByGroup, delta: Fraction
) -> tuple[float, str]:
    """For the registry: the bound from the release's parts."""
    schema, wanted = library.schema, set(query_class.measured(library.schema))
    for part in measured_parts(library, query_class, "group-ranges"):
        columns = [each for each in noisy_ranges(part.noisy, schema) if each.column in wanted]
        bound = group_range_bound(columns, schema, float(delta))
        if bound is None:
            raise NotAnswerable(
                f"{query_class.text} has too many cells for a bound of all ranges at once; "
                "each answer has an interval of its own."
            )
        return bound, THEOREM
    raise NotAnswerable(library.lacks(query_class.text))
