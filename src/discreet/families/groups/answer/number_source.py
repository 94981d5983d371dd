"""Counts, sums and means from numbers that were measured by group.

A question may group by any of the columns, and its condition may pick any of their cells. The groups that
it puts together add up, and so does their noise.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from discreet.answering.estimates import Estimates
from discreet.answering.readings import Reading
from discreet.answering.regions.region import Region
from discreet.answering.source import Source
from discreet.artifacts.release import Part, Release
from discreet.errors import NotAnswerable
from discreet.families.groups.answer.drawn_groups import DrawnGroups
from discreet.families.groups.answer.noisy_columns import GroupedColumn, Sums, noisy_columns
from discreet.families.groups.answer.taken_groups import TakenGroups, group_notes, left_out
from discreet.families.shared.answer.evidence import Evidence
from discreet.families.shared.answer.left_out_notes import not_summed, rounded
from discreet.families.shared.estimate.combination import Terms
from discreet.families.shared.estimate.rounding import plausible_ends
from discreet.privacy.exact import confidence_level
from discreet.schema import Schema, keeps_every_row


class GroupSource(Source):
    """Answers from the numbers of one part."""

    def __init__(self, part: Part, place: int, schema: Schema) -> None:
        self._schema, self._places = schema, frozenset({place})
        self.columns = noisy_columns(part.noisy, schema)

    def read_one(self, region: Region, confidence: float) -> Estimates | None:
        if region.has_inequality or region.kind not in ("count", "sum", "avg"):
            return None
        measured = self._measured(region)
        if measured is None:
            self._check_counts_values(region)
            return None
        if not region.names <= set(measured.groups):
            return None
        if region.kind == "count":
            left_out(region, measured.groups, self._schema)
        taken = TakenGroups(region.condition, region.groups, measured.groups, self._schema)
        sums = measured.over(taken.mask, taken.axes)
        found = self._numbers(region, measured, sums, confidence_level(confidence))
        if not taken.present.all():
            found = found.taken(np.flatnonzero(taken.present))
        return Estimates(
            found.estimate,
            found.lower,
            found.upper,
            found.std,
            is_count=region.kind == "count",
            is_direct=True,
            codes=taken.codes,
            notes=(*taken.notes, *self._notes(region, measured)),
            readings=self._readings(region, measured, sums),
            parts=self._places,
        )

    def _check_counts_values(self, region: Region) -> None:
        """COUNT(*) also counts rows without a value, which were not measured: say what was."""
        counted = [each for each in self.columns if each.form.count is not None]
        if region.kind != "count" or region.column is not None or not counted:
            return
        if region.names <= set(counted[0].groups):
            raise NotAnswerable(
                f"The release counts rows with a value in {counted[0].column}: ask for "
                f"count({counted[0].column}). Rows without one would have needed "
                f"marginals({', '.join(counted[0].groups)})."
            )

    def _measured(self, region: Region) -> GroupedColumn | None:
        """The column that a question is about, where what it asks for was measured."""
        for each in self.columns:
            if region.kind != "sum" and each.form.count is None:
                continue
            column = self._schema.column(each.column)
            if region.column == each.column:
                if region.kind == "count" and column.has_other:
                    continue  # COUNT(column) also counts values outside the domain
                return each
            counts_all = region.kind == "count" and region.column is None
            if counts_all and keeps_every_row(column) and column.value_cells == column.cells:
                return each
        return None

    def _numbers(
        self, region: Region, measured: GroupedColumn, sums: Sums, confidence: Fraction
    ) -> Estimates:
        if region.kind == "avg":
            estimate, lower, upper, std = sums.means(confidence)
            return Estimates(estimate, lower, upper, std)
        weights = measured.form.total if region.kind == "sum" else measured.form.count
        assert weights is not None
        value, width, std = sums.linear(weights, confidence)
        low, high = measured.bounds
        found = Estimates(value, value - width, value + width, std)
        if region.kind == "count":  # made plausible at the end, like every count
            return found
        least = 0.0 if low >= 0 else -np.inf
        most = 0.0 if high <= 0 else np.inf
        ends = plausible_ends(found.estimate, found.lower, found.upper, least=least, most=most)
        return Estimates(*ends, std)

    def _readings(self, region: Region, measured: GroupedColumn, sums: Sums) -> tuple[Reading, ...]:
        weights = measured.form.count
        if not region.is_one_count or weights is None or len(sums.many) != 1:
            return ()
        value = float(sum(w * each[0] for w, each in zip(weights, sums.sums, strict=True)))
        many = int(sums.many[0])
        terms: Terms = tuple(
            (weight, law, many)
            for weight, law in zip(weights, measured.laws, strict=True)
            if weight and many
        )
        return (Reading.of(value, terms, self._places),)

    def _notes(self, region: Region, measured: GroupedColumn) -> list[str]:
        notes = []
        column = self._schema.column(measured.column)
        if region.kind != "count" and column.has_other:
            notes.append(not_summed(column.name))
        if measured.step and region.kind == "sum":
            notes.append(rounded(measured.step))
        notes += group_notes(measured.groups, self._schema)
        return notes


def group_numbers_of(part: Part, place: int, release: Release) -> Evidence:
    """The contribution of a part of numbers by group."""
    source = GroupSource(part, place, release.schema)
    counted = [each for each in source.columns if each.form.count is not None]
    drawn = [DrawnGroups(counted[0], release.schema)] if counted else []
    return Evidence(sources=[source], drawn=list(drawn))
