"""The ranges of a column in every group: one tree, or one strategy over the cells, for each of them.

All groups were measured alike, with independent noise. So the numbers of several groups add up to the
numbers of the same tree over all their rows, with as many times the variance, and one fit of the sums
answers for the groups together.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from discreet.arrays import Bools, Codes, Floats, Integers
from discreet.artifacts.measurement import Measurement
from discreet.errors import BadRelease
from discreet.families.groups.answer.noisy_columns import taken_by
from discreet.families.groups.queries.group_ranges import GroupBuckets, GroupStrategy
from discreet.families.ranges.answer.ranges import DRAWS, WHOLE_NOTE, CountsRanges
from discreet.families.ranges.estimate.cell_strategies import (
    CellIntervals,
    cell_intervals,
    smoothed_cells,
)
from discreet.families.ranges.estimate.tree_intervals import IntervalIndex, RangeEstimates
from discreet.families.ranges.estimate.tree_layers import LEAST_VARIANCE, Layer, PrunedTree
from discreet.families.ranges.estimate.tree_nodes import TreeNodes
from discreet.families.ranges.estimate.tree_shrinkage import smoothed
from discreet.privacy.laws import NoiseLaw
from discreet.queries.tree import bits_of
from discreet.schema import Schema

MOST_KEPT = 8
"""Sets of groups whose ranges are kept."""


@dataclass(frozen=True, slots=True, eq=False)
class MeasuredNumbers:
    """Noisy numbers of every group: one level of its tree, or all of its strategy."""

    query: GroupBuckets | GroupStrategy
    values: Integers
    """One axis a group column, the last one for the numbers of a group."""
    law: NoiseLaw


@dataclass(frozen=True, slots=True, eq=False)
class GroupedRanges:
    """What was measured of one column in every group."""

    column: str
    groups: tuple[str, ...]
    schema: Schema
    numbers: tuple[MeasuredNumbers, ...]
    kept: dict[tuple[bytes, tuple[int, ...]], list[GroupRange]] = field(
        default_factory=dict, repr=False
    )
    """What was computed last. A computed key asks for the same groups again for each of its own groups."""

    def over(self, mask: Bools, axes: tuple[int, ...]) -> list[GroupRange]:
        """The ranges of the groups in `mask`, for each combination of cells of the columns on `axes`."""
        asked = mask.tobytes(), axes
        found = self.kept.get(asked)
        if found is None:
            found = self._over(mask, axes)
            if len(self.kept) >= MOST_KEPT:
                self.kept.clear()
            self.kept[asked] = found
        return found

    def _over(self, mask: Bools, axes: tuple[int, ...]) -> list[GroupRange]:
        many = taken_by(mask.astype(np.float64), axes).astype(np.int64)
        sums: list[Floats] = []
        for each in self.numbers:
            taken = np.where(mask[..., np.newaxis], each.values, 0).astype(np.float64)
            rest = [axis for axis in range(mask.ndim) if axis not in axes]
            moved = taken.transpose([*axes, *rest, mask.ndim])
            sums.append(moved.reshape(len(many), -1, taken.shape[-1]).sum(axis=1))
        return [
            GroupRange(self, tuple(each[place] for each in sums), int(count))
            for place, count in enumerate(many)
        ]


@dataclass(eq=False)
class GroupRange(CountsRanges):
    """The ranges of some groups together. What it needs is computed when it is first asked."""

    measured: GroupedRanges
    sums: tuple[Floats, ...]
    many: int
    """How many groups."""

    @property
    def schema(self) -> Schema:
        return self.measured.schema

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.measured.column,)

    @property
    def note(self) -> str:
        return WHOLE_NOTE

    @property
    def kurtosis(self) -> float:
        """The excess kurtosis of a typical range's noise: it falls with the number of draws."""
        largest = max(each.law.smooth_kurtosis for each in self.measured.numbers)
        return largest / DRAWS / max(self.many, 1)

    @cached_property
    def intervals(self) -> IntervalIndex | CellIntervals:
        first = self.measured.numbers[0]
        if isinstance(first.query, GroupStrategy):
            variance = first.law.variance * self.many
            found = cell_intervals(first.query.array, self.sums[0], variance)
            estimate = smoothed_cells(found, self.measured.column, self.schema)
            return CellIntervals(found.fitted, estimate, found.covariance)
        tree = PrunedTree(self._layers(), columns=self.columns, schema=self.schema)
        last = (self.schema.column(self.measured.column).value_cells - 1,)
        return IntervalIndex(TreeNodes(tree, tree.leaves(smoothed(tree)), last))

    def _layers(self) -> list[Layer]:
        """A root, which may not have been measured, and the measured levels below it."""
        bits = bits_of(self.schema.column(self.measured.column).value_cells)
        layers: list[Layer] = []
        last = len(self.measured.numbers) - 1
        for place, (each, sums) in enumerate(zip(self.measured.numbers, self.sums, strict=True)):
            assert isinstance(each.query, GroupBuckets)
            nodes = np.arange(len(sums), dtype=np.uint64)[:, np.newaxis]
            precision = np.full(len(sums), 1 / max(each.law.variance * self.many, LEAST_VARIANCE))
            ends = np.full(len(sums), place == last)
            layers.append(Layer((bits - each.query.shift,), nodes, sums, precision, ends))
        if layers[0].depth != (0,):
            nothing, root = np.zeros(1), np.zeros((1, 1), dtype=np.uint64)
            layers.insert(0, Layer((0,), root, nothing, nothing, np.zeros(1, dtype=np.bool_)))
        return layers

    def fitted(self, first: Codes, last: Codes) -> RangeEstimates:
        """Estimates of the ranges first..last (both included), which are not empty."""
        if not self.many:
            nothing = np.zeros(len(first))
            return RangeEstimates(nothing, nothing, nothing, nothing, nothing)
        return self.intervals.between(first[:, 0], last[:, 0])


