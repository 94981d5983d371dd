"""Dates and times: their parts and differences, INTERVAL, date_trunc, strftime; and CAST, which makes dates of texts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from discreet.errors import BadQuestion
from discreet.questions.calendar_texts import formatted, formatted_by_letters
from discreet.questions.dialects.statement import UNITS_OF_TIME, number
from discreet.questions.expressions import (
    DATE_PARTS,
    TEMPORAL,
    TRUNCATED,
    Call,
    Constant,
    Expression,
    Type,
)
from discreet.questions.literals import (
    as_moment,
    converted,
    described,
    folded_constant,
    months_later,
    temporal,
    text_of,
    type_named,
)
from discreet.questions.reading.walk import TreeReader
from discreet.schema.columns.values import MICROSECONDS_PER_DAY

_PART_NAMES = {"dow": "dayofweek", "doy": "dayofyear", "dayofmonth": "day", "weekofyear": "week"}
_MONTHS = {"month": 1, "quarter": 3, "year": 12}
_CLOCK_SIZES = {"second": 10**6, "minute": 60 * 10**6, "hour": 3600 * 10**6}
_DAY_SIZES = {"day": 1, "week": 7}
FROM_YEARS = ("isoyear", "decade", "century")
"""Parts of a date that are worked out from its year."""
_DIFFERENCES = ("day", "month", "quarter", "year")
_AS_LONG = {
    (60, "second"): "minute", (60, "minute"): "hour", (24, "hour"): "day", (7, "day"): "week",
    (3, "month"): "quarter", (12, "month"): "year", (4, "quarter"): "year",
}  # fmt: skip
"""Lengths of time that have a name."""


WITH_ZONE = ("TIMESTAMPTZ", "TIMESTAMPLTZ")
"""Types of moments with a zone. Literals of them are read; columns have no zone."""


class MomentReader(TreeReader):
    """Reads dates and times."""

    def _moved(self, start: Expression, interval: Any, name: str) -> Expression:
        """A literal date plus or minus an INTERVAL; of other dates, days and weeks."""
        if isinstance(start, Constant) and start.type == "text":
            start = temporal(str(start.value), "date")
        unit = str(getattr(interval.args.get("unit"), "name", "")).lower().rstrip("s")
        is_literal = isinstance(start, Constant) and start.type in TEMPORAL
        if start.type == "datetime" and not is_literal:
            raise BadQuestion(
                f"An INTERVAL does not move {described(start)}. Move the other side of the comparison: instead of d - INTERVAL "
                "'1 day' < '2020-01-31' write d < TIMESTAMP '2020-01-31' + INTERVAL '1 day'."
            )
        if not is_literal and not (start.type == "date" and unit in _DAY_SIZES):
            self._refuse(interval)
        amount = number(text_of(interval.this)) if interval.this is not None else None
        if not isinstance(amount, int) or abs(amount) > 10**6:
            raise BadQuestion("An INTERVAL is written as INTERVAL '3 days', with a whole number.")
        steps = amount if name == "+" else -amount
        if not isinstance(start, Constant):
            return _call("+", start, Constant(steps * _DAY_SIZES[unit], "integer"), to="date")
        assert isinstance(start.value, int)
        is_date = start.type == "date"
        try:
            if unit in _MONTHS:
                return months_later(start, steps * _MONTHS[unit])
            if unit in _DAY_SIZES:
                size = 1 if is_date else MICROSECONDS_PER_DAY
                return Constant(start.value + steps * _DAY_SIZES[unit] * size, start.type)
            if unit in _CLOCK_SIZES:
                moment = start.value * (MICROSECONDS_PER_DAY if is_date else 1)
                return Constant(moment + steps * _CLOCK_SIZES[unit], "datetime")
        except (ValueError, OverflowError):
            raise BadQuestion("A date in the question lies outside the years 1 to 9999.") from None
        known = ", ".join((*_CLOCK_SIZES, *_DAY_SIZES, *_MONTHS))
        raise BadQuestion(f"An INTERVAL is of one of {known}.")

    def _extract(self, node: Any, depth: int) -> Expression:
        return self._dated(str(node.this.name), self.read(node.expression, depth))

    def _dated(self, asked: str, value: Expression) -> Expression:
        value = as_moment(value)
        name = asked.lower() if asked.lower() in FROM_YEARS else part_named(asked, *FROM_YEARS)
        if value.type not in (*TEMPORAL, "null"):
            raise BadQuestion(f"{name}() takes a date, and {described(value)} is not one.")
        if name not in FROM_YEARS:
            return Call(name, (value,), "integer")
        if name == "isoyear":  # a week belongs to the year that its Thursday is in
            week = converted(
                _call("date_trunc", Constant("week", "text"), value, to=value.type), "date"
            )
            return _call(
                "year", _call("+", folded_constant(week), Constant(3, "integer"), to="date")
            )
        size, way = (10, "floor") if name == "decade" else (100, "ceil")
        many = _call("/", _call("year", value), Constant(size, "integer"), to="number")
        return _call("cast", _call(way, many, to="number"))

    def _difference(self, node: Any, depth: int) -> Expression:
        """datediff('day', a, b), date_diff(b, a, DAY), and datediff(b, a) in days: boundaries from a to b."""
        self._plain(node, "this", "expression", "unit")
        first, second, third = node.this, node.expression, node.args.get("unit")
        unit, start, end = text_of(third).lower(), second, first
        if third is None:
            unit = "day"
        elif text_of(first).lower() in UNITS_OF_TIME and type(third) is not self.exp.Var:
            unit, end = text_of(first).lower(), third
        unit = unit.removesuffix("s")
        if unit not in _DIFFERENCES:
            raise BadQuestion(
                f"datediff() takes one of {', '.join(_DIFFERENCES)} first, in quotes, as in datediff('day', start, finish). "
                "Seven days are a week."
            )
        since, until = (
            folded_constant(converted(self._moment("datediff", each, depth), "date"))
            for each in (start, end)
        )
        if unit == "day":
            return _call("-", until, since)
        per_year = {"year": 1, "quarter": 4, "month": 12}[unit]
        years = _call("-", _call("year", until), _call("year", since))
        if unit == "year":
            return years
        parts = _call("-", _call(unit, until), _call(unit, since))
        return _call("+", _call("*", years, Constant(per_year, "integer")), parts)

    def _last_day(self, node: Any, depth: int) -> Expression:
        """The last day of a month. Its first day and 31 more lie in the next month."""
        self._plain(node, "this")
        value = converted(self._moment("last_day", node.this, depth), "date")
        month = Constant("month", "text")
        first = _call("date_trunc", month, folded_constant(value), to="date")
        after = _call("+", first, Constant(31, "integer"), to="date")
        following = _call("date_trunc", month, after, to="date")
        return _call("-", following, Constant(1, "integer"), to="date")

    def _to_char(self, node: Any, depth: int) -> Expression:
        """to_char(d, 'YYYY-MM')."""
        self._plain(node, "this", "format")
        pattern = node.args.get("format")
        if type(pattern) is not self.exp.Literal or not pattern.is_string:
            raise BadQuestion("to_char() takes a date and a pattern in quotes, such as 'YYYY-MM'.")
        return formatted_by_letters(str(pattern.this), self._moment("to_char", node.this, depth))

    def _time_bucket(self, inside: Sequence[Any], depth: int) -> Expression:
        """time_bucket(INTERVAL '1 week', d), where the length has a name."""
        length: Any = inside[0] if inside else None
        if type(length) is self.exp.Interval:
            words = [text_of(length.this), str(getattr(length.args.get("unit"), "name", ""))]
        else:
            words = text_of(length).split()
        amount, unit = words if len(words) == 2 else ("", "")
        unit = unit.lower().removesuffix("s")
        if amount.isdecimal() and len(amount) < 3 and int(amount) != 1:
            unit = _AS_LONG.get((int(amount), unit), "")
        elif amount != "1":
            unit = ""
        if unit not in TRUNCATED or len(inside) != 2:
            raise BadQuestion(
                f"time_bucket(INTERVAL '1 day', d) takes a length of one {', '.join(TRUNCATED)}. For quarters of an hour, group "
                "by extract(hour FROM d) and floor(extract(minute FROM d) / 15)."
            )
        value = self._moment("time_bucket", inside[1], depth)
        return Call("date_trunc", (Constant(unit, "text"), value), value.type)

    def _truncated(self, node: Any, depth: int) -> Expression:
        self._plain(node, "this", "unit", "zone", "input_type_preserved")
        unit = str(getattr(node.args.get("unit"), "name", "")).lower()
        if unit not in TRUNCATED or node.args.get("zone"):
            raise BadQuestion(f"date_trunc() takes one of {', '.join(TRUNCATED)} in quotes, first.")
        value = self._moment("date_trunc", node.this, depth)
        return Call("date_trunc", (Constant(unit, "text"), value), value.type)

    def _formatted(self, inside: Sequence[Any], depth: int) -> Expression:
        """strftime(d, '%Y-%m'), or the other way round, as in SQLite."""
        patterns = [each for each in inside if type(each) is self.exp.Literal and each.is_string]
        moments = [each for each in inside if each not in patterns]
        if len(patterns) != 1 or len(moments) != 1:
            raise BadQuestion("strftime() takes a date and a pattern in quotes, such as '%Y-%m'.")
        moment = self._moment("strftime", moments[0], depth)
        return formatted(str(patterns[0].this), moment)

    def _moment(self, name: str, node: Any, depth: int) -> Expression:
        value = as_moment(self.read(node, depth))
        if value.type not in (*TEMPORAL, "null"):
            raise BadQuestion(f"{name}() takes a date, and {described(value)} is not one.")
        return value

    def _dated_cast(self, node: Any, depth: int) -> Expression:
        self._plain(node, "this")
        return converted(self.read(node.this, depth), "date")

    def _cast(self, node: Any, depth: int) -> Expression:
        """CAST(x AS ...), x::..., DATE '2020-01-31'."""
        to = node.args["to"]
        self._plain(node, "this", "to", "safe")
        named = str(getattr(to.this, "name", ""))
        wanted = type_named(named)
        if named in WITH_ZONE and type(node.this) is self.exp.Literal and node.this.is_string:
            wanted = "datetime"  # a literal with its zone: moments are in UTC here
        if wanted is None or to.expressions:
            raise BadQuestion(
                "CAST takes INTEGER, DOUBLE, VARCHAR, DATE and TIMESTAMP, without a length. Of a time of day, ask for "
                "extract(hour FROM d) and extract(minute FROM d)."
            )
        inside = self.read(node.this, depth)
        if isinstance(inside, Constant) and inside.type == "text" and wanted in TEMPORAL:
            return temporal(str(inside.value), wanted)
        if isinstance(inside, Constant) and isinstance(inside.value, float) and wanted == "integer":
            # A literal such as 2.5 is a decimal, whose cast rounds half away from 0; a double's rounds half to even.
            is_decimal = not node.this.find(self.exp.Div, self.exp.Cast, self.exp.TryCast)
            if is_decimal and abs(inside.value) < 2**53:
                away = math.floor(abs(inside.value) + 0.5)
                return Constant(away if inside.value >= 0 else -away, "integer")
        return converted(inside, wanted)


def part_named(asked: str, *more: str) -> str:
    """A part of a date by its usual name; `more` are parts that the caller knows besides."""
    name = _PART_NAMES.get(asked.lower(), asked.lower())
    if name not in DATE_PARTS:
        raise BadQuestion(f"extract() takes one of {', '.join((*DATE_PARTS, *more))}.")
    return name


def _call(name: str, *arguments: Expression, to: Type = "integer") -> Expression:
    return folded_constant(Call(name, arguments, to))
