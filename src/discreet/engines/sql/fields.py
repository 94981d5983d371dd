"""How a column of a database is read, whatever the database calls its type."""

from __future__ import annotations

import re
from dataclasses import dataclass

MIXED_UP = re.compile(r"citext|jsonb|.* collate( .*)?|ROUNDED .*", re.IGNORECASE | re.DOTALL)
"""Types of which equal values are spelled differently, so that one person would be several, or different ones alike."""


@dataclass(frozen=True, slots=True)
class FieldType:
    """The family of a type: "unreadable" where each of its values counts as null.

    An "unknown" type, of some newer version or an extension, is refused: it must not be taken for nulls.
    """

    family: str
    digits: int = 0
    """How many digits a decimal has, or a number of single precision, or a short whole number in Spark."""
    scale: int = 0
    """How many digits of a decimal stand behind the point."""
    per_second: int = 0
    """How many units of an instant make a second."""

    @property
    def is_text(self) -> bool:
        return self.family in ("text", "digits")
