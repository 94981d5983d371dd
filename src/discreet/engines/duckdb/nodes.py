"""Counts of tree nodes in DuckDB: from one scan wherever the rows, or the cells, are few enough.

Three ways, chosen by the schema, the shape of the tree and the number of rows; each is exact:
  - few cells: one grouping of the rows by cell, kept, which every level sums up;
  - up to 52 million rows (of several columns, 20 million): their codes, fetched once and sorted (see
    `sorted_codes`);
  - more rows, or levels that halve their columns in some other order: a grouping by a prefix for the
    levels near the root, and a scan joined with the asked nodes for each level below.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from discreet.engines.duckdb.rows import EncodedRows
from discreet.engines.duckdb.session import Session
from discreet.engines.protocol import Counts
from discreet.engines.sorted_codes import MOST_SORTED_BYTES, Interleaving, SortedCodes
from discreet.engines.sql import cells
from discreet.engines.sql.nodes import NodeCounter
from discreet.engines.unit_lines import unit_line
from discreet.queries.tree import bits_of
from discreet.schema.columns.column import Column

GROUPED_BITS = 16
"""Up to so many bits in all, a grouping is faster than a sort, and smaller."""


class SortingCounter(NodeCounter):
    """Counts the nodes of one tree after another; remembers the codes of the latest one."""

    _rows: EncodedRows

    def __init__(self, session: Session, rows: EncodedRows) -> None:
        super().__init__(session, rows)
        self._row_count: int | None = None
        self._sorted: dict[tuple[str, ...], SortedCodes] = {}

    def _counted(
        self, columns: Sequence[Column], shifts: tuple[int, ...], nodes: NDArray[np.uint64]
    ) -> Counts:
        if sum(bits_of(column.value_cells) for column in columns) > GROUPED_BITS:
            interleaving = Interleaving.of(columns)
            depth = interleaving.depth(shifts)
            if depth is not None and self._can_sort(columns, interleaving):
                return self._sorted_codes(columns, interleaving).node_counts(depth, shifts, nodes)
        return super()._counted(columns, shifts, nodes)

    def _can_sort(self, columns: Sequence[Column], interleaving: Interleaving) -> bool:
        if self._row_count is None:
            self._row_count = self._rows.count(columns)
        fetched = [cells.unsigned(1 << many)[1] for many in interleaving.kept_bits]
        # A key beside its codes, or in their place.
        width = 8 + sum(fetched) if len(fetched) > 1 else 8
        return width * self._row_count <= MOST_SORTED_BYTES

    def _sorted_codes(self, columns: Sequence[Column], interleaving: Interleaving) -> SortedCodes:
        names = tuple(column.name for column in columns)
        if names not in self._sorted:
            self._sorted.clear()  # before the next is read: two would not fit the memory
            self._sorted[names] = SortedCodes.of(interleaving, self._codes(columns, interleaving))
        return self._sorted[names]

    def _codes(
        self, columns: Sequence[Column], interleaving: Interleaving
    ) -> Sequence[NDArray[np.generic]]:
        """The codes of each column, for all rows that lie in value cells."""
        if len(columns) == 1:
            line, query = unit_line(columns[0]), self._rows.integer_units(columns[0])
            if line is not None and query is not None:
                (fetched,) = self._session.arrays(query)
                return [line.codes(fetched.astype(np.int64, copy=False))]
        rows = self._rows.keyed(columns, interleaving.shifts, interleaving.kept_bits)
        return self._session.arrays(rows)
