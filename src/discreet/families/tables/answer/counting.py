"""Counts from noisy tables, with their intervals.

The rows that satisfy a condition are at least those of its inner cells and at most those of its
outer cells. With noise X on a sum, P(|X| > h) <= 1 - confidence and X symmetric, each end misses
with at most half of that, so [inner sum - h, outer sum + h'] covers at `confidence`.

Where the number of rows is public and every row has a cell, a condition that takes more than half
of the cells is counted as that number minus the others: fewer draws, and none for the whole.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from discreet.answering.estimates import Estimates
from discreet.answering.regions.selecting import Selection
from discreet.arrays import Bools, Floats
from discreet.families.tables.answer.linear_tables import (
    Agreed,
    WeightedTable,
    below_a_ceiling,
    summed,
)
from discreet.privacy.exact import Exactable

DECLARED_NOTE = (
    "Cells that the schema declares impossible are taken to be empty. Answers about them rely on "
    "that declaration, and their intervals are about the rows that fit it."
)


def count_rows(
    table: WeightedTable,
    selection: Selection,
    *,
    group_axes: tuple[int, ...] = (),
    confidence: Exactable,
    public_rows: int | None,
    impossible: Bools | None = None,
) -> Estimates:
    """How many rows satisfy the selection, in each combination of cells of the group axes.

    `impossible` cells hold no rows by declaration. Where each cell has a draw of its own they are
    left out of every sum; where cells share noise a sum over all of them has the least, so only what
    lies in such cells altogether is 0.
    """
    axes = tuple(axis for axis in range(len(selection.columns)) if axis not in group_axes)
    rows = None if selection.loses_rows else public_rows
    inner, outer = selection.inner(), selection.outer()
    declared = impossible is not None and bool((outer & impossible).any())
    nothing = nothing_left(outer, impossible, axes) if declared else None
    if impossible is not None and declared and table.has_own_draws:
        inner, outer = inner & ~impossible, outer & ~impossible
    is_exact = bool(np.array_equal(inner, outer))
    level, most = table.model_level(confidence), table.ceilings(outer, group_axes, confidence)
    low, width, above, std = table.ends(inner, group_axes, rows, level)
    high, middle, share = low, low, np.zeros(())
    if not is_exact:
        high, _, above, wider = table.ends(outer, group_axes, rows, level)
        share = np.where(inner | ~outer, 0.0, selection.share())
        middle = low + np.sum(table.counts * share, axis=axes)
        spread = np.sum(np.broadcast_to(share**2, table.counts.shape), axis=axes)
        std = table.cut_deviation(std, wider, spread)
    lower, upper = below_a_ceiling(low - width, high + above, width, most)
    found = Estimates(middle, lower, upper, np.asarray(std), is_exact, table.is_model)
    if table.whole is not None:
        counts = summed(table.whole.counts, inner, axes)
        if not is_exact:
            counts = counts + np.sum(table.whole.counts * share, axis=axes)
        found = around(found, counts, table.whole)
    if nothing is None or not (table.has_own_draws or nothing.any()):
        return found
    return found.emptied(nothing).noted(DECLARED_NOTE)


def around(found: Estimates, counts: Floats, agreed: Agreed) -> Estimates:
    """Counts that add up as estimates, with the intervals of what was measured.

    The measured interval covers at its confidence, and a wider one covers at least as often: so it is made wide enough to
    hold the count, which lies elsewhere where noise had gone below 0.
    """
    held = found.plausible(agreed.most, whole=False)
    return replace(
        held,
        estimate=counts,
        lower=np.minimum(held.lower, counts),
        upper=np.maximum(held.upper, counts),
        readings=(),
        is_settled=agreed.as_measured,
        adds_up=True,
        includes_ranges=agreed.includes_ranges,
    )


def nothing_left(outer: Bools, impossible: Bools | None, axes: tuple[int, ...]) -> Bools:
    """For each group, whether all that is selected is impossible."""
    left = outer if impossible is None else outer & ~impossible
    return np.asarray(~left.any(axis=axes))
