"""The privacy loss of each mechanism, for its worst pair of neighbours.

All the pairs here are symmetric (a reflection swaps P and Q), so that one distribution
serves both directions: adding a unit and removing it.
"""

from __future__ import annotations

import math

import numpy as np

from discreet.errors import BadInput
from discreet.privacy.conversion.rounding import positive
from discreet.privacy.exact import Exactable
from discreet.privacy.laws import DiscreteGaussianLaw, DiscreteLaplaceLaw
from discreet.privacy.loss import PrivacyLoss
from discreet.privacy.loss_noise import gaussian_loss, noise_loss

__all__ = [
    "discrete_gaussian_loss",
    "discrete_laplace_loss",
    "exponential_mechanism_loss",
    "gaussian_loss",
    "pure_loss",
    "randomised_response_loss",
]


def discrete_laplace_loss(*, scale: Exactable, shift: int = 1) -> PrivacyLoss:
    """Discrete Laplace noise when one integer moves by `shift`: at most shift / scale, and often exactly that."""
    return noise_loss(DiscreteLaplaceLaw(positive(scale, "scale")), _whole(shift, "shift", 1))


def discrete_gaussian_loss(*, sigma_squared: Exactable, shift: int = 1) -> PrivacyLoss:
    """Discrete Gaussian noise when one integer moves by `shift`."""
    law = DiscreteGaussianLaw(positive(sigma_squared, "sigma_squared"))
    return noise_loss(law, _whole(shift, "shift", 1))


def randomised_response_loss(*, epsilon: Exactable, answers: int = 2) -> PrivacyLoss:
    """Randomised response among `answers` answers, the true one e^epsilon times as likely as any other."""
    loss, choices = float(positive(epsilon, "epsilon")), _whole(answers, "answers", 2)
    # The loss is epsilon if the answer is the truth under P, -epsilon if it is the truth under Q.
    small = math.exp(-loss) / (1 + (choices - 1) * math.exp(-loss))
    masses = np.array([small, (choices - 2) * small, 1 - (choices - 1) * small])
    return PrivacyLoss.of_atoms(np.array([-loss, 0.0, loss]), masses)


def pure_loss(*, epsilon: Exactable) -> PrivacyLoss:
    """The worst of all epsilon-DP mechanisms: binary randomised response.

    Theorem: Kairouz, Oh, Viswanath 2015: every epsilon-DP mechanism is a post-processing of it.
    """
    return randomised_response_loss(epsilon=epsilon, answers=2)


def exponential_mechanism_loss(*, epsilon: Exactable) -> PrivacyLoss:
    """The exponential mechanism's worst case, whatever its scores are: that of any epsilon-DP mechanism."""
    return pure_loss(epsilon=epsilon)


def _whole(value: int, name: str, least: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise BadInput(f"{name} is {value!r}; it must be a whole number of at least {least}.")
    return value
