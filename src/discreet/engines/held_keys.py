"""Every level of a tree from one scan: the rows' keys in memory, narrowed as the tree is descended.

A row's codes are interleaved, bit by bit in the order in which trees halve their columns, into one
number of up to 64 bits: its key. A node is a prefix of keys. While the rows stream past they are counted by
the first bits of their keys, up to 25, which counts every node down to there. Below, a row is looked up in the
asked nodes, and rows outside them are let go; each pass over the rows counts several steps of the tree at once. The first
bits of a key that is kept then give way to its node's place among the asked ones. Nodes that were not kept cost a
further scan. What is read depends on the schema, the number of rows and the nodes that are asked for.
"""

from __future__ import annotations

import mmap
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.engines.protocol import Counts
from discreet.queries.tree import bits_of, halvings
from discreet.schema.columns.column import Column

MOST_BITS = 64
MOST_HELD_BYTES = 400 << 20
"""The most memory for keys: 52 million rows."""
TOP_BITS = 25
"""Bits of a key by which rows are counted at once: 2^25 numbers of four bytes."""
_MADV_POPULATE_WRITE = 23
_CHUNK_BITS = 12
"""Bits that one look into a table spreads: its 4,096 numbers stay in a processor's cache."""
BLOCK_ROWS = 1 << 17
"""Rows that are worked on at a time: what is in work stays in a processor's cache."""
PIECE_ROWS = 1 << 18
"""Keys in one piece of memory: what one processor works on until it takes the next."""
CHEAP_COUNTS = 1 << 20
"""Numbers that one pass may count beyond those that are needed: they stay in the cache, and may save another pass."""

Keys = NDArray[np.uint64]
Places = NDArray[np.uint32]
Take = Callable[[Sequence[NDArray[Any]]], None]


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


