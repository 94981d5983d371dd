"""From a field of any type to the unit that its column compares: layers one and two of three.

`Dialect.field` cleans the field (white space, null texts of CSV), `unit` reads it as the schema's "How a
value finds its cell" says: a text, a number or a key for categories, a boolean, an integer, a
double, days or microseconds since 1970-01-01; null for what cannot be read. Every expression is
total. Where a cast of some database reads more than the rule (`1_000`, `0x1F`) or less exactly (an offset
dropped, nanoseconds rounded up), the rule's own pattern or integer arithmetic stands before it.
"""

from __future__ import annotations

from discreet.engines.sql import syntax as s
from discreet.engines.sql.dialect import Dialect
from discreet.engines.sql.fields import FieldType
from discreet.engines.sql.syntax import Sql
from discreet.schema.columns.column import Column
from discreet.schema.columns.values import (
    FALSE_WORDS,
    INSTANT_PATTERN,
    MICROSECONDS_PER_DAY,
    TRUE_WORDS,
    WHITESPACE,
)
from discreet.schema.csv_options import CsvOptions

LONGEST_TEXT = 1000
"""Characters. Of a longer text of a category one more is read, unless the schema declares longer ones. A longer identifier is missing."""
_FARTHEST_WHOLE = 1e30
"""Doubles beyond are clamped, so that they fit 128 bits; declared ranges have 64."""


def csv_field(raw: Sql, csv: CsvOptions, dialect: Dialect, kind: str) -> Sql:
    """A field of a CSV file, null where the schema says that its text means null."""
    cleaned = dialect.trimmed(raw, WHITESPACE) if csv.trim else raw.copy()
    if csv.null_strings:
        nulls = [s.text(one) for one in csv.null_strings]
        cleaned = s.choose([(s.is_in(cleaned, nulls), s.null())], cleaned)
    for pattern, written in csv.rewritings(kind):
        cleaned = s.call("regexp_replace", cleaned, s.text(pattern), s.text(written), s.text("g"))
    return cleaned


def unit_type(column: Column, type_: FieldType) -> str:
    """The SQL type of `unit`."""
    if column.kind == "category":
        return "DOUBLE" if type_.family in ("float", "decimal") else "VARCHAR"
    if column.kind == "integer":
        return "BIGINT" if type_.family in ("integer", "boolean") else "HUGEINT"
    return {"boolean": "BOOLEAN", "number": "DOUBLE"}.get(column.kind, "BIGINT")


def unit(column: Column, value: Sql, type_: FieldType, dialect: Dialect) -> Sql:
    """The unit of a cleaned field."""
    read = _Reader(dialect).of_kind(column.kind, value, type_)
    if column.kind == "category" and type_.is_text:
        # A database holds all texts of one person in memory at the same time. A text that is cut off equals no declared one.
        longest = max([LONGEST_TEXT, *(len(each) for each in getattr(column, "values", ()))])
        read = s.call("substr", read, s.whole(1), s.whole(longest + 1))
    return dialect.fitted(read, unit_type(column, type_))


def read_text(kind: str, value: Sql, dialect: Dialect) -> Sql:
    """The unit of a text that a question casts: as of a column of text."""
    trimmed = dialect.trimmed(dialect.text_of(value, "text"), WHITESPACE)
    return _Reader(dialect).of_kind(kind, trimmed, FieldType("text"))


