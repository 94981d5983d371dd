"""From a field of any type to the unit that its column compares: layers one and two of three.

`field` cleans the field (white space, null texts of CSV), `unit` reads it as the schema's "How a
value finds its cell" says: a text, a number or a key for categories, a boolean, an integer, a
double, days or microseconds since 1970-01-01; null for what cannot be read. Every expression is
total. Where a cast of DuckDB reads more than the rule (`1_000`, `0x1F`) or less exactly (an offset
dropped, nanoseconds rounded up), the rule's own pattern or integer arithmetic stands before it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from sqlglot import exp

from discreet.engines.duckdb import sql as s
from discreet.engines.duckdb.sql import Sql
from discreet.schema.columns.column import Column
from discreet.schema.columns.values import (
    FALSE_WORDS,
    INSTANT_PATTERN,
    MICROSECONDS_PER_DAY,
    NUMBER_PATTERN,
    TRUE_WORDS,
    WHITESPACE,
    WHOLE_PATTERN,
)
from discreet.schema.csv_options import CsvOptions

_FARTHEST_DAY = 10_000_000
"""Days beyond are clamped, so that microseconds fit 64 bits; declared ranges end by year 9998."""
_FIRST_MOMENT = -9_223_372_022_400_000_000
"""In microseconds: the first timestamp that DuckDB can spell, in the year 290309 before Christ."""
_FARTHEST_WHOLE = 1e30
"""Doubles beyond are clamped, so that they fit 128 bits; declared ranges have 64."""
_DIGITS_OF_64_BITS = 18
"""Decimals of so many digits are stored in 64 bits, and anything that fits these can be spelled."""

_FAMILIES = (
    (r"TINYINT|SMALLINT|INTEGER|BIGINT|UTINYINT|USMALLINT|UINTEGER", "integer"),
    (r"HUGEINT|UBIGINT", "huge"),
    (r"FLOAT|DOUBLE", "float"),
    (r"DECIMAL\((\d+),(\d+)\)", "decimal"),
    (r"BOOLEAN", "boolean"),
    (r"DATE", "date"),
    (r"TIMESTAMP|TIMESTAMP WITH TIME ZONE", "timestamp"),
    (r"TIMESTAMP_S|TIMESTAMP_MS", "coarse"),  # reaches beyond what microseconds hold
    (r"TIMESTAMP_NS|TIMESTAMPTZ_NS", "nanoseconds"),
    # a BIGINT that counts such units since 1970-01-01
    (r"INSTANT_S|INSTANT_MS|INSTANT_US|INSTANT_NS", "instant"),
    (r"VARCHAR|JSON|UUID|ENUM\(.*\)", "text"),
    (r"UHUGEINT|BIGNUM|VARINT", "digits"),  # wider than any declared range: read by their text
    (r'"NULL"|BLOB|BIT|INTERVAL|TIME|TIME_NS|TIME WITH TIME ZONE|GEOMETRY.*', "unreadable"),
    (r".*\[\d*\]|(STRUCT|MAP|UNION|TUPLE|VARIANT).*", "unreadable"),
)
_PER_SECOND = {"INSTANT_S": 1, "INSTANT_MS": 10**3, "INSTANT_US": 10**6, "INSTANT_NS": 10**9}


@dataclass(frozen=True, slots=True)
class FieldType:
    """What a DuckDB type is read as: "unreadable" where each of its values counts as null.

    An "unknown" type, of some newer DuckDB, is refused: it must not be taken for nulls.
    """

    family: str
    digits: int = 0
    """How many digits a decimal has."""
    scale: int = 0
    """How many digits of a decimal stand behind the point."""
    per_second: int = 0
    """How many units of an instant make a second."""

    @classmethod
    def of(cls, type_name: str) -> FieldType:
        for pattern, family in _FAMILIES:
            if found := re.fullmatch(pattern, type_name, re.DOTALL):
                if family == "decimal":
                    return cls(family, int(found[1]), scale=int(found[2]))
                return cls(family, per_second=_PER_SECOND.get(type_name, 0))
        return cls("unknown")

    @property
    def is_text(self) -> bool:
        return self.family in ("text", "digits")


def csv_field(raw: Sql, csv: CsvOptions) -> Sql:
    """A field of a CSV file, null where the schema says that its text means null."""
    cleaned = s.call("trim", raw, s.text(WHITESPACE)) if csv.trim else raw
    if not csv.null_strings:
        return cleaned.copy()
    nulls = [s.text(one) for one in csv.null_strings]
    return s.choose([(s.is_in(cleaned, nulls), s.null())], cleaned)


def field(raw: Sql, type_: FieldType, kind: str) -> Sql:
    """The field as `unit` expects it: texts lose white space at their ends, except those of categories,
    and those of integers, which lose it later where they have any."""
    if type_.family == "unreadable":
        return s.null()  # what is not read cannot stop the reader
    if type_.family == "coarse":
        return s.try_cast(raw, "TIMESTAMP")
    if type_.family == "decimal" and type_.digits > _DIGITS_OF_64_BITS:
        return _within_digits(raw, type_)
    if not type_.is_text:
        return raw.copy()
    value = s.by_bytes(s.try_cast(raw, "VARCHAR"))
    return value if kind in ("category", "integer") else _trimmed(value)


def _trimmed(text: Sql) -> Sql:
    """The text without white space at its ends. DuckDB's `trim` is slow, so few texts get there: every
    white space has a byte below `!`, and most texts neither begin nor end with such a byte."""
    visible = s.text("!")
    begins = exp.GTE(this=text.copy(), expression=visible)
    ends = exp.GTE(this=s.call("right", text, s.whole(1)), expression=visible.copy())
    return s.choose([(s.both(begins, ends), text)], s.call("trim", text, s.text(WHITESPACE)))


def _within_digits(raw: Sql, type_: FieldType) -> Sql:
    """A wide decimal, clamped to the digits of its type: Parquet can hold more, which stop a cast to text."""
    whole = "9" * (type_.digits - type_.scale) or "0"
    nines = f"{whole}.{'9' * type_.scale}"
    name = f"DECIMAL({type_.digits},{type_.scale})"
    low, high = s.cast(s.text("-" + nines), name), s.cast(s.text(nines), name)
    return s.choose([(s.is_null(raw), s.null())], s.clamp(raw, low, high))


def identifier(raw: Sql, type_: FieldType) -> Sql:
    """An identifier as text; null, so that its rows are left out, where it is null or not finite."""
    if type_.family == "decimal" and type_.digits > _DIGITS_OF_64_BITS:
        raw = _within_digits(raw, type_)
    elif type_.family in ("float", "date"):
        raw = s.finite(raw)
    elif type_.family in ("timestamp", "coarse"):
        raw = _spelled_moment(field(raw, type_, "datetime"))
    return s.by_bytes(s.try_cast(raw, "VARCHAR"))


def _spelled_moment(value: Sql) -> Sql:
    """A timestamp that can be spelled: those before the calendar's first day stop a cast to text."""
    moment = s.call("epoch_us", value)  # null for an infinity
    first = s.call("greatest", moment, s.whole(_FIRST_MOMENT))
    return s.choose([(s.is_null(moment), s.null())], s.call("make_timestamp", first))


