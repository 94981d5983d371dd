"""Which neighbouring cells of a wide column may be taken together when a model is fitted.

Two neighbours are taken together where that changes what was measured of them together with other
columns least, in units of its noise: cells that few rows have, and cells that go along with the same
values of other columns. The rows of two cells are then shared out again by the column's own shares.
"""

from __future__ import annotations

import numpy as np

from discreet.arrays import Floats, Integers

SHARE_OF_MERGES = 0.5
"""The share of the merges still needed that is made before the changes are computed again."""


def merged_cells(profiles: Floats, shares: Floats, most: int) -> Integers:
    """For each cell of a column the number of its group, of at most `most`; groups are runs of cells.

    `profiles` has a row for each cell: what was measured of it together with other columns, each
    number in units of its noise.
    """
    labels = np.arange(len(shares), dtype=np.int64)
    groups, masses = profiles.astype(np.float64), np.maximum(shares, 1e-12)
    while len(groups) > most:
        needed = len(groups) - most
        taken = _apart(_changes(groups, masses), max(1, round(SHARE_OF_MERGES * needed)))
        joins = np.zeros(len(groups), dtype=bool)
        joins[taken + 1] = True  # joins the group before it
        starts = np.flatnonzero(~joins)
        groups = np.add.reduceat(groups, starts, axis=0)
        masses = np.add.reduceat(masses, starts)
        labels = (np.cumsum(~joins) - 1)[labels]
    return labels


def _changes(groups: Floats, masses: Floats) -> Floats:
    """For each group and the next: how far a merge moves their numbers, squared and summed."""
    first, second = masses[:-1, None], masses[1:, None]
    moved = (second * groups[:-1] - first * groups[1:]) / (first + second)
    return np.asarray(np.einsum("ij,ij->i", moved, moved))


def _apart(changes: Floats, many: int) -> Integers:
    """The places of the `many` smallest changes, without those that have a smaller one as their neighbour.

    Among equal changes every second one comes first, so that a run of them is halved at once.
    """
    order = np.lexsort((np.arange(len(changes)) % 2, changes))[:many]
    rank = np.full(len(changes) + 2, len(changes) + 1)
    rank[order + 1] = np.arange(len(order))
    least = (rank[1:-1] < rank[:-2]) & (rank[1:-1] < rank[2:])
    return np.flatnonzero(least)
