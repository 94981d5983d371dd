"""Which groups a question takes, and how it puts them together: decided by the question, never by a row."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from discreet.answering.regions.region import Region
from discreet.answering.regions.selecting import select
from discreet.arrays import Bools, Integers
from discreet.errors import NotAnswerable
from discreet.families.shared.answer.left_out_notes import no_cell
from discreet.families.tables.answer.counting import DECLARED_NOTE
from discreet.questions.cells.impossible import declares_empty_cells, impossible_cells
from discreet.questions.conditions import columns_named
from discreet.questions.expressions import Expression
from discreet.schema import Schema, keeps_every_row


class TakenGroups:
    """Which groups a question takes, and how it puts them together."""

    def __init__(
        self,
        condition: Expression,
        asked: Sequence[str],
        groups: tuple[str, ...],
        schema: Schema,
    ) -> None:
        selection = select(condition, schema, keep=groups)
        assert selection.names == groups
        shape = tuple(column.cells for column in selection.columns)
        inner, outer = (
            np.broadcast_to(each, shape) for each in (selection.inner(), selection.outer())
        )
        if not np.array_equal(inner, outer):
            cut = ", ".join(name for name in groups if name in columns_named(condition))
            raise NotAnswerable(
                f"The condition cuts through cells of {cut}, and this release holds numbers for whole "
                "cells only: ask at the cells' edges."
            )
        self.axes = tuple(groups.index(name) for name in asked)
        self.notes: list[str] = []
        mask = outer
        if declares_empty_cells(schema):
            nothing = impossible_cells(schema, groups)
            if nothing is not None and (mask & nothing).any():
                mask = mask & ~nothing
                self.notes.append(DECLARED_NOTE)
        self.mask: Bools = np.asarray(mask)
        rest = tuple(axis for axis in range(len(shape)) if axis not in self.axes)
        order = [sorted(self.axes).index(axis) for axis in self.axes]
        self.present: Bools = np.asarray(outer.any(axis=rest)).transpose(order).reshape(-1)
        if not self.axes:  # there is one answer, also of no groups at all
            self.present = np.ones(1, dtype=np.bool_)
        sizes = tuple(shape[axis] for axis in self.axes)
        codes = (
            np.stack(np.unravel_index(np.flatnonzero(self.present), sizes), axis=1)
            if sizes
            else None
        )
        self.codes: Integers | None = codes


def left_out(region: Region, groups: Sequence[str], schema: Schema) -> None:
    """Refuse a count of rows of which some have no group. A sum or a mean of the others says so in a note."""
    for name in groups:
        if name not in region.names and not keeps_every_row(schema.column(name)):
            raise NotAnswerable(
                f"The release holds these counts by group, and rows without a cell in column {name!r} are in no "
                f"group: ask by {name}, or declare cells for nulls and other values."
            )


def group_notes(groups: Sequence[str], schema: Schema) -> list[str]:
    """Which rows are in no group."""
    notes = [no_cell(name) for name in groups if not keeps_every_row(schema.column(name))]
    unit = schema.unit
    if unit.max_groups is not None and unit.max_groups < unit.max_rows:
        notes.append(
            f"At most {unit.groups} groups of each person are used; rows in further groups are left out."
        )
    return notes