def unit_type(column: Column, type_: FieldType) -> str:
    """The SQL type of `unit`."""
    if column.kind == "category":
        return "DOUBLE" if type_.family in ("float", "decimal") else "VARCHAR"
    if column.kind == "integer":
        return "BIGINT" if type_.family in ("integer", "boolean") else "HUGEINT"
    return {"boolean": "BOOLEAN", "number": "DOUBLE"}.get(column.kind, "BIGINT")


def unit(column: Column, value: Sql, type_: FieldType) -> Sql:
    """The unit of a cleaned field."""
    read = {
        "category": _category,
        "boolean": _boolean,
        "integer": _integer,
        "number": _double,
        "date": _days,
        "datetime": _microseconds,
    }[column.kind]
    return s.try_cast(read(value, type_), unit_type(column, type_))


def read_text(kind: str, value: Sql) -> Sql:
    """The unit of a text that a question casts: as of a column of text."""
    trimmed = s.call("trim", s.cast(value, "VARCHAR"), s.text(WHITESPACE))
    read = {"integer": _integer, "number": _double, "date": _days, "datetime": _microseconds}[kind]
    return read(trimmed, FieldType.of("VARCHAR"))


def _double(value: Sql, type_: FieldType) -> Sql:
    if type_.is_text:
        number = s.try_cast(value, "DOUBLE")
        read = s.both(s.matches(value, NUMBER_PATTERN), s.call("isfinite", number))
        return s.choose([(read, number)], s.null())
    if type_.family == "float":
        return s.finite(s.cast(value, "DOUBLE"))
    if type_.family in ("integer", "boolean"):
        return s.cast(value, "DOUBLE")
    if type_.family == "decimal" and type_.digits <= 15:
        return s.cast(value, "DOUBLE")  # two exact doubles, divided once
    if type_.family in ("decimal", "huge"):
        return s.try_cast(s.cast(value, "VARCHAR"), "DOUBLE")  # correctly rounded, unlike the cast
    return s.null()


