"""Directed rounding: mpmath numbers in, exact decimals out, always on the safe side."""

from __future__ import annotations

import threading
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import mpmath

from discreet.errors import BadBudget
from discreet.privacy.exact import Exactable, decimal_text, exact

DIGITS = 15
"""Significant decimal digits of a rounded result: its denominator stays a power of ten."""

PRECISION = 400
"""Working bits. Results are wrong by less than 2^-300 relative to their largest term."""

LONGEST_EXPONENT = 300
"""Results below 10^-300 are rounded up to it (or down to 0)."""

SLACK_BITS = 250
"""2^-250, relative, is added before rounding; far above the working error, far below the digits kept."""

_thread = threading.local()

# mpmath keeps these constants for the whole process. A thread that reads one while another makes it
# longer reads a wrong number, so they are made once, longer than any conversion asks for.
for _constant in (mpmath.libmp.pi_fixed, mpmath.libmp.ln2_fixed):
    _constant(16 * PRECISION)


def context() -> Any:
    """This thread's own mpmath context: the library's global one is not thread safe."""
    if not hasattr(_thread, "context"):
        _thread.context = mpmath.MPContext()
        _thread.context.prec = PRECISION
    return _thread.context


def number(value: Fraction) -> Any:
    """An exact rational as an mpmath number, correct to the working precision."""
    ctx = context()
    return ctx.mpf(value.numerator) / ctx.mpf(value.denominator)


def slack_of(magnitude: Any) -> Any:
    """A generous bound on the rounding error of a sum whose terms are of this size."""
    return context().ldexp(abs(magnitude), -SLACK_BITS)


def upper(value: Any) -> Any:
    """Slightly above `value`."""
    return value + slack_of(value)


def _rational(value: Any) -> Fraction:
    sign, mantissa, exponent, _ = value._mpf_
    magnitude = Fraction(int(mantissa)) * Fraction(2) ** int(exponent)
    return Fraction(-magnitude if sign else magnitude)


def _decimal(value: Any, *, up: bool) -> Fraction:
    if value <= 0:
        return Fraction(0)
    # Astronomically small or large results would be rationals of astronomical length.
    magnitude = int(context().floor(context().log10(value)))
    if magnitude < -LONGEST_EXPONENT:
        return Fraction(1, 10**LONGEST_EXPONENT) if up else Fraction(0)
    if magnitude > LONGEST_EXPONENT:
        raise BadBudget("The parameters are out of range: the result has hundreds of digits.")
    exact_value = _rational(value)
    places = DIGITS - 1 - magnitude
    scaled = exact_value * Fraction(10) ** places
    whole = scaled.numerator // scaled.denominator
    if up and whole != scaled:
        whole += 1
    return whole / Fraction(10) ** places


def round_up(value: Any) -> Fraction:
    """The next decimal of `DIGITS` digits that is not below `value`."""
    return _decimal(value, up=True)


def round_down(value: Any) -> Fraction:
    """The last decimal of `DIGITS` digits that is not above `value`."""
    return _decimal(value, up=False)


def smallest_passing(passes: Callable[[Fraction], bool], start: Fraction) -> Fraction:
    """A value that passes, within 1e-12 of one that does not, rounded up; found from `start` by bisection.

    Only `passes` is trusted: the value returned was itself tested.
    """
    low = high = start
    if passes(start):
        while passes(low):
            low, high = low / 4, low
            _within_range(low)
    else:
        while not passes(high):
            low, high = high, high * 4
            _within_range(high)
    while high - low > high / 10**13:
        middle = round_up(number((low + high) / 2))
        if passes(middle):
            high = middle
        else:
            low = middle
    return high


def _within_range(value: Fraction) -> None:
    if not Fraction(1, 10**LONGEST_EXPONENT) < value < 10**LONGEST_EXPONENT:
        raise BadBudget("No noise scale of a reasonable size fits these parameters.")


def positive(value: Exactable, name: str) -> Fraction:
    given = exact(value, name=name)
    if given <= 0:
        raise BadBudget(f"{name} is {decimal_text(given)}; it must be greater than 0.")
    return given


def non_negative(value: Exactable, name: str) -> Fraction:
    given = exact(value, name=name)
    if given < 0:
        raise BadBudget(f"{name} is {decimal_text(given)}; it must be at least 0.")
    return given


def open_unit(value: Exactable, name: str) -> Fraction:
    given = exact(value, name=name)
    if not 0 < given < 1:
        raise BadBudget(
            f"{name} is {decimal_text(given)}; this conversion needs one above 0 and below 1."
        )
    return given
