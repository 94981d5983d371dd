"""Sums and averages from a table that a model filled in, as far as its cells usually are off.

What is known of the errors of cells (`models.cell_errors`) says how far a weighted sum of them is off: rows fall into
cells by chance, and all other errors may go in one direction. An average lies above t if the sum of (value - t) over the rows is above 0. So the
interval of an average holds every t for which the interval of that sum holds 0 (Fieller 1954): it misses only if the sum at the
true average does, so its risk is that of one sum. It is looked for among points that lie close together, with a
straight line between two of them.

Like intervals of counts it is nominal: how often it holds was measured.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from discreet.answering.estimates import Estimates
from discreet.answering.regions.selecting import Selection
from discreet.arrays import Bools, Floats
from discreet.families.shared.estimate.combination import halved
from discreet.families.tables.answer.linear_tables import others
from discreet.families.tables.answer.models.cell_errors import side_by_side
from discreet.families.tables.answer.models.model_table import LEAST, ModelTable
from discreet.families.tables.answer.models.usual_errors import UsualErrors, usual_deviations
from discreet.privacy.exact import Exactable, exact

POINTS = 33
"""Possible averages that are looked at."""


def narrowed_to_usual_mean(
    table: ModelTable,
    selection: Selection,
    axis: int,
    group_axes: tuple[int, ...],
    found: Estimates,
    confidence: Exactable,
) -> Estimates:
    """An average between those that the usual errors of cells allow."""
    low, high = selection.hull(axis)
    usual = table.usual
    if usual is None or not low < high:
        return found
    points = np.linspace(low, high, POINTS)
    values = [selection.values(axis, float(point))[:2] for point in points]
    ends = _ends(usual, values, others(table.counts.ndim, group_axes), confidence)
    if ends is None:
        return found
    below, above = ends[0] <= 0, ends[1] >= 0
    lower = _crossing(points, ends[0], below)
    upper = -_crossing(-points[::-1], -ends[1][::-1], above[::-1])
    some = np.asarray(below.any(axis=0) & above.any(axis=0) & (lower <= upper))
    return _within(found, np.where(some, lower, low), np.where(some, upper, high), confidence)


def narrowed_to_usual_sum(
    table: ModelTable,
    selection: Selection,
    axis: int,
    group_axes: tuple[int, ...],
    found: Estimates,
    counts: Callable[[Exactable], Estimates],
    confidence: Exactable,
) -> Estimates:
    """The same for a sum: of how far values lie from the middle of those asked for, and the middle for every row.

    Each of the two gets half of the risk.
    """
    low, high = selection.hull(axis)
    usual, level = table.usual, halved(confidence)
    if usual is None or not low <= high:
        return found
    middle = (low + high) / 2
    axes = others(table.counts.ndim, group_axes)
    ends = _ends(usual, [selection.values(axis, middle)[:2]], axes, level)
    if ends is None:
        return found
    many = counts(level)
    rows = np.stack([middle * many.lower, middle * many.upper])
    lower, upper = rows.min(axis=0) + ends[0][0], rows.max(axis=0) + ends[1][0]
    return _within(found, lower, upper, confidence)


def _ends(
    usual: UsualErrors,
    values: Sequence[tuple[Floats, Floats]],
    axes: tuple[int, ...],
    confidence: Exactable,
) -> tuple[Floats, Floats] | None:
    """Both ends of sums of what rows add at least and at most, one line for each of `values`."""
    found = []
    for side, sign in ((0, -1.0), (1, 1.0)):
        weights = [each[side] for each in values]
        sums = side_by_side([usual.cells.weighted(each, axes) for each in weights])
        sizes = np.stack(
            [np.sum(np.abs(each) * usual.cells.expected, axis=axes) for each in weights]
        )
        reach = usual.reach_of_sums(sums, sizes, confidence)
        if reach is None:
            return None
        row = np.stack([np.abs(each).max(axis=axes, initial=0.0) for each in weights])
        found.append(np.asarray(sums.expected + sign * np.maximum(reach, LEAST * row)))
    return found[0], found[1]


def _crossing(points: Floats, ends: Floats, reached: Bools) -> Floats:
    """The first point at which an end has reached 0, or where a straight line from the point before it does."""
    first = np.argmax(reached, axis=0)
    before = np.maximum(first - 1, 0)
    one, other = (np.take_along_axis(ends, place[None], axis=0)[0] for place in (before, first))
    part = np.divide(one, one - other, out=np.zeros(one.shape), where=(first > 0) & (one > other))
    return np.asarray(points[before] + part * (points[first] - points[before]))


def _within(found: Estimates, lower: Floats, upper: Floats, confidence: Exactable) -> Estimates:
    """The interval cut to another one, but not the estimate, which stands beside others."""
    low = np.maximum(found.lower, np.minimum(lower, found.estimate))
    high = np.minimum(found.upper, np.maximum(upper, found.estimate))
    deviation = (high - low) / (
        2 * usual_deviations(float(1 - exact(confidence, name="confidence")))
    )
    return replace(found, lower=low, upper=high, std=np.minimum(found.std, deviation))
