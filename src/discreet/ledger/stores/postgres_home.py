"""Where a ledger of several machines lies: a schema of a PostgreSQL database, and a mark on each machine.

The address is `postgresql://host/db`, and after a # perhaps the name of the schema that holds the
ledger; `discreet` if none is given. Each machine keeps a high-water mark of its own, outside the
database: what this machine has seen can then not be taken back unnoticed, whoever restores the
database. A machine that never saw the ledger begins its mark with what it finds.
"""

from __future__ import annotations

import hashlib
import os
import re
from contextlib import AbstractContextManager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, unquote, urlsplit

from discreet.errors import BadInput
from discreet.ledger.mark import MarkFile
from discreet.ledger.place import make_directory, settle, state_directory
from discreet.postgres_addresses import Address, has_password

if TYPE_CHECKING:
    from discreet.ledger.stores.postgres import PostgresStore

DEFAULT_SCHEMA = "discreet"
_SCHEMA_NAME = re.compile(r"[a-z_][a-z0-9_]{0,62}")
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9.-]+")


@dataclass(frozen=True, slots=True)
class LedgerAddress:
    """A database and the schema in it."""

    database: Address
    schema: str

    @classmethod
    def read(cls, text: str) -> LedgerAddress:
        uri, _, fragment = text.partition("#")
        try:
            refused, schema = has_password(uri), unquote(fragment) or DEFAULT_SCHEMA
        except ValueError:
            raise BadInput(
                "The address of the ledger's database cannot be read. Nothing was charged. Write it as "
                "postgresql://user@host:5432/db."
            ) from None
        if refused:
            raise BadInput(
                "The address of the ledger's database holds a password, which others can see there. Nothing was "
                "charged. Take it out, and give it in the variable PGPASSWORD, in a password file, or when asked."
            )
        if not _SCHEMA_NAME.fullmatch(schema) or schema.startswith("pg_"):
            raise BadInput(
                f"The ledger's schema {schema[:70]!r} is not a name of small letters, digits and underscores. "
                "Nothing was charged. Write postgresql://host/db#name, or leave it out."
            )
        return cls(Address(uri), schema)

    def __str__(self) -> str:
        return f"{self.database}#{self.schema}"

    @property
    def key(self) -> str:
        """The same for every user of one ledger on this machine."""
        parts = urlsplit(self.database.uri)
        given = {name: values[-1] for name, values in parse_qs(parts.query).items()}
        host = given.get("host") or parts.hostname or os.environ.get("PGHOST", "")
        port = given.get("port") or parts.port or os.environ.get("PGPORT", "5432")
        name = given.get("dbname") or unquote(parts.path[1:]) or os.environ.get("PGDATABASE", "")
        return f"{host}:{port}/{name}#{self.schema}"


@dataclass(frozen=True, slots=True)
class PostgresHome:
    """A ledger in a database. Nothing is opened until it is asked for."""

    address: LedgerAddress
    marks: MarkFile
    patience: int
    is_shared = True

    @classmethod
    def at(cls, text: str, mark: Path | str | None, *, patience: int) -> PostgresHome:
        address = LedgerAddress.read(text)
        if find_spec("psycopg") is None:
            raise BadInput(
                "A ledger in PostgreSQL is kept through psycopg, which is not installed. Nothing was charged. "
                "Install discreet[postgres]."
            )
        place = _own_mark(address) if mark is None else settle(mark)
        lock = place.with_name(place.name + ".lock")
        return cls(address, MarkFile(place, lock=lock, patience=patience), patience)

    @property
    def path(self) -> str:
        return str(self.address)

    def exists(self) -> bool:
        store = self.open()
        try:
            return not store.is_empty()
        finally:
            store.close()

    def prepare(self) -> None:
        make_directory(self.marks.path.parent)

    def open(self, *, make: bool = False) -> PostgresStore:
        """A connection. The schema and its tables are made by `create`, so there is nothing to make first."""
        from discreet.ledger.stores.postgres import PostgresStore

        return PostgresStore(self.address, patience=self.patience)

    def plain_errors(self) -> AbstractContextManager[None]:
        from discreet.ledger.stores.postgres import plain_errors

        return plain_errors(self.path)


def _own_mark(address: LedgerAddress) -> Path:
    """The mark of this account on this machine."""
    digest = hashlib.sha256(address.key.encode()).hexdigest()[:12]
    readable = _NOT_IN_NAMES.sub("-", str(address)).strip("-.")[:80]
    return state_directory() / "marks" / f"{readable}-{digest}.mark"
