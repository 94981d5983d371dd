"""A model's table of two columns where the model has not caught up with what was measured of it.

A model is fitted to many tables at once and in few steps. Where it is further from a measured table than
noise explains, the measured one says more: the model's counts are scaled to it, bin by bin, and keep
their shape inside each bin.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from discreet.arrays import Floats
from discreet.families.shared.estimate.simplex import nearest_counts
from discreet.families.tables.estimate.mixture import Target
from discreet.families.tables.estimate.residuals import centred

STANDS_OUT = 3
"""Standard deviations of the squared distance that noise gives, beyond which a distance is more than noise."""


def mended(shares: Floats, measured: Iterable[Target]) -> Floats:
    """A table of shares, moved towards each measured residual of its two columns that it is too far from.

    It goes as much of the way as the distance exceeds what noise explains. The coarser come first.
    """
    for target in sorted(measured, key=lambda each: each.table.size):
        held = _coarse(shares, target)
        missing = target.table.astype(np.float64) - centred(held)
        distance = float(np.vdot(missing, missing)) / target.std**2
        noise = target.freedom
        if distance <= noise + STANDS_OUT * math.sqrt(2 * noise):
            continue
        wanted = nearest_counts(held + (1 - noise / distance) * missing, 1.0)
        ratio = np.divide(wanted, held, out=np.zeros_like(held), where=held > 0)
        shares = shares * _fine(ratio, target)
    return shares


def _coarse(shares: Floats, target: Target) -> Floats:
    """The table summed to the bins that were measured."""
    one, other = target.bins
    found = shares if one is None else one.astype(np.float64) @ shares
    return found if other is None else found @ other.astype(np.float64).T


def _fine(table: Floats, target: Target) -> Floats:
    """For each cell the number of its bin."""
    for axis, matrix in enumerate(target.bins):
        if matrix is not None:
            table = np.take(table, matrix.argmax(axis=0), axis=axis)
    return table
