"""Predicates and intervals by a private choice among all small databases: section 3 of the paper.

One use of the exponential mechanism chooses a database of m rows that is as good as the table for every
query of the class, nearly. It takes time and memory that grow with the number of such databases, so it is
for few kinds of points, or for one ordered column. It is here to be measured against: on most tables
the defaults err less (`docs/general.md`).

Guarantee:   epsilon-DP by one selection with the whole share.
Adjacency:   change-one only: a database of m rows stands for a public number n of rows.
Sensitivity: of a database's error, one row.
Theorem:     3.1, with m from lemma 3.2 and explicit constants: `theory.sample_sizes`.
Error:       the same for all queries of the class at once, but for a probability of delta.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from discreet.artifacts.measurement import Measurement
from discreet.artifacts.release import ErrorClaim, Part
from discreet.core.mechanisms import Exponential
from discreet.errors import BadInput
from discreet.families.predicates.answer.sanitised import kinds_of
from discreet.families.predicates.queries.predicates import Predicates
from discreet.families.predicates.release.strategy import predicates_refusal, told_apart
from discreet.families.ranges.queries.ranges import Intervals
from discreet.families.ranges.release.error import range_queries
from discreet.families.shared.release.protocol import (
    USUAL_ROWS,
    ClassError,
    PreparedClass,
    Verbs,
    of_type,
)
from discreet.privacy.budget import Budget
from discreet.privacy.cost import Accounting, Cost
from discreet.privacy.shares import selection_epsilon
from discreet.queries.classes import QueryClass
from discreet.queries.multisets import multisets, numbered
from discreet.reference.general.promise import (
    THEOREM,
    ListedPromise,
    WalkPlan,
    walk_plan,
    walk_rows_needed,
)
from discreet.reference.general.scores import ListedDatabases, OrderedDatabases
from discreet.schema import Schema, keeps_every_row
from discreet.theory import vc_dimension
from discreet.theory.sample_sizes import QueryShape, price_of_privacy

MOST_KINDS, MOST_VALUES = 4096, 4096
SHOWN_ERRORS = (0.1, 0.01)


@dataclass(frozen=True, slots=True)
class GeneralPredicates:
    """Any list of predicates, over all multisets of the kinds of points that they tell apart."""

    name: ClassVar[str] = "general"
    kind: ClassVar[str] = "sanitised"

    def refusal(self, query_class: QueryClass, schema: Schema) -> str | None:
        asked = of_type(query_class, Predicates)
        refusal = _rows_refusal(schema) or predicates_refusal(query_class, schema)
        if refusal is None and not told_apart(asked, schema):
            refusal = "general lists all combinations of cells, and there are too many."
        if refusal is None:
            kinds = kinds_of(schema, asked).workload.shape[1]
            if kinds > MOST_KINDS:
                refusal = (
                    f"its predicates tell {kinds:,} kinds of points apart, and general lists databases of at most "
                    f"{MOST_KINDS:,}."
                )
        return refusal

    def prepare(
        self, query_class: QueryClass, schema: Schema, *, share: Budget, accounting: Accounting
    ) -> PreparedListed:
        asked = of_type(query_class, Predicates)
        alpha = selection_epsilon(share)
        return PreparedListed.of(self, asked, schema, share, alpha=alpha)


@dataclass(frozen=True, slots=True)
class GeneralIntervals:
    """All intervals of one column, over all multisets of its values."""

    name: ClassVar[str] = "general"
    kind: ClassVar[str] = "buckets"

    def refusal(self, query_class: QueryClass, schema: Schema) -> str | None:
        (name,) = of_type(query_class, Intervals).columns
        values = schema.column(name).value_cells
        if values > MOST_VALUES:
            return (
                f"column {name} has {values:,} values, and general counts databases over at most "
                f"{MOST_VALUES:,}."
            )
        return _rows_refusal(schema)

    def prepare(
        self, query_class: QueryClass, schema: Schema, *, share: Budget, accounting: Accounting
    ) -> PreparedWalk:
        asked = of_type(query_class, Intervals)
        alpha = selection_epsilon(share)
        return PreparedWalk.of(self, asked, schema, share, alpha=alpha)


def _rows_refusal(schema: Schema) -> str | None:
    if schema.rows_are_public:
        return None
    return (
        "general stands a small database for a public number of rows, which exists only under "
        "change-one adjacency with one row for each person."
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedGeneral(PreparedClass):
    """One selection, with the whole share."""

    alpha: Fraction

    @property
    def _selecting(self) -> Exponential:
        return Exponential(epsilon=self.alpha)

    def costs(self) -> tuple[Cost, ...]:
        return (self._selecting.cost(),)

    def noise(self) -> list[dict[str, Any]]:
        return []

    def _note(
        self,
        rows: int,
        bound: float,
        size: int,
        shape: QueryShape,
        confidence: float,
        needed: Callable[[float, float], float],
    ) -> str:
        """What the theorem says, the rows that smaller errors need, and the price of privacy."""
        many = multisets(shape.kinds, size)
        shown = f"{many:,}" if many < 10**7 else f"10^{len(str(many)) - 1}"
        promised = "nothing" if bound >= rows else f"{bound / rows:.3g} n"
        said = [
            f"theorem 3.1 bounds all queries at once, at confidence {confidence:g}: {promised} for n = "
            f"{rows:,}, by a choice among {shown} databases of m = {size:,} rows over {shape.kinds:,} kinds "
            f"of points; VC dimension {shape.dimension}"
        ]
        for error in SHOWN_ERRORS:
            alone = needed(error, 1 - confidence)
            price = price_of_privacy(
                shape, error=error, alpha=float(self.alpha), delta=1 - confidence, needed=needed
            )
            if alone == math.inf:
                said.append(f"no size that can be drawn reaches {error:.0%} of the rows")
                break
            privately = (
                "more than can be drawn"
                if price.with_privacy == math.inf
                else f"{price.with_privacy:,.0f}"
            )
            said.append(
                f"{error:.0%} of the rows needs n = {alone:,.0f}; {error:.0%} of the population that "
                f"they were drawn from, {price.without_privacy:,} without privacy and {privately} with it"
            )
        return "; ".join(said)

    def _claim(self, error: float, confidence: float) -> ErrorClaim:
        return ErrorClaim(self.query_class.text, error, confidence, True, THEOREM)


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedListed(PreparedGeneral):
    """The predicates, and the kinds of points that they tell apart."""

    def promise(self, confidence: float) -> ListedPromise:
        """What is promised for the predicates, with that probability."""
        workload = kinds_of(self.schema, self.query_class).workload
        distinct = np.unique(workload, axis=0)
        shape = QueryShape(
            kinds=workload.shape[1],
            queries=len(distinct),
            dimension=vc_dimension.searched(distinct),
        )
        return ListedPromise(shape=shape, alpha=float(self.alpha), delta=1 - confidence)

    def error(self, *, rows: int | None, confidence: float) -> ClassError:
        promise = self.promise(confidence)
        assumed = rows if rows is not None else self.schema.people or USUAL_ROWS
        bound, size, shape = promise.error(assumed), promise.size(assumed), promise.shape
        return ClassError.in_rows(
            rows,
            queries=len(self.query_class.conditions),
            expected=bound,
            half_width=bound,
            simultaneous=bound,
            note=self._note(assumed, bound, size, shape, confidence, promise.rows_needed),
        )

    def finish(
        self,
        grant: Verbs,
        measured: Sequence[Measurement],
        *,
        public_rows: int | None,
        confidence: float,
    ) -> tuple[Part, tuple[ErrorClaim, ...]]:
        rows, promise = _known(public_rows), self.promise(confidence)
        found, size = kinds_of(self.schema, self.query_class), promise.size(rows)
        candidates = ListedDatabases(found.columns, found.part, found.workload, size, rows)
        chosen = grant.select(candidates, self._selecting)
        database = np.array(numbered(chosen.chosen, found.workload.shape[1], size), dtype=np.int64)
        error = promise.error(rows)
        part = self.part(
            [chosen],
            estimates={"database": database},
            facts={"size": size, "error": error, "delta": 1 - confidence, "theorem": THEOREM},
        )
        return part, (self._claim(error, confidence),)


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedWalk(PreparedGeneral):
    """The column's values, and one more kind for rows without one."""

    @property
    def _kinds(self) -> tuple[str, int, bool]:
        column = self.schema.column(self.query_class.columns[0])
        with_rest = column.cells > column.value_cells or not keeps_every_row(column)
        return column.name, column.value_cells, with_rest

    @property
    def shape(self) -> QueryShape:
        """The intervals of the column, as the theorem sees them."""
        _, values, with_rest = self._kinds
        return QueryShape(
            kinds=values + with_rest,
            queries=range_queries(self.query_class, self.schema),
            dimension=vc_dimension.intervals(values),
        )

    def _plan(self, rows: int, confidence: float) -> WalkPlan:
        return walk_plan(
            kinds=self.shape.kinds, rows=rows, alpha=float(self.alpha), delta=1 - confidence
        )

    def error(self, *, rows: int | None, confidence: float) -> ClassError:
        assumed = rows if rows is not None else self.schema.people or USUAL_ROWS
        plan = self._plan(assumed, confidence)
        shape, alpha = self.shape, float(self.alpha)

        def needed(error: float, delta: float) -> float:
            return walk_rows_needed(kinds=shape.kinds, error=error, alpha=alpha, delta=delta)

        return ClassError.in_rows(
            rows,
            queries=shape.queries,
            expected=plan.error,
            half_width=plan.error,
            simultaneous=plan.error,
            note=self._note(assumed, plan.error, plan.size, shape, confidence, needed),
        )

    def finish(
        self,
        grant: Verbs,
        measured: Sequence[Measurement],
        *,
        public_rows: int | None,
        confidence: float,
    ) -> tuple[Part, tuple[ErrorClaim, ...]]:
        rows = _known(public_rows)
        plan = self._plan(rows, confidence)
        name, values, with_rest = self._kinds
        candidates = OrderedDatabases(
            name, values, with_rest, plan.size, rows, plan.levels, plan.of_intervals
        )
        chosen = grant.select(candidates, self._selecting)
        walk = np.cumsum(numbered(chosen.chosen, candidates.kinds, plan.size), dtype=np.int64)
        counts = np.diff(rows * walk // plan.size, prepend=0)[:values]
        part = self.part(
            [chosen],
            estimates={
                "starts 0": np.arange(values, dtype=np.int64),
                "counts": counts.astype(np.float64),
            },
            facts={
                "size": plan.size,
                "error": plan.error,
                "delta": 1 - confidence,
                "theorem": THEOREM,
            },
        )
        return part, (self._claim(plan.error, confidence),)


def _known(public_rows: int | None) -> int:
    if public_rows is None:
        raise BadInput("general needs the number of rows, which is a secret here.")
    return public_rows
