"""Marginals by independent noise on every cell: the plainest release, and the benchmark for others.

Guarantee:   the share: epsilon-DP (discrete Laplace), (epsilon, delta)-DP (rounded Gaussian), or
             rho-zCDP (discrete Gaussian).
Adjacency:   the schema's.
Sensitivity: a unit's rows lie in one cell each of every marginal: `Marginal.sensitivity`.
Theorem:     the mechanism's, and composition over the column sets.
Error:       each cell's noise law is exact; over a whole class the draws are independent, so
             P(all errors <= h) is the product of P(|X| <= h).

Over few columns of two values, where every row has a cell, least squares finds whole counts of at least 0 near all the tables
together. Questions and synthetic rows read these, so that answers agree however they are summed, and the claims add how far they
lie from the measured cells.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from discreet.artifacts.measurement import Measurement
from discreet.artifacts.release import ErrorClaim, Part
from discreet.engines.protocol import LARGEST_MARGINAL
from discreet.families.shared.release.measured import MeasuredAtOnce
from discreet.families.shared.release.noise_choice import simultaneous_bound
from discreet.families.shared.release.protocol import ClassError, of_type
from discreet.families.shared.release.splitting import shares, weights_for_least_squares
from discreet.families.tables.answer.evidence import (
    ANSWERS,
    FROM_WHOLE_TABLE,
    has_two_values,
    published_table,
)
from discreet.families.tables.estimate.consistent import ConsistentTables, DirectTable
from discreet.families.tables.estimate.residuals import ResidualTables
from discreet.families.tables.estimate.whole_tables import nearest_to_tables
from discreet.families.tables.queries.marginals import Marginals
from discreet.families.tables.release.moved_claims import claims_of_a_moved_table
from discreet.privacy.budget import Budget
from discreet.privacy.cost import Accounting
from discreet.privacy.laws import NoiseLaw
from discreet.queries.classes import QueryClass
from discreet.queries.measurable import Marginal
from discreet.schema import Schema, keeps_every_row

PER_CELL = "exact quantile of the noise law of one cell"
ALL_CELLS = "independent draws: product of the cells' exact noise laws"
WHOLE_TABLE = 1 << 10
"""Combinations of cells up to which a table of whole counts is found near all tables together."""
MOST_SETS = 10_000
"""Tables of one class; beyond, each gets too little of the budget to be of use."""


@dataclass(frozen=True, slots=True)
class DirectMarginals:
    """Independent noise on each cell of each column set, the budget split for least squared error."""

    name: ClassVar[str] = "direct"
    kind: ClassVar[str] = "marginals"

    def refusal(self, query_class: QueryClass, schema: Schema) -> str | None:
        sets = of_type(query_class, Marginals).sets(schema)
        if len(sets) > MOST_SETS:
            return f"it has {len(sets):,} column sets, and at most {MOST_SETS:,} are released; name the ones you need."
        largest = max((Marginal(columns).size(schema) for columns in sets), default=1)
        if largest > LARGEST_MARGINAL:
            return (
                f"a table of {largest:,} cells is more than the {LARGEST_MARGINAL:,} that are counted one by "
                "one; use wider cells or fewer columns."
            )
        return None

    def prepare(
        self, query_class: QueryClass, schema: Schema, *, share: Budget, accounting: Accounting
    ) -> PreparedMarginals:
        asked = of_type(query_class, Marginals)
        queries = [Marginal(columns) for columns in asked.sets(schema)]
        sizes = [query.size(schema) for query in queries]
        # All sets have the same sensitivity, so only their sizes and declared weights matter.
        matters = [float(weight) for weight in asked.weights(schema)]
        weights = weights_for_least_squares(sizes, matters, accounting)
        shared = zip(queries, shares(share, weights), strict=True)
        return PreparedMarginals.noisy(
            self, asked, schema, shared, share=share, accounting=accounting, sizes=tuple(sizes)
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedMarginals(MeasuredAtOnce):
    """Every column set of the class with its noise."""

    sizes: tuple[int, ...]
    alone: ClassVar[str] = PER_CELL
    together: ClassVar[str] = ALL_CELLS

    def error(self, *, rows: int | None, confidence: float) -> ClassError:
        return ClassError.in_rows(
            rows,
            queries=sum(self.sizes),
            expected=self.expected(),
            half_width=float(max(law.half_width(confidence) for law in set(self.laws))),
            simultaneous=float(simultaneous_bound(self._sized_laws, confidence)),
        )

    @property
    def _sized_laws(self) -> list[tuple[NoiseLaw, int]]:
        return list(zip(self.laws, self.sizes, strict=True))

    def expected(self) -> float:
        """Mean absolute error of a cell."""
        summed = sum(law.mean_absolute() * size for law, size in self._sized_laws)
        return summed / sum(self.sizes)

    @property
    def _names(self) -> tuple[str, ...]:
        """All columns of the tables, in the schema's order."""
        sets = self.query_class.sets(self.schema)
        return tuple(n for n in self.schema.names if any(n in columns for columns in sets))

    @property
    def _is_read_whole(self) -> bool:
        """Whether answers are read from one table over all the columns."""
        names = self._names
        return (
            len(names) > 1
            and has_two_values(names, self.schema)
            and all(keeps_every_row(self.schema.column(name)) for name in names)
            and prod(self.schema.sizes(names)) <= WHOLE_TABLE
        )

    def _agreed(self, measured: Sequence[Measurement], public_rows: int | None) -> ConsistentTables:
        tables = [
            DirectTable(each.query.columns, each.values.reshape(each.query.shape(self.schema)), each.law)
            for each in measured
            if isinstance(each.query, Marginal)
        ]  # fmt: skip
        return ConsistentTables(ResidualTables(self.schema, (), rows=public_rows), tables)

    def facts(self) -> dict[str, Any]:
        if not self._is_read_whole:
            return {}
        return {
            "columns": list(self._names),
            "table": "whole counts near all tables; cells in the order of the columns, the last one fastest",
            ANSWERS: FROM_WHOLE_TABLE,
        }

    def estimates(
        self, measured: Sequence[Measurement], public_rows: int | None
    ) -> dict[str, npt.NDArray[np.generic]]:
        if not self._is_read_whole:
            return {}
        sets = self.query_class.sets(self.schema)
        agreed = self._agreed(measured, public_rows)
        return {"table": nearest_to_tables(agreed, self._names, sets)}

    def claims_of(
        self, part: Part, claims: tuple[ErrorClaim, ...], public_rows: int | None
    ) -> tuple[ErrorClaim, ...]:
        table = published_table(part, self.schema, public_rows)
        if table is None:
            return claims
        agreed = self._agreed(part.noisy, public_rows)
        sets = self.query_class.sets(self.schema)
        return claims_of_a_moved_table(claims, table.moved(agreed.table, sets))
