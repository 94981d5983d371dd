"""What is on disk when, for threads and forks and full disks; where a ledger lies; plain errors."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import sqlite3
import stat
import threading

import pytest

from discreet.errors import (
    BudgetExceeded,
    EntryTaken,
    LedgerBusy,
    LedgerDamaged,
    LedgerError,
)
from discreet.ledger import EntryState, Ledger, default_place
from discreet.ledger.stores.sqlite import SqliteStore as Store
from discreet.privacy.budget import Budget
from discreet.privacy.protection import Protected
from tests.paying import pay


def test_commits_wait_for_the_disk(ledger):
    """A kill cannot show a missing fsync, only a power cut can; so the waits themselves are watched.

    SQLite waits before it moves events from the log to the file (NORMAL); for the log we wait.
    """
    with ledger._journal.newest() as (_, store):
        assert store.sql.execute("PRAGMA synchronous").fetchone() == (1,)
        assert store.sql.execute("PRAGMA journal_mode").fetchone() == ("wal",)


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
        "people",
        Budget(epsilon=1),
        protects=Protected(),
        purpose="p",
        request="q",
        once=True,
        reading=True,
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
            ledger.charge(
                "people", Budget(epsilon=1), protects=Protected(), purpose="p", request="q"
            )
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
            with pytest.raises(LedgerError, match="does not pay twice") as caught:
                pay(hurried, Budget(epsilon=1), "q")
            assert not isinstance(caught.value, LedgerBusy)
        assert pay(hurried, Budget(epsilon=1), "q").taken_over


def test_a_full_disk_is_said_plainly_and_charges_nothing(ledger):
    ledger.declare("people", Budget(epsilon=1))
    with ledger._journal.newest() as (_, store):
        pages = store.sql.execute("PRAGMA page_count").fetchone()[0]
        store.sql.execute(f"PRAGMA max_page_count = {pages}")
        with pytest.raises(LedgerError, match="disk is full") as caught:
            ledger.charge(
                "people", Budget(epsilon=1), protects=Protected(), purpose="x" * 9000, request="q"
            )
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
