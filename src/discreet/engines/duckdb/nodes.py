"""Counts of tree nodes in DuckDB: from one scan wherever the rows, or the cells, are few enough.

Three ways, chosen by the schema, the shape of the tree and the number of rows; each is exact:
  - few cells: one grouping of the rows by cell, kept, which every level sums up;
  - up to 52 million rows (of several columns, 20 million): their codes, fetched once and sorted (see
    `sorted_codes`);
  - more rows, or levels that halve their columns in some other order: a grouping by a prefix for the
    levels near the root, and a scan joined with the asked nodes for each level below.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from sqlglot import exp

from discreet.engines.duckdb import cells as cells
from discreet.engines.duckdb import sql as s
from discreet.engines.duckdb.rows import EncodedRows
from discreet.engines.duckdb.session import Session
from discreet.engines.duckdb.sql import Sql
from discreet.engines.prefixes import Prefixes, prefix_shifts
from discreet.engines.protocol import Counts
from discreet.engines.sorted_codes import MOST_SORTED_BYTES, Interleaving, SortedCodes
from discreet.engines.unit_lines import unit_line
from discreet.queries.tree import bits_of
from discreet.schema.columns.column import Column

GROUPED_BITS = 16
"""Up to so many bits in all, a grouping is faster than a sort, and smaller."""
_NODES = "asked_nodes"


class NodeCounter:
    """Counts the nodes of one tree after another; remembers what it read for the latest one.

    Thread safe: one tree at a time, for the codes of two would not fit the memory.
    """

    def __init__(self, session: Session, rows: EncodedRows) -> None:
        self._session = session
        self._rows = rows
        self._lock = threading.Lock()
        self._row_count: int | None = None
        self._prefixes: dict[tuple[str, ...], Prefixes] = {}
        self._sorted: dict[tuple[str, ...], SortedCodes] = {}

    def count(
        self, columns: Sequence[Column], shifts: tuple[int, ...], nodes: NDArray[np.uint64]
    ) -> Counts:
        if len(nodes) == 0:
            return np.zeros(0, dtype=np.int64)
        with self._lock:
            return self._counted(columns, shifts, nodes)

    def _counted(
        self, columns: Sequence[Column], shifts: tuple[int, ...], nodes: NDArray[np.uint64]
    ) -> Counts:
        if sum(bits_of(column.value_cells) for column in columns) > GROUPED_BITS:
            interleaving = Interleaving.of(columns)
            depth = interleaving.depth(shifts)
            if depth is not None and self._can_sort(columns, interleaving):
                return self._sorted_codes(columns, interleaving).node_counts(depth, shifts, nodes)
        near = prefix_shifts(columns)
        if all(far >= shift for far, shift in zip(shifts, near, strict=True)):
            return self._grouped(columns, near).node_counts(shifts, nodes)
        return self._joined(columns, shifts, nodes)

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
        rows = self._keyed(columns, interleaving.shifts, interleaving.kept_bits)
        return self._session.arrays(rows)

    def _grouped(self, columns: Sequence[Column], shifts: tuple[int, ...]) -> Prefixes:
        """One scan for all levels of a tree near its root; kept, for the levels come one by one."""
        names = tuple(column.name for column in columns)
        if names not in self._prefixes:
            kept = [
                bits_of(column.value_cells) - shift
                for column, shift in zip(columns, shifts, strict=True)
            ]
            rows = self._keyed(columns, shifts, kept).subquery("rows")
            listed = [s.name(f"k{axis}") for axis in range(len(columns))]
            grouped = exp.select(*listed, "count(*)").from_(rows).group_by(*listed)
            *found, counted = self._session.arrays(grouped)
            keys = tuple(key.astype(np.uint64) for key in found)
            self._prefixes[names] = Prefixes(shifts, keys, counted.astype(np.int64))
        return self._prefixes[names]

    def _joined(
        self, columns: Sequence[Column], shifts: tuple[int, ...], nodes: NDArray[np.uint64]
    ) -> Counts:
        distinct, inverse = np.unique(nodes, axis=0, return_inverse=True)
        places = np.arange(len(distinct), dtype=np.int64)
        arrays = {f"k{axis}": distinct[:, axis].copy() for axis in range(len(columns))}
        same = [
            s.equal(s.name("rows", f"k{axis}"), s.name("nodes", f"k{axis}"))
            for axis in range(len(columns))
        ]
        rows = self._keyed(columns, shifts, [64] * len(columns)).subquery("rows")
        joined = exp.select("nodes.place", "count(*)").from_(rows)
        joined = joined.join(exp.table_(_NODES, alias="nodes"), on=exp.and_(*same))
        found, counted = self._session.arrays(
            joined.group_by("nodes.place"), beside={_NODES: {"place": places, **arrays}}
        )
        counts = np.zeros(len(distinct), dtype=np.int64)
        counts[found.astype(np.int64)] = counted
        return counts[inverse.reshape(-1)]

    def _keyed(
        self, columns: Sequence[Column], shifts: Sequence[int], bits: Sequence[int]
    ) -> exp.Select:
        """k0, k1, ...: the cells' numbers, shifted, of the rows in value cells of every column.

        `bits` is what each needs at most; a smaller type is fetched and grouped faster.
        """
        keys, inside = [], []
        for axis, (column, shift, many) in enumerate(zip(columns, shifts, bits, strict=True)):
            place = self._rows.place(column)
            inside.append(exp.Not(this=s.is_null(place)))
            key: Sql = place
            if shift >= 64:
                key = s.cast(s.whole(0), "UBIGINT")
            elif shift:
                key = s.binary(exp.BitwiseRightShift, place, s.cast(s.whole(shift), "UBIGINT"))
            keys.append(exp.alias_(s.cast(key, cells.unsigned(1 << many)[0]), f"k{axis}"))
        return exp.select(*keys).from_(self._rows.with_places(columns)).where(*inside)
