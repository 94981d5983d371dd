"""The game against Gaussian noise: its size is certified, and its epsilon follows from the shape.

A test of the (epsilon, delta) inequality itself would see nothing: Gaussian noise exceeds its
epsilon with a probability of about delta.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np

from discreet.audits.guessing.game import ONE, Tally, Trial, certified_size, draws, fair_coins
from discreet.core.mechanisms import (
    AnalyticGaussian,
    DiscreteGaussian,
    OneCountGaussian,
    RoundedGaussian,
)
from discreet.privacy.conversion import epsilon_from_rho, mu_squared_from_budget, rho_from_budget
from discreet.privacy.laws import NoiseLaw
from discreet.privacy.loss_mechanisms import discrete_gaussian_loss, gaussian_loss


def _far_enough(sigma: float) -> int:
    """An odd number of about three sigmas: there a fifth more epsilon shows best."""
    return 2 * round((3 * sigma - 1) / 2) + 1


def gaussian(
    law: Callable[[Fraction, Fraction], NoiseLaw],
    epsilon_of: Callable[[float, float], float],
) -> Callable[[Trial], float]:
    """Two counts about three sigmas apart; the player names the nearer one."""

    def certify(trial: Trial) -> float:
        claimed = law(trial.epsilon, trial.delta)
        far = _far_enough(claimed.spread)
        bits = fair_coins(trial.runs)
        outputs = draws(law(trial.spent, trial.delta), bits * far)

        def best_share(sigma_squared: float) -> float:
            as_wide = claimed.scaled(Fraction(math.sqrt(sigma_squared) / claimed.spread))
            return as_wide.cdf(far // 2)  # `far` is odd: the middle is no integer

        tally = Tally.of((2 * outputs - far).astype(np.float64), bits)
        size = certified_size(tally, best_share, false_positive_rate=trial.false_positive_rate)
        return 0.0 if math.isinf(size) else epsilon_of(size, float(trial.delta))

    return certify


def concentrated_law(epsilon: Fraction, delta: Fraction) -> NoiseLaw:
    return DiscreteGaussian(rho=rho_from_budget(epsilon=epsilon, delta=delta)).law(ONE, size=1)


def rounded_law(epsilon: Fraction, delta: Fraction) -> NoiseLaw:
    square = mu_squared_from_budget(epsilon=epsilon, delta=delta)
    return RoundedGaussian(mu_squared=square).law(ONE, size=1)


def one_count_law(epsilon: Fraction, delta: Fraction) -> NoiseLaw:
    return OneCountGaussian(epsilon=epsilon, delta=delta).law(ONE, size=1)


def analytic_law(epsilon: Fraction, delta: Fraction) -> NoiseLaw:
    return AnalyticGaussian(epsilon=epsilon, delta=delta).law(ONE, size=1)


def epsilon_of_rho(sigma_squared: float, delta: float) -> float:
    return float(epsilon_from_rho(1 / (2 * Fraction(sigma_squared)), delta=Fraction(delta)))


def epsilon_of_discrete(sigma_squared: float, delta: float) -> float:
    return discrete_gaussian_loss(sigma_squared=Fraction(sigma_squared)).epsilon(delta)


def epsilon_of_rounded(sigma_squared: float, delta: float) -> float:
    return gaussian_loss(sigma_squared=Fraction(sigma_squared)).epsilon(delta)
