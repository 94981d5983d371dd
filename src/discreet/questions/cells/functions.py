"""Functions of single values, as every engine must compute them: calendar, rounding, letters, patterns."""

from __future__ import annotations

import math

from discreet.schema.columns.values import day_of

_FOUR_CENTURIES = 146_097
"""Days after which the Gregorian calendar repeats, weekdays included."""


def day_part(name: str, days: int) -> int:
    """A part of a date, also beyond the years that Python's calendar knows."""
    cycles, rest = divmod(days, _FOUR_CENTURIES)
    day = day_of(rest)
    match name:
        case "year":
            return day.year + 400 * cycles
        case "quarter":
            return (day.month + 2) // 3
        case "week":
            return day.isocalendar().week
        case "dayofweek":
            return day.isoweekday() % 7
        case "isodow":
            return day.isoweekday()
        case "dayofyear":
            return day.timetuple().tm_yday
    return day.month if name == "month" else day.day


def first_day(unit: str, days: int) -> int:
    """The first day of the year, quarter, month or week (from Monday) that holds a day."""
    if unit == "week":
        return days - (days + 3) % 7
    if unit == "day":
        return days
    day = day_of(days % _FOUR_CENTURIES)
    month = {"year": 1, "quarter": (day.month - 1) // 3 * 3 + 1}.get(unit, day.month)
    return days - (day - day.replace(month=month, day=1)).days


def half_away(value: float, scale: float, divides: bool) -> float:
    """Rounded to a multiple of 1 / scale (of scale, where it divides): half away from zero."""
    scaled = value / scale if divides else value * scale
    if math.isinf(scaled):
        return scaled
    whole = float(math.floor(abs(scaled)))
    whole += abs(scaled) - whole >= 0.5
    whole = math.copysign(whole, scaled)
    return whole * scale if divides else whole / scale


def lowered(text: str) -> str:
    """Letter by letter: one letter stays one letter, as in a database."""
    return "".join(letter.lower()[:1] for letter in text)


def uppered(text: str) -> str:
    """Letter by letter; a letter whose capital is several letters stays, but for the sharp s."""
    return "".join(_capital(letter) for letter in text)


def _capital(letter: str) -> str:
    for found in (letter.upper(), letter.title()):
        if len(found) == 1:
            return found
    return "ẞ" if letter == "ß" else letter


def matches(pattern: str, value: str, ignores_case: bool = False) -> bool:
    """Whether `value` fits a pattern of LIKE: `_` is any one letter, `%` any number of them.

    Two pointers and one place to return to, so no pattern takes more than
    len(pattern) * len(value) steps.
    """
    text = lowered(pattern) if ignores_case else pattern
    value = lowered(value) if ignores_case else value
    place = letter = 0
    star, resumed = -1, 0
    while letter < len(value):
        if place < len(text) and text[place] == "%":
            star, resumed = place, letter
            place += 1
        elif place < len(text) and text[place] in ("_", value[letter]):
            place += 1
            letter += 1
        elif star >= 0:
            resumed += 1
            place, letter = star + 1, resumed
        else:
            return False
    return all(rest == "%" for rest in text[place:])
