"""What no number of a class by group is off by: the widest interval, at a level that all groups share."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from discreet.answering.asking import Asking
from discreet.answering.library import Library
from discreet.artifacts.release import Part
from discreet.errors import NotAnswerable
from discreet.families.groups.answer.measured_parts import measured_parts
from discreet.families.groups.answer.noisy_columns import GroupedColumn, noisy_columns
from discreet.families.groups.queries.classes import ByGroup, GroupedMeans
from discreet.schema import Schema

EACH_GROUP = (
    "the exact quantile of the noise of each group's sums, and the union bound over all groups; an empty "
    "group's mean may lie anywhere within the bounds"
)


def number_bound(part: Part, schema: Schema, query_class: ByGroup, delta: Fraction) -> float:
    """The bound of a class, from the part that was released for its groups."""
    wanted = query_class.measured(schema)
    columns = [each for each in noisy_columns(part.noisy, schema) if each.column in wanted]
    level = 1 - Fraction(delta) / (query_class.cells(schema) * len(wanted))
    is_mean = isinstance(query_class, GroupedMeans)
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
) -> tuple[float, str]:
    """For the registry: the bound from the release's parts."""
    schema = library.schema
    for part in measured_parts(library, query_class, "group-numbers"):
        if isinstance(query_class, GroupedMeans) and part.algorithm == "group-sums":
            continue  # it has no counts
        return number_bound(part, schema, query_class, delta), EACH_GROUP
    raise NotAnswerable(library.lacks(query_class.text))
