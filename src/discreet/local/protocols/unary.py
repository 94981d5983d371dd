"""Optimised unary encoding: one bit for every value, each flipped on its own."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.arrays import Integers
from discreet.errors import BadBudget, BadInput
from discreet.local.protocols.protocol import lower_exp, upper_log
from discreet.privacy.cost import Cost

GRAIN = 2**32
"""Probabilities are multiples of one in so many: a bit takes four bytes of entropy."""
HALF = Fraction(1, 2)


@dataclass(frozen=True, slots=True, kw_only=True)
class UnaryEncoding:
    """A report is a row of bits: the true value's bit is 1 with probability 1/2, any other with `stray`.

    Guarantee:   epsilon-DP for each person, epsilon = ln((1 - stray) / stray).
    Adjacency:   one person's value changes: two bits change their law, the others keep it.
    Sensitivity: none is needed.
    Theorem:     Wang, Blocki, Li, Jha 2017 (OUE). `stray` is rational and rounded up.
    """

    values: int
    stray: Fraction

    kind = "unary-encoding"

    def __post_init__(self) -> None:
        if self.values < 2:
            raise BadInput(f"Unary encoding needs at least 2 values, not {self.values}.")
        if not isinstance(self.stray, Fraction) or not 0 < self.stray < HALF:
            raise BadBudget("The probability of a stray bit must be a Fraction between 0 and 1/2.")

    @classmethod
    def for_epsilon(cls, epsilon: Fraction, *, values: int) -> UnaryEncoding:
        """The fewest stray bits within `epsilon`."""
        stray = Fraction(math.ceil(GRAIN / (lower_exp(epsilon) + 1)), GRAIN)
        return cls(values=values, stray=stray)

    @property
    def epsilon(self) -> Fraction:
        """P(1, 0) / P(0, 1) over the two bits that differ: (1/2)(1 - stray) / ((1/2) stray), rounded up."""
        return upper_log((1 - self.stray) / self.stray)

    def cost(self) -> Cost:
        return Cost.pure(self.epsilon)

    @property
    def speaks_true(self) -> Fraction:
        """The probability that a report supports the true value."""
        return HALF

    @property
    def speaks_other(self) -> Fraction:
        """The probability that a report supports any one other value."""
        return self.stray

    def support(self, reports: npt.NDArray[Any]) -> Integers:
        """For each value, how many reports support it."""
        bits = np.asarray(reports)
        if bits.ndim != 2 or bits.shape[1] != self.values:
            raise BadInput(f"A report of unary encoding has {self.values} bits.")
        return np.asarray(bits.sum(axis=0, dtype=np.int64))
