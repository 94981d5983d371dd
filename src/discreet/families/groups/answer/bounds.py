"""Bounds on the errors of all numbers, or all ranges, of a class by group, at a level that all groups share."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction

import numpy as np

from discreet.answering.asking import Asking
from discreet.artifacts.release import ErrorClaim, Part
from discreet.errors import NotAnswerable
from discreet.families.groups.answer.noisy_columns import (
    Form,
    GroupedColumn,
    noise_width,
    noisy_columns,
)
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


Bounds = tuple[float, float]

EACH_GROUP = (
    "the exact quantile of the noise of each group's sums, and the union bound over all groups; an empty "
    "group's mean may lie anywhere within the bounds"
)


LARGE_GROUPS = "the exact quantile of the noise in the sum of (value - t), over so many values, and the union bound over all groups"
_OF_COUNTS = Fraction(1, 64)
"""The part of a miss that is kept for a group whose noisy number of values is not even positive."""


def mean_bound(
    form: Form, laws: tuple[NoiseLaw, ...], bounds: Bounds, values: Fraction, miss: Fraction
) -> float | None:
    """A bound on the error of the mean of a group of at least this many values, except with probability `miss`; None if there is none.

    An estimate m + b or higher, of a true mean m, means that the noisy sum of (value - t) is not below 0 at t = m + b. The
    sum itself is at most -b times the number of values. So its noise was at least b times that number, on
    one side. An estimate is never outside the bounds, so t lies within them, and the noise is widest at one of
    them (of two equal draws, a mixture is the more peaked the more even it is: Proschan 1965). Likewise for m - b, on
    the other side. All this needs a noisy number of values above 0.
    """
    assert form.count is not None
    if noise_width(form.count, laws, 1, 1 - miss * _OF_COUNTS) >= values:
        return None
    level = 1 - miss * (1 - _OF_COUNTS)
    widest = max(noise_width(form.noise(end, end), laws, 1, level) for end in bounds)
    return widest / float(values)


def means_bound(
    columns: Sequence[tuple[Form, tuple[NoiseLaw, ...], Bounds]], values: Fraction, miss: Fraction
) -> float:
    """The largest `mean_bound` of several columns, for groups of `values` values each, and at most the width of their bounds."""
    found = 0.0
    for form, laws, (low, high) in columns:
        own = mean_bound(form, laws, (low, high), values, miss)
        found = max(found, high - low if own is None else min(high - low, own))
    return found


def large_groups(values: Fraction) -> str:
    """The groups that a bound of means holds for, in words."""
    return f"groups of at least {math.ceil(values):,} values"


def number_bound(part: Part, schema: Schema, query_class: ByGroup, delta: Fraction) -> float:
    """The bound of a class, from the part that was released for its groups."""
    wanted = query_class.measured(schema)
    columns = [each for each in noisy_columns(part.noisy, schema) if each.column in wanted]
    level = 1 - Fraction(delta) / (query_class.cells(schema) * len(wanted))
    is_mean = query_class.is_mean
    return max(_farthest(each, is_mean=is_mean, level=level) for each in columns)


def _farthest(measured: GroupedColumn, *, is_mean: bool, level: Fraction) -> float:
    everything = np.ones(measured.vectors[0].shape, dtype=np.bool_)
    sums = measured.over(everything, tuple(range(everything.ndim)))
    if not is_mean:
        _, width, _ = sums.linear(measured.form.total, level)
        return float(width.max())
    estimate, lower, upper, _ = sums.means(level)
    return float(np.maximum(upper - estimate, estimate - lower).max())


def numbers_bound(
    library: Library, asking: Asking, query_class: ByGroup, delta: Fraction
) -> tuple[float, str, str]:
    """For the registry: the bound from the release's parts, how it follows, and of which groups it holds."""
    schema = library.schema
    for part in measured_parts(library, query_class, "group-numbers"):
        if not query_class.is_mean:
            return number_bound(part, schema, query_class, delta), EACH_GROUP, ""
        if part.algorithm == "group-sums":
            continue  # it has no counts
        large = _of_large_groups(library, part, query_class, delta)
        return large or (number_bound(part, schema, query_class, delta), EACH_GROUP, "")
    raise NotAnswerable(library.lacks(query_class.text))


def _of_large_groups(
    library: Library, part: Part, query_class: ByGroup, delta: Fraction
) -> tuple[float, str, str] | None:
    """The release's claim for means: for groups of at least average size."""
    schema = library.schema
    wanted, cells = query_class.measured(schema), query_class.cells(schema)
    columns = [each for each in noisy_columns(part.noisy, schema) if each.column in wanted]
    values = Fraction(library.release.public_rows or schema.people or 0, cells)
    known = [(each.form, each.laws, each.bounds) for each in columns]
    bound = means_bound(known, values, Fraction(delta) / (cells * len(wanted)))
    bound += max(each.step for each in columns)
    if bound >= max(high - low for low, high in (each.bounds for each in columns)):
        return None
    return bound, LARGE_GROUPS, large_groups(values)


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
