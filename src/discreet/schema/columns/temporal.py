"""Columns of time: dates in days, datetimes in microseconds UTC, in cells of whole calendar granules.

A granule is a day, a week (from Monday), a month, a quarter, a year; for datetimes also a
microsecond up to an hour. A range is widened to the whole granules that hold its two ends.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from fractions import Fraction
from functools import lru_cache
from typing import ClassVar

from discreet.schema.columns.column import Nulls, Outside
from discreet.schema.columns.numeric import outside_mistakes
from discreet.schema.columns.ordered import OrderedColumn
from discreet.schema.columns.values import (
    MICROSECONDS_PER_DAY,
    Instant,
    day_of,
    days_of,
    microseconds_of,
    plain,
)

DATE_GRANULARITIES = ("day", "week", "month", "quarter", "year")
CLOCK_GRANULARITIES = {
    "microsecond": 1,
    "millisecond": 1_000,
    "second": 1_000_000,
    "minute": 60_000_000,
    "hour": 3_600_000_000,
}
"""Microseconds to a granule, for those shorter than a day."""
DATETIME_GRANULARITIES = (*CLOCK_GRANULARITIES, *DATE_GRANULARITIES)
LAST_YEAR = 9998  # so that the first day after any cell is a date too
_EPOCH = datetime(1970, 1, 1)


def granule_of_day(days: int, granularity: str) -> int:
    """The number of the granule that holds a day; in SQL, the same from year(x) and month(x)."""
    if granularity == "day":
        return days
    if granularity == "week":
        return (days + 3) // 7  # 1970-01-01 was a Thursday
    year, month = _month_of(days)
    return {"month": year * 12 + month - 1, "quarter": year * 4 + (month - 1) // 3, "year": year}[
        granularity
    ]


def first_day_of(granule: int, granularity: str) -> int:
    """The first day of a granule."""
    if granularity == "day":
        return granule
    if granularity == "week":
        return granule * 7 - 3
    months = granule * {"month": 1, "quarter": 3, "year": 12}[granularity]
    return days_of(date(months // 12, months % 12 + 1, 1))


# Of a range's end, where every look at a cell begins.
_declared = lru_cache(maxsize=256)(microseconds_of)
_FOUR_CENTURIES = 146_097  # days after which the Gregorian calendar repeats


def _month_of(days: int) -> tuple[int, int]:
    """Year and month of a day, also beyond the years that Python's calendar knows."""
    cycles, rest = divmod(days, _FOUR_CENTURIES)
    day = day_of(rest)
    return day.year + 400 * cycles, day.month


class TemporalColumn(OrderedColumn):
    """What dates and datetimes share: cells numbered by granule."""

    __slots__ = ()

    example = "a date such as '2020-01-31'"
    granularities: ClassVar[tuple[str, ...]]
    low: date
    high: date
    granularity: str

    def granule_of(self, unit: int) -> int:
        """The number of the granule that holds a unit."""
        raise NotImplementedError

    def start_of(self, granule: int) -> int:
        """The first unit of a granule."""
        raise NotImplementedError

    def _python(self, unit: int) -> date:
        raise NotImplementedError

    def _unit(self, moment: date) -> int:
        raise NotImplementedError

    def mistakes(self) -> list[str]:
        found = outside_mistakes(self.outside)
        if self.granularity not in self.granularities:
            found.append(
                f"`granularity` is {self.granularity!r}; write one of {', '.join(self.granularities)}."
            )
        wanted = datetime if self.kind == "datetime" else date
        if any(
            not isinstance(end, wanted) or isinstance(end, datetime) != (wanted is datetime)
            for end in (self.low, self.high)
        ):
            return [*found, f"the ends of `range` must be two {self.kind}s."]
        if self._unit(self.low) > self._unit(self.high):
            found.append(
                f"`range` runs from {self.low} to {self.high}; write the earlier one first."
            )
        if self.high.year > LAST_YEAR:
            found.append(
                f"`range` ends in {self.high.year}; end it by {LAST_YEAR}, or earlier: "
                'later values go where `outside` says ("edge" puts them in the last cell).'
            )
        return found

    @property
    def first_granule(self) -> int:
        """The granule of cell 0: a value's code is its granule minus this."""
        return self.granule_of(self._unit(self.low))

    @property
    def value_cells(self) -> int:
        return self.granule_of(self._unit(self.high)) - self.first_granule + 1

    @property
    def value_bounds(self) -> tuple[Fraction, Fraction]:
        """In units: days, or microseconds, since 1970-01-01."""
        return Fraction(self.extent(0)[0]), Fraction(self.extent(self.value_cells - 1)[1])

    def code_of_unit(self, unit: int | float) -> int:
        return self.granule_of(math.floor(unit)) - self.first_granule

    def extent(self, code: int) -> tuple[int, int]:
        granule = self.first_granule + self._value_code(code)
        return self.start_of(granule), self.start_of(granule + 1) - 1

    def bounds(self, code: int) -> tuple[date, date]:
        """The first moment of the cell, and the first after it."""
        first, last = self.extent(code)
        return self._python(first), self._python(last + 1)

    def _value_in(self, code: int, fraction: Fraction) -> object:
        first, last = self.extent(code)
        return self._python(first + math.floor(fraction * (last - first + 1)))

    def _value_label(self, code: int) -> str:
        first, last = (self._python(end) for end in self.extent(code))
        if self.granularity in ("week", "day"):
            week = f"{first:%Y-%m-%d} to {last:%Y-%m-%d}"
            return first.isoformat()[:10] if self.granularity == "day" else week
        if self.granularity == "quarter":
            return f"{first.year:04}-Q{(first.month + 2) // 3}"
        shown = {"year": 4, "month": 7, "hour": 16, "minute": 16, "second": 19, "millisecond": 23}
        text = first.isoformat()
        if self.granularity in ("millisecond", "microsecond") and "." not in text:
            text += ".000000"
        return text[: shown.get(self.granularity, 26)].replace("T", " ")


