"""The journal: events decided, written and read back, with nothing in between.

It holds the connection, the mark and the book together. A decision is made on the newest
book inside the write lock and written there; the mark follows before anyone hears of it.

Threads that decide at the same time share one transaction, one wait for the disk and one mark. Each
decision is made on a book that holds the ones before it, and none is heard of before all of that.
"""

from __future__ import annotations

import gc
import os
import threading
import weakref
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from discreet.errors import LedgerBusy, LedgerDamaged, LedgerError
from discreet.ledger import steps
from discreet.ledger.book import Book
from discreet.ledger.chain import FORMAT, ORIGIN, Body, Draft, Row, draft
from discreet.ledger.mark import HOW_TO_ACCEPT, Mark
from discreet.ledger.stores.sqlite import damaged, unwritable

if TYPE_CHECKING:
    from discreet.ledger.stores.protocol import Home, Store

Decide = Callable[[Book], Draft | tuple[Draft, ...] | None]
"""From the newest state to what is to be written; refuses by raising."""
_in_use: weakref.WeakSet[Journal] = weakref.WeakSet()
_forking = threading.RLock()
"""Held through a fork, and while a connection is opened outside a journal."""
_held: list[Journal] = []
"""Journals whose locks the forking thread holds."""


def _before_fork() -> None:
    """Close every connection: a child's SQLite would count on locks that only the parent has."""
    _forking.acquire()
    for journal in list(_in_use):
        journal._lock.acquire()
        _held.append(journal)
        journal._let_go()


def _after_fork_in_parent() -> None:
    while _held:
        _held.pop()._lock.release()
    _forking.release()


def _after_fork_in_child() -> None:
    _held.clear()
    for journal in list(_in_use):
        journal._start_afresh()
    _forking.release()  # the one thread of a child is the one that forked, and holds it


os.register_at_fork(
    before=_before_fork,
    after_in_parent=_after_fork_in_parent,
    after_in_child=_after_fork_in_child,
)


@contextmanager
def no_fork() -> Iterator[None]:
    """No other thread forks meanwhile: for a connection that no journal holds."""
    with _forking:
        yield


@dataclass(slots=True, eq=False)
class _Step:
    """A decision that waits to be written, and what became of it."""

    decide: Decide
    written: tuple[int, Body] | None = None
    reached: tuple[Mark, Book] | None = None
    error: Exception | None = None


