"""One request to a service: a connection of its own, and its errors as discreet's own."""

from __future__ import annotations

import http.client
import json
import ssl
from typing import Any, Protocol
from urllib.parse import urlsplit

from discreet import errors
from discreet.errors import BadInput, DiscreetError

SECONDS = 90
MOST_BYTES = 1_000_000_000


class ServiceError(DiscreetError):
    """The service refused the request, or cannot be reached.

    Thread safe: an error is raised to one thread, and never changes.
    """


class Unreachable(ServiceError):
    """No answer came. It is not known whether the request arrived.

    Thread safe: an error is raised to one thread, and never changes.
    """


class Transport(Protocol):
    """Sends a request; the bytes of the answer."""

    def send(
        self, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None
    ) -> bytes:
        """The body of a good answer; the error of a bad one is raised."""
        ...


class HttpTransport:
    """Over HTTP or HTTPS. Thread safe: every request has a connection of its own."""

    def __init__(self, url: str, token: str | None) -> None:
        parts = urlsplit(url if isinstance(url, str) else "")
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise BadInput("A service's address begins with http:// or https://, and names a host.")
        self._secure, self._host = parts.scheme == "https", parts.hostname
        self._port, self._before = parts.port, parts.path.rstrip("/")
        self._token = token

    def send(
        self, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None
    ) -> bytes:
        sent = {"Accept": "application/json", **(headers or {})}
        if self._token:
            sent["Authorization"] = f"Bearer {self._token}"
        content = None
        if body is not None:
            content = json.dumps(body).encode()
            sent["Content-Type"] = "application/json"
        connection = self._connection()
        try:
            connection.request(method, self._before + path, body=content, headers=sent)
            reply = connection.getresponse()
            found, status = reply.read(MOST_BYTES), reply.status
        except (OSError, http.client.HTTPException) as error:
            raise Unreachable(
                f"The service at {self._host} did not answer ({type(error).__name__}). The very same question "
                "can be asked again: it is charged at most once."
            ) from None
        finally:
            connection.close()
        if status >= 400:
            raise error_in(status, found)
        return found

    def _connection(self) -> http.client.HTTPConnection:
        if self._secure:
            context = ssl.create_default_context()
            return http.client.HTTPSConnection(
                self._host, self._port, timeout=SECONDS, context=context
            )
        return http.client.HTTPConnection(self._host, self._port, timeout=SECONDS)


def error_in(status: int, body: bytes) -> DiscreetError:
    """The error that a service reported, of the same class as if it were raised here."""
    try:
        said = json.loads(body)["error"]
        kind, message = str(said["kind"]), str(said["message"])
    except (ValueError, KeyError, TypeError):
        return ServiceError(f"The service answered with status {status}.")
    found = getattr(errors, kind, None)
    if not (isinstance(found, type) and issubclass(found, DiscreetError)):
        return ServiceError(message)
    error: DiscreetError = found.__new__(found)
    Exception.__init__(error, message)  # some of them take numbers, which only the service knows
    return error
