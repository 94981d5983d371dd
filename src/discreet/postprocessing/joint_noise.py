"""Numbers that are weighted sums of recorded draws, of which several may hold the same one.

A release answers from a few measurements, so its counts share draws: those of two groups, of a part and the
whole. Their differences, sums and multiples are weighted sums of the same draws. The weights are added draw by
draw, and the interval comes from the law of that one sum: no union bound, and what cancels is gone.

The interval of a ratio x / y holds every r for which x - r y is within the noise that it would have if r were
true (Fieller 1954). The noise has the weights a - r b. Draws are symmetric and unimodal, so larger weights
only spread the noise (Birnbaum 1948), and |a - r b| is convex in r: between r and s the noise is at most that of
the larger of both ends' weights, draw by draw. That bounds it for whole stretches of r, which are left out if
x - r y is beyond it all along.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from discreet.arrays import Floats
from discreet.families.shared.estimate.linear_widths import linear_half_width
from discreet.privacy.laws import NoiseLaw

Weights = Mapping[Hashable, tuple[NoiseLaw, Floats]]
"""For each measurement its law, and the weights of its draws: one row an answer."""

STEPS = 6
MOST_UNEVEN = 8
"""Rows of which each gets the interval of a ratio, where draws are not normal and every width takes long."""
STRETCH = 1.5
"""From one stretch of ratios to the next, they grow by this factor."""
CLOSE = 0.015
"""How near to its end the interval of a ratio is drawn, as a part of its length; always outside."""
TRIES = 30
DIGITS, TOLERANCE = 10, 1e-8
"""Weights that differ in later digits are alike; widths are larger by more than that can matter."""


@dataclass(frozen=True, slots=True, eq=False)
class JointNoise:
    """Numbers without bias, one a row, and the weights of the draws in them."""

    value: Floats
    weights: Weights
    shown: Floats | None = None
    """What a release answers, where that is not the value: numbers that add up and are not below 0."""

    @property
    def estimate(self) -> Floats:
        return self.value if self.shown is None else self.shown

    def widths(self, confidence: Fraction) -> Floats:
        """Half the width of each number's interval. Rows whose weights are alike are looked up once."""
        known: dict[bytes, float] = {}
        found = np.empty(len(self.value))
        for row in range(len(self.value)):
            own = [(law, weights[row]) for law, weights in self.weights.values()]
            largest = max((float(np.abs(each).max(initial=0.0)) for _, each in own), default=0.0)
            alike = [np.round(np.sort(np.abs(each)) / (largest or 1.0), DIGITS) for _, each in own]
            key = b"".join([f"{largest:.10g}".encode(), *(each.tobytes() for each in alike)])
            if key not in known:
                known[key] = linear_half_width(own, confidence) * (1 + TOLERANCE)
            found[row] = known[key]
        return found

    @property
    def known(self) -> int:
        """Tells numbers with different noise apart."""
        return hash(tuple((key, each.tobytes()) for key, (_, each) in self.weights.items()))

    @property
    def std(self) -> Floats:
        squares = np.zeros(len(self.value))
        for law, weights in self.weights.values():
            squares = squares + law.variance * np.sum(weights * weights, axis=1)
        return np.sqrt(squares)

    @property
    def is_slow(self) -> bool:
        """Whether the widths of so many ratios would take long to work out."""
        normal = all(law.sums_are_normal for law, _ in self.weights.values())
        return not normal and len(self.value) > MOST_UNEVEN

    def times(self, factor: float) -> JointNoise:
        scaled = {key: (law, factor * each) for key, (law, each) in self.weights.items()}
        return JointNoise(self.value * factor, scaled, self.estimate * factor)

    def plus(self, other: JointNoise) -> JointNoise:
        """The sum, draw by draw."""
        weights = dict(self.weights)
        for key, (law, each) in other.weights.items():
            weights[key] = (law, weights[key][1] + each) if key in weights else (law, each)
        return JointNoise(self.value + other.value, weights, self.estimate + other.estimate)

    def shifted(self, by: Floats) -> JointNoise:
        return replace(self, value=self.value + by, shown=self.estimate + by)

    def taken(self, places: npt.NDArray[np.int64]) -> JointNoise:
        weights = {key: (law, each[places]) for key, (law, each) in self.weights.items()}
        return JointNoise(self.value[places], weights, self.estimate[places])

    def summed(
        self, groups: Sequence[npt.NDArray[np.int64]], *, is_mean: bool = False
    ) -> JointNoise:
        """The sum over the rows of each group, or their mean."""
        of_rows = np.mean if is_mean else np.sum
        weights = {
            key: (law, np.array([of_rows(each[rows], axis=0) for rows in groups]))
            for key, (law, each) in self.weights.items()
        }
        value, shown = (
            np.array([of_rows(each[rows]) for rows in groups])
            for each in (self.value, self.estimate)
        )
        return JointNoise(value, weights, shown)


