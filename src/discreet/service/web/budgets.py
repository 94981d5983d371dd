"""What is left of a budget, as a picture and in words."""

from __future__ import annotations

from dataclasses import dataclass

from markupsafe import Markup

from discreet.privacy.budget import Budget
from discreet.service.accounts import Person, Role
from discreet.service.datasets import LiveDataset
from discreet.service.web.drawings import gauge


@dataclass(frozen=True, slots=True)
class BudgetCard:
    """A budget for a page."""

    picture: Markup
    words: list[str]
    left: Budget
    cap: Budget
    spent: Budget
    mine: Budget | None
    """What the analyst has spent."""
    allowance: Budget | None


def budget_card(dataset: LiveDataset, person: Person | None, name: str = "gauge") -> BudgetCard:
    """The budget of a dataset, as a person may see it."""
    own = person.name if person is not None and person.role is Role.ANALYST else None
    cap, spent = dataset.cap, dataset.spent
    allowance = None if own is None else dataset.allowance(own)
    mine = None if own is None else dataset.spent_by(own)
    words = dataset.left_words(own)
    return BudgetCard(
        gauge(
            name,
            cap=cap.amount,
            mine=mine.amount if mine is not None else spent.amount,
            spent=spent.amount,
            words=" ".join(words),
        ),
        words,
        dataset.left(own),
        cap,
        spent,
        mine,
        allowance,
    )
