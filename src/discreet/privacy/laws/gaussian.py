"""What the discrete and the rounded Gaussian law have in common."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Self

from discreet.privacy.adjacency import Sensitivity
from discreet.privacy.cost import Cost
from discreet.privacy.laws.law import GaussianLoss, NoiseLaw

ENUMERATED_SIGMA_SQUARED = 10**6
"""Up to here a Gaussian's tail is summed term by term, beyond it by Euler-Maclaurin."""

SMOOTH_SIGMA_SQUARED = 4
"""From here on the lattice changes a Gaussian's cumulants by less than exp(-8 pi^2) < 1e-34."""

LOSS_REACH = 9.5
"""Standard deviations kept of a loss; the mass beyond, 1e-21, counts as infinite loss."""

WIDE = 4.0
"""A sigma, in steps, from which a Gaussian's lattice does not show in a sum: what a lattice of step
w changes falls as exp(-2 (pi sigma)^2) (Poisson summation)."""


@dataclass(frozen=True, slots=True)
class Gaussian(NoiseLaw):
    """Noise in the shape of a normal law of variance `sigma_squared`, made integer in some way."""

    sigma_squared: Fraction

    @property
    def _square(self) -> float:
        return float(self.sigma_squared)

    @property
    def _sigma(self) -> float:
        return math.sqrt(self._square)

    def rho_cost(self, sensitivity: Sensitivity) -> Cost:
        """D^2 / (2 sigma^2) for an L2 sensitivity of D, in any dimension."""
        return Cost.concentrated(Fraction(sensitivity.l2_squared) / (2 * self.sigma_squared))

    def scaled(self, by: Fraction) -> Self:
        return type(self)(self.sigma_squared * by**2)

    @property
    def spread(self) -> float:
        return self._sigma

    @property
    def smooth_kurtosis(self) -> float:
        return 0.0

    @property
    def sums_are_normal(self) -> bool:
        return self.std >= WIDE

    def joint_loss_shape(self, sensitivity: Sensitivity) -> GaussianLoss:
        """The loss of the continuous Gaussian mechanism, in any dimension; a chart cannot tell discrete noise from it."""
        return GaussianLoss(self.sigma_squared, sensitivity.l2_squared)
