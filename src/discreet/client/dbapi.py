"""The Python database API (PEP 249) over a release file or a service, for pandas and BI tools.

    connection = discreet.client.dbapi.connect("people.release")
    connection = discreet.client.dbapi.connect("https://curator.example/datasets/people", token=..., epsilon="0.1")

Each aggregate is three columns: the estimate, its lower and its upper end. There are no transactions:
`commit` and `rollback` do nothing, for a charge is never taken back.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date, datetime
from functools import partial
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit

from discreet import errors
from discreet.artifacts.answers import Answers
from discreet.privacy.budget import Budget

apilevel = "2.0"
threadsafety = 2
paramstyle = "qmark"


class Warning(Exception):
    """Never raised."""


class Error(Exception):
    """What the database API calls an error."""


class InterfaceError(Error):
    """The connection or cursor is closed, or was opened wrongly."""


class DatabaseError(Error):
    """The question was refused or could not be answered."""


class DataError(DatabaseError):
    """A parameter cannot be written as SQL."""


class OperationalError(DatabaseError):
    """The service cannot be reached, or its ledger cannot be used."""


class IntegrityError(DatabaseError):
    """Never raised."""


class InternalError(DatabaseError):
    """Never raised."""


class ProgrammingError(DatabaseError):
    """SQL that is not understood, or not allowed."""


class NotSupportedError(DatabaseError):
    """The database API has it, and differential privacy does not."""


STRING, NUMBER, DATETIME, BINARY, ROWID = "STRING", "NUMBER", "DATETIME", "BINARY", "ROWID"
Date, Timestamp = date, datetime
_MARK = re.compile(r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|`[^`]*`|--[^\n]*|/\*.*?\*/|\?", re.DOTALL)


def connect(
    target: str,
    *,
    token: str | None = None,
    epsilon: str | float | None = None,
    accuracy: str | None = None,
    confidence: float = 0.95,
) -> Connection:
    """A connection to a release file, or to `http(s)://host/releases/name` or `.../datasets/name`.

    A live dataset needs a token, and the price of each question: an `epsilon`, or an `accuracy`.
    """
    parts = urlsplit(target)
    if parts.scheme not in ("http", "https"):
        return Connection(_of_file(target, confidence))
    kind, _, name = parts.path.strip("/").rpartition("/")
    if kind not in ("releases", "datasets") or not name:
        raise InterfaceError(
            "The address must end in /releases/NAME or /datasets/NAME, as the pages' addresses do."
        )
    from discreet.client.connection import connect as to_service

    service = to_service(f"{parts.scheme}://{parts.netloc}", token)
    if kind == "releases":
        release = service.release(unquote(name))
        return Connection(_of_service(release, "dataset", confidence=confidence))
    if (epsilon is None) == (accuracy is None):
        raise InterfaceError(
            "A live dataset needs the price of each question: epsilon, or accuracy."
        )
    budget = None if epsilon is None else Budget(epsilon=epsilon)
    dataset = service.dataset(unquote(name))
    asking = {"budget": budget, "accuracy": accuracy, "confidence": confidence}
    return Connection(_of_service(dataset, "name", **asking))


class _Source(NamedTuple):
    """Where answers come from: a release file, a release of a service, or a live dataset."""

    ask: Callable[[str], Answers]
    columns: Callable[[], tuple[str, list[tuple[str, str]]]]
    """The table's name, and each column's name and kind."""


def _of_file(path: str, confidence: float) -> _Source:
    from discreet.answering import open_release

    try:
        reader = open_release(path)
    except errors.DiscreetError as error:
        raise InterfaceError(str(error)) from None
    schema = reader.schema
    listed = [(each.name, each.kind) for each in schema.columns]
    return _Source(partial(reader.ask, confidence=confidence), lambda: (schema.dataset, listed))


def _of_service(named: Any, table: str, **asking: Any) -> _Source:
    """The source of a release or a dataset of a service. `table` is the field of its description that names the table."""

    def columns() -> tuple[str, list[tuple[str, str]]]:
        told = named.describe()
        return told[table], [(each["name"], each["kind"]) for each in told["columns"]]

    return _Source(partial(named.ask, **asking), columns)


class Connection:
    """A connection. Threads may share it."""

    def __init__(self, source: _Source) -> None:
        self._source: _Source | None = source

    def cursor(self) -> Cursor:
        """A new cursor."""
        return Cursor(self)

    @property
    def source(self) -> _Source:
        """Where answers come from; `InterfaceError` once the connection is closed."""
        if self._source is None:
            raise InterfaceError("The connection is closed.")
        return self._source

    def columns(self) -> tuple[str, list[tuple[str, str]]]:
        """The table's name, and each column's name and kind."""
        return self.source.columns()

    def commit(self) -> None:
        """Nothing: a charge stands as soon as it is made."""

    def rollback(self) -> None:
        """Nothing: a charge is never taken back."""

    def close(self) -> None:
        """Close the connection."""
        self._source = None

    def __enter__(self) -> Connection:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Cursor:
    """A question and its answer, row by row. Not to be shared by threads."""

    arraysize = 1

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.description: list[tuple[Any, ...]] | None = None
        self.rowcount = -1
        self._rows: Iterator[tuple[Any, ...]] | None = None
        self._closed = False

    def execute(self, operation: str, parameters: Sequence[Any] | Mapping[str, Any] = ()) -> Cursor:
        """Ask a question; `?` stands for a parameter."""
        if self._closed:
            raise InterfaceError("The cursor is closed.")
        sql = _filled(operation, parameters)
        try:
            answers = self.connection.source.ask(sql)
        except (errors.BadQuestion, errors.NotAnswerable) as error:
            raise ProgrammingError(str(error)) from None
        except (errors.LedgerError, errors.EngineFailed) as error:
            raise OperationalError(str(error)) from None
        except errors.DiscreetError as error:
            kind = OperationalError if type(error).__name__ == "Unreachable" else DatabaseError
            raise kind(str(error)) from None
        self._take(answers)
        return self

    def _take(self, answers: Answers) -> None:
        every = list(answers.to_columns().items())
        groups = len(every) - 4 * len(answers.columns)  # each: estimate, lower, upper, std
        kept = [each for at, each in enumerate(every) if at < groups or (at - groups) % 4 != 3]
        columns = {name: values.tolist() for name, values in kept}
        self.description = [
            (name, STRING if at < groups else NUMBER, None, None, None, None, None)
            for at, name in enumerate(columns)
        ]
        rows = list(zip(*columns.values(), strict=True))
        self.rowcount = len(rows)
        self._rows = iter(rows)

    def executemany(self, operation: str, seq_of_parameters: Sequence[Any]) -> None:
        """Not supported: each question has a price, and is asked by itself."""
        raise NotSupportedError("Ask one question at a time.")

    def _next(self) -> Iterator[tuple[Any, ...]]:
        if self._rows is None:
            raise InterfaceError("Ask something first.")
        return self._rows

    def fetchone(self) -> tuple[Any, ...] | None:
        """The next row, or None."""
        return next(self._next(), None)

    def fetchmany(self, size: int | None = None) -> list[tuple[Any, ...]]:
        """The next rows."""
        many = self.arraysize if size is None else size
        return [row for _, row in zip(range(many), self._next(), strict=False)]

    def fetchall(self) -> list[tuple[Any, ...]]:
        """All rows that are left."""
        return list(self._next())

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        return self._next()

    def close(self) -> None:
        """Close the cursor."""
        self._closed, self._rows = True, None

    def setinputsizes(self, sizes: Any) -> None:
        """Nothing."""

    def setoutputsize(self, size: Any, column: Any = None) -> None:
        """Nothing."""


def _filled(sql: str, parameters: Sequence[Any] | Mapping[str, Any]) -> str:
    """The question with its parameters written as literals."""
    if isinstance(parameters, Mapping):
        raise NotSupportedError("Parameters are given as a sequence, for question marks.")
    left = list(parameters)

    def literal(found: re.Match[str]) -> str:
        if found[0] != "?":
            return found[0]  # inside a text, a name or a comment
        if not left:
            raise ProgrammingError("There are more question marks than parameters.")
        return _literal(left.pop(0))

    text = _MARK.sub(literal, sql) if parameters else sql
    if left:
        raise ProgrammingError("There are more parameters than question marks.")
    return text


def _literal(value: Any) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, (int, float)):
        if value != value or value in (math.inf, -math.inf):
            raise DataError("A parameter that is no finite number cannot be written as SQL.")
        plain = repr(float(value) if isinstance(value, float) else int(value))
        return f"({plain})" if value < 0 else plain  # behind a minus it would begin a comment
    if isinstance(value, datetime):
        return f"TIMESTAMP '{value.isoformat(sep=' ')}'"
    if isinstance(value, date):
        return f"DATE '{value.isoformat()}'"
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    raise DataError(f"A parameter of type {type(value).__name__} cannot be written as SQL.")
