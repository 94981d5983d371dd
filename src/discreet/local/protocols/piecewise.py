"""A bounded mechanism for numbers: the report is likely near the value, and possible everywhere.

The number is put on a grid of `cells` + 1 points, 0..cells. A report is one of `cells + width` integers. Those of a
window of `width` integers that begins at the number's point have weight `likely` each, the others weight `unlikely`.
Both are integers and likely / unlikely <= e^epsilon, so the law is exact. The window slides by one with the
number, so the mean of a report is linear in it: the estimate is unbiased.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from discreet.errors import BadBudget, BadInput
from discreet.local.protocols.protocol import lower_exp, upper_log
from discreet.privacy.cost import Cost

GRAIN = 1 << 20
CELLS = 1 << 10
LARGEST_EPSILON = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Piecewise:
    """A report of a number between two public bounds.

    Guarantee:   epsilon-DP for each person, epsilon = ln(likely / unlikely).
    Adjacency:   one person's number changes.
    Sensitivity: none is needed: the number is clamped to public bounds.
    Theorem:     Wang et al. 2019 (piecewise mechanism), here on a grid with exact integer weights.
    """

    cells: int
    width: int
    likely: int
    unlikely: int = GRAIN

    kind = "piecewise"

    def __post_init__(self) -> None:
        if self.cells < 1 or self.width < 1:
            raise BadInput("A grid needs at least 1 cell, and a window at least 1 report.")
        if not self.likely > self.unlikely >= 1:
            raise BadBudget("A report near the number must be likelier than one elsewhere.")

    @classmethod
    def for_epsilon(cls, epsilon: Fraction, *, cells: int = CELLS) -> Piecewise:
        """The window of least worst-case variance is about cells e^(-epsilon/2) wide."""
        if epsilon > LARGEST_EPSILON:
            raise BadBudget(f"epsilon must be at most {LARGEST_EPSILON} for numbers.")
        likely = math.floor(lower_exp(epsilon) * GRAIN)
        width = max(1, math.isqrt(cells * cells * GRAIN // likely))
        return cls(cells=cells, width=width, likely=likely)

    @property
    def epsilon(self) -> Fraction:
        """What a report costs, rounded up."""
        return upper_log(Fraction(self.likely, self.unlikely))

    def cost(self) -> Cost:
        return Cost.pure(self.epsilon)

    @property
    def reports(self) -> int:
        """How many different reports there are."""
        return self.cells + self.width

    @property
    def total(self) -> int:
        """The sum of all weights."""
        return self.likely * self.width + self.unlikely * self.cells

    @property
    def slope(self) -> Fraction:
        """How far the mean report moves with the number's point."""
        return Fraction((self.likely - self.unlikely) * self.width, self.total)

    @property
    def middle(self) -> Fraction:
        """The mean report at point 0."""
        everywhere = self.unlikely * (self.reports * (self.reports - 1) // 2)
        window = (self.likely - self.unlikely) * (self.width * (self.width - 1) // 2)
        return Fraction(everywhere + window, self.total)

    def second_moment(self) -> tuple[Fraction, Fraction, Fraction]:
        """E[report^2] at point t as c0 + c1 t + c2 t^2."""

        def squares(count: int) -> int:
            return (count - 1) * count * (2 * count - 1) // 6

        extra = self.likely - self.unlikely
        constant = self.unlikely * squares(self.reports) + extra * squares(self.width)
        return (
            Fraction(constant, self.total),
            Fraction(extra * self.width * (self.width - 1), self.total),
            Fraction(extra * self.width, self.total),
        )
