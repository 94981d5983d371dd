"""Sums and averages from a table that a model filled in, narrowed by the column's own table.

The model's measured distance alone lets a few rows carry the largest values. But no more rows have a
value than the column's own table, which was measured, has: with c the rows asked for and N(a) all rows
with value a, for any threshold v

    c v - sum of (v - a)+ N(a)  <=  sum over the rows asked for  <=  c v + sum of (a - v)+ N(a)

(Frechet's bounds: the rows asked for could be those with the largest values, or the smallest.) The
thresholds are fixed by the schema and the question, and share a part of the interval's risk. Another
part says how few rows c can be: those in a cell of one column, less those outside of the cells asked for
in the others.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np

from discreet.answering.estimates import Estimates
from discreet.answering.regions.selecting import Selection
from discreet.arrays import Floats
from discreet.families.shared.estimate.risk import at_part_of_risk
from discreet.families.tables.answer.models.model_table import ModelTable
from discreet.privacy.exact import Exactable

MARGIN_RISK = Fraction(2, 10)
"""The part of an interval's risk that goes to the column's own table."""
COUNT_RISK = Fraction(1, 10)
"""The part that goes to the fewest rows, or of a sum to the number of rows."""
PLACES = (1 / 16, 1 / 8, 1 / 4, 3 / 8, 1 / 2, 5 / 8, 3 / 4, 7 / 8)
"""Where among the column's cells the thresholds lie, beside 0."""


def level_beside(confidence: Exactable) -> Fraction:
    """What is left of the confidence for the model, after the tables of single columns."""
    return at_part_of_risk(confidence, 1 - MARGIN_RISK - COUNT_RISK)


def level_of_count(confidence: Exactable) -> Fraction:
    return at_part_of_risk(confidence, COUNT_RISK)


def narrowed_mean(
    table: ModelTable,
    selection: Selection,
    axis: int,
    group_axes: tuple[int, ...],
    found: Estimates,
    counts: Estimates,
    confidence: Exactable,
) -> Estimates:
    """An average between those of the smallest and of the largest values that so many rows could have."""
    sure = np.maximum(counts.lower, _fewest(table, selection, group_axes, confidence))
    some, fewest = sure >= 1, np.maximum(sure, 1.0)
    lower, upper = np.full(fewest.shape, -np.inf), np.full(fewest.shape, np.inf)
    for threshold, below, above in _excesses(table, selection, axis, confidence):
        lower = np.maximum(lower, threshold - below / fewest)
        upper = np.minimum(upper, threshold + above / fewest)
    return _within(found, np.where(some, lower, -np.inf), np.where(some, upper, np.inf))


def narrowed_sum(
    table: ModelTable,
    selection: Selection,
    axis: int,
    found: Estimates,
    counts: Estimates,
    confidence: Exactable,
) -> Estimates:
    """The same for a sum."""
    shape = counts.lower.shape
    lower, upper = np.full(shape, -np.inf), np.full(shape, np.inf)
    for threshold, below, above in _excesses(table, selection, axis, confidence):
        ends = np.stack([threshold * counts.lower, threshold * counts.upper])
        lower = np.maximum(lower, ends.min(axis=0) - below)
        upper = np.minimum(upper, ends.max(axis=0) + above)
    return _within(found, lower, upper)


def _excesses(
    table: ModelTable, selection: Selection, axis: int, confidence: Exactable
) -> list[tuple[float, float, float]]:
    """Thresholds, with what all rows together lie below and above each, at their upper ends."""
    margin = table.margins[axis]
    least, greatest, _ = selection.values(axis)
    shape, others = table.counts.shape, tuple(a for a in range(len(table.columns)) if a != axis)
    chosen = np.broadcast_to(selection.outer(), shape)
    low = np.where(chosen, np.broadcast_to(least, shape), np.inf).min(axis=others)
    high = np.where(chosen, np.broadcast_to(greatest, shape), -np.inf).max(axis=others)
    asked = np.flatnonzero(chosen.any(axis=others))
    if not len(asked):
        return []
    middle = np.sort((low[asked] + high[asked]) / 2)
    thresholds = {0.0, *(float(middle[int(len(middle) * place)]) for place in PLACES)}
    # Each of two sides: half of this for one end.
    level = at_part_of_risk(confidence, MARGIN_RISK / (len(PLACES) + 1))
    found = []
    for threshold in sorted(thresholds):
        sums = []
        for excess in (threshold - low[asked], high[asked] - threshold):
            weights = np.zeros(margin.counts.shape)
            weights[asked] = np.maximum(excess, 0.0)
            reach = margin.reach(weights, level)[0] if weights.any() else 0.0
            sums.append(max(0.0, float(weights @ margin.counts)) + reach)
        found.append((threshold, sums[0], sums[1]))
    return found


def _fewest(
    table: ModelTable, selection: Selection, group_axes: tuple[int, ...], confidence: Exactable
) -> Floats:
    """What the counts of a box of cells cannot be below, one a group (Bonferroni's inequality)."""
    shape = table.counts.shape
    sizes = [shape[axis] for axis in group_axes]
    wide = np.broadcast_to(selection.inner(), shape)
    ndim = wide.ndim
    sides = [wide.any(axis=tuple(a for a in range(ndim) if a != axis)) for axis in range(ndim)]
    box = np.ones(shape, dtype=np.bool_)
    for axis, side in enumerate(sides):
        box &= side.reshape([-1 if a == axis else 1 for a in range(ndim)])
    if table.total is None or len(table.margins) < ndim or not np.array_equal(box, wide):
        return np.zeros(sizes)  # rows without a cell, or no box: nothing follows
    level = 1 - 2 * (1 - level_of_count(confidence)) / (2 * ndim)
    inside, outside = [], []
    for axis, side in enumerate(sides):
        margin = table.margins[axis]
        if axis in group_axes:
            place = group_axes.index(axis)
            along = [-1 if at == place else 1 for at in range(len(sizes))]
            chosen = np.arange(shape[axis]) == 0  # all cells of a column are alike to the noise
        else:
            along, chosen = [1] * len(sizes), side
        kept, rest = (
            margin.reach(each[0].astype(np.float64), level)[0] for each in (chosen, ~chosen)
        )
        counts = (
            margin.counts * side if axis in group_axes else margin.counts[side].sum(keepdims=True)
        )
        inside.append((counts - kept).reshape(along))
        outside.append(np.maximum(margin.counts.sum() - counts + rest, 0.0).reshape(along))
    best = np.zeros(sizes)
    for axis in range(ndim):
        others = sum((each for a, each in enumerate(outside) if a != axis), np.zeros(1))
        best = np.maximum(best, inside[axis] - others)
    return best


def _within(found: Estimates, lower: Floats, upper: Floats) -> Estimates:
    """The interval cut to another; where they do not meet one has missed, and the first is kept."""
    low, high = np.maximum(found.lower, lower), np.minimum(found.upper, upper)
    meets = low <= high
    low, high = np.where(meets, low, found.lower), np.where(meets, high, found.upper)
    return replace(found, estimate=np.clip(found.estimate, low, high), lower=low, upper=high)
