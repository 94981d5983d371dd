"""Intervals of ratios of numbers whose noise is known, by inverting tests (Fieller 1954).

With X and Y the noisy numbers, a ratio r is in the interval if X - r Y is within the noise that it would
have if r were true. That noise is a weighted sum of draws, so its law is known, for every r, and the
interval holds with the stated confidence. No union bound is needed.

Let h(r) be half the width of the noise of X - r Y, at the confidence, and X, Y > 0 (else signs are
turned). Draws are symmetric and unimodal, so a larger weight only spreads the noise (Birnbaum 1948).
Hence h grows with |r|, and h(r) / r falls for r > 0. So among positive r there is just one end on either
side of X / Y. If 0 is in the interval, its end beyond 0 is that of a union bound, which is never nearer.
If Y alone is within its noise there is no end. Numbers that share a draw go to `joint_noise`, where all draws
are known, and to the union bound otherwise.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache

import numpy as np

from discreet.arrays import Floats
from discreet.families.shared.estimate.combination import Terms, half_width, scaled
from discreet.postprocessing.joint_noise import JointNoise, joint_ratio
from discreet.postprocessing.values import Levels, Noise, Numbers

MOST_ROWS = 64
"""Rows of a result of which each gets such an interval: every one takes some convolutions of laws."""
STEPS = 12
GRID = 1.004
CLOSE = 0.01
"""How near to its end an interval is drawn, as a part of its length; always outside."""


def ratio_ends(left: Numbers, right: Numbers, levels: Levels) -> tuple[Floats, Floats] | None:
    """The ends of left / right at every level; `None` where their joint noise is not known."""
    top, bottom = left.noise, right.noise
    if top is None or bottom is None or len(left) > MOST_ROWS:
        return None
    if isinstance(top, JointNoise) and isinstance(bottom, JointNoise):
        if top.is_slow or bottom.is_slow:
            return None
        return _at_levels(
            left, right, levels, lambda row, level: joint_ratio(top, bottom, row, level)
        )
    if isinstance(top, JointNoise) or isinstance(bottom, JointNoise):
        return None
    if {place[:2] for place in top.terms} & {place[:2] for place in bottom.terms}:
        return None  # they share a draw
    return _at_levels(left, right, levels, lambda row, level: _ends(top, bottom, row, level))


def _at_levels(
    left: Numbers,
    right: Numbers,
    levels: Levels,
    ends: Callable[[int, Fraction], tuple[float, float] | None],
) -> tuple[Floats, Floats]:
    """The interval of every row's ratio at every level."""
    shape = (len(levels), len(left))
    lower, upper = np.full(shape, -np.inf), np.full(shape, np.inf)
    never_below = (left.lower >= 0) & (right.lower >= 0)
    for level in range(len(levels)):
        confidence = levels.at(level)
        for row in range(len(left)):
            found = ends(row, confidence)
            low, high = (-np.inf, np.inf) if found is None else found
            lower[level, row] = max(low, 0.0) if never_below[level, row] else low
            upper[level, row] = high
    return lower, upper


def _ends(top: Noise, bottom: Noise, row: int, confidence: Fraction) -> tuple[float, float] | None:
    """The interval of one ratio; `None` where it has no ends."""
    x, y = float(top.value[row]), float(bottom.value[row])
    sign = 1.0
    if y < 0:
        y, bottom = -y, bottom.times(-1.0)
        sign = -sign
    if x < 0:
        x, top = -x, top.times(-1.0)
        sign = -sign
    if not (np.isfinite(x) and np.isfinite(y)) or y <= bottom.width(confidence):
        return None

    above, below = (tuple(each.terms.values()) for each in (top, bottom))

    def width(ratio: float) -> float:
        slack = top.slack + ratio * bottom.slack
        return _joint_width(above, below, _rounded_up(ratio), confidence) + slack

    at_zero = width(0.0)
    both = 1 - (1 - confidence) / 2
    least = y - bottom.width(both) if x <= at_zero else y
    # From 0 with a noise that is nearly always 0, no step leads on: there the union bound gives the end above, too.
    if x + at_zero > 0:
        high = _upper(x, y, width)
    else:
        high = top.width(both) / least if least > 0 else np.inf
    if x > at_zero:
        low = _lower(x, y, width)
    else:
        low = (x - top.width(both)) / least if least > 0 else -np.inf
    return (low, high) if sign > 0 else (-high, -low)


@lru_cache(maxsize=4096)
def _joint_width(top: Terms, bottom: Terms, ratio: float, confidence: Fraction) -> float:
    """Half the width of the noise of X - ratio * Y. Kept: rows of a result ask again."""
    return half_width((*top, *scaled(bottom, ratio)), confidence)


def _rounded_up(ratio: float) -> float:
    """A little more than a ratio, of few: the noise is only wider, by no more than the same part."""
    return GRID ** math.ceil(math.log(ratio) / math.log(GRID)) if ratio > 0 else 0.0


def _upper(x: float, y: float, width: Callable[[float], float]) -> float:
    """The end above, where r y - x passes h(r), or a little more.

    Each step (x + h(r)) / y is nearer to the end, from below. Beyond a ratio u, h(r) <= r h(u) / u, so
    no r above x / (y - h(u) / u) is in the interval.
    """
    ratio = (x + width(x / y)) / y
    for _ in range(STEPS):
        own = width(ratio)
        if y > own / ratio:
            further = x / (y - own / ratio)
            if further - ratio <= CLOSE * (further - x / y):
                return max(ratio, further)
        ratio = (x + own) / y if (x + own) / y > ratio else ratio * (1 + CLOSE)
    while ratio * y - x <= width(ratio):
        ratio *= 1.1
    return ratio


def _lower(x: float, y: float, width: Callable[[float], float]) -> float:
    """The end below, for x > h(0), where x - r y passes h(r), or a little less.

    h grows with r, so a step (x - h(r)) / y from an r inside ends outside, and one from outside inside.
    """
    outside = (x - width(x / y)) / y
    for _ in range(STEPS):
        inside = (x - width(max(outside, 0.0))) / y
        if inside - outside <= CLOSE * (x / y - outside):
            break
        outside = (x - width(inside)) / y
    return max(outside, 0.0)
