"""One dataset's account: a cap, what is spent, and the rule that keeps one below the other.

The rule is a privacy filter: it looks at the losses so far and stops before their sum
would pass the cap. It is proven for queries chosen adaptively, losses included:

- (epsilon, delta): the sums of epsilon and of delta, each within its cap (Rogers, Roth,
  Ullman, Vadhan 2016, the basic composition filter).
- (rho, delta): the sum of rho, and that of delta, each within its cap (Feldman and Zrnic
  2021, the Renyi filter, for every order at once; Whitehouse, Ramdas, Rogers, Wu 2023 for
  approximate zCDP).
- mu: the sum of its squares within the cap's square (Smith and Thakurta 2022, the filter of Gaussian
  differential privacy; Koskela, Tobaben, Honkela 2023).

Advanced composition is not used: its usual form assumes losses fixed in advance.

Losses add only if they are about the same neighbouring tables. So a cap says whom it protects, and a
charge that protects others is refused, or counts for as many steps as are proved (`privacy.protection`).

`Loss` is a budget as the events spell it. `Budget` says the same with `Fraction`s, at several times the cost; opening a ledger adds up
every charge ever made, and must not take longer than people wait.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from math import gcd
from typing import NamedTuple

from discreet.errors import BadBudget, BudgetExceeded, WrongUnit
from discreet.privacy.budget import Budget, Notion
from discreet.privacy.protection import Protected, for_a_group, steps, why_not

Ratio = tuple[int, int]
"""Numerator and denominator, in lowest terms."""

WIDEST_TOTAL = 10**300
"""A total whose denominator passes this is rounded up, to a multiple of 1/GRAINS."""
GRAINS = 10**100


def _plus(one: Ratio, other: Ratio) -> Ratio:
    if not other[0]:
        return one
    top, bottom = one[0] * other[1] + other[0] * one[1], one[1] * other[1]
    shared = gcd(top, bottom)
    top, bottom = top // shared, bottom // shared
    if bottom > WIDEST_TOTAL:
        # Coprime denominators would make exact sums grow without end. Rounding up charges more.
        top, bottom = -(-top * GRAINS // bottom), GRAINS
        shared = gcd(top, bottom)
        top, bottom = top // shared, bottom // shared
    return top, bottom


def _text(ratio: Ratio) -> str:
    return str(ratio[0]) if ratio[1] == 1 else f"{ratio[0]}/{ratio[1]}"


class Loss(NamedTuple):
    """An exact loss in one notion."""

    notion: str
    amount: Ratio
    delta: Ratio

    @classmethod
    def of(cls, budget: Budget) -> Loss:
        return cls(
            budget.notion.value, budget.amount.as_integer_ratio(), budget.delta.as_integer_ratio()
        )

    def budget(self) -> Budget:
        return Budget.from_dict({self.notion: _text(self.amount), "delta": _text(self.delta)})

    @property
    def text(self) -> str:
        """Canonical: equal losses, and only they, have equal texts."""
        return f"{self.notion} {_text(self.amount)} delta {_text(self.delta)}"

    def plus(self, cost: Loss) -> Loss:
        """The loss of both together; exact, or above by less than 10^-100."""
        return Loss(self.notion, _plus(self.amount, cost.amount), _plus(self.delta, cost.delta))

    def covers(self, cost: Loss) -> bool:
        """Whether `cost` fits, in both numbers."""
        return (
            cost.amount[0] * self.amount[1] <= self.amount[0] * cost.amount[1]
            and cost.delta[0] * self.delta[1] <= self.delta[0] * cost.delta[1]
        )


@lru_cache(maxsize=4096)
def loss_in(text: str) -> Loss:
    """The loss that an event spells. Most events repeat a few, hence the cache."""
    notion, amount, word, delta = text.split(" ")
    loss = Loss.of(Budget.from_dict({notion: amount, "delta": delta}))
    if word != "delta" or loss.text != text:
        raise ValueError("a loss is not spelt canonically")
    return loss


WIDEST_COST = 10**100
"""A cost's numerator and denominator stay below this."""


