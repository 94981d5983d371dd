"""Means and sums of a numeric column, its values clamped to the declared bounds.

Values are measured from the middle of the bounds, the centre, where one row adds least; a null adds
nothing. Two algorithms, and public facts decide between them:

`mean-of-values`: centre + noisy sum / noisy count of the rows that have a value. Under add-remove the
number of rows is a secret, so it is measured too; never is a mean divided by a secret count.

`mean-of-all-rows`: centre + noisy sum / n, for change-one adjacency with one row a person, where n is
public, and a column with nulls = "exclude", which says that nulls are not expected. Should there be
some, each counts as the centre: the release says so. With n public nothing is spent on a count.

Of a mean:

Guarantee:   the share; a sum and, in the first, a count, composed.
Adjacency:   the schema's.
Sensitivity: of the sum, half the bounds' width (add-remove) or all of it (change-one), times the
             unit's rows; of the count, the unit's rows.
Theorem:     the mechanisms', and composition.
Error:       with noise x on the sum and y on the count, (S+x)/(N+y) - S/N = (x - (S/N) y) / (N+y), and
             |S/N| is at most half the width. So with probability `confidence` the error is at most
             q / (noisy count), q the quantile of |x - (width/2) y|: a bound from noisy numbers alone.

Of a sum:

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
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from discreet.artifacts.measurement import Measurement
from discreet.artifacts.release import ErrorClaim, Part
from discreet.families.numbers.queries.one_number import Means, Sums
from discreet.families.shared.estimate.combination import half_width
from discreet.families.shared.release.fixed_point import bounds_of, fixed_point_sum
from discreet.families.shared.release.measured import MeasuredAtOnce, MeasuredByRequests
from discreet.families.shared.release.noise_choice import mean_absolute_of_two
from discreet.families.shared.release.protocol import Algorithm, ClassError, Verbs, of_type
from discreet.families.shared.release.splitting import shares, weights_for_least_squares
from discreet.privacy.budget import Budget
from discreet.privacy.cost import Accounting
from discreet.queries.classes import QueryClass
from discreet.queries.measurable import ClampedSum, PresentCount, Query
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


RATIO = "exact quantile of x - (S/N) y, worst S/N within the bounds, over the noisy count"


@dataclass(frozen=True, slots=True)
class MeanOfAllRows:
    """The mean over all rows, their number public. A null counts as the centre."""

    name: ClassVar[str] = "mean-of-all-rows"
    kind: ClassVar[str] = "means"

    def refusal(self, query_class: QueryClass, schema: Schema) -> str | None:
        if not schema.rows_are_public:
            return (
                "a mean over all rows divides by their number, which is public only under "
                "change-one adjacency with one row for each person."
            )
        column = of_type(query_class, Means).column
        if schema.column(column).nulls != "exclude":
            return (
                f"a mean over all rows would count nulls as the middle of the bounds, and column {column} "
                'declares nulls a cell of their own; declare nulls = "exclude" if none are expected.'
            )
        return None

    def prepare(
        self, query_class: QueryClass, schema: Schema, *, share: Budget, accounting: Accounting
    ) -> PreparedMean:
        return _prepared(self, query_class, schema, share, accounting, counted=False)


@dataclass(frozen=True, slots=True)
class MeanOfValues:
    """The mean over the rows that have a value; their number is measured too."""

    name: ClassVar[str] = "mean-of-values"
    kind: ClassVar[str] = "means"

    def refusal(self, query_class: QueryClass, schema: Schema) -> str | None:
        return None

    def prepare(
        self, query_class: QueryClass, schema: Schema, *, share: Budget, accounting: Accounting
    ) -> PreparedMean:
        return _prepared(self, query_class, schema, share, accounting, counted=True)


def _prepared(
    algorithm: Algorithm,
    query_class: QueryClass,
    schema: Schema,
    share: Budget,
    accounting: Accounting,
    *,
    counted: bool,
) -> PreparedMean:
    column = of_type(query_class, Means).column
    count = PresentCount(column)
    parts = [share]
    if counted:
        # The grid does not change the ratio of the two sensitivities, so any serves here.
        trial = fixed_point_sum(column, schema, centred=True, share=share, accounting=accounting)
        parts = shares(share, _split(trial, count, schema, accounting))
    total = fixed_point_sum(column, schema, centred=True, share=parts[0], accounting=accounting)
    queries: list[Query] = [total, count] if counted else [total]
    shared = zip(queries, parts, strict=True)
    return PreparedMean.noisy(
        algorithm, query_class, schema, shared, share=share, accounting=accounting, total=total
    )


def _split(
    total: ClampedSum, count: PresentCount, schema: Schema, accounting: Accounting
) -> list[int]:
    """Sum and count weighed by what their noise does to a mean that lies anywhere in the bounds alike.

    Its squared distance from the centre is then width^2 / 12 on average, and that is how much
    of the count's noise reaches the mean.
    """
    low, high = bounds_of(total.column, schema)
    of_sum = float(Fraction(total.sensitivity(schema).l1, total.grid)) ** 2
    of_count = count.sensitivity(schema).l1 ** 2 * float(high - low) ** 2 / 12
    return weights_for_least_squares([1, 1], [of_sum, of_count], accounting)


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedMean(MeasuredByRequests):
    """A centred sum and, unless the number of rows is public, a count."""

    total: ClampedSum

    @property
    def counted(self) -> bool:
        return len(self.laws) == 2

    def error(self, *, rows: int | None, confidence: float) -> ClassError:
        """For `rows` rows that have a value.

        Expected: for a mean a quarter of the bounds' width from their middle, the average place.
        Half-width: for a mean at the bounds, the worst place.
        """
        low, high = bounds_of(self.total.column, self.schema)
        width = float(high - low)
        expected = half = None
        if rows is not None:
            step = 1 / self.total.grid
            mean = self.laws[0].mean_absolute() * step
            if self.counted:
                mean = mean_absolute_of_two(step, self.laws[0], width / 4, self.laws[1])
            expected = min(width, mean / rows) if rows else width
            half = self._bound(float(rows), confidence)
        return ClassError(
            queries=1,
            unit=f"units of {self.total.column}",
            expected=expected,
            half_width=half,
            simultaneous=half,
            scale=width,
            note=""
            if rows is not None
            else "give the number of rows: a mean's error depends on it",
        )

    def _quantile(self, confidence: float) -> float:
        """The quantile of the noise in the numerator, for the worst mean."""
        if not self.counted:
            return self.laws[0].half_width(confidence) / self.total.grid
        low, high = bounds_of(self.total.column, self.schema)
        middle = float((high - low) / 2)
        terms = [(1 / self.total.grid, self.laws[0], 1), (middle, self.laws[1], 1)]
        return half_width(terms, confidence)

    def _bound(self, count: float, confidence: float) -> float:
        """Estimates stay within the bounds, so their width is a bound whatever the noise."""
        low, high = bounds_of(self.total.column, self.schema)
        width = float(high - low)
        return min(width, self._quantile(confidence) / count) if count > 0 else width

    def finish(
        self,
        grant: Verbs,
        measured: Sequence[Measurement],
        *,
        public_rows: int | None,
        confidence: float,
    ) -> tuple[Part, tuple[ErrorClaim, ...]]:
        low, high = bounds_of(self.total.column, self.schema)
        if self.counted:
            count = int(measured[1].values[0])
        else:
            assert (
                public_rows is not None
            )  # `refusal` asks for an adjacency under which it is public
            count = public_rows
        mean = self.total.center
        if count > 0:
            mean += Fraction(int(measured[0].values[0]), self.total.grid * count)
        part = self.part(
            measured,
            estimates={"mean": np.array([float(min(high, max(low, mean)))])},
            facts={
                "column": self.total.column,
                "low": str(low),
                "high": str(high),
                "center": str(self.total.center),
                "grid": self.total.grid,
                "denominator": "noisy count" if self.counted else "public rows",
                "nulls": "left out" if self.counted else f"counted as {self.total.center}",
            },
        )
        claim = ErrorClaim(
            query_class=self.query_class.text,
            bound=self._bound(float(count), confidence),
            confidence=confidence,
            simultaneous=True,
            theorem=RATIO if self.counted else ONE_NUMBER,
        )
        return part, (claim,)
