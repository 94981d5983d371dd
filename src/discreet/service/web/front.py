"""The front page, signing in and out, and an analyst's history."""

from __future__ import annotations

from fastapi import APIRouter, Request
from starlette.responses import RedirectResponse, Response

from discreet.service.accounts import Role
from discreet.service.api.callers import COOKIE, desk_of
from discreet.service.web.drawings import budget_card
from discreet.service.web.rendering import page
from discreet.service.web.sessions import (
    check_from_here,
    checked_form,
    form_of,
    local_path,
    session_of,
    signed_in,
    with_cookie,
)

router = APIRouter(include_in_schema=False)
LONGEST_HISTORY = 200


@router.get("/")
async def home(request: Request) -> Response:
    """What there is to ask."""
    session, desk = session_of(request), desk_of(request)
    person = None if session is None else session.person
    live = [] if person is None else desk.datasets_of(person)
    return page(
        request,
        "home.html",
        session=session,
        datasets=[(each, budget_card(each, person, f"gauge{at}")) for at, each in enumerate(live)],
        releases=desk.releases_of(person),
    )


@router.get("/sign-in")
async def sign_in_page(request: Request) -> Response:
    """The page on which a token is typed."""
    goal = local_path(request.query_params.get("next", "/"))
    return page(request, "sign_in.html", session=session_of(request), goal=goal, mistake="")


@router.post("/sign-in")
async def sign_in(request: Request) -> Response:
    """Begin a new session; one that the browser had before ends."""
    check_from_here(request)
    desk = desk_of(request)
    fields = await form_of(request)
    goal = local_path(fields.get("next", ["/"])[-1])
    token = fields.get("token", [""])[-1].strip()
    session_of(request)  # counts the try
    cookie = desk.house.accounts.sign_in(token) if len(token) < 200 else None
    if cookie is None:
        said = "This token is not valid: it is unknown, expired or revoked."
        return page(request, "sign_in.html", session=None, goal=goal, mistake=said, status=401)
    before = request.cookies.get(COOKIE)
    if before is not None:
        desk.house.accounts.sign_out(before)
    return with_cookie(RedirectResponse(goal, status_code=303), cookie, https=desk.settings.https)


@router.post("/sign-out")
async def sign_out(request: Request) -> Response:
    """End the session."""
    await checked_form(request)
    desk_of(request).house.accounts.sign_out(request.cookies[COOKIE])
    return with_cookie(RedirectResponse("/", status_code=303), None, https=False)


@router.get("/history")
async def history(request: Request) -> Response:
    """An analyst's own questions, newest first."""
    session, desk = signed_in(request, Role.ANALYST), desk_of(request)
    entries = [
        entry
        for each in desk.datasets_of(session.person)
        for entry in each.history(session.person.name)
    ]
    entries.sort(key=lambda entry: entry.id, reverse=True)
    return page(
        request,
        "history.html",
        session=session,
        entries=entries[:LONGEST_HISTORY],
        more=max(0, len(entries) - LONGEST_HISTORY),
    )
