"""What is known of people and their tokens, as plain data."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Role(StrEnum):
    """What a person may do."""

    CUSTODIAN = "custodian"  # publishes, manages people and budgets; asks no live questions
    ANALYST = "analyst"  # asks, within a budget
    REVIEWER = "reviewer"  # reads promises, the ledger and verifications; changes nothing


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody with an account. The name is also the analyst's name in the ledger."""

    name: str
    role: Role
    is_revoked: bool = False


@dataclass(frozen=True, slots=True)
class TokenView:
    """A token as it may be shown: never its secret."""

    id: str
    person: str
    made_at: int
    expires_at: int
    revoked_at: int | None
    used_at: int | None

    def is_valid(self, now: int) -> bool:
        """Whether it still opens anything."""
        return self.revoked_at is None and now < self.expires_at


@dataclass(frozen=True, slots=True)
class Session:
    """A browser that signed in with a token. It ends with its token."""

    person: Person
    form_key: str
    """Stands in every form, so that another site's form is refused."""


@dataclass(frozen=True, slots=True)
class AccountEvent:
    """Something that was done to an account, for the audit trail."""

    at: int
    by: str
    what: str
    person: str


class KeyState(StrEnum):
    """What is known of an idempotency key when a request comes with it."""

    NEW = "new"  # never seen: written down now
    SAME = "same"  # seen with this request, about this state of the data
    OTHER_REQUEST = "other request"
    OTHER_DATA = "other data"


@dataclass(frozen=True, slots=True)
class SavedQuestion:
    """A question that somebody keeps."""

    id: int
    dataset: str
    title: str
    sql: str
