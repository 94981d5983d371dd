"""The application: routes, error shape, request numbers, security headers, log lines."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
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
from discreet.service.limits.bodies import Application, BodyLimit, Message, Receive, Scope, Send
from discreet.service.limits.refusals import ServiceRefusal
from discreet.service.web.site import add_pages, error_page, is_upload, may_upload, wants_data

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
_HEADERS = [(name.lower().encode(), value.encode()) for name, value in HEADERS.items()]
METHODS = ("GET", "POST", "PUT", "DELETE")

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

    app.add_middleware(Around, desk=desk)

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
            kind = "NotFound" if error.status_code == 404 else "BadRequest"
            return error_response(request, status=error.status_code, kind=kind, message=text)
        return error_page(request, error, status=error.status_code, message=text)

    async def refuse(scope: Scope, receive: Receive, send: Send, refusal: ServiceRefusal) -> None:
        async def refusing(scope: Scope, receive: Receive, send: Send) -> None:
            response = response_to(Request(scope, receive), refusal)
            response.headers["Connection"] = "close"
            await response(scope, receive, send)

        await Around(refusing, desk=desk)(scope, receive, send)

    def largest(scope: Scope) -> int:
        """A table is read from those alone who may send one: a body is in memory before its route looks at who sends it."""
        if is_upload(scope["path"]) and may_upload(Request(scope), desk):
            return desk.limits.upload_bytes
        return desk.limits.body_bytes

    return BodyLimit(
        app,
        largest=largest,
        seconds=desk.limits.body_seconds,
        refuse=refuse,
    )


class Around:
    """ASGI: around each request, a number and a time of arrival; then headers, a log line and a count."""

    def __init__(self, app: Application, desk: Desk) -> None:
        self._app, self._desk = app, desk

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        state = scope.setdefault("state", {})
        state["arrived"], state["request_id"] = now(), os.urandom(8).hex()
        begun = False

        async def finishing(message: Message) -> None:
            nonlocal begun
            if message["type"] == "http.response.start":
                begun = True
                self._finish(scope, message)
            await send(message)

        try:
            await self._app(scope, receive, finishing)
        except Exception as error:  # what no handler knows: its text may hold anything
            self._desk.log.write("fault", kind=type(error).__name__, request=state["request_id"])
            if begun:
                raise
            request = Request(scope, receive)
            response = error_response(request, status=500, kind="InternalError", message=INTERNAL)
            await response(scope, receive, finishing)

    def _finish(self, scope: Scope, message: Message) -> None:
        state, headers = scope["state"], list(message["headers"])
        given = {name for name, _ in headers}
        headers += [(name, value) for name, value in _HEADERS if name not in given]
        headers.append((b"x-request-id", state["request_id"].encode()))
        message["headers"] = headers
        path = getattr(scope.get("route"), "path", "none")
        seconds = now() - state["arrived"]
        self._desk.metrics.request(path, message["status"], seconds)
        self._desk.log.write(
            "request",
            request=state["request_id"],
            method=scope["method"] if scope["method"] in METHODS else "other",
            route=path,
            status=message["status"],
            ms=round(1000 * seconds),
            person=state.get("person"),
        )


def _describe_tokens(app: FastAPI) -> None:
    """Say in OpenAPI how callers are known."""
    described = app.openapi()
    described.setdefault("components", {})["securitySchemes"] = {
        "token": {"type": "http", "scheme": "bearer"}
    }
