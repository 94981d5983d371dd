"""Marginals by noise on all cells of the whole table: the first of the classical releases, for reference.

Every smaller table is a sum of noisy cells, so all of them agree, and the error of each grows with the
number of cells that it sums: with the square root of it.

The whole table has a cell for each combination of cells, and a row without a cell in one of its columns (a null that
the schema leaves out) is in none of them. So such a row is in no table of the release, and answers say so.

Guarantee:   the share: epsilon-DP (discrete Laplace), (epsilon, delta)-DP (rounded Gaussian), or
             rho-zCDP (discrete Gaussian).
Adjacency:   the schema's.
Sensitivity: a unit's rows lie in one cell each: `Marginal.sensitivity`.
Theorem:     the mechanism's.
Error:       the exact law of a sum of independent draws. Questions read whole counts of at least 0: over columns of two
             values the nearest. The claims of a release add how far these lie from the noisy sums.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from math import prod
from typing import Any, ClassVar

import numpy as np

from discreet.arrays import Floats
from discreet.artifacts.release import ANSWERS, ErrorClaim, Part
from discreet.engines.protocol import LARGEST_MARGINAL
from discreet.families.shared.answer.evidence import measured_numbers, reduced
from discreet.families.shared.release.measured import MeasuredAtOnce
from discreet.families.shared.release.protocol import ClassError, of_type
from discreet.families.tables.answer.evidence import (
    AGREEING,
    COMPLETE_ROWS,
    FROM_WHOLE_TABLE,
    WITHOUT_A_CELL,
    has_two_values,
    kept_empty,
    whole_counts_of,
)
from discreet.families.tables.answer.together.agreement import of_one_table
from discreet.families.tables.estimate.consistent import DirectTable
from discreet.families.tables.queries.marginals import Marginals
from discreet.families.tables.release.whole_answers import (
    claims_of_agreed_counts,
    claims_of_whole_counts,
)
from discreet.privacy.budget import Budget
from discreet.privacy.cost import Accounting
from discreet.privacy.laws.sums import sum_half_width
from discreet.queries.classes import QueryClass
from discreet.queries.measurable import Marginal
from discreet.schema import Schema, keeps_every_row

PER_CELL = "exact quantile of a sum of draws of the noise law"
ALL_CELLS = "exact quantile of a sum of draws, and the union bound over the class"


@dataclass(frozen=True, slots=True)
class AllCells:
    """Independent noise on each combination of cells of all columns that the class names."""

    name: ClassVar[str] = "all-cells"
    kind: ClassVar[str] = "marginals"

    def refusal(self, query_class: QueryClass, schema: Schema) -> str | None:
        asked = of_type(query_class, Marginals)
        names = _names(asked, schema)
        cells = prod(schema.column(name).cells for name in names)
        if cells > LARGEST_MARGINAL:
            return (
                f"all its columns have {cells:,} combinations of cells, more than the {LARGEST_MARGINAL:,} "
                "that are counted one by one."
            )
        return None

    def prepare(
        self, query_class: QueryClass, schema: Schema, *, share: Budget, accounting: Accounting
    ) -> PreparedAllCells:
        query = Marginal(_names(of_type(query_class, Marginals), schema))
        return PreparedAllCells.noisy(
            self, query_class, schema, [(query, share)], share=share, accounting=accounting
        )


def _names(query_class: Marginals, schema: Schema) -> tuple[str, ...]:
    sets = query_class.sets(schema)
    return tuple(c.name for c in schema.columns if any(c.name in each for each in sets))


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedAllCells(MeasuredAtOnce):
    """The whole table with its noise."""

    alone: ClassVar[str] = PER_CELL
    together: ClassVar[str] = ALL_CELLS

    @property
    def _draws(self) -> list[tuple[int, int]]:
        """For each table of the class: how many cells it has, and how many draws make one of them."""
        sizes = [prod(self.schema.sizes(each)) for each in self.query_class.sets(self.schema)]
        whole = self.requests[0].query.size(self.schema)
        return [(size, whole // size) for size in sizes]

    def error(self, *, rows: int | None, confidence: float) -> ClassError:
        cells = sum(size for size, _ in self._draws)
        most = max(draws for _, draws in self._draws)
        level = 1 - (1 - confidence) / cells
        return ClassError.in_rows(
            rows,
            queries=cells,
            expected=self.expected(),
            half_width=float(sum_half_width(self.law, most, confidence)),
            simultaneous=float(sum_half_width(self.law, most, level)),
        )

    def expected(self) -> float:
        """Mean absolute error of a cell: that of a sum of many draws is all but normal."""
        total = 0.0
        for size, draws in self._draws:
            alone = self.law.mean_absolute()
            summed = math.sqrt(2 / math.pi * draws) * self.law.std
            total += size * (alone if draws == 1 else summed)
        return total / sum(size for size, _ in self._draws)

    def facts(self) -> dict[str, Any]:
        names = _names(of_type(self.query_class, Marginals), self.schema)
        losing = [name for name in names if not keeps_every_row(self.schema.column(name))]
        said: dict[str, Any] = {WITHOUT_A_CELL: COMPLETE_ROWS} if losing else {}
        if has_two_values(names, self.schema):
            return {**said, ANSWERS: kept_empty(FROM_WHOLE_TABLE, self.schema)}
        return {**said, ANSWERS: kept_empty(AGREEING, self.schema)}

    def claims_of(
        self, part: Part, claims: tuple[ErrorClaim, ...], public_rows: int | None
    ) -> tuple[ErrorClaim, ...]:
        """Answers are whole counts near the noisy ones, and the claims allow for that."""
        (noisy,) = measured_numbers(part, self.schema).tables
        found = whole_counts_of(part, self.schema, public_rows)

        def sums(columns: tuple[str, ...]) -> Floats:
            return reduced(noisy, columns).astype(np.float64)

        sets = self.query_class.sets(self.schema)
        if found:
            return claims_of_whole_counts(claims, found[0].over, sums, sets, public_rows)
        table = DirectTable(noisy.columns, noisy.counts, noisy.law)
        rows = None if WITHOUT_A_CELL in part.facts else public_rows
        alone = of_one_table(table, self.schema, public_rows, rows=rows)
        return claims_of_agreed_counts(claims, ((sums(own), alone.over(own)) for own in sets))
