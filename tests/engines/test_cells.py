"""Every value finds in SQL the cell that the schema's own `code_of` finds for it in Python.

Each example writes one list of values under many names, one for each way of reading it, so that
all kinds of columns are compared at once.
"""

from __future__ import annotations

import math
from datetime import UTC, date, datetime, time, timedelta
from decimal import Context, Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any
from uuid import UUID

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from discreet.engines import SumRequest, open_engine
from discreet.schema import (
    BooleanColumn,
    CategoryColumn,
    DateColumn,
    DatetimeColumn,
    IntegerColumn,
    NumberColumn,
    Schema,
)
from discreet.schema.columns.column import Outside
from discreet.schema.columns.temporal import DATE_GRANULARITIES, DATETIME_GRANULARITIES
from discreet.schema.columns.values import INSTANT_PATTERN, NUMBER_PATTERN, WHITESPACE
from tests.engines.reference import ReferenceEngine
from tests.harness.material.engine_rows import encoded_rows

SMALLEST, LARGEST = -(2**63), 2**63 - 1
WORDS = (
    "F",
    "M",
    "",
    " F",
    "é",
    "e\u0301",
    "😀",
    "it's",
    "0",
    "1",
    "1.0",
    "-7",
    "2.5",
    "true",
    "2020-02-29",
)
MANY_CUTS = tuple(float(n) * 1.1 for n in range(-9, 30))

GUESSED = NumberColumn("guessed", -1.5, 8.1, bits=6, outside="other")
BEYOND: tuple[Outside, ...] = ("edge", "other", "edge", "exclude", "other")
COLUMNS = (
    CategoryColumn("category", WORDS),
    CategoryColumn("strict category", WORDS, other=False, nulls="exclude"),
    CategoryColumn("wordless", ("x", "y")),
    BooleanColumn("boolean"),
    BooleanColumn("strict boolean", nulls="exclude"),
    IntegerColumn("integer", -3, 20),
    IntegerColumn("wide integer", SMALLEST + 1, LARGEST - 3, width=2**62 - 1, outside="other"),
    IntegerColumn("whole integer", -(2**60), 2**60 - 1, width=8, outside="exclude"),
    IntegerColumn("exact integer", 2**53 - 50, 2**53 + 49),
    NumberColumn("one bit", -1.5, 8.0, bits=1),
    GUESSED,
    NumberColumn("guessed right", -1.5, 8.1, bits=7, closed="right", outside="exclude"),
    NumberColumn("formula", -1e6, 1e6, bits=40, nulls="exclude"),
    NumberColumn("formula right", -0.1, 0.7, bits=20, closed="right"),
    NumberColumn("cuts", -10.0, 40.0, cuts=MANY_CUTS),
    NumberColumn("cuts right", -10.0, 40.0, cuts=MANY_CUTS, closed="right", outside="other"),
    *(
        DateColumn(
            f"date {size}", date(1960, 2, 29), date(2031, 5, 3), granularity=size, outside=outside
        )
        for size, outside in zip(DATE_GRANULARITIES, BEYOND, strict=True)
    ),
    *(
        DatetimeColumn(
            f"datetime {size}",
            datetime(1969, 12, 31, 23, 59, 58),
            datetime(2024, 3, 1, 12, 30, 1),
            granularity=size,
            outside="other" if place % 2 else "edge",
        )
        for place, size in enumerate(DATETIME_GRANULARITIES)
    ),
    DateColumn("every date", date(1, 1, 1), date(9998, 12, 31)),
    DatetimeColumn(
        "every moment", datetime(1, 1, 1), datetime(9998, 12, 31), granularity="microsecond"
    ),
)
ROW = IntegerColumn("row", 0, 9999, outside="exclude")
SCHEMA = Schema(dataset="cells", columns=(ROW, *COLUMNS))

QUICK = settings(max_examples=3, deadline=None, suppress_health_check=list(HealthCheck))

