"""Gaussian differential privacy: what mu means, what each mechanism costs in it, and that its sums hold."""

from __future__ import annotations

import math
from fractions import Fraction
from statistics import NormalDist

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.core.mechanisms import DiscreteGaussian, Exponential, RoundedGaussian
from discreet.errors import BadBudget
from discreet.privacy.adjacency import Sensitivity
from discreet.privacy.budget import Budget, Notion
from discreet.privacy.conversion import (
    delta_from_mu,
    epsilon_from_mu,
    gaussian_delta,
    half_range_from_mu,
    mu_squared_from_budget,
    mu_squared_from_range,
    rho_from_budget,
)
from discreet.privacy.cost import Accounting, Cost, allowance, price
from discreet.privacy.guidance import epsilon_at
from discreet.privacy.protection import for_a_group
from discreet.privacy.shares import accountings, pure_epsilon, selection_epsilon

NORMAL = NormalDist()
BUDGETS = [
    Budget(epsilon=epsilon, delta=delta)
    for epsilon in ("0.1", 1, 3, 10)
    for delta in ("1e-5", "1e-6", "1e-9")
]
ranges = st.fractions(min_value=Fraction(1, 1000), max_value=40, max_denominator=10**6)


def chance(logit: float) -> float:
    return 1 / (1 + math.exp(-logit))


def quantile(logit: float) -> float:
    """Below it a normal variable lies with the probability of this logit; exact in both tails."""
    return math.copysign(1, logit) * -NORMAL.inv_cdf(chance(-abs(logit)))


@pytest.mark.parametrize("budget", BUDGETS, ids=str)
def test_the_mu_of_a_budget_keeps_its_delta_and_wastes_nothing(budget: Budget) -> None:
    square = mu_squared_from_budget(epsilon=budget.epsilon, delta=budget.delta)
    assert delta_from_mu(square, epsilon=budget.epsilon) <= budget.delta
    more = square * (1 + Fraction(1, 10**9))
    assert delta_from_mu(more, epsilon=budget.epsilon) > budget.delta


@pytest.mark.parametrize("budget", BUDGETS, ids=str)
def test_noise_is_smaller_than_under_zcdp_for_the_same_promise(budget: Budget) -> None:
    square = mu_squared_from_budget(epsilon=budget.epsilon, delta=budget.delta)
    rho = rho_from_budget(epsilon=budget.epsilon, delta=budget.delta)
    ratio = math.sqrt(2 * rho / square)  # of the two standard deviations
    assert 0.9 < ratio < 0.965


def test_the_delta_of_mu_is_that_of_gaussian_noise_and_of_the_normal_law() -> None:
    found = float(delta_from_mu(Fraction(1, 4), epsilon=1))
    assert found == float(gaussian_delta(sigma_squared=4, l2_squared=1, epsilon=1))
    plain = NORMAL.cdf(-2 + 0.25) - math.e * NORMAL.cdf(-2 - 0.25)
    assert found == pytest.approx(plain, rel=1e-9)


@pytest.mark.parametrize("delta", ["1e-3", "1e-6", "1e-12"])
@pytest.mark.parametrize("mu", ["0.01", "0.5", "3"])
def test_the_epsilon_of_mu_is_the_least_that_its_delta_allows(mu: str, delta: str) -> None:
    budget = Budget(mu=mu)
    epsilon = epsilon_from_mu(budget.mu_squared, delta=delta)
    assert delta_from_mu(budget.mu_squared, epsilon=epsilon) <= Fraction(delta)
    if epsilon:
        less = epsilon * (1 - Fraction(1, 10**9))
        assert delta_from_mu(budget.mu_squared, epsilon=less) > Fraction(delta)
    assert epsilon_at(budget, delta=delta) == epsilon


@given(half=ranges)
def test_no_test_tells_bounded_losses_apart_better_than_their_mu_says(half: Fraction) -> None:
    """Every trade-off curve whose slopes span the range lies above the Gaussian one, wherever its corner is."""
    mu = math.sqrt(mu_squared_from_range(half))
    spread = 2 * float(half)
    for alarm in np.linspace(-spread - 6, 6, 60):  # the logit of a test's false alarms
        least = (
            math.erfc((mu - quantile(-alarm)) / math.sqrt(2)) / 2
        )  # misses of the best Gaussian test
        assert chance(-alarm - spread) >= least * (1 - 1e-6)


@given(half=ranges)
def test_the_mu_of_bounded_losses_is_attained_by_randomised_response(half: Fraction) -> None:
    if half > 20:
        return  # a float cannot hold the tail
    wanted = 2 * NORMAL.inv_cdf(1 / (1 + math.exp(-float(half))))
    assert math.sqrt(mu_squared_from_range(half)) == pytest.approx(wanted, rel=1e-6)
    assert mu_squared_from_range(half) >= Fraction(wanted) ** 2 * (1 - Fraction(1, 10**6))


@given(half=ranges)
def test_a_range_that_mu_buys_costs_no_more_than_mu(half: Fraction) -> None:
    square = mu_squared_from_range(half)
    bought = half_range_from_mu(square)
    assert mu_squared_from_range(bought) <= square
    assert bought == pytest.approx(float(half), rel=1e-6)