class _Reader:
    """Reads cleaned fields, each kind of column in its own way."""

    def __init__(self, dialect: Dialect) -> None:
        self._dialect = dialect

    def of_kind(self, kind: str, value: Sql, type_: FieldType) -> Sql:
        read = {
            "category": self._category,
            "boolean": self._boolean,
            "integer": self._integer,
            "number": self._double,
            "date": self._days,
            "datetime": self._microseconds,
        }[kind]
        return read(value, type_)

    def _double(self, value: Sql, type_: FieldType) -> Sql:
        if type_.is_text:
            return self._dialect.double_of_text(value)
        if type_.family == "float":
            return self._dialect.finite(s.cast(value, "DOUBLE"))
        if type_.family in ("integer", "boolean"):
            return s.cast(value, "DOUBLE")
        if type_.family in ("decimal", "huge"):
            return self._dialect.double_of_decimal(value, type_)
        return s.null()

    def _floor(self, number: Sql) -> Sql:
        """The integer below a finite double, exact up to where no declared range reaches."""
        far = s.double(_FARTHEST_WHOLE)
        clamped = s.clamp(s.call("floor", number), s.double(-_FARTHEST_WHOLE), far)
        whole = self._dialect.wide_of_whole_double(clamped)
        return s.choose([(s.is_null(number), s.null())], whole)

    def _integer(self, value: Sql, type_: FieldType) -> Sql:
        if type_.family in ("integer", "boolean"):
            return s.cast(value, "BIGINT")
        if type_.family == "huge":
            return s.cast(value, "HUGEINT")
        if type_.family == "decimal":
            return self._dialect.floor_of_decimal(value)
        if not type_.is_text:
            return self._floor(self._double(value, type_))
        # Most texts are the usual spelling of their number: then nothing else has to be looked at.
        return s.choose([self._dialect.usual_integer(value)], self._unusual_integer(value, type_))

    def _unusual_integer(self, text: Sql, type_: FieldType) -> Sql:
        value = self._dialect.trimmed(text, WHITESPACE)
        number = self._double(value, type_)
        exact = self._dialect.wide_of_text(value)
        # `below` is for a fraction, an exponent, or more digits than 128 bits hold.
        below = self._floor(number)
        return s.choose([(s.is_null(number), s.null())], s.call("coalesce", exact, below))

    def _boolean(self, value: Sql, type_: FieldType) -> Sql:
        if type_.family == "boolean":
            return value.copy()
        if type_.is_text:
            word = s.call("lower", value)  # no letter outside ASCII becomes one of these words
            true = s.is_in(word, [s.text(one) for one in TRUE_WORDS])
            false = s.is_in(word, [s.text(one) for one in FALSE_WORDS])
        elif type_.family == "decimal":
            true, false = (self._dialect.decimal_is(value, digit) for digit in (1, 0))
        elif type_.family in ("integer", "huge", "float"):
            true, false = s.equal(value, s.whole(1)), s.equal(value, s.whole(0))
        else:
            return s.null()
        yes, no = s.cast(s.whole(1), "BOOLEAN"), s.cast(s.whole(0), "BOOLEAN")
        return s.choose([(true, yes), (false, no)], s.null())

    def _category(self, value: Sql, type_: FieldType) -> Sql:
        if type_.family in ("float", "decimal"):
            number = self._double(value, type_)  # one zero: rows that sort alike must be alike
            return s.choose([(s.equal(number, s.double(0.0)), s.double(0.0))], number)
        if type_.family == "date":
            return self._dialect.text_of_date(value)
        if type_.is_text or type_.family in ("integer", "huge", "boolean"):
            return self._dialect.text_of(value, "text" if type_.is_text else "integer")
        return s.null()

    def _days(self, value: Sql, type_: FieldType) -> Sql:
        if type_.family == "date":
            return self._dialect.days_of_date(value)
        moment = self._microseconds(value, type_)
        return s.cast(self._dialect.divided_down(moment, MICROSECONDS_PER_DAY), "BIGINT")

    def _microseconds(self, value: Sql, type_: FieldType) -> Sql:
        if type_.family == "date":
            return s.multiply(self._dialect.days_of_date(value), s.whole(MICROSECONDS_PER_DAY))
        if type_.family in ("timestamp", "coarse", "instant", "nanoseconds"):
            return self._dialect.microseconds_of(value, type_)
        return self._microseconds_of_text(value) if type_.family == "text" else s.null()

    def _microseconds_of_text(self, value: Sql) -> Sql:
        """By the places of the digits, once the pattern fits: `2020-01-31T10:00:59.123456+05:30`."""
        dialect = self._dialect

        def piece(of: Sql, start: int, length: int) -> Sql:
            return s.call("substr", of, s.whole(start), s.whole(length))

        def digits(start: int, length: int) -> Sql:
            read = dialect.digits_of(piece(value, start, length))
            return s.call("coalesce", read, s.whole(0))

        days = dialect.days_of_iso_text(value)
        has_seconds = s.equal(piece(value, 17, 1), s.text(":"))
        seconds = s.add(
            s.multiply(digits(12, 2), s.whole(3600)), s.multiply(digits(15, 2), s.whole(60))
        )
        seconds = s.add(seconds, s.choose([(has_seconds, digits(18, 2))], s.whole(0)))
        fraction = dialect.extracted(value, r"\.([0-9]{1,6})", 1)
        micros = dialect.digits_of(s.call("rpad", fraction, s.whole(6), s.text("0")))
        # +05:30, +0530 or +05. The end of a mere date fits too; it has no clock, so no offset counts.
        zone = dialect.extracted(value, r"([+-][0-9]{2}(:?[0-9]{2})?)$", 1)
        hours = dialect.digits_of(piece(zone, 2, 2))
        minutes = dialect.digits_of(dialect.extracted(value, r"[+-][0-9]{2}:?([0-9]{2})$", 1))
        minutes = s.multiply(s.call("coalesce", minutes, s.whole(0)), s.whole(60))
        offset = s.add(s.multiply(hours, s.whole(3600)), minutes)
        is_west = s.equal(piece(zone, 1, 1), s.text("-"))
        offset = s.multiply(offset, s.choose([(is_west, s.whole(-1))], s.whole(1)))
        seconds = s.subtract(seconds, s.call("coalesce", offset, s.whole(0)))
        clock = s.multiply(seconds, s.whole(1_000_000))
        clock = s.add(clock, s.call("coalesce", micros, s.whole(0)))
        midnight = s.multiply(days, s.whole(MICROSECONDS_PER_DAY))
        has_clock = s.less(s.whole(10), s.call("length", value))
        moment = s.add(midnight, s.choose([(has_clock, clock)], s.whole(0)))
        return s.choose([(dialect.matches(value, INSTANT_PATTERN), moment)], s.null())
