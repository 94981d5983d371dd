"""Multiplicative weights over parts: a table that agrees with the noisy answers seen so far.

May import errors, privacy, schema, queries.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

PASSES = 20
"""Times that all answers seen so far are gone through after each new one."""


def reweighted(
    weights: Floats, rows: Sequence[npt.NDArray[np.bool_]], answers: Sequence[float], total: float
) -> Floats:
    """`weights` (which add to `total`) moved towards the answers, as in Hardt, Ligett, McSherry 2012."""
    if total <= 0:
        return np.zeros(len(weights))
    for _ in range(PASSES):
        for row, answer in zip(rows, answers, strict=True):
            gap = (answer - float(weights[row].sum())) / total
            weights = np.where(row, weights * np.exp(np.clip(gap, -4, 4) / 2), weights)
            mass = float(weights.sum())
            weights = (
                weights * (total / mass)
                if mass > 0
                else np.full(len(weights), total / len(weights))
            )
    return weights
