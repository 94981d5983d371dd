"""`postgresql://host/db`: where a PostgreSQL database is, and how it is opened, without a password in sight.

An address is written as PostgreSQL's own tools take it. A password in it would be seen in the list of
processes, in the shell's history and in logs, so it is refused by whoever reads an address; it comes from
PGPASSWORD, from a password file, or from a prompt. Tables are read, and ledgers and accounts are kept,
through connections that are opened here.
"""

from __future__ import annotations

import getpass
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, urlsplit

if TYPE_CHECKING:
    import psycopg

SCHEMES = ("postgresql://", "postgres://")
OLDEST = 140_000
"""PostgreSQL 14: the first whose NUMERIC has infinities, and whose extract() is exact."""
_CONNECT_SECONDS = "15"
_typed: dict[str, str] = {}
"""Passwords that were typed in this process, by address: nobody is asked twice. They are never written anywhere."""


class NoConnection(Exception):
    """Why a database could not be opened, in its own words. No password is in them."""


@dataclass(frozen=True, slots=True)
class Address:
    """A database."""

    uri: str

    def __str__(self) -> str:
        parts = urlsplit(self.uri)
        return f"{parts.hostname or 'the local socket'}{parts.path}"


def has_password(uri: str) -> bool:
    """Whether an address holds a password; `ValueError` if it cannot be read."""
    parts = urlsplit(uri)
    held = {name for name, _ in parse_qsl(parts.query, keep_blank_values=True)}
    return parts.password is not None or bool({"password", "sslpassword"} & held)


def connected(address: Address, **more: Any) -> psycopg.Connection[Any]:
    """A connection; `NoConnection` if there is none to be had. On a terminal it asks for a missing password."""
    import psycopg

    typed = _typed.get(address.uri)
    given: dict[str, Any] = {} if typed is None else {"password": typed}
    asks = False
    try:
        return psycopg.connect(
            address.uri,
            client_encoding="UTF8",
            application_name="discreet",
            connect_timeout=_CONNECT_SECONDS,
            **given,
            **more,
        )
    except psycopg.Error as error:
        wanted = getattr(error, "pgconn", None)
        asks = typed is None and wanted is not None and wanted.needs_password
        said = _reason(str(error)) or type(error).__name__
    if asks and sys.stdin.isatty():
        _typed[address.uri] = getpass.getpass(f"Password for {address}: ")
        return connected(address, **more)
    _typed.pop(address.uri, None)  # it may be the wrong one: the next try asks again
    raise NoConnection(f"{said[:300]}.")


def _reason(message: str) -> str:
    """The last line of a driver's message that is a reason, on one line and without a full stop."""
    lines = [" ".join(line.split()) for line in message.splitlines()]
    reasons = [line for line in lines if line and not line.startswith("Is the server running")]
    return reasons[-1].rstrip(".") if reasons else ""
