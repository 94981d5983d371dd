"""Marginals of boolean columns by noise on their Fourier coefficients, and the nearest true table.

The third of the classical releases of a contingency table (noise on all cells is `all-cells`,
noise on each marginal is `direct`). Questions and synthetic rows read the true table.

A column that gives nulls a cell has three cells. The Fourier coefficients of three cells are complex, so
the residual is measured in their place: the same part of the table, in whole numbers.

Guarantee:   the share: epsilon-DP (discrete Laplace), (epsilon, delta)-DP (rounded Gaussian), or
             rho-zCDP (discrete Gaussian).
Adjacency:   the schema's.
Sensitivity: of a parity, a unit's rows; twice that where rows are changed.
Theorem:     the mechanisms', and composition over the coefficients (Barak et al. 2007).
Error:       a cell of a table of k columns is the mean of 2^k signed coefficients; exact laws. The claims of a
             release add how far the true table had to move from the noisy cells.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import prod
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from discreet.artifacts.measurement import Measurement
from discreet.artifacts.release import ANSWERS, ErrorClaim, Part
from discreet.errors import BadInput
from discreet.families.shared.release.measured import MeasuredAtOnce
from discreet.families.shared.release.protocol import ClassError
from discreet.families.shared.release.splitting import shares
from discreet.families.tables.answer.evidence import (
    FROM_WHOLE_TABLE,
    kept_empty,
    published_table,
)
from discreet.families.tables.estimate.linear_programs import (
    Block,
    nearest_mixed_table,
    nearest_table,
)
from discreet.families.tables.estimate.residuals import ResidualTables
from discreet.families.tables.estimate.whole_tables import can_be_whole, nearest_to_blocks
from discreet.families.tables.queries.marginals import Marginals
from discreet.families.tables.queries.parities import MOST_COLUMNS, Parities, Parity
from discreet.families.tables.queries.residuals import MOST_COLUMNS as MOST_OF_RESIDUALS
from discreet.families.tables.queries.residuals import Residual, subsets
from discreet.families.tables.release.predicted_variation import MEAN_ABSOLUTE_NORMAL
from discreet.families.tables.release.residual import (
    ALL_CELLS,
    PER_CELL,
    cell_half_width,
    claims_of_residuals,
    losing_in,
    silent_tables,
)
from discreet.families.tables.release.residual_planning import residual_shares
from discreet.families.tables.release.whole_answers import agreeing_facts, claims_of_whole_counts
from discreet.privacy.budget import Budget
from discreet.privacy.cost import Accounting
from discreet.queries.classes import QueryClass
from discreet.questions.cells.impossible import declares_empty_cells
from discreet.schema import Schema

MOST_COEFFICIENTS = 2000
WHOLE_TABLE = 1 << 16
"""Combinations of cells up to which the linear program finds the nearest whole counts; beyond, least squares finds near ones."""


@dataclass(frozen=True, slots=True)
class FourierMarginals:
    """Noise on every coefficient that the tables need: even, where all columns have two cells."""

    name: ClassVar[str] = "fourier"
    kind: ClassVar[str] = "residuals"

    def refusal(self, query_class: QueryClass, schema: Schema) -> str | None:
        if not isinstance(query_class, Marginals | Parities):
            return f"{query_class.text} is not a class of marginals or parities."
        if isinstance(query_class, Parities) and query_class.splits is not None:
            return "its splits are conditions, not columns of two cells."
        sets = query_class.sets(schema)
        names = {name for columns in sets for name in columns}
        most = 2 if isinstance(query_class, Parities) else 3
        wide = sorted(
            name
            for name in names
            if schema.column(name).value_cells != 2 or schema.column(name).cells > most
        )
        if wide:
            return (
                f"column {wide[0]} does not have two values and at most a cell for nulls beside them, which Fourier "
                "coefficients need."
                if most == 3
                else f"column {wide[0]} does not have exactly two cells, which parities need."
            )
        binary = all(schema.column(name).cells == 2 for name in names)
        longest = MOST_COLUMNS if binary else MOST_OF_RESIDUALS
        if max(map(len, sets), default=0) > longest:
            return f"it has tables of more than {longest} columns."
        if not 0 < len(_coefficients(sets, schema)) <= MOST_COEFFICIENTS:
            return f"it needs no coefficient, or more than {MOST_COEFFICIENTS:,}."
        return None

    def prepare(
        self, query_class: QueryClass, schema: Schema, *, share: Budget, accounting: Accounting
    ) -> PreparedFourier:
        if not isinstance(query_class, Marginals | Parities):
            raise BadInput(f"{query_class.text} is not a class of marginals or parities.")
        sets = query_class.sets(schema)
        queries = _coefficients(sets, schema)
        if all(isinstance(each, Parity) for each in queries):
            parts = shares(share, [1] * len(queries))
        else:  # residuals differ in how far a row moves them
            alike = [Residual(each.columns) for each in queries]
            weights = [Fraction(1)] * len(sets)
            parts = residual_shares(
                sets, alike, schema, share=share, accounting=accounting, weights=weights
            )
        shared = zip(queries, parts, strict=True)
        return PreparedFourier.noisy(
            self, query_class, schema, shared, share=share, accounting=accounting, sets=sets
        )


def _coefficients(sets: Sequence[tuple[str, ...]], schema: Schema) -> list[Parity | Residual]:
    """A parity for each set of columns of two cells; a residual where a column has a third cell."""
    order = {column.name: place for place, column in enumerate(schema.columns)}
    wanted = {each for columns in sets for each in subsets(columns)}
    ordered = sorted(wanted, key=lambda each: (len(each), [order[name] for name in each]))
    return [
        Parity(each) if all(d == 2 for d in schema.sizes(each)) else Residual(each)
        for each in ordered
        if each or not schema.rows_are_public
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedFourier(MeasuredAtOnce):
    """Every coefficient of a class with its noise."""

    sets: tuple[tuple[str, ...], ...]
    alone: ClassVar[str] = PER_CELL
    together: ClassVar[str] = ALL_CELLS

    @property
    def spread(self) -> frozenset[str]:
        """A row without a cell moves no coefficient, as if it were spread."""
        return losing_in(self.sets, self.schema)

    def error(self, *, rows: int | None, confidence: float) -> ClassError:
        tables = silent_tables(self)
        cells = sum(prod(tables.sizes(columns)) for columns in self.sets)
        largest = max(self.sets, key=tables.cell_variance)
        level = 1 - (1 - confidence) / cells
        return ClassError.in_rows(
            rows,
            queries=cells,
            expected=MEAN_ABSOLUTE_NORMAL * math.sqrt(tables.cell_variance(largest)),
            half_width=float(math.ceil(cell_half_width(tables, largest, confidence))),
            simultaneous=float(math.ceil(cell_half_width(tables, largest, level))),
        )

    @property
    def _names(self) -> list[str]:
        """The columns of the tables, in the schema's order."""
        return [
            column.name
            for column in self.schema.columns
            if any(column.name in columns for columns in self.sets)
        ]

    @property
    def _sizes(self) -> tuple[int, ...]:
        return self.schema.sizes(self._names)

    @property
    def _has_table(self) -> bool:
        """Whether whole counts near the coefficients can be found."""
        return bool(self._names) and (
            prod(self._sizes) <= WHOLE_TABLE or can_be_whole(self.sets, self.schema)
        )

    def facts(self) -> dict[str, Any]:
        order = (
            "bit i of a cell is column i"
            if all(d == 2 for d in self._sizes)
            else "cells in the order of the columns, the last one fastest"
        )
        spread = {"rows without a cell": "spread evenly", "columns": self._names}
        if not self._has_table:
            return {**spread, **agreeing_facts(self.sets, self.schema)}
        said = f"the whole counts nearest to the coefficients; {order}"
        if prod(self._sizes) > WHOLE_TABLE:
            said = "whole counts near the coefficients: the cells that are not empty, each with its count"
        return {**spread, "table": said, ANSWERS: kept_empty(FROM_WHOLE_TABLE, self.schema)}

    def estimates(
        self, measured: Sequence[Measurement], public_rows: int | None
    ) -> dict[str, npt.NDArray[np.generic]]:
        """The linear program's table; where it would have too many cells, rows near all coefficients."""
        cells = prod(self._sizes)
        if not self._has_table:
            return {}
        declares = declares_empty_cells(self.schema)
        if all(d == 2 for d in self._sizes) and cells <= WHOLE_TABLE and not declares:
            return {"table": self._of_parities(measured, public_rows)}
        names = self._names
        blocks = [
            Block(
                tuple(names.index(name) for name in each.query.columns),
                each.values.astype(np.float64),
                each.law.std,
            )
            for each in measured
            if isinstance(each.query, Parity | Residual)
        ]
        if public_rows is not None:
            finest = min(each.std for each in blocks)
            blocks.append(Block((), np.array([float(public_rows)]), finest))
        if cells > WHOLE_TABLE or declares:
            return {**nearest_to_blocks(tuple(names), self._sizes, blocks, self.schema).stored()}
        return {"table": nearest_mixed_table(self._sizes, blocks).rounded(cells)}

    def _of_parities(
        self, measured: Sequence[Measurement], public_rows: int | None
    ) -> npt.NDArray[np.int64]:
        names = self._names
        bits: list[int] = []
        values: list[float] = []
        for each in measured:
            assert isinstance(each.query, Parity)
            bits.append(sum(1 << names.index(name) for name in each.query.columns))
            values.append(float(each.values[0]))
        if public_rows is not None and 0 not in bits:
            bits, values = [0, *bits], [float(public_rows), *values]
        found = nearest_table(np.array(bits), np.array(values), columns=len(names))
        return found.rounded(1 << len(names))

    def claims_of(
        self, part: Part, claims: tuple[ErrorClaim, ...], public_rows: int | None
    ) -> tuple[ErrorClaim, ...]:
        """Answers are read from the table, so the claims allow for how far it lies from what was measured."""
        if not isinstance(self.query_class, Marginals):
            return claims  # a parity is answered as it was measured
        table = published_table(part, self.schema, public_rows)
        linear = ResidualTables(self.schema, part.noisy, rows=public_rows)
        if table is None:
            return claims_of_residuals(part, claims, linear, self.sets)
        return claims_of_whole_counts(claims, table.over, linear.table, self.sets, public_rows)
