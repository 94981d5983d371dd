"""Who calls: a bearer token, or a browser's session with its form key. Every route says who may."""

from __future__ import annotations

import hmac
from collections.abc import Awaitable, Callable
from typing import Any

from fastapi import Request

from discreet.service.accounts import Person, Role
from discreet.service.desk import Desk
from discreet.service.limits.refusals import NotAllowed, NotSignedIn

COOKIE = "discreet_session"
FORM_KEY_HEADER = "x-discreet-form-key"
SAFE = ("GET", "HEAD", "OPTIONS")

EVERYBODY = tuple(Role)


def desk_of(request: Request) -> Desk:
    """The desk of the application that serves a request."""
    desk: Desk = request.app.state.desk
    return desk


def caller_of(request: Request) -> Person | None:
    """The person behind a request; None where it carries no sign of anybody.

    A token or a session that is not valid is refused, never taken for nobody.
    """
    desk = desk_of(request)
    header = request.headers.get("authorization")
    if header is not None:
        scheme, _, token = header.partition(" ")
        person = desk.house.accounts.by_token(token.strip()) if scheme.lower() == "bearer" else None
        if person is None:
            desk.rate.take(_address(request))
            raise NotSignedIn(
                "The token is not valid: it is unknown, expired or revoked. Nothing was read or charged."
            )
    else:
        cookie = request.cookies.get(COOKIE)
        session = None if cookie is None else desk.house.accounts.session(cookie)
        if session is None:
            desk.rate.take(_address(request))
            return None
        if request.method not in SAFE:
            given = request.headers.get(FORM_KEY_HEADER, "")
            if not hmac.compare_digest(given.encode(), session.form_key.encode()):
                raise NotAllowed(
                    "The form key is missing or wrong, so the request may come from another site. "
                    "Nothing was read or charged."
                )
        person = session.person
    desk.rate.take(f"person {person.name}")
    request.state.person = person.name
    return person


def may(*roles: Role) -> Callable[[Request], Awaitable[Person]]:
    """A dependency: the signed-in caller, who has one of the roles."""

    async def signed_in(request: Request) -> Person:
        person = caller_of(request)
        if person is None:
            raise NotSignedIn("Sign in first: this needs a token. Nothing was read or charged.")
        if person.role not in roles:
            raise NotAllowed(
                f"An account with the role {person.role.value} may not do this; it takes "
                f"{' or '.join(each.value for each in roles)}. Nothing was read or charged."
            )
        return person

    return signed_in


async def anybody(request: Request) -> Person | None:
    """A dependency: the caller, or nobody. What nobody may see is decided by the route."""
    return caller_of(request)


def roles_of(*roles: Role) -> dict[str, Any]:
    """Who may call a route, for its description in OpenAPI; the tests read it too."""
    return {"x-roles": [each.value for each in roles], "security": [{"token": []}]}


def _address(request: Request) -> str:
    return f"address {request.client.host if request.client else 'unknown'}"
