"""Writing files whole or not at all; signing keys as files."""

from __future__ import annotations

import fcntl
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from discreet.errors import BadInput


def refuse_overwriting(path: Path, *, force: bool | None) -> None:
    """Before any work: an existing file stays as it is unless `--force` says otherwise (`None`: nothing can)."""
    if path.is_dir():
        raise BadInput(f"{path} is a directory; name a file. Nothing was done.")
    if path.exists() and not force:
        remedy = "Name another file." if force is None else "Name another file, or add --force."
        raise BadInput(f"{path} exists. Nothing was done. {remedy}")
    if not path.parent.is_dir():
        raise BadInput(f"The directory {path.parent} does not exist. Nothing was done.")


@contextmanager
def held_alone(path: Path) -> Iterator[None]:
    """No other run holds `path` meanwhile. A lock on a file beside it, which stays there: `path` itself is replaced."""
    beside = path.with_name(f".{path.name}.lock")
    try:
        descriptor = os.open(beside, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    except OSError as error:  # of a name that nobody typed
        raise OSError(error.errno, error.strerror, str(path)) from error
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise BadInput(
                f"Another run works with {path}. Nothing was done. Wait until it has ended."
            ) from None
        yield
    finally:
        os.close(descriptor)


def write_text(path: Path, text: str) -> None:
    """`text` under `path`, through a file beside it that is renamed when it is complete."""
    try:
        _write_beside(path, text)
    except OSError as error:  # of the file beside it, whose name nobody typed
        raise OSError(error.errno, error.strerror, str(path)) from error


def _write_beside(path: Path, text: str) -> None:
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".part")
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        mask = os.umask(0)
        os.umask(mask)
        Path(name).chmod(0o666 & ~mask)  # as open() would have made it, not private as mkstemp does
        Path(name).replace(path)
    except BaseException:  # an interruption too must leave nothing behind
        Path(name).unlink(missing_ok=True)
        raise


DIGITS = frozenset("0123456789abcdefABCDEF")
SECRET = "# discreet private key: keep it secret; releases are signed with it, and verified with the public one"
"""The first line of a private key's file: without it the two kinds of key look alike."""


def is_key(text: str) -> bool:
    return len(text) == 64 and set(text) <= DIGITS


def private_key(path: Path) -> str:
    """The private key in a file; what is wrong with it is said without showing it."""
    _, text = _read(path)
    if path.suffix == ".pub":
        raise BadInput(
            f"{path} is named like a public key; sign with the private one, in the file that "
            "`discreet key` wrote. Nothing was read or charged."
        )
    if not is_key(text):
        raise BadInput(
            f"{path} holds no signing key: 64 hexadecimal digits, as `discreet key` writes."
        )
    return text


def public_key(text: str) -> str:
    """A public key as it was typed, or the one in the file that was named."""
    if is_key(text):
        return text
    path = Path(text)
    if not path.is_file():
        raise BadInput(f"{text!r} is neither a public key of 64 hexadecimal digits nor a file.")
    is_secret, read = _read(path)
    if is_secret:
        raise BadInput(
            f"{path} holds the PRIVATE key, which stays with its owner; verify with the public one, which "
            "`discreet key` printed when it made the pair (as in `discreet key custodian.key > custodian.pub`)."
        )
    if not is_key(read):
        raise BadInput(f"{path} holds no public key of 64 hexadecimal digits.")
    return read


def _read(path: Path) -> tuple[bool, str]:
    """Whether a file says that it is secret, and the rest of it."""
    text = path.read_text(encoding="ascii", errors="replace").strip()
    return text.startswith(SECRET[:22]), "".join(
        line for line in text.splitlines() if not line.startswith("#")
    ).strip()
