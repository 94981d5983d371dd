"""Continuous-valued answers on a declared grid: a real number as an integer count of grid steps."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import ceil

from discreet.errors import BadInput
from discreet.kernel.mechanisms.additive import (
    AnalyticGaussian,
    DiscreteLaplace,
    interval,
)
from discreet.privacy.adjacency import Sensitivity
from discreet.privacy.cost import Cost
from discreet.privacy.laws import NoiseLaw


@dataclass(frozen=True, slots=True, kw_only=True)
class FixedPoint:
    """Laplace or Gaussian noise for answers that are whole multiples of `step`.

    Guarantee:   that of `noise`: epsilon-DP (discrete Laplace) or (epsilon, delta)-DP (analytic Gaussian).
    Adjacency:   the query's; the mechanism only sees its sensitivity.
    Sensitivity: L1 and L2 in real units, rounded up to whole steps.
    Theorem:     that of `noise`, for the integers answer/step. Noise in floats leaks through its low
                 bits (Mironov 2012; Haney et al. 2022), noise on a public grid has none to leak.
    """

    noise: DiscreteLaplace | AnalyticGaussian
    step: Fraction

    def __post_init__(self) -> None:
        if not isinstance(self.step, Fraction) or self.step <= 0:
            raise BadInput("The grid's step must be a positive Fraction.")

    def steps(self, answer: Fraction) -> int:
        """`answer` in steps; off the grid it is refused, since rounding there would depend on the rows."""
        count = answer / self.step
        if count.denominator != 1:
            raise BadInput(f"An answer on a grid of {self.step} must be a multiple of it.")
        return count.numerator

    def sensitivity(self, *, l1: Fraction, l2: Fraction) -> Sensitivity:
        """Real sensitivities in steps, rounded up."""
        squared = (l2 / self.step) ** 2
        return Sensitivity(l1=ceil(l1 / self.step), l2_squared=ceil(squared))

    def law(self, sensitivity: Sensitivity, *, size: int) -> NoiseLaw:
        """The law of the noise in steps."""
        return self.noise.law(sensitivity, size=size)

    def cost(self) -> Cost:
        return self.noise.cost()

    def interval(
        self, value: int, sensitivity: Sensitivity, *, size: int = 1, confidence: float
    ) -> tuple[Fraction, Fraction]:
        """A two-sided interval for the exact answer behind a noisy number of steps."""
        low, high = interval(self.law(sensitivity, size=size), value, confidence=confidence)
        return low * self.step, high * self.step
