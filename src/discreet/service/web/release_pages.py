"""A release's page: charts, any number of questions, the file, its verification, synthetic rows."""

from __future__ import annotations

import json
from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import Response

from discreet.artifacts.answers import Answers
from discreet.charts.columns import histogram_figure
from discreet.errors import DiscreetError
from discreet.questions.spelling import readable_name
from discreet.report import render_report
from discreet.service.accounts import Session
from discreet.service.api.callers import desk_of
from discreet.service.api.errors import message_of, status_of
from discreet.service.desk import Desk
from discreet.service.limits.refusals import NotSignedIn
from discreet.service.shelf import ShelvedRelease
from discreet.service.web.drawings import Drawn
from discreet.service.web.questions import Typed, as_csv, as_curl, as_python, shown
from discreet.service.web.rendering import page
from discreet.service.web.sessions import SignInFirst, session_of

router = APIRouter(include_in_schema=False)
MOST_CHARTS = 8


def release_for(name: str, request: Request) -> tuple[Session | None, Desk, ShelvedRelease]:
    """A release that the browser's person, or the public, may look at."""
    session, desk = session_of(request), desk_of(request)
    person = None if session is None else session.person
    try:
        return session, desk, desk.release(name, person)
    except NotSignedIn as error:
        raise SignInFirst(str(error)) from None


def asked(desk: Desk, release: ShelvedRelease, typed: Typed) -> Answers:
    """A release's answer."""
    question = typed.question(desk.limits)
    return release.reader.ask(question.sql, confidence=question.confidence)


@router.get("/releases/{name}.json")
async def as_data(name: str, request: Request) -> Response:
    """The answer as JSON."""
    answers = await _asked(name, request)
    return Response(json.dumps(answers.to_dict(), allow_nan=False), media_type="application/json")


@router.get("/releases/{name}.csv")
async def as_table(name: str, request: Request) -> Response:
    """The answer as CSV."""
    answers = await _asked(name, request)
    headers = {"Content-Disposition": 'attachment; filename="answer.csv"'}
    return Response(as_csv(answers), media_type="text/csv", headers=headers)


async def _asked(name: str, request: Request) -> Answers:
    session, desk, release = release_for(name, request)
    typed = Typed.read(request.query_params)
    person = None if session is None else session.person
    return await desk.run(person, lambda: asked(desk, release, typed))


@router.get("/releases/{name}/report")
async def report(name: str, request: Request) -> Response:
    """The whole report, as a file to keep: one HTML text without scripts."""
    session, desk, release = release_for(name, request)
    person = None if session is None else session.person
    text = await desk.run(
        person, lambda: render_report(release.reader, file_name=f"{release.name}.release")
    )
    headers = {"Content-Disposition": f'attachment; filename="{release.name}.html"'}
    return Response(text, media_type="text/html", headers=headers)


@router.get("/releases/{name}")
async def release_page(name: str, request: Request) -> Response:
    """What a release holds, and its answer to the question in the address."""
    session, desk, release = release_for(name, request)
    person = None if session is None else session.person
    typed = Typed.read(request.query_params)
    found = await desk.run(person, lambda: _looked(desk, release, typed))
    url = str(request.base_url).rstrip("/")
    schema = release.reader.schema
    return page(
        request,
        "release.html",
        session=session,
        status=found.pop("status"),
        release=release,
        typed=typed,
        query=typed.query(live=False),
        completion=json.dumps(
            [
                {
                    "name": readable_name(column.name),
                    "values": [column.label(code) for code in range(min(column.value_cells, 100))]
                    if column.kind == "category"
                    else [],
                }
                for column in schema.columns
            ]
        ),
        python=as_python(url, "release", release.name, typed.sql, {}),
        curl=as_curl(url, "release", release.name, typed.sql, {}),
        **found,
    )


def _looked(desk: Desk, release: ShelvedRelease, typed: Typed) -> dict[str, Any]:
    found: dict[str, Any] = {"answer": None, "mistake": "", "status": 200}
    if typed.sql:
        try:
            found["answer"] = shown(asked(desk, release, typed))
        except DiscreetError as error:
            found["mistake"], found["status"] = message_of(error), status_of(error)
    facts = release.kept("facts", lambda: _facts(release))
    return {**found, **facts}


def _facts(release: ShelvedRelease) -> dict[str, Any]:
    """What the page says of the release, whatever is asked."""
    reader = release.reader
    overview = reader.overview()
    charts: list[Drawn] = []
    table = readable_name(reader.schema.dataset)
    for place, column in enumerate(reader.schema.columns):
        if len(charts) == MOST_CHARTS or column.cells > 2000:
            continue
        name = readable_name(column.name)
        try:
            answers = reader.ask(f"SELECT {name}, count(*) FROM {table} GROUP BY {name}")
            figure = histogram_figure(f"figure{place}", column, answers)
        except DiscreetError:
            continue
        charts.append(Drawn(figure.title, figure.picture))
    return {
        "overview": overview,
        "promise": reader.statement().words,
        "charts": charts,
        "verification": release.verification(),
    }
