"""Counts, sums and averages from the tables of a release, and from sums and counts measured beside them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from math import prod

import numpy as np

from discreet.answering.estimates import Estimates
from discreet.answering.readings import Reading
from discreet.answering.regions.region import CellRegions, RangeRegions, Region
from discreet.answering.regions.selecting import Selection, select
from discreet.answering.source import Found, Source
from discreet.arrays import Bools
from discreet.artifacts.answers import SharedDraws, taken_draws
from discreet.errors import NotAnswerable
from discreet.families.groups.queries.classes import MOST_COLUMNS as MOST_BY
from discreet.families.groups.queries.classes import GroupedMeans, GroupedSums
from discreet.families.numbers.queries.one_number import Means, Sums
from discreet.families.shared.answer.evidence import NoisyCount, NoisySum
from discreet.families.shared.answer.left_out_notes import no_cell, not_summed
from discreet.families.shared.answer.library import Library
from discreet.families.shared.estimate.combination import halved
from discreet.families.tables.answer.batches import TableBatches
from discreet.families.tables.answer.counting import (
    DECLARED_NOTE,
    around,
    count_rows,
    nothing_left,
)
from discreet.families.tables.answer.linear_tables import CombinedTable, WeightedTable
from discreet.families.tables.answer.shared_draws import cell_draws
from discreet.families.tables.answer.sums.added_values import expression_values, moment_values
from discreet.families.tables.answer.sums.aggregates import aggregate_table
from discreet.families.tables.answer.sums.summing import (
    centred_sum,
    check_weighted,
    direct_mean,
    direct_sum,
    quotient,
    weighted_rows,
)
from discreet.families.tables.answer.table_quantiles import quantile_of_cells
from discreet.families.tables.answer.table_readings import (
    combined_sum,
    count_reading,
    table_reading,
)
from discreet.families.tables.answer.together.library import TableLibrary
from discreet.questions.cells.impossible import declares_empty_cells, impossible_cells
from discreet.questions.expressions import TRUE, columns_of
from discreet.questions.inequality import NUMERIC_KINDS, is_of_halfspaces
from discreet.schema import keeps_every_row
from discreet.schema.limits import MOST_CELLS

MOST_GROUPS = 1 << 20
MOST_LISTED = 1 << 12
"""Cells of a column that no table knows, up to which they are listed to see whether the column matters."""
NUMBERS = ("estimate", "lower", "upper", "std")
CELL_NOTE = "An interval that covers discretisation also allows for rows inside a cell that the condition splits. In a sum, it allows for values anywhere inside their cell."
ADDITIVE_NOTE = "These counts are as measured, so they add up; they may be fractions or negative."
WITHIN_NOTE = (
    "Every table counts the rows that have a cell in all of its columns. So tables over different columns count different rows, and "
    "sums of their cells differ."
)
GLANCED_NOTE = "A noisy first selection over all pairs decided what was measured. The interval takes that choice as given; its coverage was measured, and is not proved."
MODEL_NOTE = "An interval that covers a model also allows for the model's error in this table, which was measured."
USUAL_NOTE = "The width of the interval follows from the measured error of the model in this table. Its coverage was measured on many tables, and is not proved. Above a confidence of 99% the interval is proved, and far wider."


class TableSource(Source):
    """All tables of a release, put together."""

    rank = 1

    def __init__(self, library: Library) -> None:
        self._library, self._schema = library.made(TableLibrary), library.schema
        self._public_rows = self._library.tabled_rows
        self._batches = TableBatches(self._library)
        self._by_kind = {
            "quantile": self._quantile,
            "moment": self._moment,
            "total": self._of_expression,
            "valued": self._of_expression,
        }

    def read_one(self, region: Region, confidence: float) -> Estimates | None:
        if self._is_of_halfspaces(region):
            return None
        self._check_columns(region)
        selection = select(region.condition, self._schema, keep=region.groups)
        found = self._numbers(region, selection, confidence)
        found = by_group(found, selection, region.groups)
        notes = () if np.all(found.is_exact) else (CELL_NOTE,)
        named = {*region.names, *region.groups, region.column}
        found = replace(
            found,
            notes=(*notes, *found.notes),
            parts=self._library.table_parts,
            is_of_fewer_rows=not set(self._library.left_out_of(selection.names)) <= named,
        )
        return found.noted(*self._notes(region, selection, found))

    def _is_of_halfspaces(self, region: Region) -> bool:
        """Whether the source of halfspaces reads it, from the same tables and in exact arithmetic."""
        if not region.has_inequality or region.kind != "count" or region.column is not None:
            return False
        columns = tuple(name for name in self._schema.names if name in region.names)
        if not self._library.usable(columns):
            held = self._library.has_linear(columns) or columns in self._library.models
            numeric = all(self._schema.column(name).kind in NUMERIC_KINDS for name in columns)
            return numeric and not held
        if not is_of_halfspaces(region.condition, region.groups, self._schema):
            return False
        return isinstance(self._library.table(columns), CombinedTable)

    def read_ranges(self, asked: RangeRegions, confidence: float) -> Found:
        return self._tried(self._batches.ranges, asked, confidence)

    def read_cells(self, asked: CellRegions, confidence: float) -> Found:
        return self._tried(self._batches.cells, asked, confidence)

    def _check_columns(self, region: Region) -> None:
        """Refuse at once what would take long to refuse: large columns that no table knows."""
        groups = [self._schema.column(name) for name in region.groups]
        if prod(column.cells for column in groups) > MOST_GROUPS:
            raise NotAnswerable(
                f"GROUP BY {', '.join(region.groups)} has more than {MOST_GROUPS:,} groups; "
                "group by fewer columns."
            )
        large = [
            name
            for name in region.names
            if MOST_LISTED < self._schema.column(name).cells <= MOST_CELLS
        ]
        if all(self._library.knows(name) for name in large):
            return
        needed, also = set(region.names), ""
        if region.column is not None and region.kind != "count":
            needed |= {region.column}
        ordered = tuple(name for name in self._schema.names if name in needed)
        if region.column is not None and region.kind in ("sum", "avg"):
            also = _also(region.kind, region.column, ordered)
        raise NotAnswerable(self._library.refusal(ordered, also=also))

    def _notes(self, region: Region, selection: Selection, found: Estimates) -> list[str]:
        notes, column = list[str](), None
        if region.column is not None:
            column = self._schema.column(region.column)
            if region.kind != "count" and column.has_other:
                notes.append(not_summed(column.name))
        if np.any(found.is_model):
            notes.append(MODEL_NOTE)
            model = self._library.models.get(selection.names)
            if region.kind == "count" and model is not None and model.usual is not None:
                notes.append(USUAL_NOTE)
        if self._library.is_glanced:
            notes.append(GLANCED_NOTE)
        agreement = self._library.agreement
        if region.kind == "count" and agreement is not None and agreement.as_measured:
            notes.append(ADDITIVE_NOTE)
        left_out = self._library.left_out_of(selection.names)
        losing = set(selection.loses_rows)
        if column is not None and not keeps_every_row(column) and not found.leaves_no_row_out:
            losing.add(column.name)
        for name in sorted(losing):
            if self._library.spreads_evenly and not np.any(found.is_model):
                notes.append(
                    f"Rows without a cell in column {name!r} count evenly in all its cells: this "
                    "release was made that way."
                )
            elif name not in left_out:
                notes.append(no_cell(name))
        if left_out:
            notes.append(complete_rows_note(left_out))
        elif losing and region.kind == "count" and self._library.agrees_within(selection.names):
            notes.append(WITHIN_NOTE)
        return notes

    def _numbers(self, region: Region, selection: Selection, confidence: float) -> Estimates:
        if region.kind == "count":
            return self._count(region, selection, confidence)
        return self._by_kind.get(region.kind, self._sum)(region, confidence)

    def _sum(self, region: Region, confidence: float) -> Estimates:
        direct = self._direct(region, confidence) if not region.groups else None
        return direct if direct is not None else self._from_table(region, confidence)

    def _count(self, region: Region, selection: Selection, confidence: float) -> Estimates:
        if region.column is not None:
            column = self._schema.column(region.column)
            if region.takes_all and not region.groups and not column.has_other:
                # Also where the column has too many cells to list.
                counts = [each for each in self._library.counts if each.column == column.name]
                if counts:
                    reading = count_reading(self._library, None, counts)
                    return Estimates.of_reading(reading, confidence)
            selection = select(
                region.condition, self._schema, keep=region.groups, not_null=column.name
            )
        if not region.groups and (matching := self._counts_of(selection)):
            own = count_reading(self._library, selection, matching)
            found = Estimates.of_reading(own, confidence)
            return replace(found, readings=self._readings(region, selection))
        if not selection.columns and bool(selection.mask.all()):
            public = self._library.release.public_rows
            if public is not None:
                rows = np.array([float(public)])
                return Estimates(rows, rows, rows, np.zeros(1))
            total = self._library.total()
            if total is not None:
                found = Estimates.of_reading(total, confidence, readings=(total,))
                whole = self._library.agreed_over(())
                if whole is None:
                    return found
                return around(found, whole.counts.reshape(1), whole)
        axes = group_axes(selection, region.groups)
        impossible = self._impossible(selection)
        if impossible is not None:
            rest = tuple(axis for axis in range(len(selection.columns)) if axis not in axes)
            nothing = nothing_left(selection.outer(), impossible, rest)
            if nothing.all():  # known without a table
                zero = np.zeros(nothing.shape)
                return Estimates(zero, zero, zero, zero, notes=(DECLARED_NOTE,))
        found = count_rows(
            self._library.table(selection.names),
            selection,
            group_axes=tuple(sorted(axes)),
            confidence=confidence,
            public_rows=self._public_rows,
            impossible=impossible,
        )
        found = replace(found, readings=self._readings(region, selection))
        if found.is_exact is True and impossible is None:
            found = replace(found, draws=partial(self._draws, region))
        return found

    def _draws(self, region: Region) -> SharedDraws | None:
        """The cells are selected anew: thousands of groups would keep a selection each."""
        selection = select(
            region.condition, self._schema, keep=region.groups, not_null=region.column
        )
        axes = tuple(sorted(group_axes(selection, region.groups)))
        return cell_draws(self._library, selection, selection.outer().astype(np.float64), axes)

    def _readings(self, region: Region, selection: Selection) -> tuple[Reading, ...]:
        """The count as it was measured, unless a model or a declaration has a say."""
        if not region.is_one_count or not self._library.has_linear(selection.names):
            return ()
        if self._impossible(selection) is not None:
            return ()
        reading = table_reading(self._library, selection)
        return () if reading is None else (reading,)

    def _impossible(self, selection: Selection) -> Bools | None:
        """The cells of the selection's columns that are empty by declaration, if they can be listed.

        None of them, where answers are as measured: with nothing in them, others would no longer add up.
        """
        if not declares_empty_cells(self._schema) or prod(selection.shape) > MOST_CELLS:
            return None
        agreement = self._library.agreement
        if agreement is not None and agreement.as_measured:
            return None
        return impossible_cells(self._schema, selection.names)

    def _counts_of(self, selection: Selection) -> list[NoisyCount]:
        """Directly measured counts of just what is asked: the rows with a value in one column."""
        if len(selection.columns) != 1 or not self._library.counts:
            return []
        part, column = selection.pieces[0], selection.columns[0]
        chosen = np.broadcast_to(selection.mask, len(part.cell))
        if not np.array_equal(chosen, part.in_domain):
            return []
        return [count for count in self._library.counts if count.column == column.name]

    def _direct(self, region: Region, confidence: float) -> Estimates | None:
        """A measured sum or mean of the whole column, if the condition lets every value through."""
        name = str(region.column)
        sums = [each for each in self._library.sums if each.column == name]
        if not sums or not self._takes_all_values(region, name):
            return None
        plain = [each for each in sums if each.center == 0]
        column, rows = self._schema.column(name), self._public_rows
        if region.kind == "sum":
            if not plain:
                return self._of_mean(sums, name, confidence)
            joint = combined_sum(self._library, plain, confidence=confidence)
            if joint is not None:
                return joint
            return direct_sum(plain, column, confidence=confidence, most_rows=rows)
        means = [each for each in sums if each.count is not None]
        if not means and rows is not None and column.null_cell is None:
            means = sums
        if not means:
            return self._mean_of_sums(plain, name, confidence)
        best = min(means, key=lambda each: each.law.variance / each.grid**2)
        return direct_mean(best, column, confidence=confidence, public_rows=rows)

    def _of_mean(self, sums: list[NoisySum], column: str, confidence: float) -> Estimates | None:
        """The sum behind a measured mean, unless a table of the column gives one."""
        counted = [each for each in sums if each.count is not None]
        if not counted or self._library.usable((column,)):
            return None
        best = min(counted, key=lambda each: each.law.variance / each.grid**2)
        return centred_sum(best, self._schema.column(column), confidence=confidence)

    def _takes_all_values(self, region: Region, column: str) -> bool:
        """Whether every row with a value in the domain of `column` satisfies the condition."""
        if region.takes_all:  # also where the column has too many cells to list
            return True
        selection = select(region.condition, self._schema, keep=[column], in_domain=column)
        if selection.names != (column,):
            return False
        part = selection.pieces[0]
        return np.array_equal(np.broadcast_to(selection.mask, len(part.cell)), part.in_domain)

    def _mean_of_sums(
        self, plain: list[NoisySum], column: str, confidence: float
    ) -> Estimates | None:
        """A measured sum over a count from elsewhere in the release, if it has one."""
        if not plain or not self._library.usable((column,)):
            return None
        level = halved(confidence)
        selection = select(TRUE, self._schema, keep=[column], in_domain=column)
        table = self._library.table((column,))
        counts = count_rows(table, selection, confidence=level, public_rows=self._public_rows)
        counts = counts.plausible(self._public_rows, whole=False)
        total = direct_sum(plain, self._schema.column(column), confidence=level, most_rows=None)
        found = quotient(total, counts, center=0.0, hull=selection.hull(0))
        return replace(found, notes=tuple(n.replace("summed", "averaged") for n in total.notes))

    def _quantile(self, region: Region, confidence: float) -> Estimates:
        column = str(region.column)
        selection, table = self._table_of(region, [column])
        assert region.level is not None
        return quantile_of_cells(
            table,
            selection,
            selection.names.index(column),
            region.level,
            group_axes=tuple(sorted(group_axes(selection, region.groups))),
            confidence=confidence,
        )

    def _moment(self, region: Region, confidence: float) -> Estimates:
        columns = [name for name in (region.column, region.second) if name is not None]
        selection, table = self._table_of(region, columns, weighted=True)
        axes = [selection.names.index(name) for name in columns]
        return weighted_rows(
            table,
            selection,
            moment_values(selection, axes[0], axes[1] if len(axes) > 1 else None, region.centres),
            group_axes=tuple(sorted(group_axes(selection, region.groups))),
            confidence=confidence,
            public_rows=self._public_rows,
            impossible=self._impossible(selection),
        )

    def _of_expression(self, region: Region, confidence: float) -> Estimates:
        """The sum of an expression, or the number of rows that it has a value for."""
        assert region.expression is not None
        selection = select(
            region.condition,
            self._schema,
            keep=[*region.groups, *dict.fromkeys(columns_of(region.expression))],
        )
        check_weighted(selection)
        table = self._library.table(selection.names)
        return weighted_rows(
            table,
            selection,
            expression_values(selection, region.expression, counts=region.kind == "valued"),
            group_axes=tuple(sorted(group_axes(selection, region.groups))),
            confidence=confidence,
            public_rows=self._public_rows,
            impossible=self._impossible(selection),
        )

    def _table_of(
        self, region: Region, columns: list[str], *, weighted: bool = False
    ) -> tuple[Selection, WeightedTable]:
        """The rows of a region with a value in some columns, and the table that they are read from."""
        selection = select(
            region.condition, self._schema, keep=[*region.groups, *columns], in_domain=columns
        )
        if weighted:
            check_weighted(selection)
        return selection, self._library.table(selection.names)

    def _from_table(self, region: Region, confidence: float) -> Estimates:
        column = str(region.column)
        selection = select(
            region.condition, self._schema, keep=[*region.groups, column], in_domain=column
        )
        check_weighted(selection)
        try:
            table = self._library.table(selection.names)
        except NotAnswerable:
            also = _also(region.kind, column, selection.names)
            raise NotAnswerable(self._library.refusal(selection.names, also=also)) from None
        return aggregate_table(
            region.kind,
            table,
            selection,
            selection.names.index(column),
            group_axes=tuple(sorted(group_axes(selection, region.groups))),
            confidence=confidence,
            public_rows=self._public_rows,
            impossible=self._impossible(selection),
        )


def complete_rows_note(columns: tuple[str, ...]) -> str:
    return (
        f"Rows for which the schema keeps no cell of {', '.join(columns)} (excluded nulls or values outside the "
        "domain) are not counted by these tables."
    )


def group_axes(selection: Selection, groups: tuple[str, ...]) -> tuple[int, ...]:
    """Where the columns of GROUP BY are among the selection's, in the order they were written."""
    return tuple(selection.names.index(name) for name in groups)


