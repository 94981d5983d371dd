"""Releases: any number of questions, at no cost; the file itself, its verification, synthetic rows."""

from __future__ import annotations

import csv
import io
import json
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request
from starlette.responses import FileResponse, Response

from discreet.service.accounts import Person
from discreet.service.api.callers import anybody, desk_of
from discreet.service.api.shapes import ERRORS, AnswerBody, ReleaseQuestionShape, answer_shape
from discreet.service.limits.bodies import check_sql
from discreet.service.limits.refusals import TooLarge
from discreet.service.shelf import ShelvedRelease

router = APIRouter(prefix="/api/v1", tags=["releases"], responses=ERRORS)

Somebody = Annotated[Person | None, Depends(anybody)]
PUBLIC: dict[str, Any] = {"x-roles": ["public"], "security": [{"token": []}, {}]}


@router.get("/releases", openapi_extra=PUBLIC)
async def list_releases(request: Request, person: Somebody) -> dict[str, Any]:
    """The releases that may be asked: the public ones, and with a token all."""
    return {
        "releases": [
            {"name": each.name, "title": each.title, "public": each.is_public}
            for each in desk_of(request).releases_of(person)
        ]
    }


@router.get("/releases/{name}", openapi_extra=PUBLIC)
async def describe(name: str, request: Request, person: Somebody) -> dict[str, Any]:
    """What a release holds, whom it protects, and questions that it answers."""
    desk = desk_of(request)
    release = desk.release(name, person)
    return await desk.run(person, lambda: described(release))


def described(release: ShelvedRelease) -> dict[str, Any]:
    """A release, as plain data."""
    reader = release.reader
    statement = reader.statement()
    return {
        "name": release.name,
        "title": release.title,
        "public": release.is_public,
        **reader.overview().to_dict(),
        "promise": list(statement.words),
        "workload": list(reader.workload),
    }


@router.post("/releases/{name}/ask", response_model=AnswerBody, openapi_extra=PUBLIC)
async def ask(
    name: str, asked: ReleaseQuestionShape, request: Request, person: Somebody
) -> Response:
    """Ask a release: free, any number of times."""
    desk = desk_of(request)
    check_sql(asked.sql, desk.limits)
    release = desk.release(name, person)
    known = release.known_answer(asked.sql, asked.confidence)
    if known is not None:
        return Response(known, media_type="application/json")

    def work() -> bytes:
        answers = release.reader.ask(asked.sql, confidence=asked.confidence)
        if len(answers) > desk.limits.answer_rows:
            raise TooLarge(
                f"The answer has {len(answers):,} rows; at most {desk.limits.answer_rows:,} are sent. "
                "Download the release, and ask it on your own machine."
            )
        answer = json.dumps(answer_shape(answers), allow_nan=False).encode()
        release.keep_answer(asked.sql, asked.confidence, answer)
        return answer

    return Response(await desk.run(person, work), media_type="application/json")


@router.get("/releases/{name}/verify", openapi_extra=PUBLIC)
async def verify(name: str, request: Request, person: Somebody) -> dict[str, Any]:
    """Costs, words and estimates, computed again from the file."""
    desk = desk_of(request)
    release = desk.release(name, person)
    found = await desk.run(person, release.verification)
    return found.to_dict()


@router.get("/releases/{name}/file", openapi_extra=PUBLIC, response_class=FileResponse)
async def download(name: str, request: Request, person: Somebody) -> Response:
    """The release file, to be asked offline."""
    release = desk_of(request).release(name, person)
    return FileResponse(
        release.path, media_type="application/octet-stream", filename=f"{release.name}.release"
    )


@router.get("/releases/{name}/sample", openapi_extra=PUBLIC)
async def sample(
    name: str,
    request: Request,
    person: Somebody,
    rows: Annotated[int, Query(ge=1, le=10_000)] = 100,
    seed: Annotated[int | None, Query(ge=0, le=2**31)] = None,
) -> Response:
    """Synthetic rows as CSV: people who never lived, drawn from the published numbers alone."""
    desk = desk_of(request)
    release = desk.release(name, person)
    rows = min(rows, desk.limits.sample_rows)
    text = await desk.run(person, lambda: synthetic_csv(release, rows, seed))
    headers = {"Content-Disposition": f'attachment; filename="{release.name}-synthetic.csv"'}
    return Response(text.encode(), media_type="text/csv", headers=headers)


def synthetic_csv(release: ShelvedRelease, rows: int, seed: int | None) -> str:
    """A synthetic table, as CSV."""
    columns = release.synthetic(rows, seed)
    written = io.StringIO()
    writer = csv.writer(written, lineterminator="\n")
    writer.writerow(columns)
    for row in zip(*columns.values(), strict=True):
        writer.writerow(["" if each is None else each for each in row])
    return written.getvalue()
