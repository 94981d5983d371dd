"""e^epsilon and ln(odds) as rationals, rounded so that no protocol costs more than it says."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

from mpmath.ctx_iv import MPIntervalContext

from discreet.errors import BadBudget

LARGEST_EPSILON = 20
_INTERVALS = MPIntervalContext()
"""Directed rounding in a context of its own: mpmath's shared one has a precision that others set."""
_INTERVALS.prec = 96


def lower_exp(exponent: Fraction) -> Fraction:
    """A rational just below exp(exponent)."""
    if not 0 < exponent <= LARGEST_EPSILON:
        raise BadBudget(
            f"epsilon must be above 0 and at most {LARGEST_EPSILON} in the local model: beyond that a "
            "report is the truth."
        )
    return _ends(_INTERVALS.exp(_enclosed(exponent)))[0]


def upper_log(value: Fraction) -> Fraction:
    """A rational just above ln(value), for value > 1."""
    upper = _ends(_INTERVALS.log(_enclosed(value)))[1]
    return Fraction(math.ceil(upper * 2**60), 2**60)


def _enclosed(value: Fraction) -> Any:
    return _INTERVALS.mpf(value.numerator) / _INTERVALS.mpf(value.denominator)


def _ends(enclosure: Any) -> tuple[Fraction, Fraction]:
    """Both ends of an interval, exactly."""

    def exactly(end: tuple[int, int, int, int]) -> Fraction:
        sign, mantissa, exponent, _ = end
        magnitude = Fraction(int(mantissa)) * Fraction(2) ** exponent
        return -magnitude if sign else magnitude

    low, high = enclosure._mpi_
    return exactly(low), exactly(high)
