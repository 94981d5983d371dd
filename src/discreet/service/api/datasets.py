"""Live datasets: list, describe, preview, ask, history, what is left."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Header, Query, Request
from starlette.responses import Response

from discreet.artifacts.answers import Answers
from discreet.ledger import EntryView
from discreet.service.accounts import KeyState, Person, Role
from discreet.service.api.callers import EVERYBODY, desk_of, may, roles_of
from discreet.service.api.shapes import (
    ERRORS,
    LiveAnswerBody,
    PreviewBody,
    QuestionShape,
    answer_shape,
)
from discreet.service.datasets import LiveDataset, Question
from discreet.service.desk import Desk
from discreet.service.limits.bodies import check_sql
from discreet.service.limits.refusals import KeyTaken, TooLarge

router = APIRouter(prefix="/api/v1", tags=["live datasets"], responses=ERRORS)

Anyone = Annotated[Person, Depends(may(*EVERYBODY))]
Analyst = Annotated[Person, Depends(may(Role.ANALYST))]

LONGEST_HISTORY = 1000


@router.get("/me", openapi_extra=roles_of(*EVERYBODY))
async def me(person: Anyone) -> dict[str, str]:
    """Who the token belongs to."""
    return {"name": person.name, "role": person.role.value}


@router.get("/datasets", openapi_extra=roles_of(*EVERYBODY))
async def list_datasets(request: Request, person: Anyone) -> dict[str, Any]:
    """The datasets that the account may look at."""
    return {
        "datasets": [
            {"name": each.name, "title": each.title}
            for each in desk_of(request).datasets_of(person)
        ]
    }


@router.get("/datasets/{name}", openapi_extra=roles_of(*EVERYBODY))
async def describe(name: str, request: Request, person: Anyone) -> dict[str, Any]:
    """Columns, unit, promise in words, and what is left."""
    dataset = desk_of(request).dataset(name, person)
    return {
        "name": dataset.name,
        "title": dataset.title,
        "columns": dataset.columns(),
        "promise": dataset.promise,
        "protects": dataset.schema.protects.to_dict(),
        "schema": dataset.schema.dumps(),
        **left_of(dataset, person),
    }


@router.get("/datasets/{name}/left", openapi_extra=roles_of(*EVERYBODY))
async def left(name: str, request: Request, person: Anyone) -> dict[str, Any]:
    """What may still be spent, exactly and in words."""
    return left_of(desk_of(request).dataset(name, person), person)


def left_of(dataset: LiveDataset, person: Person) -> dict[str, Any]:
    """The dataset's cap, what is spent and left, and the analyst's share."""
    own = person.name if person.role is Role.ANALYST else None
    allowance = None if own is None else dataset.allowance(own)
    return {
        "cap": dataset.cap.to_dict(),
        "spent": dataset.spent.to_dict(),
        "left": dataset.left(own).to_dict(),
        "allowance": None if allowance is None else allowance.to_dict(),
        "in_words": dataset.left_words(own),
    }


@router.post(
    "/datasets/{name}/preview",
    response_model=PreviewBody,
    openapi_extra=roles_of(Role.ANALYST),
)
async def preview(name: str, asked: QuestionShape, request: Request, person: Analyst) -> Any:
    """What a question would cost, and how wide its intervals would be. Nothing is read or charged."""
    desk = desk_of(request)
    check_sql(asked.sql, desk.limits)
    question = asked.question()
    return await desk.run(person, lambda: previewed(desk.dataset(name, person), person, question))


def previewed(dataset: LiveDataset, person: Person, question: Question) -> dict[str, Any]:
    """A preview, and whether the rest pays for it."""
    found, rest = dataset.preview(person.name, question), dataset.left(person.name)
    affordable = found.is_recorded or (rest.notion is found.cost.notion and rest.covers(found.cost))
    return {**found.to_dict(), "left": rest.to_dict(), "affordable": affordable}


@router.post(
    "/datasets/{name}/ask",
    response_model=LiveAnswerBody,
    openapi_extra=roles_of(Role.ANALYST),
)
async def ask(
    name: str,
    asked: QuestionShape,
    request: Request,
    person: Analyst,
    idempotency_key: Annotated[
        str | None, Header(min_length=1, max_length=200, pattern=r"^[\x21-\x7e]+$")
    ] = None,
) -> Any:
    """Ask a live question. It is charged before a row is read.

    The very same question again gets its recorded answer and costs nothing. An Idempotency-Key binds that to
    the request: the key with another question is refused, and a retry after a crash can never be charged twice.
    """
    desk = desk_of(request)
    check_sql(asked.sql, desk.limits)
    question = asked.question()
    body = await desk.run_live(
        person,
        request.state.arrived,
        asking(desk, name, person, question, idempotency_key),
    )
    return Response(body, media_type="application/json")


def asking(
    desk: Desk, name: str, person: Person, question: Question, key: str | None
) -> Callable[[], bytes]:
    """The work of a live question, for a thread: from the key to the bytes of the answer."""

    def work() -> bytes:
        dataset = desk.dataset(name, person)
        answers, found = asked_live(desk, dataset, person, question, key)
        shape = {**answer_shape(answers), **found}
        return json.dumps(shape, allow_nan=False).encode()

    return work


def asked_live(
    desk: Desk, dataset: LiveDataset, person: Person, question: Question, key: str | None
) -> tuple[Answers, dict[str, Any]]:
    """Bind the key, look at the size, ask. The charge is the ledger's: once, however often this runs."""
    cost, rows = dataset.size(person.name, question)
    if rows is not None and rows > desk.limits.answer_rows:
        raise TooLarge(
            f"The answer would have {rows:,} rows; at most {desk.limits.answer_rows:,} are sent. "
            "Nothing was read or charged. Ask for fewer groups."
        )
    if key is not None:
        _bind(desk, dataset, person, question, key)
    answers = dataset.ask(person.name, question)
    desk.metrics.count("discreet_answers_total", dataset=dataset.name)
    return answers, {
        "cost": cost.to_dict(),
        "left": dataset.left(person.name).to_dict(),
    }