def _floor(number: Sql) -> Sql:
    """The integer below a finite double, exact up to where no declared range reaches."""
    far = s.double(_FARTHEST_WHOLE)
    clamped = s.clamp(s.call("floor", number), s.double(-_FARTHEST_WHOLE), far)
    return s.choose([(s.is_null(number), s.null())], s.try_cast(clamped, "HUGEINT"))


def _integer(value: Sql, type_: FieldType) -> Sql:
    if type_.family in ("integer", "boolean"):
        return s.cast(value, "BIGINT")
    if type_.family == "huge":
        return s.cast(value, "HUGEINT")
    if type_.family == "decimal":
        return s.try_cast(s.call("floor", value), "HUGEINT")
    if not type_.is_text:
        return _floor(_double(value, type_))
    # Most texts are the usual spelling of their number: then nothing else has to be looked at.
    usual = s.try_cast(value, "BIGINT")
    is_usual = s.equal(s.cast(usual, "VARCHAR"), value)
    return s.choose([(is_usual, s.cast(usual, "HUGEINT"))], _unusual_integer(value, type_))


def _unusual_integer(text: Sql, type_: FieldType) -> Sql:
    value = s.call("trim", text, s.text(WHITESPACE))
    number = _double(value, type_)
    exact = s.choose([(s.matches(value, WHOLE_PATTERN), s.try_cast(value, "HUGEINT"))], s.null())
    below = _floor(number)  # for a fraction, an exponent, or more digits than 128 bits hold
    return s.choose([(s.is_null(number), s.null())], s.call("coalesce", exact, below))


def _boolean(value: Sql, type_: FieldType) -> Sql:
    if type_.family == "boolean":
        return value.copy()
    if type_.is_text:
        word = s.call("lower", value)
        true = s.is_in(word, [s.text(one) for one in TRUE_WORDS])
        false = s.is_in(word, [s.text(one) for one in FALSE_WORDS])
    elif type_.family == "decimal":  # by its digits: 1 does not fit a DECIMAL(38, 38)
        digits = s.cast(value, "VARCHAR")
        true, false = s.matches(digits, r"1(\.0*)?"), s.matches(digits, r"-?0?(\.0*)?")
    elif type_.family in ("integer", "huge", "float"):
        true, false = s.equal(value, s.whole(1)), s.equal(value, s.whole(0))
    else:
        return s.null()
    yes, no = s.cast(s.whole(1), "BOOLEAN"), s.cast(s.whole(0), "BOOLEAN")
    return s.choose([(true, yes), (false, no)], s.null())


def _category(value: Sql, type_: FieldType) -> Sql:
    if type_.family in ("float", "decimal"):
        return _double(value, type_)
    if type_.family == "date":
        return s.try_cast(s.finite(value), "VARCHAR")
    if type_.is_text or type_.family in ("integer", "huge", "boolean"):
        return s.try_cast(value, "VARCHAR")
    return s.null()


