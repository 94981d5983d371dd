"""Means and sums of numeric columns in every group, values clamped to the declared bounds.

Two ways to measure a mean, and the one of the smaller expected error is taken, from public facts:

`group-ends`: of each group the sum of (value - low) and the sum of (high - value). One row moves the
two together by no more than one of them alone, so sum and count cost no more than a sum. It is the
better one under Laplace noise, and under change-one adjacency.

`group-split`: of each group a sum from the middle of the bounds, and a count, each with a part of the
share. It is the better one where rho is shared under add-remove adjacency: there a split loses nothing,
and the parts can be weighed.

For sums, `group-sums` measures the sum alone, and is taken where the bounds do not begin or end at 0.

Guarantee:   the share, by additive mechanisms on integers, composed over the measured columns.
Adjacency:   the schema's.
Sensitivity: `GroupEnds`, `GroupSums`, `GroupCounts`: groups are disjoint, so their number does not enter.
Theorem:     the mechanisms'; the K-norm mechanism for the two ends (Hardt and Talwar 2010).
Error:       each sum and count is a known combination of independent draws; a mean's interval inverts
             tests of them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Literal

from discreet.artifacts.measurement import Measurement
from discreet.artifacts.release import ErrorClaim, Part
from discreet.families.groups.answer.bounds import (
    EACH_GROUP,
    LARGE_GROUPS,
    large_groups,
    means_bound,
    number_bound,
)
from discreet.families.groups.answer.noisy_columns import Form, form_of, noise_width
from discreet.families.groups.queries.classes import ByGroup, GroupedSums
from discreet.families.groups.queries.group_sums import GroupCounts, GroupEnds, GroupSums
from discreet.families.shared.release.fixed_point import bounds_of, fixed_point_sum
from discreet.families.shared.release.measured import MeasuredByRequests
from discreet.families.shared.release.protocol import ClassError, Prepared, Verbs, of_type
from discreet.families.shared.release.splitting import (
    LEAST_VARIANCE,
    shares,
    weights_for_least_squares,
)
from discreet.privacy.budget import Budget
from discreet.privacy.cost import Accounting
from discreet.privacy.exact import confidence_level
from discreet.privacy.laws import NoiseLaw
from discreet.queries.classes import QueryClass
from discreet.queries.measurable import Query
from discreet.schema import Schema

KIND = "group-numbers"
Way = Literal["group-ends", "group-split", "group-sums"]
EVENLY = "as if the rows were spread evenly over the groups"


@dataclass(frozen=True, slots=True)
class _GroupNumbers:
    """One way to measure."""

    name: ClassVar[Way]
    kind: ClassVar[str] = KIND

    def refusal(self, query_class: QueryClass, schema: Schema) -> str | None:
        return None

    def prepare(
        self, query_class: QueryClass, schema: Schema, *, share: Budget, accounting: Accounting
    ) -> PreparedGroupNumbers:
        made = of_type(query_class, ByGroup)
        columns = made.measured(schema)
        asked: list[tuple[Query, Budget]] = []
        for column, part in zip(columns, shares(share, [1] * len(columns)), strict=True):
            asked += _queries(self.name, column, made.groups(schema), schema, part, accounting)
        return PreparedGroupNumbers.noisy(
            self, query_class, schema, asked, share=share, accounting=accounting
        )


@dataclass(frozen=True, slots=True)
class GroupEndSums(_GroupNumbers):
    """The sums from both bounds: counts, sums and means of all groups."""

    name: ClassVar[Way] = "group-ends"


@dataclass(frozen=True, slots=True)
class GroupSplit(_GroupNumbers):
    """Centred sums and counts, each with a part of the share."""

    name: ClassVar[Way] = "group-split"


@dataclass(frozen=True, slots=True)
class GroupPlainSums(_GroupNumbers):
    """Sums alone."""

    name: ClassVar[Way] = "group-sums"


@dataclass(frozen=True, slots=True)
class BestGroupNumbers:
    """Whichever way expects the smaller error; of equal ones that which also counts."""

    name: ClassVar[str] = "best-group-numbers"
    kind: ClassVar[str] = KIND
    chooses: ClassVar[bool] = True

    def refusal(self, query_class: QueryClass, schema: Schema) -> str | None:
        return None

    def prepare(
        self, query_class: QueryClass, schema: Schema, *, share: Budget, accounting: Accounting
    ) -> Prepared:
        other = GroupPlainSums() if isinstance(query_class, GroupedSums) else GroupSplit()
        ways = (GroupEndSums(), other)
        options = [
            way.prepare(query_class, schema, share=share, accounting=accounting) for way in ways
        ]
        return min(options, key=lambda each: round(each.log_error(), 9))


def _queries(
    way: Way,
    column: str,
    groups: tuple[str, ...],
    schema: Schema,
    share: Budget,
    accounting: Accounting,
) -> list[tuple[Query, Budget]]:
    whole = schema.column(column).kind in ("integer", "boolean")
    plain = fixed_point_sum(
        column, schema, centred=way != "group-sums", share=share, accounting=accounting
    )
    if way == "group-ends":
        return [(GroupEnds(column, groups, 1 if whole else plain.grid), share)]
    if way == "group-sums":
        return [(GroupSums(column, groups, 1 if whole else plain.grid, 0), share)]
    low, high = bounds_of(column, schema)
    grid = ((low + high) / 2).denominator if whole else plain.grid
    total = GroupSums(column, groups, grid, round((low + high) / 2 * grid))
    count = GroupCounts(column, groups)
    # Sum and count weighed by what their noise does to a mean that lies anywhere in the bounds alike:
    # its squared distance from the centre is then width^2 / 12 on average.
    of_sum = total.sensitivity(schema).l2_squared / Fraction(grid) ** 2
    of_count = count.sensitivity(schema).l2_squared * (high - low) ** 2 / 12
    weights = weights_for_least_squares([1, 1], [float(of_sum), float(of_count)], accounting)
    return list(zip((total, count), shares(share, weights), strict=True))


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedGroupNumbers(MeasuredByRequests):
    """The sums of all measured columns, with their noise."""

    def _columns(self) -> list[tuple[str, Form, tuple[NoiseLaw, ...]]]:
        """Each column with how its vectors are combined, and their noise."""
        found: list[tuple[str, Form, tuple[NoiseLaw, ...]]] = []
        for request, law in zip(self.requests, self.laws, strict=True):
            query = request.query
            if isinstance(query, GroupCounts):
                column, form, own = found.pop()
                found.append((column, form, (*own, law)))
                continue
            assert isinstance(query, GroupEnds | GroupSums)
            counted = self.algorithm == "group-split"
            form = form_of(query, self.schema, counted=counted)
            vectors = (law, law) if isinstance(query, GroupEnds) else (law,)
            found.append((query.column, form, vectors))
        return found

    def _weights(self, column: str, form: Form) -> tuple[float, ...]:
        """How each measured vector's noise is weighted in a sum, or in the numerator of a mean."""
        if not self.query_class.is_mean:
            return form.total
        low, high = map(float, bounds_of(column, self.schema))
        # On average a mean lies a quarter of the width from the middle.
        at = low + 3 / 4 * (high - low)
        return form.noise(at, at)

    def _values(self, rows: int | None) -> Fraction:
        """How many values each group has if they are spread evenly."""
        return Fraction(rows or 0, self.query_class.cells(self.schema))

    def _bound(self, rows: int | None, miss: Fraction) -> float:
        """A bound on the error of a sum, or of the mean of a group of average size."""
        columns = list(self._columns())
        if not self.query_class.is_mean:
            return max(noise_width(form.total, laws, 1, 1 - miss) for _, form, laws in columns)
        known = []
        for column, form, laws in columns:
            low, high = map(float, bounds_of(column, self.schema))
            known.append((form, laws, (low, high)))
        return means_bound(known, self._values(rows), miss) + self._rounding()

    def _rounding(self) -> float:
        """How far a mean moves where values are rounded to a grid: half a step, and half a step of its bounds."""
        grids = [
            request.query.grid
            for request in self.requests
            if isinstance(request.query, GroupEnds | GroupSums)
            and self.schema.column(request.query.column).kind == "number"
        ]
        return 1 / min(grids) if grids else 0.0

    def log_error(self) -> float:
        """The logarithm of the standard deviation, summed over the columns: what the ways are compared by."""
        total = 0.0
        for column, form, laws in self._columns():
            low, high = map(float, bounds_of(column, self.schema))
            if not self.query_class.is_mean:
                places = [form.total]
            else:  # Simpson's rule is exact here: a square is averaged over the bounds
                places = [form.noise(at, at) for at in (low, (low + high) / 2, high)]
            spread = [
                math.fsum(w * w * law.variance for w, law in zip(each, laws, strict=True))
                for each in places
            ]
            mean = spread[0] if len(spread) == 1 else (spread[0] + 4 * spread[1] + spread[2]) / 6
            total += math.log(max(mean, LEAST_VARIANCE)) / 2
        return total

    def error(self, *, rows: int | None, confidence: float) -> ClassError:
        """For groups of equal size. The widest half-width is that of a mean at its bounds."""
        groups = self.query_class.cells(self.schema)
        columns = self._columns()
        is_mean = self.query_class.is_mean
        each = None if rows is None else rows / groups
        level = confidence_level(confidence)
        expected, scale = 0.0, 0.0
        for column, form, laws in columns:
            low, high = map(float, bounds_of(column, self.schema))
            widest = high - low if is_mean else math.inf
            per = 1.0 if not is_mean else (each or 1e-300)
            usual = self._weights(column, form)
            variance = sum(w * w * law.variance for w, law in zip(usual, laws, strict=True))
            expected += min(widest, math.sqrt(2 / math.pi * variance) / per) / len(columns)
            scale = max(scale, high - low if is_mean else max(abs(low), abs(high)) * (rows or 0))
        half = self._bound(rows, 1 - level)
        together = self._bound(rows, (1 - level) / (groups * len(columns)))
        known = not is_mean or rows is not None
        unit = f"units of {', '.join(self.query_class.measured(self.schema))}"
        return ClassError(
            queries=groups * len(columns),
            unit=unit,
            expected=expected if known else None,
            half_width=half if known else None,
            simultaneous=together if known else None,
            scale=scale if rows is not None or is_mean else None,
            note=EVENLY if known else "give the number of rows: a mean's error depends on it",
        )

    def finish(
        self,
        grant: Verbs,
        measured: Sequence[Measurement],
        *,
        public_rows: int | None,
        confidence: float,
    ) -> tuple[Part, tuple[ErrorClaim, ...]]:
        groups = list(self.query_class.groups(self.schema))
        part = self.part(measured, estimates={}, facts={"groups": groups, "nulls": "left out"})
        miss = 1 - confidence_level(confidence)
        text, names = self.query_class.text, self.query_class.measured(self.schema)
        if not self.query_class.is_mean:
            bound = number_bound(part, self.schema, self.query_class, miss)
            return part, (ErrorClaim(text, bound, confidence, True, EACH_GROUP),)
        rows = public_rows or self.schema.people
        share = miss / (self.query_class.cells(self.schema) * len(names))
        bound = self._bound(rows, share)
        bounds = [bounds_of(name, self.schema) for name in names]
        if bound >= max(float(high - low) for low, high in bounds):
            return part, ()  # a group of so few values has no mean to speak of
        among = large_groups(self._values(rows))
        return part, (ErrorClaim(text, bound, confidence, True, LARGE_GROUPS, among),)
