"""`Budget`: a privacy loss in exact rationals, in one of two notions.

(epsilon, delta), where losses add (basic composition), and (rho, delta), that is
delta-approximate rho-zCDP, where they add too (Bun and Steinke 2016). Both sums are
valid when the queries are chosen adaptively, which is what lets a ledger enforce a
cap by addition. The two notions never mix by accident: adding them is an error, and
converting one into the other is a named function in `conversion`.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction

from discreet.errors import BadBudget
from discreet.privacy.exact import Exactable, decimal_text, exact


class Notion(StrEnum):
    """Which quantity a dataset's cap counts. Thread safe: it never changes."""

    EPSILON = "epsilon"  # (epsilon, delta), basic composition
    RHO = "rho"  # (rho, delta), zCDP composition


@dataclass(frozen=True, slots=True, init=False)
class Budget:
    """A privacy loss, exact: `Budget(epsilon=1)`, `Budget(epsilon="1/2", delta=1e-9)`, `Budget(rho=0.1)`.

    Positive and finite; only `Budget.nothing` and subtraction make a zero.

    Thread safe: it never changes.
    """

    notion: Notion
    amount: Fraction
    """epsilon or rho, as the notion says."""
    delta: Fraction

    def __init__(
        self,
        *,
        epsilon: Exactable | None = None,
        delta: Exactable = 0,
        rho: Exactable | None = None,
    ) -> None:
        if (epsilon is None) == (rho is None):
            raise BadBudget("A budget has either epsilon or rho: give exactly one of them.")
        notion = Notion.EPSILON if rho is None else Notion.RHO
        value = exact(epsilon if rho is None else rho, name=notion.value)  # type: ignore[arg-type]
        if value <= 0:
            raise BadBudget(f"{notion.value} is {decimal_text(value)}; it must be greater than 0.")
        slack = exact(delta, name="delta")
        if not 0 <= slack < 1:
            raise BadBudget(f"delta is {decimal_text(slack)}; it must be at least 0 and below 1.")
        self._set(notion, value, slack)

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
    def nothing(cls, notion: Notion) -> Budget:
        """No loss at all: where a sum starts."""
        return cls._raw(notion, Fraction(0), Fraction(0))

    @property
    def epsilon(self) -> Fraction:
        """The epsilon of an (epsilon, delta) budget; an error for one in rho."""
        if self.notion is not Notion.EPSILON:
            raise BadBudget("This budget counts rho; convert it to read an epsilon.")
        return self.amount

    @property
    def rho(self) -> Fraction:
        """The rho of a (rho, delta) budget; an error for one in epsilon."""
        if self.notion is not Notion.RHO:
            raise BadBudget("This budget counts epsilon; convert it to read a rho.")
        return self.amount

    @property
    def is_pure(self) -> bool:
        """Whether it is an epsilon without a delta."""
        return self.notion is Notion.EPSILON and self.delta == 0

    def _same_notion(self, other: Budget) -> None:
        if self.notion is not other.notion:
            raise BadBudget(
                f"A loss in {other.notion} cannot be combined with one in {self.notion}; "
                "a dataset keeps one notion."
            )

    def __add__(self, other: Budget) -> Budget:
        """Composition, also of adaptively chosen mechanisms (Dwork and Roth 2014, thm 3.16; Bun and Steinke 2016, lemma 2.3)."""
        self._same_notion(other)
        return self._raw(self.notion, self.amount + other.amount, self.delta + other.delta)

    def minus(self, other: Budget) -> Budget:
        """What is left after `other`. An overdraft is an error, never a negative number."""
        if not self.covers(other):
            raise BadBudget(f"{other} is more than {self}.")
        return self._raw(self.notion, self.amount - other.amount, self.delta - other.delta)

    def times(self, factor: Fraction | int) -> Budget:
        """This loss `factor` times over, or a fraction of it."""
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

    def __str__(self) -> str:
        text = f"{self.notion.value} {decimal_text(self.amount)}"
        return text if self.delta == 0 else f"{text}, delta {float(self.delta):.3g}"
