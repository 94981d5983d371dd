"""Marginals by noise on their residuals: consistent tables, each with its exact error.

Guarantee:   the share: epsilon-DP (discrete Laplace), (epsilon, delta)-DP (rounded Gaussian), or
             rho-zCDP (discrete Gaussian).
Adjacency:   the schema's.
Sensitivity: `Residual.sensitivity`, exact for each set, adjacency and unit.
Theorem:     the mechanisms', and composition over the sets. Optimal among linear unbiased
             mechanisms with Gaussian noise for the sum of squared errors (Xiao et al. 2023).
Error:       an answer is linear in independent draws whose law is known; its interval comes from
             the exact coefficients. Over a whole class: union bound over the cells.

Tables add up only if every row has a cell in every column. `residuals` therefore refuses columns
that leave rows out; `residuals-even` takes them, and counts a row that has no cell in a column
evenly in all of that column's cells: for tables where that does not happen, or hardly.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any, ClassVar

import numpy as np

from discreet.artifacts.measurement import Measurement
from discreet.core.vault import Request
from discreet.errors import BadInput
from discreet.families.shared.estimate.linear_widths import linear_half_width
from discreet.families.shared.release.measured import MeasuredAtOnce, noisy_requests
from discreet.families.shared.release.protocol import ClassError
from discreet.families.tables.estimate.residuals import ResidualTables
from discreet.families.tables.queries.marginals import Marginals
from discreet.families.tables.queries.residuals import MOST_CELLS, MOST_COLUMNS, Residual
from discreet.families.tables.release.direct import MOST_SETS
from discreet.families.tables.release.residual_planning import needed_residuals, residual_shares
from discreet.privacy.budget import Budget
from discreet.privacy.cost import Accounting
from discreet.privacy.laws import NoiseLaw
from discreet.queries.classes import QueryClass
from discreet.queries.measurable import Query
from discreet.schema import Schema
from discreet.schema.columns.completeness import keeps_every_row

KIND = "residuals"
PER_CELL = "linear in independent draws of known laws: exact coefficients"
ALL_CELLS = "exact coefficients of each cell, and the union bound over the class"
MEAN_ABSOLUTE_NORMAL = math.sqrt(2 / math.pi)


@dataclass(frozen=True, slots=True)
class ResidualMarginals:
    """Noise on the residuals of a class of marginals, the budget shared in closed form."""

    name: ClassVar[str] = "residuals"
    kind: ClassVar[str] = KIND
    spreads: ClassVar[bool] = False
    """Whether rows without a cell may be spread evenly."""

    def refusal(self, query_class: QueryClass, schema: Schema) -> str | None:
        if not isinstance(query_class, Marginals):
            return f"{query_class.text} is not a class of marginals."
        return refused_sets(query_class.sets(schema), schema, spreads=self.spreads)

    def prepare(
        self, query_class: QueryClass, schema: Schema, *, share: Budget, accounting: Accounting
    ) -> PreparedResiduals:
        if not isinstance(query_class, Marginals):
            raise BadInput(f"{query_class.text} is not a class of marginals.")
        sets = query_class.sets(schema)
        prepared = prepared_sets(query_class, sets, schema, share=share, accounting=accounting)
        return replace(prepared, algorithm=self.name, spreads=self.spreads)


@dataclass(frozen=True, slots=True)
class EvenResidualMarginals(ResidualMarginals):
    """As `ResidualMarginals`, for columns that may leave rows out: those count evenly in all cells."""

    name: ClassVar[str] = "residuals-even"
    spreads: ClassVar[bool] = True


def prepared_sets(
    query_class: Marginals,
    sets: tuple[tuple[str, ...], ...],
    schema: Schema,
    *,
    share: Budget,
    accounting: Accounting,
) -> PreparedResiduals:
    """The residuals that these tables need, each with its noise."""
    residuals = needed_residuals(sets, schema)
    if not residuals:
        raise BadInput(
            f"{query_class.text} asks only for what is public under change-one adjacency."
        )
    each = residual_shares(
        sets,
        residuals,
        schema,
        share=share,
        accounting=accounting,
        weights=query_class.weights(schema),
    )
    requests, laws = noisy_requests(
        zip(residuals, each, strict=True), query_class, schema, accounting=accounting
    )
    return PreparedResiduals(
        query_class=query_class,
        share=share,
        schema=schema,
        sets=sets,
        requests=requests,
        laws=laws,
        algorithm=ResidualMarginals.name,
        spreads=False,
    )


def refused_sets(sets: Sequence[tuple[str, ...]], schema: Schema, *, spreads: bool) -> str | None:
    """Why the residuals of these tables cannot be measured."""
    if len(sets) > MOST_SETS:
        return f"it has {len(sets):,} column sets, and at most {MOST_SETS:,} are released; name the ones you need."
    widest = max((len(columns) for columns in sets), default=0)
    if widest > MOST_COLUMNS:
        return f"residuals have at most {MOST_COLUMNS} columns, and it has tables of {widest}."
    sizes = [prod(schema.column(name).cells for name in columns) for columns in sets]
    if max(sizes, default=1) > MOST_CELLS:
        return f"a table of {max(sizes):,} cells is more than the {MOST_CELLS:,} of a residual."
    losing = sorted({n for each in sets for n in each if not keeps_every_row(schema.column(n))})
    if losing and not spreads:
        return (
            f"column {losing[0]} gives some rows no cell, so its tables do not add up to the others'; "
            "keep nulls and other values in cells, or name the algorithm automatic-even."
        )
    if not needed_residuals(sets, schema):
        return "everything it asks for is public under change-one adjacency, or is always the same."
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedResiduals(MeasuredAtOnce):
    """Every residual of a class with its noise."""

    query_class: Marginals
    share: Budget
    schema: Schema
    sets: tuple[tuple[str, ...], ...]
    requests: tuple[Request, ...]
    laws: tuple[NoiseLaw, ...]
    algorithm: str
    spreads: bool
    kind: ClassVar[str] = KIND
    alone: ClassVar[str] = PER_CELL
    together: ClassVar[str] = ALL_CELLS

    def tables(self) -> ResidualTables:
        """The noise of every table, before anything is measured: residuals of 0."""
        silent = [
            Measurement(
                query=_residual(request.query),
                law=law,
                sensitivity=request.query.sensitivity(self.schema),
                cost=request.mechanism.cost(),
                values=np.zeros(request.query.size(self.schema), dtype=np.int64),
            )
            for request, law in zip(self.requests, self.laws, strict=True)
        ]
        total_is_measured = any(_residual(each.query).columns == () for each in silent)
        return ResidualTables(self.schema, silent, rows=None if total_is_measured else 0)

    def error(self, *, rows: int | None, confidence: float) -> ClassError:
        tables = self.tables()
        stds = [math.sqrt(tables.cell_variance(columns)) for columns in self.sets]
        worst = self.sets[max(range(len(stds)), key=stds.__getitem__)]
        return ClassError(
            queries=sum(prod(tables.sizes(columns)) for columns in self.sets),
            unit="rows",
            expected=self.expected(),
            half_width=float(math.ceil(cell_half_width(tables, worst, confidence))),
            simultaneous=float(math.ceil(self._simultaneous(tables, confidence))),
            scale=None if rows is None else float(rows),
        )

    def expected(self) -> float:
        """Mean absolute error of a cell. The numbers behind it are many and wide: their sum is all but normal."""
        tables = self.tables()
        sizes = [prod(tables.sizes(columns)) for columns in self.sets]
        stds = [math.sqrt(tables.cell_variance(columns)) for columns in self.sets]
        summed = sum(size * std for size, std in zip(sizes, stds, strict=True))
        return MEAN_ABSOLUTE_NORMAL * summed / sum(sizes)

    def _simultaneous(self, tables: ResidualTables, confidence: float) -> float:
        cells = sum(prod(tables.sizes(columns)) for columns in self.sets)
        level = 1 - (1 - confidence) / cells
        alike: dict[float, tuple[str, ...]] = {}
        for columns in self.sets:
            alike.setdefault(round(tables.cell_variance(columns), 9), columns)
        worst = sorted(alike, reverse=True)[:8]
        return max(cell_half_width(tables, alike[each], level) for each in worst)

    def facts(self) -> dict[str, Any]:
        return {"rows without a cell": "spread evenly"} if self.spreads else {}


def cell_half_width(tables: ResidualTables, columns: tuple[str, ...], confidence: float) -> float:
    """How far one cell of a table can be off."""
    one = np.zeros(tables.sizes(columns))
    one[(0,) * one.ndim] = 1.0
    return linear_half_width(tables.coefficients(columns, one), confidence)


def _residual(query: Query) -> Residual:
    assert isinstance(query, Residual)
    return query
