"""AboveThreshold, the sparse vector technique: the first of many counts that is large."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from discreet.errors import BadBudget
from discreet.privacy.cost import Cost
from discreet.privacy.laws import DiscreteLaplaceLaw


@dataclass(frozen=True, slots=True, kw_only=True)
class AboveThreshold:
    """Say `below` at no further cost, until the first noisy count at or above a noisy threshold.

    Guarantee:   epsilon-DP for the whole run, however many counts are asked, adaptively.
    Adjacency:   the counts'; the mechanism only sees their sensitivity.
    Sensitivity: of each single count.
    Theorem:     Dwork and Roth 2014, theorem 3.23: noise 2s/epsilon on the threshold, drawn once,
                 and 4s/epsilon on each count, drawn afresh; it halts at the first `above`. The
                 proof shifts the threshold by s and one count by 2s, both integers, so it holds
                 word for word with discrete Laplace noise. The noisy counts are never published.
    """

    epsilon: Fraction

    def __post_init__(self) -> None:
        if not isinstance(self.epsilon, Fraction) or self.epsilon <= 0:
            raise BadBudget("epsilon must be a positive Fraction.")

    def threshold_law(self, sensitivity: int) -> DiscreteLaplaceLaw:
        """The noise on the threshold, drawn once."""
        return DiscreteLaplaceLaw(scale=2 * sensitivity / self.epsilon)

    def count_law(self, sensitivity: int) -> DiscreteLaplaceLaw:
        """The noise on each count, drawn afresh."""
        return DiscreteLaplaceLaw(scale=4 * sensitivity / self.epsilon)

    def cost(self) -> Cost:
        return Cost.pure(self.epsilon)

    def error_bound(self, sensitivity: int, *, questions: int, beta: float) -> float:
        """With probability 1 - beta every `below` is below threshold + a and the `above` is above threshold - a.

        Theorem: Dwork and Roth 2014, theorem 3.24: a = 8 s (ln questions + ln(2/beta)) / epsilon.
        """
        return 8 * sensitivity * (math.log(questions) + math.log(2 / beta)) / float(self.epsilon)
