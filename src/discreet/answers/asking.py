"""A question to its answers: which columns it needs, which source serves it, group by group."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from math import prod

import numpy as np
import numpy.typing as npt

from discreet.answers.counting import DECLARED_NOTE, Estimates, count_rows, nothing_left
from discreet.answers.joined_ranges import combined_note
from discreet.answers.joining import parts_of, total_of
from discreet.answers.overlaying import overlaid
from discreet.answers.ranging import RangeAsking
from discreet.answers.readings import Reading
from discreet.answers.selecting import Selection, select
from discreet.answers.shaping import answer_column, group_axes_of, in_order, reordered
from discreet.answers.sources import Library, NoisyCount, NoisySum
from discreet.answers.summing import both, direct_mean, direct_sum, quotient
from discreet.answers.table_aggregates import aggregate_table
from discreet.answers.table_readings import combined_sum, count_reading, table_reading
from discreet.artifacts.answers import AnswerColumn, Answers
from discreet.errors import NotAnswerable
from discreet.privacy.exact import confidence_level
from discreet.queries.boxes import columns_of
from discreet.queries.classes import Means, Sums
from discreet.queries.conditions import ALWAYS, Condition, normal_form
from discreet.queries.impossible import impossible_cells
from discreet.queries.measurable import MOST_CELLS
from discreet.queries.ranges import Intervals
from discreet.queries.sql import Aggregate, Question
from discreet.schema import Schema
from discreet.schema.completeness import keeps_every_row

MOST_GROUPS = 1 << 20

CELL_NOTE = "An interval that covers discretisation includes all that could hide inside the cells cut by the condition, or between the ends of the cells summed."

MODEL_NOTE = "An interval that covers a model includes all that the model may be off by in this table, as measured."

EVEN_NOTE = (
    "Rows without a cell in column {name!r} count evenly in all its cells: the release was made so."
)


@dataclass(frozen=True, slots=True)
class Asking:
    """One release, one confidence, one question's worth of work."""

    library: Library
    confidence: float
    whole: bool = True

    @property
    def schema(self) -> Schema:
        return self.library.schema

    @property
    def public_rows(self) -> int | None:
        return self.library.release.public_rows

    def answers(self, question: Question) -> Answers:
        confidence_level(self.confidence)
        joint = self._jointly(question)
        if joint is not None:
            return joint
        ranged = self._ranging().answers(question)
        if ranged is None:
            return self._from_tables(question)
        named = {*columns_of(question.condition), *question.group_by}
        named |= {each.column for each in question.aggregates if each.column is not None}
        has_quantiles = any(each.kind == "quantile" for each in question.aggregates)
        if has_quantiles or not self.library.usable(tuple(named)):
            return ranged  # tables could not answer, and listing their cells to see that is slow
        try:
            tables = self._from_tables(question)
        except NotAnswerable:
            return ranged
        return min(ranged, tables, key=_total_deviation)

    def _ranging(self) -> RangeAsking:
        return RangeAsking(
            tuple(self.library.joined),
            self.schema,
            self.public_rows,
            self.confidence,
            self.whole,
        )

    def _jointly(self, question: Question) -> Answers | None:
        """Counts from trees and tables together; `None` where no tree and table speak of the same rows.

        Other aggregates, and groups of nulls, which no tree counts, come from the tables.
        """
        counts = tuple(each for each in question.aggregates if each.kind == "count")
        if any(each.kind == "quantile" for each in question.aggregates) or not counts:
            return None
        own, ranging = replace(question, aggregates=counts), self._ranging()
        ranged = ranging.answers(own) if ranging.joins(own) else None
        if ranged is None or (counts == question.aggregates and not question.group_by):
            return ranged
        try:
            return overlaid(self._from_tables(question), ranged, question, self.schema)
        except NotAnswerable:
            if counts == question.aggregates:
                return ranged
            raise

    def _from_tables(self, question: Question) -> Answers:
        groups = [self.schema.column(name) for name in question.group_by]
        if prod(column.cells for column in groups) > MOST_GROUPS:
            raise NotAnswerable(
                f"GROUP BY {', '.join(question.group_by)} has more than {MOST_GROUPS:,} groups; "
                "group by fewer columns."
            )
        selection = select(question.condition, self.schema, keep=question.group_by)
        present = self._present(selection, question.group_by)
        codes = np.argwhere(present) if groups else np.zeros((1, 0), dtype=np.int64)
        columns: list[AnswerColumn] = []
        notes: dict[str, None] = {}
        named: set[str] = set()
        for aggregate in question.aggregates:
            found = self._aggregate(aggregate, question.condition, question.group_by)
            if aggregate.column is not None and not found.leaves_no_row_out:
                named.add(aggregate.column)
            columns.append(answer_column(aggregate.name, found, present if groups else None))
            if not found.is_exact:
                notes[CELL_NOTE] = None
            if found.note:
                notes[found.note] = None
            if found.is_declared:
                notes[DECLARED_NOTE] = None
        for aggregate in question.aggregates:
            if aggregate.kind != "count" and self.schema.column(str(aggregate.column)).has_other:
                notes[
                    f"Values outside the declared domain of column {aggregate.column!r} are neither "
                    "summed nor averaged."
                ] = None
            if found.is_model:
                notes[MODEL_NOTE] = None
        for name in self._losing(named, selection):
            if self.library.spreads_evenly and not found.is_model:
                notes[EVEN_NOTE.format(name=name)] = None
                continue
            notes[
                f"Rows for which the schema keeps no cell of column {name!r} (excluded nulls or "
                "values outside the domain) are not counted."
            ] = None
        return Answers(
            groups=question.group_by,
            codes=codes.astype(np.int64),
            label=lambda axis, code: groups[axis].label(code),
            columns=tuple(columns),
            confidence=self.confidence,
            question=question.text,
            notes=tuple(notes),
        )

    def _losing(self, named: set[str], selection: Selection) -> list[str]:
        """The columns, among those asked about, of which some rows may count nowhere."""
        involved = [column for column in self.schema.columns if column.name in named]
        losing = [column.name for column in involved if not keeps_every_row(column)]
        return sorted({*selection.loses_rows, *losing})

    def _present(self, selection: Selection, group_by: tuple[str, ...]) -> npt.NDArray[np.bool_]:
        """The groups that the condition does not rule out: decided by the question, never by rows."""
        axes = group_axes_of(selection, group_by)
        rest = tuple(axis for axis in range(len(selection.columns)) if axis not in axes)
        outer = selection.outer().any(axis=rest)
        shape = [selection.columns[axis].cells for axis in sorted(axes)]
        return in_order(np.broadcast_to(outer, shape), axes)

    def _aggregate(
        self, aggregate: Aggregate, condition: Condition, group_by: tuple[str, ...]
    ) -> Estimates:
        column = aggregate.column
        if aggregate.kind == "count":
            return self.count(condition, group_by, not_null=column)
        assert column is not None
        if aggregate.kind == "quantile":
            raise NotAnswerable(self._no_quantile(column, condition, group_by))
        direct = self._direct(aggregate.kind, column, condition) if not group_by else None
        if direct is not None:
            return direct
        return self._from_table(aggregate.kind, column, condition, group_by)

    def _no_quantile(self, column: str, condition: Condition, group_by: tuple[str, ...]) -> str:
        needed = Intervals(column).text
        if needed in self.library.release.workload:
            written = ["WHERE"] * (not _is_always(condition)) + ["GROUP BY"] * bool(group_by)
            advice = f"take {' and '.join(written)} out" if written else "ask it alone"
            return (
                f"The release cannot answer this: its {needed} has the quantiles of the whole column alone, "
                f"each as a question of its own; {advice}."
            )
        return self.library.lacks(needed)

    def count(
        self, condition: Condition, group_by: tuple[str, ...] = (), *, not_null: str | None = None
    ) -> Estimates:
        column = None if not_null is None else self.schema.column(not_null)
        if column is not None and not group_by and not column.has_other and _is_always(condition):
            # Also where the column has too many cells to list.
            counts = [each for each in self.library.counts if each.column == not_null]
            if counts:
                return self._from_reading(count_reading(self.library, None, counts))
        selection = select(condition, self.schema, keep=group_by, not_null=not_null)
        axes = group_axes_of(selection, group_by)
        if not group_by and (matching := self._counts_of(selection)):
            return self._from_reading(count_reading(self.library, selection, matching))
        if not selection.columns and self.public_rows is not None and bool(selection.mask.all()):
            rows = np.array(float(self.public_rows))
            return Estimates(rows, rows, rows, np.zeros(()), is_exact=True)
        if not selection.columns and bool(selection.mask.all()):
            total = total_of(self.library)
            if total is not None:
                return self._from_reading(total)
        impossible = self._impossible(selection)
        group_axes = tuple(sorted(axes))
        if impossible is not None:
            rest = tuple(axis for axis in range(len(selection.columns)) if axis not in axes)
            nothing = nothing_left(selection.outer(), impossible, rest)
            if nothing.all():  # known without a table
                zero = np.zeros(nothing.shape)
                found = Estimates(zero, zero, zero, zero, is_exact=True, is_declared=True)
                return reordered(found, axes)
        found = count_rows(
            self.library.table(selection.names),
            selection,
            group_axes=group_axes,
            confidence=self.confidence,
            public_rows=self.public_rows,
            whole=self.whole,
            impossible=impossible,
        )
        return reordered(found, axes)

    def reading(self, condition: Condition) -> Reading | None:
        """The count of a condition from trees and tables, as it was measured: unbiased, not made plausible.

        `None` where the condition cuts cells, or a model or a declaration has a say.
        """
        found = total_of(self.library) if _is_always(condition) else self._range_reading(condition)
        if found is not None:
            return found
        selection = select(condition, self.schema)
        if not self.library.has_linear(selection.names) or self._impossible(selection) is not None:
            return None
        return table_reading(self.library, selection)

    def _range_reading(self, condition: Condition) -> Reading | None:
        found = self._ranging().reading(condition)
        if found is None:
            return None
        reading, source = found
        alone = source.table is None and not source.present
        tables = frozenset[int]() if alone else self.library.table_parts
        return replace(reading, parts=tables | parts_of(self.library, source.trees))

    def _from_reading(self, reading: Reading) -> Estimates:
        estimate, lower, upper = reading.bounded(
            self.confidence, rows=self.public_rows, whole=self.whole
        )
        note = combined_note(reading.sources) if reading.sources > 1 else ""
        std = np.array(math.sqrt(reading.variance))
        return Estimates(estimate, lower, upper, std, is_exact=True, note=note)

    def _impossible(self, selection: Selection) -> npt.NDArray[np.bool_] | None:
        """The cells of the selection's columns that are empty by declaration, if they can be listed."""
        if not self.schema.impossible or prod(selection.shape) > MOST_CELLS:
            return None
        return impossible_cells(self.schema, selection.names)

    def _counts_of(self, selection: Selection) -> list[NoisyCount]:
        """Directly measured counts of just what is asked: the rows with a value in one column."""
        if len(selection.columns) != 1:
            return []
        part, column = selection.pieces[0], selection.columns[0]
        chosen = np.broadcast_to(selection.mask, len(part.cell))
        if not np.array_equal(chosen, part.in_domain):
            return []
        return [count for count in self.library.counts if count.column == column.name]

    def _direct(self, kind: str, column: str, condition: Condition) -> Estimates | None:
        """A measured sum or mean of the whole column, if the condition lets every value through."""
        sums = [each for each in self.library.sums if each.column == column]
        if not sums:
            return None
        if not self._takes_all(condition, column):
            return None
        if kind == "sum":
            return self._direct_sum(sums)
        means = [each for each in sums if each.count is not None]
        if not means and self._divides_by_rows(column):
            means = sums
        if not means:
            return self._mean_of_sums(sums, column)
        best = min(means, key=lambda each: each.law.variance / each.grid**2)
        return direct_mean(
            best,
            self.schema.column(column),
            confidence=self.confidence,
            public_rows=self.public_rows,
        )

    def _takes_all(self, condition: Condition, column: str) -> bool:
        """Whether every row with a value in the domain of `column` satisfies the condition."""
        if _is_always(condition):  # also where the column has too many cells to list
            return True
        selection = select(condition, self.schema, keep=[column], in_domain=column)
        if selection.names != (column,):
            return False
        part = selection.pieces[0]
        return np.array_equal(np.broadcast_to(selection.mask, len(part.cell)), part.in_domain)

    def _divides_by_rows(self, column: str) -> bool:
        return self.public_rows is not None and self.schema.column(column).null_cell is None

    def _direct_sum(self, sums: list[NoisySum]) -> Estimates | None:
        plain = [each for each in sums if each.center == 0]
        if not plain:
            return None
        found = direct_sum(
            plain,
            self.schema.column(plain[0].column),
            confidence=self.confidence,
            most_rows=self.public_rows,
        )
        return combined_sum(self.library, plain, confidence=self.confidence) or found

    def _mean_of_sums(self, sums: list[NoisySum], column: str) -> Estimates | None:
        """A measured sum over a count from elsewhere in the release, if it has one."""
        level = both(self.confidence)
        plain = [each for each in sums if each.center == 0]
        if not plain or not self.library.usable((column,)):
            return None
        selection = select(ALWAYS, self.schema, keep=[column], in_domain=column)
        counts = count_rows(
            self.library.table((column,)),
            selection,
            confidence=level,
            public_rows=self.public_rows,
            whole=False,
        )
        total = direct_sum(plain, self.schema.column(column), confidence=level, most_rows=None)
        found = quotient(total, counts, center=0.0, hull=selection.hull(0))
        return replace(found, note=total.note.replace("summed", "averaged"))

    def _from_table(
        self, kind: str, column: str, condition: Condition, group_by: tuple[str, ...]
    ) -> Estimates:
        selection = select(condition, self.schema, keep=[*group_by, column], in_domain=column)
        axes, axis = group_axes_of(selection, group_by), selection.names.index(column)
        try:
            table = self.library.table(selection.names)
        except NotAnswerable:
            also = ""
            if selection.names == (column,):
                whole = Sums(column) if kind == "sum" else Means(column)
                also = f" or {whole.text}"
            raise NotAnswerable(self.library.refusal(selection.names, also=also)) from None
        found = aggregate_table(
            kind,
            table,
            selection,
            axis,
            group_axes=tuple(sorted(axes)),
            confidence=self.confidence,
            public_rows=self.public_rows,
            impossible=self._impossible(selection),
        )
        return reordered(found, axes)


def _total_deviation(found: Answers) -> float:
    """Decided by the noise and the question; the smaller one answers, always the same."""
    return sum(float(column.std.sum()) for column in found.columns)


def _is_always(condition: Condition) -> bool:
    return normal_form(condition) is True
