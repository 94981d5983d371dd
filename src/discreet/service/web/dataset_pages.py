"""A live dataset's page. The address holds the question; looking never charges, only the button does.

Asking redirects to the address of the question, which shows its recorded answer. So an answer can be
reloaded, bookmarked and shared, and costs nothing the second time.
"""

from __future__ import annotations

import json
from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import RedirectResponse, Response

from discreet.artifacts.answers import Answers
from discreet.errors import DiscreetError
from discreet.questions.spelling import readable_name
from discreet.service.accounts import Person, Role
from discreet.service.api.callers import desk_of
from discreet.service.api.datasets import asked_live, previewed
from discreet.service.api.errors import message_of, status_of
from discreet.service.datasets import LiveDataset
from discreet.service.desk import Desk
from discreet.service.limits.refusals import KeyTaken
from discreet.service.web.drawings import budget_card
from discreet.service.web.questions import (
    DEFAULT_EPSILON,
    Typed,
    as_csv,
    as_curl,
    as_python,
    shown,
    starters,
)
from discreet.service.web.rendering import page
from discreet.service.web.sessions import checked_form, signed_in

router = APIRouter(include_in_schema=False)


def recorded(desk: Desk, dataset: LiveDataset, person: Person, typed: Typed) -> Answers:
    """The recorded answer to a question; `KeyTaken` where it was not asked yet. It never charges."""
    question = typed.question(desk.limits, dataset.cap.notion)
    if not dataset.preview(person.name, question).is_recorded:
        raise KeyTaken(
            "This question was not asked yet. Ask it first: nothing was read or charged."
        )
    return dataset.ask(person.name, question)


@router.get("/datasets/{name}.json")
async def as_data(name: str, request: Request) -> Response:
    """The recorded answer as JSON."""
    answers = await _recorded(name, request)
    text = json.dumps(answers.to_dict(), allow_nan=False)
    return Response(text, media_type="application/json")


@router.get("/datasets/{name}.csv")
async def as_table(name: str, request: Request) -> Response:
    """The recorded answer as CSV."""
    answers = await _recorded(name, request)
    headers = {"Content-Disposition": 'attachment; filename="answer.csv"'}
    return Response(as_csv(answers), media_type="text/csv", headers=headers)


async def _recorded(name: str, request: Request) -> Answers:
    session, desk = signed_in(request, Role.ANALYST), desk_of(request)
    dataset = desk.dataset(name, session.person)
    typed = Typed.read(request.query_params)
    return await desk.run(session.person, lambda: recorded(desk, dataset, session.person, typed))


@router.get("/datasets/{name}")
async def dataset_page(name: str, request: Request) -> Response:
    """Columns, promise, budget, and a box for questions."""
    session, desk = signed_in(request), desk_of(request)
    dataset = desk.dataset(name, session.person)
    typed = Typed.read(request.query_params)
    found = await desk.run(session.person, lambda: _looked(desk, dataset, session.person, typed))
    url = str(request.base_url).rstrip("/")
    price = typed.price(dataset.cap.notion)
    saved = desk.house.accounts.saved_questions(session.person.name, dataset.name)
    return page(
        request,
        "dataset.html",
        session=session,
        status=found.pop("status"),
        dataset=dataset,
        columns=dataset.columns(),
        completion=json.dumps(
            [
                {"name": readable_name(each["name"]), "values": each["values"]}
                for each in dataset.columns()
            ]
        ),
        card=budget_card(dataset, session.person),
        typed=typed,
        default_epsilon=DEFAULT_EPSILON,
        query=typed.query(live=True),
        starters=starters(dataset.schema),
        saved=saved,
        may_ask=session.person.role is Role.ANALYST,
        python=as_python(url, "dataset", dataset.name, typed.sql, price),
        curl=as_curl(url, "dataset", dataset.name, typed.sql, price),
        **found,
    )


def _looked(desk: Desk, dataset: LiveDataset, person: Person, typed: Typed) -> dict[str, Any]:
    """The preview of a question, its answer if it is on record, or why it is refused."""
    found: dict[str, Any] = {"preview": None, "answer": None, "mistake": "", "status": 200}
    if not typed.sql or person.role is not Role.ANALYST:
        return found
    try:
        question = typed.question(desk.limits, dataset.cap.notion)
        found["preview"] = preview = previewed(dataset, person, question)
        preview["price"] = dataset.preview(person.name, question).cost
        if preview["recorded"]:
            found["answer"] = shown(recorded(desk, dataset, person, typed))
    except DiscreetError as error:
        found["mistake"], found["status"] = message_of(error), status_of(error)
    return found


@router.post("/datasets/{name}/ask")
async def ask(name: str, request: Request) -> Response:
    """Ask, charge, and go to the address of the answer."""
    session, fields = await checked_form(request, Role.ANALYST)
    desk = desk_of(request)
    typed = Typed.read(fields)
    dataset = desk.dataset(name, session.person)
    question = typed.question(desk.limits, dataset.cap.notion)
    await desk.run_live(
        session.person,
        request.state.arrived,
        lambda: asked_live(desk, dataset, session.person, question, None),
    )
    return RedirectResponse(
        f"{request.url_for('dataset_page', name=name).path}?{typed.query(live=True)}#answer",
        status_code=303,
    )


@router.post("/datasets/{name}/save")
async def save(name: str, request: Request) -> Response:
    """Keep a question under a title."""
    session, fields = await checked_form(request, Role.ANALYST)
    desk = desk_of(request)
    typed = Typed.read(fields)
    dataset = desk.dataset(name, session.person)
    typed.question(desk.limits, dataset.cap.notion)
    title = fields.get("title", "").strip()[:100] or typed.sql[:60]
    desk.house.accounts.save_question(
        session.person.name, dataset=dataset.name, title=title, sql=typed.sql
    )
    back = request.url_for("dataset_page", name=name).path
    return RedirectResponse(f"{back}?{typed.query(live=True)}", status_code=303)


@router.post("/datasets/{name}/forget")
async def forget(name: str, request: Request) -> Response:
    """Forget a kept question."""
    session, fields = await checked_form(request, Role.ANALYST)
    number = fields.get("question", "")
    if number.isdigit() and len(number) < 16:
        desk_of(request).house.accounts.drop_question(session.person.name, int(number))
    return RedirectResponse(request.url_for("dataset_page", name=name).path, status_code=303)
