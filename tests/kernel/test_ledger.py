"""What a ledger promises to one process: caps, states, takeover, names, plain errors."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import sqlite3
import stat
import threading
import unicodedata
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import (
    BadBudget,
    BadInput,
    BudgetExceeded,
    EntryTaken,
    LedgerBusy,
    LedgerDamaged,
    LedgerError,
    Refused,
)
from discreet.kernel.ledger import Entry, EntryState, Ledger, default_place, steps
from discreet.kernel.ledger.loss import GRAINS, Loss, loss_in
from discreet.kernel.ledger.store import Store
from discreet.privacy.budget import Budget


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    with Ledger.open(tmp_path / "state" / "ledger.db", patience=5) as opened:
        yield opened


def pay(ledger: Ledger, cost: Budget, request: str, dataset: str = "people", **more: str) -> Entry:
    return ledger.charge(dataset, cost, purpose="a test", request=request, **more)


def events(ledger: Ledger) -> int:
    with sqlite3.connect(ledger.path) as sql:
        count: int = sql.execute("SELECT count(*) FROM event").fetchone()[0]
    sql.close()
    return count


# Caps


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
        with pytest.raises(Refused, match="raise_cap"):
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


# The life of a charge


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
        patch.setattr("discreet.kernel.ledger.book.Record", interrupt)
        with pytest.raises(KeyboardInterrupt):
            ledger.entries()
    assert ledger.spent("people") == Budget(epsilon=1)
    assert len(ledger.entries()) == 1


# Names


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
        ledger.charge(name, Budget(epsilon=1), purpose='"обід"\n\t漢', request="q")
    with Ledger.open(ledger.path) as other:
        assert other.entries() == ledger.entries()
        assert {entry.purpose for entry in other.entries()} == {'"обід"\n\t漢'}


# Durability, threads, places, errors


def test_commits_wait_for_the_disk(ledger):
    """A kill cannot show a missing fsync, only a power cut can; so the waits themselves are watched.

    SQLite waits before it moves events from the log to the file (NORMAL); for the log we wait.
    """
    with ledger._journal.newest() as (_, store):
        assert store.sql.execute("PRAGMA synchronous").fetchone() == (1,)
        assert store.sql.execute("PRAGMA journal_mode").fetchone() == ("wal",)


@pytest.fixture
def synced(monkeypatch):
    """The files that were waited for, in order."""
    found, real = [], os.fdatasync

    def wait(descriptor):
        real(descriptor)
        found.append(Path(f"/proc/self/fd/{descriptor}").readlink().name)

    monkeypatch.setattr(os, "fdatasync", wait)
    return found


def test_log_and_then_mark_are_synced_once_for_every_event(ledger, synced):
    ledger.declare("people", Budget(epsilon=9))
    synced.clear()
    log, mark = f"{ledger.path.name}-wal", f"{ledger.path.name}.mark"
    for number in range(3):
        pay(ledger, Budget(epsilon=1), f"q{number}")
        assert synced == [log, mark] * (number + 1)


def test_an_answer_that_another_process_wrote_a_moment_ago_is_waited_for(
    ledger, synced, monkeypatch
):
    """The other was stopped between its commit and its wait: what it wrote is visible, and may be lost."""
    ledger.declare("people", Budget(epsilon=9))
    entry = ledger.charge(
        "people", Budget(epsilon=1), purpose="p", request="q", once=True, reading=True
    )

    class Stopped(Exception):
        pass

    def stop(*_):
        raise Stopped

    with Ledger.open(ledger.path) as other:
        with monkeypatch.context() as patch:
            patch.setattr(Store, "wait_for_disk", stop)
            with pytest.raises(Stopped):
                other.record_answer(entry, b"42")
        synced.clear()
        assert ledger.recorded_answer("people", "q") == b"42"
        assert synced == [f"{ledger.path.name}-wal"]


def test_a_mark_is_advanced_at_opening_only_when_the_events_below_it_are_on_disk(
    ledger, synced, monkeypatch
):
    """What a mark has passed is taken for durable by all: opening waits for the log first."""
    ledger.declare("people", Budget(epsilon=9))

    class Stopped(Exception):
        pass

    def stop(*_):
        raise Stopped

    with monkeypatch.context() as patch:
        patch.setattr(Store, "wait_for_disk", stop)
        with pytest.raises(Stopped):
            ledger.charge("people", Budget(epsilon=1), purpose="p", request="q")
    synced.clear()
    with Ledger.open(ledger.path):
        assert synced.index(f"{ledger.path.name}-wal") < synced.index(f"{ledger.path.name}.mark")


def test_nothing_stored_is_a_float(ledger):
    ledger.declare("people", Budget(epsilon=0.5, delta=1e-9))
    pay(ledger, Budget(epsilon=0.1, delta=1e-10), "q")

    def refuse(text: str) -> None:
        raise AssertionError(text)

    with sqlite3.connect(ledger.path) as sql:
        for row in sql.execute("SELECT * FROM event"):
            assert not any(isinstance(value, float) for value in row)
            json.loads(row[1], parse_float=refuse, parse_constant=refuse)
    sql.close()


def test_eight_threads_on_one_ledger_take_exactly_what_the_cap_holds(ledger):
    ledger.declare("people", Budget(epsilon=10))
    granted: list[int] = []

    def work(thread: int) -> None:
        for number in range(20):
            try:
                entry = pay(ledger, Budget(epsilon=0.1), f"{thread}-{number}")
                ledger.begin_reading(entry)
            except BudgetExceeded:
                continue
            granted.append(entry.id)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(granted) == len(set(granted)) == 100
    assert ledger.spent("people") == Budget(epsilon=10)
    ledger.verify()


def test_of_many_threads_that_ask_the_same_exactly_one_reads_on_each_charge(ledger):
    ledger.declare("people", Budget(epsilon=100))
    read: list[int] = []
    barrier = threading.Barrier(8)

    def work() -> None:
        for number in range(5):
            barrier.wait()
            entry = pay(ledger, Budget(epsilon=1), f"q{number}")
            try:
                ledger.begin_reading(entry)
            except EntryTaken:
                continue
            read.append(entry.id)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(read) == len(set(read)) == len(ledger.entries())
    assert all(view.state is EntryState.READING for view in ledger.entries())


def test_a_forked_child_goes_on_with_a_connection_of_its_own(ledger):
    ledger.declare("people", Budget(epsilon=2))
    pay(ledger, Budget(epsilon="1/2"), "parent")
    child = os.fork()
    if child == 0:
        code = 1
        try:
            assert ledger._journal._store is None
            pay(ledger, Budget(epsilon="1/2"), "child")
            code = 0
        finally:
            os._exit(code)
    assert os.waitpid(child, 0)[1] == 0
    pay(ledger, Budget(epsilon=1), "parent again")
    assert ledger.spent("people") == Budget(epsilon=2)
    ledger.verify()


def test_the_files_are_for_their_owner_alone(ledger):
    ledger.declare("people", Budget(epsilon=1))
    directory = ledger.path.parent
    assert stat.S_IMODE(directory.stat().st_mode) == 0o700
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in directory.iterdir()}
    assert set(modes) >= {"ledger.db", "ledger.db-wal", "ledger.db.mark", "ledger.db.lock"}
    assert set(modes.values()) == {0o600}


def test_the_default_place_follows_the_option_then_the_environment(tmp_path, monkeypatch):
    monkeypatch.delenv("DISCREET_LEDGER", raising=False)
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert default_place() == tmp_path / ".local/state/discreet/ledger.db"
    monkeypatch.setenv("XDG_STATE_HOME", "relative")
    assert default_place() == tmp_path / ".local/state/discreet/ledger.db"
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "xdg"))
    with Ledger.open() as opened:
        assert opened.path == tmp_path / "xdg/discreet/ledger.db"
    monkeypatch.setenv("DISCREET_LEDGER", str(tmp_path / "env.db"))
    with Ledger.open() as opened:
        assert opened.path == tmp_path / "env.db"
    with Ledger.open(tmp_path / "option.db") as opened:
        assert opened.path == tmp_path / "option.db"


def test_a_link_to_a_ledger_is_that_ledger(ledger, tmp_path):
    link = tmp_path / "link.db"
    link.symlink_to(ledger.path)
    with Ledger.open(link) as other:
        assert other.path == ledger.path


def test_a_ledger_that_others_hold_too_long_is_busy_and_charges_nothing(ledger):
    ledger.declare("people", Budget(epsilon=1))
    holder = sqlite3.connect(ledger.path, isolation_level=None)
    with Ledger.open(ledger.path, patience=0) as hurried:
        holder.execute("BEGIN IMMEDIATE")
        with pytest.raises(LedgerBusy, match="Try again"):
            pay(hurried, Budget(epsilon=1), "q")
        holder.execute("ROLLBACK")
        holder.close()
        assert hurried.entries() == []
        pay(hurried, Budget(epsilon=1), "q")


def test_a_charge_whose_mark_cannot_be_moved_is_not_granted_and_is_taken_over_later(ledger):
    ledger.declare("people", Budget(epsilon=1))
    with Ledger.open(ledger.path, patience=0) as hurried:
        with ledger.path.with_name("ledger.db.lock").open() as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            with pytest.raises(LedgerBusy):
                Ledger.open(ledger.path, patience=0)
            with pytest.raises(LedgerError, match="taken over") as caught:
                pay(hurried, Budget(epsilon=1), "q")
            assert not isinstance(caught.value, LedgerBusy)
        assert pay(hurried, Budget(epsilon=1), "q").taken_over


def test_a_full_disk_is_said_plainly_and_charges_nothing(ledger):
    ledger.declare("people", Budget(epsilon=1))
    with ledger._journal.newest() as (_, store):
        pages = store.sql.execute("PRAGMA page_count").fetchone()[0]
        store.sql.execute(f"PRAGMA max_page_count = {pages}")
        with pytest.raises(LedgerError, match="disk is full") as caught:
            ledger.charge("people", Budget(epsilon=1), purpose="x" * 9000, request="q")
        assert not isinstance(caught.value, LedgerDamaged)
        store.sql.execute("PRAGMA max_page_count = 1000000")
    assert ledger.entries() == []
    pay(ledger, Budget(epsilon=1), "q")
    ledger.verify()


def test_a_disk_that_fills_before_the_mark_leaves_a_charge_to_take_over(ledger, monkeypatch):
    ledger.declare("people", Budget(epsilon=1))

    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fdatasync", full)
        with pytest.raises(LedgerError, match="No space left"):
            pay(ledger, Budget(epsilon=1), "q")
    assert pay(ledger, Budget(epsilon=1), "q").taken_over


def test_a_read_only_ledger_is_said_plainly(ledger):
    ledger.declare("people", Budget(epsilon=1))
    with ledger._journal.newest() as (_, store):
        store.sql.execute("PRAGMA query_only = ON")
        with pytest.raises(LedgerError, match="read-only") as caught:
            pay(ledger, Budget(epsilon=1), "q")
        assert not isinstance(caught.value, LedgerDamaged)


def test_a_place_that_cannot_be_a_ledger_is_said_plainly(tmp_path):
    (tmp_path / "file").write_text("not a directory")
    with pytest.raises(LedgerError):
        Ledger.open(tmp_path / "file" / "ledger.db")
    with pytest.raises(LedgerError):
        Ledger.open(tmp_path)


def test_a_closed_ledger_says_so(ledger):
    ledger.close()
    with pytest.raises(LedgerError, match="closed"):
        ledger.entries()