TRAPS = (
    "nan", "inf", "-inf", "Infinity", "1_000", "0x1F", "1,000", "１２", "1e400", "-1e400", "1e-400", "+5", "-0",
    "5.", ".5", "1e3", "12.7", "-0.5", "9" * 39, "-" + "9" * 39, "9" * 400, "0" * 60 + "7", "9007199254740993",
    str(SMALLEST), str(SMALLEST - 1), str(LARGEST), str(LARGEST + 1), "TRUE", " yes\t", "No", "T", "f", "ﬀ",
    "2021-02-29", "2020-02-29", "0000-01-01", "10000-01-01", "2020-01-01T00:00Z", "1970-01-01 00:00:00-14:59",
    "2020-01-01T24:00", "2020-1-1", "infinity", "epoch", "1969-12-31T23:59:59.9", "\xa07", "\x007", "7\n",
    "2024-03-01T12:30:01.000001+00:00", "2020-01-31 23:30:00+00", "2020-01-31T23:30-05", "2020-01-31T23:30:00.5-0530",
    "2020-01-31T23:30+053", "2020-01-31-05",
)  # fmt: skip
texts = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"]), max_size=12),
    st.sampled_from(WORDS),
    st.sampled_from(TRAPS),
    st.integers(-(2**70), 2**70).map(str),
    st.floats().map(repr),
    st.from_regex(NUMBER_PATTERN, fullmatch=True, alphabet=st.characters(codec="ascii")),
    st.from_regex(INSTANT_PATTERN, fullmatch=True, alphabet=st.characters(codec="ascii")),
    st.datetimes(datetime(1960, 1, 1), datetime(2030, 1, 1)).map(
        lambda moment: moment.isoformat(" ")
    ),
    st.tuples(
        st.text(WHITESPACE, max_size=2), st.integers(-9, 30), st.text(WHITESPACE, max_size=2)
    ).map(lambda parts: f"{parts[0]}{parts[1]}{parts[2]}"),
)
edges = [-1.5, 8.1, 8.0, -0.1, 0.7, *MANY_CUTS, *(GUESSED.inner_edges or ())]
EXTREMES = [2.0**63, -(2.0**63), 2.0**53 + 2, 1e30, -1e300, 5e-324, -0.0]
floats = st.one_of(
    st.floats(),
    st.floats(-2, 9),
    st.sampled_from([math.nextafter(x, way) for x in edges for way in (-math.inf, x, math.inf)]),
    st.sampled_from(EXTREMES),
    st.integers(-5, 25).map(float),
)
integers = st.one_of(
    st.integers(SMALLEST, LARGEST), st.integers(-9, 40), st.sampled_from([SMALLEST, LARGEST])
)


_WIDE = Context(prec=60)


def decimals(digits: int, places: int) -> st.SearchStrategy[Decimal]:
    limit = 10**digits - 1
    whole = st.one_of(st.integers(-limit, limit), st.integers(-300, 300))
    return whole.map(lambda n: Decimal(n).scaleb(-places, _WIDE))


