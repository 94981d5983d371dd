"""Transactions on a PostgreSQL database that keeps what must last: a ledger, or a service's accounts.

A writing transaction takes a named lock first, so that writers on any machine follow each other; each
statement after that sees all that was committed before. A commit returns when it is on the server's disk.
A connection that was lost between two transactions is opened again by the next one.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import psycopg

from discreet.postgres_addresses import OLDEST, Address, NoConnection, connected

_CLASS = 0x64634C67  # "dcLg": the lock's number, beside that of its name

_PREPARE = """SELECT current_setting('fsync'), set_config('lock_timeout', %s, false),
  set_config('search_path', %s, false), set_config('client_min_messages', 'error', false),
  set_config('statement_timeout', '0', false), set_config('DateStyle', 'ISO, YMD', false),
  CASE WHEN current_setting('synchronous_commit') IN ('off', 'local')
    THEN set_config('synchronous_commit', 'on', false) END"""


class Transactions:
    """One connection. Not thread safe; its users lock around it. `names` are the schemas that names are looked up in."""

    def __init__(
        self, address: Address, *, lock: str, patience: int, names: str = "pg_catalog"
    ) -> None:
        self._address, self._patience, self._names = address, patience, names
        self._lock = (_CLASS, zlib.crc32(lock.encode()) - 2**31)
        self._sql: psycopg.Connection[Any] | None = None
        self.under_way = False
        self._connect()

    def _connect(self) -> None:
        self.close()
        found = connected(self._address, autocommit=True)
        try:
            version = found.info.server_version
            if version < OLDEST:
                raise NoConnection(
                    f"it is PostgreSQL {version // 10_000}, and {OLDEST // 10_000} or later is needed."
                )
            patience = f"{max(1, 1000 * self._patience)}ms"  # 0 would mean for ever
            row = found.execute(_PREPARE, [patience, self._names]).fetchone()
            if row is None or row[0] != "on":
                raise NoConnection("it runs with fsync off, so a power cut would lose charges.")
        except BaseException:
            found.close()
            raise
        self._sql = found

    def close(self) -> None:
        self.under_way = False
        if self._sql is not None:
            with suppress(psycopg.Error):
                self._sql.close()
            self._sql = None

    def run(self, statement: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """The rows of a statement. Only inside `writing` or `reading`."""
        if self._sql is None:
            raise psycopg.InterfaceError("the connection is closed")
        cursor = self._sql.execute(statement.encode(), values or None)
        return cursor.fetchall() if cursor.description else []

    @contextmanager
    def writing(self) -> Iterator[None]:
        """One transaction under the lock: committed at the end, rolled back on any error."""
        self._begin("BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE")
        try:
            self.run("SELECT pg_advisory_xact_lock(%s, %s)", self._lock)
            yield
            self._commit()
        except BaseException:
            self._roll_back()
            raise

    @contextmanager
    def reading(self) -> Iterator[None]:
        """One consistent view, given back at the end."""
        self._begin("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
        try:
            yield
        finally:
            self._roll_back()

    def _begin(self, how: str) -> None:
        """Begin a transaction, on a new connection if the old one is gone: nothing is under way yet."""
        try:
            self.run(how)
        except (psycopg.OperationalError, psycopg.InterfaceError):
            self._connect()
            self.run(how)
        self.under_way = True

    def _commit(self) -> None:
        assert self._sql is not None
        if self._sql.execute("COMMIT").statusmessage != "COMMIT":
            raise psycopg.OperationalError("the server rolled the transaction back")
        self.under_way = False

    def _roll_back(self) -> None:
        self.under_way = False
        try:
            self.run("ROLLBACK")
        except psycopg.Error:
            self.close()  # the server rolls back what it hears no end of
