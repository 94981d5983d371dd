"""What the service needs of a store of accounts. SQLite keeps it on one node; another store may follow."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol


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


class Accounts(Protocol):
    """People, tokens, sessions, idempotency keys and saved questions. Thread safe."""

    def add(self, name: str, role: Role, *, by: str) -> Person:
        """A new person; `BadInput` if the name is taken, revoked people included."""
        ...

    def person(self, name: str) -> Person | None:
        """The person of that name."""
        ...

    def people(self) -> Sequence[Person]:
        """Everybody, by name."""
        ...

    def issue(self, name: str, *, days: int, by: str) -> str:
        """A new token for a person. This is the only time that it can be seen."""
        ...

    def tokens(self, name: str | None = None) -> Sequence[TokenView]:
        """A person's tokens, or everybody's, newest first."""
        ...

    def revoke_token(self, token_id: str, *, by: str) -> None:
        """End a token and every session that it opened."""
        ...

    def revoke(self, name: str, *, by: str) -> None:
        """End a person's account, tokens and sessions. What the person spent stays in the ledger."""
        ...

    def by_token(self, token: str) -> Person | None:
        """Whose token it is; None if it is unknown, wrong, expired or revoked."""
        ...

    def sign_in(self, token: str) -> str | None:
        """Open a session with a token; its cookie's value, or None as for `by_token`."""
        ...

    def session(self, cookie: str) -> Session | None:
        """The session of a cookie, while it and its token are valid."""
        ...

    def sign_out(self, cookie: str) -> None:
        """End a session."""
        ...

    def claim_key(self, person: str, key: str, *, request: str, version: str) -> KeyState:
        """Bind an idempotency key to a person, a request and a state of the data, or say what it is bound to."""
        ...

    def save_question(self, person: str, *, dataset: str, title: str, sql: str) -> None:
        """Keep a question."""
        ...

    def saved_questions(self, person: str, dataset: str) -> Sequence[SavedQuestion]:
        """A person's kept questions about a dataset, newest first."""
        ...

    def drop_question(self, person: str, question: int) -> None:
        """Forget a kept question."""
        ...

    def events(self) -> Sequence[AccountEvent]:
        """What was done to accounts, newest first."""
        ...

    def is_ready(self) -> bool:
        """Whether the store answers."""
        ...

    def close(self) -> None:
        """Close the store."""
        ...