@dataclass(frozen=True, slots=True)
class DateColumn(TemporalColumn):
    """Dates from `low` to `high`, both included; units are days since 1970-01-01."""

    kind: ClassVar[str] = "date"
    granularities: ClassVar[tuple[str, ...]] = DATE_GRANULARITIES

    name: str
    low: date
    high: date
    granularity: str = "day"
    outside: Outside = "edge"
    nulls: Nulls = "cell"

    def unit_of(self, value: object) -> int | None:
        moment = microseconds_of(value)
        return None if moment is None else moment // MICROSECONDS_PER_DAY

    def granule_of(self, unit: int) -> int:
        return granule_of_day(unit, self.granularity)

    def start_of(self, granule: int) -> int:
        return first_day_of(granule, self.granularity)

    def _python(self, unit: int) -> date:
        return day_of(unit)

    def _unit(self, moment: date) -> int:
        return days_of(moment)

    def literal_in_units(self, literal: object) -> Fraction:
        moment = microseconds_of(plain(literal))
        if moment is None:
            raise self._wrong()
        return Fraction(moment, MICROSECONDS_PER_DAY)


@dataclass(frozen=True, slots=True)
class DatetimeColumn(TemporalColumn):
    """Moments from `low` to `high`, both included, in UTC; units are microseconds since 1970-01-01."""

    kind: ClassVar[str] = "datetime"
    granularities: ClassVar[tuple[str, ...]] = DATETIME_GRANULARITIES

    name: str
    low: datetime
    high: datetime
    granularity: str = "second"
    outside: Outside = "edge"
    nulls: Nulls = "cell"

    def __post_init__(self) -> None:
        for name in ("low", "high"):
            end = plain(getattr(self, name))
            moment = end.as_datetime() if isinstance(end, Instant) else None
            if moment is not None:
                object.__setattr__(self, name, moment)
        OrderedColumn.__post_init__(self)

    def unit_of(self, value: object) -> int | None:
        return microseconds_of(value)

    def granule_of(self, unit: int) -> int:
        size = CLOCK_GRANULARITIES.get(self.granularity)
        if size is not None:
            return unit // size
        return granule_of_day(unit // MICROSECONDS_PER_DAY, self.granularity)

    def start_of(self, granule: int) -> int:
        size = CLOCK_GRANULARITIES.get(self.granularity)
        if size is not None:
            return granule * size
        return first_day_of(granule, self.granularity) * MICROSECONDS_PER_DAY

    def _python(self, unit: int) -> datetime:
        return _EPOCH + timedelta(microseconds=unit)

    def _unit(self, moment: date) -> int:
        unit = _declared(moment)
        assert unit is not None
        return unit

    def literal_in_units(self, literal: object) -> int:
        moment = microseconds_of(literal)
        if moment is None:
            raise self._wrong()
        return moment
