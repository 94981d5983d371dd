"""Synthetic rows from numbers or ranges by group: a group as often as it was counted, then values of it."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from discreet.arrays import Floats, Integers
from discreet.families.groups.answer.noisy_columns import GroupedColumn
from discreet.families.groups.answer.noisy_ranges import GroupedRanges
from discreet.privacy.exact import confidence_level
from discreet.schema import OrderedColumn, Schema

if TYPE_CHECKING:
    from numpy.random import Generator  # noqa: TID251 - the type only; the generator is public


STEEPEST = 700.0
"""The steepest density that values are drawn from. Beyond it, all of them lie at a bound."""
HALVINGS = 60


class DrawnGroups:
    """Values of one column, drawn from the law between its bounds that has a group's mean and the largest entropy."""

    def __init__(self, measured: GroupedColumn, schema: Schema) -> None:
        self._measured, self._schema = measured, schema
        everything = np.ones(measured.vectors[0].shape, dtype=np.bool_)
        self._shape = everything.shape
        sums = measured.over(everything, tuple(range(everything.ndim)))
        assert measured.form.count is not None
        level = confidence_level(0.95)
        self._rows = np.maximum(sums.linear(measured.form.count, level)[0], 0.0)
        self._means = sums.means(level)[0]

    @property
    def columns(self) -> tuple[str, ...]:
        return (*self._measured.groups, self._measured.column)

    @property
    def rows(self) -> float:
        return float(self._rows.sum())

    def draw(self, many: int, public: Generator) -> Integers:
        """Cells of so many rows, one column a column."""
        weights = self._rows + 1e-9
        groups = public.choice(len(weights), size=many, p=weights / weights.sum())
        low, high = self._measured.bounds
        means = (self._means - low) / max(high - low, 1e-300)
        values = low + (high - low) * tilted(public.random(many), slopes(means)[groups])
        codes = np.stack(np.unravel_index(groups, self._shape), axis=1)
        return np.column_stack([codes, self._codes(values)]).astype(np.int64)

    def _codes(self, values: Floats) -> Integers:
        column = self._schema.column(self._measured.column)
        if not isinstance(column, OrderedColumn):
            return np.rint(values).astype(np.int64)
        if column.kind == "integer":
            values = np.rint(values)
        last = column.value_cells - 1
        return np.array(
            [min(max(column.code_of_unit(value), 0), last) for value in values.tolist()],
            dtype=np.int64,
        )


def slopes(means: Floats) -> Floats:
    """The slope of the logarithm of the density on [0, 1] that has each mean."""
    low, high = np.full(len(means), -STEEPEST), np.full(len(means), STEEPEST)
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        safe = np.where(np.abs(middle) < 1e-6, 1e-6, middle)
        reached = 1 / -np.expm1(-safe) - 1 / safe
        below = reached < means
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    return np.asarray((low + high) / 2)


def tilted(uniform: Floats, slope: Floats) -> Floats:
    """Draws of such a density, from even ones."""
    safe = np.where(np.abs(slope) < 1e-6, 1e-6, slope)
    return np.asarray(np.clip(np.log1p(uniform * np.expm1(safe)) / safe, 0.0, 1.0))


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
