"""One locked-down DuckDB: it reads the source and nothing else, and its messages stay inside.

Opened in memory, it is cut off once the source is in place: no other file, no network, no
extension, no setting can be reached any more, and the home directory is never touched. Spilled
pieces of rows go to a private directory (see `spill`).

A result is read from the connection that ran its query, so a connection runs one query at a time,
from its text to its last row. There are a few connections to the one database, so that threads work
side by side; further threads wait for their turn. Settings, variables and tables in memory belong to
a connection, so each one gets them; other tables and types belong to the database.

DuckDB's error messages quote rows, so none is passed on: an error's class alone chooses the
sentence, and the original is dropped with its traceback.
"""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from typing import Any, TypeVar

import duckdb
import numpy as np
from numpy.typing import NDArray

from discreet.engines.duckdb.dialect import one_of, render
from discreet.engines.protocol import Progress
from discreet.engines.spill import SpillDirectory
from discreet.engines.sql import keys
from discreet.engines.sql import syntax as s
from discreet.engines.sql.expressions import Compiler
from discreet.engines.sql.syntax import Sql
from discreet.errors import BadInput, EngineFailed
from discreet.queries.tallies import FoundKeys

T = TypeVar("T")
_POLL_SECONDS = 0.1
STREAMED_ROWS = 1 << 16
SIDE_BY_SIDE = 4
"""Queries that run at the same time. They share the database's threads and its memory limit."""


