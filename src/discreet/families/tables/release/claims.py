"""The claim of a model of marginals: a bound on the error of single cells.

A table whose residuals were measured is answered from them, any other from the model and its measured
distance; each with the interval that a reader will see. No cell holds more rows than the cells of single columns that it
lies in, which were measured: a tenth of the risk is for their noise, as in an interval. And no count is off by more than
all rows: a model's answer lies between 0 and the rows that it stands for, the truth between 0 and the rows that
there are, which another tenth of the risk bounds where they are a secret.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction

import numpy as np

from discreet.arrays import Floats
from discreet.artifacts.release import ErrorClaim, Part
from discreet.families.shared.answer.evidence import Evidence
from discreet.families.shared.estimate.risk import at_part_of_risk
from discreet.families.shared.release.protocol import of_type
from discreet.families.tables.answer.evidence import (
    agreement_of,
    whole_counts_of,
)
from discreet.families.tables.answer.linear_tables import Agreed, LinearTable
from discreet.families.tables.answer.models.model_table import (
    CEILING_RISK,
    ModelTable,
    model_residuals,
    models_of,
)
from discreet.families.tables.answer.together.agreement import AgreedTables
from discreet.families.tables.estimate.consistent import ConsistentTables
from discreet.families.tables.estimate.residuals import ResidualTables
from discreet.families.tables.estimate.whole_tables import nearest_to_tables
from discreet.families.tables.queries.marginals import Marginals
from discreet.families.tables.release.residual import cell_half_width
from discreet.families.tables.release.whole_answers import (
    claims_of_agreed_counts,
    claims_of_whole_counts,
    columns_of,
    whole_facts,
)
from discreet.schema import Schema

AUDITED = "the model's measured distance from each table, and the exact law of that noise"
ALL_ROWS = AUDITED + "; or all rows, if that is less, for no count of the model is off by more"
ROWS_RISK = Fraction(1, 10)
MODEL_RISK = 1 - ROWS_RISK - CEILING_RISK


def model_claim(
    part: Part, found: Evidence, schema: Schema, public_rows: int | None, confidence: float
) -> ErrorClaim:
    """For each single cell of the class alone, from what the part's model says (`model_tables`)."""
    tables = ResidualTables(schema, found.residuals, rows=public_rows)
    rows = _most_rows(tables, public_rows, confidence)
    known = ConsistentTables(tables, ())
    names = {name for model in models_of(found) for name in model.columns}
    single = {name: LinearTable((name,), known) for name in names if known.determines((name,))}
    bounds, theorem = [0.0], AUDITED
    for columns in of_type(part.query_class, Marginals).sets(schema):
        if len(columns) > 1 and tables.determines(columns):
            bounds.append(cell_half_width(tables, columns, confidence))
    for model in (each.within(tables.declared_cells(each.columns)) for each in models_of(found)):
        if tables.determines(model.columns):
            continue
        level = at_part_of_risk(confidence, MODEL_RISK)
        bound = _farthest(model, _cell_reach(model, level), single, confidence)
        most = max(rows, float(model.counts.sum()))
        if bound > most:
            bound, theorem = most, ALL_ROWS
        bounds.append(bound)
    return ErrorClaim(
        query_class=part.query_class.text,
        bound=float(math.ceil(max(bounds) - 1e-9)),  # answers are rounded to whole counts
        confidence=confidence,
        simultaneous=False,
        theorem=theorem,
    )


def _most_rows(tables: ResidualTables, public_rows: int | None, confidence: float) -> float:
    """How many rows there are: their public number, or the upper end of the noisy one, at its part of the risk."""
    if public_rows is not None:
        return float(public_rows)
    reach = cell_half_width(tables, (), float(at_part_of_risk(confidence, ROWS_RISK)))
    return max(0.0, float(tables.table(()))) + reach


def _cell_reach(model: ModelTable, level: Fraction) -> float:
    one = np.zeros(model.counts.shape)
    one[(0,) * one.ndim] = 1.0
    return model.reach(one, level)[0]


def _farthest(
    model: ModelTable, reach: float, single: Mapping[str, LinearTable], confidence: float
) -> float:
    """How far a cell is off at most: it holds no less than nothing, and no more than the cells of single columns around it."""
    model = replace(model)
    model.margins = {
        axis: single[name] for axis, name in enumerate(model.columns) if name in single
    }
    if not model.margins:
        return reach
    every = tuple(range(model.counts.ndim))
    ceilings = model.ceilings(np.ones((1,) * len(every), dtype=bool), every, confidence)
    return min(reach, float(np.maximum(model.counts, ceilings - model.counts).max()))


def read_from_whole_counts(
    part: Part,
    found: Evidence,
    claims: tuple[ErrorClaim, ...],
    schema: Schema,
    public_rows: int | None,
) -> tuple[Part, tuple[ErrorClaim, ...]]:
    """The part with whole counts near all that was measured and all that the model fills in, and claims about them."""
    sets = of_type(part.query_class, Marginals).sets(schema)
    known = ResidualTables(schema, found.residuals, rows=public_rows)
    tables = ConsistentTables(known, (), model_residuals(models_of(found)))
    counts = nearest_to_tables(tables, columns_of(sets, schema), sets, schema)
    whole = replace(
        part,
        estimates={**part.estimates, **counts.stored()},
        facts={**part.facts, **whole_facts(sets, schema)},
    )
    (read,) = whole_counts_of(whole, schema, public_rows)
    answered, shown = answered_tables(found, known), known.shown_of(read.over)
    return whole, claims_of_whole_counts(claims, shown, answered, sets, public_rows)


def answered_tables(found: Evidence, known: ResidualTables) -> Callable[[tuple[str, ...]], Floats]:
    """The tables that claims are about: measured, or else the model's. In the declared cells."""
    models = {
        each.columns: each.within(known.declared_cells(each.columns)).counts
        for each in models_of(found)
    }

    def answered(columns: tuple[str, ...]) -> Floats:
        if columns in models and not known.determines(columns):
            return models[columns]
        return known.shown(columns)

    return answered


def claims_of_agreeing_models(
    part: Part,
    found: Evidence,
    claims: tuple[ErrorClaim, ...],
    schema: Schema,
    public_rows: int | None,
) -> tuple[ErrorClaim, ...]:
    """Claims for counts that agree with all that was measured and all that the model fills in."""
    sets = of_type(part.query_class, Marginals).sets(schema)
    known = ResidualTables(schema, found.residuals, rows=public_rows)
    tables = ConsistentTables(known, (), model_residuals(models_of(found)))
    (agreement,) = agreement_of(part, schema, sets)
    agreed = AgreedTables(agreement, tables, schema, public_rows)
    answered = answered_tables(found, known)
    if agreement.as_measured:
        return claims_of_whole_counts(claims, known.shown_of(tables.table), answered, sets, None)
    rows = math.ceil(_most_rows(known, public_rows, claims[0].confidence))

    def beside(own: tuple[str, ...]) -> tuple[Floats, Agreed | None]:
        counts = agreed.over(own)
        if counts is not None and not known.determines(own):
            counts = replace(counts, most=rows)  # a part of the risk is kept for that
        return answered(own), counts

    return claims_of_agreed_counts(claims, map(beside, sets))
