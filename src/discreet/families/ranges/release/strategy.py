"""Intervals of a short column by an optimised strategy over its cells, measured at once.

No tree errs as little over all intervals of up to a few hundred cells as the best matrix does: with
Gaussian noise a fifth less, whatever the rows are. Laplace noise takes a p-identity strategy, which is
better than a full tree, and than an adaptive one where data is dense.

Guarantee:   the share, by one use of an additive mechanism on whole numbers.
Adjacency:   the schema's.
Sensitivity: the largest column of the matrix, or difference of two columns: `CellStrategy`.
Theorem:     the mechanism's; the matrix mechanism (Li, Miklau, Hay, McGregor, Rastogi 2015), p-identity
             strategies (McKenna, Miklau, Hay, Machanavajjhala 2018).
Error:       each interval is a known combination of independent draws of one law.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from discreet.artifacts.measurement import Measurement
from discreet.artifacts.release import ErrorClaim, Part
from discreet.errors import BadInput
from discreet.families.ranges.answer.cell_ranges import CellRangeSource, strategy_noise_bound
from discreet.families.ranges.estimate.cell_strategies import (
    MOST_CELLS_L1,
    MOST_CELLS_L2,
    cell_intervals,
    interval_strategy,
    interval_variances,
    smoothed_cells,
)
from discreet.families.ranges.queries.cell_strategy import CellStrategy
from discreet.families.ranges.queries.ranges import Ranges
from discreet.families.ranges.release.claims import tree_claims
from discreet.families.ranges.release.error import class_error
from discreet.families.shared.release.measured import MeasuredByRequests, noise_entry
from discreet.families.shared.release.protocol import ClassError, Verbs, of_type
from discreet.privacy.budget import Budget
from discreet.privacy.cost import Accounting
from discreet.queries.classes import QueryClass
from discreet.schema import Schema


@dataclass(frozen=True, slots=True)
class RangeStrategy:
    """The strategy of least expected error over the cells of one column."""

    name: ClassVar[str] = "strategy"
    kind: ClassVar[str] = "range-cells"

    def refusal(self, query_class: QueryClass, schema: Schema) -> str | None:
        columns = of_type(query_class, Ranges).named(schema)
        if len(columns) > 1:
            return "a strategy is over the cells of one column; use a tree."
        cells = schema.column(columns[0]).value_cells
        if not 2 <= cells <= MOST_CELLS_L2:
            return (
                f"column {columns[0]!r} has {cells:,} cells, and a strategy is looked for over 2 to "
                f"{MOST_CELLS_L2} of them; use a tree."
            )
        return None

    def prepare(
        self, query_class: QueryClass, schema: Schema, *, share: Budget, accounting: Accounting
    ) -> PreparedRangeStrategy:
        (column,) = of_type(query_class, Ranges).named(schema)
        cells = schema.column(column).value_cells
        is_gaussian = accounting is not Accounting.BASIC or share.delta > 0
        if not is_gaussian and cells > MOST_CELLS_L1:
            raise BadInput(
                f"{query_class.text}: column {column!r} has {cells:,} cells, and for Laplace noise a strategy "
                f"is looked for over at most {MOST_CELLS_L1}. Use a tree, or a budget with a delta. "
                "Nothing was read or charged."
            )
        matrix = interval_strategy(cells, squared=is_gaussian)
        query = CellStrategy(column, tuple(tuple(map(int, row)) for row in matrix))
        return PreparedRangeStrategy.noisy(
            self, query_class, schema, [(query, share)], share=share, accounting=accounting
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedRangeStrategy(MeasuredByRequests):
    """The strategy with its noise."""

    def noise(self) -> list[dict[str, Any]]:
        query = self._query
        shown = {"kind": query.kind, "column": query.column}
        return [noise_entry(query, self.law, self.schema, shown=shown)]

    @property
    def _query(self) -> CellStrategy:
        query = self.requests[0].query
        assert isinstance(query, CellStrategy)
        return query

    def error(self, *, rows: int | None, confidence: float) -> ClassError:
        mean, worst = interval_variances(self._query.array)
        return class_error(
            self.query_class,
            self.schema,
            mean=self.law.variance * mean,
            worst=self.law.variance * worst,
            rows=rows,
            confidence=confidence,
            together=strategy_noise_bound(self._query.array, self.law, 1 - confidence),
        )

    def finish(
        self,
        grant: Verbs,
        measured: Sequence[Measurement],
        *,
        public_rows: int | None,
        confidence: float,
    ) -> tuple[Part, tuple[ErrorClaim, ...]]:
        query, (only,) = self._query, measured
        found = cell_intervals(query.array, only.values.astype(np.float64), only.law.variance)
        part = self.part(
            measured,
            estimates={"leaves": smoothed_cells(found, query.column, self.schema)},
            facts={"estimates": "leaves are smoothed non-negative counts of the cells"},
        )
        return part, tree_claims(CellRangeSource(part, self.schema), confidence)
