"""Sums and averages of a column: from tables of its cells, or measured directly.

From a table: a row adds at least its cell's lowest value and at most the highest, so the sum lies
between two weighted sums of true counts, and each of these is known up to weighted noise. The
interval includes the width of the cells; with cells of one value there is none.

An average is a sum over a count. Taken from the middle of the column's bounds, both intervals hold
together at `confidence` by the union bound, and the quotient lies in the box that they span. It
also lies between the least and the greatest value that the condition allows, which is public.
"""

from __future__ import annotations

import math

import numpy as np

from discreet.answering.estimates import Estimates
from discreet.answering.regions.selecting import Selection
from discreet.arrays import Bools, Floats
from discreet.errors import NotAnswerable
from discreet.families.shared.answer.evidence import NoisySum
from discreet.families.shared.answer.left_out_notes import rounded
from discreet.families.shared.estimate.combination import (
    Term,
    half_width,
    inverse_variance_weights,
)
from discreet.families.shared.estimate.rounding import plausible_ends
from discreet.families.tables.answer.counting import DECLARED_NOTE, nothing_left
from discreet.families.tables.answer.linear_tables import WeightedTable
from discreet.privacy.exact import Exactable
from discreet.schema import Column

MOST_WEIGHTED = 1 << 24
"""Cells of a table that are weighted one by one."""


def check_weighted(selection: Selection) -> None:
    """Refuses a table of too many cells before it is made, and before their weights are."""
    cells = math.prod(selection.shape)
    if cells > MOST_WEIGHTED:
        raise NotAnswerable(
            f"A sum over {', '.join(selection.names)} needs {cells:,} cells one by one; the most is {MOST_WEIGHTED:,}. Ask about fewer columns at once."
        )


def sum_rows(
    table: WeightedTable,
    selection: Selection,
    axis: int,
    *,
    group_axes: tuple[int, ...] = (),
    confidence: Exactable,
    public_rows: int | None,
    center: float = 0.0,
    impossible: Bools | None = None,
) -> Estimates:
    """The sum of (column on `axis` - center) over the selected rows; see `count_rows`."""
    return weighted_rows(
        table,
        selection,
        selection.values(axis, center),
        group_axes=group_axes,
        confidence=confidence,
        public_rows=public_rows,
        impossible=impossible,
    )


def weighted_rows(
    table: WeightedTable,
    selection: Selection,
    values: tuple[Floats, Floats, Floats],
    *,
    group_axes: tuple[int, ...],
    confidence: Exactable,
    public_rows: int | None,
    impossible: Bools | None = None,
) -> Estimates:
    """The sum over the selected rows of what each adds: the least, the greatest and the expected number."""
    least, greatest, middle = values
    axes = tuple(place for place in range(len(selection.columns)) if place not in group_axes)
    outer = selection.outer()
    declared = impossible is not None and bool((outer & impossible).any())
    if impossible is not None and declared and table.has_own_draws:
        least, greatest, middle = (
            np.where(impossible, 0.0, each) for each in (least, greatest, middle)
        )
    estimate = np.sum(table.counts * middle, axis=axes)
    is_exact = bool(np.array_equal(least, greatest))
    ends: list[Floats] = []
    for weights, sign in ((least, -1.0), (greatest, 1.0)):
        value = np.sum(table.counts * weights, axis=axes)
        width, _ = table.widths(weights, group_axes, confidence)
        ends.append(np.asarray(value + sign * width))
    std = table.deviations(middle, group_axes)
    # The two ends carry different noise, so they can cross; the estimate stays between them.
    lower, upper = np.minimum(ends[0], ends[1]), np.maximum(ends[0], ends[1])
    bounds = possible_sums(float(least.min()), float(greatest.max()), public_rows)
    _, lower, upper = plausible_ends(estimate, lower, upper, least=bounds[0], most=bounds[1])
    if table.whole is not None and table.whole.of_whole_table and is_exact:
        estimate = np.sum(table.whole.counts * middle, axis=axes)
        lower, upper = np.minimum(lower, estimate), np.maximum(upper, estimate)
    found = Estimates(
        estimate=np.clip(estimate, lower, upper),
        lower=lower,
        upper=upper,
        std=np.asarray(std),
        is_exact=is_exact,
        is_model=table.is_model,
        is_count=False,
    )
    if not declared:
        return found
    nothing = nothing_left(outer, impossible, axes)
    noted = found.noted(DECLARED_NOTE) if table.has_own_draws or nothing.any() else found
    return noted.emptied(nothing)


def possible_sums(least: float, greatest: float, rows: int | None) -> tuple[float, float]:
    """Between what any number of values lies, if added: at most `rows` of them, where that is public."""
    many = math.inf if rows is None else float(rows)
    return (
        least * many if least < 0 < many else 0.0,
        greatest * many if greatest > 0 < many else 0.0,
    )


def quotient(
    sums: Estimates, counts: Estimates, *, center: float, hull: tuple[float, float]
) -> Estimates:
    """center + sum / count, for any pair inside the two intervals, within `hull`."""
    fewest, most = np.maximum(counts.lower, 1.0), np.maximum(counts.upper, 1.0)
    upper = center + np.where(sums.upper > 0, sums.upper / fewest, sums.upper / most)
    lower = center + np.where(sums.lower < 0, sums.lower / fewest, sums.lower / most)
    some = counts.upper >= 1  # of no rows there is no mean: anything is said to be possible
    lower = np.where(some, np.clip(lower, *hull), hull[0])
    upper = np.where(some, np.clip(upper, *hull), hull[1])
    count = np.maximum(counts.estimate, 1.0)
    estimate = np.where(counts.estimate > 0, center + sums.estimate / count, (lower + upper) / 2)
    ratio = np.abs(estimate - center)
    std = (sums.std + ratio * counts.std) / count  # first order, whatever the correlation
    return Estimates(
        estimate=np.clip(estimate, lower, upper),
        lower=lower,
        upper=upper,
        std=np.asarray(std),
        is_exact=sums.is_exact and counts.is_exact,
        is_model=sums.is_model or counts.is_model,
        is_count=False,
        notes=tuple(dict.fromkeys([*sums.notes, *counts.notes])),
    )


