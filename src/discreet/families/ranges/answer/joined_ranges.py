"""Ranges from all that a release holds about some columns: trees, the table of their cells, counts of values.

The noises of these sources are independent. The table says something of every set of cells; a tree
says how many rows lie in a set A of whole leaves, with noise of its own. Least squares over both:

    rows of E = table(E) + w (tree(A) - table(A)),   w = cov(E, A) / (var tree(A) + var table(A)),

covariances being the table's. Where leaves make up E, so that A = E, this is the combination by
inverse variance; where E cuts a leaf, A is the nearest set of leaves, from inside or from outside at
each end, whichever leaves less noise. Several trees give one equation each. The estimate is unbiased
and its variance exact, whatever the table of rows is; nothing is spread evenly inside a leaf.

Which leaves there are is taken as given, as for a tree alone; which of them an estimate leans on is
decided by variances, never by values. Where a leaf is cut a tree's own bracket (leaves inside, leaves
touched) must hold too: it is the narrower one where the leaf is wide and nearly empty, so an interval
is what lies in both.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from discreet.arrays import Bools, Codes, Floats
from discreet.families.ranges.answer.joint_estimates import JoinedEstimates
from discreet.families.ranges.answer.ranges import CountsRanges, RangeSource
from discreet.families.ranges.estimate.tree_intervals import RangeEstimates
from discreet.families.tables.estimate.consistent import LARGEST_KURTOSIS
from discreet.families.tables.estimate.symmetric_tables import Box, SymmetricTable
from discreet.privacy.laws import NoiseLaw

LEAST_SHARE = 1e-3
"""A source that makes up less than this of an estimate is not counted as one of those combined."""


@dataclass(frozen=True, slots=True, eq=False)
class Anchor:
    """What one source says of sets A of cells: unbiased, with independent noise."""

    box: Box
    value: Floats
    smooth: Floats
    """The source's own best estimate, where it is not the unbiased one."""
    variance: Floats
    kurtosis: float
    is_resolved: Bools
    """Whether A is the very set that was asked for."""


@dataclass(frozen=True, slots=True)
class PresentRows:
    """A noisy count of all rows with a value in one column."""

    value: int
    law: NoiseLaw


