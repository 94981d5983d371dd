"""The smallest engine there is: rows of cell codes in memory, for tests of the core."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np


class MemoryEngine:
    """Counts rows given as dicts of raw values, through the schema's own encoder."""

    def __init__(self, schema: Any, rows: Sequence[dict[str, Any]]) -> None:
        self.schema, self.rows = schema, list(rows)
        self.questions: list[str] = []

    def _codes(self, names: Sequence[str]) -> Iterator[tuple[int, ...] | None]:
        columns = [self.schema.column(name) for name in names]
        for row in self.rows:
            codes = tuple(column.code_of(row.get(column.name)) for column in columns)
            yield None if any(code is None for code in codes) else codes

    def marginals(self, column_sets: Sequence[tuple[str, ...]]) -> list[Any]:
        self.questions.append(f"marginals {column_sets}")
        tables = []
        for names in column_sets:
            shape = tuple(self.schema.column(name).cells for name in names)
            table = np.zeros(shape, dtype=np.int64)
            for codes in self._codes(names):
                if codes is not None:
                    table[codes] += 1
            tables.append(table)
        return tables

    def node_counts(self, columns: Any, shifts: Any, nodes: Any) -> Any:
        self.questions.append(f"nodes {columns} {shifts} {nodes.tolist()}")
        wanted = {tuple(int(part) for part in node): index for index, node in enumerate(nodes)}
        counts = np.zeros(len(nodes), dtype=np.int64)
        limits = [self.schema.column(name).value_cells for name in columns]
        for codes in self._codes(columns):
            if codes is None or any(c >= top for c, top in zip(codes, limits, strict=True)):
                continue
            node = tuple(code >> shift for code, shift in zip(codes, shifts, strict=True))
            if node in wanted:
                counts[wanted[node]] += 1
        return counts

    def sums(self, requests: Sequence[Any]) -> list[int]:
        self.questions.append(f"sums {requests}")
        totals = []
        for request in requests:
            bounds = self.schema.column(request.column).value_bounds
            values = [row.get(request.column) for row in self.rows]
            present = [value for value in values if value is not None]
            for low, high in (bounds, (request.low, request.high)):
                present = [min(max(value, low), high) for value in present]
            totals.append(sum(round(request.scale * value) for value in present))
        return totals

    def row_count(self) -> int:
        self.questions.append("rows")
        return len(self.rows)

    def close(self) -> None:
        """Nothing to close."""
