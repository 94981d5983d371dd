"""What a ledger promises to one process: caps, and the names that they are kept under."""

from __future__ import annotations

import unicodedata
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import (
    BadBudget,
    BadInput,
    BudgetExceeded,
    Refused,
)
from discreet.ledger import Ledger
from discreet.ledger.account import GRAINS, Loss, loss_in
from discreet.privacy.budget import Budget
from discreet.privacy.protection import Protected
from tests.paying import events, pay


def test_ten_tenths_are_exactly_one_and_a_part_in_a_trillion_more_is_refused(ledger):
    ledger.declare("people", Budget(epsilon=1))
    for number in range(9):
        pay(ledger, Budget(epsilon=0.1), f"q{number}")
    with pytest.raises(BudgetExceeded):
        pay(ledger, Budget(epsilon=Fraction(1, 10) * (1 + Fraction(1, 10**12))), "a hair more")
    pay(ledger, Budget(epsilon=0.1), "the last tenth")
    assert ledger.spent("people") == Budget(epsilon=1)
    with pytest.raises(BudgetExceeded):
        pay(ledger, Budget(epsilon=Fraction(1, 10**12)), "one more hair")


def test_thirds_and_sevenths_that_add_to_the_cap_are_accepted(ledger):
    ledger.declare("people", Budget(rho="10/21"))
    pay(ledger, Budget(rho="1/3"), "a")
    pay(ledger, Budget(rho="1/7"), "b")
    assert ledger.spent("people") == ledger.cap("people") == Budget(rho="10/21")


@pytest.mark.parametrize("notion", ["epsilon", "rho"])
def test_deltas_add_and_are_capped_like_the_rest(ledger, notion):
    ledger.declare("people", Budget(**{notion: 100}, delta="3e-9"))
    for number in range(3):
        pay(ledger, Budget(**{notion: 1}, delta="1e-9"), f"q{number}")
    with pytest.raises(BudgetExceeded):
        pay(ledger, Budget(**{notion: 1}, delta="1e-21"), "too much delta")
    with pytest.raises(BudgetExceeded, match="with a smaller delta, or none"):
        pay(ledger, Budget(**{notion: 1}, delta="1e-9"), "still too much")
    with pytest.raises(BudgetExceeded, match="with a smaller budget"):
        pay(ledger, Budget(**{notion: 98}), "too much of the rest")
    with pytest.raises(BudgetExceeded, match="with a smaller budget, and a smaller delta"):
        pay(ledger, Budget(**{notion: 98}, delta="1e-9"), "too much of both")
    pay(ledger, Budget(**{notion: 97}), "no delta")
    assert ledger.spent("people") == Budget(**{notion: 100}, delta="3e-9")


def test_a_refusal_names_the_dataset_the_spent_and_the_cap(ledger):
    ledger.declare("people", Budget(epsilon=1))
    pay(ledger, Budget(epsilon="3/4"), "q")
    with pytest.raises(BudgetExceeded, match="'people'") as caught:
        pay(ledger, Budget(epsilon="1/2"), "r")
    assert caught.value.asked == Budget(epsilon="1/2")
    assert caught.value.spent == Budget(epsilon="3/4")
    assert caught.value.total == Budget(epsilon=1)
    assert "0.75" in str(caught.value)
    assert "epsilon 0.25 is left" in str(caught.value)
    assert "with a smaller budget" in str(caught.value)


def test_a_refusal_at_a_full_cap_says_that_nothing_is_left(ledger):
    ledger.declare("people", Budget(epsilon=1, delta="1e-9"))
    pay(ledger, Budget(epsilon=1), "q")
    with pytest.raises(BudgetExceeded, match="nothing is left") as caught:
        pay(ledger, Budget(epsilon="1/1000"), "r")
    assert "smaller" not in str(caught.value) and "larger cap" in str(caught.value)


def test_a_refused_charge_writes_nothing_at_all(ledger):
    ledger.declare("people", Budget(epsilon=1))
    files = sorted(path for path in ledger.path.parent.iterdir() if "-shm" not in path.name)
    before = [path.read_bytes() for path in files]
    with pytest.raises(BudgetExceeded):
        pay(ledger, Budget(epsilon=2), "q")
    assert [path.read_bytes() for path in files] == before
    assert ledger.entries() == []


def test_the_two_notions_never_mix(ledger):
    ledger.declare("people", Budget(epsilon=1))
    for attempt in (
        lambda: pay(ledger, Budget(rho="1/100"), "q"),
        lambda: ledger.declare("people", Budget(rho=1)),
        lambda: ledger.raise_cap("people", Budget(rho=100), reason="no"),
        lambda: ledger.declare_analyst_cap("people", "ann", Budget(rho=1)),
    ):
        with pytest.raises(BadBudget, match="one notion"):
            attempt()
    assert ledger.spent("people") == Budget.nothing(Budget(epsilon=1).notion)


def test_a_cap_is_fixed_by_its_first_use_and_raised_only_on_purpose(ledger):
    ledger.declare("people", Budget(epsilon=1))
    ledger.declare("people", Budget(epsilon=1))
    assert events(ledger) == 2
    for other in (Budget(epsilon=2), Budget(epsilon="1/2"), Budget(epsilon=1, delta="1e-9")):
        with pytest.raises(Refused, match="raise-cap"):
            ledger.declare("people", other)
    with pytest.raises(BadInput, match="only raised"):
        ledger.raise_cap("people", Budget(epsilon="1/2", delta="1e-9"), reason="why not")
    pay(ledger, Budget(epsilon=1), "q")
    ledger.raise_cap("people", Budget(epsilon=2), reason="the board agreed")
    pay(ledger, Budget(epsilon=1), "r")
    with pytest.raises(BudgetExceeded):
        pay(ledger, Budget(epsilon="1/1000"), "s")
    ledger.verify()