def _days(value: Sql, type_: FieldType) -> Sql:
    if type_.family == "date":
        return _days_of_date(value)
    moment = _microseconds(value, type_)
    return s.cast(s.divided_down(moment, MICROSECONDS_PER_DAY), "BIGINT")


def _days_of_date(value: Sql) -> Sql:
    days = s.subtract(s.finite(value), s.cast(s.text("1970-01-01"), "DATE"))
    clamped = s.clamp(days, s.whole(-_FARTHEST_DAY), s.whole(_FARTHEST_DAY))
    return s.choose([(s.is_null(days), s.null())], s.cast(clamped, "BIGINT"))


def _microseconds(value: Sql, type_: FieldType) -> Sql:
    if type_.family == "date":
        return s.multiply(_days_of_date(value), s.whole(MICROSECONDS_PER_DAY))
    if type_.family in ("timestamp", "coarse"):
        return s.call("epoch_us", value)  # null for an infinity
    if type_.family == "instant":
        return _microseconds_of_instant(value, type_.per_second)
    if type_.family == "nanoseconds":
        return s.try_cast(s.divided_down(s.call("epoch_ns", value), 1000), "BIGINT")
    return _microseconds_of_text(value) if type_.family == "text" else s.null()


def _microseconds_of_instant(value: Sql, per_second: int) -> Sql:
    """What 64 bits of microseconds cannot hold lies at their ends, beyond every declared range."""
    if per_second >= 10**6:
        by = per_second // 10**6
        return value if by == 1 else s.cast(s.divided_down(value, by), "BIGINT")
    by = 10**6 // per_second
    farthest = (2**63 - 1) // by
    inside = s.clamp(value, s.whole(-farthest), s.whole(farthest))
    moment = s.multiply(inside, s.whole(by))
    return s.choose([(s.is_null(value), s.null())], moment)


def _microseconds_of_text(value: Sql) -> Sql:
    """By the places of the digits, once the pattern fits: `2020-01-31T10:00:59.123456+05:30`."""

    def digits(start: int, length: int) -> Sql:
        piece = s.call("substr", value, s.whole(start), s.whole(length))
        return s.call("coalesce", s.try_cast(piece, "BIGINT"), s.whole(0))

    days = _days_of_date(s.try_cast(s.call("substr", value, s.whole(1), s.whole(10)), "DATE"))
    has_seconds = s.equal(s.call("substr", value, s.whole(17), s.whole(1)), s.text(":"))
    seconds = s.add(
        s.multiply(digits(12, 2), s.whole(3600)), s.multiply(digits(15, 2), s.whole(60))
    )
    seconds = s.add(seconds, s.choose([(has_seconds, digits(18, 2))], s.whole(0)))
    fraction = s.call("regexp_extract", value, s.text(r"\.([0-9]{1,6})"), s.whole(1))
    micros = s.try_cast(s.call("rpad", fraction, s.whole(6), s.text("0")), "BIGINT")
    zone = s.call("regexp_extract", value, s.text(r"[+-][0-9]{2}:[0-9]{2}$"))
    hours = s.try_cast(s.call("substr", zone, s.whole(2), s.whole(2)), "BIGINT")
    minutes = s.try_cast(s.call("substr", zone, s.whole(5), s.whole(2)), "BIGINT")
    offset = s.add(s.multiply(hours, s.whole(3600)), s.multiply(minutes, s.whole(60)))
    east = s.equal(s.call("substr", zone, s.whole(1), s.whole(1)), s.text("+"))
    offset = s.choose([(east, offset)], s.subtract(s.whole(0), offset))
    seconds = s.subtract(seconds, s.call("coalesce", offset, s.whole(0)))
    clock = s.add(s.multiply(seconds, s.whole(1_000_000)), s.call("coalesce", micros, s.whole(0)))
    midnight = s.multiply(days, s.whole(MICROSECONDS_PER_DAY))
    has_clock = s.less(s.whole(10), s.call("length", value))
    moment = s.add(midnight, s.choose([(has_clock, clock)], s.whole(0)))
    return s.choose([(s.matches(value, INSTANT_PATTERN), moment)], s.null())
