"""Laws that hold for every schema, every column, every value: found by hypothesis, not listed."""

from __future__ import annotations

import math
import operator
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from fractions import Fraction
from functools import partial
from typing import Any
from uuid import uuid4

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from discreet.errors import BadSchema
from discreet.privacy.adjacency import Adjacency, PrivacyUnit
from discreet.privacy.budget import Budget
from discreet.schema import (
    BooleanColumn,
    CategoryColumn,
    CodeSelection,
    Column,
    CsvOptions,
    DateColumn,
    DatetimeColumn,
    IntegerColumn,
    NumberColumn,
    OrderedColumn,
    Schema,
)
from discreet.schema.columns.column import folded
from discreet.schema.columns.temporal import DATE_GRANULARITIES, DATETIME_GRANULARITIES

relaxed = settings(
    max_examples=80,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)

texts = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=12
).filter(lambda text: text not in ("FILL IN", "(other)"))
names = texts.filter(bool)
nulls = st.sampled_from(["cell", "exclude"])
outside = st.sampled_from(["edge", "other", "exclude"])
any_width = st.integers(1, 2**64)
int64 = st.integers(-(2**63), 2**63 - 1)
doubles = st.floats(allow_nan=False, allow_infinity=False)
dates = st.dates(max_value=date(9998, 12, 31))
datetimes = st.datetimes(max_value=datetime(9998, 12, 31, 23, 59, 59, 999999))


@st.composite
def categories(draw: Any, name: str = "c") -> CategoryColumn:
    values = draw(st.lists(texts, min_size=1, max_size=6, unique=True))
    return CategoryColumn(name, tuple(values), draw(st.booleans()), draw(nulls))


@st.composite
def integers(
    draw: Any, name: str = "i", ends: Any = int64, widths: Any = any_width
) -> IntegerColumn:
    low, high = sorted((draw(ends), draw(ends)))
    width = draw(widths)
    span = (high - low + 1) // width * width
    assume(span >= 1)
    return IntegerColumn(name, low, low + span - 1, width, draw(outside), draw(nulls))


@st.composite
def numbers(draw: Any, name: str = "x", ends: Any = doubles, most_bits: int = 48) -> NumberColumn:
    low, high = sorted((draw(ends), draw(ends)))
    high = max(low, high)  # of 0.0 and -0.0 the same one twice: no floats lie between the two
    closed, out, null = draw(st.sampled_from(["left", "right"])), draw(outside), draw(nulls)
    try:
        if draw(st.booleans()):
            return NumberColumn(
                name, low, high, draw(st.integers(1, most_bits)), None, closed, out, null
            )
        cuts = draw(st.lists(st.floats(low, high), min_size=1, max_size=5, unique=True))
        inside = tuple(sorted(cut for cut in cuts if low < cut < high))
        return NumberColumn(name, low, high, None, inside, closed, out, null)
    except BadSchema:
        assume(False)
        raise


@st.composite
def date_columns(draw: Any, name: str = "d", ends: Any = dates) -> DateColumn:
    low, high = sorted((draw(ends), draw(ends)))
    return DateColumn(
        name, low, high, draw(st.sampled_from(DATE_GRANULARITIES)), draw(outside), draw(nulls)
    )


@st.composite
def datetime_columns(draw: Any, name: str = "t") -> DatetimeColumn:
    low, high = sorted((draw(datetimes), draw(datetimes)))
    granularity = draw(st.sampled_from(DATETIME_GRANULARITIES))
    return DatetimeColumn(name, low, high, granularity, draw(outside), draw(nulls))


KINDS = (categories, integers, numbers, date_columns, datetime_columns)


def columns(name: str = "column") -> st.SearchStrategy[Column]:
    booleans = st.builds(BooleanColumn, st.just(name), nulls)
    return st.one_of(booleans, *(kind(name) for kind in KINDS))


