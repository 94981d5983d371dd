"""One connection to PostgreSQL, in one read-only transaction: every query sees the same rows.

The transaction is REPEATABLE READ, so whatever others write meanwhile is not seen, and it can change
nothing. SELECT on the table is all that it needs. Settings that could change what an expression means are
fixed for the transaction: names are looked up in pg_catalog alone, so nobody's function is called by accident.

A connection runs one query at a time, from its text to its last row. PostgreSQL's messages quote rows, so
none is passed on: an error's class alone chooses the sentence, and the original is dropped.
"""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from fractions import Fraction
from typing import Any, TypeVar

import numpy as np
import psycopg
from numpy.typing import NDArray
from psycopg import errors
from sqlglot import exp

from discreet.engines.postgres.dialect import DIALECT
from discreet.engines.postgres.texts import place_of_texts
from discreet.engines.sql import keys
from discreet.engines.sql import syntax as s
from discreet.engines.sql.expressions import Compiler
from discreet.engines.sql.syntax import Sql
from discreet.errors import BadInput, BadSource, EngineFailed
from discreet.postgres_addresses import OLDEST, Address, NoConnection, connected
from discreet.queries.tallies import FoundKeys

T = TypeVar("T")
LONGEST_STATEMENT = "1h"
"""Where neither the server nor PGOPTIONS sets a statement_timeout of its own."""
_UNITS = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}
_SETTINGS = {
    "search_path": "pg_catalog",
    "TimeZone": "UTC",
    "DateStyle": "ISO, YMD",
    "extra_float_digits": "1",
    "standard_conforming_strings": "on",
    "transform_null_equals": "off",
    "row_security": "off",
    "client_min_messages": "error",
    "idle_in_transaction_session_timeout": "0",
    "jit": "off",
}
"""The last one because compiling such long expressions takes longer than it saves."""
_STANDS = "What was charged stays charged."


