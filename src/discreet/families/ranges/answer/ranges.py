"""Counts of ranges from a released tree, each with an interval.

The rows of a range are at least those of the leaves inside it and at most those of all leaves it
touches, so [inner - z sd, outer + z sd'] holds however rows lie inside the leaves; the estimate, which
spreads a leaf's rows evenly, lies in between. The standard deviations are exact, for the tree as it is
and least squares on it. What is nominal is z: sums of a few Laplace draws have heavier tails than a
normal law, which a Cornish-Fisher term for their kurtosis makes up for, and the tree is taken as
fixed although noise shaped it. Measured coverage is in the benchmarks.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol

import numpy as np

from discreet.answering.estimates import Estimates, joined
from discreet.answering.verification.verify_tree import tree_epsilon
from discreet.arrays import Bools, Codes, Floats, Integers
from discreet.artifacts.measurement import Measurement
from discreet.artifacts.release import Part, Release
from discreet.errors import BadRelease
from discreet.families.halfspaces.queries.halfspaces import Halfspaces
from discreet.families.ranges.answer.joint_estimates import (
    JoinedEstimates,
    Sums,
    ends_of,
    in_and_outside,
    joint_ends,
    noise_of,
)
from discreet.families.ranges.estimate.tree_boxes import BoxIndex
from discreet.families.ranges.estimate.tree_intervals import IntervalIndex, RangeEstimates
from discreet.families.ranges.estimate.tree_layers import Layer, PrunedTree, full_layers, layers_of
from discreet.families.ranges.estimate.tree_nodes import TreeNodes
from discreet.families.ranges.queries.ranges import Ranges, measured_tree, range_tree
from discreet.families.shared.answer.evidence import Evidence
from discreet.privacy.laws.sums import spread_factor
from discreet.queries.blocks import BlockCounts
from discreet.schema import Schema

Ends = tuple[Codes, Codes]
"""First and last cells, one row a range."""

DRAWS = 3 / 1.3
"""A typical range's noise has the kurtosis of a sum of so many equal draws."""
TREE_KURTOSIS = 3.0
"""The excess kurtosis of a draw in a refined tree, which is Laplace noise."""

CHUNK = 1 << 14
"""Ranges that are worked on together: few enough for their numbers to stay in a processor's cache."""

RANGE_NOTE = (
    "The interval is nominal and for this question alone: it uses the exact standard deviation "
    "of the noise and takes the tree as fixed. It also allows for rows anywhere inside a cell "
    "that the range cuts."
)


SEPARATE_NOTE = (
    "The interval is nominal and for this question alone: it uses the exact standard deviation "
    "of the noise, and the tree was found with noise of its own. It also allows for rows "
    "anywhere inside a cell that the range cuts."
)
"""The note of a tree that was found and measured in two stages."""
WHOLE_NOTE = (
    "The interval is nominal and for this question alone: it uses the exact standard deviation "
    "of the noise. Which numbers were measured did not depend on any row."
)
"""The note of a tree whose levels are measured whole."""


class CountsRanges:
    """A source that fits ranges: it counts them, too."""

    def estimates(
        self: FittedRanges, first: Codes, last: Codes, confidence: float
    ) -> RangeEstimates:
        """Estimates of the boxes first..last (both included), which are not empty."""
        return self.fitted(first, last)

    def read_boxes(self: FittedRanges, first: Codes, last: Codes, confidence: float) -> Estimates:
        """Rows in each box, with intervals. A box with first > last in some column is empty."""
        ends = first, last
        return count_between(self, ends, ends, confidence)

    def count(
        self: FittedRanges,
        first: Codes,
        last: Codes,
        *,
        confidence: float,
        public_rows: int | None = None,
        whole: bool = True,
    ) -> Estimates:
        """The same, made plausible for counts."""
        ends = first, last
        return count_between(self, ends, ends, confidence).plausible(public_rows, whole=whole)


