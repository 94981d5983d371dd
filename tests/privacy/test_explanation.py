"""What an epsilon means to a person: Bayes' rule, group privacy, units, densities."""

from __future__ import annotations

import math

import pytest

from discreet.errors import BadInput
from discreet.privacy.budget import Budget
from discreet.privacy.explanation import belief, explain, group


@pytest.mark.parametrize("prior", [0.001, 0.3, 0.5, 0.99])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 5.0])
def test_odds_move_by_at_most_the_factor(prior, epsilon):
    found = belief(prior, epsilon)
    odds = prior / (1 - prior)
    assert found.most / (1 - found.most) == pytest.approx(odds * math.exp(epsilon))
    assert found.least / (1 - found.least) == pytest.approx(odds / math.exp(epsilon))


def test_two_coins_leave_a_doubt_of_one_quarter():
    assert belief(0.5, math.log(3)).most == pytest.approx(0.75)


def test_a_group_pays_k_epsilon_and_the_sum_of_the_powers_in_delta():
    """By composition of k steps: delta (1 + e^eps + e^(2 eps))."""
    found = group(3, 0.5, 1e-6)
    assert found.epsilon == 1.5
    assert found.delta == pytest.approx(1e-6 * (1 + math.exp(0.5) + math.exp(1.0)))
    assert group(10_000, 100.0, 1e-6).delta == 1.0
    assert group(4, 1.0, 0.0).delta == 0.0


def test_a_row_a_person_and_a_household_are_promised_different_things():
    rows = explain(Budget(epsilon=1), rows_each=3, household=4)
    assert [each.epsilon for each in rows.units] == [1.0, 3.0, 12.0]
    people = explain(Budget(epsilon=1), household=4, identifier="patient")
    assert [each.epsilon for each in people.units] == [1.0, 1.0, 4.0]
    assert people.units[1].name == "one patient"


@pytest.mark.parametrize("epsilon", ["1/10", "1", "3"])
def test_the_log_ratio_of_the_densities_never_leaves_epsilon(epsilon):
    found = explain(Budget(epsilon=epsilon))
    for each in found.densities:
        assert each.log_ratio == pytest.approx(math.log(each.there / each.here), abs=1e-9)
        assert abs(each.log_ratio) <= found.epsilon + 1e-12
    assert {round(abs(each.log_ratio), 9) for each in found.densities} == {round(found.epsilon, 9)}


def test_small_groups_have_large_relative_errors():
    errors = dict(explain(Budget(epsilon=1)).relative_errors)
    assert errors[10] == pytest.approx(100 * errors[1_000])


def test_a_rho_is_explained_by_its_epsilon_at_a_delta():
    found = explain(Budget(rho="1/10"))
    assert found.delta == 1e-6 and 1 < found.epsilon < 4
    assert found.to_dict()["factor"] == pytest.approx(math.exp(found.epsilon))


@pytest.mark.parametrize("named", [{"rows_each": 0}, {"household": 1.5}])
def test_bad_numbers_are_refused(named):
    with pytest.raises(BadInput, match="whole number"):
        explain(Budget(epsilon=1), **named)