class Session:
    """One transaction of one database.

    Thread safe: queries wait for each other. In a forked child it refuses to work.
    """

    def __init__(self, address: Address, *, memory_limit: str) -> None:
        self._owner = os.getpid()
        self._turn = threading.Lock()
        self._closed = False
        work_memory = _kilobytes(memory_limit) // 8
        self._connection = _connected(address)
        try:
            self._prepare(str(address), max(64, work_memory))
        except BaseException:
            self._connection.close()
            raise

    def _prepare(self, place: str, work_memory: int) -> None:
        info = self._connection.info
        if info.server_version < OLDEST:
            raise BadSource(
                f"The database at {place} is PostgreSQL {info.server_version // 10_000}. Nothing was read. "
                f"PostgreSQL {OLDEST // 10_000} or later is needed."
            )
        encoding = info.parameter_status("server_encoding")
        if encoding != "UTF8":
            raise BadSource(
                f"The database at {place} has the encoding {encoding}. Nothing was read. Only databases in "
                "UTF8 can be read; copy the table into one."
            )
        self._connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        self._connection.read_only = True
        ((timeout,),) = self.catalog("SELECT current_setting('statement_timeout')")
        settings = {**_SETTINGS, "work_mem": f"{work_memory}kB"}
        if timeout == "0":
            settings["statement_timeout"] = timeout = LONGEST_STATEMENT
        self._timeout = timeout
        for name, value in settings.items():
            self.catalog("SELECT set_config(%s, %s, true)", [name, value])
        self.catalog("SELECT md5('')")  # not there where only approved cryptography is
        self._work(lambda cursor: cursor.execute("SAVEPOINT prepared"))

    def catalog(self, query: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """Asks the database about its tables: names, columns, types. No row of a table is read."""
        return self._work(lambda cursor: cursor.execute(query, values).fetchall())

    def plan(self, query: Sql) -> None:
        """Lets the server read and plan a query that is not run; the table is not kept locked."""
        text = f"EXPLAIN {DIALECT.render(query)}".encode()
        self._work(lambda cursor: cursor.execute(text))
        self._work(lambda cursor: cursor.execute("ROLLBACK TO SAVEPOINT prepared"))

    def rows(self, query: Sql) -> list[tuple[Any, ...]]:
        """For few rows, texts, and integers beyond 64 bits."""
        text = DIALECT.render(query).encode()
        return self._work(lambda cursor: cursor.execute(text).fetchall())

    def arrays(
        self, query: Sql, *, beside: Mapping[str, Mapping[str, NDArray[Any]]] | None = None
    ) -> list[NDArray[np.generic]]:
        """The columns of a result of integers without nulls; `beside` are tables in memory, by name."""
        text = _with_tables(beside or {}) + DIALECT.render(query)

        def fetch(cursor: psycopg.Cursor[Any]) -> tuple[list[tuple[Any, ...]], int]:
            cursor.execute(text.encode())
            return cursor.fetchall(), len(cursor.description or ())

        found, width = self._work(fetch)
        if not found:
            return [np.zeros(0, dtype=np.int64) for _ in range(width)]
        return [_array(column) for column in zip(*found, strict=True)]

    @contextmanager
    def lookup(self, found: FoundKeys, compiler: Compiler) -> Iterator[Sql]:
        """The place of a row's key among the found ones; null where it is none of them."""
        if not found.texts:
            yield s.cast(s.null(), "BIGINT")
            return
        texts = [keys.spelled(key) for key in found.texts]
        joined = keys.joined_text(found, compiler)
        yield s.cast(DIALECT.once(joined, lambda text: place_of_texts(texts, text)), "BIGINT")

    def close(self) -> None:
        """Ends the transaction, once the query that runs has ended; later ones are refused."""
        if os.getpid() != self._owner:  # the connection is its parent's
            return
        self._closed = True
        try:
            self._turn.acquire()
        except BaseException:  # Ctrl-C, while another thread's query runs
            self._cancel()
            self._turn.acquire()
            raise
        finally:
            with suppress(psycopg.Error):
                self._connection.close()
            self._turn.release()

    def _cancel(self) -> None:
        with suppress(psycopg.Error):
            self._connection.cancel_safe(timeout=5)

    def _work(self, job: Callable[[psycopg.Cursor[Any]], T]) -> T:
        if os.getpid() != self._owner:
            raise EngineFailed(
                "The engine was opened before this process was forked, and works only in the process that opened it. Open another one here."
            )
        failure: EngineFailed | None = None
        with self._turn:
            if self._closed or self._connection.closed:
                raise EngineFailed("The connection to the database is closed. Open it again.")
            try:
                with self._connection.cursor() as cursor:
                    return job(cursor)
            except (psycopg.Error, MemoryError) as error:
                failure = self._sentence(error)
            except BaseException:  # Ctrl-C: psycopg has asked the server to stop the query
                self._closed = True
                with suppress(psycopg.Error):
                    self._connection.close()
                raise
            with suppress(psycopg.Error):  # the same transaction goes on, and sees the same rows
                self._connection.execute("ROLLBACK TO SAVEPOINT prepared")
        raise failure

    def _sentence(self, error: BaseException) -> EngineFailed:
        """The message for an error: chosen by its class, never from its text."""
        if isinstance(error, errors.QueryCanceled):
            return EngineFailed(
                f"The database stopped the query: it took longer than statement_timeout, {self._timeout}, "
                f"or somebody cancelled it. {_STANDS} Set another limit with "
                "PGOPTIONS='-c statement_timeout=6h'."
            )
        if isinstance(error, (errors.DiskFull, errors.OutOfMemory, MemoryError)):
            return EngineFailed(f"The database ran out of memory or of disk. {_STANDS}")
        if isinstance(error, errors.InsufficientPrivilege):
            return EngineFailed(
                f"The database does not let you read the table. {_STANDS} Ask its owner for SELECT."
            )
        if isinstance(error, (psycopg.OperationalError, psycopg.InterfaceError)):
            return EngineFailed(
                f"The connection to the database was lost, or the server stopped. {_STANDS} Run it again "
                "when the server is back."
            )
        return EngineFailed(
            f"The database stopped ({type(error).__name__}). Its own message is not shown, because "
            f"it may quote a row. {_STANDS}"
        )


def _connected(address: Address) -> psycopg.Connection[Any]:
    try:
        return connected(address)
    except NoConnection as error:
        said = str(error)
    raise BadSource(
        f"The database at {address} cannot be opened: {said} Nothing was read. Check the address, the "
        "user, and the password in PGPASSWORD or the password file."
    )


def _kilobytes(limit: str) -> int:
    read = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?) ?(?:([KMGT])i?)?B", limit)
    if read is None:
        raise BadInput(f"The memory limit {limit!r} is not a size such as '768MB'.")
    return int(Fraction(read[1]) * _UNITS[read[2] or ""]) // 1024


def _with_tables(tables: Mapping[str, Mapping[str, NDArray[Any]]]) -> str:
    """WITH, for tables of integers that a query is joined with."""
    made = []
    for name, columns in tables.items():
        types = ["BIGINT" if one.dtype == np.int64 else "NUMERIC" for one in columns.values()]
        lists = [
            f"'{{{','.join(map(str, one.tolist()))}}}'::{type_}[]"
            for one, type_ in zip(columns.values(), types, strict=True)
        ]
        names = ", ".join(
            DIALECT.render(exp.to_identifier(column, quoted=True)) for column in columns
        )
        made.append(f"{name} AS (SELECT * FROM unnest({', '.join(lists)}) AS listed({names}))")
    return f"WITH {', '.join(made)} " if made else ""


def _array(column: Sequence[Any]) -> NDArray[np.generic]:
    """64-bit integers; those of NUMERIC are not negative, and may take all 64 bits."""
    if any(not isinstance(one, int) for one in column):
        return np.array([int(one) for one in column], dtype=np.uint64)
    return np.array(column, dtype=np.int64)
