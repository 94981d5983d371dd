"""Ranges of one short column from a strategy over its cells: unbiased, with an exact variance each."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from discreet.arrays import Codes, Floats, Integers
from discreet.artifacts.measurement import Measurement
from discreet.artifacts.release import Part, Release
from discreet.errors import BadRelease
from discreet.families.ranges.answer.ranges import RangeSource
from discreet.families.ranges.estimate.all_ranges import ROUNDING, all_ranges_bound, strategy_leaves
from discreet.families.ranges.estimate.cell_strategies import CellIntervals, cell_intervals
from discreet.families.ranges.queries.cell_strategy import CellStrategy
from discreet.families.shared.answer.evidence import Evidence
from discreet.privacy.laws import NoiseLaw


@dataclass(eq=False)
class CellRangeSource(RangeSource):
    """A released strategy over the cells of one column."""

    @cached_property
    def _measured(self) -> tuple[CellStrategy, Measurement]:
        (only,) = self.part.measurements if len(self.part.measurements) == 1 else (None,)
        if not isinstance(only, Measurement) or not isinstance(only.query, CellStrategy):
            raise BadRelease("a strategy over cells holds something else than its numbers.")
        query = only.query
        if query.columns != self.columns or len(only.values) != query.size(self.schema):
            raise BadRelease("a strategy is over other cells than its query class.")
        if len(self.leaf_estimates) != query.array.shape[1]:
            raise BadRelease("a strategy has estimates of other cells.")
        if np.linalg.matrix_rank(query.array.astype(np.float64)) < query.array.shape[1]:
            raise BadRelease("a strategy does not determine its cells.")
        return query, only

    @cached_property
    def intervals(self) -> CellIntervals:  # type: ignore[override]
        query, measured = self._measured
        values = measured.values.astype(np.float64)
        return cell_intervals(query.array, values, measured.law.variance, self.leaf_estimates)

    @property
    def whole_variance(self) -> float:
        return float(self.intervals.covariance[-1, -1])

    def published_boxes(self) -> tuple[Codes, Codes, Floats]:
        """The cells, and the rows of each, none of them negative."""
        cells = self.intervals.starts[:, np.newaxis]
        return cells, cells, self.intervals.estimate

    def bound(self, delta: float) -> float:
        """A bound on the errors of all intervals, with probability 1 - delta.

        That of the noise, and how far the published estimates lie from the least squares counts.
        """
        query, measured = self._measured
        moved = self.intervals.prefix - self.intervals.fitted_prefix
        apart = float(moved.max() - moved.min())
        return strategy_noise_bound(query.array, measured.law, delta) + apart


def strategy_noise_bound(matrix: Integers, law: NoiseLaw, delta: float) -> float:
    """A bound on the errors of all least squares counts of intervals, for plans and releases."""
    return all_ranges_bound(strategy_leaves(matrix, law), delta) + ROUNDING


def cells_of(part: Part, place: int, release: Release) -> Evidence:
    """The contribution of a part of cells."""
    return Evidence(ranges=[CellRangeSource(part, release.schema)])
