"""Counts that add up: as they were measured, neither rounded nor cut off at 0.

Whole counts of at least 0 read better, but made so one by one they no longer add up: `WHERE a GROUP BY b` and `WHERE a GROUP BY c`
sum to different numbers. Put together from the same residuals they do add up, up to the rounding of doubles, and without bias where
no model filled one in. For whoever adds answers, or fits a model to them.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from discreet.answering.estimates import Estimates
from discreet.answering.regions.region import Region
from discreet.answering.regions.selecting import select
from discreet.answering.source import Source
from discreet.errors import NotAnswerable
from discreet.families.shared.answer.left_out_notes import no_cell
from discreet.families.shared.answer.library import Library
from discreet.families.tables.answer.counting import count_rows
from discreet.families.tables.answer.linear_tables import LinearTable
from discreet.families.tables.answer.table_source import ADDITIVE_NOTE, by_group, group_axes
from discreet.families.tables.answer.together.library import TableLibrary
from discreet.schema.completed import completed_names


class AdditiveSource(Source):
    """All tables of a release, put together from the same residuals."""

    def __init__(self, library: Library) -> None:
        self._library, self._schema = library.made(TableLibrary), library.schema

    def read_one(self, region: Region, confidence: float) -> Estimates | None:
        if region.kind != "count":
            raise NotAnswerable(
                "With `additive`, only counts are answered. Ask for count(*), or ask without `additive`."
            )
        selection = select(
            region.condition, self._schema, keep=region.groups, not_null=region.column
        )
        names, tables = selection.names, self._library.additive_tables
        axes = tuple(sorted(group_axes(selection, region.groups)))
        if not tables.can_fill(names):
            raise NotAnswerable(self._refusal(names))
        found = count_rows(
            LinearTable(names, tables),
            selection,
            group_axes=axes,
            confidence=confidence,
            public_rows=None,
        )
        if not tables.determines(names):
            if names not in self._library.models:
                raise NotAnswerable(self._refusal(names))
            told = count_rows(
                self._library.table(names),
                selection,
                group_axes=axes,
                confidence=confidence,
                public_rows=self._library.tabled_rows,
            )
            found = replace(
                told,
                estimate=found.estimate,
                lower=np.minimum(told.lower, found.estimate),
                upper=np.maximum(told.upper, found.estimate),
            )
        found = by_group(replace(found, readings=(), draws=None), selection, region.groups)
        apart = completed_names(self._library.complete, selection.loses_rows)
        return found.noted(ADDITIVE_NOTE, *map(no_cell, apart))

    def _refusal(self, names: tuple[str, ...]) -> str:
        if self._library.has_linear(names):
            return (
                f"The release's tables of {', '.join(names)} leave out different rows, so they do not add up. Ask without "
                "`additive`, or give nulls and other values cells in the schema."
            )
        return self._library.refusal(names)
