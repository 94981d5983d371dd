"""DAWA (Li et al. 2014): noisy partition into even buckets, then GreedyH over the buckets.

`shipped`: as its authors publish it (ratio 1/2), with half the noise that report-noisy-min needs, none on
single cells, and scores cut off: a log-ratio of 1.30 was found for a budget of 0.5, so it is NOT
epsilon-DP. `sound`: every bucket's score gets the noise that the proof needs.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit

Generator = np.random.RandomState
SAMPLED = 500
"""Queries that set the weights of GreedyH when there are very many buckets."""


@njit(cache=True)
def _deviations(counts, rank, distinct):
    """[i, k]: sum of |count - mean| over the 2^k cells that end at i, by a Fenwick tree over values."""
    cells, values = counts.size, distinct.size
    widths = 0
    while (1 << widths) <= cells:
        widths += 1
    found = np.zeros((cells, widths))
    for k in range(1, widths):
        width = 1 << k
        many, sums = np.zeros(values + 1), np.zeros(values + 1)
        total = 0.0
        for i in range(cells):
            at = rank[i] + 1
            while at <= values:
                many[at] += 1
                sums[at] += counts[i]
                at += at & -at
            total += counts[i]
            if i >= width:
                at = rank[i - width] + 1
                while at <= values:
                    many[at] -= 1
                    sums[at] -= counts[i - width]
                    at += at & -at
                total -= counts[i - width]
            if i >= width - 1:
                mean = total / width
                at = np.searchsorted(distinct, mean, side="right")
                below, below_sum = 0.0, 0.0
                while at > 0:
                    below += many[at]
                    below_sum += sums[at]
                    at -= at & -at
                found[i, k] = (2 * below - width) * mean - 2 * below_sum + total
    return found


@njit(cache=True)
def _cheapest(scores):
    """The partition of least total score into buckets of 2^k cells."""
    cells, widths = scores.shape
    total = np.zeros(cells + 1)
    start = np.zeros(cells + 1, np.int64)
    for i in range(cells):
        best, place = total[i] + scores[i, 0], i
        for k in range(1, widths):
            width = 1 << k
            if width > i + 1:
                break
            score = total[i - width + 1] + scores[i, k]
            if score <= best:
                best, place = score, i - width + 1
        total[i + 1], start[i + 1] = best, place
    cuts = [cells]
    at = cells
    while at > 0:
        at = start[at]
        cuts.append(at)
    return np.array(cuts[::-1])


@njit(cache=True)
def _greedy_tree(gram, same, steps=100):
    """GreedyH: a binary tree over the buckets, and the weight of each node's count."""
    n = gram.shape[0]
    first, size = np.zeros(2 * n, np.int64), np.zeros(2 * n, np.int64)
    depth = np.zeros(2 * n, np.int64)
    left, right = -np.ones(2 * n, np.int64), -np.ones(2 * n, np.int64)
    size[0] = n
    many, at = 1, 0
    while at < many:
        if size[at] > 1 and same[first[at] + size[at] - 1] - same[first[at]] != size[at] - 1:
            half = size[at] // 2
            left[at], right[at] = many, many + 1
            first[many], first[many + 1] = first[at], first[at] + half
            size[many], size[many + 1] = half, size[at] - half
            depth[many] = depth[many + 1] = depth[at] + 1
            many += 2
        at += 1
    norm, scale, error, kept = np.zeros(many), np.ones(many), np.zeros(many), np.ones(many)
    for node in range(many - 1, -1, -1):
        row = first[node]
        if left[node] < 0:
            norm[node] = error[node] = (gram[row] * gram[row]).sum()
            continue
        gram[row] += gram[first[right[node]]]
        whole = (gram[row] * gram[row]).sum()
        parts = norm[left[node]] + norm[right[node]]
        scales = scale[left[node]] + scale[right[node]]
        errors = error[left[node]] + error[right[node]]
        decay = 2.0 ** (-depth[node] / 2.0)
        best, choice = np.inf, 0
        for step in range(steps):
            below, own = float((steps - step) ** 2), float(step * step) * decay
            score = (
                errors - ((whole - parts) * decay + parts) * own / (below + own * scales)
            ) / below
            if score < best:
                best, choice = score, step
        share = 1 - choice / steps
        kept[node] = share
        error[node] = best * steps**2
        factor = 1.0 / (share * share + scales * (1 - share) ** 2)
        gram[row] *= factor
        norm[node] = whole * factor * factor
        scale[node] = scales * factor
    weight, left_over = np.zeros(many), np.ones(many)
    for node in range(many):
        if left[node] < 0:
            weight[node] = left_over[node]
        else:
            weight[node] = left_over[node] * (1 - kept[node])
            left_over[left[node]] = left_over[right[node]] = left_over[node] * kept[node]
    return first[:many], size[:many], left[:many], right[:many], weight


