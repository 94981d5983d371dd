"""Partition selection: which values a column holds, where nobody may list them beforehand."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from math import ceil

from discreet.errors import BadBudget
from discreet.privacy.cost import Cost
from discreet.privacy.laws import DiscreteLaplaceLaw


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionSelection:
    """Name a value if the noisy number of units that hold it reaches a threshold.

    Guarantee:   (epsilon, delta)-DP for the set of names. The noisy numbers are never published.
    Adjacency:   the caller says how many values one unit can touch under it, each by 1.
    Sensitivity: that number, in L1.
    Theorem:     Korolova, Kenthapadi, Mishra, Ntoulas 2009: a value that both neighbours hold costs
                 Laplace noise's epsilon; one that only the unit itself holds has a count of 1, and
                 is named with probability at most delta / touched, by the threshold
                 1 + scale * ln(touched / delta), rounded up.
    """

    epsilon: Fraction
    delta: Fraction

    def __post_init__(self) -> None:
        for value in (self.epsilon, self.delta):
            if not isinstance(value, Fraction) or value <= 0:
                raise BadBudget("Naming undeclared values needs an epsilon and a delta above 0.")

    def law(self, touched: int) -> DiscreteLaplaceLaw:
        return DiscreteLaplaceLaw(scale=touched / self.epsilon)

    def threshold(self, touched: int) -> int:
        return 2 + ceil(self._reach(touched))

    def _reach(self, touched: int) -> float:
        """scale * ln(touched / delta), a hair above: P(noise >= t) <= exp(-t / scale)."""
        return float(touched / self.epsilon) * math.log(touched / self.delta) * (1 + 1e-9)

    def cost(self) -> Cost:
        return Cost.approximate(epsilon=self.epsilon, delta=self.delta)
