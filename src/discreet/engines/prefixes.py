"""Counts of the nodes of a tree near its root, all from one grouping of the rows by a prefix of their codes.

The prefix is as long as its combinations stay countable in memory whatever the rows are; that depends
on the schema alone. Every level above it is a sum of the grouping, so it needs no further scan.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.engines.protocol import Counts
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