def checked(budget: Budget, *, what: str) -> Loss:
    """`budget`, if it is a loss that can be written down."""
    if not isinstance(budget, Budget):
        raise BadBudget(
            f"{what} must be a Budget, not {type(budget).__name__}. Nothing was charged."
        )
    if min(budget.amount, budget.delta) < 0 or budget.amount + budget.delta == 0:
        raise BadBudget(f"{what} is {budget}; it must be greater than 0. Nothing was charged.")
    for number in (budget.amount, budget.delta):
        if max(number.numerator, number.denominator) >= WIDEST_COST:
            raise BadBudget(
                f"{what} is written with more than 100 digits. Nothing was charged. "
                "Round it up to a shorter number."
            )
    return Loss.of(budget)


@dataclass(slots=True)
class Account:
    """What a dataset may lose and has lost; and, of that, each analyst's share."""

    dataset: str
    cap: Loss
    spent: Loss
    protects: Protected | None = None
    """None before the first charge, and where charges were made before ledgers recorded it."""
    analyst_caps: dict[str, Loss] = field(default_factory=dict)
    analyst_spent: dict[str, Loss] = field(default_factory=dict)

    def nothing(self) -> Loss:
        return Loss(self.cap.notion, (0, 1), (0, 1))

    def same_notion(self, loss: Loss) -> None:
        if loss.notion != self.cap.notion:
            raise BadBudget(
                f"Dataset '{self.dataset}' counts {Notion(self.cap.notion).words}, and this is a budget in "
                f"{Notion(loss.notion).words}: a dataset keeps one notion. Nothing was charged. "
                f"Give the budget in {Notion(self.cap.notion).words}."
            )

    @property
    def unit_is_lost(self) -> bool:
        """Whether something was charged without a record of whom it protects."""
        return self.protects is None and self.spent != self.nothing()

    def counted(self, cost: Loss, protects: Protected) -> Loss:
        """`cost`, which bounds what `protects` lose, as this cap counts it; `WrongUnit` if it cannot."""
        size = self.steps_of(protects)
        return cost if size == 1 else Loss.of(for_a_group(cost.budget(), size))

    def steps_of(self, protects: Protected) -> int:
        """How many steps of a charge one step of this cap takes at most; `WrongUnit` if no number is enough."""
        if self.protects is None:
            if self.unit_is_lost:
                raise WrongUnit(
                    f"Refused: dataset '{self.dataset}' was charged before ledgers recorded whom a charge "
                    "protects, so nothing can be added to it. Nothing was charged. Check its schema or its releases, and declare it once with `discreet ledger declare-unit` (declare_unit in Python)."
                )
            return 1
        size = steps(charge=protects, cap=self.protects)
        if size is None:
            reason = why_not(charge=protects, cap=self.protects)
            raise WrongUnit(
                f"Refused: the cap of dataset '{self.dataset}' protects {self.protects}, and this charge "
                f"protects {protects}: {reason}. Nothing was charged and no row was read. Use a schema with "
                "the cap's adjacency, unit and options, or give the dataset another name and a cap of its "
                "own. Then no cap bounds what the same people lose under both names."
            )
        return size

    def cap_of(self, analyst: str | None) -> Loss | None:
        return self.cap if analyst is None else self.analyst_caps.get(analyst)

    def spent_by(self, analyst: str | None) -> Loss:
        if analyst is None:
            return self.spent
        return self.analyst_spent.get(analyst) or self.nothing()

    def after(self, cost: Loss, analyst: str | None) -> tuple[Loss, Loss | None]:
        """The dataset's and the analyst's totals once `cost` is paid; `BudgetExceeded` if a cap forbids it."""
        self.same_notion(cost)
        total = self.spent.plus(cost)
        if not self.cap.covers(total):
            raise _exceeded(cost, self.spent, self.cap, f"dataset '{self.dataset}'")
        if analyst is None:
            return total, None
        mine = self.spent_by(analyst).plus(cost)
        cap = self.analyst_caps.get(analyst)
        if cap is not None and not cap.covers(mine):
            whose = f"analyst '{analyst}' on dataset '{self.dataset}'"
            raise _exceeded(cost, self.spent_by(analyst), cap, whose)
        return total, mine


def _exceeded(asked: Loss, spent: Loss, cap: Loss, whose: str) -> BudgetExceeded:
    return BudgetExceeded(
        asked=asked.budget(), spent=spent.budget(), total=cap.budget(), of=f"the cap of {whose}"
    )
