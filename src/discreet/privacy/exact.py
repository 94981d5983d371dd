"""Exact numbers from what people type.

A float is taken by its decimal repr: `0.1` means one tenth, so ten of them are 1.
"""

from __future__ import annotations

import math
from decimal import Decimal, InvalidOperation
from fractions import Fraction

from discreet.errors import BadBudget, BadInput

Exactable = Fraction | Decimal | int | float | str
"""What `exact` accepts."""

LONGEST = 60
"""Digits that a number may be typed with; more is a mistake, or an attack on big-integer arithmetic."""


def exact(value: Exactable, *, name: str) -> Fraction:
    """The rational number that `value` spells, or a `BadBudget` naming `name`."""
    if isinstance(value, bool) or not isinstance(value, (Fraction, Decimal, int, float, str)):
        raise BadBudget(
            f"{name} must be a number such as 0.5, '1/2' or Decimal('0.5'), "
            f"not {type(value).__name__}."
        )
    if isinstance(value, Fraction):
        return value
    if isinstance(value, float) and not math.isfinite(value):
        raise BadBudget(f"{name} is {value}; it must be finite.")
    text = repr(value) if isinstance(value, float) else str(value)
    text = text.strip()
    if len(text) > LONGEST:
        raise BadBudget(
            f"{name} is written with {len(text)} characters; at most {LONGEST} are read."
        )
    try:
        number = Decimal(text)
    except InvalidOperation:
        number = None
    try:
        if number is not None:
            if not number.is_finite():
                raise BadBudget(f"{name} is {text}; it must be finite.")
            if abs(number.adjusted()) > 400:
                raise BadBudget(f"{name} is {text}; its exponent is out of range.")
            return Fraction(number)
        return Fraction(text)
    except (ValueError, ZeroDivisionError):
        raise BadBudget(f"{name} is {text!r}, which is not a number such as 0.5 or 1/2.") from None


def at_least_one(value: object, *, name: str) -> int:
    """A whole number of at least 1; anything else is refused."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise BadInput(f"{name} is {value!r}; it must be a whole number of at least 1.")
    return value


def confidence_level(confidence: Exactable) -> Fraction:
    """A confidence as an exact number between 0 and 1; anything else is refused."""
    level = exact(confidence, name="confidence")
    if not 0 < level < 1:
        raise BadInput(f"confidence is {float(level):g}; it must lie between 0 and 1.")
    return level


def decimal_text(value: Fraction, *, digits: int = 6) -> str:
    """`value` for people: exact when short, else rounded and marked with ~."""
    for places in range(digits + 1):
        if (value * 10**places).denominator == 1:
            return f"{float(value):.{places}f}" if places else str(value.numerator)
    if value.denominator <= 1000 and abs(value.numerator) <= 1000:
        return f"{value.numerator}/{value.denominator}"
    return f"~{float(value):.{digits}g}"
