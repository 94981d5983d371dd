"""Marginals by noise on their residuals: consistent tables, each with its exact error.

Guarantee:   the share: epsilon-DP (discrete Laplace), (epsilon, delta)-DP (rounded Gaussian), or
             rho-zCDP (discrete Gaussian).
Adjacency:   the schema's.
Sensitivity: `Residual.sensitivity`, exact for each set, adjacency and unit.
Theorem:     the mechanisms', and composition over the sets. Optimal among linear unbiased
             mechanisms with Gaussian noise for the sum of squared errors (Xiao et al. 2023).
Error:       an answer is linear in independent draws whose law is known; its interval comes from
             the exact coefficients. Over a whole class: union bound over the cells.

Tables add up only if every row has a cell in every column. So a column that leaves rows out gets one more cell, for these
rows, in all that is measured (`schema.completed`); answers, claims and figures are about the declared cells. `residuals-even` instead counts
a row that has no cell in a column evenly in all of that column's cells: for tables where that does not happen, or hardly.

Over few columns of two values answers are whole counts of at least 0 near all the tables, and claims add how far these lie from
the measured cells. Over others they add up too: see `answer.together.agreement`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from discreet.artifacts.measurement import Measurement
from discreet.artifacts.release import ErrorClaim, Part
from discreet.core.vault import Request
from discreet.errors import BadInput
from discreet.families.shared.estimate.linear_widths import linear_half_width
from discreet.families.shared.release.measured import MeasuredAtOnce, MeasuredByRequests
from discreet.families.shared.release.protocol import ClassError, of_type
from discreet.families.tables.answer.evidence import (
    COUNTED_APART,
    SPREAD_EVENLY,
    WITHOUT_A_CELL,
    agreement_of,
    published_table,
)
from discreet.families.tables.answer.together.agreement import AgreedTables, can_be_agreed
from discreet.families.tables.estimate.consistent import ConsistentTables
from discreet.families.tables.estimate.residuals import ResidualTables
from discreet.families.tables.estimate.whole_tables import nearest_to_tables
from discreet.families.tables.queries.marginals import Marginals
from discreet.families.tables.queries.residuals import MOST_CELLS, MOST_COLUMNS
from discreet.families.tables.release.direct import MOST_SETS, too_many_cells
from discreet.families.tables.release.predicted_variation import MEAN_ABSOLUTE_NORMAL
from discreet.families.tables.release.residual_planning import (
    needed_residuals,
    residual_shares,
    weighing_cells,
)
from discreet.families.tables.release.whole_answers import (
    agreeing_facts,
    are_few_booleans,
    claims_of_agreed_counts,
    claims_of_whole_counts,
    columns_of,
    should_be_whole,
    whole_facts,
)
from discreet.privacy.budget import Budget
from discreet.privacy.cost import Accounting
from discreet.queries.classes import QueryClass
from discreet.schema import Schema
from discreet.schema.completed import completed, losing

PER_CELL = "linear in independent draws of known laws: exact coefficients"
ALL_CELLS = "exact coefficients of each cell, and the union bound over the class"


@dataclass(frozen=True, slots=True)
class ResidualMarginals:
    """Noise on the residuals of a class of marginals, the budget shared in closed form."""

    even: bool = False
    """Whether rows that a column leaves out count evenly in all of its cells."""
    kind: ClassVar[str] = "residuals"

    @property
    def name(self) -> str:
        return "residuals-even" if self.even else "residuals"

    def refusal(self, query_class: QueryClass, schema: Schema) -> str | None:
        sets = of_type(query_class, Marginals).sets(schema)
        return refused_sets(sets, schema, even=self.even) or too_many_cells(sets, schema)

    def prepare(
        self, query_class: QueryClass, schema: Schema, *, share: Budget, accounting: Accounting
    ) -> PreparedResiduals:
        asked = of_type(query_class, Marginals)
        sets = asked.sets(schema)
        complete = schema_to_measure(sets, schema, even=self.even)
        residuals = needed_residuals(sets, complete)
        if not residuals:
            raise BadInput(f"{asked.text} asks only for what is public under change-one adjacency.")
        parts = residual_shares(
            sets,
            residuals,
            complete,
            share=share,
            accounting=accounting,
            weights=asked.weights(schema),
        )
        shared = zip(residuals, parts, strict=True)
        return PreparedResiduals.noisy(
            self,
            asked,
            schema,
            shared,
            share=share,
            accounting=accounting,
            sets=sets,
            complete=complete,
            even=self.even,
        )


def losing_in(sets: Sequence[tuple[str, ...]], schema: Schema) -> frozenset[str]:
    """The columns of some tables that leave rows out."""
    return frozenset(losing(schema, {name for each in sets for name in each}))


def schema_to_measure(sets: Sequence[tuple[str, ...]], schema: Schema, *, even: bool) -> Schema:
    """The schema with a cell for every row in all columns of some tables, unless these rows count evenly."""
    return schema if even else completed(schema, {name for each in sets for name in each})


def refused_sets(sets: Sequence[tuple[str, ...]], schema: Schema, *, even: bool) -> str | None:
    """Why the residuals of these tables cannot be measured."""
    if len(sets) > MOST_SETS:
        return f"it has {len(sets):,} column sets, and at most {MOST_SETS:,} are released; name the ones you need."
    widest = max((len(columns) for columns in sets), default=0)
    if widest > MOST_COLUMNS:
        return f"residuals have at most {MOST_COLUMNS} columns, and it has tables of {widest}."
    schema = schema_to_measure(sets, schema, even=even)
    sizes = [prod(schema.sizes(columns)) for columns in sets]
    if max(sizes, default=1) > MOST_CELLS:
        return f"a table of {max(sizes):,} cells is more than the {MOST_CELLS:,} of a residual."
    if not needed_residuals(sets, schema):
        return "everything it asks for is public under change-one adjacency, or is always the same."
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedResiduals(MeasuredAtOnce):
    """Every residual of a class with its noise."""

    sets: tuple[tuple[str, ...], ...]
    complete: Schema
    """The schema, in which columns that leave rows out have one more cell."""
    even: bool
    kept: dict[str, float] = field(default_factory=dict, compare=False, repr=False)
    """The expected error, once it was asked for: a plan asks many times."""
    alone: ClassVar[str] = PER_CELL
    together: ClassVar[str] = ALL_CELLS

    @property
    def alternative(self) -> str:
        return "direct"

    @property
    def apart(self) -> frozenset[str]:
        return frozenset() if self.even else losing_in(self.sets, self.schema)

    @property
    def spread(self) -> frozenset[str]:
        return losing_in(self.sets, self.schema) if self.even else frozenset()

    def tables(self) -> ResidualTables:
        """The noise of every table, before anything is measured."""
        return tables_of_noise(self.requests, self.complete)

    def error(self, *, rows: int | None, confidence: float) -> ClassError:
        tables = self.tables()
        stds = [math.sqrt(tables.cell_variance(columns)) for columns in self.sets]
        worst = self.sets[max(range(len(stds)), key=stds.__getitem__)]
        return ClassError.in_rows(
            rows,
            queries=self._cells,
            expected=self.expected(),
            half_width=float(math.ceil(cell_half_width(tables, worst, confidence))),
            simultaneous=float(math.ceil(self._simultaneous(tables, confidence))),
        )

    @property
    def _cells(self) -> int:
        """The cells that can be asked for."""
        return sum(prod(self.schema.sizes(columns)) for columns in self.sets)

    def expected(self) -> float:
        """Mean absolute error of a cell. The numbers behind it are many and wide: their sum is all but normal."""
        if "expected" not in self.kept:
            self.kept["expected"] = self._expected()
        return self.kept["expected"]

    def _expected(self) -> float:
        return self._mean([prod(self.schema.sizes(columns)) for columns in self.sets])

    def weighed(self) -> float:
        """The same, as it is compared with other releases: no table weighs more than people do."""
        if "weighed" not in self.kept:
            cells = [prod(self.schema.sizes(columns)) for columns in self.sets]
            self.kept["weighed"] = self._mean([weighing_cells(each, self.schema) for each in cells])
        return self.kept["weighed"]

    def _mean(self, cells: Sequence[int]) -> float:
        errors = zip(self.errors_of_tables(), cells, strict=True)
        return sum(error * size for error, size in errors) / sum(cells)

    def errors_of_tables(self) -> list[float]:
        """Mean absolute error of a cell of each table."""
        tables = self.tables()
        variances = (tables.cell_variance(columns) for columns in self.sets)
        return [MEAN_ABSOLUTE_NORMAL * math.sqrt(each) for each in variances]

    def variances_of_columns(self) -> dict[str, float]:
        """The variance of the noise in a cell of each single column."""
        tables = self.tables()
        return {name: tables.cell_variance((name,)) for own in self.sets for name in own}

    def _simultaneous(self, tables: ResidualTables, confidence: float) -> float:
        level = 1 - (1 - confidence) / self._cells
        alike: dict[float, tuple[str, ...]] = {}
        for columns in self.sets:
            alike.setdefault(round(tables.cell_variance(columns), 9), columns)
        worst = sorted(alike, reverse=True)[:8]
        return max(cell_half_width(tables, alike[each], level) for each in worst)

    @property
    def is_read_whole(self) -> bool:
        """Whether answers are read from one table over all the columns."""
        if can_be_agreed(self.sets, self.complete):
            return are_few_booleans(self.sets, self.complete)
        return should_be_whole(self.sets, self.complete)

    def without_a_cell(self) -> dict[str, Any]:
        """What becomes of rows without a cell."""
        if self.even:
            return {WITHOUT_A_CELL: SPREAD_EVENLY}
        return {} if self.complete is self.schema else {WITHOUT_A_CELL: COUNTED_APART}

    def facts(self) -> dict[str, Any]:
        return {**self.without_a_cell(), **self.answer_facts()}

    def answer_facts(self) -> dict[str, Any]:
        """How answers add up."""
        if self.is_read_whole:
            return whole_facts(self.sets, self.complete)
        return agreeing_facts(self.sets, self.complete)

    def estimates(
        self, measured: Sequence[Measurement], public_rows: int | None
    ) -> dict[str, npt.NDArray[np.generic]]:
        """Whole counts near all tables, over few columns of two values."""
        if not self.is_read_whole:
            return {}
        known = ConsistentTables(ResidualTables(self.complete, measured, rows=public_rows), ())
        names = columns_of(self.sets, self.schema)
        return {**nearest_to_tables(known, names, self.sets, self.complete).stored()}

    def claims_of(
        self, part: Part, claims: tuple[ErrorClaim, ...], public_rows: int | None
    ) -> tuple[ErrorClaim, ...]:
        table = published_table(part, self.schema, public_rows)
        known = ResidualTables(self.complete, part.noisy, rows=public_rows)
        if table is not None:
            whole, shown = known.shown_of(table.over), known.shown
            return claims_of_whole_counts(claims, whole, shown, self.sets, public_rows)
        return claims_of_residuals(part, claims, known, self.sets)


def claims_of_residuals(
    part: Part,
    claims: tuple[ErrorClaim, ...],
    known: ResidualTables,
    sets: Sequence[tuple[str, ...]],
) -> tuple[ErrorClaim, ...]:
    """Claims about tables put together from residuals, for the counts that agree with them."""
    (agreement,) = agreement_of(part, known.schema, sets)
    tables = AgreedTables(agreement, ConsistentTables(known, ()), known.schema, known.rows)
    return claims_of_agreed_counts(claims, ((known.shown(own), tables.over(own)) for own in sets))


def cell_half_width(tables: ResidualTables, columns: tuple[str, ...], confidence: float) -> float:
    """How far one cell of a table can be off."""
    one = np.zeros(tables.sizes(columns))
    one[(0,) * one.ndim] = 1.0
    return linear_half_width(tables.coefficients(columns, one), confidence)


def silent_tables(prepared: MeasuredByRequests) -> ResidualTables:
    """Tables put together from residuals of 0, or parities of 0: what is known of their noise beforehand."""
    return tables_of_noise(prepared.requests, prepared.schema)


def tables_of_noise(requests: Sequence[Request], schema: Schema) -> ResidualTables:
    """The same for requests that nobody has prepared a class with."""
    silent = []
    for request in requests:
        sensitivity, size = request.query.sensitivity(schema), request.query.size(schema)
        silent.append(
            Measurement(
                query=request.query,
                law=request.mechanism.law(sensitivity, size=size),
                sensitivity=sensitivity,
                cost=request.mechanism.cost(),
                values=np.zeros(size, dtype=np.int64),
            )
        )
    total_is_measured = any(getattr(each.query, "columns", None) == () for each in silent)
    return ResidualTables(schema, silent, rows=None if total_is_measured else 0)
