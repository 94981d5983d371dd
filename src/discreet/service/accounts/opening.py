"""Where the accounts of a service are: beside its ledger."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

from discreet.ledger.place import is_address
from discreet.service.accounts.kept import Accounts
from discreet.service.accounts.sqlite import SqliteAccounts, SqliteDatabase

_SHARED = "discreet.service.accounts.postgres"
"""Loaded only where the ledger is in PostgreSQL."""
COPIED = ("person", "token", "session", "idempotency", "question", "event")


def open_accounts(file: Path, ledger: Path | str) -> Accounts:
    """The accounts in PostgreSQL, if the ledger is there; else in `file`."""
    if is_address(ledger):
        accounts: Accounts = import_module(_SHARED).PostgresAccounts(ledger)
        return accounts
    return SqliteAccounts(file)


def copy_accounts(accounts: Accounts, target: Path) -> None:
    """A consistent copy as a new SQLite file, also while the service runs."""
    copy = SqliteDatabase(target)
    try:
        with accounts.database.writing() as run, copy.writing() as write:
            for table in COPIED:
                for row in run(f"SELECT * FROM {table}"):
                    write(f"INSERT INTO {table} VALUES ({', '.join('?' * len(row))})", row)
    finally:
        copy.close()
