"""Counts of tree nodes by queries alone: a grouping near the root, a join below.

The levels near the root come from one grouping of the rows by a prefix of their codes, kept, which every
level sums up; each level below is a scan joined with the asked nodes. The prefix is as long as its combinations stay countable in memory whatever the rows are; that depends
on the schema alone.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sqlglot import exp

from discreet.engines.protocol import Counts
from discreet.engines.sql import syntax as s
from discreet.engines.sql.rows import Rows
from discreet.engines.sql.session import Session
from discreet.queries.tree import bits_of, halvings
from discreet.schema.columns.column import Column

PREFIX_BITS = 25
"""Combinations of one grouping: at most 2^25, of which rows can fill no more than there are rows."""

Keys = NDArray[np.uint64]


def prefix_shifts(columns: Sequence[Column]) -> tuple[int, ...]:
    """How far each column's codes are shifted in the grouping: halved in turns, as trees are."""
    bits = [bits_of(column.value_cells) for column in columns]
    taken = halvings(bits)[:PREFIX_BITS]
    return tuple(many - taken.count(axis) for axis, many in enumerate(bits))


@dataclass(frozen=True, slots=True, eq=False)
class Prefixes:
    """The combinations that have rows, and how many rows each has."""

    shifts: tuple[int, ...]
    keys: tuple[Keys, ...]
    counts: Counts

    def node_counts(self, shifts: tuple[int, ...], nodes: Keys) -> Counts:
        """Rows in nodes whose shifts are at least those of the grouping."""
        more = [np.uint64(far - near) for far, near in zip(shifts, self.shifts, strict=True)]
        rows = [key >> shift for key, shift in zip(self.keys, more, strict=True)]
        asked = [nodes[:, axis] for axis in range(nodes.shape[1])]
        # A prefix has at most PREFIX_BITS bits in all, but an asked node may be any number.
        limit = np.uint64(1 << PREFIX_BITS)
        known = np.ones(len(nodes), dtype=np.bool_)
        row_key = np.zeros(len(self.counts), dtype=np.uint64)
        node_key = np.zeros(len(nodes), dtype=np.uint64)
        for row, node in zip(rows, asked, strict=True):
            top = np.uint64(int(row.max(initial=0)) + 1)
            known &= node < min(top, limit)
            row_key = row_key * top + row
            node_key = node_key * top + np.minimum(node, top - np.uint64(1))
        found = np.zeros(len(nodes), dtype=np.int64)
        if not len(row_key) or not known.any():
            return found
        distinct, place = np.unique(node_key[known], return_inverse=True)
        at = np.minimum(np.searchsorted(distinct, row_key), len(distinct) - 1)
        fits = distinct[at] == row_key
        sums = np.zeros(len(distinct), dtype=np.int64)
        np.add.at(sums, at[fits], self.counts[fits])
        found[known] = sums[place.reshape(-1)]
        return found


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
