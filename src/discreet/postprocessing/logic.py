"""Comparisons of results, and AND, OR, NOT, with SQL's three truth values.

A comparison of noisy numbers is decided by their estimates. Where the intervals overlap it is not sure.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.errors import BadQuestion
from discreet.postprocessing.arithmetic import numbers_of
from discreet.postprocessing.values import Labels, Levels, Numbers, Value, joined_origins
from discreet.questions.cells.values import Span
from discreet.schema.columns.values import boolean_of

Unsure = npt.NDArray[np.bool_]


def compared(left: Value, sign: str, right: Value, levels: Levels) -> Labels:
    """`left sign right`, for =, !=, <, <=, > and >=."""
    if isinstance(left, Labels) and isinstance(right, Labels):
        pairs = zip(left.values, right.values, strict=True)
        found = Labels.of([_plainly(a, sign, b) for a, b in pairs])
        return Labels(found.values, _either(left.unsure, right.unsure), joined_origins(left, right))
    left, right = (
        numbers_of(left, levels, "A comparison"),
        numbers_of(right, levels, "A comparison"),
    )
    a, b = left.estimate, right.estimate
    holding = {"=": a == b, "!=": a != b, "<": a < b, "<=": a <= b, ">": a > b, ">=": a >= b}[sign]
    surely_below, surely_above = left.upper < right.lower, left.lower > right.upper
    if sign in ("=", "!="):
        same = (left.lower == left.upper) & (right.lower == right.upper)
        sure = surely_below | surely_above | same
    elif sign in ("<", ">="):
        sure = surely_below | (left.lower >= right.upper)
    else:
        sure = surely_above | (left.upper <= right.lower)
    nothing = left.is_null | right.is_null
    values = [None if null else bool(each) for null, each in zip(nothing, holding, strict=True)]
    unsure = ~sure & ~nothing
    made = Labels.of(values, unsure if unsure.any() else None)
    return Labels(made.values, made.unsure, joined_origins(left, right))


def _plainly(left: Any, sign: str, right: Any) -> bool | None:
    if left is None or right is None:
        return None
    if isinstance(left, Span) and isinstance(right, Span):
        left, right = left.first, right.first
    left, right = _comparable(left), _comparable(right)
    if isinstance(left, str) and isinstance(right, bool):
        left = boolean_of(left)  # '1' and 'yes' are true; what is neither true nor false is unknown
    elif isinstance(left, bool) and isinstance(right, str):
        right = boolean_of(right)
    if left is None or right is None:
        return None
    if sign in ("=", "!="):
        return bool((left == right) == (sign == "="))
    try:
        return bool(
            {
                "<": lambda: left < right,
                "<=": lambda: left <= right,
                ">": lambda: left > right,
                ">=": lambda: left >= right,
            }[sign]()
        )
    except TypeError:
        raise BadQuestion(f"{left!r} and {right!r} cannot be put in an order.") from None


def _comparable(value: Any) -> Any:
    """Dates and their texts compare as texts; a cell of several values as its name."""
    if isinstance(value, Span):
        return value.label
    return value.isoformat() if hasattr(value, "isoformat") else value


def every(parts: list[Labels]) -> Labels:
    """AND."""
    return _joined(parts, ends=False)


def either(parts: list[Labels]) -> Labels:
    """OR."""
    return _joined(parts, ends=True)


def _joined(parts: list[Labels], *, ends: bool) -> Labels:
    """AND (or OR): one sure `ends` settles it, a null leaves it open."""
    rows = len(parts[0])
    values: list[bool | None] = []
    for place in range(rows):
        each = [part.values[place] for part in parts]
        if any(one is ends for one in each):
            values.append(ends)
        else:
            values.append(None if None in each else not ends)
    doubts = [part.unsure for part in parts if part.unsure is not None]
    unsure = None
    if doubts:
        unsure = np.any(doubts, axis=0)
        for part in parts:
            settles = np.array([one is ends for one in part.values], dtype=bool)
            unsure = unsure & ~(settles if part.unsure is None else settles & ~part.unsure)
    return Labels(Labels.of(values).values, unsure, joined_origins(*parts))


def opposite(part: Labels) -> Labels:
    """NOT."""
    values = [None if each is None else not each for each in part.values]
    return Labels(Labels.of(values).values, part.unsure, part.origins)


def truths(value: Value) -> Labels:
    """A value as a condition."""
    if isinstance(value, Labels) and all(each in (True, False, None) for each in value.values):
        return value
    raise BadQuestion("A condition is a comparison, such as count(*) > 100.")


def is_open(condition: Labels) -> bool:
    """Whether the noise decides of some row if a condition holds."""
    return condition.unsure is not None and bool(condition.unsure.any())


def is_null(value: Value) -> Labels:
    found = Labels.of([bool(each) for each in value.is_null])
    if isinstance(value, Numbers):
        return found
    return Labels(found.values, value.unsure, value.origins)


def _either(left: Unsure | None, right: Unsure | None) -> Unsure | None:
    if left is None or right is None:
        return right if left is None else left
    return left | right


def holds(condition: Labels) -> npt.NDArray[np.bool_]:
    """Where a condition is true, by the estimates."""
    return np.array([each is True for each in condition.values], dtype=np.bool_)


def literal(value: object, rows: int, levels: Levels) -> Value:
    """The same value in every row."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return Labels.of([value] * rows)
    return Numbers.exact(np.full(rows, float(value)), len(levels))
