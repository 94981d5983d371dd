"""The site: every page's routes, and what a page says when something is refused."""

from __future__ import annotations

from fastapi import FastAPI, Request
from starlette.responses import Response

from discreet.service.accounts import Role, Session
from discreet.service.api.callers import COOKIE, desk_of
from discreet.service.api.errors import kind_of, message_of, status_of
from discreet.service.desk import Desk
from discreet.service.web import (
    dataset_pages,
    front,
    people_pages,
    publishing_pages,
    release_pages,
    rendering,
    review_pages,
)
from discreet.service.web.rendering import page
from discreet.service.web.sessions import SignInFirst, to_sign_in

HEADINGS = {
    400: "That does not make sense",
    401: "Sign in first",
    403: "Not for this account",
    404: "Not found",
    408: "Too slow",
    409: "Refused",
    413: "Too large",
    422: "The release cannot answer this",
    429: "Too many requests",
    503: "Not now",
    504: "Still running",
}
DATA = (".json", ".csv")


def add_pages(app: FastAPI) -> None:
    """All pages."""
    for room in (
        rendering,
        front,
        dataset_pages,
        release_pages,
        people_pages,
        publishing_pages,
        review_pages,
    ):
        app.include_router(room.router)


def is_upload(path: str) -> bool:
    """Whether a table is sent there, which may be larger than other bodies."""
    return path.startswith("/publish/tables/")


def may_upload(request: Request, desk: Desk) -> bool:
    """Whether a browser's session is one that may send tables."""
    cookie = request.cookies.get(COOKIE)
    session = None if cookie is None else desk.house.accounts.session(cookie)
    return session is not None and session.person.role is Role.CUSTODIAN


def wants_data(request: Request) -> bool:
    """Whether an error is for a program."""
    path = request.url.path
    return (
        path.startswith("/api/")
        or path in ("/metrics", "/healthz", "/readyz")
        or (path.startswith(("/datasets/", "/releases/")) and path.endswith(DATA))
        or path.endswith("/plan.json")
        or is_upload(path)
    )


def error_page(
    request: Request, error: Exception, *, status: int | None = None, message: str | None = None
) -> Response:
    """What a browser is shown."""
    if isinstance(error, SignInFirst):
        return to_sign_in(request)
    code = status_of(error) if status is None else status
    return page(
        request,
        "error.html",
        session=_session(request),
        status=code,
        heading=HEADINGS.get(code, "Something went wrong"),
        message=message_of(error) if message is None else message,
        request_id=request.state.request_id,
        kind=kind_of(error),
    )


def _session(request: Request) -> Session | None:
    cookie = request.cookies.get(COOKIE)
    return None if cookie is None else desk_of(request).house.accounts.session(cookie)
