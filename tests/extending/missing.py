"""A curator's aggregate that `src` does not know: `missing(pay)`, how many rows have no pay."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from discreet.artifacts.answer import Covers
from discreet.artifacts.answers import AnswerColumn
from discreet.curator.answers.answering import AnswerReader
from discreet.curator.needed import Needed, column_of
from discreet.families.shared.estimate.combination import half_width
from discreet.families.shared.estimate.rounding import plausible_counts
from discreet.queries.tallies import Present, Rows
from discreet.questions.dialects.aggregates import AggregateKind
from discreet.questions.dialects.curator_sql import Aggregate, CuratorQuestion
from discreet.schema import Column, Schema


def needed(one: Aggregate, question: CuratorQuestion, schema: Schema, **paid: Any) -> Needed:
    """All rows, and those with a value: half of the budget each."""
    return Needed(one, (Rows(), Present(column_of(one))), (Fraction(1, 2), Fraction(1, 2)))


def answer(reader: AnswerReader, each: Needed) -> AnswerColumn:
    """Their difference; its interval is that of a sum of two independent noises."""
    (rows, law), (values, other) = (reader.of(term) for term in each.terms)
    half = half_width([(1.0, law, 1), (1.0, other, 1)], reader.confidence)
    left = rows - values
    estimate, lower, upper = plausible_counts(left, left - half, left + half)
    return AnswerColumn(
        name=each.aggregate.name,
        estimate=estimate,
        lower=lower,
        upper=upper,
        std=np.full(len(left), (law.variance + other.variance) ** 0.5),
        covers=Covers.NOISE,
    )


def refusal(column: Column) -> str | None:
    return f"Column {column.name!r} holds no nulls." if column.nulls == "exclude" else None


ENTRY = AggregateKind(
    kind="missing",
    needed=f"{__name__}:needed",
    answer=f"{__name__}:answer",
    is_function=True,
    refusal=refusal,
    note="Counted as all rows less those with a value.",
)