class HeldKeys:
    """The keys of all rows that lie in value cells of every column.

    `scan` hands the codes of each column, shifted by `interleaving.shifts`, to its argument, batch by batch; of about
    so many `rows`. Of a single column it may hand over what `codes` turns into codes.
    """

    def __init__(
        self,
        interleaving: Interleaving,
        scan: Callable[[Take], None],
        rows: int,
        codes: Callable[[NDArray[Any], Keys], Keys] | None = None,
    ) -> None:
        self._interleaving = interleaving
        self._scan = scan
        self._codes = codes
        self._bits = len(interleaving.order)
        self._top_bits = min(TOP_BITS, self._bits, bits_of(rows) + 1)
        self._read()

    def _read(self) -> None:
        """Counts the rows by the first bits of their keys, and holds the keys if they have more."""
        self._top = np.zeros(1 << self._top_bits, dtype=np.uint32)
        root = np.zeros(1, dtype=np.uint64)
        self._counted = _Subtrees(root, start=0, depth=self._top_bits, counts=self._top)
        self._pieces: list[Keys] = []
        self._filled: list[int] = []  # each from its start
        self._room = np.empty(BLOCK_ROWS, dtype=np.uint64)
        self._scan(self._add)

    def _add(self, columns: Sequence[NDArray[Any]]) -> None:
        below = np.uint64(self._bits - self._top_bits)
        for start in range(0, len(columns[0]), BLOCK_ROWS):
            block = [column[start : start + BLOCK_ROWS] for column in columns]
            if not self._pieces or PIECE_ROWS - self._filled[-1] < len(block[0]):
                self._pieces.append(_mapped(PIECE_ROWS))
                self._filled.append(0)
            space = self._pieces[-1][self._filled[-1] :]
            if self._codes is not None:
                keys = self._codes(block[0], space)
            else:
                keys = space[: len(block[0])]
                keys[:] = self._interleaving.keys(block, self._bits)
            if below:  # else the counts say all there is to know, and the next block takes this one's space
                self._filled[-1] += len(keys)
            top = np.right_shift(keys, below, out=self._room[: len(keys)])
            np.add.at(self._top, top.view(np.int64), np.uint32(1))

    def node_counts(self, depth: int, shifts: Sequence[int], nodes: Keys) -> Counts:
        """Rows in each node; `depth` is what the interleaving makes of `shifts`."""
        known = np.ones(len(nodes), dtype=np.bool_)
        for axis, (many, shift) in enumerate(zip(self._interleaving.bits, shifts, strict=True)):
            last = (1 << max(0, many - shift)) - 1
            known &= nodes[:, axis] <= np.uint64(last)
        some = nodes if known.all() else nodes[known]
        codes = [np.ascontiguousarray(some[:, axis]) for axis in range(nodes.shape[1])]
        asked = self._interleaving.keys(codes, depth)
        counted = self._near_root if depth <= self._top_bits else self._below
        if len(some) == len(nodes) > 0:
            return counted(depth, asked).astype(np.int64)
        counts = np.zeros(len(nodes), dtype=np.int64)
        if len(some):
            counts[known] = counted(depth, asked)
        return counts

    def _near_root(self, depth: int, asked: Keys) -> Places:
        by_node = self._top.reshape(1 << depth, -1)
        if len(asked) < len(by_node) // 8:
            return np.asarray(by_node[asked].sum(axis=1, dtype=np.uint32))
        return np.asarray(by_node.sum(axis=1, dtype=np.uint32)[asked])

    def _below(self, depth: int, asked: Keys) -> Places:
        wanted = np.unique(asked) if np.any(asked[1:] <= asked[:-1]) else asked
        if not self._counted.holds(depth, wanted):
            self._read()
        while self._counted.depth < depth:
            above = _distinct(wanted >> np.uint64(depth - self._counted.depth))
            self._descend(above, self._steps(len(above), depth))
        return self._counted.rows_in(depth, asked)

    def _steps(self, above: int, depth: int) -> int:
        """How many steps to count at once below so many nodes; at least down to `depth`, if they fit the memory."""
        left = self._counted.depth
        cheap = (CHEAP_COUNTS // above).bit_length() - 1
        fits = max(1, TOP_BITS - 1 - bits_of(above))
        return min(fits, max(cheap, depth - left), self._bits - left)

    def _descend(self, above: Keys, bits: int) -> None:
        """Counts all nodes so many bits below `above`, which are in order; rows outside these are let go."""
        before = self._counted
        asked = before.places(before.depth, above)
        is_inside = np.zeros(len(before.counts), dtype=np.bool_)
        is_inside[asked] = True
        place = np.zeros(len(before.counts), dtype=np.uint32)
        place[asked] = np.arange(len(above), dtype=np.uint32)
        depth = before.depth + bits
        upper, lower = np.uint64(self._bits - before.depth), np.uint64(self._bits - depth)
        rest = (np.uint64(1) << upper) - np.uint64(1)
        waiting = iter(range(len(self._pieces)))

        def counted() -> Places:
            """Counts the rows of the pieces that no other thread takes."""
            counts = np.zeros(len(above) << bits, dtype=np.uint32)
            room = np.empty(BLOCK_ROWS, dtype=np.uint64)
            inside, places = np.empty(BLOCK_ROWS, np.bool_), np.empty(BLOCK_ROWS, np.uint32)
            for number in waiting:
                piece, kept = self._pieces[number][: self._filled[number]], 0
                for start in range(0, len(piece), BLOCK_ROWS):
                    keys = piece[start : start + BLOCK_ROWS]
                    nodes = np.right_shift(keys, upper, out=room[: len(keys)]).view(np.int64)
                    is_inside.take(nodes, mode="clip", out=inside[: len(keys)])
                    keys = keys.take(np.flatnonzero(inside[: len(keys)]), mode="clip")
                    many = len(keys)
                    nodes = np.right_shift(keys, upper, out=room[:many]).view(np.int64)
                    place.take(nodes, mode="clip", out=places[:many])
                    keys &= rest
                    keys |= np.left_shift(places[:many], upper, out=room[:many], dtype=np.uint64)
                    nodes = np.right_shift(keys, lower, out=room[:many]).view(np.int64)
                    np.add.at(counts, nodes, np.uint32(1))
                    piece[kept : kept + many] = keys
                    kept += many
                self._filled[number] = kept
            return counts

        with ThreadPoolExecutor(1) as beside:
            other = beside.submit(counted)
            counts = counted()
            counts += other.result()
        self._counted = _Subtrees(above, start=before.depth, depth=depth, counts=counts)


@dataclass(frozen=True, slots=True, eq=False)
class _Subtrees:
    """Rows in all nodes at one depth below some nodes, which are in order: those of each beside each other."""

    above: Keys
    start: int
    """How deep `above` are."""
    depth: int
    """How deep the counted nodes are."""
    counts: Places

    def holds(self, depth: int, wanted: Keys) -> bool:
        """Whether the rows of all these nodes are among those that are held: all lie below `above`."""
        if depth <= self.start:
            return False
        parents = _distinct(wanted >> np.uint64(depth - self.start))
        found = np.minimum(np.searchsorted(self.above, parents), len(self.above) - 1)
        return bool(np.all(self.above[found] == parents))

    def places(self, depth: int, nodes: Keys) -> Keys:
        """Where nodes stand among all those of a depth, of which each must lie below one of `above`."""
        further = np.uint64(depth - self.start)
        if len(self.above) == 1 << self.start:
            return nodes  # all there are
        parents = nodes >> further
        # Neighbours mostly have the same one.
        starts = np.flatnonzero(np.append(True, parents[1:] != parents[:-1]))
        found: Keys = np.searchsorted(self.above, parents[starts]).astype(np.uint64)
        found = np.repeat(found << further, np.diff(starts, append=len(nodes)))
        found |= nodes & ((np.uint64(1) << further) - np.uint64(1))
        return found

    def rows_in(self, depth: int, nodes: Keys) -> Places:
        places = self.places(depth, nodes)
        if depth == self.depth:
            return self.counts[places]
        by_node = self.counts.reshape(-1, 1 << (self.depth - depth))
        return np.asarray(by_node[places].sum(axis=1, dtype=np.uint32))


def _distinct(ordered: Keys) -> Keys:
    return np.asarray(ordered[np.append(True, ordered[1:] != ordered[:-1])])


def _mapped(keys: int) -> Keys:
    """Memory for keys, mapped at once. Page by page takes half as long again; large pages far longer on some hosts."""
    with suppress(OSError, AttributeError):  # Linux can do it, from 5.14 on
        memory = mmap.mmap(-1, 8 * keys, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        memory.madvise(_MADV_POPULATE_WRITE)
        return np.frombuffer(memory, dtype=np.uint64)
    return np.empty(keys, dtype=np.uint64)
