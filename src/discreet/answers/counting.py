"""Counts from noisy tables, with their intervals.

The rows that satisfy a condition are at least those of its inner cells and at most those of its
outer cells. With noise X on a sum, P(|X| > h) <= 1 - confidence and X symmetric, each end misses
with at most half of that, so [inner sum - h, outer sum + h'] covers at `confidence`.

Where the number of rows is public and every row has a cell, a condition that takes more than half
of the cells is counted as that number minus the others: fewer draws, and none for the whole.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from discreet.answers.linear_tables import ModelTable, WeightedTable, below_a_ceiling
from discreet.answers.selecting import Selection
from discreet.answers.sources import CombinedTable
from discreet.inference.combination import half_widths
from discreet.inference.rounding import plausible_counts
from discreet.privacy.exact import Exactable

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

DECLARED_NOTE = (
    "Cells that the schema declares impossible are taken to be empty: an answer that concerns them "
    "rests on that declaration, and its interval is about the rows that fit it."
)


@dataclass(frozen=True, slots=True, eq=False)
class Estimates:
    """Estimates with intervals, one for each group (an array of no axes without groups)."""

    estimate: Floats
    lower: Floats
    upper: Floats
    std: Floats
    is_exact: bool
    """Whether the interval owes nothing to discretisation."""
    note: str = ""
    """What else a reader should know."""
    is_model: bool = False
    """Whether a model filled the table in: the interval then covers what it left out, too."""
    leaves_no_row_out: bool = False
    """Whether rows without a value count all the same; `note` then says as what."""
    is_declared: bool = False
    """Whether cells that the schema declares impossible were taken to be empty."""


def summed(
    numbers: npt.NDArray[np.generic], mask: npt.NDArray[np.bool_], axes: tuple[int, ...]
) -> Floats:
    """The sum of `numbers` over `axes` where `mask` holds."""
    where = np.broadcast_to(mask, numbers.shape)
    return np.asarray(np.sum(numbers, axis=axes, where=where), dtype=np.float64)


def many(mask: npt.NDArray[np.bool_], shape: tuple[int, ...], axes: tuple[int, ...]) -> Integers:
    return np.asarray(np.broadcast_to(mask, shape).sum(axis=axes, dtype=np.int64))


class _Side:
    """The noisy sum over some cells, or the public total minus the sum over the others."""

    def __init__(
        self, table: CombinedTable, sums: Floats, cells: Integers, rows: int | None
    ) -> None:
        self.value, self.draws = sums, cells
        if rows is not None:
            others = table.cells - cells
            fewer = others < cells
            rest = float(table.counts.sum()) - sums
            self.value = np.where(fewer, np.where(others == 0, rows, rows - rest), sums)
            self.draws = np.where(fewer, others, cells)


def count_rows(
    table: CombinedTable | WeightedTable,
    selection: Selection,
    *,
    group_axes: tuple[int, ...] = (),
    confidence: Exactable,
    public_rows: int | None,
    whole: bool = True,
    impossible: npt.NDArray[np.bool_] | None = None,
) -> Estimates:
    """How many rows satisfy the selection, in each combination of cells of the group axes.

    `impossible` cells hold no rows by declaration. Where each cell has a draw of its own they are
    left out of every sum; where cells share noise a sum over all of them has the least, so only what
    lies in such cells altogether is 0.
    """
    axes = tuple(axis for axis in range(len(selection.columns)) if axis not in group_axes)
    shape = table.counts.shape
    total = public_rows if public_rows is not None and not selection.loses_rows else None
    inner, outer = selection.inner(), selection.outer()
    declared = impossible is not None and bool((outer & impossible).any())
    if isinstance(table, WeightedTable):
        found = _weighted_count(table, selection, group_axes, confidence, public_rows, whole)
        return emptied(found, nothing_left(outer, impossible, axes)) if declared else found
    if impossible is not None and declared:
        inner, outer = inner & ~impossible, outer & ~impossible
    is_exact = bool(np.array_equal(inner, outer))
    low = _Side(table, summed(table.counts, inner, axes), many(inner, shape, axes), total)
    high, inside, spread = low, low.value, np.zeros(())
    if not is_exact:
        high = _Side(table, summed(table.counts, outer, axes), many(outer, shape, axes), total)
        share = np.where(inner | ~outer, 0.0, selection.share())
        inside = low.value + np.sum(table.counts * share, axis=axes)
        spread = np.sum(np.broadcast_to(share**2, shape), axis=axes)
    estimate, lower, upper = plausible_counts(
        inside,
        low.value - half_widths(table.noise, low.draws, confidence),
        high.value + half_widths(table.noise, high.draws, confidence),
        rows=public_rows,
        whole=whole,
    )
    std = np.sqrt(table.cell_variance * (low.draws + spread))
    return Estimates(estimate, lower, upper, np.asarray(std), is_exact, is_declared=declared)


def nothing_left(
    outer: npt.NDArray[np.bool_], impossible: npt.NDArray[np.bool_] | None, axes: tuple[int, ...]
) -> npt.NDArray[np.bool_]:
    """For each group, whether all that is selected is impossible."""
    left = outer if impossible is None else outer & ~impossible
    return np.asarray(~left.any(axis=axes))


def emptied(found: Estimates, nothing: npt.NDArray[np.bool_]) -> Estimates:
    """0, exactly, where `nothing` is left by declaration."""
    if not nothing.any():
        return found
    estimate, lower, upper, std = (
        np.where(nothing, 0.0, each)
        for each in (found.estimate, found.lower, found.upper, found.std)
    )
    return replace(found, estimate=estimate, lower=lower, upper=upper, std=std, is_declared=True)


def _weighted_count(
    table: WeightedTable,
    selection: Selection,
    group_axes: tuple[int, ...],
    confidence: Exactable,
    public_rows: int | None,
    whole: bool,
) -> Estimates:
    """The same from a table whose cells share noise; a public total is in it already."""
    axes = tuple(axis for axis in range(len(selection.columns)) if axis not in group_axes)
    inner, outer = selection.inner(), selection.outer()
    is_exact = bool(np.array_equal(inner, outer))
    low = high = summed(table.counts, inner, axes)
    level, most = confidence, np.array(np.inf)
    if isinstance(table, ModelTable) and table.margins:
        level = table.model_level(confidence)
        most = table.ceilings(outer, group_axes, confidence)
    width, std = table.widths(inner, group_axes, level)
    above, inside = width, low
    if not is_exact:
        high = summed(table.counts, outer, axes)
        above, std = table.widths(outer, group_axes, level)
        inside = low + np.sum(table.counts * np.where(inner, 0.0, selection.share()), axis=axes)
    estimate, lower, upper = plausible_counts(
        inside,
        *below_a_ceiling(low - width, high + above, width, most),
        rows=public_rows,
        whole=whole,
    )
    return Estimates(estimate, lower, upper, np.asarray(std), is_exact, is_model=table.is_model)