class Journal:
    """The events of one ledger. Safe for threads and across forks."""

    _seen: Mark | None
    _reached: Mark | None

    def __init__(self, home: Home) -> None:
        self.path = home.path
        self._home, self._marks = home, home.marks
        self._closed = False
        self._store: Store | None = None
        self._start_afresh()
        _in_use.add(self)

    @classmethod
    def open(cls, home: Home) -> Journal:
        """Open the events, or begin them, and check all of them."""
        # No fork until the journal is in use and its connection has its place in it.
        with home.plain_errors(), no_fork():
            home.prepare()
            with home.marks.locked():
                _begin_if_new(home)
            journal = cls(home)
            try:
                with journal._using() as store:
                    store.check_schema()
                    journal._refresh(store)
                    store.check_pages("quick_check")
                    store.wait_for_disk()  # whoever wrote the last event may not have waited yet
                    reached = journal._reach()
                journal._advance_mark(*reached)  # heals a mark that a crash left behind
            except BaseException:
                journal.close()
                raise
        return journal

    def close(self) -> None:
        with self._lock:
            self._closed = True
            self._let_go()

    def _let_go(self) -> None:
        """Close the connection; the next use opens another and checks that the events go on from here."""
        if self._store is not None:
            self._store.close()
            self._store = None

    def verify(self) -> None:
        """Forget everything, walk the whole chain again, and have SQLite check every page."""
        with self._using() as store:
            self._forget()
            store.check_schema()
            self._refresh(store)
            store.check_pages("integrity_check")

    @contextmanager
    def newest(self) -> Iterator[tuple[Book, Store]]:
        """The book with everything that any process wrote, for one thread at a time."""
        with self._using() as store:
            self._refresh(store)
            yield self._book, store

    @contextmanager
    def known(self) -> Iterator[Book]:
        """The book as it was last seen, without a look at the events."""
        with self._lock:
            yield self._book

    @contextmanager
    def _using(self, *, to_finish: bool = False) -> Iterator[Store]:
        """The connection, for one thread at a time, with errors in plain words.

        Once another thread has closed the journal, it serves only `to_finish` an event that is
        written: else that event would be charged and its caller told that it was not.
        """
        with self._lock, self._home.plain_errors():
            if self._closed and not to_finish:
                raise LedgerError(f"The ledger {self.path} is closed. Open it again.")
            if self._store is None:
                self._store = self._home.open()
            try:
                yield self._store
            finally:
                if self._closed:
                    self._let_go()

    def _start_afresh(self) -> None:
        """At first, and in a forked child: the locks and steps of other threads are the parent's."""
        self._lock, self._book, self._seen = threading.RLock(), Book(), None
        self._marking = threading.Lock()
        self._waiting: deque[_Step] = deque()
        self._reached = None

    def append(self, decide: Decide) -> tuple[int, Body] | None:
        """Decide on the newest state and write the decision, in one transaction; return when it is durable.

        Of several events that were decided together, the first is returned. Whoever comes to the lock
        first writes what all waiting threads decide.
        """
        mine = _Step(decide)
        self._waiting.append(mine)
        try:
            with self._lock:
                if mine.reached is None and mine.error is None:
                    with self._using() as store:
                        self._write(store)
        finally:
            with suppress(ValueError):  # nobody will come back for it
                self._waiting.remove(mine)
        if mine.error is not None:
            raise mine.error
        assert mine.reached is not None
        # Outside the lock: other threads may charge meanwhile, and one mark can serve several.
        self._advance_mark(*mine.reached)
        steps.step("after-mark")
        return mine.written

    def _write(self, store: Store) -> None:
        """Decide every step that waits, and write all of them; one that is refused writes nothing."""
        batch: list[_Step] = []
        while self._waiting:
            batch.append(self._waiting.popleft())
        try:
            with self._home.plain_errors():
                steps.step("before-begin")
                with store.writing():
                    steps.step("after-begin")
                    # Inside the write lock no event can be added, so the mark cannot lead.
                    self._catch_up(store, self._marks.read())
                    for one in batch:
                        self._decided(one, store)
                steps.step("after-commit")
                reached = self._reach()
                self._wait_for(reached[0].seq, store)
        except BaseException as error:
            if any(one.written for one in batch):
                self._forget()  # the book holds what may be rolled back
            told = error if isinstance(error, LedgerError) else None
            for one in batch:
                one.error = one.error or told or unwritable(self.path, "it was interrupted")
            raise
        self._reached = reached[0]
        for one in batch:
            one.reached = reached

    def _decided(self, one: _Step, store: Store) -> None:
        """Write what one step decides, and take it in before the next one decides."""
        try:
            decided = one.decide(self._book)
        except Exception as error:
            one.error = error
            return
        drafts = (decided,) if isinstance(decided, Draft) else decided or ()
        upgrade = drafts and self._book.format < FORMAT
        before = (draft("upgrade", format=FORMAT),) if upgrade else ()
        for event in (*before, *drafts):
            row = event.row(after=self._book.seq, previous=self._book.hash)
            store.insert(row)
            steps.step("after-insert")
            self._take_in(iter((row,)))
            if one.written is None and event not in before:
                one.written = row[0], event.body

    def _reach(self) -> tuple[Mark, Book]:
        return Mark(self._book.seq, self._book.hash), self._book

    def _forget(self) -> None:
        """The next use reads every event again."""
        self._book, self._seen = Book(), None

    def _wait_for(self, seq: int, store: Store) -> None:
        """Return when event `seq` is on disk; what the mark has passed was waited for by its writer."""
        if self._seen is None or self._seen.seq < seq:
            store.wait_for_disk()

    @contextmanager
    def durable(self) -> Iterator[tuple[Book, Store, Callable[[int], None]]]:
        """As `newest`, and a wait for the disk: for what is given away on the strength of an event."""
        with self.newest() as (book, store):
            yield book, store, lambda seq: self._wait_for(seq, store)

    def _refresh(self, store: Store) -> None:
        """Take in what other processes wrote."""
        mark = self._marks.read()  # before the view is taken, so that it cannot lead
        with store.reading():
            self._catch_up(store, mark)

    def _catch_up(self, store: Store, mark: Mark | None) -> None:
        """Check and take in the events after the last known one; then compare with the mark."""
        rows = store.rows_from(max(self._book.seq, 1))
        if self._book.seq:
            known = next(rows, None)
            if known is None or (known[0], known[3]) != (self._book.seq, self._book.hash):
                raise damaged(
                    self.path,
                    f"event {self._book.seq}, seen before, is gone: an older copy was put back",
                )
        self._take_in(rows)
        self._compare(store, mark)
        store.check_files()

    def _take_in(self, rows: Iterator[Row]) -> None:
        try:
            with _collection_paused(self._book.seq == 0):
                apply = self._book.apply
                for row in rows:
                    apply(row)
        except BaseException as error:
            self._forget()  # never go on from half an event
            if isinstance(error, LedgerDamaged):
                raise damaged(self.path, str(error)) from error
            raise

    def _compare(self, store: Store, mark: Mark | None) -> None:
        """The events reach the mark and agree with it."""
        if mark is None:
            raise LedgerDamaged(
                f"The ledger {self.path} has events and no mark {self._marks.path}, so an older "
                f"copy could not be distinguished from the newest. Nothing was charged. {HOW_TO_ACCEPT}"
            )
        if mark == self._seen:
            return
        if mark.seq > self._book.seq:
            raise LedgerDamaged(
                f"The ledger {self.path} holds {self._book.seq} events, and its mark says that {mark.seq} were "
                f"written: an older copy was put back. Nothing was charged. {HOW_TO_ACCEPT}"
            )
        if mark.hash != (store.hash_at(mark.seq) if mark.seq else ORIGIN):
            raise LedgerDamaged(
                f"The ledger {self.path} and its mark disagree about event {mark.seq}: one of them "
                f"belongs to another history. Nothing was charged. {HOW_TO_ACCEPT}"
            )
        self._seen = mark

    def _advance_mark(self, mark: Mark, book: Book) -> None:
        """Bring the mark up to `mark`, durably: one thread for all that have come further meanwhile."""
        with self._marking:
            with self._lock:
                if self._book is book and self._seen is not None and self._seen.seq >= mark.seq:
                    return
                if self._book is book and self._reached is not None:
                    mark = self._reached
            try:
                with self._home.plain_errors():
                    found = self._marks.advance(mark)
            except LedgerBusy as error:
                raise LedgerError(
                    f"Event {mark.seq} is in the ledger, but its mark could not be moved: {error} "
                    "The next run uses this charge and does not pay twice."
                ) from error
            with self._lock:
                if found == mark and self._book is book:
                    self._seen = mark
        if found.seq > mark.seq:
            # Others went on meanwhile: from our event, or from another one of the same number?
            with self._using(to_finish=True) as store:
                self._refresh(store)


