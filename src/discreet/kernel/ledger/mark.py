"""The high-water mark: how far the ledger had come, kept in a file of its own.

A copy of the ledger that was put back is internally sound; only something outside it
can tell that it is old. The mark holds the number and the hash of the newest event
that anyone relied on. It is written after the event is durable and before the caller
hears of it, so it may lag behind the ledger (a crash in between) but never lead it.

It only moves forward, under a file lock, and is replaced whole: write beside, fsync,
rename, fsync the directory.
"""

from __future__ import annotations

import fcntl
import os
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from discreet.errors import LedgerBusy, LedgerDamaged, LedgerError
from discreet.kernel.ledger import steps
from discreet.kernel.ledger.place import make_private_file, sync_directory

_FORMAT = re.compile(rb"discreet-ledger-mark 1 (0|[1-9][0-9]{0,17}) ([0-9a-f]{64})\n")
_LONGEST_PAUSE_MS = 10


@dataclass(frozen=True, slots=True)
class Mark:
    """Event number `seq` was written, and the chain's hash there was `hash`."""

    seq: int
    hash: str


class MarkFile:
    """The mark on disk."""

    def __init__(self, path: Path, *, lock: Path, patience: int) -> None:
        self.path, self._lock, self._patience = path, lock, patience

    def read(self) -> Mark | None:
        """The mark; None when there is no file."""
        try:
            content = self.path.read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise LedgerError(
                f"The ledger's mark {self.path} cannot be read: {error.strerror}."
            ) from error
        if not (found := _FORMAT.fullmatch(content)):
            raise LedgerDamaged(
                f"The ledger's mark {self.path} is not readable, so an older copy of the ledger could "
                f"not be told from the newest. Nothing was charged. {HOW_TO_ACCEPT}"
            )
        return Mark(int(found[1]), found[2].decode())

    def advance(self, mark: Mark) -> None:
        """Move forward to `mark`, durably; a mark that is already further stays."""
        with self.locked():
            current = self.read()
            if current is None:
                raise LedgerDamaged(
                    f"The ledger's mark {self.path} vanished while the ledger was in use. "
                    f"The last event stands. {HOW_TO_ACCEPT}"
                )
            if current.seq >= mark.seq:
                # Whoever wrote it may have been killed before the directory was synced.
                sync_directory(self.path.parent)
            else:
                self.replace(mark)

    def replace(self, mark: Mark) -> None:
        """Write `mark` over whatever is there. Only under `locked`."""
        beside = self.path.with_name(self.path.name + ".new")
        descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        try:
            os.write(descriptor, f"discreet-ledger-mark 1 {mark.seq} {mark.hash}\n".encode())
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        steps.step("after-mark-written")
        beside.replace(self.path)
        steps.step("after-mark-renamed")
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
            os.close(descriptor)


HOW_TO_ACCEPT = (
    "Put the newest copy of the ledger and its mark back. If there is none, `discreet ledger "
    "accept-mark` (accept_mark in Python) goes on from this copy, and the charges that it lacks "
    "are forgotten for good."
)
"""What every sentence about a lost or contradicting mark ends with."""
