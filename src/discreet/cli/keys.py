"""Signing keys as files: 64 hexadecimal digits."""

from __future__ import annotations

from pathlib import Path

from discreet.errors import BadInput

DIGITS = frozenset("0123456789abcdefABCDEF")


def is_key(text: str) -> bool:
    return len(text) == 64 and set(text) <= DIGITS


def private_key(path: Path) -> str:
    """The private key in a file; what is wrong with it is said without showing it."""
    text = path.read_text(encoding="ascii", errors="replace").strip()
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
    read = path.read_text(encoding="ascii", errors="replace").strip()
    if not is_key(read):
        raise BadInput(f"{path} holds no public key of 64 hexadecimal digits.")
    return read
