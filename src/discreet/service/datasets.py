"""`LiveDataset`: a table that is asked live, and what each analyst may spend on it."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from discreet.answering.overview import described
from discreet.artifacts.answers import Answers
from discreet.curator import Curator
from discreet.curator.accuracy import Preview
from discreet.curator.statements import size_of
from discreet.errors import BadBudget, BadInput, DiscreetError
from discreet.ledger import EntryView, Ledger
from discreet.privacy.adjacency import Adjacency
from discreet.privacy.budget import Budget
from discreet.questions.spelling import readable_name
from discreet.schema import Schema
from discreet.service.settings import DatasetSettings

MARGIN = 50
"""Counts at this margin are what a rest is measured in."""


def cost_of_a_count(curator: Curator) -> Budget | None:
    """What a count at ±`MARGIN` costs; None where no such count can be asked."""
    try:
        return curator.cost(
            f"SELECT count(*) FROM {readable_name(curator.schema.dataset)}", accuracy=MARGIN
        )
    except DiscreetError:
        return None


def left_in_words(count: Budget | None, left: Budget, whose: str) -> str:
    """Such as "About 37 more counts at ±50, for all analysts together.", where one costs `count`."""
    if count is None or left.notion is not count.notion:
        return f"{left} is left, {whose}."
    many = left.amount // count.amount
    if many == 0:
        return f"Less than one count at ±{MARGIN} ({left}) is left, {whose}."
    return f"About {many:,} more {'count' if many == 1 else 'counts'} at ±{MARGIN}, {whose}."


def promise_in_words(schema: Schema, cap: Budget) -> str:
    """Whom a dataset's cap protects, and how far."""
    unit = schema.unit
    whom = "each row" if unit.identifier is None else f"all rows of each '{unit.identifier}'"
    what = (
        "whether they are in the table at all"
        if schema.adjacency is Adjacency.ADD_REMOVE
        else "which values they have"
    )
    if unit.identifier is None:
        what = what.replace("they are", "it is").replace("they have", "it has")
    return f"Answers protect {whom} of the table: they hide {what}. All answers about it together cost at most {cap}. Each number has noise added, and an interval that says how much."


MOST_VALUES = 200
"""Values of a category that a description lists."""


class NoAccess(BadInput):
    """The analyst has no budget on the dataset."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A question as it came in."""

    sql: str
    budget: Budget | None = None
    accuracy: str | float | None = None
    confidence: float = 0.95
    undeclared: tuple[str, ...] = ()

    def arguments(self) -> dict[str, Any]:
        """As the curator takes them."""
        return {
            "budget": self.budget,
            "accuracy": self.accuracy,
            "confidence": self.confidence,
            "undeclared": self.undeclared,
        }


class LiveDataset:
    """One table, its open curator, and a view of it for each analyst. Thread safe."""

    def __init__(self, settings: DatasetSettings, ledger: Ledger) -> None:
        self.schema = Schema.load(settings.schema)
        self.name = self.schema.dataset
        self.title = settings.title or self.name
        self._ledger = ledger
        self._curator = Curator(
            settings.source, self.schema, ledger=ledger, data_version=settings.data_version
        )
        self._count = cost_of_a_count(self._curator)
        self._views: dict[str, Curator] = {}
        self._lock = threading.Lock()

    # Budgets: they stand in the ledger, where a charge is checked against them in the step that writes it

    def allowance(self, analyst: str) -> Budget | None:
        """The analyst's cap; None where the analyst may not ask."""
        return self._ledger.cap(self.name, analyst=analyst)

    def allow(self, analyst: str, cap: Budget, *, by: str, reason: str) -> None:
        """Give an analyst a budget, or raise it. A budget is never lowered: revoke the account instead."""
        before = self.allowance(analyst)
        if before is None:
            if cap.notion is not self.cap.notion:
                raise BadBudget(
                    f"Dataset {self.name!r} counts {self.cap.notion.words}, and this budget is {cap}. "
                    f"Nothing was changed. Give it in {self.cap.notion.words}."
                )
            self._ledger.declare_analyst_cap(self.name, analyst, cap)
        else:
            self._ledger.raise_cap(self.name, cap, analyst=analyst, by=by, reason=reason)

    @property
    def cap(self) -> Budget:
        return self._curator.cap

    @property
    def spent(self) -> Budget:
        return self._curator.spent

    def spent_by(self, analyst: str) -> Budget:
        """What an analyst has spent on the dataset."""
        return self._ledger.spent(self.name, analyst=analyst)

    @property
    def data_version(self) -> str:
        return self._curator.data_version

    def left(self, analyst: str | None = None) -> Budget:
        """The rest of the dataset's cap, or of the analyst's share if that is less."""
        return self._ledger.standing(self.name, analyst=analyst).left

    def may_ask(self, analyst: str) -> bool:
        """Whether the analyst has a budget. One that was given is never taken back, so it is looked for once."""
        with self._lock:
            known = analyst in self._views
        return known or self.allowance(analyst) is not None

    def left_words(self, analyst: str | None = None) -> list[str]:
        """The rest in words: the analyst's, then everybody's."""
        said = []
        if analyst is not None and self.allowance(analyst) is not None:
            said.append(left_in_words(self._count, self.left(analyst), "for you"))
        whole = left_in_words(self._count, self._curator.left, "for all analysts together")
        return [*said, whole]

    @property
    def promise(self) -> str:
        """Whom the answers protect, in words."""
        return promise_in_words(self.schema, self.cap)

    # Asking

    def _view(self, analyst: str) -> Curator:
        if not self.may_ask(analyst):
            raise NoAccess(
                f"The account {analyst!r} has no budget on dataset {self.name!r}. Nothing was read or "
                "charged. Ask the custodian for one."
            )
        with self._lock:
            if analyst not in self._views:
                self._views[analyst] = self._curator.for_analyst(analyst)
            return self._views[analyst]

    def preview(self, analyst: str, question: Question) -> Preview:
        """What a question would cost. Nothing is read or charged."""
        return self._view(analyst).preview(question.sql, **question.arguments())

    def size(self, analyst: str, question: Question) -> tuple[Budget, int | None]:
        """What a question costs, and the rows of its answer, from public facts alone."""
        return size_of(self._view(analyst), question.sql, **question.arguments())

    def ask(self, analyst: str, question: Question) -> Answers:
        """The answer to a question, charged to the analyst and to the dataset in one step."""
        return self._view(analyst).ask(question.sql, **question.arguments())

    def history(self, analyst: str | None = None) -> Sequence[EntryView]:
        """The charges, newest first: one analyst's, or everybody's."""
        entries = self._ledger.entries(self.name)
        return [each for each in reversed(entries) if analyst in (None, each.analyst)]

    def columns(self) -> list[dict[str, Any]]:
        """The declared columns, for people and for completion."""
        found = []
        for column in self.schema.columns:
            values = []
            if column.kind in ("category", "boolean"):
                values = [
                    column.label(code) for code in range(min(column.value_cells, MOST_VALUES))
                ]
            found.append(
                {
                    "name": column.name,
                    "kind": column.kind,
                    "described": described(column),
                    "values": values,
                }
            )
        return found

    def close(self) -> None:
        """Wait for questions that run, and close the table."""
        self._curator.close()
