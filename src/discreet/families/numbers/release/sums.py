"""Sums of a numeric column, its values clamped to the declared bounds.

Guarantee:   the share, by one use of an additive mechanism on an integer.
Adjacency:   the schema's.
Sensitivity: the largest step from one row's value to none (add-remove) or to another (change-one),
             times the unit's rows: `ClampedSum.sensitivity`.
Theorem:     the mechanism's.
Error:       exact quantile of the noise law, divided by the grid. It is the error against the sum of
             the values after clamping and rounding to the grid; integers are not rounded.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from discreet.artifacts.measurement import Measurement
from discreet.artifacts.release import ErrorClaim
from discreet.families.numbers.queries.one_number import Sums
from discreet.families.shared.release.fixed_point import bounds_of, fixed_point_sum
from discreet.families.shared.release.measured import MeasuredAtOnce
from discreet.families.shared.release.protocol import ClassError, of_type
from discreet.privacy.budget import Budget
from discreet.privacy.cost import Accounting
from discreet.queries.classes import QueryClass
from discreet.queries.measurable import ClampedSum
from discreet.schema import Schema

ONE_NUMBER = "exact quantile of the noise law of one number"


@dataclass(frozen=True, slots=True)
class ClampedSums:
    """One noisy fixed-point sum. A null adds 0."""

    name: ClassVar[str] = "clamped-sum"
    kind: ClassVar[str] = "sums"

    def refusal(self, query_class: QueryClass, schema: Schema) -> str | None:
        return None

    def prepare(
        self, query_class: QueryClass, schema: Schema, *, share: Budget, accounting: Accounting
    ) -> PreparedSum:
        asked = of_type(query_class, Sums)
        query = fixed_point_sum(
            asked.column, schema, centred=False, share=share, accounting=accounting
        )
        shared = [(query, share)]
        return PreparedSum.noisy(
            self, asked, schema, shared, share=share, accounting=accounting, query=query
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedSum(MeasuredAtOnce):
    """The sum with its noise."""

    query: ClampedSum

    def error(self, *, rows: int | None, confidence: float) -> ClassError:
        low, high = bounds_of(self.query.column, self.schema)
        half = self.law.half_width(confidence) / self.query.grid
        return ClassError(
            queries=1,
            unit=f"units of {self.query.column}",
            expected=self.law.mean_absolute() / self.query.grid,
            half_width=half,
            simultaneous=half,
            scale=None if rows is None else float(rows * max(abs(low), abs(high))),
        )

    def facts(self) -> dict[str, Any]:
        low, high = bounds_of(self.query.column, self.schema)
        return {
            "column": self.query.column,
            "low": str(low),
            "high": str(high),
            "grid": self.query.grid,
            "nulls": "add nothing",
        }

    def estimates(
        self, measured: Sequence[Measurement], public_rows: int | None
    ) -> dict[str, npt.NDArray[np.generic]]:
        return {"sum": np.array([int(measured[0].values[0]) / self.query.grid])}

    def claims(self, confidence: float) -> tuple[ErrorClaim, ...]:
        bound = self.law.half_width(confidence) / self.query.grid
        return (ErrorClaim(self.query_class.text, bound, confidence, True, ONE_NUMBER),)
