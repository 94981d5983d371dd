"""Plain words about a budget, before it is spent.

Nothing here reads a row: the number of people is the rough, public one that the schema
declares, never the true one.
"""

from __future__ import annotations

import math
from fractions import Fraction

from discreet.errors import BadInput
from discreet.privacy.budget import Budget, Notion
from discreet.privacy.conversion import epsilon_from_mu, epsilon_from_rho
from discreet.privacy.exact import Exactable, decimal_text

LARGE_EPSILON = Fraction(5)
LARGE_DELTA = Fraction(1, 10**6)
NEAR_ONE = Fraction(1, 10)  # of the people whose protection a delta may fail
LARGE_CAP, HUGE_CAP = Fraction(10), Fraction(100)
"""Epsilons above which a cap is warned of, and above which the command line asks whether it is meant."""


def cap_warning(cap: Budget) -> str | None:
    """A sentence about a cap that protects little; None where there is nothing to say.

    A rho or a mu is judged by the epsilon that it amounts to at delta 1e-6.
    """
    epsilon = _as_epsilon(cap)
    if epsilon is None or epsilon <= LARGE_CAP:
        return None
    origin = (
        "" if cap.notion is Notion.EPSILON else f", epsilon {decimal_text(epsilon)} at delta 1e-06"
    )
    return (
        f"The cap is {cap}{origin}: above epsilon {LARGE_CAP} a cap gives almost no protection. One person's "
        f"presence may make an output up to {_factor(epsilon)} times as likely."
    )


def is_huge(cap: Budget) -> bool:
    """Whether a cap is so large that it is more likely a slip than a decision."""
    epsilon = _as_epsilon(cap)
    return epsilon is not None and epsilon > HUGE_CAP


def _as_epsilon(cap: Budget) -> Fraction | None:
    if cap.notion is Notion.EPSILON:
        return cap.epsilon
    if not cap.amount:
        return None
    # Beyond this the conversion says nothing more, and takes long.
    least = Budget.from_dict({cap.notion.value: str(min(cap.amount, Fraction(10**6)))})
    return epsilon_at(least, delta=LARGE_DELTA)


def epsilon_at(budget: Budget, *, delta: Exactable) -> Fraction:
    """The epsilon that a budget in rho or in mu amounts to at `delta`, rounded up."""
    if budget.notion is Notion.MU:
        return epsilon_from_mu(budget.mu_squared, delta=delta)
    return epsilon_from_rho(budget.rho, delta=delta)


def guidance(budget: Budget, *, people: int | None) -> list[str]:
    """Warnings about `budget`, most serious first; empty when there is nothing to say."""
    if people is not None and (
        isinstance(people, bool) or not isinstance(people, int) or people < 1
    ):
        raise BadInput(f"people is {people!r}; it must be a whole number of at least 1, or None.")
    if budget.notion is Notion.EPSILON:
        return [*_about_delta(budget.delta, people), *_about_epsilon(budget.epsilon, "")]
    return [*_about_delta(budget.delta, people), *_about_its_epsilon(budget, people)]


def _about_epsilon(epsilon: Fraction, origin: str) -> list[str]:
    if epsilon <= LARGE_EPSILON:
        return []
    return [
        f"{origin or 'epsilon is '}{decimal_text(epsilon)}, above {LARGE_EPSILON}: one person's presence may "
        f"make an output up to {_factor(epsilon)} times as likely, so an attacker can learn much "
        "about a single person. Prefer an epsilon of 1 or less; 5 is a usual upper limit."
    ]


def _factor(epsilon: Fraction) -> str:
    # e^700 is the last power that a float holds.
    return (
        f"{math.exp(epsilon):,.0f}" if epsilon < 20 else f"10^{float(epsilon) / math.log(10):.0f}"
    )


def _about_delta(delta: Fraction, people: int | None) -> list[str]:
    if people is not None and delta * people >= 1:
        return [
            f"delta is {float(delta):.3g}, and about 1 in {people:,} people is {1 / people:.3g}: a mechanism "
            "with such a delta may publish somebody's row outright. Use a delta far below "
            f"1/{people:,}."
        ]
    if people is not None and delta * people > NEAR_ONE:
        return [
            f"delta is {float(delta):.3g}, not far below 1 in {people:,} people: with up to "
            f"{float(100 * delta * people):.0f}% probability somebody's protection may fail. Use a delta of "
            f"{float(NEAR_ONE / people):.1g} or less."
        ]
    if delta > LARGE_DELTA:
        return [
            f"delta is {float(delta):.3g}, above 1e-06: with up to this probability the promise "
            "of epsilon does not hold. Use 1e-06 or less."
        ]
    return []


def _about_its_epsilon(budget: Budget, people: int | None) -> list[str]:
    """Warnings about a budget in rho or mu, judged by the epsilon that it amounts to."""
    if budget.amount == 0:
        return []
    delta = LARGE_DELTA if people is None else min(LARGE_DELTA, Fraction(1, 10 * people))
    origin = (
        f"{budget.notion.words} {budget.shown()} amounts, at delta {float(delta):.3g}, to epsilon "
    )
    return _about_epsilon(epsilon_at(budget, delta=delta), origin)
