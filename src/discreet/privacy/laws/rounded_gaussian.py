"""Rounded Gaussian noise: a normal number, rounded to the nearest integer."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from discreet.arrays import Floats
from discreet.privacy.adjacency import Sensitivity
from discreet.privacy.conversion import gaussian_delta
from discreet.privacy.cost import Cost
from discreet.privacy.laws.gaussian import ENUMERATED_SIGMA_SQUARED, SMOOTH_SIGMA_SQUARED, Gaussian
from discreet.privacy.laws.law import (
    Envelope,
    GaussianLoss,
    characteristic_by_enumeration,
    cumulants_by_enumeration,
)


@dataclass(frozen=True, slots=True)
class RoundedGaussianLaw(Gaussian):
    """N(0, sigma^2) rounded to the nearest integer.

    On integer answers this is a post-processing of the continuous Gaussian mechanism,
    so the analytic calibration (Balle and Wang 2018) is proved for it, in any dimension.
    """

    kind: ClassVar[str] = "rounded-gaussian"
    words: ClassVar[str] = "rounded Gaussian"

    def _mass(self, k: Floats) -> Floats:
        sigma = self._sigma
        if self.sigma_squared <= ENUMERATED_SIGMA_SQUARED:
            from scipy.special import erfc  # slow to import, and few questions need it

            root = sigma * math.sqrt(2)
            inside = erfc((k - 0.5) / root) - erfc((k + 0.5) / root)
            return np.asarray(inside / 2)
        # The difference of two nearly equal tails would cancel: expand about the midpoint.
        u = k / sigma
        curved = 1 + (u**2 - 1) / (24 * sigma**2) + (u**4 - 6 * u**2 + 3) / (1920 * sigma**4)
        return np.asarray(curved * np.exp(-(u**2) / 2) / (sigma * math.sqrt(2 * math.pi)))

    def tail(self, h: Floats) -> Floats:
        from scipy.special import erfc

        return np.asarray(erfc((h + 0.5) / (self._sigma * math.sqrt(2))) / 2)

    def cumulants(self) -> tuple[float, float, float]:
        if self.sigma_squared > SMOOTH_SIGMA_SQUARED:
            # Sheppard: rounding adds the cumulants of a uniform variable of width 1.
            return self._square + 1 / 12, -1 / 120, 1 / 252
        return cumulants_by_enumeration(self)

    def characteristic(self, t: Floats) -> Floats:
        if self._square < 1:
            return characteristic_by_enumeration(self, t)
        wrapped = np.abs(np.remainder(t + math.pi, 2 * math.pi) - math.pi)
        shifted = [wrapped + 2 * math.pi * j for j in range(-2, 3)]
        return np.asarray(
            np.sum(
                [np.exp(-self._square * s**2 / 2) * np.sinc(s / (2 * math.pi)) for s in shifted],
                axis=0,
            )
        )

    @property
    def mgf_limit(self) -> float:
        return math.inf if self.sigma_squared > SMOOTH_SIGMA_SQUARED else 10 / self._sigma

    def log_mgf(self, t: Floats) -> Floats:
        if self.sigma_squared > SMOOTH_SIGMA_SQUARED:
            # As the sum of the Gaussian and a uniform variable, up to a factor 1 + 1e-33.
            return np.asarray((self._square + 1 / 12) * t * t / 2 + 1e-30)
        reach = math.ceil(40 * self._sigma) + 2
        k = np.arange(-reach, reach + 1, dtype=np.float64)
        with np.errstate(divide="ignore"):
            log_mass = np.log(self.pmf(k))
        return np.asarray(np.logaddexp.reduce(log_mass + np.multiply.outer(t, k), axis=-1))

    def cost(self, sensitivity: Sensitivity, *, size: int, epsilon: Fraction | None = None) -> Cost:
        """With an `epsilon` its delta, otherwise its mu: those of the continuous mechanism, in any dimension."""
        if epsilon is None:
            return Cost.of_mu(Fraction(sensitivity.l2_squared) / self.sigma_squared)
        delta = gaussian_delta(
            sigma_squared=self.sigma_squared, l2_squared=sensitivity.l2_squared, epsilon=epsilon
        )
        return Cost.approximate(epsilon=epsilon, delta=delta)

    def envelope(self) -> Envelope:
        """The normal number before it is rounded."""
        return Envelope(float(self.sigma_squared), 0.0, 0.5)

    def loss_shape(self, shift: int) -> GaussianLoss:
        return GaussianLoss(self.sigma_squared, shift * shift)
