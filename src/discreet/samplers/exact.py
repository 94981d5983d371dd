"""Exact comparison of a uniform real with a transcendental threshold, in integers alone.

A uniform real U is known by its first bits u: U lies in [u, u+1) / 2^bits. A threshold T
in (0, 1) is known by floor(T 2^bits). Where u differs from that floor, U < T is decided;
where they are equal, more bits of both are drawn and computed. This ends, because every
threshold used here is transcendental (Lindemann 1882: exp of a non-zero rational, and a
rational function of it that is not constant), so it is never a dyadic rational, and
because more bits tie with probability 2^-64 at each further step.

Enclosures are pairs of integers rounded outwards: no float, no shared state.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Final

from discreet.samplers.entropy import EntropySource

Enclosure = tuple[int, int]
"""(low, high) with low <= x 2^precision <= high, for a real x in [0, 1]."""

MORE_BITS: Final = 64
GUARD_BITS: Final = 128


def ceil_shift(value: int, bits: int) -> int:
    """value / 2^bits rounded up."""
    return -(-value >> bits)


def ceil_divide(value: int, divisor: int) -> int:
    """value / divisor rounded up."""
    return -(-value // divisor)


def exp_minus(x: Fraction, precision: int) -> Enclosure:
    """Encloses exp(-x) for a rational x >= 0.

    exp(-x) = (1 / exp(x / 2^h))^(2^h): the series of the inner exp has positive terms, so
    its lower and upper sums are rounded towards their own side, and each squaring too.
    """
    if x > precision + 1:  # exp(-x) < 2^-x
        return 0, 1
    halvings = max(0, (x.numerator // x.denominator).bit_length() + 8)
    working = precision + halvings + 16
    one = 1 << working
    scaled = x.numerator << (working - halvings)
    y_low, y_high = scaled // x.denominator, ceil_divide(scaled, x.denominator)
    low_sum, high_sum = one, one
    low_term, high_term = one, one
    n = 0
    while high_term > 1:
        n += 1
        low_term = (low_term * y_low >> working) // n
        high_term = ceil_divide(ceil_shift(high_term * y_high, working), n)
        low_sum += low_term
        high_sum += high_term
    high_sum += 2  # what is left of the series is below its last term, for y < 1/2
    low, high = (one << working) // high_sum, ceil_divide(one << working, low_sum)
    for _ in range(halvings):
        low, high = low * low >> working, ceil_shift(high * high, working)
    spare = working - precision
    return low >> spare, min(ceil_shift(high, spare), 1 << precision)


def multiply(a: Enclosure, b: Enclosure, precision: int) -> Enclosure:
    """Encloses the product of two numbers in [0, 1]."""
    return a[0] * b[0] >> precision, ceil_shift(a[1] * b[1], precision)


def complement(a: Enclosure, precision: int) -> Enclosure:
    """Encloses 1 - a."""
    one = 1 << precision
    return one - a[1], one - a[0]


def divide(a: Enclosure, b: Enclosure, precision: int) -> Enclosure:
    """Encloses a / b; too coarse a divisor gives a useless, still valid, enclosure."""
    return (a[0] << precision) // b[1], -((-a[1] << precision) // max(b[0], 1))


def below_powers(base: Enclosure, count: int, precision: int) -> list[Enclosure]:
    """Encloses 1 - base^k for k = 1..count. Most of the time to make a table goes here."""
    one = 1 << precision
    base_low, base_high = base
    low, high = base
    result = []
    for _ in range(count):
        result.append((one - high, one - low))
        low, high = low * base_low >> precision, -(-high * base_high >> precision)
    return result


class Thresholds:
    """Transcendental numbers in the open interval (0, 1), known to any number of bits."""

    def __init__(self, enclose: Callable[[int], Sequence[Enclosure]]) -> None:
        """`enclose(precision)` encloses them all; a larger precision encloses them closer."""
        self._enclose = enclose
        self._floors: dict[int, tuple[int, ...]] = {}

    def floors(self, bits: int) -> tuple[int, ...]:
        """floor(T 2^bits) of each threshold, exact."""
        known = self._floors.get(bits)
        if known is None:
            known = self._floors[bits] = self._compute_floors(bits)
        return known

    def _compute_floors(self, bits: int) -> tuple[int, ...]:
        last = (1 << bits) - 1  # T < 1, so its floor is at most this, however close to 1 it is
        precision = bits + GUARD_BITS
        while True:
            spare = precision - bits
            enclosures = self._enclose(precision)
            floors = tuple([low >> spare for low, _ in enclosures])
            if floors == tuple([min(high >> spare, last) for _, high in enclosures]):
                return floors
            precision *= 2

    def below(self, index: int, u: int, bits: int, entropy: EntropySource) -> bool:
        """Whether the uniform real that begins with the `bits` bits `u` lies below threshold `index`."""
        while True:
            floor = self.floors(bits)[index]
            if u != floor:
                return u < floor
            u = u << MORE_BITS | entropy.bits(MORE_BITS)
            bits += MORE_BITS

    def locate(self, u: int, bits: int, entropy: EntropySource) -> int:
        """How many thresholds (in increasing order) lie below that uniform real."""
        while True:
            floors = self.floors(bits)
            index = bisect_left(floors, u)
            if index == bisect_right(floors, u):
                return index
            u = u << MORE_BITS | entropy.bits(MORE_BITS)
            bits += MORE_BITS
