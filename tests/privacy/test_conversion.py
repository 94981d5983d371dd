"""Conversions are rounded against us, and agree with independent accounting."""

from __future__ import annotations

import math
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest
from dp_accounting.pld import privacy_loss_mechanism
from dp_accounting.rdp import rdp_privacy_accountant
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import BadInput
from discreet.privacy.conversion import (
    delta_from_rho,
    discrete_gaussian_delta_one_coordinate,
    discrete_gaussian_sigma_squared_one_coordinate,
    epsilon_from_rho,
    gaussian_delta,
    gaussian_sigma_squared,
    rho_from_budget,
    rho_from_pure,
)

TINY = 1 + 1e-9


def log_uniform(low: float, high: float) -> st.SearchStrategy[float]:
    return st.floats(math.log(low), math.log(high)).map(math.exp)


rhos, epsilons, deltas = log_uniform(1e-6, 50), log_uniform(1e-3, 30), log_uniform(1e-12, 0.3)


@settings(deadline=None, max_examples=120)
@given(rho=rhos, delta=deltas)
def test_epsilon_from_rho_is_at_least_the_exact_gaussian_and_within_a_percent_of_rdp(
    rho: float, delta: float
) -> None:
    found = float(epsilon_from_rho(rho, delta=delta))
    gaussian = privacy_loss_mechanism.GaussianPrivacyLoss(1 / math.sqrt(2 * rho))
    assert gaussian.get_delta_for_epsilon(found) <= delta * TINY
    best = math.sqrt(math.log(1 / delta) / rho) + 1
    orders = 1 + (best - 1) * np.geomspace(0.01, 3, 2000)
    theirs, _ = rdp_privacy_accountant.compute_epsilon(orders, orders * rho, delta)
    # Coarser orders can only cost them more; the best order is among those tried.
    assert found <= theirs * TINY + 1e-15
    assert found >= theirs * 0.99 - 1e-9


@settings(deadline=None, max_examples=120)
@given(rho=rhos, epsilon=epsilons)
def test_delta_from_rho_is_at_least_the_exact_gaussian_and_no_order_gives_less(
    rho: float, epsilon: float
) -> None:
    found = float(delta_from_rho(rho, epsilon=epsilon))
    gaussian = privacy_loss_mechanism.GaussianPrivacyLoss(1 / math.sqrt(2 * rho))
    assert found >= gaussian.get_delta_for_epsilon(epsilon) * (1 - 1e-9)
    with mpmath.workdps(40):
        below = min(
            mpmath.exp((a - 1) * (a * rho - epsilon)) / (a - 1) * (1 - 1 / a) ** a
            for a in (1 + mpmath.mpf(x) for x in np.geomspace(1e-3, 1e6, 100))
        )
    assert found <= min(1.0, float(below) * TINY + 1e-299)


@settings(deadline=None, max_examples=120)
@given(epsilon=epsilons, delta=deltas)
def test_the_rho_of_a_budget_never_exceeds_its_epsilon(epsilon: float, delta: float) -> None:
    limit, slack = Fraction(repr(epsilon)), Fraction(repr(delta))
    rho = rho_from_budget(epsilon=limit, delta=slack)
    assert rho > 0
    assert epsilon_from_rho(rho, delta=slack) <= limit
    assert epsilon_from_rho(rho * (1 + Fraction(1, 10**6)), delta=slack) > limit


@settings(deadline=None, max_examples=120)
@given(rho=rhos, delta=deltas)
def test_delta_from_rho_inverts_epsilon_from_rho(rho: float, delta: float) -> None:
    epsilon = epsilon_from_rho(rho, delta=delta)
    if epsilon > 0:
        again = delta_from_rho(rho, epsilon=epsilon)
        assert again <= Fraction(repr(delta)) * (1 + Fraction(1, 10**9))
        assert again >= Fraction(repr(delta)) * (1 - Fraction(1, 10**6))


def test_a_pure_epsilon_costs_half_its_square_exactly() -> None:
    assert rho_from_pure("0.1") == Fraction(1, 200)
    assert rho_from_pure(Fraction(2, 3)) == Fraction(2, 9)


@settings(deadline=None, max_examples=120)
@given(epsilon=epsilons, delta=deltas, square=st.integers(1, 10**9))
def test_the_gaussian_calibration_is_the_analytic_one(
    epsilon: float, delta: float, square: int
) -> None:
    variance = gaussian_sigma_squared(epsilon=epsilon, delta=delta, l2_squared=square)
    exactly = Fraction(repr(delta))
    assert gaussian_delta(sigma_squared=variance, l2_squared=square, epsilon=epsilon) <= exactly
    less = variance * (1 - Fraction(1, 10**9))
    assert gaussian_delta(sigma_squared=less, l2_squared=square, epsilon=epsilon) > exactly


