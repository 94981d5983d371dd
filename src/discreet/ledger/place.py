"""Where a ledger lies, and how its files are made.

One machine account keeps one ledger: the `path` given, else `$DISCREET_LEDGER`, else
`$XDG_STATE_HOME/discreet/ledger.db`, else `~/.local/state/discreet/ledger.db`. Either of the first two may
be the address of a PostgreSQL database instead, for a ledger of several machines.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from discreet.errors import LedgerError

VARIABLE = "DISCREET_LEDGER"


def is_address(place: Path | str) -> bool:
    """Whether it names a database, and not a file."""
    return isinstance(place, str) and place.startswith(("postgresql://", "postgres://"))


def default_place() -> Path | str:
    """Where the ledger lies when no path is given."""
    if chosen := os.environ.get(VARIABLE):
        return chosen if is_address(chosen) else Path(chosen).expanduser()
    return state_directory() / "ledger.db"


def state_directory() -> Path:
    """Where this account keeps what must last."""
    state = os.environ.get("XDG_STATE_HOME", "")
    # The XDG rule: a relative value is ignored.
    home = Path(state) if Path(state).is_absolute() else Path.home() / ".local" / "state"
    return home / "discreet"


def settle(path: Path | str) -> Path:
    """The one true path of the ledger, links followed, so that one ledger has one mark and one lock."""
    chosen = Path(path).expanduser()
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
    """Make `path`, empty, for its owner alone; one that exists is left as it is, and is not even opened.

    SQLite's file locks belong to the process: closing any descriptor of a database file drops them
    all. O_EXCL opens a file only if it makes it, and no connection to a new file can exist yet.
    """
    with contextlib.suppress(FileExistsError):
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))


def check_one_name(path: Path) -> None:
    """`LedgerError` unless the file at `path` is known by that name alone.

    SQLite puts its log beside the name by which it opened the file. Under two names one ledger would
    have two logs, and each would hide the other's charges. Links between names are followed before
    (`settle`); a hard link, or one file mounted alone, cannot be.
    """
    if path.is_dir():
        raise LedgerError(
            f"{path} is a directory; name a file for the ledger. Nothing was charged."
        )
    if path.stat().st_nlink != 1:
        raise LedgerError(
            f"The ledger {path} has another name (a hard link), under which its newest charges would "
            "not be seen. Nothing was charged. Delete the other name, or copy the file instead."
        )
    if str(path) in _mounted():
        raise LedgerError(
            f"The ledger {path} is mounted as a single file, so its log would be in another "
            "place than the file. Nothing was charged. Mount its directory instead."
        )


def _mounted() -> set[str]:
    """Where file systems, and single files, are mounted; nothing where the system does not tell."""
    try:
        lines = Path("/proc/self/mountinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return set()
    # The fifth word of a line; blanks inside it are written as \040.
    return {line.split(" ")[4].replace("\\040", " ") for line in lines.splitlines()}


def sync_directory(directory: Path) -> None:
    """Make the names in `directory` durable, not only the files' contents."""
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
