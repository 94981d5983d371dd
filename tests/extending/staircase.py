"""A noise law that `src` does not know: all of it is in this file.

The staircase law on the integers (Geng and Viswanath 2014): flat for `width` numbers, then e^-epsilon
times as likely, and so on. A single number that a person moves by at most `width` gets less noise
from it than from a Laplace law, on average.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import ClassVar

import numpy as np

from discreet import samplers
from discreet.arrays import Floats
from discreet.errors import BadInput
from discreet.privacy.adjacency import Sensitivity
from discreet.privacy.budget import Budget
from discreet.privacy.cost import Accounting, Cost
from discreet.privacy.laws import NoiseLaw
from discreet.privacy.laws.law import cumulants_by_enumeration
from discreet.samplers.entropy import EntropySource
from discreet.samplers.laws import Draws


@dataclass(frozen=True, slots=True)
class StaircaseLaw(NoiseLaw):
    """P(k) proportional to exp(-epsilon * j): j is 0 below `first`, and one more every `width` numbers."""

    kind: ClassVar[str] = "staircase"
    words: ClassVar[str] = "staircase"
    epsilon: Fraction
    width: Fraction
    first: Fraction

    def __post_init__(self) -> None:
        NoiseLaw.__post_init__(self)
        steps = Fraction(self.width), Fraction(self.first)
        if any(each.denominator != 1 for each in steps) or not 1 <= self.first <= self.width:
            raise BadInput("A staircase has whole steps, the first at most as wide as the others.")

    @property
    def _fall(self) -> float:
        return math.exp(-float(self.epsilon))

    @property
    def _half(self) -> float:
        """The weights of 0, 1, 2, ... together."""
        low = float(self.first) + float(self.width - self.first) * self._fall
        return low / -math.expm1(-float(self.epsilon))

    @property
    def _whole(self) -> float:
        return 2 * self._half - 1  # 0 is in both halves, with weight 1

    def _mass(self, k: Floats) -> Floats:
        steps = np.floor((k + float(self.width - self.first)) / float(self.width))
        return np.asarray(np.exp(-float(self.epsilon) * steps) / self._whole)

    def tail(self, h: Floats) -> Floats:
        width, first = float(self.width), float(self.first)
        period, place = np.divmod(h + 1, width)
        here = np.maximum(first - place, 0) + (width - np.maximum(place, first)) * self._fall
        weight = np.exp(-float(self.epsilon) * period) * (here + self._fall * self._half)
        return np.asarray(weight / self._whole)

    def cumulants(self) -> tuple[float, float, float]:
        return _cumulants(self)

    def _sum(self, step: np.ndarray) -> np.ndarray:
        """The weights of 0, 1, 2, ... times step^0, step^1, ..."""
        places = np.arange(int(self.width))
        heights = np.where(places < int(self.first), 1.0, self._fall)
        period = np.power.outer(step, places) @ heights
        return np.asarray(period / (1 - self._fall * step ** int(self.width)))

    def characteristic(self, t: Floats) -> Floats:
        return np.asarray((2 * self._sum(np.exp(1j * t)).real - 1) / self._whole)

    @property
    def mgf_limit(self) -> float:
        return float(self.epsilon / self.width)

    def log_mgf(self, t: Floats) -> Floats:
        both = self._sum(np.exp(t)) + self._sum(np.exp(-t))
        return np.asarray(np.log((both - 1) / self._whole))

    def cost(self, sensitivity: Sensitivity, *, size: int, epsilon: Fraction | None = None) -> Cost:
        """A number that moves by s crosses ceil(s / width) steps; every number that moves crosses one."""
        crossed = math.ceil(sensitivity.l1 / self.width) if size == 1 else sensitivity.l1
        return Cost.pure(crossed * self.epsilon)

    def scaled(self, by: Fraction) -> StaircaseLaw:
        width, first = (Fraction(math.ceil(each * by)) for each in (self.width, self.first))
        return StaircaseLaw(self.epsilon, width, min(first, width))


@lru_cache(maxsize=64)
def _cumulants(law: StaircaseLaw) -> tuple[float, float, float]:
    return cumulants_by_enumeration(law, most=int(law.width) * math.ceil(60 / law.epsilon + 3))


def draw_staircase(law: StaircaseLaw, count: int, entropy: EntropySource | None) -> Draws:
    """Exact: a geometric number of whole periods, a place in the period, and a sign.

    A place past the first step is kept with probability e^-epsilon; of the two zeros one is drawn again.
    """
    width, first = int(law.width), int(law.first)
    drawn: list[Draws] = []
    while sum(map(len, drawn)) < count:
        periods = samplers.geometric(1 / law.epsilon, count, entropy=entropy)
        places = samplers.uniform_below(width, count, entropy=entropy)
        behind = (places >= first).astype(np.int64)
        negative = samplers.uniform_below(2, count, entropy=entropy).astype(bool)
        kept = samplers.bernoulli_exp(behind, law.epsilon, entropy=entropy)
        numbers = periods * width + places
        kept &= ~(negative & (numbers == 0))
        drawn.append(np.where(negative, -numbers, numbers)[kept])
    return np.concatenate(drawn)[:count]


@dataclass(frozen=True, slots=True, kw_only=True)
class Staircase:
    """Add staircase noise to a single integer: epsilon-DP for a number that moves by its sensitivity."""

    epsilon: Fraction

    def law(self, sensitivity: Sensitivity, *, size: int) -> NoiseLaw:
        if size != 1:
            raise BadInput("Staircase noise answers one number.")
        first = max(1, round(sensitivity.l1 / (1 + math.exp(self.epsilon / 2))))
        return StaircaseLaw(self.epsilon, Fraction(sensitivity.l1), Fraction(first))

    def cost(self) -> Cost:
        return Cost.pure(self.epsilon)


def offer_staircase(
    sensitivity: Sensitivity, size: int, share: Budget, accounting: Accounting
) -> Staircase | None:
    """For single numbers under basic accounting; a number that moves by 1 gets the geometric law anyway."""
    if size != 1 or sensitivity.l1 == 1 or accounting is not Accounting.BASIC:
        return None
    return Staircase(epsilon=share.epsilon)