def test_a_dataset_without_a_cap_cannot_be_charged(ledger):
    with pytest.raises(BadInput, match="Declare"):
        pay(ledger, Budget(epsilon=1), "q")
    assert ledger.cap("people") is None
    assert ledger.datasets() == []


def test_datasets_have_separate_caps(ledger):
    ledger.declare("people", Budget(epsilon=1))
    ledger.declare("firms", Budget(rho=1))
    pay(ledger, Budget(epsilon=1), "q")
    pay(ledger, Budget(rho=1), "q", dataset="firms")
    assert [entry.dataset for entry in ledger.entries()] == ["people", "firms"]
    assert [entry.dataset for entry in ledger.entries("firms")] == ["firms"]
    assert ledger.datasets() == ["people", "firms"]


def test_an_analysts_cap_and_the_datasets_cap_both_hold(ledger):
    ledger.declare("people", Budget(epsilon=3))
    pay(ledger, Budget(epsilon="1/2"), "q0", analyst="ann")
    ledger.declare_analyst_cap("people", "ann", Budget(epsilon=1))
    pay(ledger, Budget(epsilon="1/2"), "q1", analyst="ann")
    with pytest.raises(BudgetExceeded, match="analyst 'ann' on dataset 'people'"):
        pay(ledger, Budget(epsilon=Fraction(1, 10**12)), "q2", analyst="ann")
    pay(ledger, Budget(epsilon=2), "q3", analyst="bob")
    with pytest.raises(BudgetExceeded, match="dataset 'people'"):
        pay(ledger, Budget(epsilon="1/10"), "q4", analyst="bob")
    assert ledger.spent("people", analyst="ann") == ledger.cap("people", analyst="ann")
    assert ledger.spent("people", analyst="bob") == Budget(epsilon=2)
    with pytest.raises(Refused):
        ledger.declare_analyst_cap("people", "ann", Budget(epsilon=2))
    ledger.raise_cap("people", Budget(epsilon=2), reason="ann asked", analyst="ann")
    assert ledger.cap("people", analyst="ann") == Budget(epsilon=2)
    with pytest.raises(BudgetExceeded, match="of dataset"):
        pay(ledger, Budget(epsilon=1), "q5", analyst="ann")
    ledger.verify()


def test_costs_that_are_nothing_or_too_long_are_refused(ledger):
    ledger.declare("people", Budget(epsilon=1))
    with pytest.raises(BadBudget, match="greater than 0"):
        pay(ledger, Budget.nothing(Budget(epsilon=1).notion), "q")
    with pytest.raises(BadBudget, match="100 digits"):
        pay(ledger, Budget(epsilon=Fraction(1, 10**100 + 1)), "q")
    with pytest.raises(BadBudget, match="must be a Budget"):
        pay(ledger, 0.5, "q")  # type: ignore[arg-type]


ratios = st.fractions(min_value=0, max_value=10).filter(bool)


@settings(max_examples=50, deadline=None)
@given(st.lists(ratios, min_size=1, max_size=20), ratios)
def test_sums_and_comparisons_agree_with_fractions(parts, cap):
    total = Loss("epsilon", (0, 1), (0, 1))
    for part in parts:
        total = total.plus(Loss.of(Budget(epsilon=part, delta=part / 11)))
    assert total.budget().amount == sum(parts)
    assert total.budget().delta == sum(part / 11 for part in parts)
    assert loss_in(total.text) == total
    loss = Loss.of(Budget(epsilon=cap, delta="1/2"))
    assert loss.covers(total) == loss.budget().covers(total.budget())


def test_endless_denominators_are_rounded_up_and_never_down():
    total, exact = Loss("epsilon", (0, 1), (0, 1)), Fraction(0)
    for number in range(40):
        part = Fraction(1, 10**60 + 2 * number + 1)
        total, before = total.plus(Loss.of(Budget(epsilon=part))), total
        exact += part
        assert Fraction(*total.amount) - Fraction(*before.amount) >= part
    assert exact <= Fraction(*total.amount) <= exact + Fraction(40, GRAINS)
    assert len(total.text) < 1000


def test_the_two_unicode_spellings_of_a_name_are_one_dataset(ledger):
    composed, decomposed = (unicodedata.normalize(form, "Zürich-café") for form in ("NFC", "NFD"))
    assert composed != decomposed
    ledger.declare(composed, Budget(epsilon=1))
    pay(ledger, Budget(epsilon=1), "q", dataset=decomposed)
    with pytest.raises(BudgetExceeded):
        pay(ledger, Budget(epsilon=1), "r", dataset=composed)
    assert ledger.datasets() == [composed]
    assert ledger.recorded_answer(decomposed, "q") is None


@pytest.mark.parametrize(
    "name", ["", " people", "people\n", "peo\u200bple", "peo\x00ple", "\ud800", "x" * 201, None, 7]
)
def test_names_that_look_alike_or_cannot_be_stored_are_refused(ledger, name):
    with pytest.raises(BadInput):
        ledger.declare(name, Budget(epsilon=1))
    assert events(ledger) == 1


def test_names_and_purposes_in_any_script_come_back_as_they_were(ledger):
    for name in ("населення", "人口", "O'Brien; DROP TABLE event", "a/b.parquet", "🙂"):
        ledger.declare(name, Budget(epsilon=1))
        ledger.charge(
            name, Budget(epsilon=1), protects=Protected(), purpose='"обід"\n\t漢', request="q"
        )
    with Ledger.open(ledger.path) as other:
        assert other.entries() == ledger.entries()
        assert {entry.purpose for entry in other.entries()} == {'"обід"\n\t漢'}
