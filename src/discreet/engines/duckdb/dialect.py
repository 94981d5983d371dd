"""DuckDB's dialect: TRY_CAST, 128-bit integers, ENUMs.

Categories are looked up by TRY_CAST to an ENUM of the declared values: one hash lookup, and seven times
as fast as a CASE with 50 values. Long lists are joined instead: with 10,000 values that is ten times as
fast, for a cast looks at every row where a dictionary of so many texts would do.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping

from sqlglot import exp

from discreet.engines.sql import cells
from discreet.engines.sql import syntax as s
from discreet.engines.sql.dialect import Dialect
from discreet.engines.sql.fields import FieldType
from discreet.engines.sql.syntax import Sql
from discreet.schema.columns.column import Column
from discreet.schema.columns.named import CategoryColumn
from discreet.schema.columns.numeric import NumberColumn
from discreet.schema.columns.values import WHITESPACE

MOST_ENUMERATED = 1000
"""A category of more values is looked up by a join."""
_FARTHEST_DAY = 10_000_000
"""Days beyond are clamped, so that microseconds fit 64 bits; declared ranges end by year 9998."""
_FIRST_MOMENT = -9_223_372_022_400_000_000
"""In microseconds: the first timestamp that DuckDB can spell, in the year 290309 before Christ."""
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
_DIGITS_OF_SINGLES = 7
_PER_SECOND = {"INSTANT_S": 1, "INSTANT_MS": 10**3, "INSTANT_US": 10**6, "INSTANT_NS": 10**9}


def render(query: Sql) -> str:
    return query.sql(dialect="duckdb")


def one_of(values: Iterable[Sql]) -> Sql:
    """A constant list."""
    return exp.Array(expressions=list(values))


def declarations(column: Column, declared: str) -> tuple[list[str], Sql | None]:
    """Statements that make `declared` a category's type and table, or the value of a variable: its edges.

    They are long, so they are told to DuckDB once instead of in every query.
    """
    made: list[str] = []
    if isinstance(column, CategoryColumn) and column.values:
        values = render(one_of(map(s.text, column.values)))[1:-1]
        made.append(f"CREATE TYPE {declared} AS ENUM ({values})")
        if len(column.values) > MOST_ENUMERATED:
            listed = f"unnest(enum_range(NULL::{declared}))::VARCHAR AS value"
            places = f"unnest(range({len(column.values)})) AS place"
            made.append(f"CREATE TABLE {declared} AS SELECT {listed}, {places}")
    if isinstance(column, NumberColumn) and cells.has_listed_edges(column):
        return made, one_of(map(s.double, (-math.inf, *(column.inner_edges or ()), math.inf)))
    return made, None


class DuckDBDialect(Dialect):
    """See `Dialect`. Integers are computed in 128 bits and cast back with TRY_CAST, which is null beyond 64."""

    def render(self, query: Sql) -> str:
        return render(query)

    def field_type(self, type_name: str) -> FieldType:
        plain = type_name.removesuffix(" COLLATE").removeprefix("ROUNDED ")
        for pattern, family in _FAMILIES:
            if found := re.fullmatch(pattern, plain, re.DOTALL):
                if family == "decimal":
                    return FieldType(family, int(found[1]), scale=int(found[2]))
                digits = _DIGITS_OF_SINGLES if type_name == "FLOAT" else 0
                return FieldType(family, digits, per_second=_PER_SECOND.get(type_name, 0))
        return FieldType("unknown")

    def field(self, raw: Sql, type_: FieldType, kind: str) -> Sql:
        if type_.family == "unreadable":
            return s.null()  # what is not read cannot stop the reader
        if type_.family == "coarse":
            return s.try_cast(raw, "TIMESTAMP")
        if type_.family == "decimal" and type_.digits > _DIGITS_OF_64_BITS:
            return _within_digits(raw, type_)
        if not type_.is_text:
            return raw.copy()
        value = _by_bytes(s.try_cast(raw, "VARCHAR"))
        return value if kind in ("category", "integer") else _trimmed(value)

    def identifier(self, raw: Sql, type_: FieldType) -> Sql:
        if type_.family == "decimal" and type_.digits > _DIGITS_OF_64_BITS:
            raw = s.choose([(s.equal(_within_digits(raw, type_), raw), raw)], s.null())
        elif type_.family in ("float", "date"):
            raw = self.finite(raw)
        elif type_.family in ("timestamp", "coarse"):
            raw = _spelled_moment(self.field(raw, type_, "datetime"))
        text = _by_bytes(s.try_cast(raw, "VARCHAR"))
        if type_.is_text:  # bytes that are no text became U+FFFD: two people's may look alike
            return s.choose([(s.call("contains", text, s.text("\ufffd")), s.null())], text)
        return _read_back(s.with_one_zero(text), raw, type_) if type_.family == "float" else text

    def shifted(self, place: Sql, bits: int) -> Sql:
        return s.binary(exp.BitwiseRightShift, place, s.cast(s.whole(bits), "UBIGINT"))

    def is_finite(self, value: Sql) -> Sql:
        return s.call("isfinite", value)

    def calculated(self, kind: type[exp.Binary], left: Sql, right: Sql) -> Sql:
        if kind is exp.Div:
            right = _not_zero(right, s.double(0.0))
        return self._finite_once(s.binary(kind, left, right))

    def remainder(self, left: Sql, right: Sql) -> Sql:
        return self._finite_once(s.call("mod", left, _not_zero(right, s.double(0.0))))

    def whole_remainder(self, left: Sql, right: Sql) -> Sql:
        left, right = s.cast(left, "HUGEINT"), s.cast(right, "HUGEINT")
        zero = s.cast(s.whole(0), "HUGEINT")
        return s.try_cast(s.call("mod", left, _not_zero(right, zero)), "BIGINT")

    def _finite_once(self, value: Sql) -> Sql:
        """As `finite`, of an expression that may be long."""
        return _kept_if(value, self.is_finite)

    def real_function(self, function: str, value: Sql, least: float) -> Sql:
        there = _kept_if(value, lambda one: s.at_most(s.double(least), one))
        return self._finite_once(s.call(function, there))

    def nearest(self, value: Sql) -> Sql:
        return s.try_cast(value, "BIGINT")  # this cast rounds half to even, as a test pins

    def rounded_product(self, value: Sql, scale: int) -> Sql:
        return s.call("round_even", s.multiply(value, s.double(float(scale))), s.whole(0))

    def double_of_decimal(self, value: Sql, type_: FieldType) -> Sql:
        if type_.family == "decimal" and type_.digits <= 15:
            return s.cast(value, "DOUBLE")  # two exact doubles, divided once
        return s.try_cast(s.cast(value, "VARCHAR"), "DOUBLE")  # correctly rounded, unlike the cast

    def key_text(self, value: Sql) -> Sql:
        nul = s.call("contains", value, s.call("chr", s.whole(0)))
        return s.choose([(nul, s.null())], value)

    def matches(self, value: Sql, pattern: str) -> Sql:
        return s.call("regexp_full_match", value, s.text(pattern))

    def trimmed(self, value: Sql, characters: str, function: str = "trim") -> Sql:
        return s.call(function, value, s.text(characters))

    def days_of_date(self, value: Sql) -> Sql:
        days = s.subtract(self.finite(value), _epoch())
        clamped = s.clamp(days, s.whole(-_FARTHEST_DAY), s.whole(_FARTHEST_DAY))
        return s.choose([(s.is_null(days), s.null())], s.cast(clamped, "BIGINT"))

    def microseconds_of(self, value: Sql, type_: FieldType) -> Sql:
        if type_.family == "instant":
            return self._microseconds_of_instant(value, type_.per_second)
        if type_.family == "nanoseconds":
            return s.try_cast(self.divided_down(s.call("epoch_ns", value), 1000), "BIGINT")
        return s.call("epoch_us", value)  # null for an infinity

    def _microseconds_of_instant(self, value: Sql, per_second: int) -> Sql:
        """What 64 bits of microseconds cannot hold lies at their ends, beyond every declared range."""
        if per_second >= 10**6:
            by = per_second // 10**6
            return value if by == 1 else s.cast(self.divided_down(value, by), "BIGINT")
        by = 10**6 // per_second
        farthest = (2**63 - 1) // by
        inside = s.clamp(value, s.whole(-farthest), s.whole(farthest))
        moment = s.multiply(inside, s.whole(by))
        return s.choose([(s.is_null(value), s.null())], moment)

    def day(self, days: Sql) -> Sql:
        return s.add(_epoch(), s.cast(days, "INTEGER"))

    def days_into(self, unit: str, day: Sql) -> Sql:
        return s.subtract(day, s.cast(s.call("date_trunc", s.text(unit), day), "DATE"))

    def place_of_text(self, column: CategoryColumn, unit: Sql, declared: str, joined: Sql) -> Sql:
        if self.is_joined(column, "VARCHAR"):
            return joined
        return s.call("enum_code", s.try_cast(unit, declared))

    def place_of_number(self, places: Mapping[float, int], unit: Sql) -> Sql:
        position = s.call("list_position", one_of(map(s.double, places)), unit)
        return s.call("list_extract", one_of(map(s.whole, places.values())), position)

    def place_among_edges(
        self, column: NumberColumn, unit: Sql, declared: str, guessed: Sql
    ) -> Sql:
        closed_left = column.closed == "left"
        listed = s.call("getvariable", s.text(declared))
        under = s.call("list_extract", listed, s.add(guessed, s.whole(1)))
        over = s.call("list_extract", listed, s.add(guessed, s.whole(2)))
        before = s.less(unit, under) if closed_left else s.at_most(unit, under)
        after = s.at_most(over, unit) if closed_left else s.less(over, unit)
        return s.add(s.subtract(guessed, s.cast(before, "BIGINT")), s.cast(after, "BIGINT"))

    def guess(self, column: Column, unit: Sql) -> Sql | None:
        return cells.guessed(column, unit, self)

    def is_joined(self, column: Column, unit_type: str) -> bool:
        listed = isinstance(column, CategoryColumn) and len(column.values) > MOST_ENUMERATED
        return listed and unit_type == "VARCHAR"


DIALECT = DuckDBDialect()


def _by_bytes(text: Sql) -> Sql:
    """The text without the collation of its column, which would make `a` and `A` one group.

    A cast, a trim or a concatenation would pass the collation on, so this comes first of all.
    """
    rule = exp.to_identifier("binary", quoted=True)
    return exp.Paren(this=exp.Collate(this=s.own(text), expression=rule))


def _epoch() -> Sql:
    return s.cast(s.text("1970-01-01"), "DATE")


def _kept_if(value: Sql, condition: Callable[[Sql], Sql]) -> Sql:
    """The value where it meets a condition, else null. It is written once: CASE would repeat it, and
    expressions that nest would double their text at each level."""
    parameter = exp.Identifier(this="value", quoted=False)
    test = exp.Lambda(this=condition(exp.Column(this=parameter.copy())), expressions=[parameter])
    listed = s.call("list_filter", exp.Array(expressions=[s.own(value)]), test)
    return s.call("list_extract", listed, s.whole(1))


def _read_back(text: Sql, raw: Sql, type_: FieldType) -> Sql:
    """The text of a double; its bits where the text is read as another one, which DuckDB 2.0 spells for 2^81."""
    own = "REAL" if type_.digits == _DIGITS_OF_SINGLES else "DOUBLE"
    bits = s.try_cast(s.cast(raw, "BIT"), "VARCHAR")
    return s.choose([(s.equal(s.try_cast(text, own), raw), text)], bits)


def _not_zero(value: Sql, zero: Sql) -> Sql:
    return _kept_if(value, lambda one: s.binary(exp.NEQ, one, zero))


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
    return s.clamped_or_null(raw, low, high)


def _spelled_moment(value: Sql) -> Sql:
    """The text of a timestamp; its microseconds before the calendar's first day, which would stop the cast."""
    moment = s.call("epoch_us", value)  # null for an infinity
    first = s.call("greatest", moment, s.whole(_FIRST_MOMENT))
    spelled = s.try_cast(s.call("make_timestamp", first), "VARCHAR")
    return s.choose([(s.equal(first, moment), spelled)], s.try_cast(moment, "VARCHAR"))
