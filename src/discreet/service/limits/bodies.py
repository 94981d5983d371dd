"""Bodies are read whole, in time and up to a size, before anything else looks at a request."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from discreet.service.limits.refusals import ServiceRefusal, TooLarge, TooSlow
from discreet.service.settings import Limits

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]
Refuse = Callable[[Scope, Receive, Send, ServiceRefusal], Awaitable[None]]


class BodyLimit:
    """ASGI: reads the body, or refuses with 413 or 408."""

    def __init__(
        self,
        application: Application,
        *,
        largest: Callable[[Scope], int],
        seconds: float,
        refuse: Refuse,
    ) -> None:
        self._application, self._refuse = application, refuse
        self._largest, self._seconds = largest, seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._application(scope, receive, send)
            return
        largest = self._largest(scope)
        try:
            declared = _declared_length(scope)
            if declared is not None and declared > largest:
                raise _too_large(largest)
            async with asyncio.timeout(self._seconds):
                body = await _whole_body(receive, largest)
        except TimeoutError:
            refusal: ServiceRefusal = TooSlow(
                f"The request did not arrive within {self._seconds:g} seconds. Nothing was read or charged."
            )
            await self._refuse(scope, receive, send, refusal)
            return
        except TooLarge as error:
            await self._refuse(scope, receive, send, error)
            return
        if body is None:  # the client went away
            return
        given = False

        async def replay() -> Message:
            nonlocal given
            if given:
                return await receive()
            given = True
            return {"type": "http.request", "body": body, "more_body": False}

        await self._application(scope, replay, send)


def _too_large(largest: int) -> TooLarge:
    return TooLarge(f"The body is larger than {largest:,} bytes. Nothing was read or charged.")


def _declared_length(scope: Scope) -> int | None:
    for name, value in scope["headers"]:
        if name == b"content-length" and value.isdigit() and len(value) < 19:
            return int(value)
    return None


async def _whole_body(receive: Receive, largest: int) -> bytes | None:
    parts, size = [], 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            return None
        part = message.get("body", b"")
        size += len(part)
        if size > largest:
            raise _too_large(largest)
        parts.append(part)
        if not message.get("more_body", False):
            return b"".join(parts)


_TERM = re.compile(r"\w+|[^\w\s]")


def check_sql(sql: str, limits: Limits) -> None:
    """`TooLarge` for a question that is longer than the settings allow."""
    if len(sql) > limits.sql_characters:
        raise TooLarge(
            f"The question has {len(sql):,} characters; at most {limits.sql_characters:,} are read. "
            "Nothing was read or charged."
        )
    terms = sum(1 for _ in _TERM.finditer(sql))
    if terms > limits.sql_terms:
        raise TooLarge(
            f"The question has {terms:,} words and signs; at most {limits.sql_terms:,} are read. "
            "Nothing was read or charged."
        )
