"""Aggregates of two values a row: covariance, correlation, and the line of regression.

All are made of a few sums over the rows that have both values: of x, of y, of their product, and for a
correlation or a line of their squares, each measured from the middle of its bounds (z = x - c). Every
mean gets an interval of its own (`ratio_interval`), at a confidence that lets all hold together by
the union bound, and the interval of the answer is what the formula gives over all of them.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Unpack

import numpy as np

from discreet.arrays import Floats
from discreet.artifacts.answers import AnswerColumn
from discreet.curator.answers.answer_columns import (
    centred_mean,
    column_of,
    parted,
    sample_factor,
    variance,
)
from discreet.curator.answers.intervals import (
    Ends,
    divided,
    product_of,
)
from discreet.curator.needed import Needed, Paid, center_of
from discreet.curator.summing import squares_of, total_of
from discreet.queries.tallies import Squares, Term, Total, Valued, summand_bounds
from discreet.questions.dialects.curator_sql import Aggregate, CuratorQuestion
from discreet.questions.expressions import Call, Constant, Expression
from discreet.schema import Schema

if TYPE_CHECKING:
    from discreet.curator.answers.answering import AnswerReader


def _beside(value: Expression, other: Expression) -> Expression:
    """The value where the other one is known too, else null."""
    unknown = Call("is null", (other,), "boolean")
    return Call("case", (unknown, Constant(None, "null"), value), value.type)


def _from_center(value: Expression, total: Total) -> Expression:
    center = Constant(float(center_of(total)), "number")
    return Call("-", (value, center), "number")


def pair(one: Aggregate, question: CuratorQuestion, schema: Schema, **paid: Unpack[Paid]) -> Needed:
    """Sums of y, x and their product, then of the squares that the kind needs, then the rows."""
    y, x = one.expression, one.other
    assert y is not None and x is not None
    sums = [total_of(_beside(a, b), schema, True, **paid) for a, b in ((y, x), (x, y))]
    product = Call("*", (_from_center(y, sums[0]), _from_center(x, sums[1])), "number")
    terms: list[Term] = [*sums, total_of(product, schema, True, **paid)]
    if one.kind in ("corr", "regr_slope", "regr_intercept"):
        terms.append(squares_of(sums[1], schema))
    if one.kind == "corr":
        terms.append(squares_of(sums[0], schema))
    terms.append(Valued(sums[0].of))
    return Needed(one, tuple(terms), (Fraction(1),) * len(terms))


class _Moments:
    """The means that a pair's answer is made of, with intervals that hold together."""

    def __init__(self, reader: AnswerReader, each: Needed, *, samples: bool) -> None:
        self.reader, self.each = reader, each
        self.parts = len(each.terms) - 1 + samples
        level = parted(reader.confidence, self.parts)
        y, x, product, *squares, _ = each.terms
        assert isinstance(y, Total) and isinstance(x, Total) and isinstance(product, Total)
        self.level, self.y, self.x = level, y, x
        self.mean_y, self.mean_x = self._mean(y), self._mean(x)
        self.product = self._mean(product)
        self.variances = [
            variance(reader, each, term, total, mean, level)[:2]
            for term, total, mean in zip(squares, (x, y), (self.mean_x, self.mean_y), strict=False)
            if isinstance(term, Squares)
        ]

    def _mean(self, total: Total) -> tuple[Floats, Ends]:
        """The mean of the centred values, and its interval."""
        estimate, lower, upper, _ = centred_mean(self.reader, self.each, total, self.level)
        slack, center = float(total.rounding), 0.0
        if (
            isinstance(total.of, Call) and total.of.name == "*"
        ):  # the product's own centre is near 0
            center = float(center_of(total))
        return estimate + center, (lower + center - slack, upper + center + slack)

    def covariance(self) -> tuple[Floats, Ends]:
        """E[zy zx] - E[zy] E[zx], no further from 0 than both half widths multiplied."""
        reach = 1.0
        for total in (self.y, self.x):
            low, high = summand_bounds(total.of, self.reader.schema)
            reach *= float(high - low) / 2
        means = product_of(self.mean_y[1], self.mean_x[1])
        lower = np.clip(self.product[1][0] - means[1], -reach, reach)
        upper = np.clip(self.product[1][1] - means[0], -reach, reach)
        estimate = self.product[0] - self.mean_y[0] * self.mean_x[0]
        return np.clip(estimate, lower, upper), (lower, upper)


def _column(each: Needed, estimate: Floats, ends: Ends) -> AnswerColumn:
    lower, upper = ends
    return column_of(each, np.clip(estimate, lower, upper), ends, (upper - lower) / 4)


def covariance(reader: AnswerReader, each: Needed) -> AnswerColumn:
    samples = each.aggregate.kind == "covar_samp"
    moments = _Moments(reader, each, samples=samples)
    estimate, ends = moments.covariance()
    if samples:
        factor, factors = sample_factor(reader, each, moments.level)
        estimate, ends = estimate * factor, product_of(ends, factors)
    return _column(each, estimate, ends)


def correlation(reader: AnswerReader, each: Needed) -> AnswerColumn:
    """The covariance over both standard deviations, between -1 and 1."""
    moments = _Moments(reader, each, samples=False)
    estimate, ends = moments.covariance()
    (x, x_ends), (y, y_ends) = moments.variances
    spread = (np.sqrt(x_ends[0] * y_ends[0]), np.sqrt(x_ends[1] * y_ends[1]))
    lower, upper = divided(ends, spread)
    found = estimate / np.maximum(np.sqrt(x * y), 1e-300)
    return _column(each, found, (np.clip(lower, -1, 1), np.clip(upper, -1, 1)))


def line(reader: AnswerReader, each: Needed) -> AnswerColumn:
    """The slope is the covariance over the variance of x; the line passes through both means."""
    moments = _Moments(reader, each, samples=False)
    estimate, ends = moments.covariance()
    ((x, x_ends),) = moments.variances
    slopes = divided(ends, x_ends)
    slope = estimate / np.maximum(x, 1e-300)
    if each.aggregate.kind == "regr_slope":
        return _column(each, slope, slopes)
    y_center, x_center = (float(center_of(total)) for total in (moments.y, moments.x))
    mean_y, mean_x = moments.mean_y, moments.mean_x
    lower_x, upper_x = (end + x_center for end in mean_x[1])
    lower, upper = product_of(slopes, (lower_x, upper_x))
    ends = (y_center + mean_y[1][0] - upper, y_center + mean_y[1][1] - lower)
    found = y_center + mean_y[0] - slope * (x_center + mean_x[0])
    return _column(each, found, ends)
