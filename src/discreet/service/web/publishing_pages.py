"""The custodian's way from a table to a release: schema, plan, publish, and what to do with the original."""

from __future__ import annotations

import hmac
from typing import Any
from urllib.parse import urlencode

from fastapi import APIRouter, Request
from starlette.datastructures import QueryParams
from starlette.responses import JSONResponse, RedirectResponse, Response

from discreet.charts.scale import shown
from discreet.errors import BadInput, BadSchema, DiscreetError
from discreet.releases import Plan
from discreet.service.accounts import Role, Session
from discreet.service.api.callers import FORM_KEY_HEADER, desk_of
from discreet.service.api.errors import message_of
from discreet.service.limits.refusals import NotAllowed
from discreet.service.publishing import Wish, Workshop, suggested
from discreet.service.web.rendering import page
from discreet.service.web.schema_form import GRANULARITIES, KINDS, fields_of, toml_of
from discreet.service.web.sessions import check_from_here, checked_form, signed_in

router = APIRouter(include_in_schema=False)
SMALL_GROUP = 100
"""The plan says how such a group would look."""


def _workshop(request: Request) -> tuple[Session, Workshop]:
    session = signed_in(request, Role.CUSTODIAN)
    return session, Workshop(desk_of(request).house)


@router.get("/publish")
async def tables(request: Request) -> Response:
    """The tables that may be published."""
    session, workshop = _workshop(request)
    return page(
        request,
        "publish.html",
        session=session,
        tables=workshop.tables(),
        unlisted=workshop.unlisted(),
        folder=desk_of(request).settings.tables,
    )


@router.put("/publish/tables/{name}")
async def upload(name: str, request: Request) -> Response:
    """Keep a table that the custodian's browser sends."""
    check_from_here(request)
    session, workshop = _workshop(request)
    given = request.headers.get(FORM_KEY_HEADER, "")
    if not hmac.compare_digest(given.encode(), session.form_key.encode()):
        raise NotAllowed("The form key is missing or old. Nothing was kept. Load the page again.")
    workshop.put_table(name, await request.body())
    return JSONResponse({"next": f"/publish/{name}"}, status_code=201)


@router.get("/publish/{table}")
async def schema_page(table: str, request: Request) -> Response:
    """The schema: a draft, or what was written so far."""
    session, workshop = _workshop(request)
    return _schema_page(request, session, table, workshop.schema_text(table), None)


def _schema_page(
    request: Request,
    session: Session,
    table: str,
    text: str,
    mistakes: list[str] | None,
    *,
    as_text: bool = False,
) -> Response:
    return page(
        request,
        "schema.html",
        session=session,
        table=table,
        text=text,
        form=fields_of(text),
        as_text=as_text,
        kinds=KINDS,
        granularities=GRANULARITIES,
        mistakes=mistakes,
        status=200 if not mistakes else 400,
    )


@router.post("/publish/{table}/schema")
async def write_schema(table: str, request: Request) -> Response:
    """Keep the schema; go on where it has no mistake."""
    session, fields = await checked_form(request, Role.CUSTODIAN)
    workshop = Workshop(desk_of(request).house)
    text = fields.get("schema", "")
    mistakes = workshop.write_schema(table, text)
    if mistakes:
        return _schema_page(request, session, table, text, mistakes, as_text=True)
    return RedirectResponse(f"/publish/{table}/plan", status_code=303)


@router.post("/publish/{table}/columns")
async def write_columns(table: str, request: Request) -> Response:
    """Keep the schema that the form's boxes describe."""
    session, fields = await checked_form(request, Role.CUSTODIAN)
    text = toml_of(fields)
    mistakes = Workshop(desk_of(request).house).write_schema(table, text)
    if mistakes:
        return _schema_page(request, session, table, text, mistakes)
    return RedirectResponse(f"/publish/{table}/plan", status_code=303)


