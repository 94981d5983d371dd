"""PostgreSQL's dialect: no TRY_CAST, so every cast, product and date is looked at before it is made.

CASE decides what is evaluated: PostgreSQL promises its order, but for constants, which it computes when it
plans. So a branch that could fail uses the value that its condition looked at, never constants alone.
Integers beyond 64 bits are NUMERIC, which holds 131,072 digits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sqlglot import exp

from discreet.engines.postgres.arithmetic import bound, used
from discreet.engines.postgres.numbers import PostgresNumbers, finite_decimal
from discreet.engines.postgres.rendering import rendered
from discreet.engines.postgres.texts import PostgresPlaces, PostgresTexts, by_bytes
from discreet.engines.sql import syntax as s
from discreet.engines.sql.dialect import Dialect
from discreet.engines.sql.fields import FieldType
from discreet.engines.sql.syntax import Sql
from discreet.schema.columns.values import WHITESPACE

_FARTHEST_DAY = 10_000_000
_FARTHEST_MOMENT = 9_223_372_036_854_775_807
_PARTS = {"dayofweek": "dow", "dayofyear": "doy"}


class PostgresCalendar(Dialect):
    """The days and moments of `Dialect`."""

    def days_of_date(self, value: Sql) -> Sql:
        def days(day: Sql) -> Sql:
            passed = s.subtract(day, _epoch())
            clamped = s.clamp(passed, s.whole(-_FARTHEST_DAY), s.whole(_FARTHEST_DAY))
            return s.choose([(s.call("isfinite", day), s.cast(clamped, "BIGINT"))], s.null())

        return used(value, days)

    def days_of_iso_text(self, value: Sql) -> Sql:
        def number(text: Sql, start: int, length: int) -> Sql:
            piece = s.call("substr", text, s.whole(start), s.whole(length))
            return s.cast(self.digits_of(piece), "INTEGER")

        def first(year: Sql, month: Sql, day: Sql) -> Sql:
            known = [
                s.both(s.at_most(s.whole(1), one), s.at_most(one, s.whole(most)))
                for one, most in ((year, 9999), (month, 12), (day, 31))
            ]
            start = s.call("make_date", year, month, s.whole(1))
            started = s.choose([(s.both(s.both(known[0], known[1]), known[2]), start)], s.null())
            return bound([s.add(started, s.subtract(day, s.whole(1))), month], of_month)

        def of_month(day: Sql, month: Sql) -> Sql:
            same = s.equal(self.part_of_day("month", day), month)
            return s.choose([(same, s.cast(s.subtract(day, _epoch()), "BIGINT"))], s.null())

        return bound([number(value, 1, 4), number(value, 6, 2), number(value, 9, 2)], first)

    def microseconds_of(self, value: Sql, type_: FieldType) -> Sql:
        def passed(moment: Sql) -> Sql:
            seconds = exp.Extract(this=exp.var("EPOCH"), expression=s.own(moment))
            micros = s.multiply(seconds, s.whole(1_000_000))
            ends = s.whole(-_FARTHEST_MOMENT), s.whole(_FARTHEST_MOMENT)
            clamped = s.cast(s.clamp(micros, *ends), "BIGINT")
            return s.choose([(s.call("isfinite", moment), clamped)], s.null())

        return used(value, passed)

    def text_of_date(self, value: Sql) -> Sql:
        finite = s.choose([(s.call("isfinite", value), value)], s.null())
        return spelled_era(s.cast(finite, "VARCHAR"))

    def day(self, days: Sql) -> Sql:
        return s.add(_epoch(), s.cast(days, "INTEGER"))

    def part_of_day(self, part: str, day: Sql) -> Sql:
        return s.cast(s.call("date_part", s.text(_PARTS.get(part, part)), day), "INTEGER")

    def days_into(self, unit: str, day: Sql) -> Sql:
        start = s.call("date_trunc", s.text(unit), s.cast(day, "TIMESTAMP"))
        return s.subtract(day, s.cast(start, "DATE"))


def _epoch() -> Sql:
    return s.cast(s.text("1970-01-01"), "DATE")


def spelled_era(text: Sql) -> Sql:
    return s.call("replace", text, s.text(" BC"), s.text(" (BC)"))


_FAMILIES = {
    "integer": ("int2", "int4", "int8"),
    "float": ("float4", "float8"),
    "decimal": ("numeric",),
    "boolean": ("bool",),
    "date": ("date",),
    "timestamp": ("timestamp", "timestamptz"),
    "text": ("text", "varchar", "bpchar", "name", "char", "uuid", "json", "jsonb", "xml", "enum", "citext",
             "inet", "cidr", "macaddr", "macaddr8"),
    "unreadable": ("bytea", "bit", "varbit", "time", "timetz", "interval", "money", "array", "composite",
                   "range", "multirange", "point", "line", "lseg", "box", "path", "polygon", "circle",
                   "tsvector", "tsquery", "pg_lsn", "xid", "xid8", "tid", "cid", "pg_snapshot"),
}  # fmt: skip
"""By the types' own names; a domain has its base type's, other kinds of types the kind's."""
_LONGEST_IDENTIFIER = 1_000_000
_MOST_GROUPED = 30