def moments(unit: str) -> st.SearchStrategy[np.datetime64]:
    """Every moment that 64 bits of microseconds hold, and those near the declared range."""
    per = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[unit]
    reach = min(2**63 // per, 2**63 // 10**6) * per - 10**9
    near = st.integers(-(10**7), 10**7).map(lambda n: n * per // 10**4)
    make: Any = np.datetime64
    now = st.integers(-(5 * 10**8), 2 * 10**9).flatmap(
        lambda s: st.integers(0, per - 1).map(lambda rest: s * per + rest)
    )
    return st.one_of(st.integers(-reach, reach), near, now).map(lambda n: make(n, unit))


def clocked(unit: str, zone: str | None) -> Any:
    return pa.timestamp(unit, tz=zone), moments(unit)


dates = st.one_of(st.dates(), st.dates(date(1959, 1, 1), date(2032, 1, 1)))
TYPES: dict[str, tuple[pa.DataType, st.SearchStrategy[Any]]] = {
    "text": (pa.string(), texts),
    "large text": (pa.large_string(), texts),
    "dictionary": (pa.dictionary(pa.int16(), pa.string()), st.sampled_from(WORDS)),
    "int8": (pa.int8(), st.integers(-128, 127)),
    "uint32": (pa.uint32(), st.integers(0, 2**32 - 1)),
    "int64": (pa.int64(), integers),
    "uint64": (pa.uint64(), st.one_of(st.integers(0, 2**64 - 1), st.integers(0, 30))),
    "float32": (pa.float32(), st.floats(width=32)),
    "float64": (pa.float64(), floats),
    "decimal(9,2)": (pa.decimal128(9, 2), decimals(9, 2)),
    "decimal(18,6)": (pa.decimal128(18, 6), decimals(18, 6)),
    "decimal(38,0)": (pa.decimal128(38, 0), decimals(38, 0)),
    "decimal(38,10)": (pa.decimal128(38, 10), decimals(38, 10)),
    "decimal(38,38)": (pa.decimal128(38, 38), decimals(38, 38)),
    "boolean": (pa.bool_(), st.booleans()),
    "date": (pa.date32(), dates),
    "date64": (pa.date64(), dates),
    "seconds": clocked("s", None),
    "milliseconds": clocked("ms", None),
    "microseconds": clocked("us", None),
    "nanoseconds": clocked("ns", None),
    "zoned": clocked("us", "America/New_York"),
    "zoned nanoseconds": clocked("ns", "Asia/Kathmandu"),
    "bytes": (pa.binary(), st.binary(max_size=5)),
    "list": (pa.list_(pa.int64()), st.lists(st.integers(0, 3), max_size=2)),
    "struct": (pa.struct({"a": pa.int64()}), st.fixed_dictionaries({"a": st.integers(0, 3)})),
    "time": (pa.time64("us"), st.times()),
    "duration": (pa.duration("us"), st.timedeltas(timedelta(days=-9), timedelta(days=9))),
    "null": (pa.null(), st.none()),
}


def compare(source: Any, values: list[Any], schema: Schema = SCHEMA) -> None:
    """Row by row, for each column."""
    with open_engine(source, schema, threads=1) as engine:
        batches = [
            np.zeros((0, len(schema.columns)), np.int64),
            *encoded_rows(engine, schema.names, 25),
        ]
        found = {row[0]: row[1:] for row in np.concatenate(batches).tolist()}
        assert len(found) == len(values)
        for place, column in enumerate(schema.columns[1:]):
            wanted = [-1 if (code := column.code_of(v)) is None else code for v in values]
            wrong = {
                n: (found[n][place], code)
                for n, code in enumerate(wanted)
                if found[n][place] != code
            }
            assert not wrong, (column, {repr(values[n]): pair for n, pair in wrong.items()})
        names = [column.name for column in schema.columns[1:] if column.value_bounds]
        table = {
            "row": range(len(values)),
            **{column.name: values for column in schema.columns[1:]},
        }
        requests = [SumRequest(name, 4, Fraction(-100), Fraction(10**15)) for name in names]
        wanted_sums = ReferenceEngine(table, schema).sums(requests)
        assert dict(zip(names, engine.sums(requests), strict=True)) == dict(
            zip(names, wanted_sums, strict=True)
        )


@pytest.mark.parametrize("examples", [3, pytest.param(100, marks=pytest.mark.trust)])
@pytest.mark.parametrize("name", TYPES)
def test_a_value_of_any_type_finds_the_cell_that_the_schema_says(name: str, examples: int) -> None:
    type_, strategy = TYPES[name]

    @settings(QUICK, max_examples=examples)
    @given(st.lists(st.one_of(strategy, strategy, strategy, st.none()), min_size=30, max_size=80))
    def check(values: list[Any]) -> None:
        array = arrow_array(values, type_)
        columns = {"row": pa.array(range(len(values)), pa.int64())}
        compare(pa.table(columns | {c.name: array for c in COLUMNS}), as_read(values, type_))

    check()


def test_every_known_trap_finds_the_cell_that_the_schema_says() -> None:
    numbers = [math.nextafter(x, way) for x in edges for way in (-math.inf, x, math.inf)]
    for values in ([*TRAPS, *WORDS], [*numbers, *EXTREMES, math.nan, math.inf, -math.inf]):
        array = pa.array(values)
        columns = {"row": pa.array(range(len(values)), pa.int64())}
        compare(pa.table(columns | {c.name: array for c in COLUMNS}), values)


def arrow_array(values: list[Any], type_: pa.DataType) -> pa.Array:
    if pa.types.is_timestamp(type_):
        return pa.array(
            [None if v is None else int(v.astype(np.int64)) for v in values], pa.int64()
        ).cast(type_)
    return pa.array(values, type_)


def as_read(values: list[Any], type_: pa.DataType) -> list[Any]:
    """What the stored value is in Python: a FLOAT has lost digits, bytes stay bytes."""
    if pa.types.is_float32(type_):
        return [None if v is None else np.float32(v) for v in values]
    return values


@QUICK
@given(st.lists(texts.map(lambda text: text.replace("\n", " ")), max_size=80))  # a line is a row
def test_a_field_of_a_csv_file_finds_the_cell_of_its_text(
    tmp_path_factory: pytest.TempPathFactory, values: list[str]
) -> None:
    path = tmp_path_factory.mktemp("csv") / "cells.csv"
    names = ["row", *(column.name for column in COLUMNS)]
    quoted = ['"' + value.replace('"', '""') + '"' for value in values]
    lines = [
        ",".join(names),
        *(",".join([str(n), *[q] * len(COLUMNS)]) for n, q in enumerate(quoted)),
    ]
    path.write_bytes("\n".join(lines).encode() + b"\n")
    compare(path, [value if value != "" else None for value in values])


anything = st.one_of(
    st.none(), st.booleans(), texts, floats, st.integers(-(2**80), 2**80), integers, dates,
    decimals(20, 5), st.datetimes(), st.datetimes(timezones=st.just(UTC)), st.fractions(), st.binary(max_size=3),
    st.sampled_from([pd.NaT, pd.NA, np.float32(2.5), np.int8(3), np.datetime64("2020-02-29"), time(1, 2), [1], {}]),
    st.sampled_from([10**5000, Decimal("1e999999"), Decimal("NaN"), UUID(int=7), object(), "\ud800", 1j]),
)  # fmt: skip


@QUICK
@given(st.lists(anything, max_size=80))
def test_a_pandas_column_of_objects_finds_the_cells_of_its_values(values: list[Any]) -> None:
    series = pd.Series([None, *values], dtype=object).iloc[1:]
    frame = pd.DataFrame({"row": range(len(values)), **{c.name: list(values) for c in COLUMNS}})
    for column in COLUMNS:
        frame[column.name] = pd.Series(series.to_list(), dtype=object)
    compare(frame, values)


def test_dates_and_integers_that_python_has_no_type_for_are_outside_or_null(tmp_path: Path) -> None:
    path = tmp_path / "strange.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute(
            """CREATE TABLE t AS SELECT n::INTEGER AS "row", h::HUGEINT AS h, u::UHUGEINT AS u, d::DATE AS d,
            s::TIMESTAMP_S AS s, d::DATE AS m FROM (VALUES
            (0, '-170141183460469231731687303715884105728', '340282366920938463463374607431768211455',
                '5877642-06-25 (BC)', '290000-01-01'),
            (1, '170141183460469231731687303715884105727', '0', '5881580-07-10', '290000-01-01 (BC)'),
            (2, '5', '5', 'infinity', 'infinity'), (3, '1', '1', '-infinity', '-infinity')
            ) v(n, h, u, d, s)"""
        )
    schema = Schema(
        dataset="strange",
        columns=(
            ROW,
            IntegerColumn("h", 0, 9),
            IntegerColumn("u", 0, 9, outside="other"),
            DateColumn("d", date(2020, 1, 1), date(2020, 1, 3)),
            DatetimeColumn("s", datetime(2020, 1, 1), datetime(2020, 1, 3), granularity="day"),
            DatetimeColumn("m", datetime(2020, 1, 1), datetime(2020, 1, 3), granularity="year"),
        ),
    )
    with open_engine(path, schema) as engine:
        (rows,) = encoded_rows(engine, schema.names, 10)
    assert sorted(rows.tolist()) == [
        [0, 0, 10, 0, 2, 0],
        [1, 9, 0, 2, 0, 0],
        [2, 5, 5, 3, 3, 1],
        [3, 1, 1, 3, 3, 1],
    ]


def test_ten_thousand_categories_are_told_apart() -> None:
    values = tuple(f"value {n}" for n in range(10_000))
    schema = Schema(dataset="many", columns=(CategoryColumn("x", values),))
    found = open_engine(pa.table({"x": [*values, *values[::3], "value 10000", None]}), schema)
    with found as engine:
        counts = engine.marginals([("x",)])[0]
    assert counts.tolist() == [2 if n % 3 == 0 else 1 for n in range(10_000)] + [1, 1]
