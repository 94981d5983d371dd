"""The file that a release goes to: its name is reserved, and disk space is checked, before anything is charged.

A charge is never refunded, so the file must not be what a run fails for. Whatever can be known
beforehand is checked: that the name is free, that no other run is about to write it, that the disk
has room. If the file still cannot be written, the release is kept in another directory: its numbers
are paid for.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from discreet.artifacts.files import write_members
from discreet.errors import BadInput, NotWritten
from discreet.releases.preparing import Prospect

NOTHING_DONE = "Nothing was read or charged."
BYTES_A_NUMBER = 16
"""A measured number, and an estimate beside it."""
BYTES_BESIDE = 1 << 20
"""The manifest, and what a model needs."""


class OutputFile:
    """A name that this run alone may write to."""

    def __init__(self, path: Path | str, *, overwrite: bool) -> None:
        self.place, self._overwrite = Path(path), overwrite
        if self.place.is_dir():
            raise BadInput(f"{self.place} is a directory; name a file. {NOTHING_DONE}")
        if not self.place.parent.is_dir():
            raise BadInput(f"The directory {self.place.parent} does not exist. {NOTHING_DONE}")
        if not os.access(self.place.parent, os.W_OK):
            raise BadInput(
                f"The directory {self.place.parent} cannot be written to. {NOTHING_DONE}"
            )
        self._check_free()
        self.not_written: NotWritten | None = None

    def _check_free(self) -> None:
        if self.place.exists() and not self._overwrite:
            raise BadInput(
                f"{self.place} exists, and may be a release that was paid for. {NOTHING_DONE} "
                "Name another file, or allow overwriting."
            )

    def check_room(self, prospect: Prospect) -> None:
        """Public facts say how many numbers there will be, nearly; a model may need a little more."""
        numbers = sum(
            request.query.size(prospect.schema)
            for part in prospect.parts
            for request in part.requests
        )
        needed = BYTES_BESIDE + BYTES_A_NUMBER * numbers
        free = shutil.disk_usage(self.place.parent).free
        if free < needed:
            raise BadInput(
                f"The release needs about {_megabytes(needed)}, and the disk of {self.place.parent} "
                f"has {_megabytes(free)} left. {NOTHING_DONE} Make room, or name a file on another disk."
            )

    @contextmanager
    def reserved(self) -> Iterator[None]:
        """Hold the name until the run is over.

        A lock on a file beside it: the system lets go of it when the process ends, however it ends.
        """
        beside = self.place.with_name(f".{self.place.name}.reserved")
        try:
            descriptor = _locked(beside)
        except OSError as error:
            raise BadInput(
                f"{self.place} cannot be reserved, because {beside} cannot be opened: {error.strerror}. "
                f"{NOTHING_DONE} Name another file."
            ) from None
        if descriptor is None:
            raise BadInput(
                f"Another release is being written to {self.place}. {NOTHING_DONE} Name another file."
            )
        try:
            self._check_free()  # another run may have written it just now
            yield
        finally:
            with suppress(OSError):
                beside.unlink()
            os.close(descriptor)

    def write(self, members: Mapping[str, bytes]) -> None:
        """Write the release, or keep it elsewhere and remember in `not_written` to say so."""
        try:
            if self.place.exists() and not self._overwrite:
                raise BadInput(f"{self.place} was made by another program in the meantime.")
            write_members(members, self.place)
        except BadInput as error:
            kept = self._rescued(members)
            if kept is None:
                raise NotWritten(
                    f"{error} The charge stands, and the numbers are lost: no other directory could be "
                    "written to either. See `discreet ledger show`."
                ) from None
            self.not_written = NotWritten(
                f"{error} The charge stands. The release was paid for, and is kept whole in {kept}: "
                "make room and move it to its place. Do not pay for it again."
            )

    def _rescued(self, members: Mapping[str, bytes]) -> Path | None:
        for directory in (Path.home, Path.cwd, tempfile.gettempdir):
            made = None
            try:  # there may be no such directory: an account without a home, one that was deleted
                made = Path(tempfile.mkdtemp(prefix="discreet-rescue-", dir=directory()))
                write_members(members, made / self.place.name)
                return made / self.place.name
            except (OSError, RuntimeError, BadInput):
                if made is not None:
                    shutil.rmtree(made, ignore_errors=True)
        return None


def _locked(path: Path) -> int | None:
    """A lock on the file of that name, or `None` where another process holds it.

    Links are not followed. In a directory that others can write to, one could make us create a file
    elsewhere, or open and close a ledger's database, which drops SQLite's locks on it.
    """
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    while True:
        descriptor = os.open(path, flags, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            return None
        except OSError:  # a file system without locks: the name stays unguarded
            return descriptor
        try:
            if path.stat().st_ino == os.fstat(descriptor).st_ino:
                return descriptor
        except FileNotFoundError:  # its last holder removed it: it is no lock any more
            pass
        os.close(descriptor)


def _megabytes(size: int) -> str:
    """In kilobytes where megabytes would make two sizes look alike."""
    return f"{size / 1e6:,.0f} MB" if size >= 10_000_000 else f"{size / 1e3:,.0f} kB"
