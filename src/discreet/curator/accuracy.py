"""The cost of an accuracy: the least budget at which every interval is as narrow as asked.

Only for counts, sums and histograms, whose noise does not depend on the data. A mean's interval
depends on how many rows there are, which is a secret, so its cost cannot be told beforehand.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction

from discreet.curator.answers.answer_columns import noise_of_total
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
    margins = [Fraction(0)]
    for each in planned.needed:
        term = each.terms[0]
        if isinstance(term, Total):
            noise = noise_of_total(each, planned.law_of)
            margins.append(Fraction(half_width(noise, confidence)) + term.rounding)
        else:
            margins.append(Fraction(planned.law_of(term).half_width(confidence)))
    return max(margins)


def _budget(amount: Fraction, notion: Notion) -> Budget:
    return Budget(epsilon=amount) if notion is Notion.EPSILON else Budget(rho=amount)
