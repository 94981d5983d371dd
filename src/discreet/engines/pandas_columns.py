"""Columns of a pandas table as Arrow columns, by the column's dtype.

A column of Python objects becomes text by the schema's own reading of each value: an engine would guess a
type from some and fail on others. The dtype alone says what a column becomes; one not listed is refused.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow

from discreet.engines.arrow_columns import Reading, nothing, reading_of
from discreet.schema.columns.column import Column
from discreet.schema.columns.named import BooleanColumn, CategoryColumn
from discreet.schema.columns.ordered import OrderedColumn
from discreet.schema.columns.temporal import TemporalColumn
from discreet.schema.columns.values import (
    Instant,
    boolean_of,
    category_text_of,
    double_of,
    microseconds_of,
    plain,
)

Made = tuple[Reading, Callable[[], Any]]
"""What the column becomes, and the values as Arrow's type for that: to be called after the charge."""
_HALF_A_PAIR = re.compile("[\ud800-\udfff]")
_NOT_A_TIME = np.iinfo(np.int64).min
_NANOSECONDS = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}
_CALENDAR = range(-62_135_596_800 * 10**9, 253_402_300_800 * 10**9)  # the years 1 to 9999
_MASKED = re.compile(r"(U?Int(8|16|32|64)|Float(32|64)|Boolean)Dtype")


def pandas_column(values: Any, column: Column | None) -> Made | None:
    """A Series or an Index (`column` is `None` for an identifier); `None` where its dtype is unknown."""
    dtype = values.dtype
    kind = type(dtype).__name__
    if isinstance(dtype, np.dtype):
        return _numpy_column(dtype, lambda: np.asarray(values.array), column)
    if kind == "SparseDtype":
        return _numpy_column(dtype.subtype, lambda: np.asarray(values.array), column)
    if kind == "CategoricalDtype":
        return _categorical(values, column)
    if kind == "DatetimeTZDtype":
        return _moments(dtype.unit, lambda: np.asarray(values.array.tz_convert(None)), column)
    if kind == "StringDtype" and dtype.storage == "python":
        return _texts(lambda: (one if isinstance(one, str) else None for one in values.array))
    if kind == "ArrowDtype":
        type_ = dtype.pyarrow_dtype
    elif kind == "StringDtype":
        type_ = pyarrow.large_string()
    elif _MASKED.fullmatch(kind):
        type_ = pyarrow.from_numpy_dtype(dtype.numpy_dtype)
    else:
        return None
    if pyarrow.types.is_timestamp(type_) and column is None:
        return _moments(type_.unit, lambda: pyarrow.array(values.array), column)
    for one in ("floating", "integer", "boolean"):
        if _is_spelled(one[0], column) and getattr(pyarrow.types, f"is_{one}")(type_):
            return _texts(lambda: (object_text(value, column) for value in values.array))
    # In the type that was announced; another spelling of text is the only difference there is.
    return _made(type_, lambda: pyarrow.array(values.array).cast(type_), exact=column is None)


def _made(type_: Any, values: Callable[[], Any], *, exact: bool = False) -> Made | None:
    """Arrow values of a type, to be made later; `None` where it is not known."""
    found = reading_of(type_, exact=exact)
    return None if found is None else (found, lambda: found.column(values()))


def _is_spelled(kind: str, column: Column | None) -> bool:
    """Whether values are read by their digits: one missing value makes whole numbers doubles, and all must be read alike."""
    return kind in ("fb" if column is None else "iuf" if isinstance(column, CategoryColumn) else "")


def _spelled(values: Callable[[], Any], text: Callable[[Any], str | None]) -> Made | None:
    def texts() -> Any:
        numbers, places = np.unique(values(), return_inverse=True)
        known = [text(one) for one in numbers.tolist()]
        return pyarrow.array(known, type=pyarrow.large_string()).take(pyarrow.array(places))

    return _made(pyarrow.large_string(), texts)


def _numpy_column(
    dtype: np.dtype[Any], values: Callable[[], Any], column: Column | None
) -> Made | None:
    if dtype.kind == "c":  # one complex number makes all of them complex; among objects it is null
        real = np.dtype(np.float64)
        known: Callable[[], Any] = lambda: np.where((z := values()).imag == 0, z.real, np.nan)  # noqa: E731
        return _numpy_column(real, lambda: known().astype(real), column)
    if dtype.kind == "O":
        return _texts(lambda: (object_text(value, column) for value in values()))
    if _is_spelled(dtype.kind, column):
        return _spelled(values, lambda one: object_text(one, column))
    if dtype.kind in "biuf":
        plain_type = np.dtype(np.float64) if dtype.itemsize > 8 else dtype.newbyteorder("=")

        def numbers() -> Any:
            with np.errstate(all="ignore"):  # a long double that is too large is infinite
                return pyarrow.array(values().astype(plain_type, copy=False))

        return _made(pyarrow.from_numpy_dtype(plain_type), numbers)
    if dtype.kind == "M":
        return _moments(np.datetime_data(dtype)[0], values, column)
    if dtype.kind == "m":  # durations, which no kind of column reads
        return nothing(), lambda: nothing().column(values())
    return None


