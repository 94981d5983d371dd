"""The cells of a release from which halfspaces are answered: a grid of blocks, or the leaves of a tree.

The rows in a halfspace are at least those of the cells inside it and at most those of all cells it
touches. Both sums are noisy with known noise, so [inner sum - h, outer sum + h'] holds at the
confidence asked for, for every table: each end misses with at most half of the rest. Of a grid the
noise's quantiles are exact; of a tree its standard deviation is exact, for the tree as it is, and
the quantile nominal (see `answers.ranges`).

Rows with a null in one of the columns satisfy nothing. Rows with a value that the schema keeps in
an `other` cell may lie on either side: they widen the interval, and half of them is estimated.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from itertools import product
from typing import Protocol

import numpy as np

from discreet.answering.estimates import Estimates
from discreet.answering.readings import Reading
from discreet.answering.regions.public_total import counted_down
from discreet.arrays import Bools, Floats, Integers
from discreet.families.halfspaces.answer.conditions import Boxed, Chosen
from discreet.families.halfspaces.estimate.cells import Boxes, Sweep
from discreet.families.halfspaces.estimate.grid import CANONICAL, UNEVENNESS, boxes_of
from discreet.families.halfspaces.estimate.prior import (
    Comparison,
    compared,
    public_bounds,
    random_halfspaces,
    uniform_share,
)
from discreet.families.halfspaces.estimate.tree import TreeCells, middle_edges
from discreet.families.ranges.answer.joint_estimates import ends_of
from discreet.families.ranges.answer.ranges import RangeSource
from discreet.families.ranges.estimate.tree_intervals import RangeEstimates
from discreet.families.shared.estimate.combination import Terms, half_widths, variance_of
from discreet.families.shared.estimate.risk import at_part_of_risk
from discreet.privacy.laws.sums import spread_factor
from discreet.questions.cells.ordered_pieces import extents
from discreet.schema import Column, OrderedColumn, Schema, keeps_every_row

EVERY_LADDER, LADDER_STEP = 64, 1.01
MASKS = 16
"""Questions about a tree whose leaves are looked at together."""
RESERVE = Fraction(1, 10)
"""The part of the probability to miss that is kept back: intervals of questions that share one draw of noise miss
together, so that a whole set of them should err on the safe side."""


class Cells(Protocol):
    """What halfspaces are answered from."""

    columns: tuple[str, ...]
    loses: tuple[str, ...]
    """Columns for which the schema leaves rows out."""
    sources: int
    """How many tables with noise of their own were combined."""

    @property
    def comparison(self) -> Comparison: ...
    @property
    def boxed(self) -> Boxed: ...
    @property
    def edges(self) -> tuple[Floats, Floats]:
        """The least and greatest value of each column: the public bounds."""
        ...

    def pictured(self) -> tuple[Floats, Floats, Floats]:
        """The box to draw for each cell, half-way to those beside it, and its rows, never negative."""
        ...

    def prior(self, normals: Floats, bounds: Floats) -> Floats: ...

    def many(self, normals: Floats, bounds: Floats, *, confidence: float) -> Estimates: ...

    def chosen(self, asked: Sequence[Chosen], *, confidence: float) -> Estimates: ...

    def reading(self, asked: Chosen) -> Reading | None:
        """The unbiased count of a condition that cuts no cell."""
        ...


def careful(confidence: float) -> Fraction:
    """The confidence of each end, with something kept back."""
    return at_part_of_risk(confidence, 1 - RESERVE)


@dataclass(eq=False)
class Grid:
    """Noisy counts over blocks of some columns, other values and nulls included."""

    schema: Schema
    columns: tuple[str, ...]
    widths: tuple[int, ...]
    table: Floats
    noise: Terms
    public_rows: int | None
    parts: frozenset[int] = frozenset()
    """The places of the parts of the release that its noise comes from."""
    sources: int = 1
    """How many tables with noise of their own were combined."""
    _widths: dict[float, Floats] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.boxes: Boxes = boxes_of(self.schema, self.columns, self.widths)
        inside = tuple(slice(0, size) for size in self.boxes.shape)
        known = [self.schema.column(name) for name in self.columns]
        self.total = self.public_rows if all(keeps_every_row(each) for each in known) else None
        self.loses = tuple(each.name for each in known if not keeps_every_row(each))
        self.values = self.table[inside]
        outside = self._outside(known)
        self.elsewhere = float(sum(self.table[place] for place in outside))
        self.elsewhere_cells = len(outside)
        self.cell_variance = variance_of(self.noise)
        # No row is lost and no block is empty by rule: what is not inside is the rest of them.
        self.cells = self.table.size
        self.sum = float(self.table.sum())

    def _outside(self, columns: Sequence[Column]) -> list[tuple[int, ...]]:
        """Places with some value outside the declared domain, and no null."""
        ways: list[list[int]] = []
        for axis, column in enumerate(columns):
            blocks = self.boxes.shape[axis]
            ways.append([*range(blocks), *([blocks] if column.has_other else [])])
        if all(len(way) == size for way, size in zip(ways, self.boxes.shape, strict=True)):
            return []
        return [
            place
            for place in product(*ways)
            if any(at >= size for at, size in zip(place, self.boxes.shape, strict=True))
        ]

    @cached_property
    def sweep(self) -> Sweep:
        return Sweep(self.boxes, self.values, (self.values,))

    @cached_property
    def comparison(self) -> Comparison:
        """Over random halfspaces, from the noisy numbers alone."""
        normals, bounds = random_halfspaces(*self.edges, CANONICAL, seed=1)
        swept = self.sweep(normals, bounds)
        draws = (swept.inner_boxes + swept.outer_boxes) / 2
        priors = self.prior(normals, bounds)
        found = compared(swept.smooth[0], priors, self.cell_variance * draws)
        cut = UNEVENNESS * float(np.mean(swept.outer - swept.inner))
        return Comparison(release=found.release + max(0.0, cut), prior=found.prior)

    @cached_property
    def boxed(self) -> Boxed:
        places = np.indices(self.boxes.shape).reshape(len(self.columns), -1).T.astype(np.int64)
        widths = np.array(self.widths, dtype=np.int64)
        cells = [self.schema.column(name).value_cells for name in self.columns]
        first = places * widths
        last = np.minimum(first + widths, np.array(cells, dtype=np.int64)) - 1
        return Boxed(self.schema, self.columns, first, last)

    @property
    def edges(self) -> tuple[Floats, Floats]:
        return self.boxes.bounds()

    def pictured(self) -> tuple[Floats, Floats, Floats]:
        ends = [
            middle_edges(low, high)
            for low, high in zip(self.boxes.low, self.boxes.high, strict=True)
        ]
        low, high = (
            np.stack([each.reshape(-1) for each in np.meshgrid(*sides, indexing="ij")], axis=1)
            for sides in ([each[:-1] for each in ends], [each[1:] for each in ends])
        )
        return low, high, np.maximum(self.values, 0.0).reshape(-1)

    def prior(self, normals: Floats, bounds: Floats) -> Floats:
        rows = max(0.0, float(self.values.sum()))
        if self.public_rows is not None:
            rows = min(rows, float(self.public_rows))
        return uniform_share(normals, bounds, *self.edges) * rows

    def half_widths(self, draws: Integers, confidence: float) -> Floats:
        """Quantiles of the noise of so many blocks, from a ladder of numbers of blocks, rounded up."""
        steps = [*range(EVERY_LADDER)]
        while steps[-1] < self.cells:
            steps.append(int(steps[-1] * LADDER_STEP) + 1)
        ladder = np.array(steps, dtype=np.int64)
        kept = self._widths.get(confidence)
        if kept is None:
            kept = half_widths(self.noise, ladder, careful(confidence))
            self._widths[confidence] = kept
        return kept[np.searchsorted(ladder, draws, side="left")]

    def side(self, sums: Floats, boxes: Integers) -> tuple[Floats, Integers]:
        """The sum over some blocks, or the public total less the others where those are fewer."""
        return counted_down(self.total, self.cells, self.sum, sums, boxes)

    def _bounded(
        self,
        inner: Floats,
        inner_boxes: Integers,
        outer: Floats,
        outer_boxes: Integers,
        middle: Floats,
        *,
        confidence: float,
    ) -> Estimates:
        low, low_draws = self.side(inner, inner_boxes)
        high, high_draws = self.side(
            outer + self.elsewhere, np.asarray(outer_boxes + self.elsewhere_cells)
        )
        middle, _ = self.side(middle, (inner_boxes + outer_boxes) // 2)
        return Estimates(
            middle + self.elsewhere / 2,
            low - self.half_widths(low_draws, confidence),
            high + self.half_widths(high_draws, confidence),
            np.sqrt(self.cell_variance * (low_draws + high_draws) / 2),
            (inner_boxes == outer_boxes) & (self.elsewhere_cells == 0),
            parts=self.parts,
        )

    def reading(self, asked: Chosen) -> Reading | None:
        """The rows of blocks that a condition takes whole; `None` where it cuts one, or values lie outside."""
        if self.elsewhere_cells or not np.array_equal(asked.inner, asked.outer):
            return None
        value, many = float(asked.inner @ self.values.reshape(-1)), int(asked.inner.sum())
        terms = tuple((weight, law, draws * many) for weight, law, draws in self.noise)
        return replace(Reading.of(value, terms, self.parts), sources=self.sources)

    def many(self, normals: Floats, bounds: Floats, *, confidence: float) -> Estimates:
        swept = self.sweep(normals, bounds)
        return self._bounded(
            swept.inner,
            swept.inner_boxes,
            swept.outer,
            swept.outer_boxes,
            swept.smooth[0],
            confidence=confidence,
        )

    def chosen(self, asked: Sequence[Chosen], *, confidence: float) -> Estimates:
        flat = self.values.reshape(-1)

        def sums(parts: Sequence[Bools | Floats]) -> Floats:
            return np.array([float(part @ flat) for part in parts])

        return self._bounded(
            sums([each.inner for each in asked]),
            np.array([int(each.inner.sum()) for each in asked]),
            sums([each.outer for each in asked]),
            np.array([int(each.outer.sum()) for each in asked]),
            sums([each.share for each in asked]),
            confidence=confidence,
        )


@dataclass(eq=False)
class Leaves:
    """The leaves of a released tree."""

    source: RangeSource
    public_rows: int | None
    sources: int = 1

    def __post_init__(self) -> None:
        schema = self.source.schema
        self.columns = self.source.columns
        known = [schema.column(name) for name in self.columns]
        self.loses = tuple(each.name for each in known if not keeps_every_row(each))
        self._ordered = [each for each in known if isinstance(each, OrderedColumn)]

    @cached_property
    def cells(self) -> TreeCells:
        sides = [extents(column) for column in self._ordered]
        return TreeCells(self.source.tree, self.source.leaf_estimates, sides)

    @cached_property
    def boxed(self) -> Boxed:
        return Boxed(self.source.schema, self.columns, self.cells.first, self.cells.last)

    @property
    def edges(self) -> tuple[Floats, Floats]:
        return public_bounds(self.source.schema, self.columns)

    def pictured(self) -> tuple[Floats, Floats, Floats]:
        return *self.cells.edges(), self.cells.estimate

    @cached_property
    def comparison(self) -> Comparison:
        normals, bounds = random_halfspaces(*self.edges, CANONICAL, seed=1)
        found = self.cells(normals, bounds)
        middle = (found.inner + found.outer) / 2
        variance = ((found.inner_std + found.outer_std) / 2) ** 2
        seen = compared(middle, self.prior(normals, bounds), variance)
        cut = UNEVENNESS * float(np.mean(found.outer - found.inner))
        return Comparison(release=seen.release + max(0.0, cut), prior=seen.prior)

    def prior(self, normals: Floats, bounds: Floats) -> Floats:
        return uniform_share(normals, bounds, *self.edges) * float(self.cells.estimate.sum())

    def many(self, normals: Floats, bounds: Floats, *, confidence: float) -> Estimates:
        return self._bounded(self.cells(normals, bounds), confidence)

    def chosen(self, asked: Sequence[Chosen], *, confidence: float) -> Estimates:
        parts = [self._masked(asked[at : at + MASKS]) for at in range(0, len(asked), MASKS)]
        return self._bounded(RangeEstimates.joined(parts), confidence)

    def reading(self, asked: Chosen) -> Reading | None:
        return None  # which leaves there are was decided by noise

    def _masked(self, asked: Sequence[Chosen]) -> RangeEstimates:
        found = self.cells.masked(
            np.stack([each.inner for each in asked]), np.stack([each.outer for each in asked])
        )
        shares = np.stack([each.share for each in asked])
        return replace(found, estimate=shares @ self.cells.estimate)

    def _bounded(self, found: RangeEstimates, confidence: float) -> Estimates:
        factor = spread_factor(float(1 - careful(confidence)), self.source.kurtosis)
        lower, upper = ends_of(found, factor)
        std = (found.inner_std + found.outer_std) / 2
        return Estimates(found.estimate, lower, upper, std, found.inner == found.outer)
