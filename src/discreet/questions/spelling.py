"""How the text of a query class spells its columns and its weight."""

from __future__ import annotations

import re
from fractions import Fraction

from discreet.errors import BadInput


def quoted(name: str) -> str:
    """A column's name as it stands in the text of a class: odd ones in double quotes."""
    return name if re.fullmatch(r"[^\W\d]\w*", name) else '"' + name.replace('"', '""') + '"'


def checked_weight(weight: Fraction | int) -> Fraction:
    """The weight of a class, exact and above 0."""
    value = Fraction(weight)
    if value <= 0:
        raise BadInput(f"The weight of a query class is {value}; it must be greater than 0.")
    return value
