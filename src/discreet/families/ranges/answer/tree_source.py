"""Counts, quantiles and sums from released trees: conditions become boxes, groups become one box a cell."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from math import prod

import numpy as np

from discreet.answering.estimates import NO_GROUPS, Estimates, combined_note
from discreet.answering.readings import Reading
from discreet.answering.regions.ends import value_codes, whole_codes
from discreet.answering.regions.region import BoxRegions, RangeRegions, Region
from discreet.answering.source import Found, Source
from discreet.arrays import Bools, Integers
from discreet.errors import NotAnswerable
from discreet.families.groups.queries.classes import MOST_COLUMNS as MOST_BY
from discreet.families.groups.queries.classes import GroupedQuantiles
from discreet.families.ranges.answer.buckets import BucketSource
from discreet.families.ranges.answer.joined_ranges import JoinedSource
from discreet.families.ranges.answer.joining import JoinedRanges, parts_of
from discreet.families.ranges.answer.joint_estimates import JoinedEstimates, Sums, in_and_outside
from discreet.families.ranges.answer.quantiles import quantile
from discreet.families.ranges.answer.ranges import bounded, count_between
from discreet.families.ranges.answer.tree_sums import sums_of
from discreet.families.ranges.estimate.tree_intervals import RangeEstimates
from discreet.families.ranges.queries.ranges import Intervals
from discreet.families.shared.answer.left_out_notes import left_out_of_ranges, no_cell, not_summed
from discreet.families.shared.answer.library import Library
from discreet.families.tables.answer.counting import DECLARED_NOTE
from discreet.families.tables.answer.together.library import TableLibrary
from discreet.questions.cells.boxes import BoxCondition, Boxes, boxes_of
from discreet.questions.cells.impossible import covers_box, rules_over
from discreet.questions.conditions import asks_for_a_value
from discreet.schema import OrderedColumn, keeps_every_row

Ranged = JoinedSource | BucketSource

MOST_GROUPS = 1 << 20
OF_THE_WHOLE = 1 / 16
"""The part of the probability to miss that the number of all rows has, where it cuts off a sum of boxes."""


class TreeSource(Source):
    """The trees of a release, each with the table over its columns where there is one."""

    is_first = True

    def __init__(self, library: Library) -> None:
        self._library, self._schema = library, library.schema
        self._tables = library.made(TableLibrary)
        self._sources = library.made(JoinedRanges).sources

    def read_one(self, region: Region, confidence: float) -> Estimates | None:
        if region.has_inequality:
            return None
        if region.kind == "quantile":
            return self._quantile(region, confidence)
        if region.kind != "count":
            return self._sum(region, confidence)
        if not self._sources:
            return None
        if any(not self._schema.column(name).is_ordered for name in region.names):
            return None
        needed = region.names if region.column is None else region.names | {region.column}
        source = self._source(region, needed)
        return None if source is None else self._count(region, source, needed, confidence)

    def read_ranges(self, asked: RangeRegions, confidence: float) -> Found:
        return self._tried(self._ranges, asked, confidence)

    def read_boxes(self, asked: BoxRegions, confidence: float) -> Found:
        return self._tried(self._boxes, asked, confidence)

    def _ranges(self, asked: RangeRegions, confidence: float) -> Estimates | None:
        """Values may cut cells: then from inside and outside."""
        name, column = asked.column.name, asked.column
        trees = [source for source in self._sources if source.columns == (name,)]
        if not trees or (trees[0].is_lone and self._tables.usable((name,))):
            return None
        assert isinstance(column, OrderedColumn)
        if asked.are_codes:
            inner = outer = whole_codes(asked.low, asked.high, column.value_cells)
        else:
            inner, outer = value_codes(column, *asked.numbers())
        return count_between(trees[0], inner, outer, confidence)

    def _boxes(self, asked: BoxRegions, confidence: float) -> Estimates:
        names = asked.columns
        trees = [source for source in self._sources if source.columns == names]
        if not trees:
            raise NotAnswerable(
                f"The release cannot answer this: it would have needed ranges over {', '.join(names)}, "
                "in this order."
            )
        found = trees[0].read_boxes(asked.first, asked.last, confidence)
        rules = rules_over(self._schema, names)
        if not rules:
            return found
        nothing = [
            covers_box(rules, {n: (a, b + 1) for n, a, b in zip(names, one, other, strict=True)})
            for one, other in zip(asked.first.tolist(), asked.last.tolist(), strict=True)
        ]
        return found.emptied(np.array(nothing, dtype=np.bool_))

    def _source(self, region: Region, needed: frozenset[str]) -> Ranged | None:
        """The tree over the fewest columns that has all that are needed and counts every row asked for."""
        fitting = [
            source
            for source in self._sources
            if needed <= set(source.columns)
            and all(
                self._schema.column(name).nulls == "exclude"
                or name in region.groups
                or asks_for_a_value(region.counted, name)
                for name in source.columns
            )
        ]
        return min(fitting, key=lambda source: len(source.columns), default=None)

    def _count(
        self, region: Region, source: Ranged, needed: frozenset[str], confidence: float
    ) -> Estimates:
        asked = boxes_of(region.counted, self._schema, source.columns)
        axes = [source.columns.index(each) for each in region.groups]
        codes = self._groups(region)
        inner = self._summed(source, asked.inner, axes, codes, confidence)
        outer = inner
        if not asked.is_exact:
            outer = self._summed(source, asked.outer, axes, codes, confidence)
        both = in_and_outside(inner, outer)
        several = len(asked.outer) > 1
        level = 1 - (1 - OF_THE_WHOLE) * (1 - confidence) if several else confidence
        found = bounded(both, confidence=level, kurtosis=source.kurtosis)
        if several:
            found = self._no_more_than_all(found, source, confidence)
        includes = self._included(source, needed)
        notes = [source.note, *self._left_out(region, source, overlays=bool(includes))]
        if isinstance(both, JoinedEstimates) and both.sources.max(initial=0) > 1:
            notes.append(combined_note(int(both.sources.max())))
        nothing = self._impossible(source, asked.outer, axes, codes)
        if nothing is not None and nothing.any():
            found = found.emptied(nothing)
            notes.append(DECLARED_NOTE)
        return Estimates(
            found.estimate,
            found.lower,
            found.upper,
            found.std,
            found.is_exact,
            codes=codes if region.groups else None,
            notes=tuple(dict.fromkeys(notes)),
            readings=self._readings(region, source, asked, inner),
            includes=includes,
            is_of_fewer_rows=not set(source.columns) <= needed | set(region.groups),
        )

    def _included(self, source: Ranged, needed: frozenset[str]) -> frozenset[int]:
        """The tables that a tree over just these columns was joined with."""
        if source.is_lone or set(source.columns) != needed:
            return frozenset()
        return self._library.table_parts

    def _readings(
        self, region: Region, source: Ranged, asked: BoxCondition, found: RangeEstimates
    ) -> tuple[Reading, ...]:
        """The unbiased count of a condition that follows the cells of just the tree's columns."""
        if not source.trees or set(source.columns) != region.names:
            return ()
        if not region.is_one_count or region.takes_all:
            return ()
        if any(self._schema.column(name).has_other for name in region.names):
            return ()
        if not asked.is_exact or found.inner[0] != found.outer[0] or not len(asked.inner):
            return ()
        if not np.isfinite(found.outer_std[0]):
            return ()
        joint = found if isinstance(found, JoinedEstimates) else None
        alone = source.table is None and not source.present
        tables = frozenset[int]() if alone else self._library.table_parts
        reading = Reading(
            value=float(found.outer[0]),
            variance=float(found.outer_std[0]) ** 2,
            kurtosis=source.kurtosis if joint is None else float(joint.kurtosis[0]),
            parts=tables | parts_of(self._library, source.trees),
            sources=1 if joint is None else int(joint.sources[0]),
        )
        return (reading,)

    def _groups(self, region: Region) -> Integers:
        """The combinations of value cells that the condition lets through: no row has a say."""
        groups = region.groups
        if not groups:
            return NO_GROUPS
        named = tuple(dict.fromkeys([*groups, *sorted(region.names)]))
        outer = boxes_of(region.condition, self._schema, named).outer
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

    def _left_out(self, region: Region, source: Ranged, *, overlays: bool) -> list[str]:
        notes: list[str] = []
        for name in source.columns:
            has_null_groups = overlays and name in region.groups  # the table has them
            nulls = not has_null_groups and not asks_for_a_value(region.counted, name)
            notes += left_out_of_ranges(name, self._schema, nulls=nulls)
        return notes

    def _impossible(
        self, source: Ranged, boxes: Boxes, axes: list[int], codes: Integers
    ) -> Bools | None:
        """For each group, whether all that it may hold is impossible; `None` where nothing is declared."""
        rules = rules_over(self._schema, source.columns)
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
        self, source: Ranged, boxes: Boxes, axes: list[int], codes: Integers, confidence: float
    ) -> RangeEstimates:
        """Over all boxes of a condition, for each group. Deviations add, but for those of one tree: they may be correlated."""
        if self._adds_up(source, boxes, axes):
            tree = min(source.trees, key=lambda each: each.whole_variance)
            sorted_ = np.argsort(boxes.first[:, 0])
            return tree.intervals.together(boxes.first[sorted_, 0], boxes.last[sorted_, 0])
        total = Sums(len(codes))
        for place in range(len(boxes)):
            first = np.repeat(boxes.first[place : place + 1], len(codes), axis=0)
            last = np.repeat(boxes.last[place : place + 1], len(codes), axis=0)
            for order, axis in enumerate(axes):
                cell = codes[:, order].astype(np.uint64)
                first[:, axis] = np.maximum(first[:, axis], cell)
                last[:, axis] = np.minimum(last[:, axis], cell)
            some = np.flatnonzero((first <= last).all(axis=1))
            if len(some):
                total.add(source.estimates(first[some], last[some], confidence), some)
        return total.estimates()

    def _adds_up(self, source: Ranged, boxes: Boxes, axes: list[int]) -> bool:
        """Whether several intervals of one column are asked for, which the leaves of a tree add up to."""
        is_tree = bool(source.trees) and source.table is None
        return is_tree and len(source.columns) == 1 and not axes and len(boxes) > 1

    def _no_more_than_all(self, found: Estimates, source: Ranged, confidence: float) -> Estimates:
        """Cut off at the upper end of all rows, which has its own part of the probability to miss."""
        last = [[self._schema.column(name).value_cells - 1 for name in source.columns]]
        ends = np.zeros((1, len(source.columns)), np.uint64), np.array(last, np.uint64)
        level = 1 - OF_THE_WHOLE * (1 - confidence)
        whole = bounded(source.estimates(*ends, level), confidence=level, kurtosis=source.kurtosis)
        most = max(float(whole.upper[0]), 0.0)
        numbers = (np.minimum(each, most) for each in (found.estimate, found.lower, found.upper))
        estimate, lower, upper = numbers
        return replace(found, estimate=estimate, lower=lower, upper=upper)

    def _sum(self, region: Region, confidence: float) -> Estimates | None:
        """A sum, a mean or a moment of a column that has a tree; a table or a measured sum may have less noise."""
        name = region.column
        for source in self._sources:
            if source.trees and source.columns == (name,):
                tree = min(source.trees, key=lambda each: each.whole_variance)
                found = sums_of(tree, region, confidence)
                return None if found is None else found.noted(*self._unsummed(source.columns[0]))
        return None

    def _unsummed(self, name: str) -> list[str]:
        """Which rows a sum leaves out beside those without a value."""
        column = self._schema.column(name)
        notes = [] if keeps_every_row(column) else [no_cell(name)]
        return [*notes, not_summed(name)] if column.has_other else notes

    def _quantile(self, region: Region, confidence: float) -> Estimates | None:
        assert region.column is not None and region.level is not None
        needed = Intervals(region.column).text
        fitting = [
            source.trees[0]
            for source in self._sources
            if source.trees and source.columns == (region.column,)
        ]
        if fitting and not region.groups and region.takes_all:
            return quantile(fitting[0], region.level, confidence)
        if fitting and not region.groups and region.names == {region.column}:
            asked = boxes_of(region.counted, self._schema, (region.column,))
            if len(asked.outer) == len(asked.inner) == 1:
                among = _only(asked.inner), _only(asked.outer)
                return quantile(fitting[0], region.level, confidence, among)
        if fitting:
            written = ["WHERE"] * (not region.takes_all) + ["GROUP BY"] * bool(region.groups)
            others = sorted(region.names - {region.column})
            by_group = ""
            if 0 < len(others) <= MOST_BY:
                by_group = f" Or release {GroupedQuantiles(region.column, by=others).text}."
            if not others:
                raise NotAnswerable(
                    f"The release has quantiles of {region.column} over all rows, and over those in one range of it: ask "
                    f"without {' and '.join(written)}, or for one range."
                )
            raise NotAnswerable(
                f"The release has no quantiles of {region.column} by {', '.join(others)}: ask "
                f"without {' and '.join(written)}.{by_group}"
            )
        if needed in self._library.release.workload:
            raise NotAnswerable(
                f"The release cannot answer this: its {needed} was not released as a tree, and has no "
                "quantiles."
            )
        others = sorted(region.names - {region.column})
        columns = {region.column, *others}
        if self._tables.has_linear(tuple(n for n in self._schema.names if n in columns)):
            return None  # a table of these cells answers, or says why it does not
        if others:
            grouped = GroupedQuantiles(region.column, by=others) if len(others) <= MOST_BY else None
            also = f" or {grouped.text}" if grouped else ""
            raise NotAnswerable(self._tables.refusal((region.column, *others), also=also))
        raise NotAnswerable(self._library.lacks(needed))


def _only(boxes: Boxes) -> tuple[int, int]:
    """The first and the last cell of the one box of one column."""
    return int(boxes.first[0, 0]), int(boxes.last[0, 0])
