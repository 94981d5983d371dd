"""The life of a charge: charged, reading, published; taken over, kept, never read on twice."""

from __future__ import annotations

import pytest

from discreet.errors import (
    BadInput,
    BudgetExceeded,
    EntryTaken,
    Refused,
)
from discreet.ledger import EntryState, Ledger, steps
from discreet.privacy.budget import Budget
from tests.paying import events, pay


def test_a_charge_goes_from_charged_to_reading_to_published(ledger):
    ledger.declare("people", Budget(epsilon=1))
    entry = pay(ledger, Budget(epsilon=1), "q")
    assert ledger.entries()[0].state is EntryState.CHARGED
    with pytest.raises(BadInput, match="reading first"):
        ledger.publish(entry, "digest")
    with pytest.raises(BadInput, match="reading first"):
        ledger.record_answer(entry, b"42")
    ledger.begin_reading(entry)
    assert ledger.entries()[0].is_lost
    ledger.record_answer(entry, b"42")
    view = ledger.entries()[0]
    assert view.answered and not view.is_lost and view.state is EntryState.READING
    ledger.publish(entry, "digest")
    view = ledger.entries()[0]
    assert (view.state, view.digest, view.claims) == (EntryState.PUBLISHED, "digest", 0)
    assert (view.purpose, view.request, view.cost) == ("a test", "q", Budget(epsilon=1))
    ledger.verify()


def test_a_charge_buys_one_reading(ledger):
    ledger.declare("people", Budget(epsilon=1))
    entry = pay(ledger, Budget(epsilon=1), "q")
    ledger.begin_reading(entry)
    with pytest.raises(EntryTaken, match="one reading"):
        ledger.begin_reading(entry)
    ledger.publish(entry, "d")
    with pytest.raises(EntryTaken, match="one reading"):
        ledger.begin_reading(entry)


def test_a_charge_buys_one_answer_and_one_publication(ledger):
    ledger.declare("people", Budget(epsilon=1))
    entry = pay(ledger, Budget(epsilon=1), "q")
    ledger.begin_reading(entry)
    ledger.record_answer(entry, b"42")
    ledger.record_answer(entry, b"42")
    with pytest.raises(Refused, match="buys one"):
        ledger.record_answer(entry, b"43")
    ledger.publish(entry, "d")
    ledger.publish(entry, "d")
    with pytest.raises(Refused, match="something else"):
        ledger.publish(entry, "e")
    assert events(ledger) == 6


def test_a_rerun_takes_over_a_charge_that_was_never_read_and_the_first_run_may_not_read(ledger):
    ledger.declare("people", Budget(epsilon=1))
    first = pay(ledger, Budget(epsilon=1), "q")
    with Ledger.open(ledger.path) as other:
        second = pay(other, Budget(epsilon=1), "q")
        assert (first.taken_over, second.taken_over, second.id) == (False, True, first.id)
        assert ledger.spent("people") == Budget(epsilon=1)
        for act in (
            lambda: ledger.begin_reading(first),
            lambda: ledger.record_answer(first, b""),
            lambda: ledger.publish(first, "d"),
        ):
            with pytest.raises(EntryTaken, match="took over"):
                act()
        other.begin_reading(second)
    assert [(view.state, view.claims) for view in ledger.entries()] == [(EntryState.READING, 1)]


def test_a_rerun_pays_again_once_rows_may_have_been_read(ledger):
    ledger.declare("people", Budget(epsilon=2))
    ledger.begin_reading(pay(ledger, Budget(epsilon=1), "q"))
    again = pay(ledger, Budget(epsilon=1), "q")
    assert not again.taken_over
    assert ledger.spent("people") == Budget(epsilon=2)
    ledger.begin_reading(again)
    with pytest.raises(BudgetExceeded):
        pay(ledger, Budget(epsilon=1), "q")


def test_only_the_same_request_cost_analyst_and_dataset_is_taken_over(ledger):
    ledger.declare("people", Budget(epsilon=9))
    ledger.declare("firms", Budget(epsilon=9))
    first = pay(ledger, Budget(epsilon=1), "q")
    others = [
        pay(ledger, Budget(epsilon=2), "q"),
        pay(ledger, Budget(epsilon=1), "r"),
        pay(ledger, Budget(epsilon=1), "q", analyst="ann"),
        pay(ledger, Budget(epsilon=1), "q", dataset="firms"),
    ]
    assert not any(entry.taken_over for entry in others)
    ledger.begin_reading(first)


def test_an_answer_is_kept_per_dataset_and_per_analyst_and_the_newest_counts(ledger):
    ledger.declare("people", Budget(epsilon=9))
    ledger.declare("firms", Budget(epsilon=9))
    for payload in (b"older", b"newer \x00\xff"):
        entry = pay(ledger, Budget(epsilon=1), "q")
        ledger.begin_reading(entry)
        ledger.record_answer(entry, payload)
    assert ledger.recorded_answer("people", "q") == b"newer \x00\xff"
    assert ledger.recorded_answer("firms", "q") is None
    assert ledger.recorded_answer("people", "q", analyst="ann") is None
    assert ledger.recorded_answer("people", "r") is None
    with Ledger.open(ledger.path) as other:
        assert other.recorded_answer("people", "q") == b"newer \x00\xff"


def test_an_entry_of_another_ledger_is_not_accepted(ledger, tmp_path):
    ledger.declare("people", Budget(epsilon=1))
    entry = pay(ledger, Budget(epsilon=1), "q")
    with Ledger.open(tmp_path / "other.db") as other:
        with pytest.raises(BadInput, match="not in this ledger"):
            other.begin_reading(entry)
        other.declare("people", Budget(epsilon=1))
        pay(other, Budget(epsilon=1), "q")
        with pytest.raises(EntryTaken):
            other.begin_reading(entry)


@pytest.mark.parametrize(
    ("moment", "spent"), [("after-begin", 0), ("after-insert", 0), ("after-commit", 1)]
)
def test_an_interrupted_charge_is_all_or_nothing_and_its_rerun_pays_once(
    ledger, monkeypatch, moment, spent
):
    ledger.declare("people", Budget(epsilon=2))

    def interrupt(name: str) -> None:
        if name == moment:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(steps, "step", interrupt)
        with pytest.raises(KeyboardInterrupt):
            pay(ledger, Budget(epsilon=1), "q")
    assert ledger.spent("people").amount == spent
    entry = pay(ledger, Budget(epsilon=1), "q")
    assert entry.taken_over == bool(spent)
    assert ledger.spent("people") == Budget(epsilon=1)
    ledger.begin_reading(entry)


def test_an_interrupt_while_taking_in_anothers_charge_leaves_no_half_counted_total(
    ledger, monkeypatch
):
    ledger.declare("people", Budget(epsilon=2))
    with Ledger.open(ledger.path) as other:
        pay(other, Budget(epsilon=1), "q")

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("discreet.ledger.book.Record", interrupt)
        with pytest.raises(KeyboardInterrupt):
            ledger.entries()
    assert ledger.spent("people") == Budget(epsilon=1)
    assert len(ledger.entries()) == 1
