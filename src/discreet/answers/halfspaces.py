"""Halfspaces asked of a release: conditions with linear inequalities, or a hundred thousand halfspaces at once.

Beside each answer stands what would be said without data: the rows spread evenly over the public
bounds. A question may join inequalities with comparisons of the same columns by AND, OR and NOT,
and group by these columns: it is answered from the cells inside and the cells touched.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from math import prod

import numpy as np
import numpy.typing as npt

from discreet.answers.cell_ranges import CellRangeSource
from discreet.answers.halfspace_cells import Cells, Counted, Grid, Leaves
from discreet.answers.halfspace_conditions import (
    Chosen,
    never_null,
)
from discreet.answers.joined_ranges import combined_note
from discreet.answers.ranges import RangeSource
from discreet.answers.readings import Reading
from discreet.answers.sources import CombinedTable, Library
from discreet.artifacts.answer import Covers
from discreet.artifacts.answers import AnswerColumn, Answers
from discreet.artifacts.measurement import Measurement
from discreet.errors import BadInput, BadRelease, NotAnswerable
from discreet.inference.combination import Terms, inverse_variance_weights, scaled, variance_of
from discreet.inference.halfspace_net import lifted, nearest_median
from discreet.inference.halfspace_prior import Comparison
from discreet.privacy.exact import exact
from discreet.queries.conditions import (
    Condition,
    Every,
    NullTest,
    Opposite,
    columns_named,
    has_inequality,
    leaves_of,
    negated,
)
from discreet.queries.grid_counts import GridCounts
from discreet.queries.halfspaces import NUMERIC_KINDS, Halfspaces, Inequality
from discreet.queries.question import Question
from discreet.queries.spelling import quoted
from discreet.schema.completeness import keeps_every_row

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

_Blocks = tuple[Floats, Terms, frozenset[int]]
"""A table of blocks, the noise of each block, and the parts of the release that it comes from."""

CUT_NOTE = (
    "The interval includes all rows of the cells that the condition cuts: they may lie on either "
    "side of it."
)
LARGEST = 1e80
MOST_GROUP_BOXES = 1 << 25
"""(group, cell) pairs that a GROUP BY may look at."""


@dataclass(frozen=True, slots=True, eq=False)
class ManyHalfspaces:
    """Counts as arrays, one number a halfspace. Thread safe: it never changes."""

    estimate: Floats
    lower: Floats
    upper: Floats
    std: Floats
    """Of the noise alone."""
    prior: Floats
    """What would be said without data."""
    is_exact: Bools
    """Whether the halfspace cuts no cell: its interval then covers `noise` only."""
    confidence: float
    comparison: Comparison
    """The release's error against the prior's; it warns where the release is not expected to win."""

    def __len__(self) -> int:
        return len(self.estimate)


class HalfspaceReader:
    """The halfspaces of one release; their cells are kept."""

    def __init__(self, library: Library) -> None:
        self._library, self._kept = library, dict[tuple[str, ...], Cells]()

    def cells(self, columns: tuple[str, ...]) -> Cells:
        """The best cells over exactly `columns`, in the schema's order, or a refusal."""
        kept = self._kept.get(columns)
        if kept is None:
            kept = self._kept[columns] = self._best(columns)
        return kept

    def _best(self, columns: tuple[str, ...]) -> Cells:
        library = self._library
        schema, rows = library.schema, library.release.public_rows
        grids: dict[tuple[int, ...], list[_Blocks]] = {}
        for place, part in enumerate(library.release.parts):
            for each in part.measurements:
                query = each.query if isinstance(each, Measurement) else None
                if isinstance(query, GridCounts) and query.columns == columns:
                    assert isinstance(each, Measurement)
                    table = each.values.reshape(query.shape(schema)).astype(np.float64)
                    own = table, ((1.0, each.law, 1),), frozenset({place})
                    grids.setdefault(query.widths, []).append(own)
        combined = library.table(columns) if library.usable(columns) else None
        if isinstance(combined, CombinedTable):  # cells whose noises are independent
            tables = combined.counts, combined.noise, library.table_parts
            grids.setdefault((1,) * len(columns), []).append(tables)
        found: list[Cells] = []
        for widths, same in grids.items():
            table, noise, parts, sources = _of_all(same)
            found.append(Grid(schema, columns, widths, table, noise, rows, parts, sources))
        found += [
            Leaves(source, rows)
            for source in library.ranges
            if isinstance(source, RangeSource)
            and not isinstance(source, CellRangeSource)
            and source.columns == columns
            and all(schema.column(name).kind in NUMERIC_KINDS for name in columns)
            and not any(schema.column(name).has_other for name in columns)
        ]
        if not found:
            raise NotAnswerable(self._refusal(columns))
        return min(found, key=lambda cells: cells.comparison.release)

    def readings(self, condition: Condition) -> list[Reading]:
        """What a grid says of a lone inequality that cuts none of its blocks."""
        asked = lone_inequality(condition)
        if asked is None:
            return []
        try:
            cells = self.cells(asked.columns)
        except NotAnswerable:
            return []
        own = cells.reading(cells.boxed.chosen(asked)) if isinstance(cells, Grid) else None
        return [] if own is None else [own]

    def totals(self) -> list[Reading]:
        """The number of all rows, from each grid over columns that leave none out."""
        schema, found = self._library.schema, list[Reading]()
        for place, part in enumerate(self._library.release.parts):
            for each in part.measurements:
                query = each.query if isinstance(each, Measurement) else None
                if not isinstance(query, GridCounts) or not isinstance(each, Measurement):
                    continue
                if all(keeps_every_row(schema.column(name)) for name in query.columns):
                    terms: Terms = ((1.0, each.law, len(each.values)),)
                    value = float(each.values.sum())
                    found.append(Reading.of(value, terms, frozenset({place})))
        return found

    def _refusal(self, columns: tuple[str, ...]) -> str:
        library = self._library
        offered = ", ".join(dict.fromkeys(library.release.workload)) or "nothing"
        found = (
            f"The release cannot answer this: it would have needed {Halfspaces(*columns).text}, "
            f"and it was made for {offered}."
        )
        for part in library.release.parts:
            if isinstance(part.query_class, Halfspaces):
                more = [
                    name for name in part.query_class.named(library.schema) if name not in columns
                ]
                if more and len(more) + len(columns) == len(part.query_class.columns):
                    asked = " ".join(f"AND {quoted(name)} IS NOT NULL" for name in more)
                    return f"{found} It can count the rows that have all its columns: add {asked}."
        return found

    def one(
        self, asked: Inequality, *, confidence: float, whole: bool
    ) -> tuple[Counted, Chosen, Cells]:
        """A single inequality, its cells compared in exact arithmetic."""
        cells = self.cells(asked.columns)
        chosen = cells.boxed.chosen(asked)
        return cells.chosen([chosen], confidence=confidence, whole=whole), chosen, cells

    def many(
        self,
        columns: tuple[str, ...],
        normals: npt.ArrayLike,
        bounds: npt.ArrayLike,
        *,
        confidence: float,
        whole: bool = True,
    ) -> ManyHalfspaces:
        """`normals . columns >= bounds` for whole arrays; a cell that rounding could misplace counts as cut."""
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
        cells = self.cells(tuple(places))
        found = cells.many(slopes, goals, confidence=confidence, whole=whole)
        return ManyHalfspaces(
            estimate=found.estimate,
            lower=found.lower,
            upper=found.upper,
            std=found.std,
            prior=cells.prior(slopes, goals),
            is_exact=found.is_exact,
            confidence=confidence,
            comparison=cells.comparison,
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
            if asked.projections == "theorem":
                raise BadRelease(
                    "a net with the theorem's own parameters cannot have been released."
                )
            return nearest_median(up, values, asked.gamma, asked.projections)
        raise NotAnswerable(
            f"The release has no net of halfspaces over {', '.join(columns)}; it would have needed "
            f"{Halfspaces(*columns).text} by the algorithm net."
        )

    def answers(self, question: Question, *, confidence: float, whole: bool) -> Answers | None:
        """The answers to a question with an inequality in its condition; `None` for others."""
        condition = question.condition
        if not has_inequality(condition):
            return None
        level = exact(confidence, name="confidence")
        if not 0 < level < 1:
            raise BadInput(f"confidence is {confidence}; it must lie between 0 and 1.")
        if not all(one.kind == "count" and one.column is None for one in question.aggregates):
            raise NotAnswerable("A linear inequality over columns is answered for count(*) only.")
        cells = self.cells(self._columns(question))
        self._check_nulls(question, cells)
        codes, chosen = self._groups(question, cells)
        found = cells.chosen(chosen, confidence=confidence, whole=whole)
        lone = lone_inequality(condition)
        notes = self._notes(cells, found, None if question.group_by else lone)
        columns = tuple(
            AnswerColumn(
                name=one.name,
                estimate=found.estimate,
                lower=found.lower,
                upper=found.upper,
                std=found.std,
                covers=Covers.NOISE if found.is_exact.all() else Covers.NOISE_AND_CELLS,
            )
            for one in question.aggregates
        )
        grouped = [self._library.schema.column(name) for name in question.group_by]
        return Answers(
            groups=question.group_by,
            codes=codes,
            label=lambda axis, code: grouped[axis].label(code),
            columns=columns,
            confidence=confidence,
            question=question.text,
            notes=tuple(notes),
        )

    def _columns(self, question: Question) -> tuple[str, ...]:
        """All columns of the question, in the schema's order; each must be numeric."""
        named = columns_named(question.condition) | set(question.group_by)
        schema = self._library.schema
        columns = tuple(column.name for column in schema.columns if column.name in named)
        strange = [name for name in columns if schema.column(name).kind not in NUMERIC_KINDS]
        if strange:
            column = schema.column(strange[0])
            raise NotAnswerable(
                f"Column {column.name!r} is of kind {column.kind}: a question with a linear inequality "
                f"names columns of kind {' and '.join(NUMERIC_KINDS)} only, for it is answered from "
                "halfspaces(...) over them."
            )
        return columns

    def _check_nulls(self, question: Question, cells: Cells) -> None:
        """Rows with a null are in no cell, so none of them may satisfy the condition."""
        known = never_null(question.condition)
        if known is None:
            return
        for name in cells.columns:
            column = self._library.schema.column(name)
            if name not in known and name not in question.group_by and column.nulls == "cell":
                raise NotAnswerable(
                    f"Rows with a null in column {name!r} could satisfy this, and {self._made(cells)} does "
                    f"not count them. Add AND {quoted(name)} IS NOT NULL."
                )
        for leaf in leaves_of(question.condition):
            if isinstance(leaf, NullTest) and self._library.schema.column(leaf.column).has_other:
                raise NotAnswerable(
                    f"IS NULL of column {leaf.column!r} is not answered beside a linear inequality, for the "
                    "column keeps values outside its domain."
                )

    def _made(self, cells: Cells) -> str:
        return Halfspaces(*cells.columns).text

    def _groups(self, question: Question, cells: Cells) -> tuple[Integers, list[Chosen]]:
        """The groups that the condition does not rule out, decided by public facts, and their cells."""
        if not question.group_by:
            return np.zeros((1, 0), dtype=np.int64), [cells.boxed.chosen(question.condition)]
        schema = self._library.schema
        axes = [cells.columns.index(name) for name in question.group_by]
        sizes = [schema.column(name).value_cells for name in question.group_by]
        if prod(sizes) * cells.boxed.many > MOST_GROUP_BOXES:
            raise NotAnswerable(
                f"GROUP BY {', '.join(question.group_by)} has {prod(sizes):,} groups, too many beside a "
                "linear inequality; group by fewer columns."
            )
        codes, found = [], []
        for code in product(*(range(size) for size in sizes)):
            chosen = cells.boxed.narrowed(dict(zip(axes, code, strict=True))).chosen(
                question.condition
            )
            if chosen.outer.any():
                codes.append(code)
                found.append(chosen)
        if not found:
            raise NotAnswerable("The condition rules out every group.")
        return np.array(codes, dtype=np.int64), found

    def _notes(self, cells: Cells, found: Counted, lone: Inequality | None) -> list[str]:
        notes = []
        if lone is not None:
            coefficients, bound, _ = lone.as_at_least()
            normal = np.array([[float(each) for each in coefficients]])
            prior = float(cells.prior(normal, np.array([float(bound)]))[0])
            notes.append(
                f"Without any data, rows spread evenly over the bounds, one would say {prior:,.0f}."
            )
        if isinstance(cells, Grid) and cells.sources > 1:
            notes.append(combined_note(cells.sources))
        if not cells.comparison.beats_prior:
            notes.append(cells.comparison.warning)
        if not found.is_exact.all():
            notes.append(CUT_NOTE)
        notes += [
            f"Rows for which the schema keeps no cell of column {name!r} (excluded nulls or values "
            "outside the domain) are not counted."
            for name in cells.loses
        ]
        return notes


def _of_all(grids: list[_Blocks]) -> tuple[Floats, Terms, frozenset[int], int]:
    """Tables of the same blocks, combined by the inverse of their variances, and how many they are."""
    weights = inverse_variance_weights([variance_of(noise) for _, noise, _ in grids])
    used = [(weight, *grid) for weight, grid in zip(weights, grids, strict=True) if weight]
    table = sum(weight * counts for weight, counts, _, _ in used)
    noise = tuple(term for weight, _, own, _ in used for term in scaled(own, weight))
    parts = frozenset[int]().union(*(own for _, _, _, own in used))
    return np.asarray(table, dtype=np.float64), noise, parts, len(used)


def lone_inequality(condition: Condition) -> Inequality | None:
    """The inequality that a condition is, negations taken in: a null satisfies it neither way."""
    if isinstance(condition, Opposite):
        inside = lone_inequality(condition.part)
        if inside is None:
            return None
        return negated(inside)
    if isinstance(condition, Every) and len(condition.parts) == 1:
        return lone_inequality(condition.parts[0])
    return condition if isinstance(condition, Inequality) else None
