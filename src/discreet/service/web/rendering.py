"""Templates and static files: ours, read from the package, escaped everywhere."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime
from functools import cache
from importlib.resources import files
from typing import Any
from urllib.parse import urlencode

from fastapi import APIRouter, Request
from jinja2 import DictLoader, Environment, StrictUndefined
from starlette.responses import HTMLResponse, Response

from discreet import __version__
from discreet.charts.scale import shown
from discreet.privacy.budget import Budget, Notion
from discreet.questions.spelling import readable_name
from discreet.service.accounts import Role, Session
from discreet.service.limits.refusals import NotFound

router = APIRouter(include_in_schema=False)
KINDS = {"style.css": "text/css", "page.js": "text/javascript", "icon.svg": "image/svg+xml"}


class _Environment(Environment):
    """In a template `row.clear` means the row's value of that name, not a method of dict."""

    def getattr(self, obj: Any, attribute: str) -> Any:
        if isinstance(obj, dict) and attribute in obj:
            return obj[attribute]
        return super().getattr(obj, attribute)


@cache
def _environment() -> Environment:
    room = files("discreet.service.web").joinpath("templates")
    texts = {each.name: each.read_text(encoding="utf-8") for each in room.iterdir()}
    environment = _Environment(
        loader=DictLoader(texts),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(
        budget=budget_text,
        day=day_text,
        moment=moment_text,
        query=urlencode,
        shown=shown,
        sign=sign,
        sql_name=readable_name,
    )
    environment.globals.update(
        version=__version__, style=_stamp("style.css"), script=_stamp("page.js")
    )
    return environment


@cache
def _static(name: str) -> bytes:
    return files("discreet.service.web").joinpath("static", name).read_bytes()


def _stamp(name: str) -> str:
    """The address of a static file, which changes with its content so that browsers may keep it."""
    return f"/static/{name}?{hashlib.sha256(_static(name)).hexdigest()[:12]}"


@router.get("/static/{name}")
async def static(name: str) -> Response:
    """A file of ours."""
    if name not in KINDS:
        raise NotFound("There is no such file.")
    headers = {"Cache-Control": "public, max-age=86400"}
    return Response(_static(name), media_type=KINDS[name], headers=headers)


def page(
    request: Request,
    template: str,
    *,
    session: Session | None,
    status: int = 200,
    **values: Any,
) -> HTMLResponse:
    """A page."""
    with_everything = {
        "session": session,
        "person": None if session is None else session.person,
        "form_key": "" if session is None else session.form_key,
        "links": navigation(session),
        "here": request.url.path,
        "site": request.app.state.desk.settings.title,
        "flash": "",
        **values,
    }
    text = _environment().get_template(template).render(with_everything)
    return HTMLResponse(text, status_code=status)


def navigation(session: Session | None) -> list[tuple[str, str]]:
    """The links at the top, by role."""
    if session is None:
        return []
    common = [("/", "Home")]
    match session.person.role:
        case Role.ANALYST:
            return [*common, ("/history", "History")]
        case Role.CUSTODIAN:
            return [
                *common,
                ("/publish", "Publish"),
                ("/people", "People"),
                ("/ledger", "Ledger"),
            ]
        case Role.REVIEWER:
            return [*common, ("/review", "Review"), ("/ledger", "Ledger")]


def sign(notion: Notion) -> str:
    """The letter of what a cap counts."""
    return {"epsilon": "ε", "rho": "ρ", "mu": "μ"}[notion.words]


def budget_text(budget: Budget) -> str:
    """`ε 0.1`, with its delta where there is one."""
    amount = budget.shown(digits=4).removeprefix("~")
    tail = "" if budget.delta == 0 else f", δ {float(budget.delta):.2g}"
    return f"{sign(budget.notion)} {amount}{tail}"


def day_text(seconds: int | None) -> str:
    """A day, from seconds since 1970."""
    return "" if seconds is None else datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d")


def moment_text(text: str) -> str:
    """A moment of the ledger, to the minute."""
    return text[:16].replace("T", " ")
