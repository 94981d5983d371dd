"""The exponential mechanism: choose a candidate, better ones exponentially more often."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from discreet.errors import BadBudget
from discreet.privacy.cost import Cost


@dataclass(frozen=True, slots=True, kw_only=True)
class Exponential:
    """Choose candidate i with probability proportional to exp(epsilon * score_i / (2 * sensitivity)).

    Guarantee:   epsilon-DP, and epsilon^2/8-zCDP.
    Adjacency:   the score's; the mechanism only sees its sensitivity.
    Sensitivity: of any single candidate's integer score.
    Theorem:     McSherry and Talwar 2007 (the 2 in the exponent pays for the normaliser);
                 Cesar and Rogers 2021 for zCDP. Sampled exactly: no float decides.
    """

    epsilon: Fraction

    def __post_init__(self) -> None:
        if not isinstance(self.epsilon, Fraction) or self.epsilon <= 0:
            raise BadBudget("epsilon must be a positive Fraction.")

    def unit(self, sensitivity: int) -> Fraction:
        """The log-weight of one point of score."""
        return self.epsilon / (2 * sensitivity)

    def cost(self) -> Cost:
        return Cost.bounded_range(self.epsilon)

    def shortfall(self, sensitivity: int, *, candidates: int, beta: float) -> float:
        """With probability 1 - beta, OPT - (chosen score) is at most (2 sensitivity / epsilon) ln(candidates/beta).

        Theorem: Dwork and Roth 2014, corollary 3.12.
        """
        return 2 * sensitivity / float(self.epsilon) * math.log(candidates / beta)

    def interval(
        self, chosen_score: int, sensitivity: int, *, candidates: int, beta: float
    ) -> tuple[float, float]:
        """An interval for the best score, given the chosen one, with probability 1 - beta."""
        return chosen_score, chosen_score + self.shortfall(
            sensitivity, candidates=candidates, beta=beta
        )
