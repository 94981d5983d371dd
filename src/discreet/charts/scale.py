"""Numbers as people read them, and axes that end on round ones."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass


def ticks(low: float, high: float, *, about: int = 5) -> list[float]:
    """Round numbers (1, 2, 5 times a power of ten) that span [low, high]."""
    if not (math.isfinite(low) and math.isfinite(high)) or high <= low:
        low, high = min(0.0, low if math.isfinite(low) else 0.0), 1.0
    rough = (high - low) / max(about, 1)
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= rough * 0.999)
    first, last = math.floor(low / step), math.ceil(high / step)
    return [index * step for index in range(first, last + 1)]


def shown(value: float) -> str:
    """A number for a table: whole where it is large, four digits where it is small."""
    if not math.isfinite(value):
        return "unbounded" if math.isinf(value) else "unknown"
    if value == int(value) and abs(value) < 1e15:
        return f"{int(value):,}"
    return f"{value:,.4g}" if abs(value) < 1000 else f"{value:,.0f}"


def shown_beside(value: float, *others: float) -> str:
    """A number with as many digits as tell it and the ends of its interval apart."""
    finite = [each for each in (value, *others) if math.isfinite(each)]
    width = max(finite) - min(finite) if finite else 0.0
    whole = all(each == int(each) for each in finite)
    if whole or width == 0 or not math.isfinite(value):
        return shown(value)
    return f"{value:,.{min(max(0, 1 - math.floor(math.log10(width))), 12)}f}"


def brief(value: float) -> str:
    """A number for an axis: 15k rather than 15,000."""
    for unit, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= 10 * unit or (abs(value) >= unit and value % unit == 0):
            return f"{value / unit:g}{letter}"
    return f"{value:,.6g}"


MOST_TICKS = 9


def round_ticks(texts: Sequence[str]) -> set[int]:
    """Which of the cells' edges to write: those at round numbers, or evenly some of them."""
    every = max(1, math.ceil(len(texts) / MOST_TICKS))
    evenly = set(range(0, len(texts), every))
    values = [_number(text) for text in texts]
    known = [value for value in values if value is not None]
    if every == 1 or len(known) < len(values):
        return evenly
    marks = ticks(min(known), max(known), about=MOST_TICKS - 1)
    step = marks[1] - marks[0]
    found = {
        place
        for place, value in enumerate(known)
        if abs(value / step - round(value / step)) < 1e-9 * max(1.0, abs(value / step))
    }
    return found if 3 <= len(found) <= 2 * MOST_TICKS else evenly


def _number(text: str) -> float | None:
    """What `brief` wrote."""
    factor = {"k": 1e3, "M": 1e6, "G": 1e9}.get(text[-1:], 1.0)
    try:
        return factor * float((text[:-1] if factor > 1 else text).replace(",", ""))
    except ValueError:
        return None


@dataclass(frozen=True, slots=True)
class Axis:
    """A straight line from values to pixels."""

    low: float
    high: float
    start: float
    end: float

    def at(self, value: float) -> float:
        if math.isnan(value):
            return self.at(0.0)
        part = (min(max(value, self.low), self.high) - self.low) / (self.high - self.low)
        return self.start + part * (self.end - self.start)


def axis_over(
    values: Sequence[float], *, start: float, end: float, about: int = 5
) -> tuple[Axis, list[float]]:
    """An axis that shows zero and every finite value, a little more, and its ticks.

    It ends where the values do: a whisker below zero must not cost a third of the chart.
    """
    finite = [value for value in values if math.isfinite(value)] or [0.0]
    low, high = min(0.0, *finite), max(0.0, *finite)
    if high == low:
        high = low + 1.0
    marks = [mark for mark in ticks(low, high, about=about) if low <= mark <= high]
    return Axis(low, high, start, end), marks
