"""A bound on the errors of all numbers of a class by group: the widest interval, at a level that all groups share."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from discreet.answering.asking import Asking
from discreet.artifacts.release import Part
from discreet.errors import NotAnswerable
from discreet.families.groups.answer.measured_parts import measured_parts
from discreet.families.groups.answer.noisy_columns import (
    Form,
    GroupedColumn,
    noise_width,
    noisy_columns,
)
from discreet.families.groups.queries.classes import ByGroup
from discreet.families.shared.answer.library import Library
from discreet.privacy.laws import NoiseLaw
from discreet.schema import Schema

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
    """The same for groups of so many values of several columns: the farthest, and no more than their bounds allow."""
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
