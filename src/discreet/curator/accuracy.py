"""The cost of an accuracy: the least budget at which every interval is as narrow as asked.

Only for counts, sums and histograms, whose noise does not depend on the data. A mean's interval
depends on how many rows there are, which is a secret, so its cost cannot be told beforehand.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from discreet.curator.answers.answer_columns import noise_of_total
from discreet.curator.needed import Needed
from discreet.curator.planning import Planned, plan_question
from discreet.errors import BadInput, BadQuestion
from discreet.families.shared.estimate.combination import half_width
from discreet.privacy.budget import Budget, Notion
from discreet.queries.tallies import Total
from discreet.questions.dialects.aggregates import AGGREGATES
from discreet.questions.dialects.curator_sql import CuratorQuestion
from discreet.schema import Schema

_PATTERN = re.compile(
    r"\s*(?:±|\+/-|\+-)?\s*([0-9]+(?:\.[0-9]+)?)\s*(?:at\s*([0-9]+(?:\.[0-9]+)?)\s*%)?\s*"
)
DIGITS = 3
"""Significant digits of a cost."""


@dataclass(frozen=True, slots=True)
class Accuracy:
    """No interval wider than `margin` on either side."""

    margin: Fraction
    confidence: Fraction

    @classmethod
    def read(cls, text: object, *, confidence: float) -> Accuracy:
        """`±50 at 95%`, `±50`, or 50; without a percentage, at `confidence`."""
        if isinstance(text, (int, float)) and not isinstance(text, bool):
            text = repr(text)
        found = _PATTERN.fullmatch(text) if isinstance(text, str) and len(text) < 100 else None
        if found is None or Fraction(found[1]) == 0:
            raise BadInput(
                "An accuracy is written as '±50 at 95%', with a margin above 0. Nothing was read or charged."
            )
        level = Fraction(found[2]) / 100 if found[2] else Fraction(str(confidence))
        if not 0 < level < 1:
            raise BadInput("A confidence lies between 0% and 100%. Nothing was read or charged.")
        return cls(Fraction(found[1]), level)


def budget_for(
    question: CuratorQuestion, schema: Schema, accuracy: Accuracy, *, notion: Notion
) -> Budget:
    """The least budget, to three digits, rounded up, that gives every answer the accuracy."""
    for one in question.aggregates:
        if not AGGREGATES[one.kind].costs_are_known:
            raise BadQuestion(
                f"The cost of {one.name} at a given accuracy depends on the data (how many rows there are), "
                "so it is not known beforehand. Nothing was read or charged. Give a budget instead."
            )

    def suffices(amount: Fraction) -> bool:
        try:
            planned = plan_question(question, schema, budget=_budget(amount, notion), notion=notion)
        except BadInput:  # noise beyond what can be drawn
            return False
        return margin_of(planned, accuracy.confidence) <= accuracy.margin

    # Decades first, then digits: the least multiple of the last digit that suffices.
    exponent = -12
    while exponent < 9 and not suffices(Fraction(10) ** (exponent + 1)):
        exponent += 1
    if exponent == 9:
        raise BadInput(
            "No budget gives this accuracy: the margin is finer than one step of the sum. "
            "Nothing was read or charged. Ask for a wider one."
        )
    step = Fraction(10) ** (exponent + 1 - DIGITS)
    low, high = 0, 10**DIGITS
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if suffices(middle * step) else (middle, high)
    return _budget(high * step, notion)


def margin_of(planned: Planned, confidence: Fraction) -> Fraction:
    """Half the widest interval of the answer."""
    return max((_margin(planned, each, confidence) for each in planned.needed), default=Fraction(0))


def _margin(planned: Planned, each: Needed, confidence: Fraction) -> Fraction:
    term = each.terms[0]
    if isinstance(term, Total):
        noise = noise_of_total(each, planned.law_of)
        return Fraction(half_width(noise, confidence)) + term.rounding
    return Fraction(planned.law_of(term).half_width(confidence))


@dataclass(frozen=True, slots=True, kw_only=True)
class Preview:
    """The cost of a question, and the width of its intervals. Thread safe: it never changes."""

    cost: Budget
    confidence: float
    margins: tuple[tuple[str, float | None], ...]
    """Each aggregate, and half the width of its intervals; None where that depends on the rows."""
    rows: int | None
    """How many rows the answer has; None where that depends on what is found, or on work on the answer."""
    is_recorded: bool
    """Whether the very same question was answered before: then it costs nothing more."""

    def to_dict(self) -> dict[str, Any]:
        """Plain data, for JSON."""
        return {
            "cost": self.cost.to_dict(),
            "confidence": self.confidence,
            "margins": [{"name": name, "margin": margin} for name, margin in self.margins],
            "rows": self.rows,
            "recorded": self.is_recorded,
        }


def margins_of(planned: Planned, confidence: float) -> tuple[tuple[str, float | None], ...]:
    """For each aggregate, half the width of its intervals where the noise alone decides it."""
    level = Fraction(str(confidence))
    return tuple(
        (
            each.aggregate.name,
            float(_margin(planned, each, level))
            if AGGREGATES[each.aggregate.kind].costs_are_known
            else None,
        )
        for each in planned.needed
    )


def _budget(amount: Fraction, notion: Notion) -> Budget:
    return Budget.from_dict({notion.value: str(amount)})
