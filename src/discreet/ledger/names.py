"""The words that callers hand to the ledger, made canonical or refused."""

from __future__ import annotations

import os
import pwd
import unicodedata

from discreet.errors import BadInput

LONGEST_NAME = 200
LONGEST_TEXT = 10_000

_INVISIBLE = {"Cc", "Cf", "Cs", "Zl", "Zp"}


def name_of(value: str, *, what: str) -> str:
    """`value` as a key, in Unicode NFC.

    Two names that look alike must not be two caps, so invisible characters and blanks
    at the ends are refused rather than cut off.
    """
    text = text_of(value, what=what, longest=LONGEST_NAME)
    name = unicodedata.normalize("NFC", text)
    if name != name.strip():
        raise BadInput(f"{what} {name!r} begins or ends with a blank. Nothing was charged.")
    if any(unicodedata.category(character) in _INVISIBLE for character in name):
        raise BadInput(f"{what} {name!r} holds an invisible character. Nothing was charged.")
    return name


def name_or_none(value: str | None, *, what: str) -> str | None:
    """As `name_of`, where None means nobody in particular."""
    return None if value is None else name_of(value, what=what)


def text_of(value: str, *, what: str, longest: int = LONGEST_TEXT) -> str:
    """`value`, if it is a non-empty text that can be stored."""
    if not isinstance(value, str) or not value:
        raise BadInput(f"{what} must be a text that is not empty. Nothing was charged.")
    if len(value) > longest:
        raise BadInput(f"{what} has {len(value)} characters; at most {longest} are kept.")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise BadInput(f"{what} {value!r} is not valid Unicode. Nothing was charged.") from None
    return value


def account_name() -> str:
    """Who runs this process, by the operating system's own list; an environment variable could say anything."""
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return f"user {os.getuid()}"
