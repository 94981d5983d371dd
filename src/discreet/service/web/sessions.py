"""Browsers: sessions in cookies, forms that only our own pages can send.

A form is taken only with its session's form key, and only from this site: browsers say where a form
comes from (`Sec-Fetch-Site`, `Origin`). A new session begins at every sign-in, and the service
takes no cookie that it did not make, so nobody can fix another's session beforehand.
"""

from __future__ import annotations

import hmac
from urllib.parse import parse_qs, quote, urlsplit

from fastapi import Request
from starlette.responses import RedirectResponse, Response

from discreet.service.accounts import Role, Session
from discreet.service.accounts.kept import SESSION_SECONDS
from discreet.service.api.callers import COOKIE, desk_of
from discreet.service.limits.refusals import NotAllowed, NotSignedIn, ServiceRefusal


class SignInFirst(ServiceRefusal):
    """A page that needs an account: a browser is sent to sign in, a program is refused."""

    status = 401


def session_of(request: Request) -> Session | None:
    """The browser's session, if it has a valid one."""
    desk = desk_of(request)
    cookie = request.cookies.get(COOKIE)
    session = None if cookie is None else desk.house.accounts.session(cookie)
    who = f"address {request.client.host}" if request.client else "address unknown"
    desk.rate.take(who if session is None else f"person {session.person.name}")
    if session is not None:
        request.state.person = session.person.name
    return session


def signed_in(request: Request, *roles: Role) -> Session:
    """The session of somebody with one of the roles (any, if none is named)."""
    session = session_of(request)
    if session is None:
        if request.method == "GET":
            raise SignInFirst("Sign in first.")
        raise NotSignedIn("Sign in first. Nothing was changed.")
    if roles and session.person.role not in roles:
        raise NotAllowed(
            f"This page is for {' and '.join(each.value + 's' for each in roles)}. You are signed in "
            f"as {session.person.name}, with the role {session.person.role.value}."
        )
    return session


def check_from_here(request: Request) -> None:
    """`NotAllowed` for a form that another site sent."""
    site = request.headers.get("sec-fetch-site")
    origin = request.headers.get("origin")
    foreign = site not in (None, "same-origin", "none") or (
        origin is not None and urlsplit(origin).netloc != request.headers.get("host")
    )
    if foreign:
        raise NotAllowed("The form comes from another site. Nothing was changed.")


async def form_of(request: Request) -> dict[str, list[str]]:
    """The fields of a form."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip()
    if kind != "application/x-www-form-urlencoded":
        raise NotAllowed("A form was expected. Nothing was changed.")
    body = (await request.body()).decode("utf-8", "replace")
    return parse_qs(body, keep_blank_values=True, max_num_fields=20_000)


async def checked_form(request: Request, *roles: Role) -> tuple[Session, dict[str, str]]:
    """The session and the form of somebody with one of the roles, sent by a page of ours."""
    check_from_here(request)
    session = signed_in(request, *roles)
    fields = {name: values[-1] for name, values in (await form_of(request)).items()}
    if not hmac.compare_digest(fields.pop("form_key", "").encode(), session.form_key.encode()):
        raise NotAllowed(
            "The form key is missing or old, so the form may come from another site. Nothing was "
            "changed. Load the page again."
        )
    return session, fields


def local_path(text: str) -> str:
    """A place on this site to go on to; the front page for anything else."""
    parts = urlsplit(text)
    if parts.scheme or parts.netloc or not text.startswith("/"):
        return "/"
    if text.startswith("//") or "\\" in text or any(ord(each) < 32 for each in text):
        return "/"
    return text


def to_sign_in(request: Request) -> Response:
    """Send a browser to sign in, and back here afterwards."""
    here = request.url.path + (f"?{request.url.query}" if request.url.query else "")
    return RedirectResponse(f"/sign-in?next={quote(here, safe='')}", status_code=303)


def with_cookie(response: Response, cookie: str | None, *, https: bool) -> Response:
    """Set the session's cookie, or take it away."""
    if cookie is None:
        response.delete_cookie(COOKIE, path="/")
    else:
        response.set_cookie(
            COOKIE,
            cookie,
            max_age=SESSION_SECONDS,
            path="/",
            httponly=True,
            samesite="strict",
            secure=https,
        )
    return response
