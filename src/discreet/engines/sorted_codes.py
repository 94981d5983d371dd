"""Every level of a tree from one scan: the rows' codes, sorted once in memory.

A row's codes are interleaved, bit by bit in the order in which trees halve their columns, into one
number of up to 64 bits. The rows of a node then lie side by side, whatever the node's depth, and two
binary searches count them. Whether that is done, and how, depends on the schema and the number of
rows alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from discreet.engines.protocol import Counts
from discreet.queries.tree import bits_of, halvings
from discreet.schema.columns.column import Column

MOST_BITS = 64
MOST_SORTED_BYTES = 400 << 20
"""The most memory for codes and keys: 52 million rows of one column, in a process of 722 MB."""
_CHUNK_BITS = 12
"""Bits that one look into a table spreads: its 4,096 numbers stay in a processor's cache."""

_BLOCK_ROWS = 1 << 18
_RUN = 1024
"""Nodes that are looked for together."""

Keys = NDArray[np.uint64]
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Interleaving:
    """Which column each bit of a key comes from, most significant first."""

    bits: tuple[int, ...]
    """How many bits the codes of each column have."""
    order: tuple[int, ...]

    @classmethod
    def of(cls, columns: Sequence[Column]) -> Interleaving:
        bits = tuple(bits_of(column.value_cells) for column in columns)
        return cls(bits, halvings(bits)[:MOST_BITS])

    @property
    def shifts(self) -> tuple[int, ...]:
        """How many low bits of each column's codes no key holds."""
        return tuple(many - kept for many, kept in zip(self.bits, self.kept_bits, strict=True))

    @property
    def kept_bits(self) -> tuple[int, ...]:
        """How many bits of each column's codes a key holds."""
        return tuple(self.order.count(axis) for axis in range(len(self.bits)))

    def depth(self, shifts: Sequence[int]) -> int | None:
        """How many leading bits of a key make a node of these shifts; `None` where no number of them does."""
        depths = [max(0, many - shift) for many, shift in zip(self.bits, shifts, strict=True)]
        deep = sum(depths)
        if deep > len(self.order):
            return None
        leading = self.order[:deep]
        return deep if all(leading.count(a) == d for a, d in enumerate(depths)) else None

    def keys(self, codes: Sequence[NDArray[Any]], depth: int) -> Keys:
        """The first `depth` bits of the keys of codes that have as many bits as those take of each column."""
        if len(self.bits) == 1:
            return codes[0].astype(np.uint64, copy=False)
        keys = np.zeros(len(codes[0]), dtype=np.uint64)
        for axis, code in enumerate(codes):
            # Where in a key each bit of the code goes, the least significant first.
            goes = [depth - 1 - at for at in range(depth) if self.order[at] == axis][::-1]
            for start in range(0, len(goes), _CHUNK_BITS):
                table = _spread(goes[start : start + _CHUNK_BITS])
                part = code >> code.dtype.type(start) if start else code
                keys |= table[(part & part.dtype.type(len(table) - 1)).astype(np.intp)]
        return keys


def _spread(goes: Sequence[int]) -> Keys:
    """For each number, the sum of 2^goes[i] over its bits i."""
    table = np.zeros(1, dtype=np.uint64)
    for place in goes:
        table = np.concatenate([table, table | np.uint64(1 << place)])
    return table


@dataclass(frozen=True, slots=True, eq=False)
class SortedCodes:
    """The keys of all rows that lie in value cells of every column: two runs, each in order, for two processors."""

    interleaving: Interleaving
    runs: tuple[Keys, Keys]

    @classmethod
    def of(cls, interleaving: Interleaving, codes: Sequence[NDArray[Any]]) -> SortedCodes:
        """From the codes of each column, shifted by `interleaving.shifts`; may sort them in place."""
        depth = len(interleaving.order)
        if len(codes) == 1:
            keys = interleaving.keys(codes, depth)
        else:
            keys = np.empty(len(codes[0]), dtype=np.uint64)
            for start in range(0, len(keys), _BLOCK_ROWS):
                block = slice(start, start + _BLOCK_ROWS)
                keys[block] = interleaving.keys([code[block] for code in codes], depth)
        runs = keys[: len(keys) // 2], keys[len(keys) // 2 :]
        _side_by_side(np.ndarray.sort, runs)
        return cls(interleaving, runs)

    def node_counts(self, depth: int, shifts: Sequence[int], nodes: Keys) -> Counts:
        """Rows in each node; `depth` is what the interleaving makes of `shifts`."""
        known = np.ones(len(nodes), dtype=np.bool_)
        for axis, (many, shift) in enumerate(zip(self.interleaving.bits, shifts, strict=True)):
            last = (1 << max(0, many - shift)) - 1
            known &= nodes[:, axis] <= np.uint64(last)
        counts = np.zeros(len(nodes), dtype=np.int64)
        if depth == 0:
            counts[known] = sum(map(len, self.runs))
            return counts
        some = nodes if known.all() else nodes[known]
        asked = [np.ascontiguousarray(some[:, axis]) for axis in range(nodes.shape[1])]
        below = len(self.interleaving.order) - depth
        first = self.interleaving.keys(asked, depth) << np.uint64(below)
        counts[known] = self._between(first, np.uint64((1 << below) - 1))
        return counts

    def _between(self, first: Keys, span: np.uint64) -> Counts:
        """Keys from each of `first` to `span` further on. Searching in order is easy on the cache."""
        order = None
        if np.any(first[1:] < first[:-1]):
            order = np.argsort(first)
            first = first[order]
        last = first + span
        # The end of a node is the start of the next one, where that lies beside it.
        beside = first[1:] - np.uint64(1) == last[:-1]
        alone = np.append(~beside, True)[: len(first)]
        ends = last[alone]

        def counted(run: Keys) -> Counts:
            start = _places(run, first, "left")
            end = np.empty_like(start)
            end[:-1][beside] = start[1:][beside]
            end[alone] = _places(run, ends, "right")
            return (end - start).astype(np.int64, copy=False)

        one, other = _side_by_side(counted, self.runs)
        found = one + other
        if order is not None:
            found[order] = found.copy()
        return found


def _side_by_side(work: Callable[[Keys], T], runs: tuple[Keys, Keys]) -> list[T]:
    """The same work on both runs, each in a thread: numpy lets go of the interpreter while it sorts and searches."""
    with ThreadPoolExecutor(len(runs)) as threads:
        return list(threads.map(work, runs))


def _places(keys: Keys, asked: Keys, side: Literal["left", "right"]) -> NDArray[np.intp]:
    """Where each of `asked`, which are in order, stands among the keys.

    A run of them is looked for between the places of its ends only, which takes half the steps.
    """
    if len(asked) <= _RUN:
        return np.searchsorted(keys, asked, side=side)
    bounds = np.searchsorted(keys, asked[::_RUN], side=side).tolist()
    bounds.append(len(keys))
    found = np.empty(len(asked), dtype=np.intp)
    for run, (low, high) in enumerate(pairwise(bounds)):
        part = slice(run * _RUN, (run + 1) * _RUN)
        found[part] = low
        found[part] += keys[low:high].searchsorted(asked[part], side)
    return found
