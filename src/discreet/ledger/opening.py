"""From what people write, a path or a database's address, to the place of a ledger."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from discreet.ledger.place import default_place, is_address, settle
from discreet.ledger.stores.sqlite import SqliteHome

if TYPE_CHECKING:
    from discreet.ledger.stores.protocol import Home

PATIENCE = 30
"""Seconds to wait for other processes before `LedgerBusy`."""
_SHARED = "discreet.ledger.stores.postgres_home"
"""Loaded only for those who name a database: its driver is no part of the core."""


def home_of(
    path: Path | str | None, mark: Path | str | None = None, *, patience: int = PATIENCE
) -> Home:
    """Where the ledger of `path` lies; without a path, in the default place. Nothing is opened."""
    chosen = default_place() if path is None else path
    if is_address(chosen):
        home: Home = import_module(_SHARED).PostgresHome.at(chosen, mark, patience=patience)
        return home
    return SqliteHome.at(settle(chosen), mark, patience=patience)


def is_begun(path: Path | str | None) -> bool:
    """Whether there is a ledger at `path`, or in the default place. None is made."""
    home = home_of(path)
    with home.plain_errors():
        return home.exists()
