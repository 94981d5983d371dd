"""Optimal local hashing for large domains, with an exact family of hash functions.

A value is written as a vector of `digits` digits to a prime base g. A client draws a random vector a, hashes
the value to the inner product (a, value) modulo g, and says the hash by randomised response among g
answers. Two different values have the same hash for exactly one in g of all vectors a, so a report speaks for any
other value with probability exactly 1/g. There are g^digits vectors, about as many as values: the collector counts reports by
(a, answer) once, and then looks each value up in that table. A million reports cost one pass.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.arrays import Integers
from discreet.errors import BadInput
from discreet.local.protocols.randomised_response import RandomisedResponse
from discreet.privacy.cost import Cost

PRIMES = (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61)
LARGEST_FAMILY = 1 << 26
BLOCK = 1 << 22
"""Table look-ups at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalHashing:
    """A report is a hash function and the randomised hash of the value.

    Guarantee:   epsilon-DP for each person: that of the randomised response, whatever the hash function.
    Adjacency:   one person's value changes.
    Sensitivity: none is needed.
    Theorem:     Wang, Blocki, Li, Jha 2017 (OLH); the family is pairwise independent (Carter, Wegman 1979).
    """

    values: int
    response: RandomisedResponse

    kind = "local-hashing"

    def __post_init__(self) -> None:
        if self.values < 2:
            raise BadInput(f"Local hashing needs at least 2 values, not {self.values}.")
        if self.base not in PRIMES or self.family > LARGEST_FAMILY:
            raise BadInput(
                f"Local hashing takes a prime base up to {PRIMES[-1]} and at most {LARGEST_FAMILY:,} "
                f"hash functions; {self.values:,} values at base {self.base} need {self.family:,}."
            )

    @classmethod
    def for_epsilon(cls, epsilon: Fraction, *, values: int) -> LocalHashing:
        """The prime base of least variance, near e^epsilon + 1."""

        def spread(base: int) -> Fraction:
            truth = RandomisedResponse.for_epsilon(epsilon, answers=base).truth
            other = Fraction(1, base)
            return other * (1 - other) / (truth - other) ** 2

        best = min(PRIMES, key=spread)
        return cls(values=values, response=RandomisedResponse.for_epsilon(epsilon, answers=best))

    @property
    def base(self) -> int:
        """The prime to which values are hashed."""
        return self.response.answers

    @property
    def digits(self) -> int:
        """Digits of a value to this base."""
        length = 1
        while self.base**length < self.values:
            length += 1
        return length

    @property
    def family(self) -> int:
        """How many hash functions there are."""
        return int(self.base**self.digits)

    @property
    def epsilon(self) -> Fraction:
        """What a report costs, rounded up."""
        return self.response.epsilon

    def cost(self) -> Cost:
        return Cost.pure(self.epsilon)

    @property
    def speaks_true(self) -> Fraction:
        """The probability that a report supports the true value."""
        return self.response.truth

    @property
    def speaks_other(self) -> Fraction:
        """The probability that a report supports any one other value."""
        return Fraction(1, self.base)

    def hashes(self, functions: Integers, values: Integers) -> Integers:
        """(a, value) modulo the base, digit by digit; the two arrays are broadcast."""
        total = np.zeros(np.broadcast_shapes(functions.shape, values.shape), dtype=np.int64)
        left, right = functions, values
        for _ in range(self.digits):
            total = total + (left % self.base) * (right % self.base)
            left, right = left // self.base, right // self.base
        return total % self.base

    def support(self, reports: npt.NDArray[Any]) -> Integers:
        """For each value, how many reports support it."""
        return self.support_of(reports, np.arange(self.values))

    def support_of(self, reports: npt.NDArray[Any], values: Integers) -> Integers:
        """The same for some values only."""
        told = np.asarray(reports, dtype=np.int64)
        if told.size and not (int(told.min()) >= 0 and int(told.max()) < self.family * self.base):
            raise BadInput("A report names a hash function or an answer that does not exist.")
        table = np.bincount(told, minlength=self.family * self.base).reshape(self.family, self.base)
        functions = np.flatnonzero(table.any(axis=1))
        counts = np.zeros(len(values), dtype=np.int64)
        step = max(1, BLOCK // max(len(functions), 1))
        for start in range(0, len(values), step):
            some = values[start : start + step]
            answers = self.hashes(functions[None, :], some[:, None])
            counts[start : start + step] = table[functions[None, :], answers].sum(axis=1)
        return counts
