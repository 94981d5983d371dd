"""What the samplers accept, and the refusals.

Noise laws have unbounded support, so no scale makes int64 certain by itself. Up to
`LARGEST_SCALE` a draw beyond int64 has probability below exp(-2^22): it never happens,
and nothing is cut off to make it so.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Final

from discreet.errors import BadInput
from discreet.privacy.laws.law import LARGEST_SPREAD

LARGEST_SCALE: Final = Fraction(LARGEST_SPREAD)
SMALLEST_SCALE: Final = 1 / LARGEST_SCALE
LARGEST_VARIANCE: Final = LARGEST_SCALE**2
SMALLEST_VARIANCE: Final = SMALLEST_SCALE**2


def _positive_rational(value: object, *, name: str) -> Fraction:
    if isinstance(value, bool) or not isinstance(value, (Fraction, int)):
        raise BadInput(
            f"{name} must be an exact rational (a Fraction or an int), not {type(value).__name__}. "
            "Nothing was drawn."
        )
    if value.numerator <= 0:
        raise BadInput(f"{name} must be positive, not {value}. Nothing was drawn.")
    return value if isinstance(value, Fraction) else Fraction(value)


def check_scale(scale: Fraction, *, name: str = "scale") -> Fraction:
    """`scale`, if int64 noise of that scale cannot overflow."""
    scale = _positive_rational(scale, name=name)
    if not SMALLEST_SCALE <= scale <= LARGEST_SCALE:
        raise BadInput(
            f"{name} is about {_magnitude(scale)}; noise is drawn at scales from 2^-40 to 2^40 "
            "(1.1e12), where 64-bit integers cannot overflow. Nothing was drawn. "
            "Measure in coarser units, or with another budget."
        )
    return scale


def check_sigma_squared(sigma_squared: Fraction) -> Fraction:
    """`sigma_squared`, if int64 noise of that variance cannot overflow."""
    sigma_squared = _positive_rational(sigma_squared, name="sigma_squared")
    if not SMALLEST_VARIANCE <= sigma_squared <= LARGEST_VARIANCE:
        raise BadInput(
            f"sigma_squared is about {_magnitude(sigma_squared)}; noise is drawn at sigma from "
            "2^-40 to 2^40 (1.1e12), where 64-bit integers cannot overflow. Nothing was drawn. "
            "Measure in coarser units, or with another budget."
        )
    return sigma_squared


def check_unit(unit: Fraction) -> Fraction:
    """`unit`, a positive rational of any size."""
    return _positive_rational(unit, name="unit")


def check_count(count: int) -> int:
    """`count`, a number of draws."""
    if isinstance(count, bool) or not hasattr(count, "__index__") or count < 0:
        raise BadInput(f"count must be a non-negative integer, not {count!r}. Nothing was drawn.")
    return int(count)


def _magnitude(value: Fraction) -> str:
    """For a message: a power of two, for float() overflows on what is refused here."""
    return f"2^{value.numerator.bit_length() - value.denominator.bit_length()}"
