"""Composition rules: each is the theorem that it names, rounded against us."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import BadBudget, BadInput
from discreet.privacy.adjacency import Adjacency, PrivacyUnit
from discreet.privacy.budget import Budget, Notion
from discreet.privacy.composition import Partition, basic, parallel
from discreet.privacy.conversion import gaussian_delta
from discreet.privacy.protection import MOST_ADDED, for_a_group

ROW, THREE_ROWS = PrivacyUnit(), PrivacyUnit("person", 3)
amounts = st.fractions(min_value=Fraction(1, 1000), max_value=5, max_denominator=1000)


@given(parts=st.lists(amounts, min_size=1, max_size=20))
def test_basic_composition_is_the_exact_sum(parts: list[Fraction]) -> None:
    assert basic(Budget(epsilon=part) for part in parts) == Budget(epsilon=sum(parts))
    assert basic(Budget(rho=part) for part in parts) == Budget(rho=sum(parts))


def test_basic_composition_of_nothing_or_of_two_notions_is_refused() -> None:
    with pytest.raises(BadInput):
        basic([])
    with pytest.raises(BadBudget):
        basic([Budget(epsilon=1), Budget(rho=1)])


@given(amount=amounts, size=st.integers(1, 50))
def test_a_group_pays_linearly_in_epsilon_and_quadratically_in_rho(
    amount: Fraction, size: int
) -> None:
    assert for_a_group(Budget(epsilon=amount), size) == Budget(epsilon=size * amount)
    assert for_a_group(Budget(rho=amount), size) == Budget(rho=size * size * amount)


@settings(deadline=None)
@given(epsilon=st.fractions(Fraction(1, 10**6), 1, max_denominator=10**6), size=st.integers(2, 200))
def test_a_groups_delta_is_rounded_up_and_only_just(epsilon: Fraction, size: int) -> None:
    """Step by step in small groups; in large ones as if every step were the last."""
    delta = Fraction(1, 10**200)
    found = for_a_group(Budget(epsilon=epsilon, delta=delta), size)
    each = [math.exp(step * float(epsilon)) for step in range(size)]
    wanted = math.fsum(each) if size <= MOST_ADDED else size * each[-1]
    assert found.epsilon == size * epsilon
    assert float(found.delta / delta) == pytest.approx(wanted, rel=1e-12)
    # e^x above its own Taylor sum: a lower bound in exact arithmetic
    x, term, total = (size - 1) * epsilon, Fraction(1), Fraction(1)
    for n in range(1, 40):
        term = term * x / n
        total += term
    assert found.delta >= delta * total


def test_a_groups_guarantee_covers_the_gaussian_mechanism_moved_by_the_whole_group() -> None:
    epsilon, square = Fraction(1, 2), 40
    delta = gaussian_delta(sigma_squared=square, l2_squared=1, epsilon=epsilon)
    four = for_a_group(Budget(epsilon=epsilon, delta=delta), 4)
    true = gaussian_delta(sigma_squared=square, l2_squared=16, epsilon=four.epsilon)
    assert true <= four.delta


def test_a_group_that_leaves_no_guarantee_is_refused() -> None:
    with pytest.raises(BadBudget):
        for_a_group(Budget(epsilon=5, delta=1e-6), 10)
    with pytest.raises(BadBudget):
        for_a_group(Budget(epsilon=5, delta=1e-6), 10**9)
    with pytest.raises(BadBudget):
        for_a_group(Budget(rho=1, delta=1e-6), 2)


@pytest.mark.parametrize("size", [0, -1, True, 1.5])
def test_a_group_has_a_whole_size(size: Any) -> None:
    with pytest.raises(BadInput):
        for_a_group(Budget(epsilon=1), size)


def test_a_group_of_one_pays_what_one_pays_and_nothing_stays_nothing() -> None:
    assert for_a_group(Budget(rho=1, delta=1e-6), 1) == Budget(rho=1, delta=1e-6)
    assert for_a_group(Budget.nothing(Notion.RHO), 7) == Budget.nothing(Notion.RHO)
    assert for_a_group(Budget.nothing(Notion.EPSILON), 7) == Budget.nothing(Notion.EPSILON)


HALVES = Partition({"young": [range(0, 40)], "old": [range(40, 2**64), range(2**64, 2**65)]})


def test_disjoint_parts_cost_their_maximum_under_add_remove() -> None:
    costs = {"young": Budget(epsilon=1), "old": Budget(epsilon=2)}
    found = parallel(HALVES, costs, adjacency=Adjacency.ADD_REMOVE, unit=ROW)
    assert found == Budget(epsilon=2)


def test_changing_a_row_touches_two_parts_and_costs_twice_in_epsilon_four_times_in_rho() -> None:
    epsilons = {"young": Budget(epsilon=1), "old": Budget(epsilon=2)}
    rhos = {"young": Budget(rho=1), "old": Budget(rho=2)}
    changed = {"adjacency": Adjacency.CHANGE_ONE, "unit": ROW}
    assert parallel(HALVES, epsilons, **changed) == Budget(epsilon=4)  # type: ignore[arg-type]
    assert parallel(HALVES, rhos, **changed) == Budget(rho=8)  # type: ignore[arg-type]


def test_a_unit_with_several_rows_may_be_in_several_parts() -> None:
    costs = {"young": Budget(epsilon=1), "old": Budget(epsilon=1)}
    added = parallel(HALVES, costs, adjacency=Adjacency.ADD_REMOVE, unit=THREE_ROWS)
    changed = parallel(HALVES, costs, adjacency=Adjacency.CHANGE_ONE, unit=THREE_ROWS)
    assert (added, changed) == (Budget(epsilon=3), Budget(epsilon=6))


def test_the_maximum_is_taken_of_epsilon_and_delta_apart() -> None:
    costs = {"young": Budget(epsilon=2), "old": Budget(epsilon=1, delta=1e-6)}
    found = parallel(HALVES, costs, adjacency=Adjacency.ADD_REMOVE, unit=ROW)
    assert found == Budget(epsilon=2, delta=1e-6)


@pytest.mark.parametrize(
    "parts",
    [
        {"a": [range(0, 10)], "b": [range(9, 20)]},
        {"a": [range(0, 100)], "b": [range(50, 51)]},
        {"a": [range(0, 10), range(5, 12)]},
        {"a": [range(0, 1), range(2**64, 2**65)], "b": [range(2**65 - 1, 2**66)]},
    ],
)
def test_overlapping_parts_are_refused_by_name(parts: dict[str, list[range]]) -> None:
    with pytest.raises(BadInput, match="overlap"):
        Partition(parts)


@pytest.mark.parametrize(
    "parts", [{}, {"a": []}, {"a": [range(3, 3)]}, {"a": [range(5, 3)]}, {"a": [range(0, 9, 2)]}]
)
def test_a_partition_without_plain_parts_is_refused(parts: dict[str, list[range]]) -> None:
    with pytest.raises(BadInput):
        Partition(parts)


def test_every_part_needs_one_cost() -> None:
    for costs in (
        {"young": Budget(epsilon=1)},
        {"young": Budget(epsilon=1), "x": Budget(epsilon=1)},
    ):
        with pytest.raises(BadInput):
            parallel(HALVES, costs, adjacency=Adjacency.ADD_REMOVE, unit=ROW)
