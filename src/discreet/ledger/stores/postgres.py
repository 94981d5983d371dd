"""The ledger's events in PostgreSQL, for several machines.

Every write is one transaction that first takes the ledger's lock, so whoever checks a cap holds it
while checking, on whatever machine: charges follow each other as if there were one writer. Each
statement after that sees all that was committed before. Should anything ever write without the lock, the
primary key and a trigger refuse a second event of one number.

`synchronous_commit` is on, so a commit returns when its event is on the server's disk, and nobody sees
an event before it is. A server that runs without `fsync` is refused.

A restored copy is told by the machines' marks, and also by the server itself: the ledger notes the number
of its table and the server's timeline. A dump that was read back makes a new table; a server that was
restored from an archive, or a standby that took over, begins a new timeline. Each may lack the newest
charges, so the ledger refuses to go on until `accept_mark` says that it may.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, Literal, NoReturn

import psycopg
from psycopg import errors

from discreet.errors import LedgerBusy, LedgerDamaged, LedgerError
from discreet.ledger.chain import Row
from discreet.ledger.mark import HOW_TO_ACCEPT
from discreet.ledger.stores.postgres_home import LedgerAddress
from discreet.ledger.stores.sqlite import damaged, unwritable
from discreet.postgres_addresses import NoConnection
from discreet.postgres_transactions import Transactions

ROWS_AT_ONCE = 5_000

_BUSY = (errors.LockNotAvailable, errors.SerializationFailure, errors.DeadlockDetected)
_FULL = (errors.DiskFull, errors.OutOfMemory, errors.TooManyConnections)
_READ_ONLY = (
    errors.ReadOnlySqlTransaction,
    errors.ObjectNotInPrerequisiteState,  # no log of its own to write to
    errors.FeatureNotSupported,  # no transaction that writes
)
_GONE = (errors.UndefinedTable, errors.InvalidSchemaName, errors.UndefinedFunction)
_REFUSED = (errors.UniqueViolation, errors.RaiseException, errors.NotNullViolation)
_AWAY = (psycopg.OperationalError, psycopg.InterfaceError)
_SAID = (
    (_READ_ONLY, unwritable, "the server is read-only, as a standby is"),
    (_FULL, unwritable, "the server is out of disk, memory or connections"),
    (_GONE, damaged, "its tables were removed"),
    (_REFUSED, damaged, "another event of that number is there"),
    (errors.QueryCanceled, unwritable, "the server stopped the query"),
    (_AWAY, unwritable, "the server is unavailable, or the connection was lost"),
)
"""What an error of PostgreSQL means: the first line that names its kind."""


@contextmanager
def plain_errors(place: str) -> Iterator[None]:
    """PostgreSQL's and the system's errors as the ledger's own."""
    try:
        yield
    except NoConnection as error:
        raise LedgerError(
            f"The ledger's database {place} cannot be opened: {error} Nothing was charged. Check the address, "
            "the user, and the password in PGPASSWORD or the password file."
        ) from None
    except psycopg.Error as error:
        _raise_plain(place, error)
    except OSError as error:
        raise unwritable(place, error.strerror or str(error)) from error


def _raise_plain(place: str, error: psycopg.Error) -> NoReturn:
    if isinstance(error, _BUSY):
        raise LedgerBusy(
            f"Others kept the ledger {place} busy for too long. This step was not recorded. Try again."
        ) from error
    if isinstance(error, errors.InsufficientPrivilege):
        raise LedgerError(
            f"The ledger {place} cannot be used: the database does not let this user do that. Nothing was "
            "charged. Grant USAGE on its schema, SELECT and INSERT on its tables; who begins a ledger needs "
            "CREATE on the database."
        ) from error
    for kinds, refused, why in _SAID:
        if isinstance(error, kinds):
            raise refused(place, why) from error
    raise unwritable(place, f"the server says {type(error).__name__}") from error


