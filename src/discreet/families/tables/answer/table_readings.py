"""One number read off the tables of a release, with the draws that are in it: a count, or a sum."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from discreet.answering.estimates import Estimates
from discreet.answering.readings import Reading, combined
from discreet.answering.regions.public_total import counted_down
from discreet.answering.regions.selecting import Selection, select
from discreet.families.shared.answer.evidence import NoisyCount, NoisySum
from discreet.families.shared.estimate.combination import Terms
from discreet.families.tables.answer.sums.summing import MOST_WEIGHTED
from discreet.families.tables.answer.together.library import TableLibrary
from discreet.privacy.exact import Exactable
from discreet.questions.expressions import TRUE
from discreet.schema import keeps_every_row


def table_reading(library: TableLibrary, selection: Selection) -> Reading | None:
    """The rows that a selection counts; `None` where it cuts cells, or rows were spread over cells."""
    if not np.array_equal(selection.inner(), selection.outer()):
        return None
    if selection.loses_rows and library.spreads_evenly:
        return None
    table = library.table(selection.names)
    mask = np.broadcast_to(selection.outer(), table.counts.shape)
    value, terms = table.counts[mask].sum(), table.terms(mask.astype(np.float64))
    if terms is None:
        return None
    if table.has_own_draws and not selection.loses_rows:
        many, whole = np.asarray(mask.sum()), float(table.counts.sum())
        rows = library.tabled_rows
        value, draws = counted_down(rows, table.cells, whole, np.asarray(value), many)
        terms = table.terms((np.arange(table.cells) < draws).astype(np.float64))
        assert terms is not None
    return Reading.of(float(value), terms, library.table_parts)


def count_reading(
    library: TableLibrary, selection: Selection | None, counts: list[NoisyCount]
) -> Reading:
    """The rows with a value in a column: its measured counts and, where there is one, its table.

    `selection` is that of the values, `None` where it has not been made yet.
    """
    column = counts[0].column
    readings = [Reading.of(float(count.value), ((1.0, count.law, 1),)) for count in counts]
    if library.has_linear((column,)):
        if selection is None:
            selection = select(TRUE, library.schema, keep=[column], in_domain=column)
        own = table_reading(library, selection)
        # A count of values is no part of any table, whatever part of the release it is in.
        readings += [] if own is None else [replace(own, parts=frozenset())]
    return replace(combined(readings), parts=library.table_parts)


def combined_sum(
    library: TableLibrary, sums: list[NoisySum], *, confidence: Exactable
) -> Estimates | None:
    """A column's sum from its own measurements and from the table of its cells, where cells are values."""
    column = library.schema.column(sums[0].column)
    if any(each.rounds for each in sums) or not library.has_linear((column.name,)):
        return None
    if library.spreads_evenly and not keeps_every_row(column):
        return None
    selection = select(TRUE, library.schema, keep=[column.name], in_domain=column.name)
    least, greatest, _ = selection.values(0)
    table = library.table((column.name,))
    if not np.array_equal(least, greatest) or table.cells > MOST_WEIGHTED:
        return None
    weights = np.asarray(np.broadcast_to(least, table.counts.shape))
    terms = table.terms(weights)
    if terms is None:
        return None
    readings = [Reading.of(float((table.counts * weights).sum()), terms)]
    for each in sums:
        own: Terms = ((1 / each.grid, each.law, 1),)
        readings.append(Reading.of(each.value / each.grid, own))
    joint = combined(readings)  # a sum is no part of any table
    return Estimates.of_reading(joint, confidence, is_count=False) if joint.sources > 1 else None
