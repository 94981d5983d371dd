"""Whom a cap protects, and what group privacy makes of a charge that protects others."""

from __future__ import annotations

import itertools
from decimal import Decimal, localcontext
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import BadBudget, BadInput
from discreet.privacy.adjacency import Adjacency
from discreet.privacy.budget import Budget
from discreet.privacy.protection import Protected, for_a_group, protected_in, steps
from tests.harness.charging import KINDS, distances_of_neighbours


@pytest.mark.parametrize("cap", KINDS)
@pytest.mark.parametrize("charge", KINDS)
def test_the_steps_of_every_pair_are_the_longest_path_between_neighbours(cap, charge):
    """Against paths in the graph of all tables of up to four rows, found by search.

    Where the product says that no number is enough, the longest path passes every number that
    it gives elsewhere, or there is none.
    """
    found = [apart[KINDS.index(charge)] for apart in distances_of_neighbours(cap)]
    claimed = steps(charge=charge.protects, cap=cap.protects)
    if claimed is None:
        assert None in found or max(found) >= 4
    else:
        assert max(found) == claimed


@settings(max_examples=60, deadline=None)
@given(
    epsilon=st.fractions(min_value=Fraction(1, 1000), max_value=20),
    delta=st.fractions(min_value=Fraction(1, 10**30), max_value=Fraction(1, 10**28)),
    size=st.sampled_from([2, 4]),
)
def test_a_groups_delta_is_rounded_up_and_by_little(epsilon, delta, size):
    found = for_a_group(Budget(epsilon=epsilon, delta=delta), size)
    with localcontext() as context:
        context.prec = 60
        power = Decimal(epsilon.numerator) / Decimal(epsilon.denominator)
        grown = sum((power * step).exp() for step in range(size))
        true = grown * Decimal(delta.numerator) / Decimal(delta.denominator)
        counted = Decimal(found.delta.numerator) / Decimal(found.delta.denominator)
        assert true <= counted <= true * (1 + Decimal("1e-12"))
    assert found.epsilon == size * epsilon


def test_a_flag_that_is_raised_more_often_at_each_step_loses_exactly_a_groups_delta():
    """The bound is attained: each step of it is (epsilon, delta)-DP, and four steps lose what is counted."""
    factor, delta = Fraction(3), Fraction(1, 10**6)  # e^epsilon = 3
    raised = [Fraction(0)]
    for _ in range(4):
        raised.append(factor * raised[-1] + delta)
    for one, other in itertools.pairwise(raised):
        for event in (other - factor * one, (1 - one) - factor * (1 - other)):
            assert event <= delta
    counted = for_a_group(Budget(epsilon="1.0986122886681098", delta=delta), 4)
    assert abs(counted.delta / raised[4] - 1) < Fraction(1, 10**14)


def test_a_rho_counts_by_the_square_of_the_steps():
    assert for_a_group(Budget(rho="1/8"), 2) == Budget(rho="1/2")
    assert for_a_group(Budget(rho="1/8"), 4) == Budget(rho=2)
    assert for_a_group(Budget(rho="1/8", delta="1e-9"), 1) == Budget(rho="1/8", delta="1e-9")


def test_what_no_theorem_bounds_or_promises_nothing_is_refused():
    with pytest.raises(BadBudget, match="No theorem"):
        for_a_group(Budget(rho="1/8", delta="1e-9"), 2)
    with pytest.raises(BadBudget, match="promises nothing"):
        for_a_group(Budget(epsilon=20, delta="1e-6"), 2)
    with pytest.raises(BadBudget, match="too large to count"):
        for_a_group(Budget(epsilon=400, delta="1e-300"), 2)


@pytest.mark.parametrize(
    "protects",
    [
        Protected(),
        Protected(Adjacency.CHANGE_ONE),
        Protected(Adjacency.ADD_REMOVE, "person", 7),
        Protected(Adjacency.CHANGE_ONE, "a person's 2 number ", 1),
        Protected(reading="quoted_line_breaks=01234567"),
        Protected(Adjacency.ADD_REMOVE, "a person: who", 2, "encoding=89abcdef;trim=01234567"),
    ],
)
def test_whom_a_charge_protects_is_written_and_read_back(protects):
    assert protected_in(protects.text) == protects


def test_max_rows_is_recorded_and_compared_with_nothing():
    few, many = (Protected(Adjacency.ADD_REMOVE, "person", rows) for rows in (1, 50))
    assert few.is_same(many)
    assert few.text != many.text
    assert steps(charge=many, cap=few) == 1
    with pytest.raises(BadInput, match="max_rows"):
        Protected(max_rows=2)


def test_steps_are_counted_between_those_who_are_told_apart_alike():
    """What decides rows must be the same everywhere, what decides people where both are about people."""
    row, changed = Protected(), Protected(Adjacency.CHANGE_ONE)
    person = Protected(Adjacency.ADD_REMOVE, "who", 1, ";trim=01234567")
    other = Protected(Adjacency.ADD_REMOVE, "who", 1, ";trim=89abcdef")
    broken = Protected(reading="quoted_line_breaks=01234567")
    people = Protected(Adjacency.ADD_REMOVE, "who", 1, "quoted_line_breaks=01234567;trim=01234567")
    replaced = Protected(Adjacency.CHANGE_ONE, "who", 1, ";trim=01234567")
    assert steps(charge=person, cap=person) == 1
    assert steps(charge=person, cap=replaced) == 2
    assert steps(charge=person, cap=row) == 2 and steps(charge=person, cap=changed) == 4
    assert steps(charge=people, cap=broken) == 2
    for charge, cap in [
        (person, other), (other, replaced), (broken, row), (row, broken), (broken, changed),
        (people, row), (person, broken), (people, person),
    ]:  # fmt: skip
        assert steps(charge=charge, cap=cap) is None
