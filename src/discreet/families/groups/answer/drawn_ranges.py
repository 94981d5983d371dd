"""Synthetic rows from ranges by group: a group as often as it was counted, then a value of it."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from discreet.arrays import Floats, Integers
from discreet.families.groups.answer.noisy_ranges import GroupedRanges
from discreet.schema import Schema

if TYPE_CHECKING:
    from numpy.random import Generator  # noqa: TID251 - the type only; the generator is public


class DrawnRanges:
    """The smoothed leaves of every group's tree, as weights."""

    def __init__(self, measured: GroupedRanges, schema: Schema) -> None:
        self._measured, self._schema = measured, schema
        self._shape = tuple(schema.column(name).cells for name in measured.groups)

    @cached_property
    def _leaves(self) -> tuple[Floats, Floats, Floats]:
        """The rows in each leaf of each group, each leaf's first cell, and how many cells it has."""
        everything = np.ones(self._shape, dtype=np.bool_)
        found = self._measured.over(everything, tuple(range(len(self._shape))))
        rows = np.stack([np.maximum(np.diff(each.intervals.prefix), 0.0) for each in found])
        index = found[0].intervals
        return rows, index.starts.astype(np.float64), np.asarray(index.widths)

    @property
    def columns(self) -> tuple[str, ...]:
        return (*self._measured.groups, self._measured.column)

    @property
    def rows(self) -> float:
        return float(self._leaves[0].sum())

    def draw(self, many: int, public: Generator) -> Integers:
        """Cells of so many rows, one column a column."""
        rows, starts, widths = self._leaves
        weights = rows.reshape(-1) + 1e-12
        places = public.choice(len(weights), size=many, p=weights / weights.sum())
        groups, leaves = np.divmod(places, rows.shape[1])
        inside = np.floor(public.random(many) * widths[leaves])
        last = self._schema.column(self._measured.column).value_cells - 1
        cells = np.minimum(starts[leaves] + inside, last).astype(np.int64)
        return np.column_stack([*np.unravel_index(groups, self._shape), cells]).astype(np.int64)
