"""What measured sums and counts of one column say, and the bound for a class of one number."""

from __future__ import annotations

from fractions import Fraction

from discreet.answering.asking import Asking
from discreet.answering.usefulness import UNION
from discreet.artifacts.measurement import Measurement
from discreet.families.numbers.queries.one_number import Means, Sums
from discreet.families.shared.answer.evidence import Evidence, NoisyCount, NoisySum
from discreet.families.shared.answer.library import Library
from discreet.queries.measurable import ClampedSum, PresentCount
from discreet.questions.question import Aggregate, Question
from discreet.schema import Schema


def one_number_bound(
    library: Library, asking: Asking, query_class: Means | Sums, delta: Fraction
) -> tuple[float, str]:
    column = library.schema.column(query_class.column).name
    question = Question((Aggregate(query_class.function, column, query_class.function),))
    found = asking.answers([question], confidence=float(1 - delta))[0].only
    return max(found.upper - found.estimate, found.estimate - found.lower), UNION


def sum_of(measurement: Measurement, schema: Schema, place: int) -> Evidence:
    query = measurement.query
    assert isinstance(query, ClampedSum)
    whole = schema.column(query.column).kind in ("integer", "boolean")
    found = NoisySum(
        column=query.column,
        grid=query.grid,
        center=query.center,
        value=int(measurement.values[0]),
        law=measurement.law,
        rounds=not whole or (query.grid * query.center).denominator != 1,
    )
    return Evidence(sums=[found])


def count_of(measurement: Measurement, schema: Schema, place: int) -> Evidence:
    assert isinstance(measurement.query, PresentCount)
    name = schema.column(measurement.query.column).name
    return Evidence(counts=[NoisyCount(name, int(measurement.values[0]), measurement.law)])
