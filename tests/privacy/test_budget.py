"""Budgets are exact: nothing is lost to rounding, and nonsense is refused."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import BadBudget, BadInput
from discreet.privacy.adjacency import (
    Adjacency,
    PrivacyUnit,
    Sensitivity,
    sensitivity_of_disjoint_counts,
)
from discreet.privacy.budget import Budget, Notion
from discreet.privacy.exact import decimal_text, exact

positive = st.fractions(min_value=Fraction(1, 10**9), max_value=1000, max_denominator=10**9)
small = st.fractions(min_value=0, max_value=Fraction(1, 10), max_denominator=10**9)


@st.composite
def budgets(draw: st.DrawFn, notion: Notion = Notion.EPSILON) -> Budget:
    amount, delta = draw(positive), draw(small)
    if notion is Notion.EPSILON:
        return Budget(epsilon=amount, delta=delta)
    if notion is Notion.MU:
        return Budget.of_mu_squared(amount)
    return Budget(rho=amount, delta=delta)


@pytest.mark.parametrize(
    "half", ["0.5", "1/2", " 0.5 ", "5e-1", Decimal("0.5"), 0.5, Fraction(1, 2)]
)
def test_every_spelling_of_a_half_is_a_half(half: Any) -> None:
    assert Budget(epsilon=half).epsilon == Fraction(1, 2)
    assert Budget(rho=half).rho == Fraction(1, 2)


def test_a_float_means_the_decimal_that_it_prints() -> None:
    assert Budget(epsilon=0.1).epsilon == Fraction(1, 10)
    assert Budget(epsilon=1, delta=1e-9).delta == Fraction(1, 10**9)


@pytest.mark.parametrize(
    "nonsense",
    [
        -1, 0, "0", "-1/2", 0.0, float("nan"), float("inf"), float("-inf"), "nan", "Infinity",
        Decimal("NaN"), Decimal("Infinity"), True, False, "one", "", "1/0", "0x10", "1e999999999",
        "9" * 100, None, [1], 1j, b"1",
    ],
)  # fmt: skip
def test_an_amount_that_is_not_a_positive_finite_number_is_refused(nonsense: Any) -> None:
    with pytest.raises(BadBudget):
        Budget(epsilon=nonsense)
    with pytest.raises(BadBudget):
        Budget(rho=nonsense)


@pytest.mark.parametrize("nonsense", [-1e-9, 1, 1.5, "nan", True, "x"])
def test_a_delta_that_is_not_in_the_unit_interval_is_refused(nonsense: Any) -> None:
    with pytest.raises(BadBudget):
        Budget(epsilon=1, delta=nonsense)


def test_a_budget_has_exactly_one_of_epsilon_and_rho() -> None:
    with pytest.raises(BadBudget):
        Budget()
    with pytest.raises(BadBudget):
        Budget(epsilon=1, rho=1)


def test_a_tenth_ten_times_is_exactly_one() -> None:
    total = Budget.nothing(Notion.EPSILON)
    for _ in range(10):
        total = total + Budget(epsilon=0.1, delta=0.1)
    assert total.amount == 1
    assert total.delta == 1
    assert Budget(epsilon=1).covers(Budget(epsilon=0.1).times(10))


def test_one_part_in_a_trillion_above_a_cap_is_not_covered() -> None:
    cap = Budget(epsilon=1, delta=1e-6)
    sliver = Fraction(1, 10**12)
    assert cap.covers(cap)
    assert not cap.covers(Budget(epsilon=1 + sliver, delta=1e-6))
    assert not cap.covers(Budget(epsilon=1, delta=Fraction(1, 10**6) * (1 + sliver)))
    with pytest.raises(BadBudget):
        cap.minus(Budget(epsilon=1 + sliver, delta=1e-6))


def test_notions_never_mix() -> None:
    epsilon, rho = Budget(epsilon=1), Budget(rho=1)
    for mixing in (
        lambda: epsilon + rho,
        lambda: rho + epsilon,
        lambda: epsilon.covers(rho),
        lambda: rho.minus(epsilon),
        lambda: epsilon.rho,
        lambda: rho.epsilon,
    ):
        with pytest.raises(BadBudget):
            mixing()
    assert epsilon != rho


@pytest.mark.parametrize("notion", list(Notion))
@given(data=st.data())
def test_addition_is_associative_and_commutative(notion: Notion, data: st.DataObject) -> None:
    one, two, three = (data.draw(budgets(notion)) for _ in range(3))
    assert (one + two) + three == one + (two + three)
    assert one + two == two + one
    assert one + Budget.nothing(notion) == one


@pytest.mark.parametrize("notion", list(Notion))
@given(data=st.data())
def test_minus_inverts_plus(notion: Notion, data: st.DataObject) -> None:
    one, two = data.draw(budgets(notion)), data.draw(budgets(notion))
    assert (one + two).minus(two) == one
    assert (one + two).covers(one)


@pytest.mark.parametrize("notion", list(Notion))
@given(data=st.data(), times=st.integers(1, 20))
def test_times_is_repeated_addition(notion: Notion, data: st.DataObject, times: int) -> None:
    budget = data.draw(budgets(notion))
    total = Budget.nothing(notion)
    for _ in range(times):
        total = total + budget
    assert budget.times(times) == total
    assert budget.times(Fraction(1, times)).times(times) == budget


@pytest.mark.parametrize("notion", list(Notion))
@given(data=st.data())
def test_a_stored_budget_reads_back_exactly(notion: Notion, data: st.DataObject) -> None:
    budget = data.draw(budgets(notion))
    assert Budget.from_dict(budget.to_dict()) == budget
    nothing = Budget.nothing(notion)
    assert Budget.from_dict(nothing.to_dict()) == nothing


@pytest.mark.parametrize(
    "stored", [{}, {"epsilon": "x"}, {"epsilon": "1/0"}, {"rho": "-1"}, {"rho": "1", "delta": "-1"}]
)
def test_a_damaged_stored_budget_is_refused(stored: dict[str, str]) -> None:
    with pytest.raises(BadBudget):
        Budget.from_dict(stored)


def test_a_budget_cannot_be_altered() -> None:
    with pytest.raises(AttributeError):
        Budget(epsilon=1).amount = Fraction(2)  # type: ignore[misc]


def test_a_negative_multiple_is_refused() -> None:
    with pytest.raises(BadBudget):
        Budget(epsilon=1).times(-1)


def test_a_budget_prints_what_it_is() -> None:
    assert str(Budget(epsilon="1/2")) == "epsilon 0.5"
    assert str(Budget(rho="1/3", delta=1e-9)) == "rho 1/3, delta 1e-09"
    assert decimal_text(exact("1/100003", name="x")).startswith("~")


@pytest.mark.parametrize("rows", [1, 3])
def test_changing_a_unit_moves_twice_as_much_as_adding_it(rows: int) -> None:
    unit = PrivacyUnit("person" if rows > 1 else None, rows)
    added = sensitivity_of_disjoint_counts(Adjacency.ADD_REMOVE, unit)
    changed = sensitivity_of_disjoint_counts(Adjacency.CHANGE_ONE, unit)
    assert added == Sensitivity(l1=rows, l2_squared=rows**2)
    assert changed == Sensitivity(l1=2 * rows, l2_squared=2 * rows**2)


@pytest.mark.parametrize("rows", [0, -1, True, 1.0])
def test_a_unit_without_a_whole_number_of_rows_is_refused(rows: Any) -> None:
    with pytest.raises(BadInput):
        PrivacyUnit("person", rows)


def test_several_rows_need_an_identifier() -> None:
    with pytest.raises(BadInput):
        PrivacyUnit(None, 2)
