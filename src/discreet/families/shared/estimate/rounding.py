"""Counts that look like counts: whole, not negative, not above a public total; and sums that are possible. Post-processing.

The interval comes from the noisy number as it was measured; the estimate moves inside it. A true
count is a whole number of at least 0, so an interval may be cut down to those without losing any
of its coverage; but it is never cut down to less than the noise on one side.
"""

from __future__ import annotations

import numpy as np

from discreet.arrays import Floats

SLACK = 1e-9
"""More than the rounding of a few float additions, relatively."""


def plausible_ends(
    estimate: Floats, lower: Floats, upper: Floats, *, least: float, most: float
) -> tuple[Floats, Floats, Floats]:
    """Estimate, lower and upper end of a number that lies between `least` and `most`.

    An interval around an impossible number would be cut to almost nothing, and look certain, only
    because the noise went too far. Its farther end keeps its distance from the nearest possible number.
    """
    middle = np.clip(estimate, lower, upper)
    beyond = middle - np.clip(middle, least, most)
    lower = np.clip(lower - np.maximum(beyond, 0.0), least, most)
    upper = np.clip(upper - np.minimum(beyond, 0.0), least, most)
    return np.clip(estimate, lower, upper), lower, upper


def plausible_counts(
    estimate: Floats, lower: Floats, upper: Floats, *, rows: int | None = None, whole: bool = True
) -> tuple[Floats, Floats, Floats]:
    """Estimate, lower and upper end, made plausible for counts. `rows` is the public total, if any."""
    most = np.inf if rows is None else float(rows)
    _, lower, upper = plausible_ends(estimate, lower, upper, least=0.0, most=most)
    lower = np.ceil(lower - SLACK * np.maximum(1.0, np.abs(lower))) + 0.0  # no -0.0
    upper = np.floor(upper + SLACK * np.maximum(1.0, np.abs(upper)))
    # No whole number inside: such an interval had missed already, wherever it is put.
    upper = np.maximum(lower, upper)
    estimate = np.clip(np.rint(estimate) if whole else estimate, lower, upper)
    return estimate, lower, upper