def direct_sum(
    sums: list[NoisySum], column: Column, *, confidence: Exactable, most_rows: int | None
) -> Estimates:
    """The sum of a whole column from measured sums.

    Rounding to a grid moves a value by half a step at most. Where the number of rows is a secret
    that bounds nothing, so the interval is for the sum of the rounded values, and a note says so.
    """
    variances = [each.law.variance / each.grid**2 for each in sums]
    weights = inverse_variance_weights(variances)
    used = [(each, weight) for each, weight in zip(sums, weights, strict=True) if weight]
    value = math.fsum(weight * each.value / each.grid for each, weight in used)
    width = half_width([(weight / each.grid, each.law, 1) for each, weight in used], confidence)
    rounds = any(each.rounds for each, _ in used)
    if rounds and most_rows is not None:
        width += most_rows * sum(weight / (2 * each.grid) for each, weight in used if each.rounds)
    std = math.sqrt(sum(w * w * each.law.variance / each.grid**2 for each, w in used))
    note = ""
    if rounds and most_rows is None:
        step = max(1 / each.grid for each, _ in used if each.rounds)
        note = rounded(step)
    covered = not rounds or most_rows is None
    bounds = column.value_bounds
    assert bounds is not None
    least, greatest = possible_sums(float(bounds[0]), float(bounds[1]), most_rows)
    value, lower, upper = _possible(value, width, least, greatest)
    return Estimates.single(
        value, lower, upper, std, is_exact=covered, is_count=False, notes=(note,) if note else ()
    )


def _possible(value: float, width: float, least: float, most: float) -> tuple[float, float, float]:
    """The estimate and the two ends of a sum that lies between `least` and `most`."""
    ends = (np.array([each]) for each in (value, value - width, value + width))
    value, lower, upper = (float(each[0]) for each in plausible_ends(*ends, least=least, most=most))
    return value, lower, upper


def centred_sum(measured: NoisySum, column: Column, *, confidence: Exactable) -> Estimates:
    """The sum of a whole column from what its mean was measured by: the sum from a centre, and the count.

    SUM(x) = SUM(x - c) + c COUNT(x), and the noise is that of both.
    """
    assert measured.count is not None and column.value_bounds is not None
    center, step = float(measured.center), 1 / measured.grid
    terms: list[Term] = [(step, measured.law, 1), (abs(center), measured.count.law, 1)]
    value = measured.value * step + center * measured.count.value
    width = half_width(terms, confidence)
    low, high = map(float, column.value_bounds)
    least, greatest = possible_sums(low, high, None)
    value, lower, upper = _possible(value, width, least, greatest)
    note = rounded(step)
    return Estimates.single(
        value,
        lower,
        upper,
        math.sqrt(sum(weight * weight * law.variance * n for weight, law, n in terms)),
        is_exact=True,
        is_count=False,
        notes=(note,) if measured.rounds else (),
    )


def direct_mean(
    measured: NoisySum, column: Column, *, confidence: Exactable, public_rows: int | None
) -> Estimates:
    """The mean of a whole column: center + noisy sum / (noisy count, or the public number of rows).

    With noise x on the sum S and y on the count N, (S+x)/(N+y) - S/N = (x - (S/N) y) / (N+y). |S/N|
    is at most the distance r from the centre to the farther bound, and a larger weight only spreads
    the noise, so the error is at most (quantile of |x - r y|) / |N+y| at `confidence`.
    """
    bounds = column.value_bounds
    assert bounds is not None
    hull = float(bounds[0]), float(bounds[1])
    center, step = float(measured.center), 1 / measured.grid
    reach = max(abs(hull[0] - center), abs(hull[1] - center)) + (step / 2 if measured.rounds else 0)
    terms: list[Term] = [(step, measured.law, 1)]
    note = ""
    if measured.count is not None:
        divisor = float(measured.count.value)
        terms.append((reach, measured.count.law, 1))
    elif public_rows is not None:
        divisor = float(public_rows)
        note = (
            f"The mean of {measured.column!r} is over all {public_rows:,} rows; one without a value "
            f"in the domain would count as {center:.6g}."
        )
    else:
        raise NotAnswerable("The release has a sum of this column and no count to divide it by.")
    if divisor <= 0 or public_rows == 0:
        middle = (hull[0] + hull[1]) / 2
        return Estimates.single(
            middle, *hull, std=math.inf, is_exact=not measured.rounds, is_count=False
        )
    estimate = center + measured.value * step / divisor
    width = half_width(terms, confidence) / divisor + (step / 2 if measured.rounds else 0.0)
    lower, upper = (min(max(end, hull[0]), hull[1]) for end in (estimate - width, estimate + width))
    std = math.sqrt(sum(w * w * law.variance * n for w, law, n in terms)) / divisor
    return Estimates.single(
        min(max(estimate, lower), upper),
        lower,
        upper,
        std,
        is_exact=not measured.rounds,
        is_count=False,
        notes=(note,) if note else (),
        leaves_no_row_out=measured.count is None,
    )
