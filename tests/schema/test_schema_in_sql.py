"""The documented rule can be computed in SQL: DuckDB finds the same numbers and cells as the reference.

The expressions here are what an engine may use; they show that the rule needs no Python.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import date, datetime, timedelta
from typing import Any

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import BadInput
from discreet.schema import DateColumn, DatetimeColumn, NumberColumn, Schema
from discreet.schema.columns.temporal import DATE_GRANULARITIES
from discreet.schema.columns.values import (
    INSTANT_PATTERN,
    NUMBER_PATTERN,
    WHITESPACE,
    WHOLE_PATTERN,
    double_of,
    integer_of,
    microseconds_of,
)

relaxed = settings(max_examples=60, deadline=None)
DATABASE = duckdb.connect()
DATABASE.execute("SET TimeZone = 'America/New_York'")  # the session's zone must not matter
DATABASE.execute("SET threads = 1")


def computed(expression: str, values: Sequence[Any], type_name: str, *parameters: Any) -> list[Any]:
    """`expression` over the column v of the given values."""
    query = f"SELECT {expression} FROM (SELECT unnest(?::{type_name}[]) AS v)"
    return [row[0] for row in DATABASE.execute(query, [*parameters, list(values)]).fetchall()]


SPACE = "trim(v, '" + WHITESPACE + "')"
DOUBLE = (
    f"CASE WHEN regexp_full_match({SPACE}, '{NUMBER_PATTERN}') AND isfinite(TRY_CAST({SPACE} AS DOUBLE)) "
    f"THEN TRY_CAST({SPACE} AS DOUBLE) END"
)
INTEGER = (
    f"CASE WHEN ({DOUBLE}) IS NULL THEN NULL WHEN regexp_full_match({SPACE}, '{WHOLE_PATTERN}') "
    f"THEN TRY_CAST({SPACE} AS HUGEINT) ELSE TRY_CAST(floor({DOUBLE}) AS HUGEINT) END"
)
ZONED = f"regexp_matches({SPACE}, '(Z|:[^-]*[+-][0-9][0-9](:?[0-9][0-9])?)$')"
MICROSECONDS = (
    f"CASE WHEN NOT regexp_full_match({SPACE}, '{INSTANT_PATTERN}') THEN NULL "
    f"WHEN {ZONED} THEN epoch_us(TRY_CAST({SPACE} AS TIMESTAMPTZ)) "
    f"ELSE epoch_us(TRY_CAST({SPACE} AS TIMESTAMP)) END"
)

digits = st.text("0123456789+-.eE _xX\t", max_size=12)
number_texts = st.one_of(
    digits,
    st.from_regex(NUMBER_PATTERN, fullmatch=True, alphabet=st.characters(codec="ascii")),
    st.floats().map(repr),
    st.integers().map(str),
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=5),
    st.sampled_from(
        [
            "nan",
            "inf",
            "0x1F",
            "１２",
            "1e400",
            "-1e400",
            "1e-400",
            "5e-324",
            "9" * 400,
            "0" * 400,
            "1_0",
        ]
    ),
)


@relaxed
@given(st.lists(number_texts, min_size=1, max_size=40))
def test_sql_reads_the_same_double_from_a_text(texts: list[str]) -> None:
    assert computed(DOUBLE, texts, "VARCHAR") == [double_of(text) for text in texts]


@relaxed
@given(st.lists(number_texts, min_size=1, max_size=40))
def test_sql_reads_the_same_integer_from_a_text(texts: list[str]) -> None:
    for text, found in zip(texts, computed(INTEGER, texts, "VARCHAR"), strict=True):
        wanted = integer_of(text)
        if wanted is not None and abs(wanted) >= 2**126:
            continue  # beyond HUGEINT an engine only needs its sign, which the double has
        assert found == wanted


two = st.integers(0, 99).map(lambda number: f"{number:02}")
clocks = st.builds(lambda s, h, m, t: f"{s}{h}:{m}{t}", st.sampled_from("T "), two, two,
                   st.sampled_from(["", ":59", ":00.5", ":61", ":07.123456", ":07.1234567"]))  # fmt: skip
offsets = st.sampled_from(
    [
        "",
        "Z",
        "+05:30",
        "-14:00",
        "-14:59",
        "+00:00",
        "+02",
        "-0530",
        "+053",
        " +02:00",
        "+15:00",
        "z",
    ]
)
day_texts = st.builds(
    lambda y, m, d: f"{y:04}-{m:02}-{d:02}",
    st.integers(0, 9999),
    st.integers(0, 13),
    st.integers(0, 32),
)
instant_texts = st.one_of(
    st.builds(lambda day, clock, zone: day + clock + zone, day_texts, clocks, offsets),
    day_texts,
    st.datetimes().map(datetime.isoformat),
    st.builds(lambda moment, zone: moment.isoformat(" ", "microseconds") + zone, st.datetimes(), offsets),
    st.sampled_from(["infinity", "epoch", "now", "today", "2020-1-1", "", " 2020-01-31\n", "20200131", "2020-01-31 (BC)"]),
)  # fmt: skip


@relaxed
@given(st.lists(instant_texts, min_size=1, max_size=40))
def test_sql_reads_the_same_moment_from_a_text(texts: list[str]) -> None:
    assert computed(MICROSECONDS, texts, "VARCHAR") == [microseconds_of(text) for text in texts]


@relaxed
@given(st.data())
def test_sql_finds_the_same_cell_of_a_number_by_the_formula(data: Any) -> None:
    scale = data.draw(st.sampled_from([1.0, 100.0, 1e-3, 1e6, 3.7]))
    low = data.draw(st.floats(-1, 1)) * scale
    high = low + scale * data.draw(st.floats(0.1, 3))
    closed = data.draw(st.sampled_from(["left", "right"]))
    column = NumberColumn("x", low, high, bits=data.draw(st.integers(13, 40)), closed=closed)
    formula = column.double_formula
    assert formula is not None
    values = data.draw(st.lists(st.floats(low, high), min_size=1, max_size=20))
    values += [
        edge for code in (1, formula.cells // 3, formula.cells - 1) for edge in column.extent(code)
    ]
    place = f"(v - {formula.low!r}::DOUBLE) * {formula.scale!r}::DOUBLE"
    code = f"floor({place})" if closed == "left" else f"ceil({place}) - 1"
    expression = f"least(greatest({code}, 0), {formula.cells - 1})::BIGINT"
    assert computed(expression, values, "DOUBLE") == [column.code_of(value) for value in values]


@relaxed
@given(st.data())
def test_sql_finds_the_same_cell_of_a_number_by_listed_edges(data: Any) -> None:
    low, high = sorted(data.draw(st.tuples(st.floats(-1e9, 0), st.floats(1, 1e9))))
    closed = data.draw(st.sampled_from(["left", "right"]))
    column = NumberColumn("x", low, high, bits=data.draw(st.integers(1, 6)), closed=closed)
    assert column.inner_edges is not None
    values = data.draw(st.lists(st.floats(low, high), max_size=20)) + list(column.inner_edges)
    values += [math.nextafter(edge, math.inf) for edge in column.inner_edges]
    sign = "<=" if closed == "left" else "<"
    expression = " + ".join(f"({edge!r}::DOUBLE {sign} v)::INTEGER" for edge in column.inner_edges)
    assert computed(expression, values, "DOUBLE") == [column.code_of(value) for value in values]


GRANULE = {
    "day": "v::DATE - DATE '1970-01-01'",
    "week": "floor((v::DATE - DATE '1970-01-01' + 3) / 7)::BIGINT",
    "month": "year(v) * 12 + month(v) - 1",
    "quarter": "year(v) * 4 + (month(v) - 1) // 3",
    "year": "year(v)",
}


@pytest.mark.parametrize("granularity", DATE_GRANULARITIES)
@relaxed
@given(days=st.lists(st.dates(max_value=date(9998, 12, 31)), min_size=1, max_size=30))
def test_sql_finds_the_same_granule_of_a_date(granularity: str, days: list[date]) -> None:
    column = DateColumn("d", min(days), max(days), granularity)
    expression = f"({GRANULE[granularity]}) - {column.first_granule}"
    assert computed(expression, days, "DATE") == [column.code_of(day) for day in days]


@relaxed
@given(st.lists(st.integers(-(10**17), 10**17), min_size=1, max_size=30))
def test_sql_finds_the_same_granule_of_a_moment_before_and_after_1970(moments: list[int]) -> None:
    column = DatetimeColumn("t", datetime(1, 1, 1), datetime(9000, 1, 1), "hour")
    clamped = [min(max(moment, -6 * 10**16), 2 * 10**17) for moment in moments]
    expression = (
        f"(v - (v % 3600000000 + 3600000000) % 3600000000) // 3600000000 - {column.first_granule}"
    )
    wanted = [
        column.code_of(datetime(1970, 1, 1) + timedelta(microseconds=moment)) for moment in clamped
    ]
    assert computed(expression, clamped, "BIGINT") == wanted


def test_the_identifier_of_a_person_is_no_column_and_the_refusal_says_why() -> None:
    schema = Schema.loads(
        """
        dataset = "trips"
        [unit]
        identifier = "rider"
        max_rows = 3
        [columns.age]
        kind = "integer"
        range = [0, 99]
        """
    )
    with pytest.raises(BadInput, match=r"which rows are one person's.*count\(DISTINCT .rider.\)"):
        schema.column("rider")
