"""The application: routes, error shape, request numbers, security headers, log lines."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response

from discreet import __version__
from discreet.errors import DiscreetError
from discreet.service.api import administration, datasets, health, releases
from discreet.service.api.errors import (
    INTERNAL,
    error_response,
    kind_of,
    response_to,
    validation_message,
)
from discreet.service.desk import Desk, now
from discreet.service.limits.bodies import Application, BodyLimit, Receive, Scope, Send
from discreet.service.limits.refusals import ServiceRefusal
from discreet.service.web.site import add_pages, error_page, is_upload, wants_data

HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
        "form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
    ),
    "Cache-Control": "no-store",
}
"""On every response. A route may set another Cache-Control."""

DESCRIPTION = """Ask protected tables live questions, each charged to a ledger, and releases any number
of questions. Send the token as `Authorization: Bearer discreet_...`."""


def build(desk: Desk) -> Application:
    """The ASGI application of one worker."""

    @asynccontextmanager
    async def lifespan(application: FastAPI) -> AsyncIterator[None]:
        desk.log.write("started", version=__version__, process=os.getpid())
        yield
        desk.is_closing = True
        desk.runner.close()
        desk.house.close()
        desk.log.write("ended", process=os.getpid())

    app = FastAPI(
        title=desk.settings.title,
        version=__version__,
        description=DESCRIPTION,
        docs_url=None,
        redoc_url=None,
        openapi_url="/api/openapi.json",
        lifespan=lifespan,
        separate_input_output_schemas=False,
    )
    app.state.desk = desk
    for room in (datasets, releases, administration, health):
        app.include_router(room.router)
    add_pages(app)
    _describe_tokens(app)

    @app.middleware("http")
    async def around(
        request: Request, call_next: Callable[[Request], Awaitable[Response]]
    ) -> Response:
        request.state.arrived = now()
        request.state.request_id = os.urandom(8).hex()
        try:
            response = await call_next(request)
        except Exception as error:  # what no handler knows: its text may hold anything
            desk.log.write("fault", kind=type(error).__name__, request=request.state.request_id)
            response = error_response(request, status=500, kind="InternalError", message=INTERNAL)
        _finish(desk, request, response)
        return response

    @app.exception_handler(DiscreetError)
    async def refused(request: Request, error: Exception) -> Response:
        desk.metrics.count("discreet_refusals_total", kind=kind_of(error))
        return response_to(request, error) if wants_data(request) else error_page(request, error)

    @app.exception_handler(RequestValidationError)
    async def not_understood(request: Request, error: Exception) -> Response:
        assert isinstance(error, RequestValidationError)
        text = validation_message(error.errors())
        return error_response(request, status=422, kind="BadRequest", message=text)

    @app.exception_handler(HTTPException)
    async def elsewhere(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        text = f"{error.detail}."
        if wants_data(request):
            return error_response(
                request, status=error.status_code, kind="BadRequest", message=text
            )
        return error_page(request, error, status=error.status_code, message=text)

    async def refuse(scope: Scope, receive: Receive, send: Send, refusal: ServiceRefusal) -> None:
        request = Request(scope, receive)
        request.state.arrived, request.state.request_id = now(), os.urandom(8).hex()
        response = response_to(request, refusal)
        response.headers["Connection"] = "close"
        _finish(desk, request, response)
        await response(scope, receive, send)

    return BodyLimit(
        app,
        largest=lambda scope: (
            desk.limits.upload_bytes if is_upload(scope["path"]) else desk.limits.body_bytes
        ),
        seconds=desk.limits.body_seconds,
        refuse=refuse,
    )


def _finish(desk: Desk, request: Request, response: Response) -> None:
    """Headers, a log line and a count."""
    for name, value in HEADERS.items():
        response.headers.setdefault(name, value)
    response.headers["X-Request-Id"] = request.state.request_id
    route = request.scope.get("route")
    path = getattr(route, "path", "none")
    seconds = now() - request.state.arrived
    desk.metrics.request(path, response.status_code, seconds)
    desk.log.write(
        "request",
        request=request.state.request_id,
        method=request.method if request.method in ("GET", "POST", "PUT", "DELETE") else "other",
        route=path,
        status=response.status_code,
        ms=round(1000 * seconds),
        person=getattr(request.state, "person", None),
    )


def _describe_tokens(app: FastAPI) -> None:
    """Say in OpenAPI how callers are known."""
    described = app.openapi()
    described.setdefault("components", {})["securitySchemes"] = {
        "token": {"type": "http", "scheme": "bearer"}
    }