def _bind(desk: Desk, dataset: LiveDataset, person: Person, question: Question, key: str) -> None:
    """`KeyTaken` unless the key is new, or belongs to this request about this state of the data."""
    asked = json.dumps(
        [
            dataset.name,
            question.sql,
            None if question.budget is None else question.budget.to_dict(),
            question.accuracy,
            question.confidence,
            question.undeclared,
        ]
    )
    digest = hashlib.sha256(asked.encode()).hexdigest()
    state = desk.house.accounts.claim_key(
        person.name, key, request=digest, version=dataset.data_version
    )
    if state is KeyState.OTHER_REQUEST:
        raise KeyTaken(
            "This idempotency key was used for another request. Nothing was read or charged. Use a new key."
        )
    if state is KeyState.OTHER_DATA:
        raise KeyTaken(
            "The table has changed since this idempotency key was used. Nothing more was read or charged. "
            "Look into the history, or ask with a new key."
        )


@router.get("/history", openapi_extra=roles_of(*EVERYBODY))
async def history(
    request: Request,
    person: Anyone,
    dataset: Annotated[str | None, Query(max_length=200)] = None,
    limit: Annotated[int, Query(ge=1, le=LONGEST_HISTORY)] = 100,
) -> dict[str, Any]:
    """The newest charges: an analyst's own; for custodians and reviewers, everybody's."""
    desk = desk_of(request)
    wanted = desk.datasets_of(person) if dataset is None else [desk.dataset(dataset, person)]
    own = person.name if person.role is Role.ANALYST else None
    entries = [entry for each in wanted for entry in each.history(own)[:limit]]
    entries.sort(key=lambda entry: entry.id, reverse=True)
    return {"entries": [entry_shape(each) for each in entries[:limit]]}


def entry_shape(entry: EntryView) -> dict[str, Any]:
    """A charge, as plain data."""
    return {
        "id": entry.id,
        "dataset": entry.dataset,
        "analyst": entry.analyst,
        "cost": entry.cost.to_dict(),
        "purpose": entry.purpose,
        "state": entry.state.value,
        "answered": entry.answered,
        "charged_at": entry.charged_at,
    }