def by_group(found: Estimates, selection: Selection, groups: tuple[str, ...]) -> Estimates:
    """From one axis a column, in the schema's order, to a list of groups, columns as they were written.

    Groups that the condition rules out are left out: the question decides that, never a row.
    """
    if not groups:
        numbers = {name: getattr(found, name).reshape(1) for name in NUMBERS}
        return replace(found, **numbers)
    draws = found.draws
    axes = group_axes(selection, groups)
    rest = tuple(axis for axis in range(len(selection.columns)) if axis not in axes)
    shape = [selection.columns[axis].cells for axis in sorted(axes)]
    order = [sorted(axes).index(axis) for axis in axes]
    present = np.broadcast_to(selection.outer().any(axis=rest), shape).transpose(order)
    numbers = {
        name: np.broadcast_to(getattr(found, name), shape).transpose(order)[present]
        for name in NUMBERS
    }
    places = np.arange(prod(shape)).reshape(shape).transpose(order)[present]
    kept = None if draws is None else lambda: taken_draws(draws(), places)
    return replace(found, codes=np.argwhere(present).astype(np.int64), draws=kept, **numbers)


def _also(kind: str, column: str, names: Sequence[str]) -> str:
    """The class by groups, or of all rows, that would answer a sum or a mean as well as a table."""
    others = [name for name in names if name != column]
    if not others:
        return f" or {(Sums(column) if kind == 'sum' else Means(column)).text}"
    by_group = GroupedSums if kind == "sum" else GroupedMeans
    return f" or {by_group(column, by=others).text}" if len(others) <= MOST_BY else ""
