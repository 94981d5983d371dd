"""The high-water mark: how far the ledger had come, kept in a file of its own.

A copy of the ledger that was put back is internally sound; only something outside it
can tell that it is old. The mark holds the number and the hash of the newest event
that anyone relied on. It is written after the event is durable and before the caller
hears of it, so it may lag behind the ledger (a crash in between) but never lead it.

It only moves forward, under a file lock. The file has two slots, each a disk block of its
own with its own checksum; a write goes to the slot that does not hold the newest mark, so
a write cut short leaves the mark before it. (Writing a new file and renaming it is as
safe, and costs three waits for the disk on every charge instead of one.)
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from discreet.errors import LedgerBusy, LedgerDamaged
from discreet.ledger import steps
from discreet.ledger.place import make_private_file, sync_directory

_SLOT = 4096
_FORMAT = re.compile(
    rb"(discreet-ledger-mark 1 (0|[1-9][0-9]{0,17}) ([0-9a-f]{64}) )([0-9a-f]{64}) *\n"
)
_LONGEST_PAUSE_MS = 10
_locks: set[int] = set()
"""Descriptors of the lock files that threads of this process have open."""


def _close_locks() -> None:
    """In a forked child: it has none of those threads, and would keep their locks for as long as it lives."""
    while _locks:
        os.close(_locks.pop())


os.register_at_fork(after_in_child=_close_locks)


@dataclass(frozen=True, slots=True)
class Mark:
    """Event number `seq` was written, and the chain's hash there was `hash`."""

    seq: int
    hash: str


def _slot_of(mark: Mark) -> bytes:
    text = f"discreet-ledger-mark 1 {mark.seq} {mark.hash} ".encode()
    return (text + hashlib.sha256(text).hexdigest().encode()).ljust(_SLOT - 1) + b"\n"


def _mark_in(slot: bytes) -> Mark | None:
    found = _FORMAT.fullmatch(slot)
    if found is None or hashlib.sha256(found[1]).hexdigest().encode() != found[4]:
        return None
    return Mark(int(found[2]), found[3].decode())


class MarkFile:
    """The mark on disk."""

    def __init__(self, path: Path, *, lock: Path, patience: int) -> None:
        self.path, self._lock, self._patience = path, lock, patience
        self._known: tuple[bytes, tuple[Mark, int]] = b"", (Mark(0, ""), 0)

    def read(self) -> Mark | None:
        """The mark; None when there is no file."""
        found = self._read()
        return None if found is None else found[0]

    def _read(self) -> tuple[Mark, int] | None:
        """The newest mark and the place of the other slot."""
        try:
            content = self.path.read_bytes()
        except FileNotFoundError:
            return None
        known, found = self._known
        if content == known and known:  # one look in several finds what the last one found
            return found
        first, second = _mark_in(content[:_SLOT]), _mark_in(content[_SLOT:])
        if first is not None and (second is None or first.seq >= second.seq):
            self._known = content, (first, _SLOT)
            return first, _SLOT
        if second is not None:
            self._known = content, (second, 0)
            return second, 0
        raise LedgerDamaged(
            f"The ledger's mark {self.path} is not readable, so an older copy of the ledger "
            f"could not be distinguished from the newest. Nothing was charged. {HOW_TO_ACCEPT}"
        )

    def advance(self, mark: Mark) -> Mark:
        """Move forward to `mark`, durably; a mark that is already further stays, and is returned.

        Of two events with one number at most one is in the ledger: whoever wrote the other wrote it to
        a copy, and is told so before anyone relies on it.
        """
        with self.locked():
            found = self._read()
            if found is None:
                raise LedgerDamaged(
                    f"The ledger's mark {self.path} vanished while the ledger was in use. "
                    f"The last event stands. {HOW_TO_ACCEPT}"
                )
            current, other_slot = found
            if current.seq < mark.seq:
                with self._opened() as descriptor:
                    os.pwrite(descriptor, _slot_of(mark), other_slot)
                    steps.step("after-mark-written")
                    os.fdatasync(descriptor)  # before anyone may write the other slot
                return mark
            if current.seq == mark.seq and current.hash != mark.hash:
                raise LedgerDamaged(
                    f"Event {mark.seq} was written twice: the ledger's mark {self.path} holds another one. "
                    f"This charge does not count, and no row may be read for it. {HOW_TO_ACCEPT}"
                )
        # A mark found further on: its writer may have been killed before it waited for the disk.
        # Nothing is written for it, so nobody needs to queue.
        with self._opened() as descriptor:
            os.fdatasync(descriptor)
        return current

    @contextmanager
    def _opened(self) -> Iterator[int]:
        descriptor = os.open(self.path, os.O_WRONLY | os.O_CLOEXEC)
        try:
            yield descriptor
        finally:
            os.close(descriptor)

    def replace(self, mark: Mark) -> None:
        """Put `mark` in place of whatever is there, as a new file. Only under `locked`."""
        beside = self.path.with_name(self.path.name + ".new")
        descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        try:
            os.write(descriptor, 2 * _slot_of(mark))
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        beside.replace(self.path)
        sync_directory(self.path.parent)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the ledger's file lock: for the mark, and for making a new ledger.

        `flock` belongs to the open file, so it also excludes other threads, and the
        kernel lets go of it when its holder is killed. Waiting is bounded, for a
        stopped process may hold it for ever.
        """
        make_private_file(self._lock)
        descriptor = os.open(self._lock, os.O_RDWR | os.O_CLOEXEC)
        _locks.add(descriptor)
        try:
            deadline = time.monotonic_ns() + self._patience * 1_000_000_000
            pause = 1
            while True:
                try:
                    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except BlockingIOError:
                    if time.monotonic_ns() > deadline:
                        raise LedgerBusy(
                            f"Another process has held the lock {self._lock} for "
                            f"{self._patience} seconds. Try again."
                        ) from None
                    time.sleep(pause / 1000)
                    pause = min(2 * pause, _LONGEST_PAUSE_MS)
            yield
        finally:
            fcntl.flock(descriptor, fcntl.LOCK_UN)  # a child may have it open too
            _locks.discard(descriptor)
            os.close(descriptor)


HOW_TO_ACCEPT = (
    "Put the newest copy of the ledger and its mark back. If there is none, `discreet ledger "
    "accept-mark` (accept_mark in Python) continues from this copy. The charges that it lacks "
    "are then forgotten for good."
)
"""The end of every message about a lost or contradicting mark."""
