"""Halfspaces asked of a release: conditions with linear inequalities, or a hundred thousand halfspaces at once.

Beside each answer stands what would be said without data: the rows spread evenly over the public
bounds. A question may join inequalities with comparisons of the same columns by AND, OR and NOT,
and group by these columns: it is answered from the cells inside and the cells touched.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from itertools import product
from math import prod

import numpy as np
import numpy.typing as npt

from discreet.answering.estimates import NO_GROUPS, Estimates, ManyCounts, combined_note
from discreet.answering.readings import Reading, combined
from discreet.answering.regions.region import Region
from discreet.answering.source import Source
from discreet.arrays import Floats, Integers
from discreet.artifacts.measurement import Measurement
from discreet.errors import BadInput, BadRelease, NotAnswerable
from discreet.families.halfspaces.answer.cells import Cells, Grid, Leaves
from discreet.families.halfspaces.answer.conditions import Chosen
from discreet.families.halfspaces.estimate.prior import Comparison, public_bounds
from discreet.families.halfspaces.queries.halfspaces import Halfspaces
from discreet.families.ranges.answer.cell_ranges import CellRangeSource
from discreet.families.ranges.answer.joining import JoinedRanges, ranges_of
from discreet.families.ranges.answer.ranges import RangeSource
from discreet.families.shared.answer.evidence import Evidence, NoisyGrid
from discreet.families.shared.answer.left_out_notes import no_cell
from discreet.families.shared.answer.library import Library
from discreet.families.shared.estimate.combination import (
    Terms,
    halved,
    inverse_variance_weights,
    scaled,
    variance_of,
)
from discreet.families.shared.estimate.kept import Kept
from discreet.families.tables.answer.linear_tables import CombinedTable
from discreet.families.tables.answer.together.library import TableLibrary
from discreet.queries.blocks import GridCounts
from discreet.questions.conditions import asks_for_a_value, atoms, normal_form, simple_of
from discreet.questions.inequality import NUMERIC_KINDS, Inequality, inequality_of, lone_inequality
from discreet.questions.spelling import quoted
from discreet.reference.halfspaces.net import lifted, nearest_median
from discreet.schema import Schema, keeps_every_row

_Blocks = tuple[Floats, Terms, frozenset[int]]
"""A table of blocks, the noise of each block, and the parts of the release that it comes from."""

CUT_NOTE = (
    "The interval includes all rows of the cells that the condition cuts: they may lie on either "
    "side of it."
)
SHAPES = "Each halfspace needs one coefficient for each column, and one bound."
LARGEST = 1e80
MOST_GROUP_BOXES = 1 << 25
"""(group, cell) pairs that a GROUP BY may look at."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class ManyHalfspaces(ManyCounts):
    """Counts as arrays, one number a halfspace. Thread safe: it never changes."""

    prior: Floats
    """What would be said without data."""
    comparison: Comparison
    """The release's error against the prior's; it warns where the release is not expected to win."""