@dataclass(eq=False)
class RangeSource(CountsRanges):
    """A released tree over some columns. Its tables are made when it is first asked."""

    part: Part
    schema: Schema
    columns: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        assert isinstance(self.part.query_class, Ranges | Halfspaces)
        self.columns = self.part.query_class.named(self.schema)

    @property
    def note(self) -> str:
        """What its intervals stand on."""
        return (WHOLE_NOTE, RANGE_NOTE, SEPARATE_NOTE)[min(len(self.part.trees), 2)]

    @cached_property
    def tree(self) -> PrunedTree:
        trees = self.part.trees
        if not trees:
            return PrunedTree(self._levels(), columns=self.columns, schema=self.schema)
        measured = trees[-1]  # of two stages, the second
        tree_epsilon(measured, self.schema, BadRelease)  # refuses a tree that is none
        if measured.tree.columns != self.columns:
            raise BadRelease("a tree is over other columns than its query class.")
        return PrunedTree(layers_of(measured), columns=self.columns, schema=self.schema)

    def _levels(self) -> list[Layer]:
        """A tree of which whole levels were measured."""
        every = range_tree(self.columns, self.schema, every=True)
        depths = {every.shifts(level): depth for level, depth in enumerate(every.depths)}
        found: dict[tuple[int, ...], tuple[Integers, float]] = {}
        for each in self.part.measurements:
            if not isinstance(each, Measurement) or not isinstance(each.query, BlockCounts):
                raise BadRelease("a release of ranges holds something else than levels of a tree.")
            depth = depths.get(each.query.shifts)
            if depth is None or each.query.columns != self.columns or depth in found:
                raise BadRelease("a level of a tree is not one of its tree.")
            found[depth] = (each.values, each.law.variance)
        if every.depths[-1] not in found:
            raise BadRelease("a tree has no last level.")
        tree = measured_tree(self.columns, self.schema, found)
        levels = {tree.depths.index(depth): numbers for depth, numbers in found.items()}
        return full_layers(tree, levels, self.schema)

    @cached_property
    def kurtosis(self) -> float:
        """The excess kurtosis of a typical range's noise; 0 for Gaussian noise."""
        laws = [each.law for each in self.part.noisy]
        return max((law.smooth_kurtosis for law in laws), default=TREE_KURTOSIS) / DRAWS

    @property
    def leaf_estimates(self) -> Floats:
        if "leaves" not in self.part.estimates:
            raise BadRelease("a tree has no estimates of its leaves.")
        return self.part.estimates["leaves"]

    @cached_property
    def nodes(self) -> TreeNodes:
        last = tuple(self.schema.column(name).value_cells - 1 for name in self.columns)
        return TreeNodes(self.tree, self.leaf_estimates, last)

    @cached_property
    def intervals(self) -> IntervalIndex:
        """The index of ranges, for a tree over one column."""
        return IntervalIndex(self.nodes)

    @property
    def whole_variance(self) -> float:
        """The variance of the count of all rows with values."""
        return float(self.nodes.root_variance) - float(self.nodes.pull[0]) ** 2

    @cached_property
    def boxes(self) -> BoxIndex:
        return BoxIndex(self.nodes)

    def published_boxes(self) -> tuple[Codes, Codes, Floats]:
        """First and last cells of the leaves, and the smoothed rows of each."""
        nodes = self.nodes
        leaves = np.flatnonzero(nodes.is_leaf)
        return nodes.low[leaves], nodes.high[leaves], np.maximum(nodes.estimate[leaves], 0.0)

    def fitted(self, first: Codes, last: Codes) -> RangeEstimates:
        """Estimates of the boxes first..last (both included), which are not empty."""
        if len(self.columns) == 1:
            return self.intervals.between(first[:, 0], last[:, 0])
        return self.boxes.inside(first, last)


class FittedRanges(Protocol):
    """What ranges are counted from."""

    @property
    def kurtosis(self) -> float: ...
    def fitted(self, first: Codes, last: Codes) -> RangeEstimates: ...
    def estimates(self, first: Codes, last: Codes, confidence: float) -> RangeEstimates: ...


def count_between(source: FittedRanges, inner: Ends, outer: Ends, confidence: float) -> Estimates:
    """Rows of ranges that hold all of `inner` and may hold some more of `outer`: the same, or wider."""
    parts = []
    for at in range(0, max(len(inner[0]), 1), CHUNK):
        chunk = slice(at, at + CHUNK)
        found = _fitted(source, (inner[0][chunk], inner[1][chunk]), confidence)
        if outer is not inner:
            around = _fitted(source, (outer[0][chunk], outer[1][chunk]), confidence)
            found = in_and_outside(found, around)
        parts.append(bounded(found, confidence=confidence, kurtosis=source.kurtosis))
    return joined(parts)


def _fitted(source: FittedRanges, ends: Ends, confidence: float) -> RangeEstimates:
    """Estimates of boxes; one with first > last in some column is empty, for certain."""
    first, last = ends
    empty: Bools = np.any(first > last, axis=1)
    if not empty.any():
        return source.estimates(first, last, confidence)
    some = np.flatnonzero(~empty)
    sums = Sums(len(first))
    if len(some):
        sums.add(source.estimates(first[some], last[some], confidence), some)
    return sums.estimates()


def bounded(found: RangeEstimates, *, confidence: float, kurtosis: float) -> Estimates:
    """The interval around each estimate."""
    if isinstance(found, JoinedEstimates):
        return Estimates(*joint_ends(found, 1 - confidence, kurtosis))
    lower, upper = ends_of(found, spread_factor(1 - confidence, kurtosis))
    return Estimates(found.estimate, lower, upper, noise_of(found), found.inner == found.outer)


def tree_of(part: Part, place: int, release: Release) -> Evidence:
    """The contribution of a part of a tree."""
    return Evidence(ranges=[RangeSource(part, release.schema)])
