"""Ask live, or release once? How many questions a curator can answer before a release is better.

A release answers a whole class for one budget. A curator with the same budget divides it among the questions that are asked, of
all analysts together, for what one of them learns the others can be told. So each question has more noise the more of them there
are, and there is a number of questions from which on the release's answers are closer. Noise of the curator: the better of
discrete Laplace (epsilons add) and, where the budget has a delta or is a rho, discrete Gaussian (rhos add). Everything follows from
public facts.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from discreet.artifacts.text_tables import plain_number
from discreet.privacy.adjacency import sensitivity_of_one_count
from discreet.privacy.budget import Budget, Notion
from discreet.privacy.cost import Accounting, allowance
from discreet.privacy.laws import (
    DiscreteGaussianLaw,
    DiscreteLaplaceLaw,
    NoiseLaw,
    RoundedGaussianLaw,
)
from discreet.releases.planning import Plan
from discreet.schema import Schema

MOST_QUESTIONS = 10**6
"""Where the release's error is so large, the number does not matter any more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CuratorLimit:
    """For one class of counts. Thread safe: it never changes."""

    query_class: str
    half_width: float | None
    """Half the width of the release's intervals; None where it depends on the rows."""
    queries: int
    """How many queries the class has."""
    questions: int | None
    """The most questions, of all analysts together, that a curator answers as closely. At most `MOST_QUESTIONS`."""

    @property
    def sentence(self) -> str:
        if self.questions is None:
            return f"{self.query_class}: no number of questions can be given, because the release's error is not in rows, or not known before the rows are read."
        if self.questions >= min(self.queries, MOST_QUESTIONS):
            return f"{self.query_class}: a curator answers all {self.queries:,} queries of the class as accurately as the release: ask live, unless more questions may come."
        if self.questions == 0:
            return f"{self.query_class}: the release is more accurate even for a single question."
        return (
            f"{self.query_class}: up to {self.questions:,} questions (of all analysts together) a curator answers as accurately as the release (± {plain_number(self.half_width)} rows). Beyond that the release is better, for all "
            f"{self.queries:,} queries of the class."
        )


def curator_limits(planned: Plan, schema: Schema) -> tuple[CuratorLimit, ...]:
    """For each class of a plan, the number of questions at which a release becomes better than a curator."""
    found = []
    for each in planned.classes:
        width = each.error.half_width if each.error.unit == "rows" else None
        share = _share(planned.charge, len(planned.classes))
        found.append(
            CuratorLimit(
                query_class=each.query_class,
                half_width=width,
                queries=each.error.queries,
                questions=None
                if width is None
                else _most(width, share, schema, planned.confidence),
            )
        )
    return tuple(found)


def _share(budget: Budget, classes: int) -> Budget:
    """The curator's budget for one class: as the release, it serves all of them."""
    return budget.times(Fraction(1, classes))


def _most(width: float, budget: Budget, schema: Schema, confidence: float) -> int:
    """The most questions whose answers are within `width`, by bisection: noise grows with their number."""
    if not _is_met(1, width, budget, schema, confidence):
        return 0
    low, high = 1, MOST_QUESTIONS
    if _is_met(high, width, budget, schema, confidence):
        return high
    while high - low > 1:
        middle = (low + high) // 2
        met = _is_met(middle, width, budget, schema, confidence)
        low, high = (middle, high) if met else (low, middle)
    return low


def _is_met(
    questions: int, width: float, budget: Budget, schema: Schema, confidence: float
) -> bool:
    return any(
        law.half_width(confidence) <= width for law in curator_laws(questions, budget, schema)
    )


def curator_laws(questions: int, budget: Budget, schema: Schema) -> tuple[NoiseLaw, ...]:
    """The noise of one count, if a budget is divided evenly among that many counts."""
    moved = sensitivity_of_one_count(schema.unit)
    found: list[NoiseLaw] = []
    if budget.notion is Notion.EPSILON:
        found.append(DiscreteLaplaceLaw(scale=moved.l1 * questions / budget.epsilon))
    if budget.notion is Notion.RHO or budget.delta:
        rho = allowance(budget, Accounting.CONCENTRATED).rho
        found.append(DiscreteGaussianLaw(sigma_squared=moved.l2_squared * questions / (2 * rho)))
    if budget.notion is Notion.MU or budget.delta:
        square = allowance(budget, Accounting.GAUSSIAN).mu_squared
        found.append(RoundedGaussianLaw(sigma_squared=moved.l2_squared * questions / square))
    return tuple(found)
