"""Variances of sums over the leaves of a tree, in passes over its nodes: linear in their number.

A sum gives each leaf a weight. From the leaves up, `part` of a node is what the noise of the node's own count
counts for, as in `TreeNodes`: share one + (1 - share) other, where `one` and `other` are the parts of its halves. Given
the node, its halves add (one - other)^2 split to the variance.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from discreet.arrays import Floats, Integers
from discreet.families.ranges.estimate.tree_nodes import NONE, TreeNodes


@dataclass(frozen=True, slots=True, eq=False)
class _Halved:
    """The nodes of one depth that have halves. Of a `single` node only one half, its `child`, lies in the domain; it has the node's count."""

    node: Integers
    left: Integers
    right: Integers
    share: Floats
    split: Floats
    single: Integers
    child: Integers

    @classmethod
    def of(cls, nodes: TreeNodes, level: Integers) -> _Halved:
        left, right = nodes.left[level], nodes.right[level]
        has_both = (left != NONE) & (right != NONE)
        both, single = level[has_both], level[~has_both]
        return cls(
            node=both,
            left=left[has_both],
            right=right[has_both],
            share=nodes.share[both],
            split=nodes.split[both],
            single=single,
            child=np.maximum(nodes.left[single], nodes.right[single]),
        )


class TreePasses:
    """Passes up and down a tree; `leaves` are in the order of their cells."""

    def __init__(self, nodes: TreeNodes, leaves: Integers) -> None:
        self._leaves, self._many, self._pull = leaves, len(nodes), nodes.pull[leaves]
        self._root_variance = nodes.root_variance
        self._halved: list[_Halved] = []
        level = np.flatnonzero(nodes.depth == 0)
        while len(level):
            halved = _Halved.of(nodes, level[~nodes.is_leaf[level]])
            self._halved.append(halved)
            level = np.concatenate([halved.left, halved.right, halved.child])

    def deviation(self, weights: Floats) -> float:
        """Standard deviation of the least squares counts of all leaves, each times its weight, added up."""
        part = self._parts(weights)
        variance = float(part[0]) ** 2 * self._root_variance
        for each in self._halved:
            variance += float((part[each.left] - part[each.right]) ** 2 @ each.split)
        return math.sqrt(max(variance - float(weights @ self._pull) ** 2, 0.0))

    def boundary_deviations(self, before: Floats, after: Floats) -> Floats:
        """For each leaf: the deviation where the leaves before it have the weights `before`, it and the others `after`.

        From the root down. Let x be the part of a node with the boundary in it. The variance outside the
        node is then `square` x^2 + `linear` x + `fixed`. Of the two halves one has the boundary in it, and the part of the other, k, is known: it
        lies before the boundary if it is the left one, and after it if it is the right one.
        """
        known = {True: self._parts(before), False: self._parts(after)}
        below = {is_before: self._below(part) for is_before, part in known.items()}
        square, linear, fixed = np.zeros((3, self._many))
        square[0] = self._root_variance
        for each in self._halved:
            for numbers in (square, linear, fixed):
                numbers[each.child] = numbers[each.single]
            a, b, c = square[each.node], linear[each.node], fixed[each.node]
            for is_before, half, other, share in (
                (False, each.left, each.right, each.share),
                (True, each.right, each.left, 1 - each.share),
            ):
                k = known[is_before][other]
                rest = (1 - share) * k
                square[half] = a * share**2 + each.split
                linear[half] = (2 * a * rest + b) * share - 2 * k * each.split
                fixed[half] = (a * rest + b) * rest + c + k**2 * each.split
                fixed[half] += below[is_before][other]
        x = after  # the boundary is at the start of the leaf
        at = self._leaves
        passed, rest = np.cumsum(before * self._pull), np.cumsum((after * self._pull)[::-1])[::-1]
        pulled = np.append(0.0, passed[:-1]) + rest
        return np.sqrt(np.maximum((square[at] * x + linear[at]) * x + fixed[at] - pulled**2, 0.0))

    def _parts(self, weights: Floats) -> Floats:
        """The part of each node in the sum that gives its leaves these weights."""
        part = np.zeros(self._many)
        part[self._leaves] = weights
        for each in reversed(self._halved):
            one, other = part[each.left], part[each.right]
            part[each.node] = each.share * one + (1 - each.share) * other
            part[each.single] = part[each.child]
        return part

    def _below(self, part: Floats) -> Floats:
        """The variance that what lies below each node adds, given the node."""
        variance = np.zeros(self._many)
        for each in reversed(self._halved):
            added = (part[each.left] - part[each.right]) ** 2 * each.split
            variance[each.node] = added + variance[each.left] + variance[each.right]
            variance[each.single] = variance[each.child]
        return variance
