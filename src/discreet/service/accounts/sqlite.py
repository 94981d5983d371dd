"""Accounts in one file of SQLite, for a service on one machine."""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from discreet.errors import BadInput
from discreet.service.accounts.kept import FORMAT, TABLES, Accounts, Run


class SqliteDatabase:
    """One connection to a file. Thread safe: one statement at a time, and for several processes."""

    def __init__(self, path: Path) -> None:
        self._lock = threading.Lock()
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        if not path.exists():
            path.touch(mode=0o600)
        self._connection = sqlite3.connect(
            path, timeout=30, isolation_level=None, check_same_thread=False
        )
        self._connection.execute("PRAGMA journal_mode = WAL")
        self._connection.execute("PRAGMA synchronous = NORMAL")
        self._connection.execute("PRAGMA foreign_keys = ON")
        with self.writing() as write:
            ((version,),) = write("PRAGMA user_version")
            if version == 0:
                for statement in TABLES:
                    filled = statement.format(whole="INTEGER", number="INTEGER PRIMARY KEY")
                    write(f"{filled} STRICT" if "CREATE TABLE" in filled else filled)
                write(f"PRAGMA user_version = {FORMAT}")
            elif version != FORMAT:
                raise BadInput(
                    f"The accounts in {path} were written by another version of discreet (format "
                    f"{version}, this one reads {FORMAT}). Nothing was changed."
                )

    def _run(self, statement: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        return self._connection.execute(statement, values).fetchall()

    @contextmanager
    def writing(self, *, lasting: bool = False) -> Iterator[Run]:
        with self._lock:
            # With NORMAL a commit is in the log, and on the disk only some commits later.
            self._connection.execute(f"PRAGMA synchronous = {'FULL' if lasting else 'NORMAL'}")
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield self._run
            except BaseException:
                self._connection.execute("ROLLBACK")
                raise
            self._connection.execute("COMMIT")

    def read(self, statement: str, *values: Any) -> list[tuple[Any, ...]]:
        with self._lock:
            return self._run(statement, values)

    def is_ready(self) -> bool:
        try:
            return bool(self.read("SELECT 1"))
        except sqlite3.Error:
            return False

    def close(self) -> None:
        with self._lock:
            self._connection.close()


class SqliteAccounts(Accounts):
    """The `Accounts` of one machine."""

    def __init__(self, path: Path, *, clock: Callable[[], float] = time.time) -> None:
        super().__init__(SqliteDatabase(path), clock=clock)
