"""The protocol of a store: what the journal needs to keep events. SQLite is the default; PostgreSQL serves several machines.

The journal decides what an event says and checks the chain; a store keeps events, one transaction at a
time. So caps, units, notions, chain and mark are the same wherever the events are kept.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Literal, Protocol

from discreet.ledger.chain import Row
from discreet.ledger.mark import MarkFile


class Store(Protocol):
    """A connection to the events. Not thread safe; the journal locks around it."""

    def close(self) -> None:
        """Close the connection. What was committed stays."""
        ...

    def is_empty(self) -> bool:
        """Whether no ledger was begun here."""
        ...

    def create(self, first: Row) -> bool:
        """Lay the table with its first event, durably, in one transaction. False if another machine was faster."""
        ...

    def check_schema(self) -> None:
        """`LedgerDamaged` unless this is a ledger whose rules against changed events are in place."""
        ...

    def check_pages(self, how: Literal["quick_check", "integrity_check"]) -> None:
        """The store's own check of its files, where it has one."""
        ...

    def check_files(self) -> None:
        """`LedgerDamaged` if the events are no longer those that this connection began with."""
        ...

    def wait_for_disk(self) -> None:
        """Return when every event that this connection has seen or written is on disk."""
        ...

    def writing(self) -> AbstractContextManager[None]:
        """One transaction that excludes every other writer from its first moment to its commit."""
        ...

    def reading(self) -> AbstractContextManager[None]:
        """One consistent view, given back at the end."""
        ...

    def insert(self, row: Row) -> None:
        """Append an event. Only inside `writing`."""
        ...

    def rows_from(self, seq: int) -> Iterator[Row]:
        """The events from number `seq` on, in order."""
        ...

    def hash_at(self, seq: int) -> str | None:
        """The chain's hash at event `seq`."""
        ...

    def payload_at(self, seq: int) -> bytes | None:
        """The answer recorded in event `seq`."""
        ...

    def adopt(self) -> None:
        """Take this copy of the events for the true one from now on. Only inside `writing`, by `accept_mark`."""
        ...


class Home(Protocol):
    """Where one ledger lies: how to reach its events, and where its high-water mark is."""

    @property
    def path(self) -> Path | str:
        """The file, or the database's address; no password is in it."""
        ...

    @property
    def marks(self) -> MarkFile:
        """The high-water mark, outside the events."""
        ...

    @property
    def is_shared(self) -> bool:
        """Whether several machines use it, each with a mark of its own."""
        ...

    def exists(self) -> bool:
        """Whether there is a ledger, or a damaged one. Nothing is made."""
        ...

    def prepare(self) -> None:
        """Make the directories that its files need."""
        ...

    def open(self, *, make: bool = False) -> Store:
        """A connection. With `make`, an empty place for events is made first if there is none."""
        ...

    def plain_errors(self) -> AbstractContextManager[None]:
        """The database's and the system's errors as the ledger's own."""
        ...
