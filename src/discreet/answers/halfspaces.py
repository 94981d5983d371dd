"""Halfspaces asked of a release: one exactly, or a hundred thousand at once.

The rows in a halfspace are at least those of the blocks inside it and at most those of all blocks it
touches. Both sums are noisy with known noise, so [inner sum - h, outer sum + h'] holds at the
confidence asked for, for every table: each end misses with at most half of the rest. Beside each
answer stands what would be said without data: the rows spread evenly over the public bounds.

Rows with a null in one of the columns satisfy nothing. Rows with a value that the schema keeps in
an `other` cell may lie on either side: they widen the interval, and half of them is estimated.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from itertools import product

import numpy as np
import numpy.typing as npt

from discreet.answers.counting import Estimates
from discreet.answers.selecting import keeps_every_row
from discreet.answers.sources import CombinedTable, Library
from discreet.artifacts.answer import Covers
from discreet.artifacts.answers import AnswerColumn, Answers
from discreet.artifacts.measurement import Measurement
from discreet.errors import BadInput, NotAnswerable
from discreet.inference.combination import Terms, half_widths, variance_of
from discreet.inference.halfspace_cells import Boxes, Sweep, exact_masks
from discreet.inference.halfspace_grid import CANONICAL, UNEVENNESS, boxes_of
from discreet.inference.halfspace_net import lifted, nearest_median
from discreet.inference.halfspace_prior import (
    Comparison,
    compared,
    random_halfspaces,
    uniform_share,
)
from discreet.inference.rounding import plausible_counts
from discreet.inference.simplex import nearest_counts
from discreet.privacy.exact import exact
from discreet.queries.conditions import Condition, Opposite
from discreet.queries.grid_counts import GridCounts
from discreet.queries.halfspaces import Halfspaces, Inequality
from discreet.queries.question import Question
from discreet.schema import Column, Schema

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

CUT_NOTE = (
    "The interval includes all rows of the blocks that the inequality cuts: they may lie on either "
    "side of it."
)
EVERY_LADDER, LADDER_STEP = 64, 1.01
LARGEST = 1e80
RESERVE = Fraction(1, 10)
"""Of the probability to miss, kept back: intervals of questions that share one draw of noise miss
together, so that a whole set of them should err on the safe side."""


@dataclass(frozen=True, slots=True, eq=False)
class ManyHalfspaces:
    """Counts as arrays, one number a halfspace."""

    estimate: Floats
    lower: Floats
    upper: Floats
    std: Floats
    """Of the noise alone."""
    prior: Floats
    """What would be said without data."""
    is_exact: Bools
    """Whether the halfspace cuts no block: its interval then covers `noise` only."""
    confidence: float
    comparison: Comparison
    """The release's error against the prior's; it warns where the release is not expected to win."""

    def __len__(self) -> int:
        return len(self.estimate)


@dataclass(eq=False)
class Grid:
    """Noisy counts over blocks of some columns, other values and nulls included."""

    schema: Schema
    columns: tuple[str, ...]
    widths: tuple[int, ...]
    table: Floats
    noise: Terms
    public_rows: int | None
    _widths: dict[float, Floats] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.boxes: Boxes = boxes_of(self.schema, self.columns, self.widths)
        inside = tuple(slice(0, size) for size in self.boxes.shape)
        known = [self.schema.column(name) for name in self.columns]
        self.total = self.public_rows if all(keeps_every_row(each) for each in known) else None
        self.loses = tuple(each.name for each in known if not keeps_every_row(each))
        smooth = nearest_counts(self.table, self.total)
        self.values, self.smooth = self.table[inside], smooth[inside]
        outside = self._outside(known)
        self.elsewhere = float(sum(self.table[place] for place in outside))
        self.elsewhere_smooth = float(sum(smooth[place] for place in outside))
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
        return Sweep(self.boxes, self.values, (self.smooth,))

    @cached_property
    def comparison(self) -> Comparison:
        """Over random halfspaces, from the noisy numbers alone."""
        low, high = self.boxes.bounds()
        normals, bounds = random_halfspaces(low, high, CANONICAL, seed=1)
        swept = Sweep(self.boxes, self.values, (self.values,))(normals, bounds)
        draws = (swept.inner_boxes + swept.outer_boxes) / 2
        priors = self.prior(normals, bounds)
        found = compared(swept.smooth[0], priors, self.cell_variance * draws)
        cut = UNEVENNESS * float(np.mean(swept.outer - swept.inner))
        return Comparison(release=found.release + max(0.0, cut), prior=found.prior)

    def prior(self, normals: Floats, bounds: Floats) -> Floats:
        low, high = self.boxes.bounds()
        return uniform_share(normals, bounds, low, high) * float(self.smooth.sum())

    def half_widths(self, draws: Integers, confidence: float) -> Floats:
        """Quantiles of the noise of so many blocks, from a ladder of numbers of blocks, rounded up."""
        steps = [*range(EVERY_LADDER)]
        while steps[-1] < self.cells:
            steps.append(int(steps[-1] * LADDER_STEP) + 1)
        ladder = np.array(steps, dtype=np.int64)
        kept = self._widths.get(confidence)
        if kept is None:
            level = 1 - (1 - exact(confidence, name="confidence")) * (1 - RESERVE)
            kept = self._widths[confidence] = half_widths(self.noise, ladder, level)
        return kept[np.searchsorted(ladder, draws, side="left")]

    def side(self, sums: Floats, boxes: Integers) -> tuple[Floats, Integers]:
        """The sum over some blocks, or the public total less the others where those are fewer."""
        if self.total is None:
            return sums, boxes
        others = self.cells - boxes
        fewer = others < boxes
        rest = np.where(others == 0, 0.0, self.sum - sums)
        return np.where(fewer, self.total - rest, sums), np.where(fewer, others, boxes)

    def estimates(
        self,
        inner: Floats,
        inner_boxes: Integers,
        outer: Floats,
        outer_boxes: Integers,
        middle: Floats,
        *,
        confidence: float,
        whole: bool,
    ) -> tuple[Floats, Floats, Floats, Floats]:
        low, low_draws = self.side(inner, inner_boxes)
        high, high_draws = self.side(
            outer + self.elsewhere, np.asarray(outer_boxes + self.elsewhere_cells)
        )
        estimate, lower, upper = plausible_counts(
            middle + self.elsewhere_smooth / 2,
            low - self.half_widths(low_draws, confidence),
            high + self.half_widths(high_draws, confidence),
            rows=self.public_rows,
            whole=whole,
        )
        std = np.sqrt(self.cell_variance * (low_draws + high_draws) / 2)
        return estimate, lower, upper, std


class HalfspaceReader:
    """The halfspaces of one release; grids are kept."""

    def __init__(self, library: Library) -> None:
        self._library, self._grids = library, dict[tuple[str, ...], Grid]()

    def grid(self, columns: tuple[str, ...]) -> Grid:
        """The best grid over exactly `columns`, in the schema's order, or a refusal."""
        kept = self._grids.get(columns)
        if kept is None:
            kept = self._grids[columns] = self._best(columns)
        return kept

    def _best(self, columns: tuple[str, ...]) -> Grid:
        library = self._library
        schema, rows = library.schema, library.release.public_rows
        found: list[Grid] = []
        for part in library.release.parts:
            for each in part.measurements:
                query = each.query if isinstance(each, Measurement) else None
                if isinstance(query, GridCounts) and query.columns == columns:
                    assert isinstance(each, Measurement)
                    table = each.values.reshape(query.shape(schema)).astype(np.float64)
                    terms: Terms = ((1.0, each.law, 1),)
                    found.append(Grid(schema, columns, query.widths, table, terms, rows))
        combined = library.table(columns) if library.usable(columns) else None
        if isinstance(combined, CombinedTable):  # every cell with a draw of its own
            single = (1,) * len(columns)
            if isinstance(combined, CombinedTable):  # cells whose noises are independent
                found.append(Grid(schema, columns, single, combined.counts, combined.noise, rows))
        if not found:
            offered = ", ".join(dict.fromkeys(library.release.workload)) or "nothing"
            raise NotAnswerable(
                f"The release cannot answer this: it would have needed {Halfspaces(*columns).text}, "
                f"and it was made for {offered}."
            )
        return min(found, key=lambda grid: grid.comparison.release)

    def one(self, asked: Inequality, *, confidence: float, whole: bool) -> tuple[Estimates, Grid]:
        """A single inequality, its boxes compared in exact arithmetic."""
        grid = self.grid(asked.columns)
        coefficients, bound, strict = asked.as_at_least()
        sides = [
            ([Fraction(each) for each in low], [Fraction(each) for each in high])
            for low, high in zip(grid.boxes.low, grid.boxes.high, strict=True)
        ]
        inner, outer = exact_masks(sides, coefficients, bound, strict=strict)
        is_exact = bool(np.array_equal(inner, outer)) and grid.elsewhere_cells == 0
        normals = np.array([[float(each) for each in coefficients]])
        if np.array_equal(inner, outer):
            middle = np.array([grid.smooth[inner].sum()])
        else:
            middle = grid.sweep(normals, np.array([float(bound)])).smooth[0]
        estimate, lower, upper, std = grid.estimates(
            np.array([grid.values[inner].sum()]),
            np.array([inner.sum()]),
            np.array([grid.values[outer].sum()]),
            np.array([outer.sum()]),
            middle,
            confidence=confidence,
            whole=whole,
        )
        prior = float(grid.prior(normals, np.array([float(bound)]))[0])
        note = f"Without any data, rows spread evenly over the bounds, one would say {prior:,.0f}."
        found = Estimates(estimate[0], lower[0], upper[0], std[0], is_exact, note)
        return found, grid

    def many(
        self,
        columns: tuple[str, ...],
        normals: npt.ArrayLike,
        bounds: npt.ArrayLike,
        *,
        confidence: float,
        whole: bool = True,
    ) -> ManyHalfspaces:
        """`normals . columns >= bounds` for whole arrays; a block that rounding could misplace counts as cut."""
        if not 0 < confidence < 1:
            raise BadInput(f"confidence is {confidence}; it must lie between 0 and 1.")
        schema = self._library.schema
        names = tuple(schema.column(name).name for name in columns)
        places = [each.name for each in schema.columns if each.name in names]
        slopes = np.asarray(normals, dtype=np.float64)
        goals = np.asarray(bounds, dtype=np.float64)
        if slopes.ndim != 2 or slopes.shape != (len(goals), len(names)) or goals.ndim != 1:
            raise BadInput(
                "Halfspaces need one row of coefficients, one a column, and one bound each."
            )
        most = max(np.abs(slopes).max(initial=0), np.abs(goals).max(initial=0))
        if not most < LARGEST:  # also where it is not a number
            raise BadInput(f"The coefficients and bounds of halfspaces lie below {LARGEST:g}.")
        slopes = np.ascontiguousarray(slopes[:, [names.index(name) for name in places]])
        grid = self.grid(tuple(places))
        swept = grid.sweep(slopes, goals)
        estimate, lower, upper, std = grid.estimates(
            swept.inner,
            swept.inner_boxes,
            swept.outer,
            swept.outer_boxes,
            swept.smooth[0],
            confidence=confidence,
            whole=whole,
        )
        return ManyHalfspaces(
            estimate=estimate,
            lower=lower,
            upper=upper,
            std=std,
            prior=grid.prior(slopes, goals),
            is_exact=(swept.inner_boxes == swept.outer_boxes) & (grid.elsewhere_cells == 0),
            confidence=confidence,
            comparison=grid.comparison,
        )

    def near(
        self, columns: tuple[str, ...], normals: npt.ArrayLike, bounds: npt.ArrayLike
    ) -> Floats:
        """What the literal net says: counts of some gamma-close halfspace, without an interval."""
        schema = self._library.schema
        wanted = {schema.column(name).name for name in columns}
        for part in self._library.release.parts:
            asked = part.query_class
            if part.kind != "halfspace-net" or not isinstance(asked, Halfspaces):
                continue
            names, (measured,) = asked.named(schema), part.measurements
            if set(names) != wanted or not isinstance(measured, Measurement):
                continue
            slopes = np.asarray(normals, dtype=np.float64)
            order = [[schema.column(name).name for name in columns].index(name) for name in names]
            up = lifted(schema, names, slopes[:, order], np.asarray(bounds, dtype=np.float64))
            values = measured.values.astype(np.float64)
            return nearest_median(up, values, asked.gamma, asked.projections)
        raise NotAnswerable(
            f"The release has no net of halfspaces over {', '.join(columns)}; it would have needed "
            f"{Halfspaces(*columns).text} by the algorithm net."
        )

    def answers(self, question: Question, *, confidence: float, whole: bool) -> Answers | None:
        """The answer to a question whose whole condition is one inequality; `None` for others."""
        asked = lone_inequality(question.condition)
        if asked is None:
            return None
        level = exact(confidence, name="confidence")
        if not 0 < level < 1:
            raise BadInput(f"confidence is {confidence}; it must lie between 0 and 1.")
        counts = all(one.kind == "count" and one.column is None for one in question.aggregates)
        if question.group_by or not counts:
            raise NotAnswerable(
                "A linear inequality over columns is answered for count(*) only, without GROUP BY."
            )
        found, grid = self.one(asked, confidence=confidence, whole=whole)
        notes = [found.note]
        if not grid.comparison.beats_prior:
            notes.append(grid.comparison.warning)
        if not found.is_exact:
            notes.append(CUT_NOTE)
        notes += [
            f"Rows for which the schema keeps no cell of column {name!r} (excluded nulls or values "
            "outside the domain) are not counted."
            for name in grid.loses
        ]
        columns = tuple(
            AnswerColumn(
                name=one.name,
                estimate=np.array([found.estimate]),
                lower=np.array([found.lower]),
                upper=np.array([found.upper]),
                std=np.array([found.std]),
                covers=Covers.NOISE if found.is_exact else Covers.NOISE_AND_CELLS,
            )
            for one in question.aggregates
        )
        return Answers(
            groups=(),
            codes=np.zeros((1, 0), dtype=np.int64),
            label=lambda axis, code: "",
            columns=columns,
            confidence=confidence,
            question=question.text,
            notes=tuple(notes),
        )


def lone_inequality(condition: Condition) -> Inequality | None:
    """The inequality that a condition is, negations taken in: a null satisfies it neither way."""
    if isinstance(condition, Opposite):
        inside = lone_inequality(condition.part)
        if inside is None:
            return None
        sign = {">=": "<", ">": "<=", "<=": ">", "<": ">="}[inside.sign]
        return Inequality(inside.columns, inside.coefficients, sign, inside.bound)
    return condition if isinstance(condition, Inequality) else None
