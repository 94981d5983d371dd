"""How a budget may be added up, and what a share of it buys. No promise rests on it: the core prices a charge and its uses itself."""

from __future__ import annotations

from fractions import Fraction

from discreet.privacy.budget import Budget, Notion
from discreet.privacy.conversion import half_range_from_mu, half_range_from_rho
from discreet.privacy.cost import Accounting, other_notion


def accountings(budget: Budget, *, notion: Notion | None) -> list[Accounting]:
    """How a charge of `budget` may be added up, under a cap that counts `notion` (None: none is declared)."""
    if budget.notion is not Notion.EPSILON:
        if notion not in (None, budget.notion) and (budget.notion, notion) != (
            Notion.MU,
            Notion.RHO,
        ):
            raise other_notion(budget, notion)
        return [Accounting.CONCENTRATED if budget.notion is Notion.RHO else Accounting.GAUSSIAN]
    if budget.is_pure:
        return [Accounting.BASIC]
    if notion is Notion.RHO:
        return [Accounting.CONCENTRATED]
    if notion is Notion.MU:
        return [Accounting.GAUSSIAN]
    return [Accounting.BASIC, Accounting.CONCENTRATED, Accounting.GAUSSIAN]


def pure_epsilon(share: Budget) -> Fraction:
    """The epsilon of the pure mechanism that a share buys, rounded down."""
    return share.epsilon if share.notion is Notion.EPSILON else _half_range(share)


def selection_epsilon(share: Budget) -> Fraction:
    """The epsilon of the exponential mechanism that a share buys, rounded down."""
    return share.epsilon if share.notion is Notion.EPSILON else 2 * _half_range(share)


def _half_range(share: Budget) -> Fraction:
    if share.notion is Notion.RHO:
        return half_range_from_rho(share.rho)
    return half_range_from_mu(share.mu_squared)
