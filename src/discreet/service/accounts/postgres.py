"""Accounts in PostgreSQL, beside a ledger there: for a service on several machines.

They stand in a schema of their own, named after the ledger's: `discreet_accounts`. People, tokens,
sessions and idempotency keys are then the same whichever machine a request comes to.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import psycopg
from psycopg import errors

from discreet.errors import BadInput
from discreet.ledger.stores.postgres_home import LedgerAddress
from discreet.postgres_addresses import NoConnection
from discreet.postgres_transactions import Transactions
from discreet.service.accounts.kept import FORMAT, TABLES, Accounts, Run
from discreet.service.limits.refusals import Away

PATIENCE = 30


@contextmanager
def _plain_errors(place: str) -> Iterator[None]:
    """PostgreSQL's errors in one sentence, without its own words."""
    try:
        yield
    except NoConnection as error:
        said = f"The accounts' database {place} cannot be opened: {error}"
    except errors.InsufficientPrivilege:
        said = f"The accounts' database {place} does not let this user do that."
    except psycopg.Error:
        said = f"The accounts' database {place} is unavailable, busy or read-only."
    else:
        return
    raise Away(f"{said} Nothing was read or charged. Ask again when it works.")


class PostgresDatabase:
    """One connection to a schema. Thread safe: one transaction at a time, and for several machines."""

    def __init__(self, ledger: str) -> None:
        address = LedgerAddress.read(ledger)
        self._schema = f"{address.schema[:54]}_accounts"
        self._place = f"{address.database}#{self._schema}"
        self._lock = threading.Lock()
        with _plain_errors(self._place):
            self._sql = Transactions(
                address.database,
                lock=self._schema,
                patience=PATIENCE,
                names=f'"{self._schema}", pg_catalog',
            )
        try:
            self._begin()
        except BaseException:
            self.close()
            raise

    def _begin(self) -> None:
        with self.writing() as write:
            if write("SELECT to_regclass(?) IS NULL", (f'"{self._schema}".format',)) == [(True,)]:
                write(f'CREATE SCHEMA IF NOT EXISTS "{self._schema}"')
                for statement in TABLES:
                    numbered = "BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY"
                    write(statement.format(whole="BIGINT", number=numbered))
                write("CREATE TABLE format (version BIGINT NOT NULL)")
                write("INSERT INTO format VALUES (?)", (FORMAT,))
            ((version,),) = write("SELECT version FROM format")
            if version != FORMAT:
                raise BadInput(
                    f"The accounts in {self._place} were written by another version of discreet (format "
                    f"{version}, this one reads {FORMAT}). Nothing was changed."
                )

    def _run(self, statement: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        if any(isinstance(value, str) and "\x00" in value for value in values):
            raise BadInput("A text holds a NUL character, which the database cannot keep.")
        return self._sql.run(statement.replace("?", "%s"), values)

    @contextmanager
    def writing(self, *, lasting: bool = False) -> Iterator[Run]:  # all of them last
        with self._lock, _plain_errors(self._place), self._sql.writing():
            yield self._run

    def read(self, statement: str, *values: Any) -> list[tuple[Any, ...]]:
        with self._lock, _plain_errors(self._place), self._sql.reading():
            return self._run(statement, values)

    def is_ready(self) -> bool:
        try:
            return bool(self.read("SELECT 1"))
        except Away:
            return False

    def close(self) -> None:
        with self._lock:
            self._sql.close()


class PostgresAccounts(Accounts):
    """The `Accounts` of several machines that share a ledger."""

    def __init__(self, ledger: str, *, clock: Callable[[], float] = time.time) -> None:
        super().__init__(PostgresDatabase(ledger), clock=clock)
