"""Counts, quantiles, sums and means from ranges that were measured by group."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from discreet.answering.estimates import Estimates, joined
from discreet.answering.readings import Reading
from discreet.answering.regions.region import Region
from discreet.answering.source import Source
from discreet.arrays import Codes, Integers
from discreet.artifacts.answer import Unit
from discreet.artifacts.release import Part, Release
from discreet.errors import NotAnswerable
from discreet.families.groups.answer.drawn_groups import DrawnRanges
from discreet.families.groups.answer.noisy_ranges import GroupedRanges, GroupRange, noisy_ranges
from discreet.families.groups.answer.taken_groups import TakenGroups, group_notes, left_out
from discreet.families.ranges.answer.joint_estimates import Sums, in_and_outside
from discreet.families.ranges.answer.quantiles import quantile
from discreet.families.ranges.answer.ranges import WHOLE_NOTE, bounded
from discreet.families.ranges.answer.tree_sums import sums_of
from discreet.families.ranges.estimate.tree_intervals import RangeEstimates
from discreet.families.shared.answer.evidence import Evidence
from discreet.families.shared.answer.left_out_notes import left_out_of_ranges, not_summed
from discreet.questions.cells.boxes import BoxCondition, Boxes, boxes_of
from discreet.questions.conditions import asks_for_a_value, both, columns_named, opposite
from discreet.questions.expressions import Call, Expression
from discreet.schema import OrderedColumn, Schema, keeps_every_row
from discreet.schema.columns.numeric import IntegerColumn, NumberColumn
from discreet.schema.columns.temporal import TemporalColumn

MOST_GROUPS = 1 << 20
SUMMED = ("sum", "avg", "moment")


class GroupRangeSource(Source):
    """Answers from the ranges of one part."""

    def __init__(self, part: Part, place: int, schema: Schema) -> None:
        self._schema, self._places = schema, frozenset({place})
        self.columns = noisy_ranges(part.noisy, schema)

    def read_one(self, region: Region, confidence: float) -> Estimates | None:
        if region.has_inequality or region.kind not in ("count", "quantile", *SUMMED):
            return None
        for measured in self.columns:
            if region.kind in SUMMED:
                needed = region.names | {region.column, region.second or region.column}
                if region.column == measured.column and needed <= {
                    measured.column,
                    *measured.groups,
                }:
                    return self._sums(region, measured, confidence)
            elif region.kind == "quantile":
                if region.column == measured.column and region.names <= set(measured.groups):
                    return self._quantiles(region, measured, confidence)
            elif self._serves(region, measured):
                return self._counts(region, measured, confidence)
        return None

    def _serves(self, region: Region, measured: GroupedRanges) -> bool:
        """Whether it counts every row that is asked for."""
        needed = region.names if region.column is None else region.names | {region.column}
        if not needed <= {measured.column, *measured.groups}:
            return False
        name = measured.column
        column = self._schema.column(name)
        if region.column == name and column.has_other:
            return False  # COUNT(column) also counts values outside the domain
        if region.column in measured.groups:
            return False
        return (
            column.nulls == "exclude"
            or name in region.groups
            or asks_for_a_value(region.counted, name)
        )

    def _quantiles(self, region: Region, measured: GroupedRanges, confidence: float) -> Estimates:
        assert region.level is not None
        taken = TakenGroups(region.condition, region.groups, measured.groups, self._schema)
        places = np.flatnonzero(taken.present)
        sources = measured.over(taken.mask, taken.axes)
        found = [
            quantile(sources[place], region.level, confidence)
            if sources[place].many
            else _anywhere(sources[place])
            for place in places
        ]
        column = self._schema.column(measured.column)
        return replace(
            joined(found),
            is_direct=True,
            is_count=False,
            unit=Unit(column.kind) if isinstance(column, TemporalColumn) else Unit.NUMBER,
            codes=taken.codes,
            notes=(WHOLE_NOTE, *taken.notes, *group_notes(measured.groups, self._schema)),
            parts=self._places,
        )

    def _sums(self, region: Region, measured: GroupedRanges, confidence: float) -> Estimates | None:
        """Sums, means and moments; `None` of a column that has none, and where its own cells are groups."""
        column = self._schema.column(measured.column)
        if not isinstance(column, IntegerColumn | NumberColumn) or column.name in region.groups:
            return None
        of_groups, of_column = _halves(region.condition, measured)
        taken = TakenGroups(of_groups, region.groups, measured.groups, self._schema)
        sources = measured.over(taken.mask, taken.axes)
        own = replace(region, condition=of_column, groups=())
        found: list[Estimates] = []
        for place in np.flatnonzero(taken.present):
            one = sums_of(sources[place], own, confidence) if sources[place].many else None
            if one is None and sources[place].many:
                return None
            nothing = Estimates.single(0.0, 0.0, 0.0, 0.0, is_count=False)
            found.append(one or (_anywhere(sources[place]) if region.kind == "avg" else nothing))
        # Not direct: a sum that was measured, or a table, has no leaves to allow for.
        return replace(
            joined(found),
            is_count=False,
            codes=taken.codes,
            notes=(
                *dict.fromkeys(note for each in found for note in each.notes),
                *taken.notes,
                *([not_summed(column.name)] if column.has_other else []),
                *group_notes(measured.groups, self._schema),
            ),
            parts=self._places,
        )

    def _counts(self, region: Region, measured: GroupedRanges, confidence: float) -> Estimates:
        left_out(region, measured.groups, self._schema)
        of_groups, of_column = _halves(region.counted, measured)
        boxes = boxes_of(of_column, self._schema, (measured.column,))
        asked = tuple(name for name in region.groups if name != measured.column)
        taken = TakenGroups(of_groups, asked, measured.groups, self._schema)
        sources = measured.over(taken.mask, taken.axes)
        cells = _listed_cells(boxes.outer) if measured.column in region.groups else None
        parts: list[Estimates] = []
        last: RangeEstimates | None = None
        for place in np.flatnonzero(taken.present):
            source = sources[place]
            last = _summed(source, boxes, cells, confidence)
            parts.append(bounded(last, confidence=confidence, kurtosis=source.kurtosis))
        reading = None
        if region.is_one_count and len(parts) == 1 and last is not None and boxes.is_exact:
            reading = self._reading(last, sources[0])
        return replace(
            joined(parts),
            is_direct=True,
            codes=_codes(region, measured, taken.codes, cells),
            notes=(WHOLE_NOTE, *taken.notes, *self._notes(region, measured)),
            readings=() if reading is None else (reading,),
            parts=self._places,
            is_of_fewer_rows=_leaves_out_more(region, measured, self._schema),
        )

    def _reading(self, found: RangeEstimates, source: GroupRange) -> Reading | None:
        """The unbiased count, for a combination with what other parts say."""
        if found.inner[0] != found.outer[0] or not found.outer_std[0] > 0:
            return None
        return Reading(
            value=float(found.outer[0]),
            variance=float(found.outer_std[0]) ** 2,
            kurtosis=source.kurtosis,
            parts=self._places,
        )

    def _notes(self, region: Region, measured: GroupedRanges) -> list[str]:
        notes = group_notes(measured.groups, self._schema)
        nulls = not asks_for_a_value(region.counted, measured.column)
        return notes + left_out_of_ranges(measured.column, self._schema, nulls=nulls)


def _anywhere(source: GroupRange) -> Estimates:
    """The quantile of no rows at all: it may be any value."""
    column = source.schema.column(source.columns[0])
    assert isinstance(column, OrderedColumn)
    low = float(column.extent(0)[0])
    high = float(column.extent(column.value_cells - 1)[1])
    return Estimates.single((low + high) / 2, low, high, np.inf, is_count=False)


def _halves(condition: Expression, measured: GroupedRanges) -> tuple[Expression, Expression]:
    """The parts of a condition about the groups, and those about the ranged column."""
    of_groups: list[Expression] = []
    of_column: list[Expression] = []
    for part in _parts(condition):
        named = columns_named(part)
        if named <= set(measured.groups):
            of_groups.append(part)
        elif named == {measured.column}:
            of_column.append(part)
        else:
            raise NotAnswerable(
                f"The release holds ranges of {measured.column} by {', '.join(measured.groups)}: join the "
                "conditions on the column and on the groups by AND, or ask for each group in a question of its own."
            )
    return both(*of_groups), both(*of_column)


def _parts(condition: Expression) -> list[Expression]:
    """What must hold together, however it is written: NOT (a OR b) is both NOT a and NOT b."""
    if not isinstance(condition, Call):
        return [condition]
    if condition.name == "and":
        return [inner for part in condition.arguments for inner in _parts(part)]
    if condition.name == "not":
        (negated,) = condition.arguments
        if isinstance(negated, Call) and negated.name == "not":
            return _parts(negated.arguments[0])
        if isinstance(negated, Call) and negated.name == "or":
            return [inner for part in negated.arguments for inner in _parts(opposite(part))]
    return [condition]


def _leaves_out_more(region: Region, measured: GroupedRanges, schema: Schema) -> bool:
    """Whether some column that the question does not name leaves rows out."""
    named = region.names | {region.column} | set(region.groups)
    others = [name for name in (measured.column, *measured.groups) if name not in named]
    return measured.column in others or not all(
        keeps_every_row(schema.column(name)) for name in others
    )


def _summed(
    source: GroupRange, boxes: BoxCondition, cells: Codes | None, confidence: float
) -> RangeEstimates:
    """Over all ranges of a condition; with `cells`, of each cell by itself."""
    if cells is not None:
        surely = _listed_cells(boxes.inner)
        outer = source.fitted(cells[:, np.newaxis], cells[:, np.newaxis])
        inside = np.isin(cells, surely)
        return replace(
            outer,
            inner=np.where(inside, outer.inner, 0.0),
            inner_std=np.where(inside, outer.inner_std, 0.0),
        )
    inner = _boxed(source, boxes.inner)
    return inner if boxes.is_exact else in_and_outside(inner, _boxed(source, boxes.outer))


def _boxed(source: GroupRange, boxes: Boxes) -> RangeEstimates:
    total = Sums(1)
    for place in range(len(boxes)):
        one = slice(place, place + 1)
        total.add(source.fitted(boxes.first[one], boxes.last[one]), np.array([0]))
    return total.estimates()


def _listed_cells(boxes: Boxes) -> Codes:
    """Every cell of some ranges."""
    many = int((boxes.last - boxes.first).sum()) + len(boxes)
    if many > MOST_GROUPS:
        raise NotAnswerable(
            f"GROUP BY this column has more than {MOST_GROUPS:,} groups; ask for the ranges you need."
        )
    pairs = zip(boxes.first[:, 0].tolist(), boxes.last[:, 0].tolist(), strict=True)
    found = [np.arange(first, last + 1, dtype=np.uint64) for first, last in pairs]
    return np.concatenate(found) if found else np.zeros(0, dtype=np.uint64)


def _codes(
    region: Region, measured: GroupedRanges, codes: Integers | None, cells: Codes | None
) -> Integers | None:
    """The cells of each number's group, in the order in which the question names the columns."""
    if cells is None:
        return codes
    groups = np.zeros((1, 0), dtype=np.int64) if codes is None else codes
    repeated = np.repeat(groups, len(cells), axis=0)
    own = np.tile(cells.astype(np.int64), len(groups))
    return np.insert(repeated, region.groups.index(measured.column), own, axis=1)


def group_ranges_of(part: Part, place: int, release: Release) -> Evidence:
    """The contribution of a part of ranges by group."""
    source = GroupRangeSource(part, place, release.schema)
    return Evidence(
        sources=[source], drawn=[DrawnRanges(each, release.schema) for each in source.columns[:1]]
    )
