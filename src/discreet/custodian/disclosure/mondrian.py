"""Mondrian generalisation (LeFevre, DeWitt, Ramakrishnan 2006) and suppression: how k-anonymous tables are made.

A baseline that is attacked here, not a protection. The rows are cut at the median of the widest column, again and again,
while both sides keep k rows; then every column is written as the range or the list of values in its part.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from discreet.attacks.generalised import classes_of
from discreet.errors import BadInput

Table = Mapping[str, Sequence[str]]
Codes = npt.NDArray[np.float64]
LONGEST_LIST = 8
"""Values that are still listed; more are written as *."""


def anonymised(table: Table, columns: Sequence[str], *, k: int) -> dict[str, list[str]]:
    """The table with `columns` generalised until every class has at least `k` rows. Other columns stay."""
    rows = _checked(table, columns, k)
    codes = {name: _codes(table[name]) for name in columns}
    made = {name: list(values) for name, values in table.items()}
    for part in _parts(codes, list(columns), np.arange(rows), k):
        for name in columns:
            text = _written([table[name][row] for row in part])
            for row in part:
                made[name][row] = text
    return made


def suppressed(table: Table, columns: Sequence[str], *, k: int) -> dict[str, list[str]]:
    """The table without the rows whose class has fewer than `k`."""
    _checked(table, columns, k)
    kept = sorted(row for rows in classes_of(table, columns) if len(rows) >= k for row in rows)
    return {name: [values[row] for row in kept] for name, values in table.items()}


def lost_detail(table: Table, made: Table, columns: Sequence[str]) -> float:
    """The normalised certainty penalty: 0 where nothing was generalised, 1 where everything was."""
    total = 0.0
    for name in columns:
        numbers = [number for value in table[name] if (number := _number(value)) is not None]
        span = (max(numbers) - min(numbers)) if numbers else 0.0
        distinct = max(len(set(table[name])) - 1, 1)
        for text in made[name]:
            low, dash, high = text.rpartition("-")
            if dash and _number(low) is not None and _number(high) is not None and span:
                total += (float(high) - float(low)) / span
            elif text == "*":
                total += 1.0
            else:
                total += (len(text.split("|")) - 1) / distinct
    return total / max(sum(len(made[name]) for name in columns), 1)


def _checked(table: Table, columns: Sequence[str], k: int) -> int:
    for name in columns:
        if name not in table:
            raise BadInput(f"There is no column {name!r}; there are {', '.join(table)}.")
    rows = len(next(iter(table.values()), []))
    if not columns or not 1 <= k <= max(rows, 1):
        raise BadInput(f"k is {k}; it must lie between 1 and the {rows:,} rows of the table.")
    return rows


def _parts(
    codes: Mapping[str, Codes], columns: list[str], rows: npt.NDArray[np.int64], k: int
) -> list[npt.NDArray[np.int64]]:
    waiting, found = [rows], []
    whole = {name: float(np.ptp(codes[name])) or 1.0 for name in columns}
    while waiting:
        part = waiting.pop()
        widths = {name: float(np.ptp(codes[name][part])) / whole[name] for name in columns}
        for name in sorted(columns, key=lambda each: -widths[each]):
            cut = _cut(codes[name][part], k)
            if widths[name] > 0 and cut is not None:
                waiting += [part[codes[name][part] <= cut], part[codes[name][part] > cut]]
                break
        else:
            found.append(part)
    return found


def _cut(values: Codes, k: int) -> float | None:
    """The value nearest the median that leaves k rows on either side."""
    ordered = np.sort(values)
    if len(ordered) < 2 * k:
        return None
    middle = len(ordered) // 2
    for place in sorted(range(k - 1, len(ordered) - k), key=lambda at: abs(at - middle + 1)):
        if ordered[place] < ordered[place + 1]:
            return float(ordered[place])
        if abs(place - middle) > 4 * k + 50:
            break
    distinct = np.unique(ordered)
    for cut in distinct[:-1]:
        below = int((ordered <= cut).sum())
        if below >= k and len(ordered) - below >= k:
            return float(cut)
    return None


def _codes(values: Sequence[str]) -> Codes:
    numbers = [_number(value) for value in values]
    if all(number is not None for number in numbers):
        return np.array(numbers, dtype=np.float64)
    _, places = np.unique(np.asarray(values, dtype=object).astype(str), return_inverse=True)
    return places.astype(np.float64)


def _written(values: Sequence[str]) -> str:
    distinct = sorted(set(values))
    if len(distinct) == 1:
        return distinct[0]
    numbers = [_number(value) for value in distinct]
    known = [number for number in numbers if number is not None]
    if len(known) == len(distinct):
        return (
            f"{min(known):g}-{max(known):g}"
            if max(known) < 1e6
            else f"{min(known):.0f}-{max(known):.0f}"
        )
    return "|".join(distinct) if len(distinct) <= LONGEST_LIST else "*"


def _number(value: str) -> float | None:
    try:
        return float(value)
    except ValueError:
        return None
