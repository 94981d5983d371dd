"""The shapes of requests and responses, for validation and for OpenAPI."""

from __future__ import annotations

from datetime import date, datetime
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from discreet.artifacts.answers import Answers, json_value
from discreet.errors import BadBudget
from discreet.privacy.budget import Budget
from discreet.privacy.exact import exact
from discreet.questions.cells.values import Span
from discreet.service.datasets import Question

Number = (
    Annotated[float, Field(allow_inf_nan=False, strict=True)]  # strict: true is not 1
    | Annotated[str, Field(max_length=60, examples=["0.1", "1/10"])]
)
"""An exact number: 0.1, "0.1" or "1/10"."""
NAME = r"^[A-Za-z0-9.\-_@]{1,60}$"


class Shape(BaseModel):
    """A request. Fields that it does not know are refused."""

    model_config = ConfigDict(extra="forbid")


class BudgetShape(Shape):
    """An epsilon with a delta, or a rho, or a mu; or a mu squared, as answers and clients write it."""

    epsilon: Number | None = None
    delta: Number = 0.0
    rho: Number | None = None
    mu: Number | None = None
    mu_squared: Number | None = None

    def budget(self) -> Budget:
        if self.mu_squared is not None:
            if (self.epsilon, self.rho, self.mu) != (None, None, None) or self.delta not in (
                0,
                "0",
            ):
                raise BadBudget("A budget in mu_squared has no other field.")
            return Budget.of_mu_squared(exact(self.mu_squared, name="mu_squared"))
        return Budget(epsilon=self.epsilon, delta=self.delta, rho=self.rho, mu=self.mu)


class QuestionShape(Shape):
    """A live question, with its price or the accuracy that it must have."""

    sql: Annotated[str, Field(min_length=1, max_length=1_000_000)]
    budget: BudgetShape | None = None
    accuracy: Annotated[str, Field(max_length=100, examples=["±50 at 95%"])] | None = None
    confidence: Annotated[float, Field(gt=0, lt=1)] = 0.95
    undeclared: Annotated[list[Annotated[str, Field(max_length=200)]], Field(max_length=4)] = []

    def question(self) -> Question:
        if (self.budget is None) == (self.accuracy is None):
            raise BadBudget(
                "Give a budget, or an accuracy such as '±50 at 95%', and not both. Nothing was read or charged."
            )
        return Question(
            sql=self.sql,
            budget=None if self.budget is None else self.budget.budget(),
            accuracy=self.accuracy,
            confidence=self.confidence,
            undeclared=tuple(self.undeclared),
        )


class ReleaseQuestionShape(Shape):
    """A question to a release."""

    sql: Annotated[str, Field(min_length=1, max_length=1_000_000)]
    confidence: Annotated[float, Field(gt=0, lt=1)] = 0.95


class NewAccountShape(Shape):
    """Somebody to be let in."""

    name: Annotated[str, Field(pattern=NAME)]
    role: Literal["custodian", "analyst", "reviewer"] = "analyst"
    token_days: Annotated[int, Field(ge=1, le=3650, strict=True)] = 90


class NewTokenShape(Shape):
    """A token for an account."""

    days: Annotated[int, Field(ge=1, le=3650, strict=True)] = 90


class AllowanceShape(Shape):
    """An analyst's budget on a dataset."""

    budget: BudgetShape
    reason: Annotated[str, Field(min_length=1, max_length=500)] = "set by the custodian"


# Responses


class ErrorShape(BaseModel):
    """Every error."""

    kind: str
    message: str
    request: str


class ErrorBody(BaseModel):
    """Every error."""

    error: ErrorShape


class AnswerBody(BaseModel):
    """An answer: rows of groups and numbers, each number with its interval."""

    question: str
    confidence: float
    rows: list[dict[str, Any]]
    notes: list[str]
    group_values: dict[str, Any]
    """For each group column, what its labels stand for: numbers, truth values, dates as ISO texts, null."""


class LiveAnswerBody(AnswerBody):
    """A live answer, and what is left."""

    cost: dict[str, str]
    left: dict[str, str]


class PreviewBody(BaseModel):
    """What a question would cost, and half the width of its intervals."""

    cost: dict[str, str]
    confidence: float
    margins: list[dict[str, Any]]
    rows: int | None
    recorded: bool
    left: dict[str, str]
    affordable: bool


ERRORS: dict[int | str, dict[str, Any]] = {
    "4XX": {"model": ErrorBody, "description": "Refused; nothing was read or charged."},
    "5XX": {"model": ErrorBody, "description": "A fault; a charge that was made stands."},
}


def answer_shape(answers: Answers) -> dict[str, Any]:
    """`Answers.to_dict`, with the groups' typed values beside it."""
    shape = answers.to_dict()
    shape["group_values"] = {
        name: _values(answers, axis) for axis, name in enumerate(answers.groups)
    }
    return shape


def _values(answers: Answers, axis: int) -> dict[str, Any]:
    kind = "plain"
    found: dict[str, Any] = {}
    for code in np.unique(answers.codes[:, axis]).tolist():
        label, value = answers.label(axis, code), answers.value(axis, code)
        if isinstance(value, Span):
            found[label] = {"first": json_value(value.first), "last": json_value(value.last)}
            value = value.first
        else:
            found[label] = json_value(value)
        if isinstance(value, date):
            kind = "datetime" if isinstance(value, datetime) else "date"
    return {"type": kind, "values": found}
