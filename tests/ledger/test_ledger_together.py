"""Threads that charge at the same time share a transaction, a wait for the disk and a mark; and nothing else.

Which threads come together is not left to chance: the test holds the ledger's lock until all of them wait.
"""

from __future__ import annotations

import errno
import os
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from discreet.errors import BudgetExceeded, LedgerError
from discreet.ledger import Ledger
from discreet.ledger.stores.sqlite import SqliteStore
from discreet.privacy.budget import Budget
from tests.paying import events, pay


def together(
    ledger: Ledger, calls: list[Callable[[], object]], meanwhile: Callable[[], None] = lambda: None
) -> list[object]:
    """What each call returned or raised; all of them waited when the first was written."""
    results: list[object] = [None] * len(calls)

    def work(place: int) -> None:
        try:
            results[place] = calls[place]()
        except Exception as error:
            results[place] = error

    threads = [threading.Thread(target=work, args=(place,)) for place in range(len(calls))]
    with ledger._journal._lock:
        for number, thread in enumerate(threads, start=1):
            thread.start()
            while len(ledger._journal._waiting) < number:  # one after the other, in this order
                time.sleep(0.001)
        meanwhile()
    for thread in threads:
        thread.join()
    return results


def charges(ledger: Ledger, many: int, cost: str = "1/10") -> list[Callable[[], object]]:
    return [partial(pay, ledger, Budget(epsilon=cost), f"q{number}") for number in range(many)]


def test_charges_that_come_together_take_exactly_what_the_cap_holds(ledger):
    """Each is decided on a book that holds the ones before it."""
    ledger.declare("people", Budget(epsilon="7/10"))
    found = together(ledger, charges(ledger, 9))
    assert [isinstance(each, BudgetExceeded) for each in found] == [False] * 7 + [True] * 2
    assert len({each.id for each in found[:7]}) == 7
    assert ledger.spent("people") == Budget(epsilon="7/10")
    with Ledger.open(ledger.path) as other:
        assert [view.request for view in other.entries()] == [f"q{n}" for n in range(7)]
        other.verify()


def test_charges_that_come_together_wait_for_the_disk_together(ledger, synced):
    ledger.declare("people", Budget(epsilon=9))
    synced.clear()
    together(ledger, charges(ledger, 8))
    assert synced == [f"{ledger.path.name}-wal", f"{ledger.path.name}.mark"]


def test_none_of_them_returns_before_the_mark_is_on_disk(ledger, monkeypatch):
    ledger.declare("people", Budget(epsilon=9))
    heard: list[str] = []
    real = os.fdatasync

    def wait(descriptor: int) -> None:
        name = Path(f"/proc/self/fd/{descriptor}").readlink().name
        time.sleep(
            0.05
        )  # for a thread that does not wait to show itself; one that does never fails here
        heard.append(name)
        real(descriptor)

    def charge(number: int) -> Callable[[], object]:
        def go() -> object:
            entry = pay(ledger, Budget(epsilon="1/10"), f"q{number}")
            heard.append("granted")
            return entry

        return go

    monkeypatch.setattr(os, "fdatasync", wait)
    together(ledger, [charge(number) for number in range(4)])
    assert heard == [f"{ledger.path.name}-wal", f"{ledger.path.name}.mark", *["granted"] * 4]


def test_a_full_disk_refuses_all_of_them_and_all_are_taken_over_or_paid_later(ledger, monkeypatch):
    ledger.declare("people", Budget(epsilon=9))

    def full(store: SqliteStore) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(SqliteStore, "wait_for_disk", full)
        found = together(ledger, charges(ledger, 4))
    assert all(isinstance(each, LedgerError) and "No space left" in str(each) for each in found)
    assert all(each.taken_over for each in together(ledger, charges(ledger, 4)))
    assert ledger.spent("people") == Budget(epsilon="4/10")
    ledger.verify()


def test_what_is_rolled_back_is_forgotten_by_all_of_them(ledger, monkeypatch):
    ledger.declare("people", Budget(epsilon=9))
    before, real = events(ledger), SqliteStore.insert

    def third_fails(store: SqliteStore, row: tuple[int, str, bytes | None, str]) -> None:
        if row[0] == before + 3:
            raise OSError(errno.EIO, "Input/output error")
        real(store, row)

    with monkeypatch.context() as patch:
        patch.setattr(SqliteStore, "insert", third_fails)
        found = together(ledger, charges(ledger, 4))
        assert all(isinstance(each, LedgerError) for each in found)
    assert events(ledger) == before
    assert ledger.entries() == []
    assert not any(each.taken_over for each in together(ledger, charges(ledger, 4)))
    ledger.verify()


def test_a_ledger_that_is_closed_meanwhile_charges_none_of_those_who_wait(ledger):
    ledger.declare("people", Budget(epsilon=9))
    found = together(ledger, charges(ledger, 3), meanwhile=ledger.close)
    assert all(isinstance(each, LedgerError) and "closed" in str(each) for each in found)
    with Ledger.open(ledger.path) as other:
        assert other.entries() == []


def test_a_fork_forgets_the_steps_of_threads_that_the_child_does_not_have(ledger):
    ledger.declare("people", Budget(epsilon=9))
    codes: list[int] = []

    def fork() -> None:
        child = os.fork()
        if child == 0:
            code = 1
            try:
                pay(ledger, Budget(epsilon="1/10"), "child")
                code = 0
            finally:
                os._exit(code)
        codes.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))

    together(ledger, charges(ledger, 3), meanwhile=fork)
    assert codes == [0]
    requests = [view.request for view in ledger.entries()]
    assert sorted(requests) == ["child", "q0", "q1", "q2"]