@settings(deadline=None, max_examples=120)
@given(sigma=log_uniform(0.05, 1e4), epsilon=st.floats(0, 30))
def test_the_gaussian_delta_is_the_independent_one_rounded_up(sigma: float, epsilon: float) -> None:
    found = float(gaussian_delta(sigma_squared=repr(sigma**2), l2_squared=1, epsilon=epsilon))
    with mpmath.workdps(80):
        s, e = mpmath.mpf(repr(sigma**2)) ** mpmath.mpf("0.5"), mpmath.mpf(repr(epsilon))
        wanted = mpmath.ncdf(1 / (2 * s) - e * s) - mpmath.exp(e) * mpmath.ncdf(
            -1 / (2 * s) - e * s
        )
        assert wanted <= found * TINY
        assert found <= 1e-299 or found <= wanted * TINY
    theirs = privacy_loss_mechanism.GaussianPrivacyLoss(sigma).get_delta_for_epsilon(epsilon)
    assert found >= theirs * (1 - 1e-6) - 1e-15


@pytest.mark.parametrize("epsilon", [0.1, 0.9, 8.0, 100.0])
def test_the_classic_gaussian_formula_is_beaten_below_one_and_refuted_above(epsilon: float) -> None:
    classic = 2 * math.log(1.25 / 1e-6) / epsilon**2
    if epsilon < 1:
        assert gaussian_sigma_squared(epsilon=epsilon, delta=1e-6, l2_squared=1) < classic
    # At a large epsilon the classic sigma gives far less privacy than it says.
    spent = gaussian_delta(sigma_squared=repr(classic), l2_squared=1, epsilon=epsilon)
    assert (spent > Fraction(1, 10**6)) == (epsilon >= 100)


def enumerated_delta(square: Fraction, shift: int, epsilon: float) -> tuple[Any, Any]:
    """Both directions of the hockey-stick, summed from the definition with 50 digits."""
    with mpmath.workdps(50):
        variance = mpmath.mpf(square.numerator) / square.denominator
        reach = int(mpmath.sqrt(variance) * 45) + shift + 3
        factor = mpmath.exp(mpmath.mpf(repr(epsilon)))
        mass = {
            k: mpmath.exp(-(k * k) / (2 * variance))
            for k in range(-reach - shift, reach + shift + 1)
        }
        total = mpmath.fsum(mass.values())
        span = range(-reach, reach + 1)
        one = mpmath.fsum(max(mpmath.mpf(0), mass[k] - factor * mass[k - shift]) for k in span)
        two = mpmath.fsum(max(mpmath.mpf(0), mass[k - shift] - factor * mass[k]) for k in span)
        return one / total, two / total


@settings(deadline=None, max_examples=60)
@given(
    square=st.fractions(Fraction(1, 20), 200, max_denominator=1000),
    shift=st.integers(1, 12),
    epsilon=log_uniform(0.01, 20),
)
def test_the_discrete_gaussian_delta_bounds_both_directions_of_the_definition(
    square: Fraction, shift: int, epsilon: float
) -> None:
    found = float(
        discrete_gaussian_delta_one_coordinate(sigma_squared=square, shift=shift, epsilon=epsilon)
    )
    one, two = enumerated_delta(square, shift, epsilon)
    wanted = max(one, two)
    if wanted > 1e-200:
        assert abs(one / two - 1) < 1e-20
        assert wanted <= found <= wanted * (1 + 1e-8)


@settings(deadline=None, max_examples=120)
@given(sigma=log_uniform(0.4, 60), shift=st.integers(1, 40), epsilon=log_uniform(0.01, 15))
def test_the_discrete_gaussian_delta_is_never_below_the_independent_one(
    sigma: float, shift: int, epsilon: float
) -> None:
    found = float(
        discrete_gaussian_delta_one_coordinate(
            sigma_squared=repr(sigma**2), shift=shift, epsilon=epsilon
        )
    )
    loss = privacy_loss_mechanism.DiscreteGaussianPrivacyLoss(
        sigma, shift, truncation_bound=math.ceil(30 * sigma) + shift
    )
    theirs = loss.get_delta_for_epsilon(epsilon)
    assert found >= theirs * (1 - 1e-9) - 1e-13
    assert found <= theirs * 1.000001 + 1e-13


@settings(deadline=None, max_examples=60)
@given(sigma=log_uniform(1e4, 1e7), ratio=log_uniform(1e-4, 20), epsilon=log_uniform(0.01, 15))
def test_wide_discrete_gaussians_are_priced_as_continuous_ones(
    sigma: float, ratio: float, epsilon: float
) -> None:
    """At sigma s the two differ by about 1/s^2: a check of the Euler-Maclaurin branch."""
    shift, square = max(1, round(sigma * ratio)), Fraction(repr(sigma**2))
    discrete = discrete_gaussian_delta_one_coordinate(
        sigma_squared=square, shift=shift, epsilon=epsilon
    )
    smooth = gaussian_delta(sigma_squared=square, l2_squared=shift**2, epsilon=epsilon)
    if smooth > Fraction(1, 10**40):
        assert float(discrete / smooth) == pytest.approx(1, rel=1e-3)


