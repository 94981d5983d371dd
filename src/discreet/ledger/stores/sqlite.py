"""The SQLite file under the ledger: opening it, its transactions, its errors in plain words.

Every write is one BEGIN IMMEDIATE transaction, so whoever checks a cap holds the write lock while
checking. WAL with synchronous=NORMAL: a commit hands the log to the system and lets go of the lock;
`wait_for_disk` then waits for the log, as synchronous=FULL would do with the lock still held. So
many processes wait at the same time, and one write to the disk serves them all. Nothing is relied
on before that wait. (SQLite itself waits for log and file whenever it moves events from the one to
the other, so what is no longer in the log is on disk.)

Nothing but SQLite ever opens the database file. Its locks are POSIX locks, which belong to the process:
when any descriptor of the file is closed, they are all gone, and SQLite is not told. Other connections of
this process are SQLite's too, and share them. A forked child holds none of its parent's locks while its
SQLite believes that it does; so no connection may be open at a fork (see `journal`).
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal
from urllib.parse import quote

from discreet.errors import LedgerBusy, LedgerDamaged, LedgerError
from discreet.ledger.chain import APPLICATION_ID, SCHEMA, Row
from discreet.ledger.mark import MarkFile
from discreet.ledger.place import (
    check_one_name,
    make_directory,
    make_private_file,
    settle,
    sync_directory,
)

_BUSY = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}
_UNWRITABLE = {
    sqlite3.SQLITE_FULL: "the disk is full",
    sqlite3.SQLITE_READONLY: "it is read-only",
    sqlite3.SQLITE_IOERR: "the disk reports an error",
    sqlite3.SQLITE_CANTOPEN: "it cannot be opened",
    sqlite3.SQLITE_PERM: "this account may not write to it",
    sqlite3.SQLITE_NOMEM: "memory is exhausted",
    sqlite3.SQLITE_INTERRUPT: "it was interrupted",
}


def damaged(path: Path | str, reason: str) -> LedgerDamaged:
    return LedgerDamaged(
        f"The ledger {path} is damaged: {reason}. Nothing was charged and no row was read. "
        "Put the newest intact copy back; nothing can be charged until then."
    )


@contextmanager
def plain_errors(path: Path) -> Iterator[None]:
    """SQLite's and the system's errors as the ledger's own."""
    try:
        yield
    except sqlite3.Error as error:
        # The primary code is the low byte. Python's own errors have none: a text that is not UTF-8.
        code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_MISMATCH) & 0xFF
        if code in _BUSY:
            raise LedgerBusy(
                f"Other processes kept the ledger {path} busy for too long. This step was not recorded. Try again."
            ) from error
        if code in _UNWRITABLE:
            raise unwritable(path, _UNWRITABLE[code]) from error
        if code == sqlite3.SQLITE_MISMATCH:
            raise damaged(path, "an event was altered") from error
        other = ", so it may not be a ledger" if code == sqlite3.SQLITE_NOTADB else ""
        raise damaged(path, f"SQLite says '{error}'{other}") from error
    except UnicodeDecodeError as error:
        # A damaged schema makes an error message that Python cannot read.
        raise damaged(path, "its tables or triggers were altered") from error
    except OSError as error:
        raise unwritable(path, error.strerror or str(error)) from error


def unwritable(path: Path | str, reason: str) -> LedgerError:
    return LedgerError(
        f"The ledger {path} cannot be used: {reason}. This step was not confirmed, so no row may be "
        "read for it. Fix that and run again. The next run uses a charge that was recorded and not read, and does not pay twice."
    )


