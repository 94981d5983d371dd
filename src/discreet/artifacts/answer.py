"""`Answer`: an estimate with an interval, and what the interval covers."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from enum import StrEnum
from typing import Any


class Covers(StrEnum):
    """What an interval accounts for, always after clamping and row bounding.

    Thread safe: it never changes.
    """

    NOISE = "noise"
    NOISE_AND_CELLS = "noise + discretisation"
    NOISE_AND_MODEL = "noise + model"

    def joined(self, other: Covers) -> Covers:
        """What the difference of two answers covers: all that either does."""
        order = (Covers.NOISE, Covers.NOISE_AND_CELLS, Covers.NOISE_AND_MODEL)
        return max(self, other, key=order.index)


class Unit(StrEnum):
    """The unit of the numbers of an answer: plain numbers, whole numbers of rows, or days or microseconds since 1970-01-01.

    Thread safe: it never changes.
    """

    NUMBER = "number"
    COUNT = "count"
    DATE = "date"
    DATETIME = "datetime"

    @property
    def is_temporal(self) -> bool:
        return self in (Unit.DATE, Unit.DATETIME)

    def of(self, number: float) -> float | date | datetime:
        """What a number stands for. Ends beyond the calendar stay numbers, as do counts that are not whole."""
        if self is Unit.COUNT and math.isfinite(number) and number == int(number):
            return int(number)
        try:
            if self is Unit.DATE:
                return date(1970, 1, 1) + timedelta(days=round(number))
            if self is Unit.DATETIME:
                return datetime(1970, 1, 1) + timedelta(microseconds=round(number))
        except (OverflowError, ValueError):
            pass
        return number


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """An estimate with a two-sided interval at `confidence`. Thread safe: it never changes."""

    estimate: float
    lower: float
    upper: float
    confidence: float
    std: float
    covers: Covers
    unit: Unit = Unit.NUMBER

    @property
    def value(self) -> float | date | datetime:
        """The estimate in its own type: a date, if a date was asked for."""
        return self.unit.of(self.estimate)

    @property
    def interval(self) -> tuple[float | date | datetime, float | date | datetime]:
        """The ends of the interval in their own type."""
        return self.unit.of(self.lower), self.unit.of(self.upper)

    @property
    def is_vague(self) -> bool:
        """Whether the interval is at least as wide as the estimate, so that it says little."""
        if self.unit.is_temporal:
            return False  # no date is large or small
        return 0 < self.upper - self.lower >= abs(self.estimate)

    def minus(self, other: Answer) -> Answer:
        """The difference of two answers, with an interval that holds however their errors are related.

        Each interval fails with probability at most 1 - confidence, so both hold together with
        at least 1 - the sum of the two (union bound). Answers of one release share noise, so no
        independence is assumed.
        """
        confidence = 1 - ((1 - self.confidence) + (1 - other.confidence))
        return Answer(
            estimate=self.estimate - other.estimate,
            lower=self.lower - other.upper,
            upper=self.upper - other.lower,
            confidence=confidence,
            std=self.std + other.std,
            covers=self.covers.joined(other.covers),
        )

    def compare(self, other: Answer) -> str:
        """`higher`, `lower`, or `too close to tell`, at the confidence of `minus`."""
        difference = self.minus(other)
        if difference.lower > 0:
            return "higher"
        return "lower" if difference.upper < 0 else "too close to tell"

    def to_dict(self) -> dict[str, Any]:
        """Plain data, for JSON."""
        return {
            "estimate": _plain(self.value),
            "lower": _plain(self.interval[0]),
            "upper": _plain(self.interval[1]),
            "confidence": self.confidence,
            "std": _plain(self.std),
            "covers": self.covers.value,
            "vague": self.is_vague,
        }

    @property
    def shown_estimate(self) -> str:
        """The estimate as it is printed."""
        return _shown(self.value)

    @property
    def shown_interval(self) -> str:
        """The interval as it is printed."""
        low, high = self.interval
        return f"[{_shown(low)}, {_shown(high)}]"

    def __str__(self) -> str:
        return f"{self.shown_estimate}  {self.shown_interval}"


def _plain(value: float | date) -> float | str | None:
    """For JSON, which has no infinity and no dates."""
    if isinstance(value, date):
        return value.isoformat()
    return value if math.isfinite(value) else None


def _shown(value: float | date) -> str:
    if isinstance(value, date):
        return str(value)
    if not math.isfinite(value):
        return "unbounded" if math.isinf(value) else "unknown"
    if value == int(value) and abs(value) < 1e15:
        return f"{int(value):,}"
    return f"{value:,.4g}" if abs(value) < 1000 else f"{value:,.1f}"
