"""Parities of declared splits: conditions that divide the rows in two, over columns of any kind.

Each parity is one whole number: the rows that satisfy an even number of its splits, less the others.
All parities of up to k splits determine how many rows satisfy any combination of k of them.

Guarantee:   the share: epsilon-DP (discrete Laplace), (epsilon, delta)-DP (rounded Gaussian), or
             rho-zCDP (discrete Gaussian).
Adjacency:   the schema's.
Sensitivity: of a parity, a unit's rows; twice that where rows are changed: `StrategyCounts`, from its
             row of signs.
Theorem:     the mechanisms', and composition over the parities (Barak et al. 2007).
Error:       a count of a combination of k splits is a signed mean of 2^k parities; exact laws.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from discreet.errors import BadInput
from discreet.families.predicates.queries.predicates import partition
from discreet.families.predicates.queries.strategy import StrategyCounts
from discreet.families.shared.release.measured import MeasuredAtOnce
from discreet.families.shared.release.noise_choice import simultaneous_bound
from discreet.families.shared.release.protocol import ClassError
from discreet.families.shared.release.splitting import shares
from discreet.families.tables.queries.parities import Parities, Parity
from discreet.privacy.budget import Budget
from discreet.privacy.cost import Accounting
from discreet.queries.classes import QueryClass
from discreet.queries.measurable import Query
from discreet.schema import Schema

PER_PARITY = "exact quantile of the noise law of one parity"
ALL_PARITIES = "independent draws: product of the parities' exact noise laws"
MOST_PARITIES = 500


@dataclass(frozen=True, slots=True)
class SplitParities:
    """Even noise on the parity of every set of splits."""

    name: ClassVar[str] = "parities-of-splits"
    kind: ClassVar[str] = "split-parities"

    def refusal(self, query_class: QueryClass, schema: Schema) -> str | None:
        if not isinstance(query_class, Parities) or query_class.splits is None:
            return f"{query_class.text} declares no splits."
        many = sum(math.comb(len(query_class.splits), k) for k in range(_degree(query_class) + 1))
        if many > MOST_PARITIES:
            return (
                f"it has {many:,} parities, and at most {MOST_PARITIES:,} of splits are released."
            )
        return None

    def prepare(
        self, query_class: QueryClass, schema: Schema, *, share: Budget, accounting: Accounting
    ) -> PreparedSplits:
        if not isinstance(query_class, Parities) or query_class.splits is None:
            raise BadInput(f"{query_class.text} declares no splits.")
        queries: list[Query] = [] if schema.rows_are_public else [Parity(())]
        queries += [parity_of_splits(schema, each) for each in query_class.split_sets()]
        shared = zip(queries, shares(share, [1] * len(queries)), strict=True)
        return PreparedSplits.noisy(
            self, query_class, schema, shared, share=share, accounting=accounting
        )


def parity_of_splits(schema: Schema, splits: tuple[str, ...]) -> StrategyCounts:
    """+1 for the cells that satisfy an even number of the splits, -1 for the others."""
    satisfied = partition(schema, splits).workload.sum(axis=0)
    return StrategyCounts.of(schema, splits, np.where(satisfied % 2, -1, 1)[None, :])


def _degree(query_class: Parities) -> int:
    assert query_class.degree is not None
    return query_class.degree


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedSplits(MeasuredAtOnce):
    """Every parity of a class with its noise."""

    alone: ClassVar[str] = PER_PARITY
    together: ClassVar[str] = ALL_PARITIES

    def error(self, *, rows: int | None, confidence: float) -> ClassError:
        each = [(law, 1) for law in self.laws]
        return ClassError.in_rows(
            rows,
            queries=len(self.laws),
            expected=sum(law.mean_absolute() for law in self.laws) / len(self.laws),
            half_width=float(max(law.half_width(confidence) for law in set(self.laws))),
            simultaneous=float(simultaneous_bound(each, confidence)),
        )