class SqliteStore:
    """One connection to a file. Not thread safe; the journal locks around it."""

    def __init__(self, path: Path, *, patience: int) -> None:
        self.path = path
        self._log_path = f"{path}-wal"
        check_one_name(path)
        # mode=rw: a connection never makes a file; making a ledger is a step of its own.
        self.sql = sqlite3.connect(
            f"file:{quote(str(path))}?mode=rw",
            uri=True,
            timeout=patience,
            isolation_level=None,
            check_same_thread=False,
        )
        try:
            self.sql.execute("PRAGMA synchronous = NORMAL")
            self.sql.execute("PRAGMA trusted_schema = OFF")
            self._files: tuple[tuple[int, int], ...] | None = None
            self._log: int | None = None
        except BaseException:
            self.sql.close()
            raise

    def close(self) -> None:
        self.sql.close()
        if self._log is not None:
            os.close(self._log)
            self._log = None

    def wait_for_disk(self) -> None:
        """Return when every event that this connection has seen or written is on disk.

        SQLite takes no locks on the log, so a descriptor of our own does not disturb them.
        """
        if self._log is None:
            self._log = os.open(self._log_path, os.O_RDONLY | os.O_CLOEXEC)
            sync_directory(self.path.parent)  # the log's name too
        os.fdatasync(self._log)

    def is_empty(self) -> bool:
        return self.sql.execute("SELECT 1 FROM sqlite_master").fetchone() is None

    def create(self, first: Row) -> bool:
        """Lay the table with its first event, in one transaction."""
        self.sql.execute("PRAGMA journal_mode = WAL")
        with self.writing():
            self.sql.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            for statement in SCHEMA.values():
                self.sql.execute(statement)
            self.insert(first)
        self.wait_for_disk()
        return True

    def check_schema(self) -> None:
        """The file is a ledger, in WAL mode, with its triggers in place."""
        if self.sql.execute("PRAGMA application_id").fetchone()[0] != APPLICATION_ID:
            raise LedgerDamaged(
                f"{self.path} is not a discreet ledger, or its first page is damaged. Nothing was "
                "charged. Give the path of a ledger, or of a file that does not exist yet."
            )
        found = dict(self.sql.execute("SELECT name, sql FROM sqlite_master"))
        mode = self.sql.execute("PRAGMA journal_mode").fetchone()[0]
        if found != SCHEMA or mode != "wal":
            raise damaged(self.path, "its tables or triggers were altered")

    def check_pages(self, how: Literal["quick_check", "integrity_check"]) -> None:
        """SQLite's own check of every page."""
        for (line,) in self.sql.execute(f"PRAGMA {how}"):
            if line != "ok":
                raise damaged(self.path, f"SQLite says '{line}'")

    def _identities(self) -> tuple[tuple[int, int], ...]:
        files = (str(self.path), self._log_path)
        return tuple((status.st_dev, status.st_ino) for status in map(os.stat, files))

    def check_files(self) -> None:
        """The names on disk still lead to the files that this connection writes to.

        SQLite would go on writing to a file that was renamed or deleted, and those
        charges would be lost to everyone else.
        """
        try:
            now = self._identities()
        except FileNotFoundError:
            now = ()
        if self._files is None and now:
            self._files = now
        if now != self._files:
            raise damaged(self.path, "its file was removed or replaced while in use")

    @contextmanager
    def writing(self) -> Iterator[None]:
        """One IMMEDIATE transaction: committed at the end, rolled back on any error."""
        self._forget_pages()
        self.sql.execute("BEGIN IMMEDIATE")
        try:
            yield
            self.sql.execute("COMMIT")
        except BaseException:
            self._roll_back()
            raise

    @contextmanager
    def reading(self) -> Iterator[None]:
        """One consistent view, given back at the end."""
        self._forget_pages()
        self.sql.execute("BEGIN")
        try:
            yield
        finally:
            self._roll_back()

    def _roll_back(self) -> None:
        if self.sql.in_transaction:
            self.sql.execute("ROLLBACK")

    def _forget_pages(self) -> None:
        # Else SQLite's cache would hide that an older copy was written over the file in place.
        self.sql.execute("PRAGMA shrink_memory")

    def insert(self, row: Row) -> None:
        self.sql.execute("INSERT INTO event (seq, body, payload, hash) VALUES (?, ?, ?, ?)", row)

    def rows_from(self, seq: int) -> Iterator[Row]:
        """The events from number `seq` on, in order."""
        return self.sql.execute(
            "SELECT seq, body, payload, hash FROM event WHERE seq >= ? ORDER BY seq", (seq,)
        )

    def hash_at(self, seq: int) -> str | None:
        row = self.sql.execute("SELECT hash FROM event WHERE seq = ?", (seq,)).fetchone()
        return None if row is None else row[0]

    def payload_at(self, seq: int) -> bytes | None:
        row = self.sql.execute("SELECT payload FROM event WHERE seq = ?", (seq,)).fetchone()
        return None if row is None else row[0]

    def adopt(self) -> None:
        """Nothing in the file says which copy of it is the true one; the mark does."""


@dataclass(frozen=True, slots=True)
class SqliteHome:
    """A ledger in a file, with its mark beside it or elsewhere."""

    path: Path
    marks: MarkFile
    patience: int
    is_shared = False

    @classmethod
    def at(cls, path: Path, mark: Path | str | None, *, patience: int) -> SqliteHome:
        place = path.with_name(path.name + ".mark") if mark is None else settle(mark)
        lock = path.with_name(path.name + ".lock")
        return cls(path, MarkFile(place, lock=lock, patience=patience), patience)

    def exists(self) -> bool:
        return self.path.exists()

    def prepare(self) -> None:
        make_directory(self.path.parent)
        make_directory(self.marks.path.parent)

    def open(self, *, make: bool = False) -> SqliteStore:
        if make:
            make_private_file(self.path)
        return SqliteStore(self.path, patience=self.patience)

    def plain_errors(self) -> AbstractContextManager[None]:
        return plain_errors(self.path)
