"""`ManyCounts`: a million counts at once, as arrays."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from discreet.answering.estimates import Estimates
from discreet.arrays import Bools, Floats
from discreet.artifacts.answer import Covers


@dataclass(frozen=True, slots=True, eq=False)
class ManyCounts:
    """Counts as arrays, one number a question. Thread safe: it never changes."""

    estimate: Floats
    lower: Floats
    upper: Floats
    std: Floats
    """The standard deviation of the noise alone."""
    is_exact: Bools
    """Whether the question follows the cells: its interval then covers `noise` only."""
    confidence: float
    is_model: Bools | None = None
    """Whether a model filled the table in; `None` where none did."""

    def __len__(self) -> int:
        return len(self.estimate)

    def covers(self, place: int) -> Covers:
        if self.is_model is not None and self.is_model[place]:
            return Covers.NOISE_AND_MODEL
        return Covers.NOISE if self.is_exact[place] else Covers.NOISE_AND_CELLS


def many_counts(found: Estimates, confidence: float) -> ManyCounts:
    """Estimates as arrays of the same length."""
    shape = found.estimate.shape
    models = np.broadcast_to(found.is_model, shape) if np.any(found.is_model) else None
    exact = np.broadcast_to(found.is_exact, shape)
    numbers = found.estimate, found.lower, found.upper, found.std
    return ManyCounts(*numbers, exact, confidence, models)
