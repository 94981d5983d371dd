"""Whether anything but SQLite opens a ledger's database file.

POSIX drops all locks that a process holds on a file as soon as it closes any descriptor of that file,
also one that SQLite knows nothing of. So a process that opens the file for a moment lets others write
in the middle of a charge. The race is rare; that the file was opened can be seen every time.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_watched: list[tuple[str, list[str]]] = []
_installed: list[bool] = []


@contextmanager
def opened_beside_sqlite(folder: Path) -> Iterator[list[str]]:
    """Within the block, the names of database files in `folder` that this process opens by itself.

    Making a new file does not count: nobody can hold a lock on it yet.
    """
    if not _installed:
        sys.addaudithook(_listen)  # it stays until the process ends, and does nothing in between
        _installed.append(True)
    seen: list[str] = []
    entry = str(folder.resolve()), seen
    _watched.append(entry)
    try:
        yield seen
    finally:
        _watched.remove(entry)


def _listen(event: str, arguments: tuple[object, ...]) -> None:
    if not _watched or event != "open" or not isinstance(arguments[0], (str, bytes)):
        return
    flags = arguments[2] if isinstance(arguments[2], int) else 0
    path = os.path.realpath(os.fsdecode(arguments[0]))
    if not path.endswith(".db") or flags & os.O_EXCL:
        return
    for folder, seen in _watched:
        if path.startswith(folder + os.sep):
            seen.append(Path(path).name)
