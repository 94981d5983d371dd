"""A bound for all intervals of a column at once: a band around the distribution function.

With noise X_i of Laplace scale b_i and |a_i| b_i <= b, the log moment generating function of
sum a_i X_i is at most 1.151 s^2 * (its variance / 2) for |s| <= 1/(2b), because -ln(1-x) <= 1.151 x up to
x = 1/4 (discrete Laplace noise lies below continuous noise of the same parameter). Chernoff's bound at
every boundary of the tree and for every leaf, and the union bound over them, give a band that the
least squares distribution leaves with probability at most delta, the tree taken as fixed. An interval
is a difference of two boundaries, and may cut two leaves.

May import errors, privacy, schema, queries, artifacts, inference.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from discreet.answers.ranges import RangeSource
from discreet.artifacts.measurement import Measurement, TreeMeasurement

Floats = npt.NDArray[np.float64]

CURVATURE = 4 * math.log(4 / 3)
"""-ln(1-x) / x at x = 1/4, where it is largest."""
THEOREM = (
    "Chernoff bound of Laplace noise at every boundary of the tree, and the union bound over them; "
    "the tree taken as fixed"
)


def interval_bound(source: RangeSource, delta: float) -> float:
    """What no interval's estimate is off by, with probability 1 - delta."""
    index = source.intervals
    many = len(index.leaves)
    starts = np.arange(many, dtype=np.int64)
    boundary = index.deviation(np.zeros(many, dtype=np.int64), starts + 1)
    leaf = index.deviation(starts, starts + 1)
    log_risk = math.log(2 * 2 * many / delta)
    coarsest = _coarsest_scale(source)
    reach = float(_reach(boundary, log_risk, coarsest).max())
    drift = float(np.abs(index.prefix - index.fitted_prefix).max())
    counts, fitted = np.diff(index.prefix), np.diff(index.fitted_prefix)
    wide = index.widths > 1
    hidden = np.maximum(counts, fitted + _reach(leaf, log_risk, coarsest))[wide]
    # Rounding an estimate to a whole number moves it by at most a half.
    return 2 * (reach + drift + float(hidden.max(initial=0.0))) + 0.5


def _reach(deviation: Floats, log_risk: float, scale: float) -> Floats:
    """How far a sum of that standard deviation goes, but for a chance of exp(-log_risk) a side."""
    steepest = 1 / (2 * scale)
    variance = deviation**2
    near = deviation * math.sqrt(2 * CURVATURE * log_risk)
    far = log_risk / steepest + CURVATURE / 2 * steepest * variance
    return np.where(near <= CURVATURE * variance * steepest, near, far)


def _coarsest_scale(source: RangeSource) -> float:
    """The largest noise scale in the tree; no coefficient of least squares exceeds 1 for a range."""
    scales = []
    for each in source.part.measurements:
        if isinstance(each, TreeMeasurement):
            scales += [
                1 / float(level.refined_epsilon or level.stopped_epsilon) for level in each.levels
            ]
        elif isinstance(each, Measurement):
            scales.append(each.law.std)  # above a Laplace scale, and enough for a Gaussian
    return max(scales)
