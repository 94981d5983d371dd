"""Counts of tree nodes in DuckDB: from one scan wherever the rows, or the cells, are few enough.

Three ways, chosen by the schema, the shape of the tree and the number of rows; each is exact:
  - few cells: one grouping of the rows by cell, kept, which every level sums up;
  - up to 52 million rows: their keys, read once and held in memory (see `held_keys`);
  - more rows, or levels that halve their columns in some other order: a grouping by a prefix for the
    levels near the root, and a scan joined with the asked nodes for each level below.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from discreet.engines.duckdb.dialect import render
from discreet.engines.duckdb.rows import EncodedRows
from discreet.engines.duckdb.session import Session
from discreet.engines.held_keys import MOST_HELD_BYTES, HeldKeys, Interleaving
from discreet.engines.protocol import Counts
from discreet.engines.sql.nodes import NodeCounter
from discreet.engines.sql.units import unit_line
from discreet.queries.tree import bits_of
from discreet.schema.columns.column import Column

GROUPED_BITS = 16
"""Up to so many bits in all, a grouping is faster than keys, and smaller."""


class HoldingCounter(NodeCounter):
    """Counts the nodes of one tree after another; holds the keys of the latest one."""

    _rows: EncodedRows
    _session: Session

    def __init__(self, session: Session, rows: EncodedRows) -> None:
        super().__init__(session, rows)
        self._row_count: int | None = None
        self._held: dict[tuple[str, ...], HeldKeys] = {}

    def _counted(
        self, columns: Sequence[Column], shifts: tuple[int, ...], nodes: NDArray[np.uint64]
    ) -> Counts:
        if sum(bits_of(column.value_cells) for column in columns) > GROUPED_BITS:
            interleaving = Interleaving.of(columns)
            depth = interleaving.depth(shifts)
            rows = self._rows_held(columns)
            if depth is not None and rows is not None:
                names = tuple(column.name for column in columns)
                held = self._held.pop(names, None)
                self._held.clear()  # before the next is read: two would not fit the memory
                if held is None:
                    held = self._read(columns, interleaving, rows)
                counts = held.node_counts(depth, shifts, nodes)
                self._held[names] = held  # only now: a scan that broke off leaves nothing behind
                return counts
        return super()._counted(columns, shifts, nodes)

    def _rows_held(self, columns: Sequence[Column]) -> int | None:
        """How many rows there are, if their keys fit the memory."""
        if self._row_count is None:
            self._row_count = self._rows.count(columns)
        return self._row_count if 8 * self._row_count <= MOST_HELD_BYTES else None

    def _read(self, columns: Sequence[Column], interleaving: Interleaving, rows: int) -> HeldKeys:
        """The keys of all rows that lie in value cells."""
        line, query = unit_line(columns[0]), self._rows.integer_units(columns[0])
        if len(columns) > 1 or line is None or query is None:
            query = self._rows.keyed(columns, interleaving.shifts, interleaving.kept_bits)
            return HeldKeys(interleaving, partial(self._session.stream, render(query)), rows)
        scan = partial(self._session.stream, render(query))
        return HeldKeys(interleaving, scan, rows, line.codes)
