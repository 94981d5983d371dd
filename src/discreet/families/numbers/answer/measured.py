"""What measured sums and counts of one column say."""

from __future__ import annotations

from discreet.artifacts.measurement import Measurement
from discreet.families.shared.answer.evidence import Evidence, NoisyCount, NoisySum
from discreet.queries.measurable import ClampedSum, PresentCount
from discreet.schema import Schema


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