def wish_in(query: QueryParams) -> Wish:
    """What a release is for, as it stands in an address."""
    classes = tuple(dict.fromkeys(text.strip() for text in query.getlist("for") if text.strip()))
    return Wish(
        classes,
        tuple(query.get(f"weight {text}", "1").strip()[:20] for text in classes),
        query.get("epsilon", "1").strip()[:60] or "1",
        query.get("delta", "0").strip()[:60] or "0",
    )


@router.get("/publish/{table}/plan.json")
async def plan_data(table: str, request: Request) -> Response:
    """The plan as data, for the sliders."""
    session, workshop = _workshop(request)
    wish, desk = wish_in(request.query_params), desk_of(request)

    def work() -> dict[str, Any]:
        return {"rows": plan_rows(workshop.plan(table, wish))}

    return JSONResponse(await desk.run(session.person, work))


@router.get("/publish/{table}/plan")
async def plan_page(table: str, request: Request) -> Response:
    """Expected errors, before any row is read."""
    session, workshop = _workshop(request)
    desk = desk_of(request)
    try:
        schema = workshop.schema(table)
    except BadSchema:
        return RedirectResponse(f"/publish/{table}", status_code=303)
    wish = wish_in(request.query_params)
    if not wish.classes:
        wish = Wish(("marginals(1)",), ("1",), wish.epsilon, wish.delta)
    found: dict[str, Any] = {"rows": [], "warnings": (), "mistake": ""}

    def work() -> None:
        made = workshop.plan(table, wish)
        found["rows"], found["warnings"] = plan_rows(made), made.warnings

    try:
        await desk.run(session.person, work)
    except DiscreetError as error:
        found["mistake"] = message_of(error)
    chosen = dict(zip(wish.classes, (*wish.weights, *["1"] * len(wish.classes)), strict=False))
    offered = suggested(schema)
    known = {text for text, _ in offered}
    offered += [(text, "your own class") for text in wish.classes if text not in known]
    return page(
        request,
        "plan.html",
        session=session,
        table=table,
        schema=schema,
        offered=offered,
        chosen=chosen,
        wish=wish,
        left=workshop.left(schema),
        small=SMALL_GROUP,
        **found,
    )


def plan_rows(made: Plan) -> list[dict[str, Any]]:
    """The plan for a table: what each class will be off by."""
    found = []
    for row in made.rows():
        width = row["half_width"] or row["expected_error"]
        is_count = row["unit"] == "rows"
        is_of_each = row["simultaneous_bound"] is not None  # else it is of an average query
        small, clear = "", ""
        if is_count and width is not None:
            small = (
                f"{SMALL_GROUP} ± {shown(round(width))}" if is_of_each else "depends on the rows"
            )
            clear = shown(round(10 * width)) if is_of_each else "depends on the rows"
        found.append(
            {
                "class": row["class"],
                "share": row["share"],
                "error": "" if width is None else f"± {shown(width)}",
                "unit": row["unit"],
                "width": width or 0,
                "small": small,
                "clear": clear,
                "note": row["note"],
            }
        )
    return found


@router.post("/publish/{table}/release")
async def publish(table: str, request: Request) -> Response:
    """Charge, read, add noise, write and sign."""
    session, fields = await checked_form(request, Role.CUSTODIAN)
    desk = desk_of(request)
    workshop = Workshop(desk.house)
    wish = wish_in(QueryParams(fields.get("wish", "")))
    if fields.get("confirm") != "yes":
        raise BadInput("Tick the box that says what publishing means. Nothing was charged.")
    title = fields.get("name", "").strip()
    name = await desk.run(session.person, lambda: workshop.publish(table, wish, title))
    return RedirectResponse(f"/published/{name}?{urlencode({'table': table})}", status_code=303)


@router.get("/published/{name}")
async def published(name: str, request: Request) -> Response:
    """What was done, and what to do with the original."""
    session, _ = _workshop(request)
    desk = desk_of(request)
    release = desk.release(name, session.person)
    overview = await desk.run(session.person, release.reader.overview)
    return page(
        request,
        "published.html",
        session=session,
        release=release,
        overview=overview,
        table=request.query_params.get("table", "")[:100],
        live=desk.house.datasets.get(release.reader.schema.dataset),
    )
