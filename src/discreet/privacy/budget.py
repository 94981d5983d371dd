"""`Budget`: a privacy loss in exact rationals, in one of three notions.

(epsilon, delta), where losses add (basic composition); (rho, delta), that is
delta-approximate rho-zCDP, where they add too (Bun and Steinke 2016); and mu, that is
Gaussian differential privacy, where the squares of mu add (Dong, Roth, Su 2022; Smith and
Thakurta 2022 for adaptively chosen losses). All three sums are valid when the queries are
chosen adaptively, which is what lets a ledger enforce a cap by addition. The notions never
mix by accident: adding them is an error, and converting one into another is a named
function in `conversion`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction

from discreet.errors import BadBudget
from discreet.privacy.exact import Exactable, decimal_text, exact


class Notion(StrEnum):
    """Which quantity a dataset's cap counts. Thread safe: it never changes."""

    EPSILON = "epsilon"  # (epsilon, delta), basic composition
    RHO = "rho"  # (rho, delta), zCDP composition
    MU = "mu_squared"  # mu^2 of Gaussian differential privacy, which is what adds

    @property
    def words(self) -> str:
        """The name of the number that a person gives: epsilon, rho or mu."""
        return "mu" if self is Notion.MU else self.value


@dataclass(frozen=True, slots=True, init=False)
class Budget:
    """A privacy loss, exact: `Budget(epsilon=1)`, `Budget(epsilon="1/2", delta=1e-9)`, `Budget(rho=0.1)`, `Budget(mu=0.2)`.

    Positive and finite; only `Budget.nothing` and subtraction make a zero.

    Thread safe: it never changes.
    """

    notion: Notion
    amount: Fraction
    """epsilon, rho or the square of mu, as the notion says: what is added up."""
    delta: Fraction

    def __init__(
        self,
        *,
        epsilon: Exactable | None = None,
        delta: Exactable = 0,
        rho: Exactable | None = None,
        mu: Exactable | None = None,
    ) -> None:
        given = {Notion.EPSILON: epsilon, Notion.RHO: rho, Notion.MU: mu}
        named = [(notion, number) for notion, number in given.items() if number is not None]
        if len(named) != 1:
            raise BadBudget("A budget has either epsilon, rho or mu: give exactly one of them.")
        ((notion, number),) = named
        value = exact(number, name=notion.words)
        if value <= 0:
            raise BadBudget(f"{notion.words} is {decimal_text(value)}; it must be greater than 0.")
        slack = exact(delta, name="delta")
        if not 0 <= slack < 1:
            raise BadBudget(f"delta is {decimal_text(slack)}; it must be at least 0 and below 1.")
        if notion is Notion.MU and slack:
            raise BadBudget(
                "A budget in mu has no delta. Leave out delta: mu implies one for every epsilon."
            )
        self._set(notion, value * value if notion is Notion.MU else value, slack)

    def _set(self, notion: Notion, amount: Fraction, delta: Fraction) -> None:
        object.__setattr__(self, "notion", notion)
        object.__setattr__(self, "amount", amount)
        object.__setattr__(self, "delta", delta)

    @classmethod
    def _raw(cls, notion: Notion, amount: Fraction, delta: Fraction) -> Budget:
        budget = object.__new__(cls)
        budget._set(notion, amount, delta)
        return budget

    @classmethod
    def of_mu_squared(cls, amount: Fraction) -> Budget:
        """A loss in mu, given by its square, which may have no rational root."""
        if amount <= 0:
            raise BadBudget(f"mu squared is {decimal_text(amount)}; it must be greater than 0.")
        return cls._raw(Notion.MU, amount, Fraction(0))

    @classmethod
    def nothing(cls, notion: Notion) -> Budget:
        """No loss at all: where a sum starts."""
        return cls._raw(notion, Fraction(0), Fraction(0))

    @property
    def epsilon(self) -> Fraction:
        """The epsilon of an (epsilon, delta) budget; an error for one in rho."""
        if self.notion is not Notion.EPSILON:
            raise BadBudget(
                f"This budget counts {self.notion.words}; convert it to read an epsilon."
            )
        return self.amount

    @property
    def rho(self) -> Fraction:
        """The rho of a (rho, delta) budget, or the one that a mu implies; an error for one in epsilon.

        Theorem: mu-GDP is no easier to tell apart than N(0, 1) and N(mu, 1), whose Renyi divergences
        are those of mu^2/2-zCDP (Dong, Roth, Su 2022, corollary B.6).
        """
        if self.notion is Notion.EPSILON:
            raise BadBudget("This budget counts epsilon; convert it to read a rho.")
        return self.amount if self.notion is Notion.RHO else self.amount / 2

    @property
    def mu_squared(self) -> Fraction:
        """The square of mu, of a budget in mu; an error for any other."""
        if self.notion is not Notion.MU:
            raise BadBudget(f"This budget counts {self.notion.words}; it has no mu.")
        return self.amount

    @property
    def is_pure(self) -> bool:
        """Whether it is an epsilon without a delta."""
        return self.notion is Notion.EPSILON and self.delta == 0

    def _same_notion(self, other: Budget) -> None:
        if self.notion is not other.notion:
            raise BadBudget(
                f"A loss in {other.notion.words} cannot be combined with one in {self.notion.words}; "
                "a dataset keeps one notion."
            )

    def __add__(self, other: Budget) -> Budget:
        """Composition, also of adaptively chosen mechanisms (Dwork and Roth 2014, thm 3.16; Bun and Steinke 2016, lemma 2.3; Smith and Thakurta 2022)."""
        self._same_notion(other)
        return self._raw(self.notion, self.amount + other.amount, self.delta + other.delta)

    def minus(self, other: Budget) -> Budget:
        """What is left after `other`. An overdraft is an error, never a negative number."""
        if not self.covers(other):
            raise BadBudget(f"{other} is more than {self}.")
        return self._raw(self.notion, self.amount - other.amount, self.delta - other.delta)

    def times(self, factor: Fraction | int) -> Budget:
        """`factor` times this loss (of mu squared, for a budget in mu)."""
        share = Fraction(factor)
        if share < 0:
            raise BadBudget("A budget cannot be multiplied by a negative number.")
        return self._raw(self.notion, self.amount * share, self.delta * share)

    def covers(self, cost: Budget) -> bool:
        """Whether `cost` fits into this budget. This is only a partial order, so it is not written `<=`."""
        self._same_notion(cost)
        return cost.amount <= self.amount and cost.delta <= self.delta

    def to_dict(self) -> dict[str, str]:
        """Exact, for files: numbers as `numerator/denominator`."""
        return {self.notion.value: str(self.amount), "delta": str(self.delta)}

    @classmethod
    def from_dict(cls, data: dict[str, str]) -> Budget:
        """The inverse of `to_dict`; a zero is allowed here, for sums that start from nothing."""
        for notion in Notion:
            if notion.value in data:
                try:
                    amount, delta = Fraction(data[notion.value]), Fraction(data.get("delta", "0"))
                except (ValueError, ZeroDivisionError, TypeError):
                    break
                if amount < 0 or delta < 0:
                    break
                return cls._raw(notion, amount, delta)
        raise BadBudget("A stored budget is not readable.")

    def shown(self, digits: int = 12) -> str:
        """The epsilon, rho or mu as a text; a mu that is not a decimal is rounded."""
        number = self.number
        if number is None:
            return f"~{decimal_text(Fraction(f'{math.sqrt(self.amount):.6g}'), digits=digits)}"
        return decimal_text(number, digits=digits)

    @property
    def number(self) -> Fraction | None:
        """The epsilon, rho or mu, as it is given; None for a mu that is not rational."""
        if self.notion is not Notion.MU:
            return self.amount
        top, bottom = (math.isqrt(number) for number in self.amount.as_integer_ratio())
        root = Fraction(top, bottom)
        return root if root * root == self.amount else None

    def __str__(self) -> str:
        text = f"{self.notion.words} {self.shown()}"
        return text if self.delta == 0 else f"{text}, delta {float(self.delta):.3g}"
