"""Discrete Laplace noise: two-sided geometric."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from discreet.arrays import Floats
from discreet.privacy.adjacency import Sensitivity
from discreet.privacy.cost import Cost
from discreet.privacy.laws.law import Envelope, FallingLoss, NoiseLaw


@dataclass(frozen=True, slots=True)
class DiscreteLaplaceLaw(NoiseLaw):
    """P(k) proportional to exp(-|k| / scale): the difference of two geometric draws.

    Theorem: Ghosh, Roughgarden, Sundararajan 2012; with integer sensitivity D it is
    (D / scale)-DP.
    """

    kind: ClassVar[str] = "discrete-laplace"
    words: ClassVar[str] = "discrete Laplace"
    scale: Fraction

    @property
    def _rate(self) -> float:
        return self.scale.denominator / self.scale.numerator  # asked thousands of times

    def _mass(self, k: Floats) -> Floats:
        return np.asarray(math.tanh(self._rate / 2) * np.exp(-k * self._rate))

    def tail(self, h: Floats) -> Floats:
        return np.asarray(np.exp(-(h + 1) * self._rate) / (1 + math.exp(-self._rate)))

    def cumulants(self) -> tuple[float, float, float]:
        # Twice those of a geometric draw with ratio q.
        q, gap = math.exp(-self._rate), -math.expm1(-self._rate)
        second = 2 * q / gap**2
        fourth = 2 * q * (1 + 4 * q + q * q) / gap**4
        sixth = 2 * q * (1 + 26 * q + 66 * q**2 + 26 * q**3 + q**4) / gap**6
        return second, fourth, sixth

    def characteristic(self, t: Floats) -> Floats:
        """E cos(tX) = 1 / (1 + 2 variance sin^2(t/2))."""
        return np.asarray(1 / (1 + 2 * self.variance * np.sin(t / 2) ** 2))

    def log_mgf(self, t: Floats) -> Floats:
        rate = self._rate
        if rate < 1:
            numerator = 4 * math.exp(-rate) * np.sinh(t / 2) ** 2
        else:  # the same, written so that neither factor overflows
            numerator = np.exp(t - rate) - 2 * math.exp(-rate) + np.exp(-t - rate)
        return np.asarray(-np.log1p(-numerator / math.expm1(-rate) ** 2))

    def cost(self, sensitivity: Sensitivity, *, size: int, epsilon: Fraction | None = None) -> Cost:
        """(D / scale)-DP for an L1 sensitivity of D, whatever the size."""
        return Cost.pure(Fraction(sensitivity.l1) / self.scale)

    def scaled(self, by: Fraction) -> DiscreteLaplaceLaw:
        return DiscreteLaplaceLaw(self.scale * by)

    @property
    def spread(self) -> float:
        return float(self.scale)

    @property
    def excess_kurtosis(self) -> float:
        return 2 + math.cosh(self._rate) if self._rate < 700 else math.inf

    @property
    def smooth_kurtosis(self) -> float:
        return 3.0

    @property
    def mgf_limit(self) -> float:
        """E exp(tX) is infinite from here on."""
        return self._rate

    def envelope(self) -> Envelope:
        """Laplace noise of the same scale."""
        return Envelope(2 * float(self.scale) ** 2, float(self.scale), 0.0)

    def mean_absolute(self) -> float:
        return 1 / math.sinh(self._rate) if self._rate < 700 else 0.0

    def loss_shape(self, shift: int) -> FallingLoss:
        """At most shift / scale, and often exactly that."""

        def loss(x: Floats) -> Floats:
            return np.asarray((np.abs(x - shift) - np.abs(x)) * self._rate)

        return FallingLoss(loss, first=0, last=shift, cut=False)
