"""Counts that look like counts: whole, not negative, not above a public total. Post-processing.

The interval comes from the noisy number as it was measured; the estimate moves inside it. A true
count is a whole number of at least 0, so an interval may be cut down to those without losing any
of its coverage; it is never cut down to nothing.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

SLACK = 1e-9
"""More than the rounding of a few float additions, relatively."""


def plausible_counts(
    estimate: Floats, lower: Floats, upper: Floats, *, rows: int | None = None, whole: bool = True
) -> tuple[Floats, Floats, Floats]:
    """Estimate, lower and upper end, made plausible for counts. `rows` is the public total, if any."""
    most = np.inf if rows is None else float(rows)
    # An interval wholly beyond what a count can be has missed already. Cut down it would be a single
    # number, and look certain; as wide as the noise from there on, it says what is known.
    half = (upper - lower) / 2
    lower, upper = (
        np.clip(np.where(lower > most, most - half, lower), 0.0, most),
        np.clip(np.where(upper < 0, half, upper), 0.0, most),
    )
    lower = np.ceil(lower - SLACK * np.maximum(1.0, np.abs(lower))) + 0.0  # no -0.0
    upper = np.floor(upper + SLACK * np.maximum(1.0, np.abs(upper)))
    # No whole number inside: such an interval had missed already, wherever it is put.
    upper = np.maximum(lower, upper)
    estimate = np.clip(np.rint(estimate) if whole else estimate, lower, upper)
    return estimate, lower, upper
