"""Each mechanism's cost, noise, interval and accuracy theorem come from one field and hold."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from discreet import samplers
from discreet.core.mechanisms import (
    AboveThreshold,
    AnalyticGaussian,
    DiscreteGaussian,
    DiscreteLaplace,
    Exponential,
    OneCountGaussian,
)
from discreet.core.mechanisms.registry import MECHANISMS
from discreet.core.noise import DrawnNoise
from discreet.errors import BadBudget, BadInput
from discreet.local.clients.drawing import randomised
from discreet.local.protocols import RandomisedResponse
from discreet.privacy.adjacency import Sensitivity
from discreet.privacy.conversion import gaussian_delta
from discreet.privacy.cost import Accounting

EPSILONS = st.fractions(min_value=Fraction(1, 50), max_value=8, max_denominator=1000)


@pytest.mark.parametrize("name", sorted(MECHANISMS))
def test_every_mechanism_states_guarantee_adjacency_sensitivity_and_theorem(name):
    text = MECHANISMS[name].__doc__ or ""
    for word in ("Guarantee:", "Adjacency:", "Sensitivity:", "Theorem:"):
        assert word in text


@given(epsilon=EPSILONS, sensitivity=st.integers(1, 1000))
def test_laplace_noise_and_cost_come_from_the_same_epsilon(epsilon, sensitivity):
    mechanism = DiscreteLaplace(epsilon=epsilon)
    law = mechanism.law(Sensitivity(sensitivity, sensitivity**2), size=3)
    assert sensitivity / law.scale == mechanism.cost().epsilon == epsilon
    assert mechanism.cost().rho == epsilon * epsilon / 2


@given(rho=EPSILONS, squared=st.integers(1, 1000))
def test_discrete_gaussian_noise_and_cost_come_from_the_same_rho(rho, squared):
    mechanism = DiscreteGaussian(rho=rho)
    law = mechanism.law(Sensitivity(squared, squared), size=5)
    assert squared / (2 * law.sigma_squared) == mechanism.cost().rho == rho


def test_gaussian_noise_in_rho_is_refused_by_basic_accounting():
    with pytest.raises(BadBudget, match="concentrated"):
        DiscreteGaussian(rho=Fraction(1)).cost().under(Accounting.BASIC)


def test_noise_calibrated_to_one_epsilon_and_delta_is_refused_by_concentrated_accounting():
    mechanism = AnalyticGaussian(epsilon=Fraction(1), delta=Fraction(1, 10**9))
    with pytest.raises(BadBudget, match="basic"):
        mechanism.cost().under(Accounting.CONCENTRATED)


def test_own_probability_calibration_is_refused_where_several_coordinates_change():
    mechanism = OneCountGaussian(epsilon=Fraction(1), delta=Fraction(1, 10**6))
    with pytest.raises(BadInput, match="one number"):
        mechanism.law(Sensitivity(2, 2), size=2)


@pytest.mark.parametrize("epsilon", ["1/10", "1", "4"])
def test_the_analytic_gaussian_meets_its_delta_and_is_not_wasteful(epsilon):
    delta = Fraction(1, 10**6)
    law = AnalyticGaussian(epsilon=Fraction(epsilon), delta=delta).law(Sensitivity(1, 1), size=9)
    spent = gaussian_delta(sigma_squared=law.sigma_squared, l2_squared=1, epsilon=Fraction(epsilon))
    assert spent <= delta
    tighter = gaussian_delta(
        sigma_squared=law.sigma_squared * Fraction(98, 100),
        l2_squared=1,
        epsilon=Fraction(epsilon),
    )
    assert tighter > delta


def test_the_laplace_error_bound_is_the_textbook_one_and_covers_the_discrete_law():
    mechanism = DiscreteLaplace(epsilon=Fraction(1, 2))
    bound = mechanism.error_bound(Sensitivity(1, 1), size=10, beta=0.05)
    assert bound == pytest.approx(math.log(10 / 0.05) * 2, abs=1)
    law = mechanism.law(Sensitivity(1, 1), size=10)
    beyond = 2 * (1 - law.cdf(math.floor(bound)))
    assert 10 * beyond <= 0.05


def test_a_95_percent_interval_covers_the_exact_value():
    """Exact binomial: false alarm 1e-9 a law; catches a coverage below 0.94 with p > 0.999."""
    trials = 200_000
    delta = Fraction(1, 10**6)
    for mechanism in (
        DiscreteLaplace(epsilon=Fraction(1, 3)),
        DiscreteGaussian(rho=Fraction(1, 50)),
        AnalyticGaussian(epsilon=Fraction(1), delta=delta),
        OneCountGaussian(epsilon=Fraction(1), delta=delta),
    ):
        law = mechanism.law(Sensitivity(1, 1), size=1)
        half = law.half_width(0.95)
        noise = DrawnNoise().draw(law, trials)
        covered = int((np.abs(noise) <= half).sum())
        assert binomtest(covered, trials, 0.95, alternative="less").pvalue > 1e-9
        assert covered / trials < 0.99, "an interval this wide is not honest either"


def test_the_exponential_mechanism_keeps_its_utility_theorem():
    """At beta 1e-9 a single failure is a false alarm of 1e-9 times 200."""
    mechanism = Exponential(epsilon=Fraction(1))
    scores = np.zeros(10_000, dtype=np.int64)
    scores[17] = 100
    bound = mechanism.shortfall(1, candidates=scores.size, beta=1e-9)
    for _ in range(200):
        chosen = samplers.select_exponential(scores, unit=mechanism.unit(1))
        low, high = mechanism.interval(int(scores[chosen]), 1, candidates=scores.size, beta=1e-9)
        assert low <= 100 <= high
        assert 100 - scores[chosen] <= bound


def test_the_exponent_of_the_exponential_mechanism_is_halved():
    assert Exponential(epsilon=Fraction(1)).unit(3) == Fraction(1, 6)
    assert Exponential(epsilon=Fraction(1)).cost().rho == Fraction(1, 8)


def test_two_coins_cost_the_logarithm_of_three_and_tell_the_truth_three_times_in_four():
    """Exact binomial on 100,000 coins: false alarm 1e-9; catches a truth of 0.76 with p > 0.99."""
    mechanism = RandomisedResponse.two_coins()
    with mpmath.workdps(50):
        excess = mpmath.mpf(
            mechanism.epsilon.numerator
        ) / mechanism.epsilon.denominator - mpmath.log(3)
    assert 0 <= excess < 1e-15
    reports = randomised(mechanism, np.ones(100_000, dtype=np.int64))
    assert binomtest(int(reports.sum()), reports.size, 0.75).pvalue > 1e-9


@given(epsilon=EPSILONS, answers=st.integers(2, 50))
def test_randomised_response_for_an_epsilon_never_costs_more(epsilon, answers):
    mechanism = RandomisedResponse.for_epsilon(epsilon, answers=answers)
    assert mechanism.epsilon <= epsilon + Fraction(1, 10**12)
    odds = mechanism.truth * (answers - 1) / (1 - mechanism.truth)
    assert math.log(odds) <= float(epsilon) + 1e-12


def test_lies_are_spread_evenly_over_the_other_answers():
    """Exact binomial: false alarm 4e-9."""
    mechanism = RandomisedResponse(truth=Fraction(1, 3), answers=4)
    reports = randomised(mechanism, np.full(100_000, 2))
    for answer in (0, 1, 3):
        hits = int((reports == answer).sum())
        assert binomtest(hits, reports.size, 2 / 9).pvalue > 1e-9


def test_above_threshold_draws_the_scales_of_its_theorem():
    mechanism = AboveThreshold(epsilon=Fraction(1, 2))
    assert mechanism.threshold_law(3).scale == 12
    assert mechanism.count_law(3).scale == 24
    assert mechanism.cost().epsilon == Fraction(1, 2)


@pytest.mark.parametrize("bad", [Fraction(0), Fraction(-1), 1.0, 1])
def test_a_mechanism_takes_only_positive_fractions(bad):
    for build in (DiscreteLaplace, Exponential, AboveThreshold):
        with pytest.raises(BadBudget):
            build(epsilon=bad)
