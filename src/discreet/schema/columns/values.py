"""How a value of the table becomes a number, a text or an instant: the reference that engines follow.

Total on every Python value: what cannot be read is `None`, which counts as null; nothing here
raises, for an error that depends on a row is itself a release. The patterns and word lists are
public so that an engine can use the very same ones in SQL (they are plain RE2, matched in full
after trimming `WHITESPACE`), instead of trusting the casts of one database version.
"""

from __future__ import annotations

import math
import re
from datetime import date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any
from uuid import UUID

WHITESPACE = " \t\n\r\x0b\x0c"
NUMBER_PATTERN = r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,4})?"
WHOLE_PATTERN = r"[+-]?[0-9]+"
DATE_PATTERN = (
    r"([1-9][0-9]{3}|0[1-9][0-9]{2}|00[1-9][0-9]|000[1-9])-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])"
)
CLOCK_PATTERN = (
    r"[T ]([01][0-9]|2[0-3]):([0-5][0-9])(:([0-5][0-9])(\.[0-9]{1,6})?)?"
    r"(Z|[+-](0[0-9]|1[0-4])(:?[0-5][0-9])?)?"  # databases write +00, some programs +0530
)
INSTANT_PATTERN = DATE_PATTERN + "(" + CLOCK_PATTERN + ")?"
TRUE_WORDS = ("true", "t", "yes", "y", "1")
FALSE_WORDS = ("false", "f", "no", "n", "0")

_NUMBER = re.compile(NUMBER_PATTERN)
_WHOLE = re.compile(WHOLE_PATTERN)
_INSTANT = re.compile(INSTANT_PATTERN)
_EPOCH_DAY = date(1970, 1, 1).toordinal()
MICROSECONDS_PER_DAY = 86_400_000_000
_NOT_A_TIME = -(2**63)  # numpy's NaT as an integer


def plain(value: object) -> object:
    """`value` as a built-in Python value; `None` for every missing or unreadable one."""
    try:
        return _plain(value)
    except Exception:  # a foreign object may raise anything from any method
        return None


def _plain(value: Any) -> object:
    kind = type(value)
    if value is None or kind in (str, int, bool, Fraction, Instant):
        return value
    if kind is float:
        return value if math.isfinite(value) else None
    if kind is Decimal:
        return value if value.is_finite() else None
    if kind.__module__.partition(".")[0] == "numpy":
        if kind.__name__ == "datetime64":
            instant = int(value.astype("datetime64[us]").astype("int64"))
            return None if instant == _NOT_A_TIME else Instant(instant)
        if kind.__name__ in ("ndarray", "timedelta64"):
            return None
        item = value.item()  # a long double is its own item
        return _plain(Fraction(*item.as_integer_ratio()) if type(item) is kind else item)
    if bool(value != value):  # pandas.NaT is a datetime; pandas.NA raises here
        return None
    if isinstance(value, datetime):
        # by hand, for astimezone overflows at both ends of the calendar
        seconds = value.hour * 3600 + value.minute * 60 + value.second
        total = days_of(value) * MICROSECONDS_PER_DAY + seconds * 10**6 + value.microsecond
        return Instant(total - (value.utcoffset() or timedelta()) // timedelta(microseconds=1))
    if isinstance(value, date):
        return date(value.year, value.month, value.day)
    if isinstance(value, UUID):
        return str(value)
    if isinstance(value, str):  # an enumeration's own str() would be its name
        return str.__str__(value)
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return _plain(float(value))
    return _plain(Decimal(value)) if isinstance(value, Decimal) else None


class Instant:
    """A moment as microseconds since 1970-01-01 UTC; not limited to the years 1 to 9999."""

    __slots__ = ("microseconds",)

    def __init__(self, microseconds: int) -> None:
        self.microseconds = microseconds

    def as_datetime(self) -> datetime | None:
        """Without a zone, in UTC; `None` beyond the years that Python's calendar knows."""
        try:
            return datetime(1970, 1, 1) + timedelta(microseconds=self.microseconds)
        except OverflowError:
            return None


def days_of(day: date) -> int:
    """Days since 1970-01-01."""
    return day.toordinal() - _EPOCH_DAY


def day_of(days: int) -> date:
    """The inverse of `days_of`."""
    return date.fromordinal(days + _EPOCH_DAY)


def double_of(value: object) -> float | None:
    """The finite double nearest to a number, or to a text that spells one."""
    value = plain(value)
    try:
        if isinstance(value, str):
            text = value.strip(WHITESPACE)
            if _NUMBER.fullmatch(text) is None:
                return None
            number = float(text)
        elif isinstance(value, (int, float, Decimal, Fraction)):
            number = float(value)
        else:
            return None
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def integer_of(value: object) -> int | None:
    """The largest integer not above a number, or a text that spells one.

    Whole numbers are exact at any size; a text with a point or an exponent goes through a double.
    """
    value = plain(value)
    number = double_of(value)
    if number is None:
        return None
    if isinstance(value, str):
        text = value.strip(WHITESPACE)
        if _WHOLE.fullmatch(text) is None:
            return math.floor(number)
        digits = text.lstrip("+-").lstrip("0") or "0"
        return -int(digits) if text.startswith("-") else int(digits)
    if isinstance(value, (int, float, Decimal, Fraction)):
        return math.floor(value)
    return None


def boolean_of(value: object) -> bool | None:
    """`True` or `False` for a boolean, a number equal to 1 or 0, or one of the words."""
    value = plain(value)
    if isinstance(value, str):
        word = value.strip(WHITESPACE).lower()
        return True if word in TRUE_WORDS else False if word in FALSE_WORDS else None
    if isinstance(value, (int, float, Decimal, Fraction)):
        return True if value == 1 else False if value == 0 else None
    return None


def microseconds_of(value: object) -> int | None:
    """Microseconds since 1970-01-01 UTC, of a date, a datetime or an ISO 8601 text of either."""
    value = plain(value)
    if isinstance(value, Instant):
        return value.microseconds
    if isinstance(value, date):
        return days_of(value) * MICROSECONDS_PER_DAY
    if not isinstance(value, str):
        return None
    match = _INSTANT.fullmatch(value.strip(WHITESPACE))
    if match is None:
        return None
    year, month, day, clock, hour, minute, _, second, fraction, zone, *_ = match.groups()
    try:
        days = days_of(date(int(year), int(month), int(day)))
    except ValueError:  # the 31st of a short month
        return None
    total = days * MICROSECONDS_PER_DAY
    if clock:
        seconds = int(hour) * 3600 + int(minute) * 60 + int(second or 0)
        total += seconds * 10**6 + int((fraction or ".0")[1:].ljust(6, "0"))
    if zone and zone != "Z":
        offset = int(zone[1:3]) * 60 + int(zone[3:].lstrip(":") or 0)
        total += (offset if zone[0] == "-" else -offset) * 60 * 10**6
    return total


def category_text_of(value: object) -> str | float | None:
    """What a category is matched by: its exact text, or for a float or decimal its number."""
    value = plain(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return value
    if isinstance(value, int):
        try:
            return str(value)
        except ValueError:  # more digits than Python prints: no declared value has so many
            return ""
    if isinstance(value, date):
        return value.isoformat()
    return double_of(value)
