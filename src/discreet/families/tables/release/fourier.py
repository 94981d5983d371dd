"""Marginals of binary columns by noise on their Fourier coefficients, and the nearest true table.

The third of the classical releases of a contingency table (noise on all cells is `all-cells`,
noise on each marginal is `direct`), and the only one of them whose tables agree.

Guarantee:   the share: epsilon-DP (discrete Laplace), (epsilon, delta)-DP (rounded Gaussian), or
             rho-zCDP (discrete Gaussian).
Adjacency:   the schema's.
Sensitivity: of a parity, a unit's rows; twice that where rows are changed.
Theorem:     the mechanisms', and composition over the coefficients (Barak et al. 2007).
Error:       a cell of a table of k columns is the mean of 2^k signed coefficients; exact laws.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from discreet.artifacts.measurement import Measurement
from discreet.errors import BadInput
from discreet.families.shared.release.measured import MeasuredAtOnce
from discreet.families.shared.release.protocol import ClassError
from discreet.families.shared.release.splitting import shares
from discreet.families.tables.estimate.linear_programs import nearest_table
from discreet.families.tables.queries.marginals import Marginals
from discreet.families.tables.queries.parities import MOST_COLUMNS, Parities, Parity
from discreet.families.tables.queries.residuals import subsets
from discreet.families.tables.release.residual import (
    ALL_CELLS,
    MEAN_ABSOLUTE_NORMAL,
    PER_CELL,
    cell_half_width,
    silent_tables,
)
from discreet.privacy.budget import Budget
from discreet.privacy.cost import Accounting
from discreet.queries.classes import QueryClass
from discreet.schema import Schema

MOST_COEFFICIENTS = 2000
WHOLE_TABLE = 16
"""Columns up to which the nearest table of whole counts is computed."""


@dataclass(frozen=True, slots=True)
class FourierMarginals:
    """Even noise on every coefficient that the tables need."""

    name: ClassVar[str] = "fourier"
    kind: ClassVar[str] = "residuals"

    def refusal(self, query_class: QueryClass, schema: Schema) -> str | None:
        if not isinstance(query_class, Marginals | Parities):
            return f"{query_class.text} is not a class of marginals or parities."
        if isinstance(query_class, Parities) and query_class.splits is not None:
            return "its splits are conditions, not columns of two cells."
        sets = query_class.sets(schema)
        names = {name for columns in sets for name in columns}
        wide = sorted(name for name in names if schema.column(name).cells != 2)
        if wide:
            return f"column {wide[0]} does not have exactly two cells, which Fourier coefficients need."
        if max(map(len, sets), default=0) > MOST_COLUMNS:
            return f"it has tables of more than {MOST_COLUMNS} columns."
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
        shared = zip(queries, shares(share, [1] * len(queries)), strict=True)
        return PreparedFourier.noisy(
            self, query_class, schema, shared, share=share, accounting=accounting, sets=sets
        )


def _coefficients(sets: Sequence[tuple[str, ...]], schema: Schema) -> list[Parity]:
    order = {column.name: place for place, column in enumerate(schema.columns)}
    wanted = {each for columns in sets for each in subsets(columns)}
    ordered = sorted(wanted, key=lambda each: (len(each), [order[name] for name in each]))
    return [Parity(each) for each in ordered if each or not schema.rows_are_public]


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedFourier(MeasuredAtOnce):
    """Every coefficient of a class with its noise."""

    sets: tuple[tuple[str, ...], ...]
    alone: ClassVar[str] = PER_CELL
    together: ClassVar[str] = ALL_CELLS

    def error(self, *, rows: int | None, confidence: float) -> ClassError:
        tables = silent_tables(self)
        cells = sum(2 ** len(columns) for columns in self.sets)
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

    def facts(self) -> dict[str, Any]:
        return {
            "rows without a cell": "spread evenly",
            "columns": self._names,
            "table": "the whole counts nearest to the coefficients; bit i of a cell is column i",
        }

    def estimates(
        self, measured: Sequence[Measurement], public_rows: int | None
    ) -> dict[str, npt.NDArray[np.generic]]:
        """The linear program's table, where the domain is small enough to hold it."""
        names = self._names
        if not 0 < len(names) <= WHOLE_TABLE:
            return {}
        bits: list[int] = []
        values: list[float] = []
        for each in measured:
            assert isinstance(each.query, Parity)
            bits.append(sum(1 << names.index(name) for name in each.query.columns))
            values.append(float(each.values[0]))
        if public_rows is not None and 0 not in bits:
            bits, values = [0, *bits], [float(public_rows), *values]
        found = nearest_table(np.array(bits), np.array(values), columns=len(names))
        return {"table": found.rounded(len(names))}
