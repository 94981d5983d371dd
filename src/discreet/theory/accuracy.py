"""How far off each mechanism is: one function a mechanism, for whoever plans or teaches.

Each says what is exceeded with probability `beta` at most. Those of whole-number noise are exact: they are the quantiles that
releases use. Those of people who answer alone are standard errors, at the worst share; the mean of many reports is all but normal.
`MECHANISMS` has one for every mechanism that the product draws from, and a test compares the two lists.

| mechanism | off by at most, with probability 1 - beta |
|---|---|
| Laplace, k numbers | b ln(k / beta) |
| Gaussian, k numbers | sigma times the normal quantile at beta / (2k) |
| exponential | the chosen score is (2 s / epsilon) ln(N / beta) below the best |
| noisy maximum | 2 b ln(N / beta) below the largest |
| above a threshold | 8 s (ln k + ln(2 / beta)) / epsilon either side of it |
| partition selection | keys with fewer units may be missed |
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from types import MappingProxyType
from typing import Any

from discreet.errors import BadInput
from discreet.privacy.exact import Exactable, exact
from discreet.privacy.laws import DiscreteGaussianLaw, DiscreteLaplaceLaw, RoundedGaussianLaw
from discreet.theory.textbook import (
    checked_beta,
    checked_many,
    checked_positive,
    exponential_accuracy,
)

MOST_UNITS = 1 << 20


def discrete_laplace_accuracy(scale: Exactable, *, beta: float, queries: int = 1) -> int:
    """A bound on the errors of all whole numbers with discrete Laplace noise of scale b."""
    return DiscreteLaplaceLaw(scale=_positive(scale, "scale")).half_width(_level(beta, queries))


def discrete_gaussian_accuracy(sigma_squared: Exactable, *, beta: float, queries: int = 1) -> int:
    """The same for discrete Gaussian noise."""
    law = DiscreteGaussianLaw(sigma_squared=_positive(sigma_squared, "sigma_squared"))
    return law.half_width(_level(beta, queries))


def rounded_gaussian_accuracy(sigma_squared: Exactable, *, beta: float, queries: int = 1) -> int:
    """The same for Gaussian noise that is rounded to whole numbers."""
    law = RoundedGaussianLaw(sigma_squared=_positive(sigma_squared, "sigma_squared"))
    return law.half_width(_level(beta, queries))


def noisy_max_accuracy(
    sensitivity: float, *, epsilon: float, candidates: int, beta: float
) -> float:
    """How far the chosen number lies below the largest: Laplace noise of 2 s / epsilon on each, and the largest is returned."""
    checked_positive(sensitivity=sensitivity, epsilon=epsilon)
    checked_beta(beta)
    return 2 * (2 * sensitivity / epsilon) * math.log(checked_many(candidates) / beta)


def above_threshold_accuracy(
    sensitivity: float, *, epsilon: float, queries: int, beta: float
) -> float:
    """How far from the threshold a count may be and still be reported on the wrong side (Dwork and Roth 2014, theorem 3.24)."""
    checked_positive(sensitivity=sensitivity, epsilon=epsilon)
    checked_beta(beta)
    return 8 * sensitivity * (math.log(checked_many(queries)) + math.log(2 / beta)) / epsilon


def units_to_be_named(*, epsilon: float, delta: float, beta: float) -> int:
    """How many people must hold a key for it to be named with probability 1 - beta, by the best rule that privacy allows.

    The chance p of n people rises as fast as (epsilon, delta) lets it: p(n+1) is the lesser of e^epsilon p + delta and
    1 - e^-epsilon (1 - p - delta).
    """
    checked_positive(epsilon=epsilon)
    checked_beta(delta)
    checked_beta(beta)
    chance = 0.0
    for units in range(MOST_UNITS):
        if chance >= 1 - beta:
            return units
        rising = math.exp(epsilon) * chance + delta
        chance = min(1.0, rising, 1 - math.exp(-epsilon) * (1 - chance - delta))
    raise BadInput(f"More than {MOST_UNITS:,} people would be needed.")


def one_of_several_std(rows: int, *, epsilon: float, values: int) -> float:
    """Randomised response among several values: the standard error of the share of a rare one."""
    checked_positive(rows=rows, epsilon=epsilon)
    if checked_many(values) < 2:
        raise BadInput(f"Randomised response is about 2 values or more, not {values}.")
    odds = math.exp(epsilon)
    return math.sqrt(values - 2 + odds) / ((odds - 1) * math.sqrt(rows))


def unary_encoding_std(rows: int, *, epsilon: float) -> float:
    """Each person reports noisy bits, one a value: the standard error of the share of a rare one."""
    checked_positive(rows=rows, epsilon=epsilon)
    return 2 * math.exp(epsilon / 2) / ((math.exp(epsilon) - 1) * math.sqrt(rows))


def local_hashing_std(rows: int, *, epsilon: float) -> float:
    """Each person reports a noisy hash: the same as noisy bits, where the hash has e^epsilon + 1 values."""
    return unary_encoding_std(rows, epsilon=epsilon)


def piecewise_std(rows: int, *, epsilon: float) -> float:
    """Each person reports a noisy number in [-1, 1]: the standard error of the mean, at the worst number."""
    checked_positive(rows=rows, epsilon=epsilon)
    half = math.exp(epsilon / 2)
    return math.sqrt(4 * half / (3 * rows)) / (half - 1)


MECHANISMS: Mapping[str, Callable[..., Any]] = MappingProxyType(
    {
        "discrete-laplace": discrete_laplace_accuracy,
        "discrete-gaussian": discrete_gaussian_accuracy,
        "one-count-gaussian": discrete_gaussian_accuracy,
        "rounded-gaussian": rounded_gaussian_accuracy,
        "analytic-gaussian": rounded_gaussian_accuracy,
        "exponential": exponential_accuracy,
        "randomised-response": one_of_several_std,
        "unary-encoding": unary_encoding_std,
        "local-hashing": local_hashing_std,
        "piecewise": piecewise_std,
        "above-threshold": above_threshold_accuracy,
        "partition-selection": units_to_be_named,
    }
)
"""The accuracy of every registered mechanism, by its name."""


def _level(beta: float, queries: int) -> Fraction:
    checked_beta(beta)
    return 1 - exact(beta, name="beta") / checked_many(queries)


def _positive(value: Exactable, name: str) -> Fraction:
    found = exact(value, name=name)
    checked_positive(**{name: float(found)})
    return found
