"""A pruned tree as flat arrays of binary nodes: what answering ranges needs, and nothing else.

The least squares estimates of a tree form a Markov chain from the root down: the left half of a node
is `share` times the node's error plus independent noise of variance `split`, the right half is the
rest. So a query that takes the part u_l of a left half and u_r of a right half has, seen from the
node, the coefficient share u_l + (1-share) u_r and an added variance (u_l - u_r)^2 split.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from discreet.arrays import Bools, Codes, Floats, Integers
from discreet.errors import BadRelease
from discreet.families.ranges.estimate.tree_layers import Fitted, PrunedTree

NONE = -1


class TreeNodes:
    """Nodes numbered from the root (0) down; all nodes of one depth are halved in the same column."""

    def __init__(self, tree: PrunedTree, leaf_estimates: Floats, last: tuple[int, ...]) -> None:
        fitted = tree.fitted()
        self.last = np.array(last, dtype=np.uint64)
        self.bits = tree.bits
        self._pieces: dict[str, list[npt.NDArray[np.generic]]] = {}
        self._count = 0
        padded = [np.array([[0, (1 << bits) - 1]], dtype=np.uint64) for bits in tree.bits]
        first = self._added(NONE, np.zeros(1, np.bool_), fitted.variance[0], padded)
        self.root_variance = float(fitted.variance[0][0])
        """Without a weighted root; so are `variance`, `share` and `split`."""
        self.weighted = tree.layers[0].weighted
        self.weighted_total = 0.0
        """The variance of the weighted count, less what the nodes of the first level say it is."""
        if self.weighted is not None:
            self.weighted_total = self.weighted.total(fitted.variance[1])
        layer_ids = [first]
        boxes = padded
        axes: list[int] = []
        links: list[tuple[Integers, Integers, Integers, Floats, Floats]] = []
        for place, block in enumerate(tree.blocks):
            alive = tree.layers[place].alive
            parents = layer_ids[-1][alive][:, np.newaxis]
            box = [each[alive][:, np.newaxis, :] for each in boxes]
            for level, axis in enumerate(block.axes):
                there = block.cells[level + 1] > 0
                box = _halved(box, axis)
                ids = np.full(there.shape, NONE, dtype=np.int64)
                side = np.broadcast_to(np.arange(there.shape[1]) % 2 == 1, there.shape)
                parent = np.repeat(parents, 2, axis=1)
                ids[there] = self._added(
                    parent[there],
                    side[there],
                    fitted.inner_variance[place][level][there],
                    [each[there] for each in box],
                )
                real = parents != NONE
                links.append(
                    (
                        parents[real],
                        ids[:, 0::2][real],
                        ids[:, 1::2][real],
                        fitted.share[place][level][real],
                        fitted.split[place][level][real],
                    )
                )
                axes.append(axis)
                parents = ids
            flat = parents.reshape(-1)[block.place]
            layer_ids.append(flat)
            boxes = [each.reshape(-1, 2)[block.place] for each in box]
        self.axes = tuple(axes)
        self.by_layer = tuple(layer_ids)
        """The nodes of each layer of the tree, in its order."""
        self._assemble(links)
        self._count_up(tree, layer_ids, fitted, leaf_estimates, links)

    def __len__(self) -> int:
        return self._count

    def _added(
        self, parent: Integers | int, is_right: Bools, variance: Floats, boxes: list[Codes]
    ) -> Integers:
        many = len(variance)
        ids = np.arange(self._count, self._count + many, dtype=np.int64)
        self._count += many
        new: dict[str, npt.NDArray[np.generic]] = {
            "parent": np.broadcast_to(parent, many),
            "depth": np.full(many, len(self._pieces.get("depth", ())), dtype=np.int64),
            "is_right": is_right,
            "variance": variance,
            "low": np.stack([box[..., 0].reshape(many) for box in boxes], axis=1),
            "high": np.stack([box[..., 1].reshape(many) for box in boxes], axis=1),
        }
        for name, array in new.items():
            self._pieces.setdefault(name, []).append(array)
        return ids

    def _assemble(self, links: list[tuple[Integers, Integers, Integers, Floats, Floats]]) -> None:
        joined = {name: np.concatenate(parts) for name, parts in self._pieces.items()}
        self._pieces = {}
        self.parent: Integers = joined["parent"].astype(np.int64, copy=False)
        self.depth: Integers = joined["depth"].astype(np.int64, copy=False)
        """How many nodes lie above."""
        self.is_right: Bools = joined["is_right"].astype(np.bool_, copy=False)
        self.variance: Floats = joined["variance"].astype(np.float64, copy=False)
        self.low: Codes = joined["low"].astype(np.uint64, copy=False)
        self.high: Codes = np.minimum(joined["high"].astype(np.uint64, copy=False), self.last)
        self.left: Integers = np.full(self._count, NONE, dtype=np.int64)
        self.right: Integers = np.full(self._count, NONE, dtype=np.int64)
        self.share: Floats = np.ones(self._count)
        self.split: Floats = np.zeros(self._count)
        for parents, left, right, share, split in links:
            self.left[parents], self.right[parents] = left, right
            self.share[parents], self.split[parents] = share, split
        self.is_leaf: Bools = self.left == NONE

    def _count_up(
        self,
        tree: PrunedTree,
        layer_ids: list[Integers],
        fitted: Fitted,
        leaf_estimates: Floats,
        links: list[tuple[Integers, Integers, Integers, Floats, Floats]],
    ) -> None:
        """Least squares and smoothed counts of every node, from those of the leaves."""
        leaves = np.concatenate(
            [ids[layer.stopped] for ids, layer in zip(layer_ids, tree.layers, strict=True)]
        )
        if leaf_estimates.shape != leaves.shape or leaf_estimates.dtype != np.float64:
            raise BadRelease("a tree's estimates do not have the shape of its leaves.")
        self.count: Floats = np.zeros(self._count)
        self.estimate: Floats = np.zeros(self._count)
        self.count[leaves] = tree.leaves(fitted.value)
        self.pull: Floats = np.zeros(self._count)
        """By a weighted root: the variance of a sum of nodes is less by the square of the sum of these."""
        self.pull[leaves] = tree.leaves(fitted.pull)
        self.estimate[leaves] = leaf_estimates
        for parents, left, right, _, _ in reversed(links):
            for numbers in (self.count, self.estimate, self.pull):
                halves = np.where(left == NONE, 0.0, numbers[left])
                numbers[parents] = halves + np.where(right == NONE, 0.0, numbers[right])


def added(place: Integers, numbers: Floats, many: int) -> Floats:
    """The sum of the numbers that have each of `many` places."""
    return np.bincount(place, numbers, many).astype(np.float64, copy=False)


def _halved(boxes: list[Codes], axis: int) -> list[Codes]:
    """First and last cell of each half, when all boxes are halved along `axis`."""
    halves = [np.repeat(box, 2, axis=1) for box in boxes]
    low, high = boxes[axis][..., 0], boxes[axis][..., 1]
    middle = low + ((high - low) >> np.uint64(1))
    halves[axis][:, 0::2, 1] = middle
    halves[axis][:, 1::2, 0] = middle + np.uint64(1)
    return halves
