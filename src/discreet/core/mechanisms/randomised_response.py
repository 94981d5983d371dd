"""Randomised response: each person randomises alone, so nobody needs to be trusted."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
from mpmath.ctx_iv import MPIntervalContext

from discreet import samplers
from discreet.errors import BadBudget, BadInput
from discreet.privacy.cost import Cost
from discreet.samplers.entropy import EntropySource


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
        if epsilon <= 0:
            raise BadBudget("epsilon must be greater than 0.")
        lowest = _lower_exp(epsilon)
        truth = lowest / (lowest + answers - 1)
        rounded = Fraction(math.floor(truth * 2**60), 2**60)
        return cls(truth=rounded, answers=answers)

    @property
    def epsilon(self) -> Fraction:
        """ln of the odds ratio, rounded up."""
        odds = self.truth * (self.answers - 1) / (1 - self.truth)
        return _upper_log(odds)

    def cost(self) -> Cost:
        return Cost.pure(self.epsilon)

    def randomise(
        self,
        answers: Sequence[int] | npt.NDArray[np.int64],
        *,
        entropy: EntropySource | None = None,
    ) -> npt.NDArray[np.int64]:
        """One report for each true answer, drawn exactly."""
        true = np.asarray(answers, dtype=np.int64)
        if true.size and not (int(true.min()) >= 0 and int(true.max()) < self.answers):
            raise BadInput(f"An answer lies outside the {self.answers} declared ones.")
        coins = samplers.uniform_below(self.truth.denominator, true.size, entropy=entropy)
        lies = coins >= self.truth.numerator
        turn = 1 + samplers.uniform_below(self.answers - 1, true.size, entropy=entropy)
        return np.where(lies, (true + turn) % self.answers, true)

    def estimate(
        self, reports: Sequence[int] | npt.NDArray[np.int64], *, confidence: float
    ) -> list[tuple[float, float, float]]:
        """For each answer: an unbiased estimate of its true share, and a two-sided interval.

        With n reports, c of them i: (c/n - q) / (truth - q), q = (1-truth)/(k-1). Interval:
        Hoeffding on c/n, which needs no assumption on the population: with probability
        `confidence` |c/n - E| <= sqrt(ln(2/(1-confidence)) / (2n)).
        """
        counts = np.bincount(np.asarray(reports, dtype=np.int64), minlength=self.answers)
        if len(counts) > self.answers:
            raise BadInput(f"A report lies outside the {self.answers} answers.")
        people = int(counts.sum())
        if people == 0:
            return [(1 / self.answers, 0.0, 1.0)] * self.answers
        other = float((1 - self.truth) / (self.answers - 1))
        slope = float(self.truth) - other
        half = math.sqrt(math.log(2 / (1 - confidence)) / (2 * people)) / slope
        shares = (counts / people - other) / slope
        return [(float(share), float(share) - half, float(share) + half) for share in shares]

    def standard_error(self, people: int) -> float:
        """The largest standard deviation that an estimated share can have with `people` reports."""
        slope = float(self.truth - (1 - self.truth) / (self.answers - 1))
        return 0.5 / math.sqrt(people) / slope


_INTERVALS = MPIntervalContext()
"""Directed rounding in a context of its own: mpmath's shared one has a precision that others set."""
_INTERVALS.prec = 96


def _enclosed(value: Fraction) -> Any:
    return _INTERVALS.mpf(value.numerator) / _INTERVALS.mpf(value.denominator)


def _lower_exp(exponent: Fraction) -> Fraction:
    """A rational just below exp(exponent)."""
    return _ends(_INTERVALS.exp(_enclosed(exponent)))[0]


def _upper_log(value: Fraction) -> Fraction:
    """A rational just above ln(value), for value > 1."""
    upper = _ends(_INTERVALS.log(_enclosed(value)))[1]
    return Fraction(math.ceil(upper * 2**60), 2**60)


def _ends(enclosure: Any) -> tuple[Fraction, Fraction]:
    """Both ends of an interval, exactly."""

    def exactly(end: tuple[int, int, int, int]) -> Fraction:
        sign, mantissa, exponent, _ = end
        magnitude = Fraction(int(mantissa)) * Fraction(2) ** exponent
        return -magnitude if sign else magnitude

    low, high = enclosure._mpi_
    return exactly(low), exactly(high)
