"""One number read off the tables of a release, with the draws that are in it: a count, or a sum."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from discreet.answers.counting import Estimates
from discreet.answers.joined_ranges import combined_note
from discreet.answers.linear_tables import LinearTable, WeightedTable
from discreet.answers.readings import Reading, combined
from discreet.answers.selecting import Selection, select
from discreet.answers.sources import Library, NoisyCount, NoisySum
from discreet.answers.summing import MOST_WEIGHTED, sum_terms
from discreet.inference.combination import Terms
from discreet.privacy.exact import Exactable
from discreet.queries.conditions import ALWAYS
from discreet.schema.completeness import keeps_every_row


def table_reading(library: Library, selection: Selection) -> Reading | None:
    """The rows that a selection counts; `None` where it cuts cells, or rows were spread over cells."""
    if not np.array_equal(selection.inner(), selection.outer()):
        return None
    if selection.loses_rows and library.spreads_evenly:
        return None
    table = library.table(selection.names)
    mask = np.broadcast_to(selection.outer(), table.counts.shape)
    value = float(table.counts[mask].sum())
    if isinstance(table, LinearTable):
        terms = table.terms(mask.astype(np.float64))
    elif isinstance(table, WeightedTable):
        return None
    else:
        rows, cells = library.release.public_rows, int(mask.sum())
        if rows is not None and not selection.loses_rows and 2 * cells > table.cells:
            value = rows - float(table.counts[~mask].sum())
            cells = table.cells - cells
        terms = tuple((weight, law, many * cells) for weight, law, many in table.noise)
    return Reading.of(value, terms, library.table_parts)


def count_reading(
    library: Library, selection: Selection | None, counts: list[NoisyCount]
) -> Reading:
    """The rows with a value in a column: its measured counts and, where there is one, its table.

    `selection` is that of the values, `None` where it has not been made yet.
    """
    column = counts[0].column
    readings = [Reading.of(float(count.value), ((1.0, count.law, 1),)) for count in counts]
    if library.has_linear((column,)):
        if selection is None:
            selection = select(ALWAYS, library.schema, keep=[column], in_domain=column)
        own = table_reading(library, selection)
        # A count of values is no part of any table, whatever part of the release it is in.
        readings += [] if own is None else [replace(own, parts=frozenset())]
    return replace(combined(readings), parts=library.table_parts)


def combined_sum(
    library: Library, sums: list[NoisySum], *, confidence: Exactable
) -> Estimates | None:
    """A column's sum from its own measurements and from the table of its cells, where cells are values."""
    column = library.schema.column(sums[0].column)
    if any(each.rounds for each in sums) or not library.has_linear((column.name,)):
        return None
    if library.spreads_evenly and not keeps_every_row(column):
        return None
    selection = select(ALWAYS, library.schema, keep=[column.name], in_domain=column.name)
    least, greatest, _ = selection.values(0)
    table = library.table((column.name,))
    if not np.array_equal(least, greatest) or table.cells > MOST_WEIGHTED:
        return None
    weights = np.broadcast_to(least, table.counts.shape)
    if isinstance(table, LinearTable):
        terms = table.terms(np.asarray(weights))
    elif isinstance(table, WeightedTable):
        return None
    else:
        terms = tuple(sum_terms(table, np.asarray(weights)))
    readings = [Reading.of(float((table.counts * weights).sum()), terms)]
    for each in sums:
        own: Terms = ((1 / each.grid, each.law, 1),)
        readings.append(Reading.of(each.value / each.grid, own))
    joint = combined(readings)  # a sum is no part of any table
    if joint.sources < 2:
        return None
    width, std = joint.half_width(confidence), np.array(math.sqrt(joint.variance))
    value = np.array(joint.value)
    return Estimates(
        value, value - width, value + width, std, is_exact=True, note=combined_note(joint.sources)
    )
