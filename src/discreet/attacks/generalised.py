"""Generalised values, as k-anonymised tables print them, and which exact values they cover.

`19***` covers every text of five letters that begins with 19; `30-40` covers numbers from 30 to 40; `a|b` covers a and b;
`*` covers everything.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from discreet.errors import BadInput


def covers(general: str, value: str) -> bool:
    """Whether an exact value, or one that is written the same way, is covered."""
    if general in ("*", value):
        return True
    span = re.fullmatch(r"(-?\d+(?:\.\d+)?)-(-?\d+(?:\.\d+)?)", general)
    if span is not None:
        try:
            return float(span[1]) <= float(value) <= float(span[2])
        except ValueError:
            return False
    if "*" in general:
        stem = general.rstrip("*")
        return len(general) == len(value) and value.startswith(stem)
    return value in general.split("|")


def rows_of(table: Mapping[str, Sequence[str]], person: Mapping[str, str]) -> list[int]:
    """The rows that may be a person's, by what is known of the person."""
    known = [name for name in person if name in table]
    size = len(next(iter(table.values()), []))
    return [
        row for row in range(size) if all(covers(table[name][row], person[name]) for name in known)
    ]


def classes_of(table: Mapping[str, Sequence[str]], columns: Sequence[str]) -> list[list[int]]:
    """Rows that agree in all of `columns`, together."""
    found: dict[tuple[str, ...], list[int]] = {}
    for row, key in enumerate(zip(*(table[name] for name in columns), strict=True)):
        found.setdefault(key, []).append(row)
    return list(found.values())


Table = Mapping[str, Sequence[str]]


def intersect(tables: Sequence[Table], person: Mapping[str, str], sensitive: str) -> set[str]:
    """The sensitive values that every table allows a person who is in all of them."""
    if len(tables) < 2:
        raise BadInput("An intersection needs at least two tables.")
    left: set[str] | None = None
    for table in tables:
        if sensitive not in table:
            raise BadInput(f"Every table must have the sensitive column {sensitive!r}.")
        told = {table[sensitive][row] for row in rows_of(table, person)}
        left = told if left is None else left & told
    return left or set()


def homogeneous(
    table: Table,
    columns: Sequence[str],
    sensitive: str,
    *,
    band: Callable[[str], str] = lambda value: value,
) -> dict[int, str]:
    """Rows whose class holds one sensitive value (or one `band` of values): known without telling rows apart."""
    found = {}
    for rows in classes_of(table, columns):
        told = {band(table[sensitive][row]) for row in rows}
        if len(told) == 1:
            found.update(dict.fromkeys(rows, next(iter(told))))
    return found