@dataclass(eq=False)
class JoinedSource(CountsRanges):
    """Trees over the same columns, with the table over them where one is released."""

    trees: tuple[RangeSource, ...]
    present: tuple[PresentRows, ...]
    make_table: Callable[[], SymmetricTable | None]
    columns: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        self.columns = self.trees[0].columns
        schema = self.trees[0].schema
        self._last = [schema.column(name).value_cells - 1 for name in self.columns]

    @cached_property
    def table(self) -> SymmetricTable | None:
        """Over `columns`, in their order."""
        return self.make_table()

    @property
    def note(self) -> str:
        return self.trees[0].note

    @property
    def kurtosis(self) -> float:
        return max(tree.kurtosis for tree in self.trees)

    @property
    def is_lone(self) -> bool:
        """Whether there is nothing to combine."""
        return len(self.trees) == 1 and not self.present and self.table is None

    def fitted(self, first: Codes, last: Codes) -> RangeEstimates:
        """Estimates of the boxes first..last (both included), which are not empty."""
        if self.is_lone:
            return self.trees[0].fitted(first, last)
        asked = first, last
        brackets = [tree.fitted(*self._ordered(tree, asked)) for tree in self.trees]
        anchors = [
            self._of_tree(tree, found, asked)
            for tree, found in zip(self.trees, brackets, strict=True)
        ]
        anchors += [self._of_count(each, asked) for each in self.present]
        table = self.table
        if table is None:
            joint = _by_variance(anchors)
        else:
            joint = least_squares(table, asked, [(table, each) for each in anchors])
        bracket = self._best_bracket(brackets)
        return replace(joint, bracket=None if (bracket.inner == bracket.outer).all() else bracket)

    def whole(self) -> list[Anchor]:
        """What trees and counts say of all cells of values."""
        box = self._everything(1)
        anchors = [
            self._of_tree(tree, tree.fitted(*self._ordered(tree, box)), box) for tree in self.trees
        ]
        return anchors + [self._of_count(each, box) for each in self.present]

    def _everything(self, many: int) -> Box:
        last = np.array([self._last], dtype=np.uint64).repeat(many, axis=0)
        return np.zeros_like(last), last

    def _ordered(self, tree: RangeSource, box: Box) -> Box:
        order = [self.columns.index(name) for name in tree.columns]
        return box[0][:, order], box[1][:, order]

    def _of_count(self, present: PresentRows, asked: Box) -> Anchor:
        many = len(asked[0])
        box = self._everything(many)
        value = np.full(many, float(present.value))
        kurtosis = min(present.law.excess_kurtosis, LARGEST_KURTOSIS)
        same = (asked[0] == box[0]).all(axis=1) & (asked[1] == box[1]).all(axis=1)
        return Anchor(
            box, value, value, np.full(many, present.law.variance), kurtosis, np.asarray(same)
        )

    def _of_tree(self, tree: RangeSource, found: RangeEstimates, asked: Box) -> Anchor:
        if len(self.columns) == 1:
            index = tree.intervals
            first, last = asked[0][:, 0], asked[1][:, 0]
            same = (index.starts[index.leaf_of(first)] == first) & (
                index.ends[index.leaf_of(last)] == last
            )
        else:
            same = found.inner == found.outer
        plain = Anchor(
            asked, found.outer, found.estimate, found.outer_std**2, tree.kurtosis, np.asarray(same)
        )
        if len(self.columns) > 1 or self.table is None or same.all():
            return plain
        return self._nearest_leaves(tree, plain, asked)

    def _nearest_leaves(self, tree: RangeSource, plain: Anchor, asked: Box) -> Anchor:
        """For one column: where an end falls into a leaf, the leaves before it or after it."""
        assert self.table is not None
        index = tree.intervals
        cut = np.flatnonzero(~plain.is_resolved)
        first, last = asked[0][cut, 0], asked[1][cut, 0]
        begin, end = index.leaf_of(first), index.leaf_of(last) + 1
        later = begin + (index.starts[begin] < first)
        sooner = end - (index.ends[end - 1] > last)
        own = asked[0][cut], asked[1][cut]
        best = np.full(len(cut), -1.0)
        box = asked[0].copy(), asked[1].copy()
        value, smooth, variance = plain.value.copy(), plain.smooth.copy(), plain.variance.copy()
        for start, stop in ((begin, end), (later, end), (begin, sooner), (later, sooner)):
            some = start < stop
            at, to = np.where(some, start, 0), np.where(some, stop, 1)
            leaves = index.starts[at][:, np.newaxis], index.ends[to - 1][:, np.newaxis]
            noise = index.deviation(at, to) ** 2
            shared = self.table.covariance(own, self.table, leaves)
            gain = np.where(some, shared**2 / (noise + self.table.variance(leaves)), 0.0)
            better = gain > best
            best = np.where(better, gain, best)
            where, at, to = cut[better], at[better], to[better]
            box[0][where], box[1][where] = leaves[0][better], leaves[1][better]
            value[where] = index.fitted_prefix[to] - index.fitted_prefix[at]
            smooth[where] = index.prefix[to] - index.prefix[at]
            variance[where] = noise[better]
        # Resolved or not, this is about whole leaves, and the table makes up for the difference.
        return Anchor(box, value, smooth, variance, plain.kurtosis, np.ones(len(value), np.bool_))

    def _best_bracket(self, brackets: Sequence[RangeEstimates]) -> RangeEstimates:
        """The tree with the least noise on the largest question: the same one for all of them."""
        largest = [tree.whole_variance for tree in self.trees]
        return brackets[int(np.argmin(largest))]


