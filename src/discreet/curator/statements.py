"""SQL statements to a curator: from the text to what is charged, read and answered.

Planning uses public facts alone. `measure` is what is done under a charge, and all that reads.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import prod
from typing import TYPE_CHECKING, Any

from discreet.artifacts.answers import Answers
from discreet.core.vault import Grant
from discreet.curator.accuracy import Accuracy, Preview, budget_for, margins_of
from discreet.curator.answers.answering import Measured, answers_from, rehearsed
from discreet.curator.planning import Planned, check_not_empty, plan_questions
from discreet.errors import BadBudget, BadQuestion
from discreet.families.shared.estimate.kept import Kept
from discreet.postprocessing.plan import QueryPlan
from discreet.postprocessing.reading.statement import read_statement
from discreet.postprocessing.results import worked
from discreet.privacy.budget import Budget, Notion
from discreet.privacy.exact import confidence_level
from discreet.questions.dialects.curator_sql import NOTHING, CuratorDialect
from discreet.questions.keys import key_size
from discreet.questions.limits.work import bounded_work
from discreet.questions.notes import undeclared_values
from discreet.schema import Schema

if TYPE_CHECKING:
    from discreet.curator.curator import Curator

KEPT_PLANS = 64


@dataclass(frozen=True)
class Statement:
    """A statement with its plan: questions, what each costs, and the work on their answers."""

    plan: QueryPlan
    parts: tuple[Planned, ...]
    """The questions; none, where the schema answers it."""
    confidence: float
    schema: Schema
    undeclared: tuple[str, ...] = ()

    @property
    def asked(self) -> dict[str, Any]:
        """The question as plain data: equal for equal questions."""
        canonical = [each.question.canonical() for each in self.parts]
        return {
            "question": canonical[0] if len(canonical) == 1 else canonical,
            "budget": self.parts[0].charge.to_dict(),
            "accounting": self.parts[0].accounting.value,
        }

    @property
    def rows(self) -> int | None:
        """How many rows its answer has; `None` where that is not known beforehand."""
        first = self.parts[0].question if self.parts else None
        if first is None or not self.plan.is_plain or first.unlisted:
            return None
        return prod(key_size(key, self.schema) for key in first.groups)

    def rehearse(self) -> None:
        """Do the work on empty answers: what cannot be done is refused before the charge."""
        if self.plan.is_plain:
            return
        answers = [rehearsed(each) for each in self.parts]
        try:
            worked(self.plan, lambda place, level: answers[place], self.schema, confidence=0.95)
        except BadQuestion as error:
            raise BadQuestion(f"{error} {NOTHING}") from None
        except RecursionError:
            raise BadQuestion(
                f"The question is nested too deeply to be worked out; flatten it. {NOTHING}"
            ) from None

    def preview(self, *, is_recorded: bool) -> Preview:
        """What it costs, and how wide its intervals will be."""
        margins = [found for each in self.parts for found in margins_of(each, self.confidence)]
        return Preview(
            cost=self.parts[0].charge,
            confidence=self.confidence,
            margins=tuple(margins) if self.plan.measures_only else (),
            rows=self.rows,
            is_recorded=is_recorded,
        )

    def answered(self, measured: Measured) -> Answers:
        """The answers from what was measured, and the work on them."""
        pieces = measured.split(self.parts)

        def answer(place: int, level: float | Fraction) -> Answers:
            part = self.parts[place]
            notes = undeclared_values(part.question.condition, self.schema)
            return answers_from(part, pieces[place], confidence=float(level), notes=notes)

        if self.plan.is_plain:
            return answer(0, self.confidence)
        return worked(
            self.plan,
            answer,
            self.schema,
            confidence=self.confidence,
            discovered=self.undeclared,
        )

    def without_question(self) -> Answers:
        """The answer of the schema."""
        return worked(self.plan, _no_question, self.schema, confidence=self.confidence)


class Statements:
    """Plans statements; the latest plans are kept. Thread safe: see `Kept`."""

    def __init__(self, schema: Schema, notion: Notion) -> None:
        self._schema, self._notion = schema, notion
        self._kept: Kept[Any, Statement] = Kept(KEPT_PLANS)

    def planned(
        self,
        sql: str,
        budget: Budget | None,
        accuracy: str | float | None,
        confidence: float,
        undeclared: Sequence[str] = (),
    ) -> Statement:
        """The plan of a question. It follows from public facts alone, so a preview's serves its question too."""
        if isinstance(undeclared, str):
            undeclared = (undeclared,)
        given = (sql, budget, accuracy, confidence, *undeclared)
        key = (*given, *map(type, given))  # 1 and True are equal, and not the same
        try:
            hash(key)
        except TypeError:  # not what a question is made of: planning says what is wrong
            return self._plan(sql, budget, accuracy, confidence, undeclared)
        return self._kept.get(
            key, lambda: self._plan(sql, budget, accuracy, confidence, undeclared)
        )

    def _plan(
        self,
        sql: str,
        budget: Budget | None,
        accuracy: str | float | None,
        confidence: float,
        undeclared: Sequence[str],
    ) -> Statement:
        confidence = float(confidence_level(confidence))
        check_not_empty(budget, accuracy)
        plan = self._read(sql, undeclared)
        if budget is None:
            if plan.questions and plan.questions[0].unlisted:
                raise BadBudget(
                    "Grouping by undeclared values needs a delta, and an accuracy does not give one. Nothing "
                    "was read or charged. Give a budget of an epsilon and a delta."
                )
            if not plan.measures_only:
                raise BadQuestion(
                    "The cost of an expression of several numbers at a given accuracy is not known beforehand. "
                    "Nothing was read or charged. Give a budget instead."
                )
            wanted = Accuracy.read(accuracy, confidence=confidence)
            budget = budget_for(plan.questions[0], self._schema, wanted, notion=self._notion)
            confidence = float(wanted.confidence)
        if not plan.questions:  # the schema answers it
            return Statement(plan, (), confidence, self._schema, tuple(undeclared))
        parts = plan_questions(plan.questions, self._schema, budget=budget, notion=self._notion)
        return Statement(plan, parts, confidence, self._schema, tuple(undeclared))

    def _read(self, sql: str, undeclared: Sequence[str]) -> QueryPlan:
        """A text as questions, and the work on their answers."""
        try:
            with bounded_work():
                dialect = CuratorDialect(self._schema, sql, undeclared)
                plan = read_statement(sql, self._schema, dialect)
        except BadQuestion as error:
            if NOTHING in str(error):
                raise
            raise BadQuestion(f"{error} {NOTHING}") from None
        return plan


