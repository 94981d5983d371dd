"""Private directories for what an engine spills to disk: pieces of raw rows.

Each is readable by its owner only, holds a lock file that its process keeps locked, and is removed
at close and at exit. A process that was killed cannot remove its own, but the operating system
drops its lock, so the next start sweeps it: whoever gets the lock knows that nobody is left. A
process id would not do, for ids are reused and mean nothing across containers.
"""

from __future__ import annotations

import atexit
import contextlib
import fcntl
import os
import shutil
import stat
import tempfile
from pathlib import Path

PREFIX = "discreet-spill-"
_LOCK = "lock"


class SpillDirectory:
    """One private directory, gone after `remove`."""

    def __init__(self, parent: str | Path | None = None) -> None:
        place = Path(parent if parent is not None else tempfile.gettempdir())
        sweep(place)
        self._owner = os.getpid()
        # Locked before it gets a name that a sweep looks for.
        fresh = Path(tempfile.mkdtemp(prefix="." + PREFIX, dir=place))  # mode 0700
        self._lock = os.open(fresh / _LOCK, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        self.path = fresh.with_name(fresh.name[1:])
        fresh.rename(self.path)
        atexit.register(self.remove)

    def remove(self) -> None:
        """Deletes the directory. A forked child leaves its parent's alone."""
        if self._lock < 0 or os.getpid() != self._owner:
            return
        shutil.rmtree(self.path, ignore_errors=True)
        os.close(self._lock)
        self._lock = -1
        atexit.unregister(self.remove)


def sweep(place: Path) -> None:
    """Removes the directories that killed processes left behind."""
    with contextlib.suppress(OSError):
        for found in place.glob(PREFIX + "*"):
            with contextlib.suppress(OSError):
                _remove_if_orphaned(found)


def _remove_if_orphaned(found: Path) -> None:
    status = found.lstat()
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.getuid():
        return
    lock = os.open(found / _LOCK, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)  # BlockingIOError: its owner lives
        shutil.rmtree(found, ignore_errors=True)
    finally:
        os.close(lock)