def _by_variance(anchors: Sequence[Anchor]) -> JoinedEstimates:
    """Those that are about the very set, combined; infinite noise where none is."""
    exact = np.stack([each.is_resolved for each in anchors])
    variances = np.stack([each.variance for each in anchors])
    precision = np.where(exact, 1.0 / np.maximum(variances, 1e-300), 0.0)
    total = precision.sum(axis=0)
    known = total > 0
    weights = precision / np.where(known, total, 1.0)
    values, smooth = (
        np.where(exact, np.stack([getattr(each, name) for each in anchors]), 0.0)
        for name in ("value", "smooth")
    )
    tails = np.array([each.kurtosis for each in anchors])
    std = np.sqrt(np.where(known, 1.0 / np.where(known, total, 1.0), np.inf))
    value = (weights * values).sum(axis=0)
    return JoinedEstimates(
        estimate=(weights * smooth).sum(axis=0),
        inner=value,
        outer=value,
        inner_std=std,
        outer_std=std,
        kurtosis=(weights**2 * tails[:, np.newaxis]).sum(
            axis=0
        ),  # a weight is its variance's share
        sources=(weights >= LEAST_SHARE).sum(axis=0),
    )


def least_squares(
    table: SymmetricTable, asked: Box, anchors: Sequence[tuple[SymmetricTable, Anchor]]
) -> JoinedEstimates:
    """The rows of boxes of `table`, given what is said of other boxes, each of a table of its own.

    The tables may be the same one; else all of them are put together from the same residuals.
    """
    used = [(own, each) for own, each in anchors if each.is_resolved.any()]
    own = table.sums(asked)
    prior = table.variance(asked)
    if not used:
        std = np.sqrt(prior)
        one = np.ones(len(own), dtype=np.int64)
        return JoinedEstimates(own, own, own, std, std, table.kurtosis(asked), one)
    shared = np.stack([table.covariance(asked, each, a.box) for each, a in used], axis=1)
    usable = np.stack([each.is_resolved for _, each in used], axis=1)
    shared = np.where(usable, shared, 0.0)
    noise = np.stack([each.variance for _, each in used], axis=1)
    between = np.empty((len(own), len(used), len(used)))
    for row, (mine, first) in enumerate(used):
        for column, (theirs, second) in enumerate(used[: row + 1]):
            between[:, row, column] = mine.covariance(first.box, theirs, second.box)
            between[:, column, row] = between[:, row, column]
        between[:, row, row] += noise[:, row]
    weights = _solved(between, shared, usable)
    behind = np.stack([mine.sums(each.box) for mine, each in used], axis=1)
    values, smooth = (
        own + (weights * (np.stack([getattr(each, name) for _, each in used], axis=1) - behind)).sum(axis=1)
        for name in ("value", "smooth")
    )  # fmt: skip
    variance = np.maximum(prior - (weights * shared).sum(axis=1), 0.0)
    shares = np.divide(
        weights**2 * noise,
        variance[:, None],
        out=np.zeros(noise.shape),
        where=variance[:, None] > 0,
    )
    rest = np.clip(1 - shares.sum(axis=1), 0.0, 1.0)
    tails = np.array([each.kurtosis for _, each in used])
    std = np.sqrt(variance)
    return JoinedEstimates(
        estimate=smooth,
        inner=values,
        outer=values,
        inner_std=std,
        outer_std=std,
        kurtosis=(shares**2 * tails).sum(axis=1) + rest**2 * table.kurtosis(asked),
        sources=(shares >= LEAST_SHARE).sum(axis=1) + (rest >= LEAST_SHARE),
    )


def _solved(between: Floats, shared: Floats, usable: Bools) -> Floats:
    if shared.shape[1] == 1:
        spread = between[:, 0, :]
        return np.divide(shared, spread, out=np.zeros(shared.shape), where=usable & (spread > 0))
    # An anchor that says nothing of this box stands apart: no covariance, and a weight of 0.
    both = usable[:, :, None] & usable[:, None, :]
    apart = np.where(both, between, 0.0) + np.einsum("qk,kl->qkl", ~usable, np.eye(usable.shape[1]))
    return np.asarray(np.linalg.solve(apart, shared[..., None])[..., 0])
