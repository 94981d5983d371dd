"""Intervals of one column on a pruned tree: estimate and exact variance, in a few look-ups each.

For each boundary between leaves and each node above it, the part of the node before the boundary is
`part` times the node's count plus independent noise of variance `rest`. An interval between two
boundaries parts at their lowest common ancestor, which the codes of the boundaries tell; so its
variance is two look-ups below that node and one at it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from discreet.arrays import Codes, Floats, Integers
from discreet.families.ranges.estimate.tree_nodes import TreeNodes
from discreet.families.ranges.estimate.tree_passes import TreePasses
from discreet.families.shared.estimate.public_random import generator

MOST_LISTED = 1 << 22
"""Cells up to which a table says in which leaf each one lies."""
MOST_ENTRIES = 1 << 22
"""Entries of a table of all boundaries, of 24 bytes each."""
FEW_ENTRIES = 1 << 13
"""Up to so many, the table is made at once."""
BATCH = 1 << 17


@dataclass(frozen=True, slots=True, eq=False)
class RangeEstimates:
    """For each range the smoothed estimate, and least squares from inside and from outside.

    The rows of a range are at least those of the leaves inside it and at most those of all leaves
    that it touches. The two differ where an end falls into a leaf.
    """

    estimate: Floats
    inner: Floats
    outer: Floats
    inner_std: Floats
    outer_std: Floats

    @property
    def numbers(self) -> tuple[Floats, Floats, Floats, Floats, Floats]:
        return self.estimate, self.inner, self.outer, self.inner_std, self.outer_std

    @classmethod
    def joined(cls, parts: Sequence[RangeEstimates]) -> RangeEstimates:
        """The estimates of several batches, one after the other."""
        columns = zip(*(part.numbers for part in parts), strict=True)
        return RangeEstimates(*map(np.concatenate, columns))


@dataclass(frozen=True, slots=True, eq=False)
class _Boundaries:
    """For some boundaries (rows) and each depth: the node above, and the part of it before."""

    above: Integers
    part: Floats
    rest: Floats


class IntervalIndex:
    """Answers intervals [first, last] of cell numbers."""

    def __init__(self, nodes: TreeNodes) -> None:
        self._nodes = nodes
        leaves = np.flatnonzero(nodes.is_leaf)
        order = np.argsort(nodes.low[leaves, 0], kind="stable")
        self.leaves: Integers = leaves[order]
        self.starts: Codes = nodes.low[self.leaves, 0]
        self.ends: Codes = nodes.high[self.leaves, 0]
        self.widths: Floats = (self.ends - self.starts).astype(np.float64) + 1.0
        self.prefix: Floats = _prefix(nodes.estimate[self.leaves])
        self.fitted_prefix: Floats = _prefix(nodes.count[self.leaves])
        self._pull: Floats = nodes.pull[self.leaves]
        self._pulled: Floats = _prefix(self._pull)
        self._density: Floats = nodes.estimate[self.leaves] / self.widths
        self._bits = nodes.bits[0]
        self._depth: Integers = nodes.depth[self.leaves]
        self._listed: Integers | None = None
        cells = int(nodes.last[0]) + 1
        if cells <= MOST_LISTED:
            many = (self.ends - self.starts + np.uint64(1)).astype(np.int64)
            self._listed = np.repeat(np.arange(len(many), dtype=np.int64), many)
        self._entries = len(self.leaves) * (int(self._depth.max()) + 1)
        self._all: _Boundaries | None = None
        self._looked_up = 0
        self._look_up(0)

    def _look_up(self, boundaries: int) -> None:
        """Makes the table of all boundaries once so many were looked up one by one that it pays."""
        self._looked_up += boundaries
        pays = self._entries <= FEW_ENTRIES or self._looked_up > len(self.leaves)
        if self._all is None and pays and self._entries <= MOST_ENTRIES:
            self._all = self._boundaries(np.arange(len(self.leaves), dtype=np.int64))

    def leaf_of(self, codes: Codes) -> Integers:
        if self._listed is not None:
            return self._listed[codes.astype(np.int64)]
        return np.searchsorted(self.starts, codes, side="right") - 1

    def between(self, first: Codes, last: Codes) -> RangeEstimates:
        """Rows in cells first..last, both included, where first <= last."""
        a, b = self.leaf_of(first), self.leaf_of(last)
        cut_before = (first - self.starts[a]).astype(np.float64)
        cut_after = (self.ends[b] - last).astype(np.float64)
        estimate = (
            self.prefix[b + 1] - self.prefix[a]
            - self._density[a] * cut_before - self._density[b] * cut_after
        )  # fmt: skip
        outer = self.fitted_prefix[b + 1] - self.fitted_prefix[a]
        outer_std = self.deviation(a, b + 1)
        cut = (cut_before > 0) | (cut_after > 0)
        inner, inner_std = outer.copy(), outer_std.copy()
        if cut.any():
            start = a[cut] + (cut_before[cut] > 0)
            stop = b[cut] + (cut_after[cut] == 0)
            some = start < stop
            start, stop = np.where(some, start, 0), np.where(some, stop, 1)
            inner[cut] = np.where(some, self.fitted_prefix[stop] - self.fitted_prefix[start], 0.0)
            inner_std[cut] = np.where(some, self.deviation(start, stop), 0.0)
        return RangeEstimates(estimate, inner, outer, inner_std, outer_std)

    def together(self, first: Codes, last: Codes) -> RangeEstimates:
        """Rows in any of several intervals, in order and apart: one number.

        Every leaf counts once, however many of the intervals touch it, and variances add. Theorem: the covariance
        of least squares on a tree is the inverse of a strictly ultrametric matrix, for two leaves share the weights
        of their common ancestors; such an inverse has no positive entry off its diagonal (Martinez, Michon and San
        Martin 1994). So the counts of sets of leaves that are apart have no positive covariance. A weighted root takes
        products of numbers that are not negative off the covariances. The tree is taken as given, as for a single interval.
        """
        apart = np.flatnonzero(first[1:] > last[:-1] + np.uint64(1))
        first, last = first[np.append(0, apart + 1)], last[np.append(apart, len(last) - 1)]
        a, b = self.leaf_of(first), self.leaf_of(last)
        gap = np.flatnonzero(a[1:] > b[:-1] + 1)
        touched = a[np.append(0, gap + 1)], b[np.append(gap, len(b) - 1)] + 1
        start, stop = a + (first > self.starts[a]), b + (last == self.ends[b])
        inside = start[start < stop], stop[start < stop]
        ends = [
            (float((self.fitted_prefix[to] - self.fitted_prefix[at]).sum()), self.deviation(at, to))
            for at, to in (inside, touched)
        ]
        # Evenly inside a leaf, but never smoothed: over many leaves a bias adds up.
        counted = np.diff(self.fitted_prefix) / self.widths
        cut = counted[a] * (first - self.starts[a]) + counted[b] * (self.ends[b] - last)
        estimate = float((self.fitted_prefix[b + 1] - self.fitted_prefix[a] - cut).sum())
        numbers = [estimate, ends[0][0], ends[1][0], *(math.hypot(*each) for _, each in ends)]
        return RangeEstimates(*(np.array([each]) for each in numbers))

    def deviation(self, start: Integers, stop: Integers) -> Floats:
        """Standard deviation of the least squares count of leaves start..stop-1."""
        self._look_up(len(start))
        if self._all is not None:
            return self._less_pulled(
                self._variance(start, stop, self._all, start, stop), start, stop
            )
        found = np.empty(len(start))
        for at in range(0, len(start), BATCH):
            a, b = start[at : at + BATCH], stop[at : at + BATCH]
            inside = np.minimum(b, len(self.leaves) - 1)
            needed, place = np.unique(np.concatenate([a, inside]), return_inverse=True)
            table = self._boundaries(needed)
            found[at : at + BATCH] = self._variance(a, b, table, place[: len(a)], place[len(a) :])
        return self._less_pulled(found, start, stop)

    def _less_pulled(self, variance: Floats, start: Integers, stop: Integers) -> Floats:
        """The standard deviation, given the variance without a weighted root."""
        pulled = self._pulled[stop] - self._pulled[start]
        return np.sqrt(np.maximum(variance - pulled**2, 0.0))

    def excess(self, level: float, start: int, stop: int) -> Floats:
        """Standard deviations at the leaves start..stop-1: of the rows from the first of these up to each, less `level` times those of all."""
        before, after = np.zeros((2, len(self.leaves)))
        before[start:stop], after[start:stop] = 1 - level, -level
        return self._passes.boundary_deviations(before, after)[start:stop]

    def weighted_deviation(self, weights: Floats) -> float:
        """Standard deviation of the least squares counts of all leaves, each times its weight, added up."""
        return self._passes.deviation(weights)

    @cached_property
    def _passes(self) -> TreePasses:
        return TreePasses(self._nodes, self.leaves)

    def prefix_noise(self, boundaries: Integers, draws: int) -> Floats:
        """Noise of the rows before some leaves, drawn from public randomness with the true covariance.

        A row a draw; the same each time. After the last leaf come all rows. A weighted root takes off of each what it knows of it.
        """
        root = self._nodes.weighted
        if root is None:
            return self._tree_noise(boundaries, draws)
        starts = self._nodes.low[self._nodes.by_layer[1], 0]
        edges = np.append(np.searchsorted(self.starts, starts), len(self.leaves))
        noise = self._tree_noise(np.concatenate([boundaries, edges]), draws)
        own = math.sqrt(root.variance) * generator(1).standard_normal(draws)
        seen = np.diff(noise[:, len(boundaries) :]) @ root.weights + own
        known = seen / math.sqrt(self._nodes.weighted_total)
        return np.asarray(
            noise[:, : len(boundaries)] - known[:, np.newaxis] * self._pulled[boundaries]
        )

    def _tree_noise(self, boundaries: Integers, draws: int) -> Floats:
        """The same without a weighted root.

        From the root down, the noise of a node goes to its halves as in `TreeNodes`; what lies before a right half is what lies before
        the node, and the left half.
        """
        nodes, normal = self._nodes, generator(0)
        above = self._boundaries(np.minimum(boundaries, len(self.leaves) - 1)).above
        node = np.unique(above[:, 0])
        noise = math.sqrt(nodes.root_variance) * normal.standard_normal((1, draws))
        whole, before = noise[0], np.zeros((1, draws))
        for level in range(1, above.shape[1]):
            spread = np.sqrt(nodes.split[node])[:, np.newaxis]
            left = nodes.share[node][:, np.newaxis] * noise
            left += spread * normal.standard_normal(left.shape)
            child = np.unique(above[:, level])
            is_new = ~np.isin(child, node)  # a leaf that lies higher stays as it is
            at = np.searchsorted(node, np.where(is_new, nodes.parent[child], child))
            is_right = (is_new & nodes.is_right[child])[:, np.newaxis]
            is_left = (is_new & ~nodes.is_right[child])[:, np.newaxis]
            before = before[at] + np.where(is_right, left[at], 0.0)
            noise = np.where(is_left, left[at], noise[at] - np.where(is_right, left[at], 0.0))
            node = child
        place = np.searchsorted(node, above[:, -1])
        is_end = (boundaries == len(self.leaves))[:, np.newaxis]
        return np.asarray(np.where(is_end, whole, before[place]).T)

    def _variance(
        self, start: Integers, stop: Integers, table: _Boundaries, a: Integers, b: Integers
    ) -> Floats:
        """`a` and `b` are the rows of `start` and `stop` in the table."""
        nodes = self._nodes
        at_end = stop == len(self.leaves)
        if at_end.any():
            b = np.where(at_end, a, b)
            stop = np.where(at_end, start, stop)
        width = table.part.shape[1]
        differing = self.starts[start] ^ self.starts[stop]
        depth = (
            np.minimum(self._bits - _bit_length(differing, self._bits), width - 2)
            if width > 1
            else 0
        )
        row_a, row_b = a * width + depth, b * width + depth
        top = table.above.reshape(-1)[row_a]
        part, rest = table.part.reshape(-1), table.rest.reshape(-1)
        step = 1 if width > 1 else 0
        from_left = 1 - part[row_a + step]
        from_right = part[row_b + step]
        share = nodes.share[top]
        whole = share * from_left + (1 - share) * from_right
        variance = (
            rest[row_a + step]
            + rest[row_b + step]
            + (from_left - from_right) ** 2 * nodes.split[top]
            + whole**2 * nodes.variance[top]
        )
        if at_end.any():
            tail = rest[a * width] + (1 - part[a * width]) ** 2 * nodes.root_variance
            variance = np.where(at_end, tail, variance)
        return np.asarray(variance)

    def _boundaries(self, leaves: Integers) -> _Boundaries:
        """Climb from each leaf to the root, noting the part before its start at every depth."""
        nodes = self._nodes
        depth = self._depth[leaves]
        width = int(self._depth.max()) + 1
        above = np.repeat(self.leaves[leaves][:, np.newaxis], width, axis=1)
        part, rest = np.zeros((len(leaves), width)), np.zeros((len(leaves), width))
        at = self.leaves[leaves].copy()
        g, r = np.zeros(len(leaves)), np.zeros(len(leaves))
        for level in range(width - 1, 0, -1):
            rows = np.flatnonzero(depth >= level)
            child = at[rows]
            parent = nodes.parent[child]
            share, split, right = nodes.share[parent], nodes.split[parent], nodes.is_right[child]
            before = g[rows]
            r[rows] += np.where(right, (1 - before) ** 2, before**2) * split
            g[rows] = np.where(right, share + (1 - share) * before, share * before)
            at[rows] = parent
            above[rows, level - 1] = parent
            part[rows, level - 1], rest[rows, level - 1] = g[rows], r[rows]
        return _Boundaries(above, part, rest)


def _prefix(numbers: Floats) -> Floats:
    return np.concatenate([[0.0], np.cumsum(numbers)])


def _bit_length(codes: Codes, bits: int) -> Integers:
    """The bits of each number below 2^bits, exactly: doubles hold 53 bits without rounding."""
    if bits <= 53:
        return np.frexp(codes.astype(np.float64))[1]
    high, low = codes >> np.uint64(32), codes & np.uint64(0xFFFFFFFF)
    upper = np.frexp(high.astype(np.float64))[1]
    lower = np.frexp(low.astype(np.float64))[1]
    return np.where(upper > 0, upper + 32, lower)
