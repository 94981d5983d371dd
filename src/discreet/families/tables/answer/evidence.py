"""What parts of tables contribute to the answers of a release: measured numbers, residuals, models."""

from __future__ import annotations

import numpy as np

from discreet.answering.evidence import Evidence, measured_numbers
from discreet.artifacts.measurement import Measurement
from discreet.artifacts.release import Part, Release
from discreet.errors import BadRelease
from discreet.families.tables.answer.model_table import ModelTable
from discreet.families.tables.answer.parities import SplitSource
from discreet.families.tables.answer.usual_errors import UsualErrors
from discreet.families.tables.estimate.mixture import Mixture, model_counts
from discreet.families.tables.estimate.residuals import ResidualTables
from discreet.families.tables.queries.residuals import ModelDistance, Residual
from discreet.privacy.laws import NoiseLaw
from discreet.schema import Schema, keeps_every_row


def residuals_of(part: Part, place: int, release: Release) -> Evidence:
    return residual_numbers(part, release.schema, place)


def model_of(part: Part, place: int, release: Release) -> Evidence:
    return model_tables(part, release.schema, place)


def splits_of(part: Part, place: int, release: Release) -> Evidence:
    return Evidence(sources=[SplitSource(part, place, release)])


def residual_numbers(part: Part, schema: Schema, place: int = 0) -> Evidence:
    found = measured_numbers(part, schema, place)
    found.spreads_evenly = "rows without a cell" in part.facts
    return found


def model_tables(part: Part, schema: Schema, place: int = 0) -> Evidence:
    """Residuals where they were measured, and the model's tables with their measured distances."""
    found = residual_numbers(part, schema, place)
    model, names, rows = published_model(part, schema)
    audits = part.noisy
    audits = audits[len(audits) - int(part.facts["audits"]) :]
    for each in audits:
        if not isinstance(each.query, ModelDistance):
            raise BadRelease("The model of a part lacks the measurements of its own error.")
        columns = each.query.columns
        counts = model_counts(model, [names.index(name) for name in columns], rows)
        table = ModelTable(columns, counts.astype(np.float64), float(each.values[0]), each.law)
        if all(keeps_every_row(schema.column(name)) for name in columns):
            table.total, table.total_law = _total(found.residuals, rows)
        found.models.append(table)
    known = ResidualTables(schema, found.residuals, rows=round(rows))
    filled = [table for table in found.models if not known.determines(table.columns)]
    if filled:
        usual = UsualErrors.of((each.counts, each.distance, each.law) for each in filled)
        for table in filled:
            table.usual = usual
    return found


def _total(measured: list[Measurement], public: float) -> tuple[float, NoiseLaw | None]:
    """The number of rows with its noise: measured, or public and then what the model stands for."""
    for each in measured:
        if isinstance(each.query, Residual) and each.query.columns == ():
            return float(each.values[0]), each.law
    return public, None


def published_model(part: Part, schema: Schema) -> tuple[Mixture, list[str], float]:
    """The model in a part, the columns that it is about, and the rows that it stands for."""
    try:
        names = [schema.column(str(name)).name for name in part.facts["columns"]]
        rows, theta = float(part.facts["rows"]), part.estimates["theta"]
        sizes = [schema.column(name).cells for name in names]
        if theta.dtype.kind != "f" or theta.ndim != 2 or theta.shape[1] != sum(sizes):
            raise ValueError
        if not (np.isfinite(theta).all() and theta.min() >= 0 and 0 < rows < 1e15):
            raise ValueError
        return Mixture.of(sizes, theta.astype(np.float32)), names, rows
    except (KeyError, TypeError, ValueError):
        raise BadRelease("The model of a part is not readable.") from None