class PostgresDialect(PostgresNumbers, PostgresTexts, PostgresCalendar, PostgresPlaces):
    """See `Dialect`."""

    def render(self, query: Sql) -> str:
        return rendered(query)

    # -- Fields

    def field_type(self, type_name: str) -> FieldType:
        name = type_name.lower().removesuffix(" collate")
        for family, names in _FAMILIES.items():
            if name in names:
                return FieldType(family)
        return FieldType("unknown")

    def field(self, raw: Sql, type_: FieldType, kind: str) -> Sql:
        if type_.family == "unreadable":
            return s.null()
        if type_.family == "decimal":
            return finite_decimal(raw)
        if type_.family == "boolean" and kind != "boolean":
            return s.cast(raw, "VARCHAR" if kind == "category" else "INTEGER")
        if not type_.is_text:
            return raw.copy()
        value = by_bytes(s.cast(raw, "VARCHAR"))
        return value if kind in ("category", "integer") else self.trimmed(value, WHITESPACE)

    def identifier(self, raw: Sql, type_: FieldType) -> Sql:
        if type_.family == "float":
            text = used(self.text_of(self.finite(s.cast(raw, "DOUBLE")), "number"), s.with_one_zero)
        elif type_.family == "decimal":
            # 1.0 and 1.00 are equal, so they are one person's.
            text = s.cast(s.call("trim_scale", finite_decimal(raw)), "VARCHAR")
        elif type_.family == "date":
            text = self.text_of_date(raw)
        elif type_.family == "timestamp":
            known = s.choose([(s.call("isfinite", raw), raw)], s.null())
            # In UTC, for a cast between the two types stops at the calendar's end.
            spelled = s.call("replace", s.cast(known, "VARCHAR"), s.text("+00"), s.text(""))
            text = spelled_era(spelled)
        else:
            text = s.cast(raw, "VARCHAR")
        text = by_bytes(text)
        short = s.at_most(s.call("octet_length", text), s.whole(_LONGEST_IDENTIFIER))
        return s.choose([(short, text)], s.null())

    # -- Queries

    def layer(self, query: exp.Select, name: str) -> Sql:
        """OFFSET 0 keeps the planner from writing an expression into every place that uses it."""
        return query.offset(0, copy=False).subquery(name, copy=False)

    def first_of(self, rows: exp.Select, window: exp.Window, most: int) -> exp.Select:
        numbered = exp.select(exp.Star(), exp.alias_(window, "place_of_row")).from_(
            self.layer(rows, "counted"), copy=False
        )
        kept = s.at_most(s.name("place_of_row"), s.whole(most))
        return exp.select(exp.Star()).from_(numbered.subquery("numbered", copy=False)).where(kept)

    def grouping(self, names: Sequence[Sql]) -> Sql:
        """In parts, for GROUPING takes at most 31 names."""
        bits = s.cast(s.whole(0), "BIGINT")
        for start in range(0, len(names), _MOST_GROUPED):
            part = names[start : start + _MOST_GROUPED]
            bits = s.multiply(bits, s.cast(s.whole(1 << len(part)), "BIGINT"))
            bits = s.add(bits, s.call("grouping", *part))
        return bits

    def once(self, value: Sql, body: Callable[[Sql], Sql]) -> Sql:
        """`body` of a value that is computed once."""
        return used(value, body)


DIALECT = PostgresDialect()
