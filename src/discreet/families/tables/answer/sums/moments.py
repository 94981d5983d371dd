"""Sums of a column less its middle, and of products of two such, from one table: for spreads and correlations.

A row of a cell adds at least the least and at most the greatest product that the cell allows, so the sum lies
between two weighted sums of true counts; see `summing`.
"""

from __future__ import annotations

import numpy as np

from discreet.answering.regions.selecting import Selection
from discreet.arrays import Floats
from discreet.questions.question import middle_of


def moment_values(
    selection: Selection, axis: int, other: int | None
) -> tuple[Floats, Floats, Floats]:
    """What a row of each cell adds: the least, the greatest, and the number expected of it."""
    least, greatest, middle = _along(selection, axis)
    if other == axis:
        ends = least**2, greatest**2
        crosses = (least <= 0) & (greatest >= 0)
        middle = (
            least**2 + least * greatest + greatest**2
        ) / 3  # values spread evenly over the cell
        least, greatest = np.where(crosses, 0.0, np.minimum(*ends)), np.maximum(*ends)
    elif other is not None:
        low, high, mean = _along(selection, other)
        corners = [one * two for one in (least, greatest) for two in (low, high)]
        least, greatest = np.minimum.reduce(corners), np.maximum.reduce(corners)
        middle = middle * mean
    inner, outer, share = selection.inner(), selection.outer(), selection.share()
    least = np.where(outer, np.where(inner, least, np.minimum(least, 0.0)), 0.0)
    greatest = np.where(outer, np.where(inner, greatest, np.maximum(greatest, 0.0)), 0.0)
    return least, greatest, np.where(outer, middle * share, 0.0)


def _along(selection: Selection, axis: int) -> tuple[Floats, Floats, Floats]:
    """The least, greatest and mean value of each cell of a column, less its middle."""
    part, column = selection.pieces[axis], selection.columns[axis]
    low, high = (np.asarray(each) - middle_of(column) for each in part.values())
    low, high = np.where(part.in_domain, low, 0.0), np.where(part.in_domain, high, 0.0)
    if part.is_cut:
        low = np.minimum.reduceat(low, part.starts)
        high = np.maximum.reduceat(high, part.starts)
    shape = [-1 if place == axis else 1 for place in range(selection.mask.ndim)]
    low, high = low.reshape(shape), high.reshape(shape)
    return low, high, (low + high) / 2