@contextmanager
def _collection_paused(whole: bool) -> Iterator[None]:
    """Pause the cycle collector while a whole book is built: it frees nothing there, and takes a third of the time."""
    if not whole or not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def _begin_if_new(home: Home) -> None:
    """Make the ledger if there is none. Under the file lock, so that only one process of a machine makes it.

    The mark comes first: then a ledger without a mark is never a ledger half made. Of a ledger that
    several machines share, a machine's first look sets its mark.
    """
    marks = home.marks
    mark = marks.read()
    begun = mark is not None and mark.seq > 0
    if begun and not home.exists():
        raise LedgerDamaged(
            f"The ledger {home.path} is gone, and its mark {marks.path} says that it had events. "
            f"Nothing was charged. {HOW_TO_ACCEPT}"
        )
    store = home.open(make=True)
    try:
        if store.is_empty():
            if begun:
                raise LedgerDamaged(
                    f"The ledger {home.path} is empty, and its mark {marks.path} says that it had events. "
                    f"Nothing was charged. {HOW_TO_ACCEPT}"
                )
            marks.replace(Mark(0, ORIGIN))
            steps.step("after-first-mark")
            first = draft("genesis", format=FORMAT, ledger=os.urandom(16).hex())
            row = first.row(after=0, previous=ORIGIN)
            made = store.create(row)
            steps.step("after-creation")
            if made:
                marks.replace(Mark(row[0], row[3]))
        elif mark is None and home.is_shared:
            marks.replace(Mark(0, ORIGIN))
    finally:
        store.close()
