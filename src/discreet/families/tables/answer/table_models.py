"""A model of rows from all tables of a release: the one that was published, or one fitted to them all."""

from __future__ import annotations

import math

import numpy as np

from discreet.arrays import Floats
from discreet.families.shared.answer.evidence import NoisyTable, reduced
from discreet.families.shared.estimate.combination import inverse_variance_weights, likely_rows
from discreet.families.tables.answer.evidence import published_model
from discreet.families.tables.answer.linear_tables import WeightedTable
from discreet.families.tables.answer.together.library import TableLibrary
from discreet.families.tables.estimate.fitting import (
    LEAST_STD,
    MeasuredTable,
    RowModel,
    model_of_measurements,
)
from discreet.families.tables.estimate.mixture import smooth_shares


def model_of_tables(library: TableLibrary) -> tuple[RowModel, list[str], float] | None:
    """A model, the columns that it is about, and the rows that it stands for; None without tables.

    A published model is taken as it is where it is about every column that any table is about;
    otherwise one is fitted to what all parts have measured.
    """
    found = [
        published_model(part, library.schema)
        for part in library.release.parts
        if part.kind == "model"
    ]
    known = {name for _, names, _ in found for name in names}
    known |= {name for table in library.tables for name in table.columns}
    names = [
        name
        for name in library.schema.names
        if name in known or library.residuals.determines((name,))
    ]
    if not names:
        return None
    for model, own, rows in found:
        if len(own) == len(names):
            return model, own, rows
    rows = max(1.0, likely_rows(*_rows_with_cells(library), library.schema.people))
    shares = {name: _shares(library, name, rows) for name in names}
    fitted = model_of_measurements(
        library.complete,
        library.residuals.measured,
        [_with_every_row(table, shares, rows) for table in library.tables if table.columns],
        shares,
        rows,
    )
    return fitted, names, rows


def _with_every_row(table: NoisyTable, shares: dict[str, Floats], rows: float) -> MeasuredTable:
    """A measured table; where the model has one more cell for rows that it leaves out, as if its columns were independent there."""
    counts = np.array(rows)
    for name in table.columns:
        counts = np.multiply.outer(counts, shares[name])
    if counts.shape == table.counts.shape:
        return table.columns, table.counts, table.law
    counts = np.rint(counts).astype(np.int64)
    counts[tuple(slice(0, cells) for cells in table.counts.shape)] = table.counts
    return table.columns, counts, table.law


def cell_deviation(table: WeightedTable) -> float:
    """The standard deviation of a cell; all are alike."""
    one = np.zeros(table.counts.shape)
    one[(0,) * one.ndim] = 1.0
    return table.deviation(one)


def _rows_with_cells(library: TableLibrary) -> tuple[float, float]:
    """The rows that the tables count, with the deviation of that: all, or where some have no cell, those that have one."""
    if library.has_linear(()):
        table = library.table(())
        return float(table.counts.sum()), cell_deviation(table)
    totals = [(float(t.counts.sum()), t.law.variance * t.counts.size) for t in library.tables]
    weights = inverse_variance_weights([variance for _, variance in totals])
    weighed = list(zip(weights, totals, strict=True))
    variance = sum(weight**2 * own for weight, (_, own) in weighed)
    return sum(weight * total for weight, (total, _) in weighed), math.sqrt(variance)


def _shares(library: TableLibrary, name: str, rows: float) -> Floats:
    """The shares of a column's cells, as far as noise lets them be seen."""
    if library.has_linear((name,)):
        table = library.table((name,))
        counts = table.counts
        if library.consistent.determines((name,)):
            counts = library.consistent.table((name,))
        return smooth_shares(counts, max(cell_deviation(table), LEAST_STD), rows)
    # Tables that leave rows out do not add up: the one with the least noise.
    fitting = [table for table in library.tables if name in table.columns]
    cells = library.schema.column(name).cells
    best = min(fitting, key=lambda table: table.law.variance * table.counts.size)
    std = math.sqrt(best.law.variance * best.counts.size / cells)
    return smooth_shares(reduced(best, (name,)).astype(np.float64), max(std, LEAST_STD), rows)
