"""What all protocols share: the probability that a report supports a value; e^epsilon and ln(odds) as rationals."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any, Protocol

import numpy.typing as npt
from mpmath.ctx_iv import MPIntervalContext

from discreet.arrays import Integers
from discreet.errors import BadBudget


class ValueProtocol(Protocol):
    """A protocol for one of `values` values. A report speaks for some of them.

    It speaks for the true value with probability `speaks_true`, and for any other one with
    probability `speaks_other`, the same for all. That is all that estimates and intervals need.
    """

    @property
    def kind(self) -> str: ...

    @property
    def values(self) -> int: ...

    @property
    def speaks_true(self) -> Fraction: ...

    @property
    def speaks_other(self) -> Fraction: ...

    @property
    def epsilon(self) -> Fraction:
        """What a report costs, rounded up."""
        ...

    def support(self, reports: npt.NDArray[Any]) -> Integers:
        """For each value, how many reports support it."""
        ...


def variance_of_share(protocol: ValueProtocol, people: int, share: float = 0.0) -> float:
    """The variance of an estimated share among `people` fixed people."""
    true, other = float(protocol.speaks_true), float(protocol.speaks_other)
    spread = share * true * (1 - true) + (1 - share) * other * (1 - other)
    return spread / (people * (true - other) ** 2)


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
