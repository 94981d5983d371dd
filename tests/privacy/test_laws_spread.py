"""How many deviations hold a sum of which only the variance and the kurtosis are known."""

from __future__ import annotations

from fractions import Fraction
from statistics import NormalDist

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.answering.readings import Reading
from discreet.privacy.laws import (
    DiscreteGaussianLaw,
    DiscreteLaplaceLaw,
    NoiseLaw,
    RoundedGaussianLaw,
)
from discreet.privacy.laws.exact_sums import inverted_half_width, kurtosis_of
from discreet.privacy.laws.sums import spread_factor

MISSES = st.floats(0.001, 0.6)


def exact_half_width(law: NoiseLaw, draws: int, miss: float) -> int:
    """By convolution of the masses, for few and narrow draws; by inversion of the same law otherwise."""
    if law.std * draws > 200:
        return inverted_half_width(law, draws, miss)
    reach = int(40 * law.std) + 10
    mass = one = law.pmf(np.arange(-reach, reach + 1))
    for _ in range(draws - 1):
        mass = np.convolve(mass, one)
    middle = len(mass) // 2
    inside = mass[middle] + 2 * np.concatenate([[0.0], np.cumsum(mass[middle + 1 :])])
    return int(np.searchsorted(inside, 1 - miss))


LAWS = st.one_of(
    st.integers(3, 400).map(lambda scale: DiscreteLaplaceLaw(Fraction(scale))),
    st.integers(9, 10**5).map(lambda square: DiscreteGaussianLaw(Fraction(square))),
    st.integers(9, 10**5).map(lambda square: RoundedGaussianLaw(Fraction(square))),
)


@settings(max_examples=150, deadline=None)
@given(law=LAWS, draws=st.integers(1, 40), miss=MISSES)
def test_a_spread_is_never_narrower_than_the_exact_quantile(
    law: NoiseLaw, draws: int, miss: float
) -> None:
    """The sum is a whole number: its interval may end anywhere up to half a step before it."""
    terms = [(1.0, law, draws)]
    std = (law.variance * draws) ** 0.5
    found = float(spread_factor(miss, kurtosis_of(terms))) * std
    assert found + 0.5 >= exact_half_width(law, draws, miss) * (1 - 1e-4)


@pytest.mark.parametrize("draws", [1, 2, 3, 4, 6, 10, 30])
def test_a_spread_is_never_narrower_than_that_of_wide_laplace_draws_at_any_confidence(
    draws: int,
) -> None:
    """Wide noise, so that steps do not show; the confidences around .92, where the series is worst, closely."""
    law = DiscreteLaplaceLaw(Fraction(2000))
    std = (law.variance * draws) ** 0.5
    for miss in [*np.linspace(0.03, 0.12, 46), 0.5, 0.3, 0.2, 0.01, 0.001]:
        found = float(spread_factor(float(miss), 3 / draws))
        assert found * std >= inverted_half_width(law, draws, float(miss)) - 1


@given(miss=MISSES, kurtosis=st.floats(-1, 4))
def test_a_spread_is_never_below_the_normal_one_and_hardly_more_without_kurtosis(
    miss: float, kurtosis: float
) -> None:
    normal = NormalDist().inv_cdf(1 - miss / 2)
    assert float(spread_factor(miss, kurtosis)) >= normal * (1 - 1e-12)
    assert float(spread_factor(miss, 0.0)) == pytest.approx(normal, rel=1e-12)


def test_a_reading_whose_draws_are_not_known_takes_the_same_spread() -> None:
    reading = Reading(value=5.0, variance=4.0, kurtosis=1.3)
    for confidence in (0.5, 0.8, 0.95, 0.999):
        assert reading.half_width(confidence) == pytest.approx(
            2 * float(spread_factor(1 - confidence, 1.3)), rel=1e-9
        )
