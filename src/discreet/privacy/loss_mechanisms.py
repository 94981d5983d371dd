"""The privacy loss of each mechanism, for its worst pair of neighbours, as atoms that are never smaller than it.

All the pairs here are symmetric (a reflection swaps P and Q), so that one distribution
serves both directions: adding a unit and removing it.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from scipy.special import ndtr

from discreet.arrays import Floats
from discreet.errors import BadInput
from discreet.privacy.conversion.rounding import positive
from discreet.privacy.exact import Exactable
from discreet.privacy.laws import DiscreteGaussianLaw, DiscreteLaplaceLaw
from discreet.privacy.laws.gaussian import LOSS_REACH as REACH
from discreet.privacy.laws.law import FallingLoss, GaussianLoss, NoiseLaw
from discreet.privacy.loss import PrivacyLoss

ATOMS = 1 << 14
"""Laws with more distinct losses than this are cut into so many pieces."""
FINEST_SHIFT = 500
"""A chart of the loss looks at larger shifts in coarser steps, which it cannot tell apart."""
MOST_LISTED = 1 << 20
"""Numbers whose losses are listed one by one, of a law about whose loss nothing is known."""
UNLISTED = 1e-18
"""What is left out of such a list counts as infinite loss."""


def noise_loss(law: NoiseLaw, shift: int) -> PrivacyLoss:
    """The loss of any noise law when one number moves by `shift`."""
    match law.loss_shape(shift):
        case FallingLoss() as shape:
            return _falling_loss(law, shift, shape)
        case GaussianLoss() as shape:
            return _gaussian(shape)
        case None:
            return listed_loss(law, shift)


def charted_loss(law: NoiseLaw, shift: int) -> PrivacyLoss:
    """The loss when one number moves by `shift`, for a chart: large shifts in coarser steps."""
    if shift > FINEST_SHIFT:
        shift, law = FINEST_SHIFT, law.scaled(Fraction(FINEST_SHIFT, shift))
    return noise_loss(law, shift)


def _gaussian(shape: GaussianLoss) -> PrivacyLoss:
    return gaussian_loss(sigma_squared=shape.sigma_squared, l2_squared=shape.l2_squared)


def gaussian_loss(*, sigma_squared: Exactable, l2_squared: Exactable = 1) -> PrivacyLoss:
    """Gaussian noise, any dimension: normal with mean D^2 / (2 sigma^2) and twice that variance.

    Rounded Gaussian noise is a post-processing of it, so this bounds its loss too.
    """
    square = positive(l2_squared, "l2_squared") / positive(sigma_squared, "sigma_squared")
    mu = math.sqrt(square)
    z = np.linspace(-REACH, REACH, ATOMS + 1)
    edges = mu * (z + mu / 2)
    under_p = _normal_cells(z)
    under_q = _normal_cells(z + mu)
    infinite = float(ndtr(-REACH))
    masses = _split_cells(edges, under_p, under_q)
    masses[0] += infinite  # what lies below the lowest edge is rounded up to it
    return PrivacyLoss.of_atoms(edges, masses, infinite)


def listed_loss(law: NoiseLaw, shift: int) -> PrivacyLoss:
    """The loss of any law when one number moves by `shift`, from its probabilities alone."""
    reach = law.half_width(1 - Fraction(UNLISTED)) + shift
    if 2 * reach >= MOST_LISTED:
        raise BadInput(f"The loss of {law.words} noise as wide as this cannot be listed.")
    x = np.arange(-reach, reach + 1, dtype=np.float64)
    masses, others = np.asarray(law.pmf(x)), np.asarray(law.pmf(x - shift))
    both = (masses > 0) & (others > 0)
    points = np.log(masses[both]) - np.log(others[both])
    infinite = 2 * law.cdf(-reach - 1) + float(masses[~both].sum())
    return PrivacyLoss.of_atoms(points, masses[both].copy(), infinite)


def _normal_cells(z: Floats) -> Floats:
    """The normal mass between neighbouring points, from whichever tail is the smaller."""
    left, right = np.diff(ndtr(z)), -np.diff(ndtr(-z))
    return np.asarray(np.where(z[1:] <= 0, left, right))


def _falling_loss(law: NoiseLaw, shift: int, shape: FallingLoss) -> PrivacyLoss:
    loss, first, last, cut = shape.loss, shape.first, shape.last, shape.cut
    below, above = law.cdf(first - 1), law.cdf(-last - 1)
    if last - first + 1 <= ATOMS:
        x = np.arange(first, last + 1, dtype=np.float64)
        points, masses = loss(x), np.asarray(law.pmf(x)).copy()
    else:
        edges = np.unique(np.linspace(first - 1, last, ATOMS + 1).round())
        under_p = _integer_cells(law, edges)
        under_q = _integer_cells(law, edges - shift)
        points = loss(edges)
        masses = _split_cells(points[::-1], under_p[::-1], under_q[::-1])[::-1].copy()
    masses[-1] += above
    if not cut:
        masses[0] += below
    return PrivacyLoss.of_atoms(points, masses, below if cut else 0.0)


def _integer_cells(law: NoiseLaw, edges: Floats) -> Floats:
    """P(edge_i < X <= edge_{i+1}), from whichever tail is the smaller."""
    left = np.diff(np.asarray(law.cdf(edges)))
    right = -np.diff(np.asarray(law.cdf(-edges - 1)))
    return np.asarray(np.where(edges[1:] <= 0, left, right))


def _split_cells(edges: Floats, under_p: Floats, under_q: Floats) -> Floats:
    """Mass of the loss between neighbouring edges, moved to the edges; its mass under Q is kept too."""
    steps = np.diff(edges)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        share = (1 - np.exp(edges[:-1] + np.log(under_q) - np.log(under_p))) / -np.expm1(-steps)
        # Cancellation may cost a little; sending mass up is the safe side.
        share = np.clip(np.nan_to_num(share, nan=1.0) + 1e-13 / steps, 0.0, 1.0)
    masses = np.zeros(len(edges))
    masses[:-1] += under_p * (1 - share)
    masses[1:] += under_p * share
    return masses


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
