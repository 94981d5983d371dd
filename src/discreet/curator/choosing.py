"""Choosing among counts, and alerts (the sparse vector technique for people): what the candidates are, and what was chosen."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from discreet.core.alert import Alert
from discreet.errors import BadBudget, BadInput, BadQuestion
from discreet.privacy.budget import Budget, Notion
from discreet.privacy.cost import Accounting, allowance
from discreet.privacy.shares import accountings
from discreet.queries.tallies import Rows, Tally, WeightedCounts
from discreet.questions.dialects.curator_sql import parse_curator_question
from discreet.schema import Schema

MOST_CANDIDATES = 1_000


@dataclass(frozen=True, slots=True)
class Choice:
    """What the exponential mechanism chose.

    With probability `confidence` its score is at most `behind` below the best candidate's
    (Dwork and Roth 2014, corollary 3.12).

    Thread safe: it never changes.
    """

    name: str
    behind: float
    confidence: float
    charged: Budget


@dataclass(frozen=True, slots=True)
class Discovery:
    """Values that a category column holds often, whether declared or not.

    With probability 1 - delta or more no value that a single person holds is among them.

    Thread safe: it never changes.
    """

    column: str
    values: tuple[str, ...]
    threshold: int
    """How many people a value needs to be named for certain; with fewer it is likely."""
    charged: Budget


def counted(sql: str, schema: Schema) -> Tally:
    """The single count that a text asks for."""
    question = parse_curator_question(sql, schema)
    if (
        question.groups
        or question.unlisted
        or [one.kind for one in question.aggregates] != ["count"]
    ):
        raise BadQuestion(
            "Ask for a single count: SELECT count(*) FROM the dataset WHERE ... Nothing was read or charged."
        )
    return Tally(Rows(), (), question.condition)


def weighted(
    candidates: Mapping[str, str | tuple[str, int]], schema: Schema
) -> tuple[WeightedCounts, list[str]]:
    """The candidates' counts and weights, and their names in the same order."""
    if not isinstance(candidates, Mapping) or not 1 <= len(candidates) <= MOST_CANDIDATES:
        raise BadInput(
            f"Give 1 to {MOST_CANDIDATES:,} candidates by name, each with the SQL of a count. "
            "Nothing was read or charged."
        )
    tallies: list[Tally] = []
    weights: list[int] = []
    for asked in candidates.values():
        sql, weight = (asked, 1) if isinstance(asked, str) else asked
        if isinstance(weight, bool) or not isinstance(weight, int):
            raise BadInput("A candidate's weight is a whole number. Nothing was read or charged.")
        tallies.append(counted(sql, schema))
        weights.append(weight)
    return WeightedCounts(tuple(tallies), tuple(weights)), [str(name) for name in candidates]


def accounting_of(budget: Budget, notion: Notion) -> Accounting:
    """How a choice or an alert is added up, under a cap that counts `notion`."""
    if not isinstance(budget, Budget):
        raise BadBudget(f"The budget must be a Budget, not {type(budget).__name__}.")
    first, *_ = accountings(budget, notion=notion)
    return Accounting.BASIC if budget.notion is Notion.EPSILON else first


def chargeable(budget: Budget, accounting: Accounting) -> tuple[Budget, Budget]:
    """What is charged (without a delta that a choice does not use) and what it allows."""
    if accounting is Accounting.BASIC:
        pure = Budget(epsilon=budget.epsilon)
        return pure, pure
    allowed = allowance(budget, accounting)
    return allowed, allowed


class CuratorAlert:
    """A running watch. Each question is free until the first `above`, which ends it.

    With the confidence that was asked for, over the first `questions` of them, every `below` is
    below threshold + margin and the `above` is above threshold - margin (Dwork and Roth 2014,
    theorem 3.24).

    Thread safe: questions asked at the same time are answered one after the other, and one of them
    at most hears `above`.
    """

    def __init__(
        self,
        watch: Alert,
        count: Callable[[str], Tally],
        *,
        threshold: int,
        margin: float,
        questions: int,
    ) -> None:
        self._watch, self._count = watch, count
        self.threshold, self.margin = threshold, margin
        self._left = questions
        self._lock = threading.Lock()

    @property
    def over(self) -> bool:
        """Whether it has fired."""
        return self._watch.over

    def is_above(self, sql: str) -> bool:
        """Whether a count is, noisily, at or above the threshold. True ends the watch."""
        tally = self._count(sql)
        with self._lock:
            if self._left == 0:
                raise BadInput(
                    "The alert has answered as many questions as its margin was promised for. "
                    "Open another alert to ask more."
                )
            self._left -= 1
        return self._watch.is_above(tally)