@njit(cache=True)
def _least_squares(prefix, first, size, left, right, weight, noise):
    """Noisy counts of the tree's nodes, weighted, to consistent counts of the buckets."""
    many = first.size
    value, variance = np.zeros(many), np.zeros(many)
    summed, spread = np.zeros(many), np.zeros(many)
    found = np.zeros(prefix.size - 1)
    for node in range(many - 1, -1, -1):
        exact = prefix[first[node] + size[node]] - prefix[first[node]]
        if left[node] < 0:
            value[node] = exact + noise[node] / weight[node]
            variance[node] = 1 / weight[node] ** 2
            continue
        summed[node] = value[left[node]] + value[right[node]]
        spread[node] = variance[left[node]] + variance[right[node]]
        precision = weight[node] ** 2
        variance[node] = 1 / (precision + 1 / spread[node])
        own = precision * exact + weight[node] * noise[node]
        value[node] = variance[node] * (own + summed[node] / spread[node])
    for node in range(many):
        if left[node] < 0:
            found[first[node] : first[node] + size[node]] = value[node] / size[node]
        else:
            rest = (value[node] - summed[node]) / spread[node]
            value[left[node]] += rest * variance[left[node]]
            value[right[node]] += rest * variance[right[node]]
    return found


class RangeWorkload:
    """The workload over cells in one order, reduced to buckets."""

    def __init__(self, first: np.ndarray, last: np.ndarray, order: np.ndarray, shape) -> None:
        self._prefix = np.zeros((len(first), order.size + 1), np.float32)
        for place in range(len(first)):
            query = np.zeros(shape, np.float32)
            query[
                tuple(slice(a, b + 1) for a, b in zip(first[place], last[place], strict=True))
            ] = 1
            self._prefix[place, 1:] = np.cumsum(query.ravel()[order])

    def gram(self, cuts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Rows whose sums have the norms of the bucketed workload's Gram matrix; which neighbours are equal."""
        queries = np.diff(self._prefix[:, cuts], axis=1) / np.diff(cuts).astype(np.float32)
        equal = (queries[:, 1:] == queries[:, :-1]).all(axis=0)
        same = np.concatenate([[0], np.cumsum(equal)])
        if len(cuts) >= 4000 and queries.shape[0] > SAMPLED and queries.shape[1] > 8192:
            queries = queries[:SAMPLED]
        if queries.shape[1] <= queries.shape[0] or queries.shape[1] <= 4096:
            return (queries.T @ queries).astype(np.float64), same
        small = queries.astype(np.float64)
        small = small @ small.T
        ridge = 1e-5 * np.trace(small) / len(small) * np.eye(len(small))
        root = np.linalg.cholesky(small + ridge).T.astype(np.float32)
        return np.ascontiguousarray((root @ queries).T).astype(np.float64), same


@dataclass(frozen=True, slots=True)
class Dawa:
    """DAWA over cells in a given order (Hilbert's, in two dimensions)."""

    workload: RangeWorkload
    order: np.ndarray
    sound: bool = False
    ratio: float = 0.5

    def deviations(self, counts: np.ndarray) -> np.ndarray:
        """Computed once for a histogram; the noise comes later."""
        cells = counts.ravel()[self.order]
        distinct, rank = np.unique(cells, return_inverse=True)
        return _deviations(
            cells.astype(np.float64), rank.astype(np.int64), distinct.astype(np.float64)
        )

    def release(
        self, counts: np.ndarray, deviations: np.ndarray, epsilon: float, generator: Generator
    ) -> np.ndarray:
        cells = counts.ravel()[self.order]
        first, second = epsilon * self.ratio, epsilon * (1 - self.ratio)
        widths = 2.0 ** np.arange(deviations.shape[1])
        scale = (2 - 1 / widths - 1 / cells.size) / first
        noise = generator.laplace(0, 1, deviations.shape)
        if self.sound:
            scores = deviations + 1 / second + noise * 2 * scale
        else:
            scale[0] = 0
            scores = np.maximum(deviations + 1 / second + noise * scale, 1 / second)
        cuts = _cheapest(scores)
        prefix = np.concatenate([[0.0], np.cumsum(cells, dtype=np.float64)])[cuts]
        gram, same = self.workload.gram(cuts)
        tree = _greedy_tree(gram, same)
        drawn = generator.laplace(0, 1 / second, tree[0].size)
        buckets = _least_squares(prefix, *tree, drawn)
        sizes = np.diff(cuts)
        found = np.empty(cells.size)
        found[self.order] = np.repeat(buckets / sizes, sizes)
        return found.reshape(counts.shape)


def hilbert_order(side: int) -> np.ndarray:
    """Cells of a square of 2^k cells a side along Hilbert's curve."""
    x, y = np.array([0]), np.array([0])
    size = 1
    while size < side:
        x, y = (
            np.concatenate([y, x, size + x, 2 * size - 1 - y]),
            np.concatenate([x, size + y, size + y, size - 1 - x]),
        )
        size *= 2
    return x * side + y
