"""`Reach`: what an expression may be while its columns move within given stretches.

A stretch of a column is a `Reach` too: a least and a greatest number, or a set of texts or truth values, and
whether null is among them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from discreet.questions.expressions import Call

Number = int | float
Scalar = int | float | str | bool | None

MOST_OPTIONS = 64
"""Texts that are followed one by one; a set with more of them stands for any text."""
GREATEST = 1.7976931348623157e308
LONGEST_TEXT = 2**31


class Reach(NamedTuple):
    """The possible values of an expression: numbers from `low` to `high`, `options`, any text, or null."""

    null: bool = False
    low: Number | None = None
    high: Number | None = None
    options: frozenset[str | bool] = frozenset()
    any_text: bool = False
    but: frozenset[str] = frozenset()
    """With `any_text`: texts that are not possible."""

    @property
    def has_value(self) -> bool:
        return self.low is not None or bool(self.options) or self.any_text

    @property
    def is_one(self) -> bool:
        """Whether there is just one value, or just null."""
        if self.any_text:
            return False
        return self.null + (self.low is not None) + len(self.options) == 1 and self.low == self.high

    @property
    def only(self) -> Scalar:
        """The one value."""
        return self.low if self.low is not None else next(iter(self.options), None)


Operation = Callable[[Call, list[Reach]], Reach]
"""Takes a call and the reaches of its arguments; gives the reach of the call."""
NULL = Reach(null=True)
TRUTHS = {
    (True, False): frozenset([True]),
    (False, True): frozenset([False]),
    (True, True): frozenset([True, False]),
    (False, False): frozenset[bool](),
}


def one(value: Scalar) -> Reach:
    if value is None:
        return NULL
    if isinstance(value, (str, bool)):
        return Reach(options=frozenset([value]))
    return Reach(low=value, high=value)


def texts(values: frozenset[str | bool], *, null: bool = False) -> Reach:
    if len(values) > MOST_OPTIONS:
        return Reach(null, any_text=True)
    return Reach(null, options=values)


def numbers(low: Number, high: Number, *, null: bool = False) -> Reach:
    return Reach(null, low, high)


def joined(parts: Sequence[Reach]) -> Reach:
    """Everything that is in one of the parts."""
    lows = [part.low for part in parts if part.low is not None]
    highs = [part.high for part in parts if part.high is not None]
    options = frozenset[str | bool]().union(*(part.options for part in parts))
    null = any(part.null for part in parts)
    if any(part.any_text for part in parts) or len(options) > MOST_OPTIONS:
        return Reach(null, any_text=True)
    return Reach(null, min(lows, default=None), max(highs, default=None), options)


def truth_of(true: bool, false: bool, *, null: bool = False) -> Reach:
    return Reach(null, options=TRUTHS[true, false])