def _moments(unit: str, values: Callable[[], Any], column: Column | None) -> Made | None:
    if unit not in _NANOSECONDS:
        return None

    def counted() -> Any:
        return np.ascontiguousarray(values()).view(np.int64)

    if column is None:
        return _spelled(counted, lambda one: _moment_name(one, unit))

    def integers() -> Any:
        stored = counted()
        array = pyarrow.array(stored, mask=stored == _NOT_A_TIME)
        return array.view(pyarrow.timestamp(unit))

    return _made(pyarrow.timestamp(unit), integers)


def _texts(values: Callable[[], Iterable[str | None]]) -> Made | None:
    def texts() -> Any:
        known = [None if one is None else _unicode(one) for one in values()]
        return pyarrow.array(known, type=pyarrow.large_string())

    return _made(pyarrow.large_string(), texts)


def _categorical(values: Any, column: Column | None) -> Made | None:
    """What its categories become, once for each of them."""
    inner = pandas_column(values.dtype.categories, column)
    if inner is None:
        return None
    found, categories = inner

    def taken() -> Any:
        codes = np.asarray(values.array.codes)
        return categories().take(pyarrow.array(codes.astype(np.int64), mask=codes < 0))

    return found, taken


def object_text(value: object, column: Column | None) -> str | None:
    """A text that the column (`None`: an identifier) reads as it reads the value; `None` for null."""
    if isinstance(column, BooleanColumn):
        truth = boolean_of(value)
        return None if truth is None else "true" if truth else "false"
    if isinstance(column, TemporalColumn):
        moment = microseconds_of(value)
        return None if moment is None else _moment_text(moment)
    if isinstance(column, OrderedColumn):
        unit = column.unit_of(value)
        return None if unit is None else repr(unit)
    known = plain(value)
    if isinstance(known, Instant):
        return None if column is not None else _moment_identity(value, known)
    if isinstance(known, (int, float, Decimal, Fraction)):
        if column is None:
            return _identity(known)
        if not isinstance(known, bool):
            return _digits(known, column)
    text = category_text_of(known)
    assert not isinstance(text, float)
    return text


def _digits(number: int | float | Decimal | Fraction, column: Column) -> str | None:
    """The declared value that is written with the number's digits, or else is an equal number; if there is none, the digits."""
    near, spelled = double_of(number), category_text_of(number)
    if near is None:  # no declared value has so many digits
        return spelled if isinstance(spelled, str) else None
    is_whole = number == int(number)
    text = str(int(number)) if is_whole else repr(near)
    for one in (text, near) if near == number or not is_whole else (text,):
        code = column.code_of(one)
        if code is not None and code < column.value_cells:
            return column.label(code)
    return text


def _identity(number: int | float | Decimal | Fraction) -> str | None:
    """One text for equal numbers, another for any other: as doubles, two decimals could become one person."""
    near = double_of(number)
    if near is None or number == int(number):
        return None if near is None else str(int(number))
    if near == number:
        return repr(near)
    if isinstance(number, Decimal) and number.adjusted() < -5_000:
        return None  # what is written of it grows with its places
    whole, part = number.as_integer_ratio()
    return f"{whole:x}/{part:x}"  # of so many digits as Python does not write otherwise


def _moment_identity(value: Any, known: Instant) -> str | None:
    """The name of a moment; null where nanoseconds are not all of it, for then two people's may be alike."""
    if isinstance(value, np.datetime64):
        for unit in ("us", "ns"):
            near = value.astype(f"datetime64[{unit}]")
            if near.astype(value.dtype) == value:
                return _moment_name(int(near.astype(np.int64)), unit)
        return None
    finer = value.nanosecond if type(value).__module__.partition(".")[0] == "pandas" else 0
    return _moment_name(known.microseconds * 1000 + finer, "ns")


def _moment_name(count: int, unit: str) -> str | None:
    """One text for equal moments, in whatever unit they are stored: pandas chooses one for all of them."""
    nanoseconds = count * _NANOSECONDS[unit]
    return f"{nanoseconds} ns" if count != _NOT_A_TIME and nanoseconds in _CALENDAR else None


def _unicode(text: str) -> str:
    """Half a surrogate pair is no text, and becomes U+FFFD."""
    return _HALF_A_PAIR.sub("\ufffd", text)


def _moment_text(microseconds: int) -> str:
    moment = Instant(microseconds).as_datetime()
    if moment is None:  # beyond Python's calendar, and beyond every declared range
        return "9999-12-31" if microseconds > 0 else "0001-01-01"
    return moment.isoformat()
