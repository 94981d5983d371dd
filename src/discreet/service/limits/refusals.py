"""Refusals of the service itself, each with its HTTP status and one sentence."""

from __future__ import annotations

from discreet.errors import DiscreetError


class ServiceRefusal(DiscreetError):
    """A request that the service turns away before anything is read or charged."""

    status = 400
    retry_after: int | None = None


class NotSignedIn(ServiceRefusal):
    """No valid token, and no valid session."""

    status = 401


class NotAllowed(ServiceRefusal):
    """A valid account that may not do this."""

    status = 403


class NotFound(ServiceRefusal):
    """There is nothing of that name, or nothing that this account may see."""

    status = 404


class KeyTaken(ServiceRefusal):
    """The idempotency key belongs to another request."""

    status = 409


class TooLarge(ServiceRefusal):
    """The body or the question is too long."""

    status = 413


class TooSlow(ServiceRefusal):
    """The request did not arrive in time."""

    status = 408


class TooMany(ServiceRefusal):
    """Too many requests, or too many at once."""

    status = 429
    retry_after = 1


class TookTooLong(ServiceRefusal):
    """The question still runs after the time limit. Its charge stands."""

    status = 504


class Away(ServiceRefusal):
    """Something that the service needs does not answer."""

    status = 503
    retry_after = 5