def noisy_ranges(measured: Sequence[Measurement], schema: Schema) -> list[GroupedRanges]:
    """The columns of a part, from its measurements in their order."""
    found: dict[tuple[str, tuple[str, ...]], list[MeasuredNumbers]] = {}
    for each in measured:
        query = each.query
        if not isinstance(query, GroupBuckets | GroupStrategy):
            raise BadRelease("a release of ranges by group holds something else than its groups.")
        size = query.size(schema)
        if each.values.shape != (size,):
            raise BadRelease("a release of ranges by group has not as many numbers as groups.")
        shape = tuple(schema.column(name).cells for name in query.groups)
        values = each.values.reshape(*shape, size // math.prod(shape))
        key = query.column, query.groups
        found.setdefault(key, []).append(MeasuredNumbers(query, values, each.law))
    for (column, _), numbers in found.items():
        _check(column, numbers, schema)
    return [
        GroupedRanges(column, groups, schema, tuple(numbers))
        for (column, groups), numbers in found.items()
    ]


def _check(column: str, numbers: list[MeasuredNumbers], schema: Schema) -> None:
    """One strategy that determines its cells, or levels from coarse to fine."""
    first = numbers[0].query
    if isinstance(first, GroupStrategy):
        cells = schema.column(column).value_cells
        if len(numbers) > 1 or np.linalg.matrix_rank(first.array.astype(np.float64)) < cells:
            raise BadRelease("a strategy by group does not determine its cells.")
        return
    shifts = [each.query.shift for each in numbers if isinstance(each.query, GroupBuckets)]
    if len(shifts) < len(numbers) or shifts != sorted(set(shifts), reverse=True):
        raise BadRelease("the levels of a tree by group are not in order.")
    if shifts[0] > bits_of(schema.column(column).value_cells):
        raise BadRelease("a level of a tree by group is not one of its tree.")