def test_a_huge_range_is_bounded_and_not_computed() -> None:
    assert mu_squared_from_range(Fraction(1000)) == 8000
    assert mu_squared_from_range(Fraction(100)) <= 800
    assert mu_squared_from_range(half_range_from_mu(Fraction(9000))) <= 9000


def test_rounded_gaussian_noise_costs_what_its_law_says_and_the_discrete_one_has_no_mu() -> None:
    moved = Sensitivity(l1=3, l2_squared=5)
    mechanism = RoundedGaussian(mu_squared=Fraction(1, 7))
    law = mechanism.law(moved, size=9)
    found, stated = law.cost(moved, size=9), mechanism.cost()
    assert found == stated
    assert found.gaussian == stated.gaussian == Fraction(1, 7)
    assert stated.under(Accounting.CONCENTRATED) == Budget(rho=Fraction(1, 14))
    discrete = DiscreteGaussian(rho=Fraction(1))
    for cost in (discrete.cost(), discrete.law(moved, size=9).cost(moved, size=9)):
        with pytest.raises(BadBudget, match="no mu"):
            cost.under(Accounting.GAUSSIAN)
    with pytest.raises(BadBudget, match="no mu"):
        Cost.approximate(epsilon=Fraction(1), delta=Fraction(1, 100)).under(Accounting.GAUSSIAN)


@given(epsilon=st.fractions(min_value=Fraction(1, 100), max_value=10, max_denominator=1000))
def test_a_selection_costs_as_much_as_half_its_epsilon_of_anything_pure(epsilon: Fraction) -> None:
    chosen = Exponential(epsilon=epsilon).cost().under(Accounting.GAUSSIAN)
    assert chosen == Cost.pure(epsilon / 2).under(Accounting.GAUSSIAN)
    for share in (chosen, Cost.bounded_range(epsilon).under(Accounting.CONCENTRATED)):
        bought = selection_epsilon(share)
        assert bought <= epsilon * (1 + Fraction(1, 10**9))
        assert bought == pytest.approx(float(epsilon), rel=1e-6)
        again = Exponential(epsilon=bought).cost()
        notion = Accounting.GAUSSIAN if share.notion is Notion.MU else Accounting.CONCENTRATED
        assert share.covers(again.under(notion))
        assert share.covers(Cost.pure(pure_epsilon(share)).under(notion))


def test_squares_add_and_a_group_multiplies_mu() -> None:
    assert Budget(mu=3) + Budget(mu=4) == Budget(mu=5)
    assert Budget(mu=1).times(Fraction(1, 4)) == Budget(mu="1/2")
    assert for_a_group(Budget(mu="1/2"), 3) == Budget(mu="3/2")
    assert Budget.from_dict(Budget(mu="0.3").to_dict()) == Budget(mu="0.3")


def test_mu_is_shown_and_a_root_that_is_no_fraction_is_rounded() -> None:
    assert str(Budget(mu="0.25")) == "mu 0.25"
    assert str(Budget.of_mu_squared(Fraction(2))) == "mu ~1.41421"
    assert Budget(mu=2).rho == 2


@pytest.mark.parametrize(
    "given", [{"mu": 0}, {"mu": -1}, {"mu": 1, "rho": 1}, {"mu": 1, "delta": "1e-6"}]
)
def test_a_mu_that_means_nothing_is_refused(given: dict[str, object]) -> None:
    with pytest.raises(BadBudget):
        Budget(**given)  # type: ignore[arg-type]


def test_each_budget_is_counted_as_the_cap_can_count_it() -> None:
    both = Budget(epsilon=1, delta="1e-6")
    assert Accounting.GAUSSIAN in accountings(both, notion=None)
    assert accountings(both, notion=Notion.MU) == [Accounting.GAUSSIAN]
    assert accountings(both, notion=Notion.RHO) == [Accounting.CONCENTRATED]
    assert accountings(Budget(epsilon=1), notion=Notion.MU) == [Accounting.BASIC]
    assert accountings(Budget(mu=1), notion=Notion.RHO) == [Accounting.GAUSSIAN]
    for budget, notion in ((Budget(rho=1), Notion.MU), (Budget(mu=1), Notion.EPSILON)):
        with pytest.raises(BadBudget, match="cap counts"):
            accountings(budget, notion=notion)


def test_what_a_charge_costs_a_cap_in_mu() -> None:
    both = Budget(epsilon=1, delta="1e-6")
    assert price(both, Accounting.GAUSSIAN, notion=Notion.EPSILON) == both
    assert price(both, Accounting.GAUSSIAN, notion=Notion.MU) == allowance(
        both, Accounting.GAUSSIAN
    )
    pure = price(Budget(epsilon=1), Accounting.BASIC, notion=Notion.MU)
    assert pure == Cost.pure(Fraction(1)).under(Accounting.GAUSSIAN)
    assert price(Budget(mu=2), Accounting.GAUSSIAN, notion=Notion.RHO) == Budget(rho=2)
    for budget, accounting in ((both, Accounting.CONCENTRATED), (both, Accounting.BASIC)):
        with pytest.raises(BadBudget):
            price(budget, accounting, notion=Notion.MU)
