"""What DuckDB says of the rows that a schema keeps, clamped as the schema says.

A question is written with marks around its columns. A release is asked for the plain names. DuckDB has three columns for
each: its value in conditions (clamped to the edge, or as it is where outside values share a cell), the value that sums
add, which is null without a value cell, and the name of its cell, for groups.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import date, datetime, timedelta
from itertools import combinations
from typing import Any

import duckdb
import pyarrow

from discreet.questions.spelling import quoted
from discreet.schema import Column, OrderedColumn, Schema
from tests.curator.reference import clamped_value, column_value
from tests.harness.release_questions.tables import ARROW_TYPES, Table

_MARKED = re.compile(r"«(.+?)»|‹(.+?)›|⟨(.+?)⟩")
TABLE = "⟪t⟫"


def plain(marked: str) -> str:
    """The question as an analyst writes it."""
    return _MARKED.sub(lambda found: quoted(found[1] or found[2] or found[3]), marked).replace(
        TABLE, "t"
    )


def columns_in(marked: str) -> set[str]:
    return {found[1] or found[2] or found[3] for found in _MARKED.finditer(marked)}


class Truth:
    """The rows, in a database of their own."""

    def __init__(self, table: Table) -> None:
        self._table = table
        self._database = duckdb.connect(config={"threads": 1})
        arrays: dict[str, pyarrow.Array] = {}
        for column in table.schema.columns:
            arrays |= _arrays(table.schema, column, [row[column.name] for row in table.rows])
            arrays[f"{column.name}_kept"] = pyarrow.array(table.kept[column.name], pyarrow.bool_())
        self._rows = pyarrow.table(arrays)
        self._database.register("rows", self._rows)
        self._database.execute("CREATE TABLE t AS SELECT * FROM rows")

    def close(self) -> None:
        self._database.close()

    def rows(self, marked: str, needed: Iterable[str]) -> list[tuple[Any, ...]] | None:
        """The result over the rows that have a cell in all of `needed`; `None` where DuckDB cannot work it out."""
        kept = " AND ".join(f'"{name}_kept"' for name in sorted(needed)) or "TRUE"

        def name(found: re.Match[str]) -> str:
            shown = found[1] or (f"{found[2]}_v" if found[2] else f"{found[3]}_g")
            return f'"{shown}"'

        sql = _MARKED.sub(name, marked).replace(TABLE, f"(SELECT * FROM t WHERE {kept}) AS t")
        try:
            return self._database.execute(sql).fetchall()
        except (duckdb.Error, OverflowError):
            return None

    def row_sets(self) -> list[set[str]]:
        """Sets of columns whose rows an answer may be about, where the schema leaves rows out."""
        leaving = sorted(name for name, kept in self._table.kept.items() if not all(kept))
        return [
            set(each)
            for size in range(len(leaving), -1, -1)
            for each in combinations(leaving, size)
        ]

    def has_others(self, names: Iterable[str]) -> bool:
        """Whether some rows have a value of one of these columns that the schema does not declare."""
        columns = [self._table.schema.column(name) for name in names]
        return any(
            column.has_other and column.code_of(row[column.name]) == column.other_cell
            for column in columns
            for row in self._table.rows
        )


def _arrays(schema: Schema, column: Column, values: Sequence[Any]) -> dict[str, pyarrow.Array]:
    asked: list[Any] = []
    added: list[Any] = []
    named: list[Any] = []
    is_named = shows_names(column)
    for value in values:
        code = column.code_of(value)
        inside = code is not None and code < column.value_cells
        own = (
            clamped_value(schema, column.name, value) if isinstance(column, OrderedColumn) else None
        )
        raw = column_value(schema, column.name, value)
        if not isinstance(column, OrderedColumn):
            own = raw if inside else None
        asked.append(_typed(column, own if inside else raw))
        added.append(_typed(column, own))
        if code is None or code == column.null_cell:
            named.append(None)
        else:
            named.append(column.label(code) if is_named else asked[-1])
    type_ = ARROW_TYPES[column.kind]
    return {
        column.name: pyarrow.array(asked, type_),
        f"{column.name}_v": pyarrow.array(added, type_),
        f"{column.name}_g": pyarrow.array(named, pyarrow.string() if is_named else type_),
    }


def shows_names(column: Column) -> bool:
    """Whether groups of the column are compared by the names of cells, not by values."""
    if not isinstance(column, OrderedColumn):
        return column.kind == "category"
    low, high = column.extent(0)
    return column.has_other or low != high or column.kind == "number"


def _typed(column: Column, unit: Any) -> Any:
    if unit is None or column.kind not in ("date", "datetime"):
        return unit
    if column.kind == "date":
        return date(1970, 1, 1) + timedelta(days=unit)
    return datetime(1970, 1, 1) + timedelta(microseconds=unit)