class Session:
    """Connections to one database, the threads that their queries run in, and its private directory.

    Thread safe: a query and its result are one step on a connection that nobody else holds
    meanwhile. In a forked child it refuses to work.
    """

    def __init__(
        self, *, memory_limit: str, threads: int | None, progress: Progress | None
    ) -> None:
        if not re.fullmatch(r"[0-9]+(\.[0-9]+)? ?([KMGT]i?)?B", memory_limit):
            raise BadInput(f"The memory limit {memory_limit!r} is not a size such as '768MB'.")
        if threads is not None and (isinstance(threads, bool) or threads < 1):
            raise BadInput(f"{threads!r} threads cannot work; give at least 1.")
        self._memory_limit = memory_limit
        self._progress = progress
        self._is_locked = False
        self._span = (0.0, 1.0)
        self._spill = SpillDirectory()
        self._owner = os.getpid()
        self._closed = False
        self._connections: list[duckdb.DuckDBPyConnection] = []
        self._turn = threading.Condition()
        self._numbers = count(1)
        try:
            self._connections.append(duckdb.connect(":memory:", config=self._settings(threads)))
            self._connections += [self._connections[0].cursor() for _ in range(SIDE_BY_SIDE - 1)]
            self._configure()
        except duckdb.Error as error:
            self._spill.remove()
            raise self._sentence(error) from None
        self._free = self._connections[::-1]  # the last is taken first

    def _settings(self, threads: int | None) -> dict[str, Any]:
        """Those of the database, for all connections."""
        private = str(self._spill.path)
        settings: dict[str, Any] = {
            "memory_limit": self._memory_limit,
            "temp_directory": private,
            "home_directory": private,
            "extension_directory": private,
            "secret_directory": private,
            "custom_extension_repository": f"{private}/none",  # INSTALL finds nothing, not even a network
            "allow_persistent_secrets": False,
            "allow_community_extensions": False,
            "autoinstall_known_extensions": False,
            "autoload_known_extensions": False,
            "python_enable_replacements": False,  # a column named like a variable stays a column
            "pandas_analyze_sample": 0,  # a type guessed from some rows fails on others
            "error_on_division_by_zero": False,
            # Rewriting by a file's statistics plans another query where a column has no null, and in DuckDB
            # 2.0 some of these fail. Filters in a scan pass over rows by statistics that a row may change.
            "disabled_optimizers": "statistics_propagation,filter_pushdown",
            "preserve_insertion_order": False,
        }
        return settings if threads is None else settings | {"threads": threads}

    def _configure(self) -> None:
        """What can only be set for one connection, or of an extension."""
        for connection in self._connections:
            # First this, for a slow query would print to our output.
            connection.execute("SET enable_progress_bar_print = false")
            connection.execute(f"SET enable_progress_bar = {self._progress is not None}")
            # So that the database reads on while a batch is in work.
            connection.execute("SET streaming_buffer_size = '32MB'")
            # Checked against the file's time of change.
            connection.execute("SET parquet_metadata_cache = true")
            connection.execute("SET TimeZone = 'UTC'")

    def lock(self, files: Sequence[str]) -> None:
        """From here on only `files` can be read, and no setting can be changed back."""
        listed = render(one_of(map(s.text, files)))
        self.run(f"SET allowed_paths = {listed}")
        self.run("SET enable_external_access = false")
        self.run("SET lock_configuration = true")
        self._is_locked = True

    def lock_to_private_files(self) -> Path:
        """The same, where only files in the private directory can be read."""
        self.run(f"SET allowed_directories = {render(one_of([s.text(str(self._spill.path))]))}")
        self.lock(())
        return self._spill.path

    def register(self, name: str, table: object) -> None:
        """Makes an object in memory a table, while the session is being opened."""
        for connection in self._connections:
            self._guarded(partial(connection.register, name, table))

    def set_variable(self, name: str, value: Sql) -> None:
        """Sets a variable for every later query, while the session is being opened."""
        statement = f"SET VARIABLE {name} = {render(value)}"
        for connection in self._connections:
            self._guarded(partial(connection.execute, statement))

    def new_name(self, stem: str) -> str:
        """A name that no table or type of this session has had."""
        return f"{stem}_{next(self._numbers)}"

    def run(self, query: str | Sql) -> None:
        self._work(lambda connection: connection.execute(_text(query)))

    def rows(self, query: str | Sql) -> list[tuple[Any, ...]]:
        """For few rows, and for integers beyond 64 bits, which arrays would round."""
        return self._work(lambda connection: connection.execute(_text(query)).fetchall())

    def arrays(
        self, query: str | Sql, *, beside: Mapping[str, object] | None = None
    ) -> list[NDArray[np.generic]]:
        """The columns of a result without nulls or wide integers; `beside` are tables in memory, by name."""
        given = beside or {}

        def fetch(connection: duckdb.DuckDBPyConnection) -> Mapping[str, Any]:
            for name, table in given.items():
                connection.register(name, table)
            try:
                found: Mapping[str, Any] = connection.execute(_text(query)).fetchnumpy()
                return found
            finally:
                for name in given:
                    connection.unregister(name)

        return list(self._work(fetch).values())

    @property
    def has_arrow(self) -> bool:
        """Whether results can be read through Arrow, which is an extra."""
        return find_spec("pyarrow") is not None

    def stream(self, query: str | Sql, take: Callable[[list[NDArray[np.generic]]], None]) -> None:
        """Hands on the columns of a result without nulls, in batches; the result is never in memory whole."""

        def fetch(connection: duckdb.DuckDBPyConnection) -> None:
            relation: Any = connection.sql(_text(query))
            for batch in relation.to_arrow_reader(STREAMED_ROWS):
                take([np.from_dlpack(column) for column in batch.columns])  # without pandas

        if self.has_arrow:
            self._work(fetch)
            return
        table = self.new_name("batched_rows")
        self.run(f"CREATE TABLE {table} AS {_text(query)}")  # spills beyond the memory limit
        try:
            ((rows,),) = self.rows(f"SELECT count(*) FROM {table}")
            for start in range(0, rows, STREAMED_ROWS):
                wanted = f"rowid >= {start} AND rowid < {start + STREAMED_ROWS}"
                take(self.arrays(f"SELECT * FROM {table} WHERE {wanted}"))
        finally:
            self.drop(table)

    @contextmanager
    def lookup(self, found: FoundKeys, compiler: Compiler) -> Iterator[Sql]:
        """The place of a row's key among the found ones, by an ENUM: one hash lookup, as for declared values."""
        if not found.texts:
            yield s.cast(s.null(), "BIGINT")
            return
        listed = ", ".join(render(s.text(keys.spelled(key))) for key in found.texts)
        type_ = self.new_name("found_keys")
        self.run(f"CREATE TYPE {type_} AS ENUM ({listed})")
        try:
            place = s.call("enum_code", s.try_cast(keys.joined_text(found, compiler), type_))
            yield s.cast(place, "BIGINT")
        finally:
            self.run(f"DROP TYPE {type_}")

    @contextmanager
    def share_of_progress(self, start: float, end: float) -> Iterator[None]:
        """Queries run in here are so much of one piece of work."""
        self._span = (start, end)
        try:
            yield
        finally:
            self._span = (0.0, 1.0)

    def drop(self, table: str) -> None:
        """Drops a table, unless all of them are gone already."""
        try:
            self.run(f"DROP TABLE {table}")
        except EngineFailed:
            if not self._closed:
                raise

    def close(self) -> None:
        """Lets go of everything, once the queries that run have ended; later ones are refused."""
        self._close(at_once=False)

    def _close(self, *, at_once: bool) -> None:
        # A forked child has none of the threads that could end a query or hold a turn, and no engine's
        # either: waiting would never end, and there is nothing of its own to let go of.
        if os.getpid() != self._owner:
            return
        with self._turn:
            self._closed = True
            self._turn.notify_all()  # who waits for a turn is refused
            try:
                self._wait_until_unused(interrupting=at_once)
            except BaseException:  # Ctrl-C, while another thread's query runs
                self._wait_until_unused(interrupting=True)
                raise
            finally:
                for connection in reversed(self._connections):
                    connection.close()
                self._connections, self._free = [], []
                self._spill.remove()

    def _wait_until_unused(self, *, interrupting: bool) -> None:
        while len(self._free) < len(self._connections):
            if interrupting:
                for connection in self._connections:
                    connection.interrupt()
            self._turn.wait(_POLL_SECONDS)

    @contextmanager
    def _taken(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """A connection that is this thread's alone. Who holds one must not ask for another."""
        if os.getpid() != self._owner:
            raise EngineFailed(
                "The engine was opened before this process was forked, and works only in the process that opened it. Open another one here."
            )
        with self._turn:
            while not self._free and not self._closed:
                self._turn.wait()
            if self._closed:
                raise EngineFailed("The engine is closed. Open it again.")
            connection = self._free.pop()
        try:
            yield connection
        finally:
            with self._turn:
                self._free.append(connection)
                self._turn.notify_all()

    def _work(self, job: Callable[[duckdb.DuckDBPyConnection], T]) -> T:
        try:
            with self._taken() as connection:
                result, error = self._beside(connection, lambda: job(connection))
        except EngineFailed:
            raise
        except BaseException:  # Ctrl-C, or a progress callback that wants to stop
            self._close(at_once=True)
            raise
        if error is not None:
            raise self._sentence(error)
        return result[0]

    def _beside(
        self, connection: duckdb.DuckDBPyConnection, job: Callable[[], T]
    ) -> tuple[list[T], BaseException | None]:
        """Runs a query beside this thread, so that Ctrl-C and the progress bar get their turn."""
        results: list[T] = []
        errors: list[BaseException] = []
        if self._progress is None and threading.current_thread() is not threading.main_thread():
            try:  # Ctrl-C comes to the main thread alone
                return [job()], None
            except BaseException as error:
                return [], error

        def work() -> None:
            try:
                results.append(job())
            except BaseException as error:
                errors.append(error)
            finally:
                done.set()

        # Not Thread.join: before Python 3.13, one that Ctrl-C interrupts takes the thread for ended.
        done = threading.Event()
        threading.Thread(target=work, name="discreet-query", daemon=True).start()
        try:
            while not done.wait(_POLL_SECONDS):
                self._report(connection)
        except BaseException:
            connection.interrupt()
            while not done.wait(_POLL_SECONDS):  # it may not have begun when it was interrupted
                connection.interrupt()
            raise
        return results, errors[0] if errors else None

    def _report(self, connection: duckdb.DuckDBPyConnection) -> None:
        if self._progress is not None and self._is_locked:
            percent = connection.query_progress()
            if percent >= 0:
                start, end = self._span
                self._progress(start + (end - start) * min(percent / 100, 1.0))

    def _guarded(self, job: Callable[[], object]) -> None:
        try:
            job()
        except Exception as error:
            raise self._sentence(error) from None

    def _sentence(self, error: BaseException) -> EngineFailed:
        """The message for an error: chosen by its class, never from its text."""
        stands = "What was charged stays charged."
        if isinstance(error, (duckdb.OutOfMemoryException, MemoryError)):
            return EngineFailed(
                f"The engine needs more memory than its limit of {self._memory_limit}, or the disk "
                f"for temporary files is full. {stands} Raise the limit."
            )
        if isinstance(error, duckdb.InterruptException):
            return EngineFailed(f"The engine was interrupted. {stands}")
        if isinstance(error, (duckdb.IOException, duckdb.PermissionException, OSError)):
            return EngineFailed(
                f"The engine could not read the source, or could not write temporary files. {stands} "
                "Check that the file is whole, unchanged and readable, and that the disk has room."
            )
        return EngineFailed(
            f"The engine stopped ({type(error).__name__}). Its own message is not shown, because "
            f"it may quote a row. {stands}"
        )


def _text(query: str | Sql) -> str:
    """A query's text. Each is built for one run, so rendering it may use it up."""
    return query if isinstance(query, str) else query.sql(dialect="duckdb", copy=False)
