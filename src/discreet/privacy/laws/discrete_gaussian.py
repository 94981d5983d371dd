"""Discrete Gaussian noise: the normal curve at the integers."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import ClassVar

import numpy as np

from discreet.arrays import Floats
from discreet.errors import BadInput
from discreet.privacy.adjacency import Sensitivity
from discreet.privacy.conversion.discrete import (
    discrete_gaussian_delta_one_coordinate,
    gaussian_normaliser,
)
from discreet.privacy.cost import Cost
from discreet.privacy.laws.gaussian import (
    ENUMERATED_SIGMA_SQUARED,
    LOSS_REACH,
    SMOOTH_SIGMA_SQUARED,
    Gaussian,
)
from discreet.privacy.laws.law import (
    Envelope,
    FallingLoss,
    characteristic_by_enumeration,
    cumulants_by_enumeration,
)


@dataclass(frozen=True, slots=True)
class DiscreteGaussianLaw(Gaussian):
    """P(k) proportional to exp(-k^2 / (2 sigma^2)).

    Theorem: Canonne, Kamath, Steinke 2020; (D^2 / (2 sigma^2))-zCDP for L2 sensitivity D.
    """

    kind: ClassVar[str] = "discrete-gaussian"
    words: ClassVar[str] = "discrete Gaussian"

    def _mass(self, k: Floats) -> Floats:
        return np.asarray(np.exp(-(k * k) / (2 * self._square)) / gaussian_normaliser(self._square))

    def tail(self, h: Floats) -> Floats:
        if self.sigma_squared <= ENUMERATED_SIGMA_SQUARED:
            table = _tail_table(self)
            return np.asarray(table[np.minimum(h, len(table) - 1).astype(np.int64)])
        from scipy.special import erfc  # slow to import, and few questions need it

        sigma, u = self._sigma, (h + 0.5) / self._sigma
        # Euler-Maclaurin at the midpoint h + 1/2; the next term is below 1e-16 of the tail.
        integral = math.sqrt(math.pi / 2) * sigma * erfc(u / math.sqrt(2))
        third = u**3 - 3 * u
        fifth = u**5 - 10 * u**3 + 15 * u
        correction = (
            -u / (24 * sigma) + 7 / 5760 * third / sigma**3 - 31 / 967680 * fifth / sigma**5
        )
        total = integral + correction * np.exp(-(u**2) / 2)
        return np.asarray(np.maximum(total, 0) / gaussian_normaliser(self._square))

    def cumulants(self) -> tuple[float, float, float]:
        if self.sigma_squared > SMOOTH_SIGMA_SQUARED:
            return self._square, 0.0, 0.0
        return cumulants_by_enumeration(self)

    def characteristic(self, t: Floats) -> Floats:
        if self._square < 1:
            return characteristic_by_enumeration(self, t)
        # Poisson summation: a sum of Gaussians at t + 2 pi j
        wrapped = np.abs(np.remainder(t + math.pi, 2 * math.pi) - math.pi)
        bumps = [np.exp(-self._square * (wrapped + 2 * math.pi * j) ** 2 / 2) for j in range(-2, 3)]
        zero = 1 + 2 * sum(math.exp(-2 * (math.pi * j) ** 2 * self._square) for j in (1, 2))
        return np.asarray(np.sum(bumps, axis=0) / zero)

    def log_mgf(self, t: Floats) -> Floats:
        """An upper bound: sigma^2 t^2 / 2 (Canonne, Kamath, Steinke 2020, fact 20)."""
        return np.asarray(self._square * t * t / 2)

    def cost(self, sensitivity: Sensitivity, *, size: int, epsilon: Fraction | None = None) -> Cost:
        """Its rho, for any size; with an `epsilon` its exact delta, proved for a single number only."""
        if epsilon is None:
            return self.rho_cost(sensitivity)
        if size != 1:
            raise BadInput(
                "The delta of discrete Gaussian noise at an epsilon is proved for a single number only, "
                f"not for {size}."
            )
        delta = discrete_gaussian_delta_one_coordinate(
            sigma_squared=self.sigma_squared, shift=sensitivity.l1, epsilon=epsilon
        )
        return Cost.approximate(epsilon=epsilon, delta=delta)

    def envelope(self) -> Envelope:
        """Sub-Gaussian with this parameter."""
        return Envelope(float(self.sigma_squared), 0.0, 0.0)

    def loss_shape(self, shift: int) -> FallingLoss:
        slope = float(shift / self.sigma_squared)

        def loss(x: Floats) -> Floats:
            return np.asarray((shift - 2 * x) * (slope / 2))

        reach = math.ceil(LOSS_REACH * math.sqrt(self.sigma_squared)) + 1
        return FallingLoss(loss, first=-reach, last=reach, cut=True)


@lru_cache(maxsize=16)
def _tail_table(law: DiscreteGaussianLaw) -> Floats:
    """P(X > h) for h = 0, 1, ...; what lies past the table is below 1e-320."""
    reach = math.ceil(39 * law.std) + 40
    mass = np.asarray(law.pmf(np.arange(1, reach + 1, dtype=np.float64)))
    sums = np.cumsum(mass[::-1])[::-1]  # smallest terms first
    table = np.append(sums, 0.0)
    table.flags.writeable = False
    return table
