"""`Loss`: a budget as the events spell it, with sums fast enough to redo at every opening.

`Budget` says the same with `Fraction`s, at several times the cost; opening a ledger adds up
every charge ever made, and must not take longer than people wait.
"""

from __future__ import annotations

from functools import lru_cache
from math import gcd
from typing import NamedTuple

from discreet.privacy.budget import Budget

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