class PostgresStore:
    """One connection to a database. Not thread safe; the journal locks around it."""

    def __init__(self, address: LedgerAddress, *, patience: int) -> None:
        self._place = str(address)
        self._says = for_schema(address.schema)
        lock = f"ledger {address.schema}"
        self._sql = Transactions(address.database, lock=lock, patience=patience)

    def close(self) -> None:
        self._sql.close()

    def writing(self) -> AbstractContextManager[None]:
        return self._sql.writing()

    def reading(self) -> AbstractContextManager[None]:
        return self._sql.reading()

    def wait_for_disk(self) -> None:
        """A commit has waited already, and what is not on disk cannot be seen."""

    def _run(self, statement: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        return self._sql.run(self._says(statement), values)

    def _one(self, statement: str, values: Sequence[object]) -> tuple[Any, ...] | None:
        """The first row, inside a transaction or in one of its own."""
        with nullcontext() if self._sql.under_way else self.reading():
            return next(iter(self._run(statement, values)), None)

    # Events

    def insert(self, row: Row) -> None:
        self._run("INSERT INTO {event} (seq, body, payload, hash) VALUES (%s, %s, %s, %s)", row)

    def rows_from(self, seq: int) -> Iterator[Row]:
        while True:
            found = self._run(
                "SELECT seq, body, payload, hash FROM {event} WHERE seq >= %s ORDER BY seq LIMIT %s",
                (seq, ROWS_AT_ONCE),
            )
            yield from found
            if len(found) < ROWS_AT_ONCE:
                return
            seq = found[-1][0] + 1

    def hash_at(self, seq: int) -> str | None:
        row = self._one("SELECT hash FROM {event} WHERE seq = %s", (seq,))
        return None if row is None else row[0]

    def payload_at(self, seq: int) -> bytes | None:
        row = self._one("SELECT payload FROM {event} WHERE seq = %s", (seq,))
        return None if row is None else row[0]

    # The tables

    def is_empty(self) -> bool:
        return self._one("SELECT to_regclass(%s) IS NULL", (self._says("{event}"),)) == (True,)

    def create(self, first: Row) -> bool:
        with self.writing():
            if not self.is_empty():  # another machine was faster
                return False
            for statement in CREATE:
                self._run(statement)
            self.insert(first)
            self._run(NOTE_PLACE)
        return True

    def check_schema(self) -> None:
        with self.reading():
            if self.is_empty():
                raise damaged(self._place, "its tables were removed")
            found = [self._run(question) for question in QUESTIONS]
        if found != expected(self._says):
            raise damaged(self._place, "its tables or triggers were altered, or it is not a ledger")

    def check_pages(self, how: Literal["quick_check", "integrity_check"]) -> None:
        """The chain covers every byte of every event; a database has no other check that a user may run."""

    def check_files(self) -> None:
        if self._run(IS_PLACE) != [(True,)]:
            raise LedgerDamaged(
                f"The ledger {self._place} was written by another server or to another table: a backup was "
                "restored, or a standby took over, and its newest charges may be missing. Nothing was charged. "
                f"{HOW_TO_ACCEPT}"
            )

    def adopt(self) -> None:
        self._run("DELETE FROM {place}")
        self._run(NOTE_PLACE)


_APPENDED = """
BEGIN
  IF NEW.seq IS DISTINCT FROM (SELECT coalesce(max(seq), 0) + 1 FROM {event}) THEN
    RAISE EXCEPTION 'ledger events are only appended';
  END IF;
  RETURN NEW;
END"""
_NEVER = """
BEGIN
  RAISE EXCEPTION 'ledger events are never changed or deleted';
END"""

CREATE = (
    "CREATE SCHEMA IF NOT EXISTS {schema}",
    """CREATE TABLE {event} (
  seq bigint NOT NULL PRIMARY KEY, body text NOT NULL, payload bytea, hash text NOT NULL)""",
    # No foreign key or oid type: a dump must carry the old number, so that it shows.
    "CREATE TABLE {place} (events bigint NOT NULL, timeline text NOT NULL, system text NOT NULL)",
    f"""CREATE FUNCTION {{schema}}.event_is_appended() RETURNS trigger LANGUAGE plpgsql
  SET search_path = pg_catalog AS $body${_APPENDED}$body$""",
    f"""CREATE FUNCTION {{schema}}.event_is_never_changed() RETURNS trigger LANGUAGE plpgsql
  SET search_path = pg_catalog AS $body${_NEVER}$body$""",
    """CREATE TRIGGER event_is_appended BEFORE INSERT ON {event}
  FOR EACH ROW EXECUTE FUNCTION {schema}.event_is_appended()""",
    """CREATE TRIGGER event_is_never_changed BEFORE UPDATE OR DELETE ON {event}
  FOR EACH ROW EXECUTE FUNCTION {schema}.event_is_never_changed()""",
    """CREATE TRIGGER event_is_never_emptied BEFORE TRUNCATE ON {event}
  FOR EACH STATEMENT EXECUTE FUNCTION {schema}.event_is_never_changed()""",
    # ALWAYS: also for sessions that play replicas, in which ordinary triggers sleep.
    "ALTER TABLE {event} ENABLE ALWAYS TRIGGER event_is_appended",
    "ALTER TABLE {event} ENABLE ALWAYS TRIGGER event_is_never_changed",
    "ALTER TABLE {event} ENABLE ALWAYS TRIGGER event_is_never_emptied",
)

_HERE = """'{event}'::regclass::oid::bigint,
  substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8), (SELECT system_identifier::text FROM pg_control_system())"""
NOTE_PLACE = f"INSERT INTO {{place}} VALUES ({_HERE})"
IS_PLACE = f"SELECT (events, timeline, system) = ({_HERE}) FROM {{place}}"
"""Whether these are the table and the server's history to which the ledger was written."""

QUESTIONS = (
    """SELECT attname::text, format_type(atttypid, atttypmod), attnotnull FROM pg_attribute
  WHERE attrelid = '{event}'::regclass AND attnum > 0 AND NOT attisdropped ORDER BY attnum""",
    """SELECT t.tgname::text, t.tgtype::int, t.tgenabled::text, p.prosrc FROM pg_trigger t
  JOIN pg_proc p ON p.oid = t.tgfoid
  WHERE t.tgrelid = '{event}'::regclass AND NOT t.tgisinternal ORDER BY 1""",
    """SELECT relkind::text, relpersistence::text, relrowsecurity, relhasrules, relhassubclass
  FROM pg_class WHERE oid = '{event}'::regclass""",
    """SELECT indkey::text FROM pg_index
  WHERE indrelid = '{event}'::regclass AND indisprimary AND indisvalid""",
)
"""About the columns, the triggers, the table itself (logged, with no rules) and its primary key."""


def for_schema(schema: str) -> Callable[[str], str]:
    """Fills the names of one ledger's schema into a statement."""
    names = {name: f'"{schema}"."{name}"' for name in ("event", "place")}

    def fill(statement: str) -> str:
        for name, full in names.items():
            statement = statement.replace("{" + name + "}", full)
        return statement.replace("{schema}", f'"{schema}"')

    return fill


def expected(fill: Callable[[str], str]) -> list[list[tuple[Any, ...]]]:
    """The answers to `QUESTIONS` where nothing was altered."""
    return [
        [
            ("seq", "bigint", True),
            ("body", "text", True),
            ("payload", "bytea", False),
            ("hash", "text", True),
        ],
        [  # before each row: insert is 7, update or delete 27; before a statement: truncate is 34
            ("event_is_appended", 7, "A", fill(_APPENDED)),
            ("event_is_never_changed", 27, "A", fill(_NEVER)),
            ("event_is_never_emptied", 34, "A", fill(_NEVER)),
        ],
        [("r", "p", False, False, False)],
        [("1",)],
    ]
