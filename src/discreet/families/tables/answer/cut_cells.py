"""What the cut cells at both ends of a range add, for whole arrays of ranges."""

from __future__ import annotations

import numpy as np

from discreet.arrays import Floats, Integers
from discreet.schema import NumberColumn, OrderedColumn


def partial_cells(
    column: OrderedColumn,
    counts: Floats,
    begin: Floats,
    end: Floats,
    low: Floats,
    high: Floats,
    outer: tuple[Integers, Integers],
    inner: tuple[Integers, Integers],
) -> Floats:
    """What the cut cells at both ends add, their values spread evenly."""
    unit = 0.0 if isinstance(column, NumberColumn) else 1.0
    size = end - begin + unit
    first, last = outer
    added = np.zeros(low.shape)
    left = np.clip(first, 0, len(begin) - 1)
    right = np.clip(last - 1, 0, len(begin) - 1)
    cut_left = (first < last) & (first < inner[0])
    cut_right = (first < last) & (last > inner[1]) & ((right != left) | ~cut_left)
    for place, cut in ((left, cut_left), (right, cut_right)):
        covered = np.minimum(high, end[place]) - np.maximum(low, begin[place]) + unit
        with np.errstate(divide="ignore", invalid="ignore"):
            share = np.where(size[place] > 0, covered / size[place], 1.0)
        added += np.where(cut, np.clip(share, 0.0, 1.0) * counts[place], 0.0)
    if column.other_cell is not None:
        # The nearest value outside stands for its side, half of the outside rows each.
        before = (low < begin[0]) & (high >= begin[0] - unit) & (low <= high)
        after = (high > end[-1]) & (low <= end[-1] + unit) & (low <= high)
        added += counts[column.other_cell] * (0.5 * before + 0.5 * after)
    return added
