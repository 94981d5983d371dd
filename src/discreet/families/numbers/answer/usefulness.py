"""The bound for a class of one number: half the wider side of its interval."""

from __future__ import annotations

from fractions import Fraction

from discreet.answering.asking import Asking
from discreet.answering.usefulness import UNION
from discreet.families.numbers.queries.one_number import Means, Sums
from discreet.families.shared.answer.library import Library
from discreet.questions.dialects.sql import Aggregate, Question


def one_number_bound(
    library: Library, asking: Asking, query_class: Means | Sums, delta: Fraction
) -> tuple[float, str]:
    column = library.schema.column(query_class.column).name
    question = Question((Aggregate(query_class.function, column, query_class.function),))
    found = asking.answers([question], confidence=float(1 - delta))[0].only
    return max(found.upper - found.estimate, found.estimate - found.lower), UNION
