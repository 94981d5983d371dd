"""An engine that `src` does not know: rows are dictionaries in a Python list. All of it is in this file.

It also takes CSV files, which it reads whole. Everything is done the slow, plain way. Of conditions it
knows comparisons of a column with a constant, joined by AND.
"""

from __future__ import annotations

import csv
import operator
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np

from discreet.engines.opening import EngineEntry
from discreet.engines.protocol import (
    SumRequest,
    bounding_key,
    checked_marginal,
    checked_nodes,
    checked_sum,
)
from discreet.engines.sources import Source
from discreet.errors import BadQuestion
from discreet.queries.tallies import Cells, Persons, Present, Squares, Tally, Total, Valued
from discreet.questions.expressions import TRUE, Call, ColumnValue, Constant, Expression
from discreet.schema import OrderedColumn, Schema
from discreet.schema.columns.column import Column
from discreet.schema.columns.values import boolean_of

Row = dict[str, Any]
COMPARED: dict[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le,
    ">": operator.gt, ">=": operator.ge,
}  # fmt: skip
MOST = 1 << 61


class ListEngine:
    """Counts rows of a list, which never changes: thread safe."""

    def __init__(self, rows: Sequence[Row], schema: Schema) -> None:
        self._schema = schema
        self._rows = self._bounded(rows)

    def _bounded(self, rows: Sequence[Row]) -> list[Row]:
        unit = self._schema.unit
        if unit.identifier is None:
            return list(rows)
        people: dict[str, list[Row]] = {}
        for row in rows:
            if row.get(unit.identifier) not in (None, ""):
                people.setdefault(str(row[unit.identifier]), []).append(row)
        kept: list[Row] = []
        for identifier, own in people.items():
            own.sort(key=lambda row: bounding_key(identifier, self._codes(row, self._schema.names)))
            kept += own[: unit.max_rows]
        return kept

    def _codes(self, row: Row, names: Sequence[str]) -> list[int | None]:
        columns = [self._schema.column(name) for name in names]
        return [column.code_of(row.get(column.name)) for column in columns]

    def marginals(self, column_sets: Sequence[tuple[str, ...]]) -> list[np.ndarray]:
        found = []
        for names in column_sets:
            counts = np.zeros(checked_marginal(self._schema, names), dtype=np.int64)
            for row in self._rows:
                cell = tuple(self._codes(row, names))
                if None not in cell:
                    counts[cell] += 1
            found.append(counts)
        return found

    def node_counts(
        self, columns: tuple[str, ...], shifts: tuple[int, ...], nodes: np.ndarray
    ) -> np.ndarray:
        chosen = checked_nodes(self._schema, columns, shifts, nodes)
        held: dict[tuple[int, ...], int] = {}
        for row in self._rows:
            codes = self._codes(row, columns)
            if all(
                code is not None and code < one.value_cells
                for code, one in zip(codes, chosen, strict=True)
            ):
                node = tuple(int(c or 0) >> shift for c, shift in zip(codes, shifts, strict=True))
                held[node] = held.get(node, 0) + 1
        return np.array([held.get(tuple(map(int, node)), 0) for node in nodes], dtype=np.int64)

    def sums(self, requests: Sequence[SumRequest]) -> list[int]:
        found = []
        for request in requests:
            column = checked_sum(self._schema, request)
            values = [value_of(column, row.get(column.name)) for row in self._rows]
            clamped = [min(max(v, request.low), request.high) for v in values if v is not None]
            found.append(sum(round(value * request.scale) for value in clamped))
        return found

    def tally(self, tallies: Sequence[Tally]) -> list[np.ndarray]:
        return [self._tally(each) for each in tallies]

    def _tally(self, tally: Tally) -> np.ndarray:
        counts = np.zeros(tally.shape(self._schema), dtype=object)
        seen = set()
        for row in self._rows:
            place = self._place(tally, row)
            added = self._added(tally.term, row)
            if place is None or not added or not self._holds(tally.condition, row):
                continue
            if isinstance(tally.term, Persons):
                key = (*place, row[str(self._schema.unit.identifier)])
                added = 0 if key in seen else 1
                seen.add(key)
            counts[place] += added
        bits = tally.term.bits if isinstance(tally.term, Total) else 0
        clamped = [min(max(int(each) >> bits, -MOST), MOST) for each in counts.reshape(-1)]
        return np.array(clamped, dtype=np.int64)

    def _place(self, tally: Tally, row: Row) -> tuple[int, ...] | None:
        names = [str(name) for name in tally.groups]
        codes: list[int | None] = []
        if tally.found is not None:
            key = tuple(str(row.get(name)) for name in tally.found.columns)
            codes.append(tally.found.texts.index(key) if key in tally.found.texts else None)
        codes += self._codes(row, names)
        if isinstance(tally.term, Cells):
            (code,) = self._codes(row, [tally.term.column])
            if code is not None and tally.term.shift is not None:
                valued = code < self._schema.column(tally.term.column).value_cells
                code = code >> tally.term.shift if valued else None
            codes.append(code)
        return None if None in codes else tuple(int(code or 0) for code in codes)

    def _added(self, term: Any, row: Row) -> int:
        if not isinstance(term, Present | Valued | Total | Squares):
            return 1
        if not isinstance(term.of, str):
            raise BadQuestion("The engine of lists adds up plain columns.")
        column = self._schema.column(term.of)
        if isinstance(term, Present):
            return int(row.get(column.name) not in (None, ""))
        value = value_of(column, row.get(column.name))
        if value is None:
            return 0
        if isinstance(term, Total):
            return round(value * (term.grid << term.bits)) - (term.center << term.bits)
        if isinstance(term, Squares):
            return (round(value * term.grid) - term.center) ** 2 >> term.shift
        return 1

    def _holds(self, condition: Expression, row: Row) -> bool:
        if condition == TRUE:
            return True
        if isinstance(condition, Call) and condition.name == "and":
            return all(self._holds(each, row) for each in condition.arguments)
        if isinstance(condition, Call) and condition.name in COMPARED:
            left, right = condition.arguments
            if isinstance(left, ColumnValue) and isinstance(right, Constant):
                column = self._schema.column(left.column)
                if isinstance(column, OrderedColumn):
                    value = column.unit_of(row.get(column.name))
                    return value is not None and COMPARED[condition.name](value, right.value)
        raise BadQuestion("The engine of lists knows comparisons with constants, joined by AND.")

    def held_keys(
        self, columns: Sequence[str], condition: Expression
    ) -> tuple[list[tuple[str, ...]], np.ndarray]:
        held: dict[tuple[str, ...], int] = {}
        for row in self._rows:
            if self._holds(condition, row):
                key = tuple(str(row.get(name)) for name in columns)
                held[key] = held.get(key, 0) + 1
        keys = sorted(held)
        return keys, np.array([held[key] for key in keys], dtype=np.int64)

    def row_count(self) -> int:
        return len(self._rows)

    def close(self) -> None: ...

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None: ...


def value_of(column: Column, value: object) -> Any:
    """What a sum adds, clamped to the column's bounds; nothing for nulls and what has no cell."""
    code = column.code_of(value)
    if column.value_bounds is None or code is None or code >= column.value_cells:
        return None
    found = column.unit_of(value) if isinstance(column, OrderedColumn) else boolean_of(value)
    low, high = column.value_bounds
    return min(max(found or 0, low), high)


def recognise(source: object) -> Source | None:
    """A list of dictionaries, or the path of a CSV file."""
    if isinstance(source, list):
        return Source("rows", value=source)
    if str(source).endswith(".csv"):
        return Source("rows", files=(str(source),))
    return None


def open_source(source: Source, schema: Schema, **_: Any) -> ListEngine:
    return ListEngine(_rows(source), schema)


def describe_source(source: Source, csv_options: Any) -> list[tuple[str, str]]:
    return [(name, "") for name in next(iter(_rows(source)), {})]


def _rows(source: Source) -> list[Row]:
    if source.value is not None:
        return list(source.value)
    with Path(source.files[0]).open(encoding="utf-8", newline="") as file:
        return [dict(row) for row in csv.DictReader(file)]


ENTRY = EngineEntry(module=__name__, formats=("rows",), recognise=recognise)
