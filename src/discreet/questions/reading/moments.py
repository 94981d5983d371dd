"""Dates and times: their parts, INTERVAL, date_trunc, strftime; and CAST, which makes dates of texts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from discreet.errors import BadQuestion
from discreet.questions.calendar_texts import formatted
from discreet.questions.dialects.statement import number
from discreet.questions.expressions import (
    DATE_PARTS,
    TEMPORAL,
    TRUNCATED,
    Call,
    Constant,
    Expression,
)
from discreet.questions.literals import (
    as_moment,
    converted,
    described,
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


class MomentReader(TreeReader):
    """Reads dates and times."""

    def _moved(self, start: Expression, interval: Any, name: str) -> Expression:
        """A literal date plus or minus an INTERVAL."""
        if isinstance(start, Constant) and start.type == "text":
            start = temporal(str(start.value), "date")
        if not isinstance(start, Constant) or start.type not in TEMPORAL:
            self._refuse(interval)
        unit = str(getattr(interval.args.get("unit"), "name", "")).lower().rstrip("s")
        amount = number(text_of(interval.this)) if interval.this is not None else None
        if not isinstance(amount, int) or abs(amount) > 10**6:
            raise BadQuestion("An INTERVAL is written as INTERVAL '3 days', with a whole number.")
        steps = amount if name == "+" else -amount
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
        name, value = part_named(asked), as_moment(value)
        if value.type not in (*TEMPORAL, "null"):
            raise BadQuestion(f"{name}() takes a date, and {described(value)} is not one.")
        return Call(name, (value,), "integer")

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
        wanted = type_named(str(getattr(to.this, "name", "")))
        if wanted is None or to.expressions:
            raise BadQuestion(
                "CAST takes INTEGER, DOUBLE, VARCHAR, DATE and TIMESTAMP, without a length."
            )
        inside = self.read(node.this, depth)
        if isinstance(inside, Constant) and inside.type == "text" and wanted in TEMPORAL:
            return temporal(str(inside.value), wanted)
        return converted(inside, wanted)


def part_named(asked: str) -> str:
    """A part of a date by its usual name."""
    name = _PART_NAMES.get(asked.lower(), asked.lower())
    if name not in DATE_PARTS:
        raise BadQuestion(f"extract() takes one of {', '.join(DATE_PARTS)}.")
    return name