def test_the_two_ways_to_price_a_discrete_gaussian_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    cases = [(2000, 1, "0.001"), (2000, 100, "0.1"), (2000, 2000, 2), (5000, 20000, 1), (3000, 90000, 400)]  # fmt: skip
    ask: Callable[[int, int, Any], Fraction] = lambda s, d, e: (  # noqa: E731
        discrete_gaussian_delta_one_coordinate(sigma_squared=s * s, shift=d, epsilon=e)
    )
    by_terms = [ask(*case) for case in cases]
    monkeypatch.setattr("discreet.privacy.conversion.discrete.ENUMERATED", 0)
    by_tails = [ask(*case) for case in cases]
    for terms, tails in zip(by_terms, by_tails, strict=True):
        assert tails <= terms
        assert float(terms / tails) == pytest.approx(1, rel=2e-9)


@settings(deadline=None, max_examples=30)
@given(epsilon=log_uniform(0.005, 20), delta=deltas, shift=st.integers(1, 10**6))
def test_the_discrete_calibration_keeps_its_promise_at_the_value_returned(
    epsilon: float, delta: float, shift: int
) -> None:
    square = discrete_gaussian_sigma_squared_one_coordinate(
        epsilon=epsilon, delta=delta, shift=shift
    )
    for moved in {1, (shift + 1) // 2, shift}:
        spent = discrete_gaussian_delta_one_coordinate(
            sigma_squared=square, shift=moved, epsilon=epsilon
        )
        assert spent <= Fraction(repr(delta))


def test_a_million_wide_calibration_takes_milliseconds_and_matches_the_smooth_one() -> None:
    square = discrete_gaussian_sigma_squared_one_coordinate(epsilon=1, delta=1e-6, shift=250_000)
    smooth = gaussian_sigma_squared(epsilon=1, delta=1e-6, l2_squared=250_000**2)
    assert float(square) > 1e12
    assert float(square / smooth) == pytest.approx(1, rel=1e-9)


def test_results_have_short_decimal_denominators() -> None:
    results = [
        epsilon_from_rho("1/3", delta=1e-6),
        delta_from_rho("1/3", epsilon=3),
        rho_from_budget(epsilon="1/3", delta=1e-6),
        gaussian_sigma_squared(epsilon="1/3", delta=1e-6, l2_squared=2),
    ]
    for value in results:
        assert 10**30 % value.denominator == 0
        assert len(str(value.numerator)) <= 16


def test_threads_get_the_same_answers() -> None:
    def ask(i: int) -> Fraction:
        return gaussian_sigma_squared(epsilon=Fraction(1 + i % 4), delta=1e-6, l2_squared=1)

    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(ask, range(12)))
    assert found == [ask(i) for i in range(12)]


@pytest.mark.parametrize(
    "ask",
    [
        lambda: epsilon_from_rho(1, delta=0),
        lambda: epsilon_from_rho(1, delta=1),
        lambda: epsilon_from_rho(-1, delta=0.1),
        lambda: epsilon_from_rho(float("nan"), delta=0.1),
        lambda: rho_from_budget(epsilon=0, delta=0.1),
        lambda: rho_from_budget(epsilon=1, delta=0),
        lambda: rho_from_pure(-1),
        lambda: gaussian_sigma_squared(epsilon=1, delta=0, l2_squared=1),
        lambda: gaussian_sigma_squared(epsilon=1, delta=0.1, l2_squared=0),
        lambda: gaussian_delta(sigma_squared=0, l2_squared=1, epsilon=1),
        lambda: discrete_gaussian_delta_one_coordinate(sigma_squared=1, shift=0, epsilon=1),
        lambda: discrete_gaussian_sigma_squared_one_coordinate(epsilon=1, delta=0.1, shift=1.5),  # type: ignore[arg-type]
    ],
)
def test_parameters_without_a_meaning_are_refused(ask: Callable[[], Fraction]) -> None:
    with pytest.raises(BadInput):
        ask()


def test_an_astronomically_small_delta_is_rounded_up_to_a_short_number() -> None:
    assert delta_from_rho("1e-6", epsilon=30) == Fraction(1, 10**300)
    assert gaussian_delta(sigma_squared=10**8, l2_squared=1, epsilon=30) == Fraction(1, 10**300)


def test_no_loss_converts_to_no_loss() -> None:
    assert epsilon_from_rho(0, delta=1e-6) == 0
    assert delta_from_rho(0, epsilon=1) == 0
    assert delta_from_rho(100, epsilon=0) == 1
