"""Membership: was this person's row in the table?

Against exact means of many columns (Homer et al. 2008; the score of Sankararaman et al. 2009): every mean leans
a little towards those who are in it, and over many columns the little adds up. Against a release or synthetic
rows the adversary plays a matching game: the target's row was in, or not, and nothing else differs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import betaincinv

from discreet.arrays import Floats
from discreet.errors import BadInput


def homer_scores(targets: Floats, means: Floats, population: Floats, people: int) -> Floats:
    """For each target (a row of 0/1): how much likelier it was among the `people` whose means these are.

    The log-likelihood ratio of each published mean, with and without the target, to first order.
    """
    reference = np.clip(population, 0.01, 0.99)
    lean = (means - reference) / (reference * (1 - reference))
    centred = targets - reference
    return np.asarray(
        centred @ lean - (centred**2 / (reference * (1 - reference))).sum(1) / (2 * people)
    )


@dataclass(frozen=True, slots=True)
class Advantage:
    """How much better than a coin a player of the game was: 2 P(right) - 1, with an exact interval."""

    right: int
    games: int
    confidence: float = 0.95

    @property
    def value(self) -> float:
        return 2 * self.right / self.games - 1

    @property
    def lower(self) -> float:
        tail = (1 - self.confidence) / 2
        low = betaincinv(self.right, self.games - self.right + 1, tail) if self.right else 0.0
        return float(2 * low - 1)

    @property
    def upper(self) -> float:
        tail = (1 - self.confidence) / 2
        missed = self.games - self.right
        high = betaincinv(self.right + 1, missed, 1 - tail) if missed else 1.0
        return float(2 * high - 1)

    def to_dict(self) -> dict[str, Any]:
        return {
            "advantage": self.value,
            "lower": self.lower,
            "upper": self.upper,
            "games": self.games,
        }


def most_advantage(epsilon: float, delta: float = 0.0) -> float:
    """(e^epsilon - 1 + 2 delta) / (e^epsilon + 1): no adversary has more (Kairouz, Oh, Viswanath 2015)."""
    return (math.expm1(epsilon) + 2 * delta) / (math.exp(epsilon) + 1)


def played(
    scores: Floats, bits: npt.NDArray[np.int64], *, confidence: float = 0.95, learn: bool = True
) -> Advantage:
    """Guess "in" above a threshold. It is learnt on the first third of the games and judged on the others.

    Without `learn` the threshold is 0: right for log-likelihood ratios, which need no learning.
    """
    if len(scores) < 30:
        raise BadInput(f"{len(scores)} games are too few; play at least 30.")
    cut = len(scores) // 3 if learn else 0
    threshold = _threshold(scores[:cut], bits[:cut]) if learn else 0.0
    right = int(((scores[cut:] > threshold) == (bits[cut:] == 1)).sum())
    return Advantage(right, len(scores) - cut, confidence)


def _threshold(scores: Floats, bits: npt.NDArray[np.int64]) -> float:
    order = np.argsort(scores, kind="stable")
    gains = np.cumsum(np.where(bits[order] == 1, -1, 1))
    best = int(np.argmax(np.concatenate(([0], gains))))
    if best == 0:
        return float(scores[order[0]]) - 1.0
    if best == len(scores):
        return float(scores[order[-1]])
    return float((scores[order[best - 1]] + scores[order[best]]) / 2)


def synthetic_score(rows: Sequence[tuple[Any, ...]], target: tuple[Any, ...]) -> float:
    """How much of the target is seen among synthetic rows: a row that agrees in more columns counts for far more."""
    agreements = [sum(one == other for one, other in zip(row, target, strict=True)) for row in rows]
    return float(sum(4.0**each for each in agreements)) / max(len(rows), 1)
