"""How a count is expected to split, where counts of neighbours rise or fall: slopes along one column.

Where data is smooth a node between a small and a large neighbour holds more rows on the side of the
large one. The slope at a node is the harmonic mean of the two steps to its neighbours (van Leer
1977), and 0 where they have different signs; so a single high or low node bends nothing beside it, and no half is
expected to hold less than nothing.
"""

from __future__ import annotations

import numpy as np

from discreet.arrays import Floats, Integers
from discreet.families.ranges.estimate.tree_layers import PrunedTree


class Line:
    """The parts of a tree over one column from left to right, while they are split from the top down."""

    def __init__(self, tree: PrunedTree) -> None:
        self._tree = tree
        self._starts = np.zeros(0, dtype=np.int64)
        self._ends = np.zeros(0, dtype=np.int64)
        self._density = np.zeros(0)

    def stop(self, place: int, counts: Floats) -> None:
        """Remember the leaves of a layer: they are neighbours of what is split further."""
        layer = self._tree.layers[place]
        if not layer.stopped.any():
            return
        shift = self._tree.bits[0] - layer.depth[0]
        cells = self._tree.cells(layer)[layer.stopped]
        starts = layer.nodes[layer.stopped, 0].astype(np.int64) << shift
        starts = np.concatenate([self._starts, starts])
        ends = np.concatenate([self._ends, starts[len(self._starts) :] + cells.astype(np.int64)])
        density = np.concatenate([self._density, counts[layer.stopped] / cells])
        order = np.argsort(starts)
        self._starts, self._ends, self._density = starts[order], ends[order], density[order]

    def shifts(self, place: int, level: int, whole: Floats) -> Floats:
        """How many rows more than its even part each left half is expected to hold."""
        layer, block = self._tree.layers[place], self._tree.blocks[place]
        shift = self._tree.bits[0] - layer.depth[0] - level
        first = layer.nodes[layer.alive, 0].astype(np.int64)[:, np.newaxis] << level
        codes = (first + np.arange(whole.shape[1])).ravel()
        cells = block.cells[level].ravel()
        there = np.flatnonzero(cells > 0)
        codes, cells = codes[there], cells[there]
        density = whole.ravel()[there] / cells
        before = self._beside(codes, density, shift, -1)
        after = self._beside(codes, density, shift, 1)
        up, down = density - before, after - density
        both = up * down
        total = np.where(both > 0, up + down, 1.0)
        slope = np.where(both > 0, 2 * both / total, 0.0)
        found = np.zeros(whole.size)
        found[there] = -slope * cells / 8
        return found.reshape(whole.shape)

    def _beside(self, codes: Integers, density: Floats, shift: int, step: int) -> Floats:
        """The density of the part on one side of each; its own at the ends of the line."""
        found = density.copy()
        here = slice(1, None) if step < 0 else slice(None, -1)
        there = slice(None, -1) if step < 0 else slice(1, None)
        is_next = codes[here] + step == codes[there]
        found[here] = np.where(is_next, density[there], density[here])
        alone = np.ones(len(codes), dtype=np.bool_)
        alone[here] = ~is_next
        apart = np.flatnonzero(alone)
        if len(self._starts) and len(apart):
            cell = (codes[apart] << shift) - 1 if step < 0 else (codes[apart] + 1) << shift
            leaf = np.maximum(np.searchsorted(self._starts, cell, side="right") - 1, 0)
            inside = (self._starts[leaf] <= cell) & (cell < self._ends[leaf])
            found[apart[inside]] = self._density[leaf[inside]]
        return found
