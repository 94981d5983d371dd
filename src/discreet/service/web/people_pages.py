"""People, tokens and budgets, for custodians."""

from __future__ import annotations

import time
from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import RedirectResponse, Response

from discreet.errors import BadInput
from discreet.privacy.budget import Budget
from discreet.service.accounts import Person, Role
from discreet.service.api.callers import desk_of
from discreet.service.desk import Desk
from discreet.service.limits.refusals import NotFound
from discreet.service.web.rendering import page
from discreet.service.web.sessions import checked_form, signed_in

router = APIRouter(include_in_schema=False)


@router.get("/people")
async def people(request: Request) -> Response:
    """Everybody, with budgets and tokens."""
    return _page(request, signed_in(request, Role.CUSTODIAN))


def _page(request: Request, session: Any, **values: Any) -> Response:
    desk = desk_of(request)
    return page(
        request,
        "people.html",
        session=session,
        people=[_shown(desk, each) for each in desk.house.accounts.people()],
        datasets=list(desk.house.datasets.values()),
        **{"token": "", "token_of": "", **values},
    )


def _shown(desk: Desk, person: Person) -> dict[str, Any]:
    now = int(time.time())
    return {
        "person": person,
        "tokens": [each for each in desk.house.accounts.tokens(person.name) if each.is_valid(now)],
        "budgets": [
            (dataset, dataset.allowance(person.name), dataset.spent_by(person.name))
            for dataset in desk.house.datasets.values()
        ],
    }


@router.post("/people")
async def add(request: Request) -> Response:
    """A new account; its token is shown on the page that answers, and never again."""
    session, fields = await checked_form(request, Role.CUSTODIAN)
    store = desk_of(request).house.accounts
    role = fields.get("role", "")
    if role not in set(Role):
        raise BadInput("A role is custodian, analyst or reviewer. No account was made.")
    made = store.add(fields.get("name", "").strip(), Role(role), by=session.person.name)
    token = store.issue(made.name, days=_days(fields), by=session.person.name)
    return _page(request, session, token=token, token_of=made.name)


@router.post("/people/{name}/token")
async def issue(name: str, request: Request) -> Response:
    """Another token."""
    session, fields = await checked_form(request, Role.CUSTODIAN)
    store = desk_of(request).house.accounts
    token = store.issue(name, days=_days(fields), by=session.person.name)
    return _page(request, session, token=token, token_of=name)


@router.post("/people/{name}/revoke")
async def revoke(name: str, request: Request) -> Response:
    """End an account, or one token of it."""
    session, fields = await checked_form(request, Role.CUSTODIAN)
    store = desk_of(request).house.accounts
    if token := fields.get("token"):
        if token not in {each.id for each in store.tokens(name)}:
            raise NotFound("There is no such token of this account. Nothing was changed.")
        store.revoke_token(token, by=session.person.name)
    else:
        if name == session.person.name:
            raise BadInput("You cannot end your own account. Nothing was changed.")
        store.revoke(name, by=session.person.name)
    return RedirectResponse("/people", status_code=303)


@router.post("/people/{name}/budget")
async def allow(name: str, request: Request) -> Response:
    """Give a budget, or raise it."""
    session, fields = await checked_form(request, Role.CUSTODIAN)
    desk = desk_of(request)
    found = desk.house.accounts.person(name)
    if found is None or found.is_revoked or found.role is not Role.ANALYST:
        raise NotFound(f"There is no active analyst {name[:60]!r}. Nothing was changed.")
    dataset = desk.dataset(fields.get("dataset", ""), session.person)
    notion = dataset.cap.notion.words
    delta = fields.get("delta", "").strip() or "0"
    cap = Budget(**{notion: fields.get("amount", "").strip(), "delta": delta})
    reason = fields.get("reason", "").strip()[:500] or "set by the custodian"
    dataset.allow(name, cap, by=session.person.name, reason=reason)
    return RedirectResponse("/people", status_code=303)


def _days(fields: dict[str, str]) -> int:
    text = fields.get("days", "90").strip()
    if not text.isdigit() or len(text) > 5:
        raise BadInput("A token is valid for a whole number of days. None was made.")
    return int(text)
