"""Signing keys as files: 64 hexadecimal digits, behind a line that says so where they are secret."""

from __future__ import annotations

from pathlib import Path

from discreet.errors import BadInput

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
