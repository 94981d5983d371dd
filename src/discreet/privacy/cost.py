"""What one use of a mechanism costs, in each notion in which that was proved.

A `Cost` holds an (epsilon, delta) and a rho side by side, `None` where no theorem gives
one. An `Accounting` says which of the two is added up; both sums are filters proven for
adaptively chosen mechanisms: basic composition (Rogers, Roth, Ullman, Vadhan 2016,
section 4) and zCDP (Feldman and Zrnic 2021; Whitehouse, Ramdas, Rogers, Wu 2023).
The two are never mixed inside one sum: the better of two filters, chosen after the
fact, is not itself a proven filter.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from typing import assert_never

from discreet.errors import BadBudget
from discreet.privacy.budget import Budget, Notion
from discreet.privacy.conversion import rho_from_budget, rho_from_pure


class Accounting(StrEnum):
    """How the costs inside one charge add up. Thread safe: it never changes."""

    BASIC = "basic"  # epsilons and deltas add
    CONCENTRATED = "concentrated"  # rhos add; an (epsilon, delta) budget is converted once


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """The loss of one mechanism use; `None` where the notion has no bound for it. Thread safe: it never changes."""

    epsilon: Fraction | None
    delta: Fraction = Fraction(0)
    rho: Fraction | None

    @classmethod
    def pure(cls, epsilon: Fraction) -> Cost:
        """epsilon-DP, which is also epsilon^2/2-zCDP (Bun and Steinke 2016, proposition 1.4)."""
        return cls(epsilon=epsilon, rho=rho_from_pure(epsilon))

    @classmethod
    def bounded_range(cls, epsilon: Fraction) -> Cost:
        """The exponential mechanism: epsilon-DP and epsilon^2/8-zCDP (Cesar and Rogers 2021, lemma 3.4)."""
        return cls(epsilon=epsilon, rho=epsilon * epsilon / 8)

    @classmethod
    def concentrated(cls, rho: Fraction) -> Cost:
        """rho-zCDP, with no epsilon of its own."""
        return cls(epsilon=None, rho=rho)

    @classmethod
    def approximate(cls, *, epsilon: Fraction, delta: Fraction) -> Cost:
        """(epsilon, delta)-DP, with no rho."""
        return cls(epsilon=epsilon, delta=delta, rho=None)

    def under(self, accounting: Accounting) -> Budget:
        """This cost as the accounting adds it, or an error that says which mechanism to take instead."""
        match accounting:
            case Accounting.BASIC:
                if self.epsilon is None:
                    raise BadBudget(
                        "Gaussian noise counted in rho cannot be added to epsilons; "
                        "use concentrated accounting, which needs a delta greater than 0."
                    )
                return Budget(epsilon=self.epsilon, delta=self.delta)
            case Accounting.CONCENTRATED:
                if self.rho is None:
                    raise BadBudget(
                        "A mechanism calibrated to one (epsilon, delta) has no rho; use basic accounting."
                    )
                return Budget(rho=self.rho)
        assert_never(accounting)

    def to_dict(self) -> dict[str, str | None]:
        """Exact, for files."""
        return {
            "epsilon": None if self.epsilon is None else str(self.epsilon),
            "delta": str(self.delta),
            "rho": None if self.rho is None else str(self.rho),
        }


def allowance(budget: Budget, accounting: Accounting) -> Budget:
    """How much `accounting` may add up to under `budget`, rounded down."""
    match accounting:
        case Accounting.BASIC:
            if budget.notion is not Notion.EPSILON:
                raise BadBudget("Basic accounting needs a budget in epsilon, not in rho.")
            return budget
        case Accounting.CONCENTRATED:
            if budget.notion is Notion.RHO:
                return Budget(rho=budget.rho)
            if budget.delta == 0:
                raise BadBudget(
                    f"Gaussian noise needs a delta greater than 0, and the budget is {budget}. "
                    "Give a delta such as 1e-9, or use Laplace noise."
                )
            return Budget(rho=rho_from_budget(epsilon=budget.epsilon, delta=budget.delta))
    assert_never(accounting)


def price(budget: Budget, accounting: Accounting, *, notion: Notion) -> Budget:
    """What a charge of `budget` costs a dataset whose cap counts `notion`."""
    if notion is Notion.EPSILON:
        if budget.notion is not Notion.EPSILON:
            raise BadBudget(
                "This dataset's cap counts (epsilon, delta), and the budget is given in rho. "
                "Give it as an epsilon and a delta."
            )
        return budget
    if accounting is Accounting.CONCENTRATED:
        return allowance(budget, accounting)
    if budget.is_pure:
        return Budget(rho=rho_from_pure(budget.epsilon))
    raise BadBudget(
        "This dataset's cap counts rho; a mechanism calibrated to one (epsilon, delta) has none. "
        "Use Gaussian noise under concentrated accounting, or a budget with delta 0."
    )
