"""Tables in which rows without a cell have one: counted from the tables of fewer columns.

A row has no cell in a table if some of its columns leave it out. The rows that one column leaves out are those of the table
without that column, less those of the table with it. So the table over all columns, each with one more cell, follows from the tables
over fewer of them; the smallest is the number of rows. Every row then lies in exactly one cell.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import numpy.typing as npt

Counts = npt.NDArray[np.int64]
Columns = tuple[str, ...]


def tables_for(columns: Columns, completed: Sequence[str]) -> tuple[Columns, ...]:
    """The tables that the completed one is counted from, that over all columns first."""
    return tuple(dict.fromkeys(_without(columns, tuple(completed))))


def _without(columns: Columns, completed: Columns) -> Iterator[Columns]:
    if not completed:
        yield columns
        return
    first, rest = completed[0], completed[1:]
    yield from _without(columns, rest)
    yield from _without(tuple(name for name in columns if name != first), rest)


def completed_table(
    columns: Columns, completed: Sequence[str], tables: Mapping[Columns, Counts]
) -> Counts:
    """The table over `columns` with one more cell, the last, in each of those `completed`."""
    if not completed:
        return tables[columns].reshape(()) if not columns else tables[columns]
    first, rest = completed[0], completed[1:]
    inside = completed_table(columns, rest, tables)
    every_row = completed_table(tuple(name for name in columns if name != first), rest, tables)
    axis = columns.index(first)
    outside = every_row - inside.sum(axis=axis, dtype=np.int64)
    return np.concatenate([inside, np.expand_dims(outside, axis)], axis=axis)
