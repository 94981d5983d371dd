"""The reach of the parts of dates and moments, and of date_trunc."""

from __future__ import annotations

from discreet.questions.cells.functions import day_part, first_day
from discreet.questions.cells.reach import Operation, Reach, numbers
from discreet.questions.cells.reaching.units import closed
from discreet.questions.expressions import Call
from discreet.schema.columns.values import MICROSECONDS_PER_DAY

_CLOCK = {"hour": 3_600_000_000, "minute": 60_000_000, "second": 1_000_000}


_PERIODS = {"hour": 24, "minute": 60, "second": 60}


_WITHIN = {
    "quarter": ("year", 1, 4), "month": ("year", 1, 12), "dayofyear": ("year", 1, 366),
    "week": ("week", 1, 53), "day": ("month", 1, 31), "dayofweek": ("sunday", 0, 6),
    "isodow": ("week", 1, 7),
}  # fmt: skip
"""Within which period a part of a date never decreases, and between which numbers it lies."""


def _part(node: Call, parts: list[Reach]) -> Reach:
    (part,), name = parts, node.name
    assert part.low is not None and part.high is not None
    first, last = int(part.low), int(part.high)
    is_date = node.arguments[0].type == "date"
    if name in _CLOCK:
        if is_date:
            return numbers(0, 0)
        size, count = _CLOCK[name], _PERIODS[name]
        if first // size // count == last // size // count:
            return numbers(first // size % count, last // size % count)
        return numbers(0, count - 1)
    if not is_date:
        first, last = first // MICROSECONDS_PER_DAY, last // MICROSECONDS_PER_DAY
    if name == "year":
        return numbers(day_part(name, first), day_part(name, last))
    period, least, most = _WITHIN[name]
    if last - first > 400:
        return numbers(least, most)
    shift = 1 if period == "sunday" else 0
    period = "week" if period == "sunday" else period
    if first_day(period, first + shift) == first_day(period, last + shift):
        return numbers(day_part(name, first), day_part(name, last))
    return numbers(least, most)


def _truncated(node: Call, parts: list[Reach]) -> Reach:
    unit, part = str(parts[0].only), parts[1]
    is_date = node.arguments[1].type == "date"
    assert part.low is not None and part.high is not None

    def moved(value: int) -> int:
        if unit in _CLOCK:
            return value if is_date else value - value % _CLOCK[unit]
        if is_date:
            return first_day(unit, value)
        return first_day(unit, value // MICROSECONDS_PER_DAY) * MICROSECONDS_PER_DAY

    return closed(moved(int(part.low)), moved(int(part.high)), node.type)


STRICT: dict[str, Operation] = {
    **dict.fromkeys((*_CLOCK, *_WITHIN, "year"), _part),
    "date_trunc": _truncated,
}
