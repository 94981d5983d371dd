"""Marginals by independent noise on every cell: the plainest release, and the benchmark for others.

Guarantee:   the share: epsilon-DP (discrete Laplace), (epsilon, delta)-DP (rounded Gaussian), or
             rho-zCDP (discrete Gaussian).
Adjacency:   the schema's.
Sensitivity: a unit's rows lie in one cell each of every marginal: `Marginal.sensitivity`.
Theorem:     the mechanism's, and composition over the column sets.
Error:       each cell's noise law is exact; over a whole class the draws are independent, so
             P(all errors <= h) is the product of P(|X| <= h).

Over columns of two values, least squares finds whole counts of at least 0 near all the tables together. Questions and synthetic
rows read these, so that answers agree however they are summed, and the claims add how far they lie from the measured cells. Where
such columns leave rows out, the tables are all about the rows that have a cell in each of the columns: tables about different rows
cannot agree. Over other columns, and over more of them, answers add up too: see `answer.together.agreement`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from discreet.arrays import Floats
from discreet.artifacts.measurement import Measurement
from discreet.artifacts.release import ANSWERS, ErrorClaim, Part
from discreet.engines.protocol import LARGEST_MARGINAL
from discreet.families.shared.estimate.combination import inverse_variance_weights
from discreet.families.shared.release.measured import MeasuredAtOnce
from discreet.families.shared.release.noise_choice import simultaneous_bound
from discreet.families.shared.release.protocol import ClassError, of_type
from discreet.families.shared.release.splitting import shares, weights_for_least_squares
from discreet.families.tables.answer.evidence import (
    AGREEING_WITHIN,
    COMPLETE_ROWS,
    WITHOUT_A_CELL,
    agreement_of,
    kept_empty,
    whole_counts_of,
)
from discreet.families.tables.answer.linear_tables import Agreed
from discreet.families.tables.answer.together.agreement import AgreedTables, of_counts, of_one_table
from discreet.families.tables.estimate.consistent import (
    ConsistentTables,
    DirectTable,
    summed_to,
)
from discreet.families.tables.estimate.residuals import ResidualTables
from discreet.families.tables.estimate.whole_tables import nearest_to_tables
from discreet.families.tables.queries.complete_tables import MOST_CELLS, CompleteTable
from discreet.families.tables.queries.marginals import Marginals
from discreet.families.tables.release.predicted_variation import NoiseTogether, mean_absolute
from discreet.families.tables.release.residual_planning import weighing_cells
from discreet.families.tables.release.whole_answers import (
    agreeing_facts,
    are_boolean,
    claims_of_agreed_counts,
    claims_of_whole_counts,
    columns_of,
    should_be_whole,
    whole_facts,
)
from discreet.privacy.budget import Budget
from discreet.privacy.cost import Accounting
from discreet.privacy.laws import NoiseLaw
from discreet.queries.classes import QueryClass
from discreet.queries.measurable import Marginal
from discreet.schema import Schema, keeps_every_row

PER_CELL = "exact quantile of the noise law of one cell"
ALL_CELLS = "independent draws: product of the cells' exact noise laws"
MOST_SETS = 10_000
"""Tables of one class; beyond, each gets too little of the budget to be of use."""
MOST_SUBSETS = 1 << 17
"""Subsets of the columns of all tables; beyond, a plan does not wait for what they say together."""


@dataclass(frozen=True, slots=True)
class DirectMarginals:
    """Independent noise on each cell of each column set, the budget split for least squared error."""

    name: ClassVar[str] = "direct"
    kind: ClassVar[str] = "marginals"

    def refusal(self, query_class: QueryClass, schema: Schema) -> str | None:
        sets = of_type(query_class, Marginals).sets(schema)
        if len(sets) > MOST_SETS:
            return f"it has {len(sets):,} column sets, and at most {MOST_SETS:,} are released; name the ones you need."
        cells = [Marginal(columns).size(schema) for columns in sets]
        if max(cells, default=1) > LARGEST_MARGINAL:
            return (
                f"a table of {max(cells):,} cells is more than the {LARGEST_MARGINAL:,} that are counted one by "
                "one; use wider cells or fewer columns."
            )
        return too_many_cells(sets, schema)

    def prepare(
        self, query_class: QueryClass, schema: Schema, *, share: Budget, accounting: Accounting
    ) -> PreparedMarginals:
        asked = of_type(query_class, Marginals)
        sets = asked.sets(schema)
        names = columns_of(sets, schema)
        complete = _must_be_complete(sets, schema)
        queries = [
            CompleteTable(names, columns) if complete else Marginal(columns) for columns in sets
        ]
        sizes = [query.size(schema) for query in queries]
        # All sets have the same sensitivity, so only their sizes and declared weights matter.
        matters = [float(weight) for weight in asked.weights(schema)]
        cells = [weighing_cells(size, schema) for size in sizes]
        weights = weights_for_least_squares(cells, matters, accounting)
        shared = zip(queries, shares(share, weights), strict=True)
        return PreparedMarginals.noisy(
            self, asked, schema, shared, share=share, accounting=accounting, sizes=tuple(sizes)
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedMarginals(MeasuredAtOnce):
    """Every column set of the class with its noise."""

    sizes: tuple[int, ...]
    kept: dict[str, list[float]] = field(default_factory=dict, compare=False, repr=False)
    """The expected errors, once they were asked for: a plan asks many times."""
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
        errors = zip(self.errors_of_tables(), self.sizes, strict=True)
        return sum(error * size for error, size in errors) / sum(self.sizes)

    def weighed(self) -> float:
        """The same, as it is compared with other releases: no table weighs more than people do."""
        cells = [weighing_cells(size, self.schema) for size in self.sizes]
        errors = zip(self.errors_of_tables(), cells, strict=True)
        return sum(error * size for error, size in errors) / sum(cells)

    def errors_of_tables(self) -> list[float]:
        """Mean absolute error of a cell of each table, as it is once tables that share columns are put together."""
        if "errors" not in self.kept:
            self.kept["errors"] = self._errors()
        return self.kept["errors"]

    def _errors(self) -> list[float]:
        together = self._together()
        if together is None:
            return [mean_absolute(law) for law in self.laws]
        return together.errors()

    def variances_of_columns(self) -> dict[str, float]:
        """The variance of the noise in a cell of each single column; none for tables that are not put together."""
        together, names = self._together(), columns_of(self._sets, self.schema)
        return {} if together is None else {name: together.variance((name,)) for name in names}

    def _together(self) -> NoiseTogether | None:
        together = not self._leaves_rows_out or _must_be_complete(self._sets, self.schema)
        if not together or sum(2 ** len(columns) for columns in self._sets) > MOST_SUBSETS:
            return None
        cells = {column.name: column.cells for column in self.schema.columns}
        public = self.schema.rows_are_public and not self._leaves_rows_out
        return NoiseTogether.of(self._sets, self.laws, cells, rows_are_public=public)

    @property
    def _sets(self) -> tuple[tuple[str, ...], ...]:
        return of_type(self.query_class, Marginals).sets(self.schema)

    @property
    def _leaves_rows_out(self) -> bool:
        names = columns_of(self._sets, self.schema)
        return not all(keeps_every_row(self.schema.column(name)) for name in names)

    @property
    def _is_read_whole(self) -> bool:
        """Whether answers are read from one table over all the columns."""
        if len(self._sets) == 1:
            return are_boolean(self._sets, self.schema)
        agree = not self._leaves_rows_out or _must_be_complete(self._sets, self.schema)
        return agree and should_be_whole(self._sets, self.schema)

    def _tables(self, measured: Sequence[Measurement]) -> list[DirectTable]:
        """The tables of the class. What an adaptive release measured before them is not among them."""
        tables = [each for each in measured if isinstance(each.query, Marginal | CompleteTable)]
        return [
            DirectTable(own, each.values.reshape(self.schema.sizes(own)), each.law)
            for own, each in zip(self._sets, tables, strict=True)
        ]

    def _agreed(self, measured: Sequence[Measurement], public_rows: int | None) -> ConsistentTables:
        rows = None if self._leaves_rows_out else public_rows
        before = ResidualTables(self.schema, measured, rows=rows)
        return ConsistentTables(before, self._tables(measured))

    @property
    def _agreeing_facts(self) -> dict[str, Any]:
        if self._leaves_rows_out and not _must_be_complete(self._sets, self.schema):
            return {ANSWERS: kept_empty(AGREEING_WITHIN, self.schema)}
        return agreeing_facts(self._sets, self.schema)

    def facts(self) -> dict[str, Any]:
        if not self._is_read_whole:
            return self._agreeing_facts
        found = whole_facts(self._sets, self.schema)
        return {**found, WITHOUT_A_CELL: COMPLETE_ROWS} if self._leaves_rows_out else found

    def estimates(
        self, measured: Sequence[Measurement], public_rows: int | None
    ) -> dict[str, npt.NDArray[np.generic]]:
        if not self._is_read_whole or len(self._sets) == 1:
            return {}  # the whole counts near one table are found by whoever reads it
        agreed = self._agreed(measured, public_rows)
        names = columns_of(self._sets, self.schema)
        return {**nearest_to_tables(agreed, names, self._sets, self.schema).stored()}

    def claims_of(
        self, part: Part, claims: tuple[ErrorClaim, ...], public_rows: int | None
    ) -> tuple[ErrorClaim, ...]:
        found = whole_counts_of(part, self.schema, public_rows)
        agreed = self._agreed(part.noisy, public_rows)
        if found:
            return claims_of_whole_counts(
                claims, found[0].over, agreed.table, self._sets, public_rows
            )
        (agreement,) = agreement_of(part, self.schema, self._sets)
        if agreement.within:
            return claims_of_agreed_counts(claims, self._alone(part.noisy, public_rows))
        tables = AgreedTables(agreement, agreed, self.schema, public_rows)
        return claims_of_agreed_counts(
            claims, ((agreed.table(own), tables.over(own)) for own in self._sets)
        )

    def _alone(
        self, measured: Sequence[Measurement], public_rows: int | None
    ) -> Iterator[tuple[Floats, Agreed | None]]:
        """Each table, and the counts that agree with it alone. Larger ones that leave out no other rows say something of it too."""
        tables = self._tables(measured)
        for own in self._sets:
            found = [table for table in tables if self._leaves_out_the_same(own, table.columns)]
            if len(found) == 1:
                alone = of_one_table(found[0], self.schema, public_rows)
                yield found[0].counts.astype(np.float64), alone.over(own)
                continue
            many = [table.counts.size // prod(self.schema.sizes(own)) for table in found]
            noise = [table.law.variance * each for table, each in zip(found, many, strict=True)]
            counts = sum(
                weight * summed_to(table, own)
                for weight, table in zip(inverse_variance_weights(noise), found, strict=True)
            )
            counts = np.asarray(counts, dtype=np.float64)
            yield counts, of_counts(own, counts, self.schema, public_rows)

    def _leaves_out_the_same(self, own: tuple[str, ...], columns: tuple[str, ...]) -> bool:
        extra = [self.schema.column(name) for name in columns if name not in own]
        return set(own) <= set(columns) and all(map(keeps_every_row, extra))


def too_many_cells(sets: Sequence[tuple[str, ...]], schema: Schema) -> str | None:
    """Why all of these tables cannot be measured: each may be small enough, and all of them together not."""
    cells = sum(prod(schema.sizes(columns)) for columns in sets)
    if cells <= LARGEST_MARGINAL:
        return None
    widest = max(columns_of(sets, schema), key=lambda name: schema.column(name).cells)
    return (
        f"its {len(sets):,} tables have {cells:,} cells together, more than the {LARGEST_MARGINAL:,} that are held in memory; "
        f"use wider cells (the column {widest} has {schema.column(widest).cells:,}), or name the tables you need."
    )


def _must_be_complete(sets: Sequence[tuple[str, ...]], schema: Schema) -> bool:
    """Whether the tables are of the rows that have a cell in each of their columns together.

    So it is for boolean columns that leave rows out, where tables share columns. Single columns have nothing to agree on; and beyond
    `MOST_CELLS` combinations of cells it is not known of a row whether it has all of its cells.
    """
    names = columns_of(sets, schema)
    shares = len(sets) > 1 and any(len(columns) > 1 for columns in sets)
    leaves_out = not all(keeps_every_row(schema.column(name)) for name in names)
    small = prod(schema.sizes(names)) <= MOST_CELLS
    return shares and leaves_out and small and are_boolean(sets, schema)
