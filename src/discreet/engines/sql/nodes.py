"""Counts of tree nodes by queries alone: a grouping near the root, a join below.

The levels near the root come from one grouping of the rows by a prefix of their codes, kept, which every
level sums up; each level below is a scan joined with the asked nodes.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from sqlglot import exp

from discreet.engines.prefixes import Prefixes, prefix_shifts
from discreet.engines.protocol import Counts
from discreet.engines.sql import syntax as s
from discreet.engines.sql.rows import Rows
from discreet.engines.sql.session import Session
from discreet.schema.columns.column import Column

_NODES = "asked_nodes"


class NodeCounter:
    """Counts the nodes of one tree after another; remembers what it read.

    Thread safe: one tree at a time, for the codes of two would not fit the memory.
    """

    def __init__(self, session: Session, rows: Rows) -> None:
        self._session = session
        self._rows = rows
        self._lock = threading.Lock()
        self._prefixes: dict[tuple[str, ...], Prefixes] = {}

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
        near = prefix_shifts(columns)
        if all(far >= shift for far, shift in zip(shifts, near, strict=True)):
            return self._grouped(columns, near).node_counts(shifts, nodes)
        return self._joined(columns, shifts, nodes)

    def _grouped(self, columns: Sequence[Column], shifts: tuple[int, ...]) -> Prefixes:
        """One scan for all levels of a tree near its root; kept, for the levels come one by one."""
        names = tuple(column.name for column in columns)
        if names not in self._prefixes:
            grouped = self._rows.grouped(columns, shifts)
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
        rows = self._rows.keyed(columns, shifts, [64] * len(columns)).subquery("rows")
        joined = exp.select("nodes.place", "count(*)").from_(rows)
        joined = joined.join(exp.table_(_NODES, alias="nodes"), on=exp.and_(*same))
        found, counted = self._session.arrays(
            joined.group_by("nodes.place"), beside={_NODES: {"place": places, **arrays}}
        )
        counts = np.zeros(len(distinct), dtype=np.int64)
        counts[found.astype(np.int64)] = counted
        return counts[inverse.reshape(-1)]
