"""Numbers, days and moments as texts, spelled as the other engines spell them: people are told apart by them.

Moments are spelled from microseconds, because Spark's own casts hang on the session's time zone.
"""

from __future__ import annotations

from sqlglot import exp

from discreet.engines.spark.writing import used
from discreet.engines.sql import syntax as s
from discreet.engines.sql.syntax import Sql
from discreet.schema.columns.values import MICROSECONDS_PER_DAY

_DIGITS = "DECIMAL(20,18)"


def of_double(value: Sql) -> Sql:
    """As 1.0 and 1e+16: an exponent from 10^16 on, and below 10^-4."""

    def spelled(number: Sql) -> Sql:
        size = s.call("abs", number)
        plain = s.both(s.at_most(s.double(1e-3), size), s.less(size, s.double(1e7)))
        large = s.both(s.at_most(s.double(1e7), size), s.less(size, s.double(1e16)))
        small = s.both(s.at_most(s.double(1e-4), size), s.less(size, s.double(1e-3)))

        def as_elsewhere(java: Sql) -> Sql:
            cases = [
                (s.either(plain, s.equal(size, s.double(0.0))), java),
                (large, _unfolded(java, "DECIMAL(34,17)")),
                (small, _unfolded(java, "DECIMAL(38,30)")),
            ]
            return s.choose(cases, _with_exponent(java))

        return used(_shortest(number), as_elsewhere)

    return used(value, spelled)


def _shortest(number: Sql) -> Sql:
    """As Java writes it, but in the fewest digits that are read as the same number: before version 19 it writes more.

    It writes one too many at most, except from 10^16 on: there the digits of the whole number tell.
    """
    size = s.call("abs", number)

    def found(java: Sql) -> Sql:
        digits = s.call("split_part", java, s.text("E"), s.whole(1))
        exponent = s.call("split_part", java, s.text("E"), s.whole(2))
        rounded = s.call("array", *_rounded(size, exponent))
        texts = s.call("concat", rounded, _one_digit_less(digits, exponent))
        same = s.equal(s.try_cast(s.name("text"), "DOUBLE"), size)
        is_same = exp.Lambda(this=same, expressions=[exp.to_identifier("text")])
        fewer = s.call("try_element_at", s.call("filter", texts, is_same), s.whole(1))
        return s.call("coalesce", fewer, java)  # as every float is, which no text is read as

    sign = s.choose([(s.less(number, s.double(0.0)), s.text("-"))], s.text(""))
    return s.call("concat", sign, used(s.cast(size, "VARCHAR"), found))


def _rounded(size: Sql, exponent: Sql) -> list[Sql]:
    """15, 16 and 17 digits of a whole number from 10^16 on; null of any other."""
    whole = s.cast(s.try_cast(size, "BIGINT"), "VARCHAR")
    first = s.call("substr", whole, s.whole(1), s.whole(1))
    exact = s.call("concat", first, s.text("."), s.call("substr", whole, s.whole(2)))
    is_whole = s.both(s.at_most(s.double(1e16), size), s.less(size, s.double(9e18)))
    shown = s.choose([(is_whole, s.try_cast(exact, _DIGITS))], s.null())
    return [_joined(s.call("round", shown, s.whole(places)), exponent) for places in (14, 15, 16)]


def _one_digit_less(digits: Sql, exponent: Sql) -> Sql:
    """The two neighbours with one digit less than d.ddd, the nearer one first."""
    length = s.call("length", digits)
    cut = s.call("substr", digits, s.whole(1), s.subtract(length, s.whole(1)))
    below = s.try_cast(cut, _DIGITS)
    unit = s.try_cast(s.call("concat", s.text("1E"), s.subtract(s.whole(3), length)), _DIGITS)
    above = s.add(s.own(below), unit)
    next_power = s.add(s.try_cast(exponent, "INTEGER"), s.whole(1))
    power = s.call("concat", s.text("1.0E"), next_power)
    is_power = s.at_most(s.whole(10), above)
    both = s.call(
        "array",
        _joined(below, exponent),
        s.choose([(is_power, power)], _joined(above, exponent)),
    )
    is_above_nearer = s.at_most(s.text("5"), s.call("substr", digits, length))
    return used(both, lambda two: s.choose([(is_above_nearer, s.call("reverse", two))], two))


