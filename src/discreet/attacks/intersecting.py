"""Intersection and homogeneity: what k-anonymised tables still say about one person."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from discreet.attacks.generalised import classes_of, rows_of
from discreet.errors import BadInput

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
