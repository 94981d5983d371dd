"""A reference engine on Python rows, and the table of engines that the contract tests run over.

It does everything the slow, plain way: the schema's own `code_of`, dictionaries, Fractions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from discreet.engines.opening import open_engine
from discreet.engines.protocol import (
    Engine,
    SumRequest,
    bounding_key,
    checked_columns,
    checked_marginal,
    checked_nodes,
    checked_sum,
)
from discreet.schema import OrderedColumn, Schema
from discreet.schema.columns.column import Column
from discreet.schema.columns.values import boolean_of, plain
from tests.postgres_server import postgres_source
from tests.spark_session import spark_frame

Table = Mapping[str, Sequence[object]]


class ReferenceEngine:
    """Counts in plain Python, over columns of Python values."""

    def __init__(self, table: Table, schema: Schema) -> None:
        self._schema = schema
        rows = [
            dict(zip(table, values, strict=True)) for values in zip(*table.values(), strict=True)
        ]
        encoded = [
            (
                row.get(schema.unit.identifier or ""),
                {one.name: one.code_of(row[one.name]) for one in schema.columns},
                {one.name: value_of(one, row[one.name]) for one in schema.columns},
            )
            for row in rows
        ]
        if schema.unit.identifier is not None:
            encoded = self._bounded(encoded)
        self._rows = [(codes, values) for _, codes, values in encoded]

    def _bounded(self, rows: list[Any]) -> list[Any]:
        people: dict[str, list[Any]] = {}
        for row in rows:
            if plain(row[0]) is not None:
                people.setdefault(str(row[0]), []).append(row)
        kept = []
        for identifier, owned in people.items():
            owned.sort(
                key=lambda row: (
                    bounding_key(identifier, list(row[1].values())),
                    [(value is None, value or 0) for value in row[2].values()],
                )
            )
            kept += owned[: self._schema.unit.max_rows]
        return kept

    def marginals(self, column_sets: Sequence[tuple[str, ...]]) -> list[np.ndarray]:
        found = []
        for names in column_sets:
            counts = np.zeros(checked_marginal(self._schema, names), dtype=np.int64)
            for codes, _ in self._rows:
                cell = tuple(codes[self._schema.column(name).name] for name in names)
                if None not in cell:
                    counts[cell] += 1
            found.append(counts)
        return found

    def node_counts(
        self, columns: tuple[str, ...], shifts: tuple[int, ...], nodes: np.ndarray
    ) -> np.ndarray:
        chosen = checked_nodes(self._schema, columns, shifts, nodes)
        tally: dict[tuple[int, ...], int] = {}
        for codes, _ in self._rows:
            cell = [codes[one.name] for one in chosen]
            if all(
                code is not None and code < one.value_cells
                for code, one in zip(cell, chosen, strict=True)
            ):
                node = tuple(int(code or 0) >> s for code, s in zip(cell, shifts, strict=True))
                tally[node] = tally.get(node, 0) + 1
        return np.array([tally.get(tuple(map(int, node)), 0) for node in nodes], dtype=np.int64)

    def sums(self, requests: Sequence[SumRequest]) -> list[int]:
        totals = []
        for request in requests:
            column = checked_sum(self._schema, request)
            total = 0
            for _, values in self._rows:
                value = values[column.name]
                if value is not None:
                    product = value * request.scale
                    rounded = round(product) if abs(product) != float("inf") else product
                    total += int(min(max(rounded, request.lowest), request.highest))
            totals.append(total)
        return totals

    def encoded_rows(self, columns: Sequence[str], batch_rows: int) -> Iterator[np.ndarray]:
        chosen = checked_columns(self._schema, columns)
        rows = [
            [-1 if codes[one.name] is None else codes[one.name] for one in chosen]
            for codes, _ in self._rows
        ]
        for start in range(0, len(rows), batch_rows):
            yield np.array(rows[start : start + batch_rows], dtype=np.int64)

    def row_count(self) -> int:
        return len(self._rows)

    def close(self) -> None: ...

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...


def value_of(column: Column, value: object) -> int | float | None:
    """What a sum adds for a value, before its scale and bounds."""
    code = column.code_of(value)
    if column.value_bounds is None or code is None or code >= column.value_cells:
        return None
    if not isinstance(column, OrderedColumn):
        return int(bool(boolean_of(value)))
    unit = column.unit_of(value)
    assert unit is not None
    low, high = column.value_bounds
    bounds = (float(low), float(high)) if column.kind == "number" else (int(low), int(high))
    return min(max(unit, bounds[0]), bounds[1])


def arrow_table(table: Table | pa.Table) -> pa.Table:
    return (
        table
        if isinstance(table, pa.Table)
        else pa.table({k: pa.array(v) for k, v in table.items()})
    )


def _parquet(table: Table | pa.Table, schema: Schema, place: Path) -> Engine:
    path = place / f"table-{len(list(place.iterdir()))}.parquet"
    pq.write_table(arrow_table(table), path, row_group_size=7)
    return open_engine(path, schema, threads=2)


def _arrow(table: Table | pa.Table, schema: Schema, place: Path) -> Engine:
    return open_engine(arrow_table(table), schema, threads=2)


def _reference(table: Table | pa.Table, schema: Schema, place: Path) -> Engine:
    rows = table.to_pydict() if isinstance(table, pa.Table) else table
    reference: Any = ReferenceEngine(rows, schema)  # it counts marginals, nodes and sums alone
    return reference


def _postgres(table: Table | pa.Table, schema: Schema, place: Path) -> Engine:
    return open_engine(postgres_source(arrow_table(table)), schema)


def _spark(table: Table | pa.Table, schema: Schema, place: Path) -> Engine:
    return open_engine(spark_frame(arrow_table(table)), schema)


OPENERS: dict[str, Callable[[Any, Schema, Path], Engine]] = {
    "reference": _reference,
    "duckdb-parquet": _parquet,
    "duckdb-arrow": _arrow,
    "postgres": _postgres,
    "spark": _spark,
}
"""Every engine passes the contract; a new one is one line here."""