ordered = st.one_of(integers(), numbers(), date_columns(), datetime_columns())
zones = st.integers(-14 * 60, 14 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes)))
table_values = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.integers(0, 130),
    st.floats(),
    st.decimals(),
    st.fractions(),
    st.text(),
    st.integers().map(str),
    st.floats().map(repr),
    st.binary(),
    st.dates(),
    st.datetimes(),
    st.datetimes(timezones=zones),
    st.datetimes(timezones=zones).map(datetime.isoformat),
    st.dates().map(date.isoformat),
    st.times(),
    st.timedeltas(),
    st.complex_numbers(),
    st.lists(st.integers(), max_size=2),
    st.floats(width=32).map(np.float32),
    st.floats().map(np.float64),
    st.floats().map(np.longdouble),
    int64.map(np.int64),
    st.booleans().map(np.bool_),
    int64.map(lambda number: np.datetime64(number, "us")),
    int64.map(lambda number: np.datetime64(number, "ns")),
    st.sampled_from(
        ["F", "", "yes", " T ", "0", "1e3", "nan", "-inf", "1e400", "2020-02-30", "9" * 5000]
    ),
)


@st.composite
def schemas(draw: Any) -> Schema:
    found = draw(st.lists(names, min_size=1, max_size=5, unique_by=folded))
    identifier = draw(st.none() | names)
    if identifier is not None and folded(identifier) in map(folded, found):
        identifier = None
    unit = (
        PrivacyUnit()
        if identifier is None
        else PrivacyUnit(identifier, draw(st.integers(1, 2**70)))
    )
    amounts = st.fractions(min_value=Fraction(1, 10**9), max_denominator=10**12)
    cap = draw(
        st.none()
        | st.builds(lambda epsilon: Budget(epsilon=epsilon, delta="1e-9"), amounts)
        | st.builds(lambda rho: Budget(rho=rho), amounts)
    )
    csv = CsvOptions(
        header=True,
        names=draw(st.none() | st.just((*found, *([identifier] if identifier else [])))),
        delimiter=draw(st.sampled_from([",", ";", "\t", "|", "§"])),
        quote=draw(st.sampled_from(['"', "'", ""])),
        trim=draw(st.booleans()),
        null_strings=tuple(draw(st.lists(texts, max_size=3))),
        encoding=draw(st.sampled_from(["utf-8", "latin-1"])),
    )
    return Schema(
        dataset=draw(names),
        people=draw(st.none() | st.integers(1)),
        adjacency=draw(st.sampled_from(Adjacency)),
        unit=unit,
        cap=cap,
        columns=tuple(draw(columns(name)) for name in found),
        csv=csv,
    )


@relaxed
@given(schemas())
def test_a_schema_written_and_read_again_is_the_same_schema(schema: Schema) -> None:
    again = Schema.loads(schema.dumps())
    assert again == schema
    assert again.dumps() == schema.dumps()
    assert again.digest() == schema.digest()
    assert hash(again) == hash(schema)


@relaxed
@given(schemas(), schemas())
def test_different_schemas_have_different_digests(left: Schema, right: Schema) -> None:
    assert (left == right) == (left.digest() == right.digest())


@settings(relaxed, max_examples=200)
@given(columns(), table_values)
def test_every_value_has_a_cell_in_range_or_is_excluded_and_nothing_raises(
    column: Column, value: Any
) -> None:
    code = column.code_of(value)
    if code is None:
        assert column.nulls == "exclude" or not column.has_other
    else:
        assert type(code) is int
        assert 0 <= code < column.cells
        assert column.label(code) or isinstance(column, CategoryColumn)


class Hostile:
    """Raises from every method that a reader might call."""

    def __eq__(self, other: object) -> bool:
        raise RuntimeError

    __hash__ = None  # type: ignore[assignment]
    __ne__ = __str__ = __repr__ = __float__ = __int__ = __index__ = __bool__ = __eq__  # type: ignore[assignment]


@pytest.mark.parametrize(
    "value",
    [Hostile(), pd.NaT, pd.NA, np.datetime64("NaT", "us"), np.array([1, 2]), object(), type, print, {}, set(),
     Decimal("sNaN"), Decimal("1e999999"), 10**5000, "1e9999", b"12", float("nan"), float("inf"), np.timedelta64(3, "s")],
    ids=lambda value: type(value).__name__,
)  # fmt: skip
@settings(relaxed, max_examples=20)
@given(column=st.one_of(ordered, st.builds(BooleanColumn, st.just("b"))))
def test_what_cannot_be_read_counts_as_null(value: Any, column: Column) -> None:
    assert column.code_of(value) == column.null_cell


