"""Which noise a query gets, from public facts only, and how large that noise is on average."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from typing import assert_never

import numpy as np
import numpy.typing as npt

from discreet.errors import BadInput
from discreet.kernel.mechanisms import (
    AdditiveMechanism,
    AnalyticGaussian,
    DiscreteGaussian,
    DiscreteLaplace,
    OneCountGaussian,
)
from discreet.privacy.adjacency import Sensitivity
from discreet.privacy.budget import Budget
from discreet.privacy.cost import Accounting
from discreet.privacy.laws import DiscreteLaplaceLaw, NoiseLaw
from discreet.queries.measurable import Query
from discreet.schema import Schema

Floats = npt.NDArray[np.float64]

LARGEST_NOISE = float(1 << 40)
"""Noise beyond this is not drawn, for 64-bit integers could overflow: refused before the charge."""
LARGEST_EXACT_SHIFT = 16
"""Up to here a single count's noise is calibrated to its own probabilities; beyond, the analytic one is as good."""


def mechanism_for(
    query: Query, schema: Schema, *, share: Budget, accounting: Accounting
) -> AdditiveMechanism:
    """The mechanism of least expected absolute error that spends `share`.

    Under zCDP the discrete Gaussian: at equal rho its variance is half the Laplace's or less,
    since an L2 sensitivity is never above the L1.
    """
    match accounting:
        case Accounting.CONCENTRATED:
            return DiscreteGaussian(rho=share.rho)
        case Accounting.BASIC:
            return _least_error(query, schema, share)
    assert_never(accounting)


def least_error_mechanism(
    sensitivity: Sensitivity, size: int, *, share: Budget, accounting: Accounting
) -> AdditiveMechanism:
    """As `mechanism_for`, for an answer of `size` numbers with a known sensitivity."""
    if accounting is Accounting.CONCENTRATED:
        return DiscreteGaussian(rho=share.rho)
    return _least_error_of(sensitivity, size, share)


def _least_error(query: Query, schema: Schema, share: Budget) -> AdditiveMechanism:
    return _least_error_of(query.sensitivity(schema), query.size(schema), share)


@lru_cache(maxsize=4096)
def _least_error_of(sensitivity: Sensitivity, size: int, share: Budget) -> AdditiveMechanism:
    options: list[AdditiveMechanism] = [DiscreteLaplace(epsilon=share.epsilon)]
    if share.delta > 0 and _gaussian_may_win(sensitivity, share):
        options.append(AnalyticGaussian(epsilon=share.epsilon, delta=share.delta))
        if size == 1 and sensitivity.l1 <= LARGEST_EXACT_SHIFT:
            options.append(OneCountGaussian(epsilon=share.epsilon, delta=share.delta))
    laws = [option.law(sensitivity, size=size) for option in options]
    errors = [mean_absolute(law) for law in laws]
    return options[errors.index(min(errors))]


def _gaussian_may_win(sensitivity: Sensitivity, share: Budget) -> bool:
    """Whether the exact calibration, which takes many digits, is worth its time.

    A float is enough to see that Gaussian noise would be larger: this only decides which of two
    valid mechanisms is used, and neither's cost.
    """
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
    spread = _spread(law)
    if not 1 / LARGEST_NOISE <= spread <= LARGEST_NOISE:
        direction = "large" if spread > 1 else "small"
        raise BadInput(
            f"{what} would get noise of scale {spread:.3g}, too {direction} to draw in 64-bit integers. "
            "Nothing was read or charged. Give another budget, a smaller max_rows, or narrower bounds."
        )


def _spread(law: NoiseLaw) -> float:
    """Scale or sigma, as the samplers count it."""
    if isinstance(law, DiscreteLaplaceLaw):
        return float(law.scale)
    return math.sqrt(float(getattr(law, "sigma_squared", Fraction(0))))


_SMOOTH = 100.0
"""Noise wider than this is looked at in coarser steps: the mean absolute value moves by less than 1e-4 of it."""


def _points(law: NoiseLaw) -> tuple[Floats, Floats]:
    """The law as points and probabilities; far out and, where it is wide, coarsely."""
    step = max(1, round(law.std / _SMOOTH))
    reach = math.ceil(24 * law.std / step) + 12
    places = np.arange(-reach, reach + 1, dtype=np.float64) * step
    mass = np.asarray(law.pmf(places), dtype=np.float64)
    return places, mass / mass.sum()


@lru_cache(maxsize=4096)
def mean_absolute(law: NoiseLaw) -> float:
    """E|X| of one draw."""
    if isinstance(law, DiscreteLaplaceLaw):
        rate = float(1 / law.scale)
        return 1 / math.sinh(rate) if rate < 700 else 0.0
    places, mass = _points(law)
    return float(np.abs(places) @ mass)


@lru_cache(maxsize=4096)
def mean_absolute_of_two(a: float, first: NoiseLaw, b: float, second: NoiseLaw) -> float:
    """E|aX + bY| of two independent draws."""
    x, p = _points(first)
    y, q = _points(second)
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
