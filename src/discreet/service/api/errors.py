"""Every error has one shape: `{"error": {"kind", "message", "request"}}`, and a status.

The texts are those of discreet's own error tree, none of which depends on a row. Anything
unexpected says nothing but its place in the log.
"""

from __future__ import annotations

import json
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from discreet.errors import (
    AlreadyAsked,
    AnswerLost,
    BadInput,
    BudgetExceeded,
    DiscreetError,
    EngineFailed,
    EntryTaken,
    LedgerBusy,
    LedgerError,
    NotAnswerable,
    NotWritten,
    Refused,
)
from discreet.service.datasets import NoAccess
from discreet.service.limits.refusals import ServiceRefusal

_STATUSES: tuple[tuple[type[DiscreetError], int], ...] = (
    (NoAccess, 403),
    (BudgetExceeded, 409),
    (AlreadyAsked, 409),
    (AnswerLost, 409),
    (EntryTaken, 409),
    (NotAnswerable, 422),
    (BadInput, 400),
    (Refused, 409),
    (LedgerBusy, 503),
    (LedgerError, 503),
    (EngineFailed, 500),
    (NotWritten, 500),
)
"""The first that fits counts."""
INTERNAL = "A fault in the service, not in what you asked. Its text is not shown, because it may hold a row's value. A charge that was made stands."
TELL_NOTHING = (EngineFailed,)


def status_of(error: Exception) -> int:
    """The HTTP status of an error."""
    if isinstance(error, ServiceRefusal):
        return error.status
    return next((status for kind, status in _STATUSES if isinstance(error, kind)), 500)


def message_of(error: Exception) -> str:
    """What may be said of an error."""
    if isinstance(error, DiscreetError) and not isinstance(error, TELL_NOTHING):
        return str(error)
    return INTERNAL


def kind_of(error: Exception) -> str:
    """Its name in discreet's error tree."""
    return type(error).__name__ if isinstance(error, DiscreetError) else "InternalError"


def error_body(kind: str, message: str, request_id: str) -> bytes:
    """The one shape of errors."""
    shape = {"error": {"kind": kind, "message": message, "request": request_id}}
    return json.dumps(shape).encode()


def error_response(
    request: Request, *, status: int, kind: str, message: str, retry_after: int | None = None
) -> Response:
    """An error for a program."""
    headers = {}
    if retry_after is not None:
        headers["Retry-After"] = str(retry_after)
    if status == 401:
        headers["WWW-Authenticate"] = "Bearer"
    request_id = getattr(request.state, "request_id", "")
    return Response(
        error_body(kind, message, request_id),
        status_code=status,
        media_type="application/json",
        headers=headers,
    )


def response_to(request: Request, error: Exception) -> Response:
    """The response to an exception."""
    return error_response(
        request,
        status=status_of(error),
        kind=kind_of(error),
        message=message_of(error),
        retry_after=error.retry_after if isinstance(error, ServiceRefusal) else None,
    )


def validation_message(errors: Any) -> str:
    """What pydantic found, without the values."""
    said: dict[str, str] = {}
    for each in list(errors)[:10]:
        if each.get("type") == "json_invalid":
            return "The body is not valid JSON. Nothing was read or charged."
        parts = [str(part)[:40] for part in each.get("loc", ()) if part != "body"]
        message = each.get("msg", "not valid")
        if parts and (parts[-1] == "float" or parts[-1].startswith("constrained-")):
            parts.pop()  # one of the types that a number may have
            message = 'a number such as 0.1, "0.1" or "1/10" is expected'
        place = ".".join(parts)
        said.setdefault(place or "the body", message)
    listed = "; ".join(f"{place}: {message}" for place, message in said.items())
    return f"The request is not understood. Nothing was read or charged. {listed}"