def _joined(decimal: Sql, exponent: Sql) -> Sql:
    return s.call("concat", _without_zeros(s.try_cast(decimal, "VARCHAR")), s.text("E"), exponent)


def _without_zeros(text: Sql) -> Sql:
    return s.call("regexp_replace", text, s.text("(?<=[.][0-9]{1,30})0+$"), s.text(""))


def _unfolded(java: Sql, type_: str) -> Sql:
    """Without an exponent: 1.25E7 as 12500000.0."""
    return _without_zeros(s.try_cast(s.try_cast(java, type_), "VARCHAR"))


def _with_exponent(java: Sql) -> Sql:
    """1.0E16 as 1e+16."""
    digits = s.call(
        "regexp_replace",
        s.call("split_part", java, s.text("E"), s.whole(1)),
        s.text("[.]0$"),
        s.text(""),
    )
    exponent = s.try_cast(s.call("split_part", java, s.text("E"), s.whole(2)), "INTEGER")
    written = s.call("format_string", s.text("e%+03d"), exponent)
    return s.binary(exp.DPipe, digits, written)


def of_date(day: Sql) -> Sql:
    """As 2020-01-31 and 0044-03-15 (BC)."""
    year = s.call("year", day)
    before = s.less(year, s.whole(1))
    shown = s.choose([(before, s.subtract(s.whole(1), year))], year)
    parts = [shown, s.call("month", day), s.call("day", day)]
    spelled = s.call("format_string", s.text("%04d-%02d-%02d"), *parts)
    era = s.binary(exp.DPipe, spelled, s.text(" (BC)"))
    return s.choose([(s.is_null(day), s.null()), (before, era)], spelled)


def of_moment(microseconds: Sql) -> Sql:
    """As 2020-01-31 10:00:59.5, in UTC."""

    def spelled(moment: Sql) -> Sql:
        by = s.cast(s.whole(MICROSECONDS_PER_DAY), "BIGINT")
        clock = s.call("pmod", moment, by)
        below = s.less(s.call("mod", moment, by), s.whole(0))
        days = s.subtract(s.divide_whole(moment, by), s.cast(below, "BIGINT"))
        day = s.call("date_from_unix_date", s.cast(days, "INTEGER"))
        return s.choose([(s.is_null(moment), s.null())], _day_and_clock(day, clock))

    return used(microseconds, spelled)


def _day_and_clock(day: Sql, clock: Sql) -> Sql:
    seconds = s.divide_whole(clock, s.whole(1_000_000))
    parts = [
        s.divide_whole(seconds, s.whole(3600)),
        s.call("mod", s.divide_whole(seconds, s.whole(60)), s.whole(60)),
        s.call("mod", seconds, s.whole(60)),
        s.call("mod", clock, s.whole(1_000_000)),
    ]
    exact = s.call("format_string", s.text(" %02d:%02d:%02d.%06d"), *parts)
    short = s.call("regexp_replace", exact, s.text("[.]?0+$"), s.text(""))
    whole = s.equal(parts[3], s.whole(0))
    cut = s.call("substr", exact, s.whole(1), s.whole(9))
    return s.binary(exp.DPipe, of_date(day), s.choose([(whole, cut)], short))


def microseconds_of_local(value: Sql) -> Sql:
    """Microseconds since 1970-01-01 of a timestamp without a zone, by its parts: casts hang on the session's zone.

    The day after is counted from, so that nothing leaves 64 bits before it is back inside.
    """
    day = s.cast(s.call("unix_date", s.cast(value, "DATE")), "BIGINT")
    early = s.less(day, s.whole(0))
    counted = s.add(day, s.cast(early, "BIGINT"))
    second = s.call("date_part", s.text("SECOND"), value)
    micros = s.cast(s.multiply(second, s.whole(1_000_000)), "BIGINT")
    minutes = s.add(s.multiply(s.call("hour", value), s.whole(60)), s.call("minute", value))
    clock = s.add(s.multiply(s.cast(minutes, "BIGINT"), s.whole(60_000_000)), micros)
    back = s.choose([(early, s.whole(MICROSECONDS_PER_DAY))], s.cast(s.whole(0), "BIGINT"))
    days = s.multiply(counted, s.whole(MICROSECONDS_PER_DAY))
    return s.add(days, s.subtract(clock, back))
