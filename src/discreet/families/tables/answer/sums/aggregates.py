"""Sums and averages of a column from one table: by noise alone, or by a model and single columns."""

from __future__ import annotations

from discreet.answering.estimates import Estimates
from discreet.answering.regions.selecting import Selection
from discreet.arrays import Bools
from discreet.families.shared.estimate.combination import halved
from discreet.families.tables.answer.counting import count_rows
from discreet.families.tables.answer.linear_tables import WeightedTable
from discreet.families.tables.answer.models.model_table import ModelTable
from discreet.families.tables.answer.sums.model_sums import (
    level_beside,
    level_of_count,
    narrowed_mean,
    narrowed_sum,
)
from discreet.families.tables.answer.sums.summing import quotient, sum_rows
from discreet.families.tables.answer.sums.usual_sums import (
    narrowed_to_usual_mean,
    narrowed_to_usual_sum,
)
from discreet.privacy.exact import Exactable


def aggregate_table(
    kind: str,
    table: WeightedTable,
    selection: Selection,
    axis: int,
    *,
    group_axes: tuple[int, ...],
    confidence: Exactable,
    public_rows: int | None,
    impossible: Bools | None,
) -> Estimates:
    """The sum (`kind` "sum") or the average of the column on `axis` over the selected rows."""

    def counted(level: Exactable) -> Estimates:
        found = count_rows(
            table,
            selection,
            group_axes=group_axes,
            confidence=level,
            public_rows=public_rows,
            impossible=impossible,
        )
        return found.plausible(public_rows, whole=False)

    def summed(level: Exactable, center: float) -> Estimates:
        return sum_rows(
            table,
            selection,
            axis,
            group_axes=group_axes,
            confidence=level,
            public_rows=public_rows,
            center=center,
            impossible=impossible,
        )

    model = table if isinstance(table, ModelTable) and axis in table.margins else None
    level = confidence if model is None else level_beside(confidence)
    if kind == "sum":
        found = summed(level, 0.0)
        if model is None:
            return found
        counts = counted(level_of_count(confidence))
        found = narrowed_sum(model, selection, axis, found, counts, confidence)
        return narrowed_to_usual_sum(model, selection, axis, group_axes, found, counted, level)
    bounds = selection.columns[axis].value_bounds
    assert bounds is not None
    center = float((bounds[0] + bounds[1]) / 2)
    counts = counted(halved(level))
    found = quotient(
        summed(halved(level), center), counts, center=center, hull=selection.hull(axis)
    )
    if model is None:
        return found
    found = narrowed_mean(model, selection, axis, group_axes, found, counts, confidence)
    return narrowed_to_usual_mean(model, selection, axis, group_axes, found, level)
