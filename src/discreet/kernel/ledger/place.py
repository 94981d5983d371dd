"""Where a ledger lies, and how its files are made.

One machine account keeps one ledger: the `path` given, else `$DISCREET_LEDGER`, else
`$XDG_STATE_HOME/discreet/ledger.db`, else `~/.local/state/discreet/ledger.db`.
"""

from __future__ import annotations

import os
from pathlib import Path

from discreet.errors import LedgerError

VARIABLE = "DISCREET_LEDGER"


def default_place() -> Path:
    """Where the ledger lies when no path is given."""
    if chosen := os.environ.get(VARIABLE):
        return Path(chosen).expanduser()
    state = os.environ.get("XDG_STATE_HOME", "")
    # The XDG rule: a relative value is ignored.
    home = Path(state) if Path(state).is_absolute() else Path.home() / ".local" / "state"
    return home / "discreet" / "ledger.db"


def settle(path: Path | str | None) -> Path:
    """The one true path of the ledger, links followed, so that one ledger has one mark and one lock."""
    chosen = default_place() if path is None else Path(path).expanduser()
    try:
        return chosen.resolve()
    except (OSError, RuntimeError) as error:
        raise LedgerError(f"The ledger's path {chosen} cannot be followed: {error}.") from error


def make_directory(directory: Path) -> None:
    """Make `directory` for its owner alone; one that exists is left as it is."""
    try:
        directory.parent.mkdir(parents=True, exist_ok=True)
        directory.mkdir(mode=0o700, exist_ok=True)
    except OSError as error:
        raise LedgerError(
            f"The ledger's directory {directory} cannot be made: {error.strerror}. Nothing was "
            f"charged. Give another path, or set {VARIABLE}."
        ) from error


def make_private_file(path: Path) -> None:
    """Make `path`, empty, for its owner alone; one that exists is left as it is."""
    os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))


def sync_directory(directory: Path) -> None:
    """Make the names in `directory` durable, not only the files' contents."""
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
