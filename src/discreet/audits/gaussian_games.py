"""The game against Gaussian noise: its size is certified, and its epsilon follows from the shape.

A test of the (epsilon, delta) inequality itself would see nothing: Gaussian noise exceeds its
epsilon with a probability of about delta.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
from scipy.special import ndtr

from discreet.audits.empirical import Tally, certified_size, fair_coins
from discreet.audits.trials import ONE, Trial, draws
from discreet.kernel.mechanisms import (
    AnalyticGaussian,
    DiscreteGaussian,
    FixedPoint,
    OneCountGaussian,
)
from discreet.privacy.conversion import epsilon_from_rho, rho_from_budget
from discreet.privacy.laws import DiscreteGaussianLaw, NoiseLaw
from discreet.privacy.loss_mechanisms import discrete_gaussian_loss, gaussian_loss


def _far_enough(sigma_squared: float, step: int = 1) -> int:
    """An odd multiple of `step` about three sigmas: there a fifth more epsilon shows best."""
    return step * (2 * round((3 * math.sqrt(sigma_squared) / step - 1) / 2) + 1)


def gaussian(
    law: Callable[[Fraction, Fraction], NoiseLaw],
    epsilon_of: Callable[[float, float], float],
    *,
    sensitivity: int = 1,
) -> Callable[[Trial], float]:
    """Two counts about three sigmas apart; the player names the nearer one."""

    def certify(trial: Trial) -> float:
        claimed = law(trial.epsilon, trial.delta)
        far = max(sensitivity, _far_enough(float(getattr(claimed, "sigma_squared", 1))))
        bits = fair_coins(trial.runs)
        outputs = draws(law(trial.spent, trial.delta), bits * far)
        is_discrete = isinstance(claimed, DiscreteGaussianLaw)

        def best_share(sigma_squared: float) -> float:
            if is_discrete:
                return DiscreteGaussianLaw(Fraction(sigma_squared)).cdf(far // 2)
            return float(ndtr(far / 2 / math.sqrt(sigma_squared)))

        tally = Tally.of((2 * outputs - far).astype(np.float64), bits)
        size = certified_size(tally, best_share, false_positive_rate=trial.false_positive_rate)
        return 0.0 if math.isinf(size) else epsilon_of(size, float(trial.delta))

    return certify


def concentrated_law(epsilon: Fraction, delta: Fraction) -> NoiseLaw:
    return DiscreteGaussian(rho=rho_from_budget(epsilon=epsilon, delta=delta)).law(ONE, size=1)


def one_count_law(epsilon: Fraction, delta: Fraction) -> NoiseLaw:
    return OneCountGaussian(epsilon=epsilon, delta=delta).law(ONE, size=1)


def analytic_law(epsilon: Fraction, delta: Fraction) -> NoiseLaw:
    return AnalyticGaussian(epsilon=epsilon, delta=delta).law(ONE, size=1)


def fixed_point_law(epsilon: Fraction, delta: Fraction) -> NoiseLaw:
    mechanism = FixedPoint(
        noise=AnalyticGaussian(epsilon=epsilon, delta=delta), step=Fraction(1, 4)
    )
    return mechanism.law(mechanism.sensitivity(l1=Fraction(1), l2=Fraction(1)), size=1)


def epsilon_of_rho(sigma_squared: float, delta: float) -> float:
    return float(epsilon_from_rho(1 / (2 * Fraction(sigma_squared)), delta=Fraction(delta)))


def epsilon_of_discrete(sigma_squared: float, delta: float) -> float:
    return discrete_gaussian_loss(sigma_squared=Fraction(sigma_squared)).epsilon(delta)


def epsilon_of_rounded(steps: int) -> Callable[[float, float], float]:
    def epsilon(sigma_squared: float, delta: float) -> float:
        loss = gaussian_loss(sigma_squared=Fraction(sigma_squared), l2_squared=steps * steps)
        return loss.epsilon(delta)

    return epsilon
