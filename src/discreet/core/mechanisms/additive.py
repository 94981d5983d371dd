"""Noise added to integers: discrete Laplace and four calibrations of Gaussian noise."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

from discreet.errors import BadBudget, BadInput
from discreet.privacy.adjacency import Sensitivity
from discreet.privacy.conversion import (
    discrete_gaussian_sigma_squared_one_coordinate,
    gaussian_sigma_squared,
)
from discreet.privacy.cost import Cost
from discreet.privacy.laws import (
    DiscreteGaussianLaw,
    DiscreteLaplaceLaw,
    NoiseLaw,
    RoundedGaussianLaw,
)


class AdditiveMechanism(Protocol):
    """Adds independent noise of one law to every coordinate of an integer answer."""

    def law(self, sensitivity: Sensitivity, *, size: int) -> NoiseLaw:
        """The noise that an answer of `size` coordinates gets."""
        ...

    def cost(self) -> Cost:
        """What one use costs, from the field that also sets the noise."""
        ...


def _positive(value: Fraction, name: str) -> None:
    if not isinstance(value, Fraction) or value <= 0:
        raise BadBudget(f"{name} must be a positive Fraction.")


@dataclass(frozen=True, slots=True, kw_only=True)
class DiscreteLaplace:
    """Add two-sided geometric noise to integer answers.

    Guarantee:   epsilon-DP.
    Adjacency:   the query's; the mechanism only sees its sensitivity.
    Sensitivity: L1, a positive integer.
    Theorem:     Ghosh, Roughgarden, Sundararajan 2012; sampled exactly.
    """

    epsilon: Fraction

    def __post_init__(self) -> None:
        _positive(self.epsilon, "epsilon")

    def law(self, sensitivity: Sensitivity, *, size: int) -> NoiseLaw:
        return DiscreteLaplaceLaw(scale=sensitivity.l1 / self.epsilon)

    def cost(self) -> Cost:
        return Cost.pure(self.epsilon)

    def error_bound(self, sensitivity: Sensitivity, *, size: int, beta: float) -> float:
        """With probability 1 - beta all `size` errors are at most ln(size/beta) * sensitivity / epsilon.

        Theorem: Dwork and Roth 2014, theorem 3.8. It holds for the discrete law too: its tail
        P(|X| >= t) = 2 exp(-t/s) / (1 + exp(-1/s)) at integers t exceeds the continuous one, so
        the bound is rounded up to the integer at which the discrete tail has fallen to beta/size.
        """
        scale = float(sensitivity.l1 / self.epsilon)
        continuous = math.log(size / beta) * scale
        log_tail = math.log(2) - math.log1p(math.exp(-1 / scale)) - math.log(beta / size)
        return max(continuous, math.ceil(scale * log_tail) - 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class DiscreteGaussian:
    """Add discrete Gaussian noise to integer answers, under zCDP.

    Guarantee:   rho-zCDP.
    Adjacency:   the query's; the mechanism only sees its sensitivity.
    Sensitivity: L2, given squared.
    Theorem:     Canonne, Kamath, Steinke 2020, theorem 4 (any dimension); sampled exactly.
    """

    rho: Fraction

    def __post_init__(self) -> None:
        _positive(self.rho, "rho")

    def law(self, sensitivity: Sensitivity, *, size: int) -> NoiseLaw:
        return DiscreteGaussianLaw(sigma_squared=sensitivity.l2_squared / (2 * self.rho))

    def cost(self) -> Cost:
        return Cost.concentrated(self.rho)

    def error_bound(self, sensitivity: Sensitivity, *, size: int, beta: float) -> float:
        """With probability 1 - beta all `size` errors are at most sigma * sqrt(2 ln(2 size/beta)).

        Theorem: the discrete Gaussian is sub-Gaussian with its own sigma
        (Canonne, Kamath, Steinke 2020, corollary 17); union bound.
        """
        sigma = math.sqrt(sensitivity.l2_squared / (2 * self.rho))
        return sigma * math.sqrt(2 * math.log(2 * size / beta))


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundedGaussian:
    """Add continuous Gaussian noise, rounded to integers, under Gaussian differential privacy.

    Guarantee:   mu-GDP.
    Adjacency:   the query's; the mechanism only sees its sensitivity.
    Sensitivity: L2, given squared, any dimension.
    Theorem:     Dong, Roth, Su 2022, theorem 2.7; rounding is post-processing, as for `AnalyticGaussian`.
    """

    mu_squared: Fraction

    def __post_init__(self) -> None:
        _positive(self.mu_squared, "mu_squared")

    def law(self, sensitivity: Sensitivity, *, size: int) -> NoiseLaw:
        return RoundedGaussianLaw(sigma_squared=sensitivity.l2_squared / self.mu_squared)

    def cost(self) -> Cost:
        return Cost.of_mu(self.mu_squared)


@dataclass(frozen=True, slots=True, kw_only=True)
class OneCountGaussian:
    """Add discrete Gaussian noise to a single integer, calibrated to the exact discrete probabilities.

    Guarantee:   (epsilon, delta)-DP.
    Adjacency:   the query's; the mechanism only sees its sensitivity.
    Sensitivity: L1 of a single coordinate; a longer answer is refused, because the calibration is
                 proved only where one coordinate changes.
    Theorem:     Canonne, Kamath, Steinke 2020, theorem 7 (exact hockey-stick divergence).
    """

    epsilon: Fraction
    delta: Fraction

    def __post_init__(self) -> None:
        _positive(self.epsilon, "epsilon")
        _positive(self.delta, "delta")

    def law(self, sensitivity: Sensitivity, *, size: int) -> NoiseLaw:
        if size != 1:
            raise BadInput(
                f"Gaussian noise calibrated to exact probabilities answers one number, not {size}; "
                "use the zCDP or the analytic Gaussian."
            )
        return DiscreteGaussianLaw(
            sigma_squared=discrete_gaussian_sigma_squared_one_coordinate(
                epsilon=self.epsilon, delta=self.delta, shift=sensitivity.l1
            )
        )

    def cost(self) -> Cost:
        return Cost.approximate(epsilon=self.epsilon, delta=self.delta)


@dataclass(frozen=True, slots=True, kw_only=True)
class AnalyticGaussian:
    """Add continuous Gaussian noise, rounded to integers, with the smallest sigma that is valid.

    Guarantee:   (epsilon, delta)-DP, also for epsilon above 1.
    Adjacency:   the query's; the mechanism only sees its sensitivity.
    Sensitivity: L2, given squared, any dimension.
    Theorem:     Balle and Wang 2018, theorem 8. An exact integer plus round(N(0, sigma^2)) is
                 round(integer + N(0, sigma^2)): post-processing of the continuous mechanism, so
                 the theorem applies as proved. Sampled exactly.
    """

    epsilon: Fraction
    delta: Fraction

    def __post_init__(self) -> None:
        _positive(self.epsilon, "epsilon")
        _positive(self.delta, "delta")

    def law(self, sensitivity: Sensitivity, *, size: int) -> NoiseLaw:
        return RoundedGaussianLaw(
            sigma_squared=gaussian_sigma_squared(
                epsilon=self.epsilon, delta=self.delta, l2_squared=sensitivity.l2_squared
            )
        )

    def cost(self) -> Cost:
        return Cost.approximate(epsilon=self.epsilon, delta=self.delta)