def size_of(curator: Curator, sql: str, **arguments: Any) -> tuple[Budget, int | None]:
    """The cost of a question and the number of its answer's rows, as `Curator.preview` says them, without a look into the ledger."""
    statement = curator._statements.planned(sql, **arguments)
    if not statement.parts:
        return Budget.nothing(curator.cap.notion), None
    return statement.parts[0].charge, statement.rows


def _no_question(place: int, level: Fraction) -> Answers:
    raise AssertionError(f"There is no question {place}.")


def measure(parts: Sequence[Planned], grant: Grant) -> Measured:
    """All that a statement reads, in one go."""
    planned, *others = parts
    rows = grant.public_rows() if any(each.reads_public_rows for each in parts) else None
    if planned.choice is not None:
        _, picked = grant.tally_and_choose((), [planned.choice])
        return Measured(values=(), laws=(), picked=picked)
    keys, requests = None, planned.requests
    if planned.finder is not None:
        question = planned.question
        named = grant.find_keys(question.unlisted, question.condition, planned.finder)
        keys = named[: planned.most_keys]
        requests = planned.requests_for(keys)
    requests = (*requests, *(request for each in others for request in each.requests))
    picks = (
        *planned.picks_for(keys),
        *(pick for each in others for pick in each.picks_for(None)),
    )
    measured, picked = grant.tally_and_choose(requests, picks)
    return Measured(
        picked=picked,
        values=tuple(each.values for each in measured),
        laws=tuple(each.law for each in measured),
        public_rows=rows,
        keys=keys,
    )
