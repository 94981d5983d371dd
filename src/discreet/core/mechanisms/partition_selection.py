"""Partition selection: which keys a table holds, where nobody may list them beforehand."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from discreet.core.mechanisms.gaussian_selection import GaussianKeeping
from discreet.errors import BadBudget
from discreet.privacy.cost import Cost
from discreet.samplers.exact import ceil_shift, exp_minus

MOST_CHANCES = 1 << 18
"""The most counts in the table; an epsilon that needs more is too small to be useful."""
GUARD_BITS = 128


@dataclass(frozen=True, slots=True, kw_only=True)
class Keeping:
    """The chance that a key is named, by how many units hold it: p(0) = 0, p(1) <= delta, ..., 1.

    p rises as fast as (epsilon, delta) allows for one key whose count moves by 1: for every n
        p(n+1)     <= e^epsilon p(n)       + delta
        1 - p(n)   <= e^epsilon (1-p(n+1)) + delta
    The chances are integers over 2^bits, rounded down, and e^epsilon is rounded down too, so both
    hold exactly.
    """

    epsilon: Fraction
    delta: Fraction

    @property
    def bits(self) -> int:
        return GUARD_BITS + (self.delta.denominator // self.delta.numerator).bit_length()

    @property
    def chances(self) -> tuple[int, ...]:
        """2^bits p(n) for n = 0, 1, ..., up to the first that is certain."""
        return _chances(self.epsilon, self.delta, self.bits)

    def chance(self, count: int) -> Fraction:
        found = self.chances
        return Fraction(found[max(0, min(count, len(found) - 1))], 1 << self.bits)

    @property
    def certain(self) -> int:
        """How many units make a key sure to be named."""
        return len(self.chances) - 1

    @property
    def even(self) -> int:
        """How many units give a key a probability of at least 1/2."""
        return bisect_left(self.chances, 1 << (self.bits - 1))

    def is_beyond(self, count: int) -> bool:
        """Whether more units than `count` are needed for an even chance, or too many to be tabulated."""
        try:
            return self.even > count
        except BadBudget:
            return True

    def epsilon_of(self, moved: int) -> Fraction:
        """What keys pay together whose numbers of units move by so many."""
        return self.epsilon * moved


NamingLaw = Keeping | GaussianKeeping


@lru_cache(maxsize=64)
def _chances(epsilon: Fraction, delta: Fraction, bits: int) -> tuple[int, ...]:
    one = 1 << bits
    _, shrink = exp_minus(epsilon, bits)  # e^-epsilon, a hair above, so that its inverse is below
    slack = delta.numerator * one // delta.denominator
    found = [0]
    while found[-1] < one:
        if len(found) > MOST_CHANCES:
            raise BadBudget(
                "The epsilon for finding undeclared values is too small to tell any of them from noise. "
                "Nothing was read or charged. Give a larger one, or a smaller max_groups."
            )
        now = found[-1]
        left = one - now - slack
        if left <= 0:
            found.append(one)
            break
        found.append(min((now << bits) // shrink + slack, one - ceil_shift(left * shrink, bits)))
    return tuple(found)


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionSelection:
    """Publish each key with a probability that grows with the number of units that hold it, by an independent draw.

    Guarantee:   (epsilon, delta)-DP for the set of names. Nothing else is published, in particular no count.
    Adjacency:   the caller says how many keys one unit can touch under it, each by 1.
    Sensitivity: that number of keys. Either each pays its part of epsilon and delta (basic composition),
                 or Gaussian noise on all counts hides them together: whichever names a key from fewer
                 units on, which public numbers decide. Keys that a unit does not touch cost nothing,
                 because coins are independent.
    Theorem:     Desfontaines, Voss, Gipson, Mandayam 2022: among all (epsilon, delta)-DP ways to
                 name a key by its count, the first one names it most often, at every count. For the
                 second one see `GaussianKeeping`.
    """

    epsilon: Fraction
    delta: Fraction

    def __post_init__(self) -> None:
        for value in (self.epsilon, self.delta):
            if not isinstance(value, Fraction) or value <= 0:
                raise BadBudget("Finding undeclared values needs an epsilon and a delta above 0.")
        if self.delta >= 1:
            raise BadBudget("Finding undeclared values needs a delta below 1.")

    def each(self, touched: int) -> Keeping:
        """The best law where each of so many keys pays its part."""
        return Keeping(epsilon=self.epsilon / touched, delta=self.delta / touched)

    def law(self, touched: int) -> NamingLaw:
        """How likely a key is named, where one unit can touch so many keys."""
        each = self.each(touched)
        together = GaussianKeeping.offered(self.epsilon, self.delta, touched)
        if together is None or not each.is_beyond(together.even):
            return each
        return together

    def cost(self) -> Cost:
        return Cost.approximate(epsilon=self.epsilon, delta=self.delta)
