"""A SQL question to a released tree: conditions become boxes, groups become one box a cell.

Also medians and quantiles: the p-quantile lies between the last boundary at which the distribution is
surely below p and the first at which it is surely above, each boundary tested with its own exact
standard deviation (an inverted test, so a nominal interval for the value itself).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import prod

import numpy as np
import numpy.typing as npt

from discreet.answers.buckets import BucketSource, widened
from discreet.answers.counting import DECLARED_NOTE
from discreet.answers.joined_ranges import JoinedSource, combined_note
from discreet.answers.joint_estimates import JoinedEstimates, Sums, in_and_outside
from discreet.answers.ranges import RangeSource, bounded
from discreet.answers.readings import Reading
from discreet.artifacts.answer import Covers, Unit
from discreet.artifacts.answers import AnswerColumn, Answers
from discreet.errors import NotAnswerable
from discreet.inference.tree_intervals import RangeEstimates
from discreet.privacy.laws.sums import spread_factor
from discreet.queries.boxes import Boxes, asks_for_a_value, boxes_of, columns_of
from discreet.queries.conditions import Condition, Every, NullTest, Opposite, normal_form
from discreet.queries.impossible import covers_box, rules_over
from discreet.queries.ranges import Intervals
from discreet.queries.sql import Aggregate, Question
from discreet.schema import OrderedColumn, Schema
from discreet.schema.temporal import TemporalColumn

Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.uint64]

MOST_GROUPS = 1 << 20


def left_out_note(column: str) -> str:
    return f"Rows without a value in column {column!r} are not counted."


@dataclass(frozen=True, slots=True)
class RangeAsking:
    """The trees of one release, and how sure to be."""

    sources: tuple[JoinedSource | BucketSource, ...]
    schema: Schema
    public_rows: int | None
    confidence: float
    whole: bool

    def answers(self, question: Question) -> Answers | None:
        """The answers, or None where no tree can give them all."""
        groups = question.group_by
        if not self.sources or any(each.kind in ("sum", "avg") for each in question.aggregates):
            return None
        needed = columns_of(question.condition) | set(groups)
        if any(not self.schema.column(name).is_ordered for name in needed):
            return None
        columns: list[AnswerColumn] = []
        notes: dict[str, None] = {}
        codes = self._groups(groups, question.condition)
        for each in question.aggregates:
            if each.kind == "quantile":
                if groups or normal_form(question.condition) is not True:
                    raise NotAnswerable(
                        "Quantiles are of a whole column: ask without WHERE and GROUP BY."
                    )
                columns.append(self._quantile(each, notes))
                continue
            condition = _with_value(question.condition, each.column)
            counted = set() if each.column is None else {each.column}
            source = self._source(condition, groups, needed | counted)
            if source is None:
                return None
            notes[source.note] = None
            self._say_what_is_left_out(source, condition, notes)
            columns.append(self._count(each.name, source, condition, groups, codes, notes))
        return Answers(
            groups=groups,
            codes=codes,
            label=lambda axis, code: self.schema.column(groups[axis]).label(code),
            columns=tuple(columns),
            confidence=self.confidence,
            question=question.text,
            notes=tuple(notes),
        )

    def joins(self, question: Question) -> bool:
        """Whether, for each count, a tree and a table over just the columns asked about are released."""
        named = columns_of(question.condition) | set(question.group_by)
        if any(not self.schema.column(name).is_ordered for name in named):
            return False
        for each in question.aggregates:
            needed = named if each.column is None else named | {each.column}
            condition = _with_value(question.condition, each.column)
            source = self._source(condition, question.group_by, needed)
            if not isinstance(source, JoinedSource) or set(source.columns) != needed:
                return False
            if source.is_lone:
                return False
        return True

    def reading(self, condition: Condition) -> tuple[Reading, JoinedSource] | None:
        """The unbiased count of a condition that follows the cells, and the source that it is read off."""
        named = columns_of(condition)
        if any(not self.schema.column(name).is_ordered for name in named):
            return None
        source = self._source(condition, (), named)
        if not isinstance(source, JoinedSource) or set(source.columns) != named:
            return None
        if any(self.schema.column(name).has_other for name in named):
            return None
        asked = boxes_of(condition, self.schema, source.columns)
        found = self._summed(source, asked.inner, [], np.zeros((1, 0), dtype=np.int64))
        if not asked.is_exact or found.inner[0] != found.outer[0] or not len(asked.inner):
            return None
        if not np.isfinite(found.outer_std[0]):
            return None
        joint = found if isinstance(found, JoinedEstimates) else None
        kurtosis = source.kurtosis if joint is None else float(joint.kurtosis[0])
        reading = Reading(
            value=float(found.outer[0]),
            variance=float(found.outer_std[0]) ** 2,
            kurtosis=kurtosis,
            sources=1 if joint is None else int(joint.sources[0]),
        )
        return reading, source

    def _groups(self, groups: tuple[str, ...], condition: Condition) -> npt.NDArray[np.int64]:
        """The combinations of value cells that the condition lets through: no row has a say."""
        if not groups:
            return np.zeros((1, 0), dtype=np.int64)
        named = tuple(dict.fromkeys([*groups, *sorted(columns_of(condition))]))
        outer = boxes_of(condition, self.schema, named).outer
        places = [named.index(name) for name in groups]
        found: dict[tuple[int, ...], None] = {}
        for first, last in zip(outer.first[:, places], outer.last[:, places], strict=True):
            sides = [range(int(low), int(high) + 1) for low, high in zip(first, last, strict=True)]
            if prod(map(len, sides)) > MOST_GROUPS:
                raise NotAnswerable(
                    f"GROUP BY {', '.join(groups)} has more than {MOST_GROUPS:,} groups; group by fewer "
                    "columns, or ask for the ranges you need."
                )
            found |= dict.fromkeys(product(*sides))
        return np.array(sorted(found), dtype=np.int64).reshape(-1, len(groups))

    def _source(
        self, condition: Condition, groups: tuple[str, ...], needed: set[str]
    ) -> JoinedSource | BucketSource | None:
        """The tree over the fewest columns that has all that are needed and counts every row asked for."""
        fitting = [
            source
            for source in self.sources
            if needed <= set(source.columns)
            and all(
                self.schema.column(name).nulls == "exclude"
                or name in groups
                or asks_for_a_value(condition, name)
                for name in source.columns
            )
        ]
        return min(fitting, key=lambda source: len(source.columns), default=None)

    def _say_what_is_left_out(
        self, source: JoinedSource | BucketSource, condition: Condition, notes: dict[str, None]
    ) -> None:
        for name in source.columns:
            column = self.schema.column(name)
            if not asks_for_a_value(condition, name):
                notes[left_out_note(name)] = None
            if isinstance(column, OrderedColumn) and column.outside != "edge":
                notes[f"Values outside the declared domain of column {name!r} are not counted."] = (
                    None
                )

    def _count(
        self,
        name: str,
        source: JoinedSource | BucketSource,
        condition: Condition,
        groups: tuple[str, ...],
        codes: npt.NDArray[np.int64],
        notes: dict[str, None],
    ) -> AnswerColumn:
        asked = boxes_of(condition, self.schema, source.columns)
        axes = [source.columns.index(each) for each in groups]
        inner = self._summed(source, asked.inner, axes, codes)
        outer = inner if asked.is_exact else self._summed(source, asked.outer, axes, codes)
        both = in_and_outside(inner, outer)
        if isinstance(both, JoinedEstimates) and both.sources.max(initial=0) > 1:
            notes[combined_note(int(both.sources.max()))] = None
        counted = bounded(
            both,
            confidence=self.confidence,
            kurtosis=source.kurtosis,
            public_rows=self.public_rows,
            whole=self.whole,
        )
        estimate, lower = counted.estimate, counted.lower
        upper, std = counted.upper, counted.std
        nothing = self._impossible(source, asked.outer, axes, codes)
        if nothing is not None and nothing.any():
            estimate, lower, upper, std = (
                np.where(nothing, 0.0, each) for each in (estimate, lower, upper, std)
            )
            notes[DECLARED_NOTE] = None
        return AnswerColumn(
            name=name,
            estimate=estimate,
            lower=lower,
            upper=upper,
            std=std,
            covers=Covers.NOISE if counted.is_exact.all() else Covers.NOISE_AND_CELLS,
        )

    def _impossible(
        self,
        source: JoinedSource | BucketSource,
        boxes: Boxes,
        axes: list[int],
        codes: npt.NDArray[np.int64],
    ) -> npt.NDArray[np.bool_] | None:
        """For each group, whether all that it may hold is impossible; `None` where nothing is declared."""
        rules = rules_over(self.schema, source.columns)
        if not rules:
            return None
        found = np.zeros(len(codes), dtype=np.bool_)
        for place, cells in enumerate(codes.tolist()):
            own = dict(zip(axes, cells, strict=True))
            found[place] = all(
                covers_box(
                    rules,
                    {
                        name: (max(low, own.get(axis, low)), min(high, own.get(axis, high)) + 1)
                        for axis, (name, low, high) in enumerate(
                            zip(source.columns, first, last, strict=True)
                        )
                    },
                )
                for first, last in zip(boxes.first.tolist(), boxes.last.tolist(), strict=True)
            )
        return found

    def _summed(
        self,
        source: JoinedSource | BucketSource,
        boxes: Boxes,
        axes: list[int],
        codes: npt.NDArray[np.int64],
    ) -> RangeEstimates:
        """Over all boxes of a condition, for each group. Deviations add: they may be correlated."""
        total = Sums(len(codes))
        for place in range(len(boxes)):
            first = np.repeat(boxes.first[place : place + 1], len(codes), axis=0)
            last = np.repeat(boxes.last[place : place + 1], len(codes), axis=0)
            for order, axis in enumerate(axes):
                cell = codes[:, order].astype(np.uint64)
                first[:, axis] = np.maximum(first[:, axis], cell)
                last[:, axis] = np.minimum(last[:, axis], cell)
            some = (first <= last).all(axis=1)
            if not some.any():
                continue
            found = source.fitted(first[some], last[some])
            if isinstance(source, BucketSource):
                found = widened(found, source.error_at(self.confidence))
            total.add(found, np.flatnonzero(some))
        return total.estimates()

    def _quantile(self, asked: Aggregate, notes: dict[str, None]) -> AnswerColumn:
        assert asked.column is not None and asked.level is not None
        fitting = [
            source.trees[0]
            for source in self.sources
            if isinstance(source, JoinedSource) and source.columns == (asked.column,)
        ]
        if not fitting:
            raise NotAnswerable(
                f"The release cannot answer this: it would have needed {Intervals(asked.column).text}."
            )
        notes[fitting[0].note] = None
        found = quantile_cells(fitting[0], asked.level, self.confidence)
        factor = spread_factor(1 - self.confidence, fitting[0].kurtosis)
        column = self.schema.column(asked.column)
        assert isinstance(column, OrderedColumn)
        first, last = column.extent(found.lower)[0], column.extent(found.upper)[1]
        begin, end = (float(each) for each in column.extent(found.cell))
        estimate = begin + found.within * (end - begin)
        unit = Unit.NUMBER
        if isinstance(column, TemporalColumn):
            unit = Unit.DATE if column.kind == "date" else Unit.DATETIME
            estimate = float(round(estimate))
        return AnswerColumn(
            name=asked.name,
            estimate=np.array([estimate]),
            lower=np.array([float(first)]),
            upper=np.array([float(last)]),
            std=np.array([(float(last) - float(first)) / (2 * float(factor))]),
            covers=Covers.NOISE_AND_CELLS,
            unit=unit,
        )


@dataclass(frozen=True, slots=True)
class QuantileCells:
    """The cell of a quantile, how far through it, and between which cells the quantile lies."""

    cell: int
    within: float
    lower: int
    upper: int


def quantile_cells(source: RangeSource, level: Fraction, confidence: float) -> QuantileCells:
    """The `level` quantile of the column of a tree over one column."""
    index = source.intervals
    below, deviation = index.excess(float(level))
    z = spread_factor(1 - confidence, source.kurtosis)
    # Entry k is about the rows before leaf k; the first and the last boundary are known.
    maybe_above = np.flatnonzero(below + z * deviation >= 0)
    maybe_below = np.flatnonzero(below - z * deviation <= 0)
    first = int(maybe_above[0]) if len(maybe_above) else len(index.leaves)
    last = int(maybe_below[-1]) if len(maybe_below) else -1
    lower = int(index.starts[max(first - 1, 0)])
    upper = int(index.ends[min(last + 1, len(index.leaves) - 1)])
    upper = max(upper, lower)
    target = float(level) * float(index.prefix[-1])
    leaf = int(np.searchsorted(index.prefix, target, side="right")) - 1
    leaf = min(max(leaf, 0), len(index.leaves) - 1)
    rows = float(index.prefix[leaf + 1] - index.prefix[leaf])
    share = (target - float(index.prefix[leaf])) / rows if rows > 0 else 0.5
    offset = min(max(share, 0.0), 1.0) * float(index.widths[leaf])
    step = min(int(offset), int(index.widths[leaf]) - 1)
    cell = min(max(int(index.starts[leaf]) + step, lower), upper)
    return QuantileCells(cell, min(max(offset - step, 0.0), 1.0), lower, upper)


def _with_value(condition: Condition, column: str | None) -> Condition:
    return condition if column is None else Every((condition, Opposite(NullTest(column))))


__all__ = ["QuantileCells", "RangeAsking", "quantile_cells"]
