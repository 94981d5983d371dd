"""Naming keys by Gaussian noise on their counts: for units that hold many keys."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

from discreet.privacy.conversion import gaussian_sigma_squared
from discreet.privacy.conversion.rounding import context, number, upper

MOST_TABULATED = 1 << 13
"""The most counts in the table. If more are needed, this law is not offered."""
LARGEST_EPSILON, LARGEST_DELTA, LEAST_DELTA = Fraction(20), Fraction(1, 100), Fraction(1, 10**40)
"""Beyond these the table would need more bits than are computed with. The least is each key's part."""
GUARD_BITS = 128
RESERVE_BITS = 20
"""2^-20 of delta pays for the table: its chances are rounded, and end in certainty."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GaussianKeeping:
    """The chance that a key is named, where its count plus N(0, sigma^2) must reach a threshold T.

    p(0) = 0 and p(n) = Phi((n - T) / sigma). One unit touches k keys, each by 1, under any adjacency.

    Guarantee: (epsilon, delta)-DP for the names of all keys together.
    Proof:     Let u = k p(1), and let sigma be valid for (epsilon - delta, delta / 2) at the L2 sensitivity
               sqrt(k). Tables P and Q differ in k keys. A key that P alone holds is held there by one unit,
               so P names such a key with probability u at most. Otherwise what P names are keys that both
               hold, by the Gaussian mechanism; and Q names the same of these, and none of its own,
               with 1 - u of that mechanism's probability. So for every set S of outcomes
                   P(S) <= u + delta / 2 + e^(epsilon - delta) Q(S) / (1 - u),
               and 1 / (1 - u) <= e^(2u) <= e^delta, for u <= delta / 2 <= 1/2.
               Chances in the table are off by at most h, which costs (1 + e^epsilon) k h of delta:
               at most the reserve.
    """

    epsilon: Fraction
    delta: Fraction
    touched: int

    @classmethod
    def offered(cls, epsilon: Fraction, delta: Fraction, touched: int) -> GaussianKeeping | None:
        """The law, or None where it would be of no use: for one key, or outside of what can be tabulated."""
        in_range = 2 * delta < epsilon <= LARGEST_EPSILON
        if touched < 2 or not in_range or not LEAST_DELTA * touched <= delta <= LARGEST_DELTA:
            return None
        found = cls(epsilon=epsilon, delta=delta, touched=touched)
        return found if found.certain <= MOST_TABULATED else None

    @property
    def bits(self) -> int:
        """Enough for the table's rounding to be far below the reserve."""
        smallest = self.delta / self.touched
        growth = 2 * int(self.epsilon + 1)  # bits of 1 + e^epsilon, and more
        return GUARD_BITS + growth + (smallest.denominator // smallest.numerator).bit_length()

    @property
    def sigma_squared(self) -> Fraction:
        return _sigma_squared(self.epsilon, self.delta, self.touched)

    @property
    def even(self) -> int:
        """The threshold: how many units give a key a probability of 1/2."""
        return _threshold(self.epsilon, self.delta, self.touched)

    @property
    def certain(self) -> int:
        """How many units make a key sure to be named."""
        return _certain(self.epsilon, self.delta, self.touched)

    @property
    def chances(self) -> tuple[int, ...]:
        """2^bits p(n) for n = 0, 1, ..., rounded down, up to the first that is certain."""
        return _chances(self.epsilon, self.delta, self.touched, self.bits)

    def chance(self, count: int) -> Fraction:
        found = self.chances
        return Fraction(found[max(0, min(count, len(found) - 1))], 1 << self.bits)

    def epsilon_of(self, moved: int) -> Fraction:
        """The epsilon at which the law's delta holds, whatever number of keys moved."""
        return self.epsilon if moved else Fraction(0)


@lru_cache(maxsize=64)
def _sigma_squared(epsilon: Fraction, delta: Fraction, touched: int) -> Fraction:
    return gaussian_sigma_squared(epsilon=epsilon - delta, delta=delta / 2, l2_squared=touched)


def _tail(above: int, sigma_squared: Fraction) -> Any:
    """The probability that N(0, sigma^2) is at least `above`: an mpmath number, correct to 300 bits."""
    ctx = context()
    return ctx.erfc(ctx.mpf(above) / ctx.sqrt(2 * number(sigma_squared))) / 2


def _first(most: Any, sigma_squared: Fraction) -> int:
    """The least distance that noise exceeds with a probability of at most `most`."""
    low, high = 0, 1
    while upper(_tail(high, sigma_squared)) > most:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        if upper(_tail(middle, sigma_squared)) > most:
            low = middle
        else:
            high = middle
    return high


@lru_cache(maxsize=64)
def _threshold(epsilon: Fraction, delta: Fraction, touched: int) -> int:
    share = delta / touched * (Fraction(1, 2) - Fraction(1, 1 << RESERVE_BITS))
    return 1 + _first(number(share), _sigma_squared(epsilon, delta, touched))


@lru_cache(maxsize=64)
def _certain(epsilon: Fraction, delta: Fraction, touched: int) -> int:
    reserve = number(delta / (touched << (RESERVE_BITS + 1))) / (1 + context().exp(number(epsilon)))
    sigma_squared = _sigma_squared(epsilon, delta, touched)
    return _threshold(epsilon, delta, touched) + _first(reserve, sigma_squared)


@lru_cache(maxsize=16)
def _chances(epsilon: Fraction, delta: Fraction, touched: int, bits: int) -> tuple[int, ...]:
    ctx, sigma_squared = context(), _sigma_squared(epsilon, delta, touched)
    threshold = _threshold(epsilon, delta, touched)
    named = [
        int(ctx.floor(ctx.ldexp(_tail(threshold - count, sigma_squared), bits)))
        for count in range(1, _certain(epsilon, delta, touched))
    ]
    return (0, *named, 1 << bits)
