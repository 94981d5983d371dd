"""Guidance speaks up when a budget is weak, and only then."""

from __future__ import annotations

from typing import Any

import pytest

from discreet.errors import BadInput
from discreet.privacy.budget import Budget
from discreet.privacy.guidance import guidance


@pytest.mark.parametrize(
    "budget",
    [
        Budget(epsilon=5),
        Budget(epsilon=1, delta=1e-6),
        Budget(rho=0.1),
        Budget(rho=0.1, delta=1e-9),
    ],
)
def test_a_sound_budget_passes_in_silence(budget: Budget) -> None:
    assert guidance(budget, people=50_000) == []
    assert guidance(budget, people=None) == []


@pytest.mark.parametrize("epsilon", ["5.000001", 10, 1000, 10**6])
def test_an_epsilon_above_five_is_pointed_out(epsilon: Any) -> None:
    (warning,) = guidance(Budget(epsilon=epsilon), people=None)
    assert warning.startswith("epsilon is ")
    assert "above 5" in warning


def test_a_delta_above_a_millionth_is_pointed_out() -> None:
    (warning,) = guidance(Budget(epsilon=1, delta="0.0000011"), people=None)
    assert warning.startswith("delta is 1.1e-06")


def test_a_delta_of_one_in_the_number_of_people_is_pointed_out_first() -> None:
    first, second = guidance(Budget(epsilon=6, delta="1/1000"), people=1000)
    assert "somebody's row" in first
    assert second.startswith("epsilon")
    assert guidance(Budget(epsilon=1, delta="1e-7"), people=10**7) != []
    assert "not far below" in guidance(Budget(epsilon=1, delta="1e-7"), people=10**7 - 1)[0]
    assert guidance(Budget(epsilon=1, delta="1e-7"), people=10**6) == []


def test_a_large_rho_is_judged_by_the_epsilon_that_it_amounts_to() -> None:
    (warning,) = guidance(Budget(rho=1), people=None)
    assert warning.startswith("rho 1 amounts, at delta 1e-06, to epsilon ~7.")
    assert guidance(Budget(rho="0.45"), people=None) == []
    # The more people, the smaller the delta, and the larger the epsilon that is told.
    assert guidance(Budget(rho="0.45"), people=10**9) != []


@pytest.mark.parametrize("people", [0, -5, True, 1.5, "many"])
def test_a_number_of_people_that_is_none_is_refused(people: Any) -> None:
    with pytest.raises(BadInput):
        guidance(Budget(epsilon=1), people=people)