def joint_ratio(
    top: JointNoise, bottom: JointNoise, row: int, confidence: Fraction
) -> tuple[float, float] | None:
    """The interval of one ratio; `None` where it has no ends."""
    x, y = float(top.value[row]), float(bottom.value[row])
    keys = {**top.weights, **bottom.weights}
    laws = [law for law, _ in keys.values()]
    parts = []
    for key, (_, some) in keys.items():
        nothing = np.zeros(some.shape[1])
        parts.append(
            [
                each.weights[key][1][row] if key in each.weights else nothing
                for each in (top, bottom)
            ]
        )
    if y < 0:
        x, y = -x, -y
    if not (math.isfinite(x) and math.isfinite(y)) or y == 0:
        return None
    apart = _of_both(x, y, laws, parts, 1 - (1 - confidence) / 2)
    if apart is not None and apart[0] == apart[1]:
        return apart  # the noise of both is nearly always 0
    ratio = _Ratio(x, y, laws, parts, confidence)
    if y <= ratio.about([b for _, b in parts]):
        return None
    low, high = (ratio.end(side) for side in (-1.0, 1.0))
    return apart if low is None or high is None else (low, high)


def _of_both(
    x: float,
    y: float,
    laws: Sequence[NoiseLaw],
    parts: Sequence[Sequence[Floats]],
    confidence: Fraction,
) -> tuple[float, float] | None:
    """The ratios of numbers within the noise of x and of y > 0, each at `confidence`: a union bound. `None` where y may be 0."""
    above, below = (
        linear_half_width(
            [(law, own[side]) for law, own in zip(laws, parts, strict=True)], confidence
        )
        for side in (0, 1)
    )
    if y <= below:
        return None
    found = [top / bottom for top in (x - above, x + above) for bottom in (y - below, y + below)]
    return min(found), max(found)


class _Ratio:
    """x / y for y > 0 beyond its own noise. Signs of both weights may be turned: draws are symmetric."""

    def __init__(
        self,
        x: float,
        y: float,
        laws: Sequence[NoiseLaw],
        parts: Sequence[Sequence[Floats]],
        confidence: Fraction,
    ) -> None:
        self._x, self._y, self._laws, self._confidence = x, y, laws, confidence
        # The sign of y was turned with that of x; the weights of both turn alike, which changes no width.
        self._parts = parts
        here = self._at(x / y)
        self._first = self.width(here)
        self._factor = self._first / max(self._deviation(here), 1e-300)

    def about(self, weights: Sequence[Floats]) -> float:
        """Nearly the width, for a guess."""
        return self._factor * self._deviation(weights)

    def _deviation(self, weights: Sequence[Floats]) -> float:
        squares = zip(self._laws, weights, strict=True)
        return math.sqrt(math.fsum(law.variance * float(each @ each) for law, each in squares))

    def width(self, weights: Sequence[Floats]) -> float:
        return linear_half_width(list(zip(self._laws, weights, strict=True)), self._confidence)

    def end(self, side: float) -> float | None:
        """The end above (side 1) or below (-1), or a little beyond; `None` where there is none.

        At the end |x - r y| is the width at r, so r = x / y +- width(r) / y, which is solved step by step, with widths
        that go with deviations. That no ratio beyond is in the interval is then seen to, with the exact ones.
        """
        middle, length = self._x / self._y, self._first / self._y
        for _ in range(STEPS):
            length = self.about(self._at(middle + side * length)) / self._y
        length = max(length, 1e-12 * max(1.0, abs(middle)))
        for _ in range(TRIES):
            length *= 1 + CLOSE
            end = middle + side * length
            # Long stretches first: where noise is small or nearly always 0, short ones would never reach the end.
            if self._is_left_out_beyond(end, side, CLOSE * max(length, abs(end))) or (
                self._first and self._is_left_out_beyond(end, side, CLOSE * length)
            ):
                return end
        return None

    def _at(self, r: float) -> list[Floats]:
        return [np.asarray(a - r * b) for a, b in self._parts]

    def _is_left_out_beyond(self, start: float, side: float, step: float) -> bool:
        """Whether no ratio from `start` on is in the interval: stretch by stretch, the first of length `step`, and then all the rest."""
        here = start
        for _ in range(60):
            if self._is_left_out_forever(here):
                return True
            there = here + side * step
            larger = [
                np.maximum(np.abs(one), np.abs(other))
                for one, other in zip(self._at(here), self._at(there), strict=True)
            ]
            if abs(self._x - here * self._y) <= self.width(larger):
                return False
            here, step = there, step * STRETCH
        return False

    def _is_left_out_forever(self, r: float) -> bool:
        """All ratios beyond r on its side of 0: of x / s - y the weights are a / s - b, between those at r and b."""
        if r == 0 or (r > 0) != (r > self._x / self._y):
            return False
        larger = [np.maximum(np.abs(a / r - b), np.abs(b)) for a, b in self._parts]
        least = min(abs(self._x / r - self._y), self._y)
        return least > self.width(larger)