@relaxed
@given(columns())
def test_the_null_cell_is_last_and_the_other_cell_follows_the_values(column: Column) -> None:
    assert column.null_cell == (column.cells - 1 if column.nulls == "cell" else None)
    assert column.other_cell in (None, column.value_cells)
    assert column.cells == column.value_cells + column.has_other + (column.null_cell is not None)


@settings(relaxed, max_examples=200)
@given(st.data())
def test_a_cell_holds_the_values_that_are_coded_into_it(data: Any) -> None:
    column: OrderedColumn = data.draw(ordered)
    code = data.draw(st.integers(0, column.value_cells - 1))
    first: Any
    last: Any
    first, last = column.extent(code)
    assert first <= last
    assert column.code_of_unit(first) == column.code_of_unit(last) == code
    inside = data.draw(
        st.integers(first, last) if isinstance(first, int) else st.floats(first, last)
    )
    assert column.code_of_unit(inside) == code
    if code:
        assert column.extent(code - 1)[1] < first
    low, high = column.bounds(code)
    assert low < high  # type: ignore[operator]
    if code:
        assert column.bounds(code - 1)[1] == low


@settings(relaxed, max_examples=200)
@given(numbers(), doubles)
def test_the_edges_of_a_number_s_cell_enclose_it(column: NumberColumn, number: float) -> None:
    code = column.code_of_unit(number)
    if not column.low <= number <= column.high:
        assert not 0 <= code < column.value_cells
        return
    low, high = column.bounds(code)
    if column.closed == "left":
        assert low <= number < high or number == high == column.high
    else:
        assert low < number <= high or number == low == column.low


@relaxed
@given(st.data(), columns())
def test_a_value_drawn_from_a_cell_is_coded_back_into_it(data: Any, column: Column) -> None:
    code = data.draw(st.integers(0, column.cells - 1))
    fraction = data.draw(
        st.floats(0, 1, exclude_max=True) | st.fractions(0, Fraction(2**70 - 1, 2**70))
    )
    value = column.value_in(code, fraction)
    if code == column.other_cell and column.is_ordered:
        assert value is None
    else:
        assert column.code_of(value) == code


def members(ranges: tuple[tuple[int, int], ...]) -> set[int]:
    return {code for start, stop in ranges for code in range(start, stop)}


def holds_code(code: int, ranges: tuple[tuple[int, int], ...]) -> bool:
    return any(start <= code < stop for start, stop in ranges)


