"""Randomised response: the truth, or else one of the other answers."""

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

GRAIN = 2**60
"""Probabilities are multiples of one in so many."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RandomisedResponse:
    """Tell the truth with probability `truth`, else one of the other answers, each equally likely.

    Guarantee:   epsilon-DP for each person (local model), epsilon = ln(truth (k-1) / (1-truth)).
    Adjacency:   one person's answer changes.
    Sensitivity: none is needed: the answer itself is randomised.
    Theorem:     Warner 1965; k-ary: Kairouz, Oh, Viswanath 2016. `truth` is rational, so sampling
                 is exact; it is the probability that the TRUE answer is given.
    """

    truth: Fraction
    answers: int = 2

    kind = "randomised-response"

    def __post_init__(self) -> None:
        if self.answers < 2:
            raise BadInput(f"Randomised response needs at least 2 answers, not {self.answers}.")
        if not isinstance(self.truth, Fraction) or not Fraction(1, self.answers) < self.truth < 1:
            raise BadBudget(
                f"The probability of a true answer must be a Fraction above 1/{self.answers} and below 1."
            )

    @classmethod
    def two_coins(cls) -> RandomisedResponse:
        """Heads: the truth. Tails: toss again and say what it shows. P(yes | yes) = 3/4, epsilon = ln 3."""
        return cls(truth=Fraction(3, 4))

    @classmethod
    def for_epsilon(cls, epsilon: Fraction, *, answers: int = 2) -> RandomisedResponse:
        """The most truthful one within `epsilon`, its probability rounded down."""
        lowest = lower_exp(epsilon)
        truth = lowest / (lowest + answers - 1)
        rounded = Fraction(math.floor(truth * GRAIN), GRAIN)
        return cls(truth=rounded, answers=answers)

    @property
    def epsilon(self) -> Fraction:
        """ln of the odds ratio, rounded up."""
        odds = self.truth * (self.answers - 1) / (1 - self.truth)
        return upper_log(odds)

    def cost(self) -> Cost:
        return Cost.pure(self.epsilon)

    @property
    def values(self) -> int:
        """How many answers there are."""
        return self.answers

    @property
    def speaks_true(self) -> Fraction:
        """The probability that a report supports the true value."""
        return self.truth

    @property
    def speaks_other(self) -> Fraction:
        """The probability that a report supports any one other value."""
        return (1 - self.truth) / (self.answers - 1)

    def support(self, reports: npt.NDArray[Any]) -> Integers:
        """For each value, how many reports support it."""
        counts = np.bincount(np.asarray(reports, dtype=np.int64), minlength=self.answers)
        if len(counts) > self.answers:
            raise BadInput(f"A report lies outside the {self.answers} answers.")
        return counts.astype(np.int64)
