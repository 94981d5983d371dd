"""Counts that are not negative and add up: the nearest such table. Post-processing, so free."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from discreet.arrays import Floats

MOST_LEFT = 0.8
"""If more than this part is left, the search for counts that become 0 ends."""


def nearest_counts(noisy: npt.NDArray[np.generic], total: float | None = None) -> Floats:
    """The table closest to `noisy` in squares among those without negative counts that add to `total`.

    `None` keeps the noisy table's own sum. Small counts, mostly noise, become 0: estimates gain a
    lot where most cells are empty. They are no longer unbiased, so intervals never come from here.
    """
    flat = noisy.reshape(-1).astype(np.float64)
    goal = max(0.0, float(flat.sum()) if total is None else float(total))
    if goal == 0:
        return np.zeros(noisy.shape)
    ordered = np.sort(_not_surely_below(flat, goal))[::-1]
    excess = np.cumsum(ordered) - goal
    kept = np.flatnonzero(ordered - excess / np.arange(1, len(ordered) + 1) > 0)[-1]
    nearest: Floats = np.maximum(flat - excess[kept] / (kept + 1), 0.0)
    return nearest.reshape(noisy.shape)


def _not_surely_below(counts: Floats, goal: float) -> Floats:
    """Those that may be above 0 in the end, so that fewer are sorted.

    What is taken off each is at least what would make all of them together add to `goal`, whatever signs that leaves.
    """
    while True:
        above = counts[counts > (counts.sum() - goal) / len(counts)]
        if not len(above) or len(above) > MOST_LEFT * len(counts):
            return counts
        counts = above
