"""What one use of a mechanism costs, in each notion in which that was proved.

A `Cost` holds an (epsilon, delta), a rho and a mu side by side, `None` where no theorem gives
one. An `Accounting` says which of them is added up; all sums are filters proven for
adaptively chosen mechanisms: basic composition (Rogers, Roth, Ullman, Vadhan 2016,
section 4), zCDP (Feldman and Zrnic 2021; Whitehouse, Ramdas, Rogers, Wu 2023) and Gaussian
differential privacy (Smith and Thakurta 2022; Koskela, Tobaben, Honkela 2023).
They are never mixed inside one sum: the better of two filters, chosen after the
fact, is not itself a proven filter.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from fractions import Fraction
from typing import assert_never

from discreet.errors import BadBudget
from discreet.privacy.budget import Budget, Notion
from discreet.privacy.conversion import (
    mu_squared_from_budget,
    mu_squared_from_range,
    rho_from_budget,
    rho_from_pure,
)


class Accounting(StrEnum):
    """How the costs inside one charge add up. Thread safe: it never changes."""

    BASIC = "basic"  # epsilons and deltas add
    CONCENTRATED = "concentrated"  # rhos add; an (epsilon, delta) budget is converted once
    GAUSSIAN = "gaussian"  # squares of mu add; an (epsilon, delta) budget is converted once


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """The loss of one mechanism use; `None` where the notion has no bound for it. Thread safe: it never changes."""

    epsilon: Fraction | None
    delta: Fraction = Fraction(0)
    rho: Fraction | None
    half_range: Fraction | None = field(default=None, compare=False)
    """Half the length of an interval that holds every privacy loss; from it follows a mu."""
    gaussian: Fraction | None = field(default=None, compare=False)
    """The square of mu, of Gaussian noise. Neither is in a file: whoever reads one recomputes its costs."""

    @classmethod
    def pure(cls, epsilon: Fraction) -> Cost:
        """epsilon-DP, which is also epsilon^2/2-zCDP (Bun and Steinke 2016, proposition 1.4)."""
        return cls(epsilon=epsilon, rho=rho_from_pure(epsilon), half_range=epsilon)

    @classmethod
    def bounded_range(cls, epsilon: Fraction) -> Cost:
        """The exponential mechanism: epsilon-DP and epsilon^2/8-zCDP (Cesar and Rogers 2021, lemma 3.4)."""
        return cls(epsilon=epsilon, rho=epsilon * epsilon / 8, half_range=epsilon / 2)

    @classmethod
    def of_mu(cls, mu_squared: Fraction) -> Cost:
        """mu-GDP, which is also mu^2/2-zCDP (Dong, Roth, Su 2022)."""
        return cls(epsilon=None, rho=mu_squared / 2, gaussian=mu_squared)

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
            case Accounting.GAUSSIAN:
                if self.gaussian is not None:
                    return Budget.of_mu_squared(self.gaussian)
                if self.half_range is None:
                    raise BadBudget(
                        "This noise has no mu; use rounded Gaussian noise, Laplace noise or a selection."
                    )
                return Budget.of_mu_squared(mu_squared_from_range(self.half_range))
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
                raise BadBudget(
                    f"Basic accounting needs a budget in epsilon, not in {budget.notion.words}."
                )
            return budget
        case Accounting.CONCENTRATED:
            if budget.notion is not Notion.EPSILON:
                return Budget(rho=budget.rho)
            _check_delta(budget)
            return Budget(rho=rho_from_budget(epsilon=budget.epsilon, delta=budget.delta))
        case Accounting.GAUSSIAN:
            if budget.notion is Notion.EPSILON:
                _check_delta(budget)
                found = mu_squared_from_budget(epsilon=budget.epsilon, delta=budget.delta)
                return Budget.of_mu_squared(found)
            return Budget.of_mu_squared(budget.mu_squared)
    assert_never(accounting)


def _check_delta(budget: Budget) -> None:
    if budget.delta == 0:
        raise BadBudget(
            f"Gaussian noise needs a delta greater than 0, and the budget is {budget}. "
            "Give a delta such as 1e-9, or use Laplace noise."
        )


def other_notion(budget: Budget, notion: Notion | None) -> BadBudget:
    assert notion is not None
    wanted = "an epsilon and a delta" if notion is Notion.EPSILON else f"a {notion.words}"
    return BadBudget(
        f"This dataset's cap counts {notion.words}, and the budget is given in {budget.notion.words}. "
        f"Nothing was read or charged. Give it as {wanted}."
    )


def price(budget: Budget, accounting: Accounting, *, notion: Notion) -> Budget:
    """What a charge of `budget` costs a dataset whose cap counts `notion`."""
    if notion is Notion.EPSILON:
        if budget.notion is not Notion.EPSILON:
            raise other_notion(budget, notion)
        return budget
    if accounting is not Accounting.BASIC:
        allowed = allowance(budget, accounting)
        if notion is Notion.RHO:
            return Budget(rho=allowed.rho)
        if allowed.notion is Notion.MU:
            return allowed
        raise other_notion(allowed, notion)  # a rho says nothing of mu
    if budget.is_pure:
        return Cost.pure(budget.epsilon).under(
            Accounting.CONCENTRATED if notion is Notion.RHO else Accounting.GAUSSIAN
        )
    raise BadBudget(
        f"This dataset's cap counts {notion.words}; a mechanism calibrated to one (epsilon, delta) has none. "
        "Use Gaussian noise whose loss is counted as the cap's is, or a budget with delta 0."
    )
