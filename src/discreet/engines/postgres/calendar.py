"""Days and moments in PostgreSQL, which knows infinite ones and years before Christ."""

from __future__ import annotations

from sqlglot import exp

from discreet.engines.postgres.arithmetic import bound, used
from discreet.engines.sql import syntax as s
from discreet.engines.sql.dialect import Dialect
from discreet.engines.sql.fields import FieldType
from discreet.engines.sql.syntax import Sql

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
