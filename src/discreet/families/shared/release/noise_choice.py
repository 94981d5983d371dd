"""Which noise a query gets, from public facts only, and how large that noise is on average."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache

import numpy as np

from discreet.core.mechanisms import (
    AdditiveMechanism,
    AnalyticGaussian,
    DiscreteGaussian,
    DiscreteLaplace,
    OneCountGaussian,
    RoundedGaussian,
)
from discreet.errors import BadInput
from discreet.privacy.adjacency import Sensitivity
from discreet.privacy.budget import Budget
from discreet.privacy.cost import Accounting
from discreet.privacy.laws import NoiseLaw
from discreet.privacy.laws.law import LARGEST_SPREAD
from discreet.queries.measurable import Query
from discreet.schema import Schema

LARGEST_EXACT_SHIFT = 16
"""Up to here a single count's noise is calibrated to its own probabilities; beyond, the analytic one is as good."""

Offer = Callable[[Sensitivity, int, Budget, Accounting], AdditiveMechanism | None]
"""The mechanism that spends a share on an answer of so many numbers; None where it cannot, or another
is sure to do better."""


def _discrete_laplace(
    sensitivity: Sensitivity, size: int, share: Budget, accounting: Accounting
) -> AdditiveMechanism | None:
    return DiscreteLaplace(epsilon=share.epsilon) if accounting is Accounting.BASIC else None


def _analytic_gaussian(
    sensitivity: Sensitivity, size: int, share: Budget, accounting: Accounting
) -> AdditiveMechanism | None:
    if not _gaussian_may_win(sensitivity, share, accounting):
        return None
    return AnalyticGaussian(epsilon=share.epsilon, delta=share.delta)


def _one_count_gaussian(
    sensitivity: Sensitivity, size: int, share: Budget, accounting: Accounting
) -> AdditiveMechanism | None:
    if size != 1 or sensitivity.l1 > LARGEST_EXACT_SHIFT:
        return None
    if not _gaussian_may_win(sensitivity, share, accounting):
        return None
    return OneCountGaussian(epsilon=share.epsilon, delta=share.delta)


def _discrete_gaussian(
    sensitivity: Sensitivity, size: int, share: Budget, accounting: Accounting
) -> AdditiveMechanism | None:
    """Under zCDP: at equal rho its variance is half the Laplace's or less, for an L2 sensitivity is
    never above the L1."""
    return DiscreteGaussian(rho=share.rho) if accounting is Accounting.CONCENTRATED else None


def _rounded_gaussian(
    sensitivity: Sensitivity, size: int, share: Budget, accounting: Accounting
) -> AdditiveMechanism | None:
    """Under Gaussian differential privacy, where Laplace noise costs even more than under zCDP."""
    if accounting is not Accounting.GAUSSIAN:
        return None
    return RoundedGaussian(mu_squared=share.mu_squared)


OFFERS: list[Offer] = [
    _discrete_laplace,
    _analytic_gaussian,
    _one_count_gaussian,
    _discrete_gaussian,
    _rounded_gaussian,
]
"""What a release chooses its noise among; of equally good ones the first."""


def mechanism_for(
    query: Query, schema: Schema, *, share: Budget, accounting: Accounting
) -> AdditiveMechanism:
    """The mechanism of least expected absolute error that spends `share`."""
    return least_error_mechanism(
        query.sensitivity(schema), query.size(schema), share=share, accounting=accounting
    )


def least_error_mechanism(
    sensitivity: Sensitivity, size: int, *, share: Budget, accounting: Accounting
) -> AdditiveMechanism:
    """As `mechanism_for`, for an answer of `size` numbers with a known sensitivity."""
    return _least_error(sensitivity, size, share, accounting, tuple(OFFERS))


@lru_cache(maxsize=4096)
def _least_error(
    sensitivity: Sensitivity,
    size: int,
    share: Budget,
    accounting: Accounting,
    offers: tuple[Offer, ...],
) -> AdditiveMechanism:
    offered = (offer(sensitivity, size, share, accounting) for offer in offers)
    options = [each for each in offered if each is not None]
    if len(options) == 1:
        return options[0]
    return min(options, key=lambda each: each.law(sensitivity, size=size).mean_absolute())


def _gaussian_may_win(sensitivity: Sensitivity, share: Budget, accounting: Accounting) -> bool:
    """Whether the exact calibration, which takes many digits, is worth its time.

    A float is enough to see that Gaussian noise would be larger: this only decides which of two
    valid mechanisms is used, and neither's cost.
    """
    if accounting is not Accounting.BASIC or share.delta == 0:
        return False
    reach = math.sqrt(sensitivity.l2_squared)
    epsilon, delta = float(share.epsilon), float(share.delta)

    def loss(sigma: float) -> float:
        shift, place = reach / (2 * sigma), epsilon * sigma / reach
        if epsilon > 700:
            return 1.0
        beyond = math.exp(epsilon) * math.erfc((shift + place) / math.sqrt(2))
        return (math.erfc((place - shift) / math.sqrt(2)) - beyond) / 2

    # The sigma at which Gaussian and Laplace noise are equally large on average, and a bit more.
    sigma = 1.02 * math.sqrt(math.pi / 2) * float(sensitivity.l1 / share.epsilon)
    return sigma < 4 or loss(sigma) <= delta


def check_drawable(law: NoiseLaw, *, what: str) -> None:
    """Refuse noise that the samplers would refuse, before anything is charged."""
    spread = law.spread
    if not 1 / LARGEST_SPREAD <= spread <= LARGEST_SPREAD:
        direction = "large" if spread > 1 else "small"
        raise BadInput(
            f"{what} would get noise of scale {spread:.3g}, too {direction} to draw in 64-bit integers. "
            "Nothing was read or charged. Give another budget, a smaller max_rows, or narrower bounds."
        )


@lru_cache(maxsize=4096)
def mean_absolute_of_two(a: float, first: NoiseLaw, b: float, second: NoiseLaw) -> float:
    """E|aX + bY| of two independent draws."""
    x, p = first.points()
    y, q = second.points()
    # |ax + by| = E over the sorted x: prefix sums make it one pass for each y, not a table.
    places = a * x
    mass_below = np.concatenate([[0.0], np.cumsum(p)])
    moment_below = np.concatenate([[0.0], np.cumsum(p * places)])
    cut = np.searchsorted(places, -b * y)
    # sum p |ax + s| = (moment above + s mass above) - (moment below + s mass below)
    s = b * y
    inner = (moment_below[-1] - 2 * moment_below[cut]) + s * (mass_below[-1] - 2 * mass_below[cut])
    return float(inner @ q)


def simultaneous_bound(laws_and_sizes: list[tuple[NoiseLaw, int]], confidence: float) -> int:
    """The smallest h such that, with probability `confidence`, no draw at all exceeds h.

    Exact for independent draws: the product over all of P(|X| <= h).
    """

    def log_probability(h: int) -> float:
        total = 0.0
        for law, size in laws_and_sizes:
            beyond = 2 * float(law.cdf(-h - 1))
            if beyond >= 1:
                return -math.inf
            total += size * math.log1p(-beyond)
        return total

    # A hair above, so that no rounding in the sum makes the bound too short.
    target = math.log(confidence) * (1 - 1e-9)
    low, high = -1, 1
    while log_probability(high) < target:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if log_probability(middle) >= target else (middle, high)
    return high