COMPARE = {
    "=": operator.eq, "!=": operator.ne, "<": operator.lt,
    "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip


def possible_values(column: OrderedColumn, code: int) -> list[Any]:
    """Every value that a row of the cell can count as, in a small domain."""
    if code == column.other_cell:
        low, high = column.extent(0)[0], column.extent(column.value_cells - 1)[1]
        return [*range(low - 200, low), *range(high + 1, high + 200)]  # type: ignore[arg-type]
    return list(range(column.extent(code)[0], column.extent(code)[1] + 1))  # type: ignore[arg-type]


small_integers = integers(ends=st.integers(-20, 20), widths=st.integers(1, 7))
small_dates = date_columns(ends=st.dates(date(2019, 11, 25), date(2020, 3, 5)))
near_days = st.integers(-50, 50).map(lambda days: date(2020, 1, 15) + timedelta(days=days))


@settings(relaxed, max_examples=200)
@given(st.data(), st.sampled_from(sorted(COMPARE)))
def test_a_condition_selects_exactly_the_cells_that_brute_force_finds(data: Any, sign: str) -> None:
    column: OrderedColumn = data.draw(st.one_of(small_integers, small_dates))
    if isinstance(column, DateColumn):
        literal: Any = data.draw(near_days)
        unit: Any = column.unit_of(literal)
        literal = data.draw(st.sampled_from([literal, literal.isoformat()]))
    else:
        unit = literal = data.draw(st.integers(-30, 30) | st.fractions(-30, 30, max_denominator=2))
    found = column.codes_where(sign, literal)
    holds = COMPARE[sign]
    cells = range(column.value_cells + column.has_other)
    truths = {
        code: [holds(value, unit) for value in possible_values(column, code)] for code in cells
    }
    assert members(found.inner) == {code for code in cells if all(truths[code])}
    outer = {code for code in cells if any(truths[code])}
    assert members(found.outer) - {column.other_cell} == outer - {column.other_cell}
    assert outer <= members(found.outer)  # the other cell may be taken in without need


@settings(relaxed, max_examples=200)
@given(st.data(), st.sampled_from(sorted(COMPARE)))
def test_inner_cells_always_and_rows_only_in_outer_cells_satisfy(data: Any, sign: str) -> None:
    column: NumberColumn = data.draw(numbers())
    number = data.draw(st.floats(column.low, column.high) | doubles)
    literal = data.draw(st.floats(column.low, column.high) | doubles | st.just(number))
    code = column.code_of(number)
    clamped = min(max(number, column.low), column.high) if column.outside == "edge" else number
    found = column.codes_where(sign, literal)
    if code is None:
        return
    chosen = partial(holds_code, code)

    truth = COMPARE[sign](clamped, literal)
    assert chosen(found.inner) <= truth <= chosen(found.outer)


@relaxed
@given(categories(), texts, texts)
def test_conditions_on_categories_are_exact_sets(
    column: CategoryColumn, one: str, two: str
) -> None:
    values = [*column.values, one, two]
    for value in values:
        code = column.code_of(value)
        for sign, holds in (("=", operator.eq), ("!=", operator.ne)):
            found = column.codes_where(sign, one)
            if code is not None:
                assert (
                    (code in members(found.inner))
                    <= holds(value, one)
                    <= (code in members(found.outer))
                )
        chosen = column.codes_where("in", [one, two])
        if code is not None:
            inside = value in (one, two)
            assert (code in members(chosen.inner)) <= inside <= (code in members(chosen.outer))
    assert members(column.codes_where("=", column.values[0]).inner) == {0}
    assert column.codes_where("!=", column.values[0]).is_exact


@relaxed
@given(st.data(), ordered)
def test_inner_cells_are_outer_cells_and_the_null_cell_satisfies_no_comparison(
    data: Any, column: OrderedColumn
) -> None:
    code = data.draw(st.integers(0, column.value_cells - 1))
    literal = column.value_in(code, data.draw(st.floats(0, 1, exclude_max=True)))
    other = column.value_in(data.draw(st.integers(0, column.value_cells - 1)), 0)
    selections = [column.codes_where(sign, literal) for sign in COMPARE]
    selections += [
        column.codes_where("between", (literal, other)),
        column.codes_where("in", [literal, other]),
    ]
    selections += [column.codes_where("not in", [literal])]
    for found in selections:
        assert found.both(CodeSelection(found.outer, found.outer)).inner == found.inner
        for start, stop in found.outer:
            assert 0 <= start < stop <= column.value_cells + column.has_other
    assert column.codes_where("not in", [literal]) == column.codes_where("!=", literal)
    null_cell = column.null_cell
    empty = () if null_cell is None else ((null_cell, null_cell + 1),)
    assert column.codes_where("is null").inner == empty


@given(st.integers(-(2**40), 2**40), zones)
def test_a_moment_has_the_same_cell_in_every_zone_and_spelling(
    seconds: int, zone: timezone
) -> None:
    moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=seconds % 10**10)
    column = DatetimeColumn("t", datetime(1970, 1, 1), datetime(2300, 1, 1), "second")
    code = column.code_of(moment)
    assert code == seconds % 10**10
    local = moment.astimezone(zone)
    naive = moment.replace(tzinfo=None)
    for spelling in (local, local.isoformat(), local.isoformat(sep=" "), naive, naive.isoformat(),
                     np.datetime64(naive, "us"), np.datetime64(naive, "s"), pd.Timestamp(local)):  # fmt: skip
        assert column.code_of(spelling) == code


def test_identifiers_of_any_kind_of_text_match_categories() -> None:
    number = uuid4()
    column = CategoryColumn("u", (str(number), "2020-01-31", "true", "7", "0.5"))
    given_values = [number, date(2020, 1, 31), True, 7, 0.5]
    assert [column.code_of(value) for value in given_values] == [0, 1, 2, 3, 4]
    assert [
        column.code_of(value) for value in (Decimal("7.0"), np.float32(0.5), np.int8(7), 7.5)
    ] == [3, 4, 3, 5]
    assert column.code_of(math.nan) == column.null_cell