class HalfspaceSource(Source):
    """The halfspaces of one release; their cells are kept."""

    def __init__(self, library: Library) -> None:
        self._library, self._kept = library, Kept[tuple[str, ...], Cells]()

    def cells(self, columns: tuple[str, ...]) -> Cells:
        """The best cells over exactly `columns`, in the schema's order, or a refusal."""
        return self._kept.get(columns, lambda: self._best(columns))

    def _best(self, columns: tuple[str, ...]) -> Cells:
        library = self._library
        schema, rows = library.schema, library.release.public_rows
        tables = library.made(TableLibrary)
        grids: dict[tuple[int, ...], list[_Blocks]] = {}
        for each in library.evidence.grids:
            if each.query.columns == columns:
                own = each.counts.astype(np.float64), ((1.0, each.law, 1),), frozenset({each.place})
                grids.setdefault(each.query.widths, []).append(own)
        own_draws = tables.table(columns) if tables.usable(columns) else None
        if isinstance(own_draws, CombinedTable):  # cells whose noises are independent
            blocks = own_draws.counts, own_draws.noise, library.table_parts
            grids.setdefault((1,) * len(columns), []).append(blocks)
        found: list[Cells] = []
        for widths, same in grids.items():
            table, noise, parts, sources = _of_all(same)
            found.append(Grid(schema, columns, widths, table, noise, rows, parts, sources))
        found += [
            Leaves(source, rows)
            for source in ranges_of(library)
            if isinstance(source, RangeSource)
            and not isinstance(source, CellRangeSource)
            and source.columns == columns
            and all(schema.column(name).kind in NUMERIC_KINDS for name in columns)
            and not any(schema.column(name).has_other for name in columns)
        ]
        if not found:
            raise NotAnswerable(self._refusal(columns))
        return min(found, key=lambda cells: cells.comparison.release)

    def _total(self, confidence: float) -> Estimates | None:
        """The number of all rows, from each grid over columns that leave none out."""
        schema, found = self._library.schema, list[Reading]()
        for each in self._library.evidence.grids:
            if all(keeps_every_row(schema.column(name)) for name in each.query.columns):
                terms: Terms = ((1.0, each.law, each.counts.size),)
                value = float(each.counts.sum())
                found.append(Reading.of(value, terms, frozenset({each.place})))
        if not found:
            return None
        return Estimates.of_reading(combined(found), confidence, readings=tuple(found))

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

    def one(self, asked: Inequality, *, confidence: float) -> tuple[Estimates, Chosen, Cells]:
        """A single inequality, its cells compared in exact arithmetic."""
        cells = self.cells(asked.columns)
        chosen = cells.boxed.chosen(asked)
        found = cells.chosen([chosen], confidence=confidence)
        return found.plausible(self._library.release.public_rows), chosen, cells

    def many(
        self,
        columns: tuple[str, ...],
        normals: npt.ArrayLike,
        bounds: npt.ArrayLike,
        *,
        confidence: float,
    ) -> ManyHalfspaces:
        """`normals . columns >= bounds` for whole arrays; a cell that rounding could misplace counts as cut."""
        schema = self._library.schema
        names = tuple(schema.column(name).name for name in columns)
        places = [each.name for each in schema.columns if each.name in names]
        slopes = np.asarray(normals, dtype=np.float64)
        goals = np.asarray(bounds, dtype=np.float64)
        if slopes.ndim != 2 or slopes.shape != (len(goals), len(names)) or goals.ndim != 1:
            raise BadInput(SHAPES)
        most = max(np.abs(slopes).max(initial=0), np.abs(goals).max(initial=0))
        if not most < LARGEST:  # also where it is not a number
            raise BadInput(f"The coefficients and bounds of halfspaces lie below {LARGEST:g}.")
        slopes = np.ascontiguousarray(slopes[:, [names.index(name) for name in places]])
        cells = self.cells(tuple(places))
        found = cells.many(slopes, goals, confidence=confidence)
        found = found.plausible(self._library.release.public_rows)
        return ManyHalfspaces(
            estimate=found.estimate,
            lower=found.lower,
            upper=found.upper,
            std=found.std,
            is_exact=np.asarray(found.is_exact),
            confidence=confidence,
            prior=cells.prior(slopes, goals),
            comparison=cells.comparison,
        )

    def margin(
        self,
        columns: tuple[str, ...],
        normals: npt.ArrayLike,
        bounds: npt.ArrayLike,
        *,
        gamma: float,
        confidence: float,
    ) -> ManyCounts:
        """Rows within gamma of each plane, columns scaled so that all points lie in the unit ball.

        They are the rows of the plane moved back by gamma less those of the plane moved on by it. Each of the two counts
        may miss with half of the probability.
        """
        slopes = np.asarray(normals, dtype=np.float64)
        goals = np.asarray(bounds, dtype=np.float64)
        if slopes.ndim != 2 or slopes.shape != (len(goals), len(columns)):
            raise BadInput(SHAPES)
        low, high = public_bounds(self._library.schema, columns)
        scaled = slopes * (high - low) / 2 * math.sqrt(len(columns))
        step = gamma * np.linalg.norm(scaled, axis=1)
        level = float(halved(confidence))
        wider, narrower = (
            self.many(columns, slopes, goals + sign * step, confidence=level) for sign in (-1, 1)
        )
        return ManyCounts(
            estimate=np.maximum(wider.estimate - narrower.estimate, 0.0),
            lower=np.maximum(wider.lower - narrower.upper, 0.0),
            upper=np.maximum(wider.upper - narrower.lower, 0.0),
            std=wider.std + narrower.std,
            is_exact=wider.is_exact & narrower.is_exact,
            confidence=confidence,
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

    def read_one(self, region: Region, confidence: float) -> Estimates | None:
        """A count of rows that satisfy inequalities; without one, the number of all rows."""
        if not region.has_inequality and not self._is_on_one_column(region):
            is_total = region.is_one_count and region.takes_all
            return self._total(confidence) if is_total else None
        if region.kind != "count" or region.column is not None:
            raise NotAnswerable("A linear inequality over columns is answered for count(*) only.")
        cells = self.cells(self._columns(region))
        self._check_nulls(region, cells)
        codes, chosen = self._groups(region, cells)
        found = cells.chosen(chosen, confidence=confidence)
        lone = None if region.groups else lone_inequality(region.condition, self._library.schema)
        own = cells.reading(chosen[0]) if lone is not None else None
        return replace(
            found,
            codes=codes if region.groups else None,
            notes=tuple(self._notes(cells, found, lone)),
            readings=() if own is None else (own,),
        )

    def _is_on_one_column(self, region: Region) -> bool:
        """Whether it has an inequality such as 2*x + 1 > 7, and neither tables nor trees know its columns."""
        library = self._library
        schema, names = library.schema, region.names
        asked = atoms(normal_form(region.condition))
        if not any(inequality_of(atom, schema) is not None for atom in asked):
            return False
        columns = tuple(name for name in schema.names if name in names)
        trees = library.made(JoinedRanges).sources
        return not library.made(TableLibrary).usable(columns) and columns not in [
            one.columns for one in trees
        ]

    def _columns(self, region: Region) -> tuple[str, ...]:
        """All columns of the question, in the schema's order; each must be numeric."""
        named = region.names
        schema = self._library.schema
        columns = tuple(column.name for column in schema.columns if column.name in named)
        strange = [name for name in columns if schema.column(name).kind not in NUMERIC_KINDS]
        if strange:
            column = schema.column(strange[0])
            raise NotAnswerable(
                f"Column {column.name!r} is of kind {column.kind}: a question with a linear inequality "
                f"names columns of kind {' and '.join(NUMERIC_KINDS)} only, because it is "
                "answered from halfspaces(...) over them."
            )
        return columns

    def _check_nulls(self, region: Region, cells: Cells) -> None:
        """Rows with a null are in no cell, so none of them may satisfy the condition."""
        normal = normal_form(region.condition)
        if normal is False:
            return
        for name in cells.columns:
            column = self._library.schema.column(name)
            if column.nulls != "cell" or name in region.groups:
                continue
            if not asks_for_a_value(region.condition, name):
                raise NotAnswerable(
                    f"Rows with a null in column {name!r} could satisfy this, and {self._made(cells)} does "
                    f"not count them. Add AND {quoted(name)} IS NOT NULL."
                )
        for asked in map(simple_of, atoms(normal)):
            if asked is None or asked.sign != "is null":
                continue
            if self._library.schema.column(asked.column).has_other:
                raise NotAnswerable(
                    f"IS NULL of column {asked.column!r} is not answered together with a linear "
                    "inequality, because the column keeps values outside its domain."
                )

    def _made(self, cells: Cells) -> str:
        return Halfspaces(*cells.columns).text

    def _groups(self, region: Region, cells: Cells) -> tuple[Integers, list[Chosen]]:
        """The groups that the condition does not rule out, decided by public facts, and their cells."""
        if not region.groups:
            return NO_GROUPS, [cells.boxed.chosen(region.condition)]
        schema = self._library.schema
        axes = [cells.columns.index(name) for name in region.groups]
        sizes = [schema.column(name).value_cells for name in region.groups]
        if prod(sizes) * cells.boxed.many > MOST_GROUP_BOXES:
            raise NotAnswerable(
                f"GROUP BY {', '.join(region.groups)} has {prod(sizes):,} groups, too many beside a "
                "linear inequality; group by fewer columns."
            )
        codes, found = [], []
        for code in product(*(range(size) for size in sizes)):
            chosen = cells.boxed.narrowed(dict(zip(axes, code, strict=True))).chosen(
                region.condition
            )
            if chosen.outer.any():
                codes.append(code)
                found.append(chosen)
        if not found:
            raise NotAnswerable("The condition rules out every group.")
        return np.array(codes, dtype=np.int64), found

    def _notes(self, cells: Cells, found: Estimates, lone: Inequality | None) -> list[str]:
        notes = []
        if lone is not None:
            coefficients, bound, _ = lone.as_at_least()
            normal = np.array([[float(each) for each in coefficients]])
            prior = float(cells.prior(normal, np.array([float(bound)]))[0])
            notes.append(
                f"A guess without data, with rows spread evenly over the bounds, would be {prior:,.0f}."
            )
        if cells.sources > 1:
            notes.append(combined_note(cells.sources))
        if not cells.comparison.beats_prior:
            notes.append(cells.comparison.warning)
        if not np.all(found.is_exact):
            notes.append(CUT_NOTE)
        notes += [no_cell(name) for name in cells.loses]
        return notes


def _of_all(grids: list[_Blocks]) -> tuple[Floats, Terms, frozenset[int], int]:
    """Tables of the same blocks, combined by the inverse of their variances, and how many they are."""
    weights = inverse_variance_weights([variance_of(noise) for _, noise, _ in grids])
    used = [(weight, *grid) for weight, grid in zip(weights, grids, strict=True) if weight]
    table = sum(weight * counts for weight, counts, _, _ in used)
    noise = tuple(term for weight, _, own, _ in used for term in scaled(own, weight))
    parts = frozenset[int]().union(*(own for _, _, _, own in used))
    return np.asarray(table, dtype=np.float64), noise, parts, len(used)


def grid_of(measurement: Measurement, schema: Schema, place: int) -> Evidence:
    """What counts of the blocks of a grid say."""
    query = measurement.query
    assert isinstance(query, GridCounts)
    counts = measurement.values.reshape(query.shape(schema))
    return Evidence(grids=[NoisyGrid(query, counts, measurement.law, place)])
