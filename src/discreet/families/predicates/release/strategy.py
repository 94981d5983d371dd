"""Predicates by a matrix of whole numbers: each one for itself, by parts, or an optimised strategy.

Guarantee:   the share, by one use of an additive mechanism on whole numbers.
Adjacency:   the schema's.
Sensitivity: the largest column of the matrix, or difference of two columns: `StrategyCounts`.
Theorem:     the mechanism's; the matrix mechanism (Li, Miklau, Hay, McGregor, Rastogi 2015).
Error:       each answer is a known combination of independent draws of one law.
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
from discreet.families.predicates.estimate.strategies import (
    Strategy,
    independent,
    row_terms,
    strategies,
)
from discreet.families.predicates.queries.predicates import (
    MOST_CELLS,
    Predicates,
    check_single_values,
    columns_of,
    partition,
    read_conditions,
)
from discreet.families.predicates.queries.strategy import InequalityCounts, StrategyCounts
from discreet.families.shared.estimate.combination import half_width
from discreet.families.shared.release.measured import MeasuredAtOnce, noise_entry
from discreet.families.shared.release.protocol import Algorithm, ClassError, Prepared, of_type
from discreet.privacy.budget import Budget
from discreet.privacy.cost import Accounting
from discreet.queries.classes import QueryClass
from discreet.questions.inequality import Inequality, lone_inequality
from discreet.schema import Schema

ONE = "exact noise law of one answer's combination of draws"
ALL = "exact noise laws of the single answers, and the union bound over the predicates"

Query = StrategyCounts | InequalityCounts


@dataclass(frozen=True, slots=True)
class StrategyPredicates:
    """The strategy of least expected error, from public facts; MWEM where that expects less."""

    name: ClassVar[str] = "strategy"
    kind: ClassVar[str] = "predicates"
    chooses: ClassVar[bool] = True

    def refusal(self, query_class: QueryClass, schema: Schema) -> str | None:
        return predicates_refusal(query_class, schema)

    def prepare(
        self, query_class: QueryClass, schema: Schema, *, share: Budget, accounting: Accounting
    ) -> Prepared:
        from discreet.families.predicates.release.mwem import MwemPredicates, least_error

        asked = of_type(query_class, Predicates)
        options: list[PreparedStrategy] = []
        if not told_apart(asked, schema):
            return _independent(asked, schema, share=share, accounting=accounting)
        workload = partition(schema, asked.conditions).workload
        for squared in {
            False,
            *([True] if accounting is not Accounting.BASIC or share.delta else []),
        }:
            for strategy in strategies(workload, squared=squared):
                query = StrategyCounts.of(schema, asked.conditions, strategy.matrix)
                options.append(_prepared(asked, schema, query, strategy, share, accounting))
        best = min(options, key=lambda option: option.expected)
        mwem, people = MwemPredicates(), schema.people
        if people is None or mwem.refusal(asked, schema) is not None:
            return best
        least = least_error(asked, schema, share=share, accounting=accounting, rows=people)
        if least < best.expected:
            other = mwem.prepare(asked, schema, share=share, accounting=accounting)
            if other.foreseen(people) < best.expected:
                return other
        return best


@dataclass(frozen=True, slots=True)
class IndependentPredicates:
    """Independent noise on each predicate."""

    name: ClassVar[str] = "independent"
    kind: ClassVar[str] = "predicates"

    def refusal(self, query_class: QueryClass, schema: Schema) -> str | None:
        return predicates_refusal(query_class, schema)

    def prepare(
        self, query_class: QueryClass, schema: Schema, *, share: Budget, accounting: Accounting
    ) -> PreparedStrategy:
        asked = of_type(query_class, Predicates)
        return _independent(asked, schema, share=share, accounting=accounting)


def _independent(
    asked: Predicates, schema: Schema, *, share: Budget, accounting: Accounting
) -> PreparedStrategy:
    if told_apart(asked, schema):
        query: Query = StrategyCounts.of(schema, asked.conditions)
        strategy = independent(partition(schema, asked.conditions).workload.astype(np.float64))
    else:
        query = _inequalities(asked, schema)
        strategy = Strategy("independent", None, np.eye(len(asked.conditions)))
    return _prepared(asked, schema, query, strategy, share, accounting)


def _prepared(
    asked: Predicates,
    schema: Schema,
    query: Query,
    strategy: Strategy,
    share: Budget,
    accounting: Accounting,
) -> PreparedStrategy:
    is_plain = strategy.name == "independent"
    made_by: Algorithm = IndependentPredicates() if is_plain else StrategyPredicates()
    shared = [(query, share)]
    return PreparedStrategy.noisy(
        made_by, asked, schema, shared, share=share, accounting=accounting, strategy=strategy
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedStrategy(MeasuredAtOnce):
    """The strategy that was chosen, with its noise."""

    strategy: Strategy
    alone: ClassVar[str] = ONE
    together: ClassVar[str] = ALL

    @property
    def expected(self) -> float:
        return math.sqrt(2 / math.pi) * self.law.std * float(self.strategy.reach.mean())

    def noise(self) -> list[dict[str, Any]]:
        (request,) = self.requests
        shown = {"kind": request.query.kind, "strategy": self.strategy.name}
        return [noise_entry(request.query, self.law, self.schema, shown=shown)]

    def _half_width(self, confidence: float) -> float:
        worst = self.strategy.reconstruction[int(np.argmax(self.strategy.reach))]
        return half_width(row_terms(worst, self.law), confidence)

    def error(self, *, rows: int | None, confidence: float) -> ClassError:
        many = len(self.query_class.conditions)
        return ClassError.in_rows(
            rows,
            queries=many,
            expected=self.expected,
            half_width=self._half_width(confidence),
            simultaneous=self._half_width(1 - (1 - confidence) / many),
            note=f"{self.strategy.name} strategy",
        )

    def facts(self) -> dict[str, Any]:
        return {"strategy": self.strategy.name}

    def estimates(
        self, measured: Sequence[Measurement], public_rows: int | None
    ) -> dict[str, npt.NDArray[np.generic]]:
        (one,) = measured
        return {"answers": self.strategy.reconstruction @ one.values}


def told_apart(asked: Predicates, schema: Schema) -> bool:
    """Whether all combinations of cells that the predicates look at can be listed."""
    columns = columns_of(schema, read_conditions(schema, asked.conditions))
    return math.prod(schema.column(name).cells for name in columns) <= MOST_CELLS


def _inequalities(asked: Predicates, schema: Schema) -> InequalityCounts:
    """Over so many cells that they cannot be listed, linear inequalities are counted one by one."""
    found: list[Inequality] = []
    read = read_conditions(schema, asked.conditions)
    for text, condition in zip(asked.conditions, read, strict=True):
        inequality = lone_inequality(condition, schema)
        if inequality is None:
            columns = columns_of(schema, read)
            cells = math.prod(schema.sizes(columns))
            raise BadInput(
                f"its columns {', '.join(columns)} have {cells:,} combinations of cells, and at most "
                f"{MOST_CELLS:,} are told apart, as {text!r} needs. Declare the conditions on fewer "
                "columns as a class of their own, or wider cells. Nothing was read or charged."
            )
        check_single_values(schema, inequality)
        found.append(inequality)
    return InequalityCounts.of(schema, found)


def predicates_refusal(query_class: QueryClass, schema: Schema) -> str | None:
    asked = of_type(query_class, Predicates)
    try:
        if told_apart(asked, schema):
            partition(schema, asked.conditions)
        else:
            _inequalities(asked, schema)
    except BadInput as error:
        return str(error)
    return None
