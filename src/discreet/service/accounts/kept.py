"""Accounts in a database: the same statements for a file of SQLite and for PostgreSQL.

Nothing here is needed to keep the privacy promise: charges and caps are the ledger's. So a write
that a power cut loses costs at most a new sign-in, or an idempotency key whose question the ledger
still knows. What ends a token, a session or an account waits for the disk: else it would be valid again.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

from discreet.errors import BadInput
from discreet.service.accounts import tokens
from discreet.service.accounts.people import (
    AccountEvent,
    KeyState,
    Person,
    Role,
    SavedQuestion,
    Session,
    TokenView,
)

FORMAT = 1
SESSION_SECONDS = 12 * 3600
KEY_SECONDS = 30 * 24 * 3600
MOST_KEYS = 10_000
"""Idempotency keys that are kept for a person; the oldest go first."""
CLAIMS_BETWEEN_CLEANINGS = 256
MOST_QUESTIONS = 200
LONGEST_DAYS = 3650

TABLES = (
    "CREATE TABLE person (name TEXT PRIMARY KEY, role TEXT NOT NULL, revoked_at {whole})",
    """CREATE TABLE token (
    id TEXT PRIMARY KEY, person TEXT NOT NULL REFERENCES person, digest TEXT NOT NULL,
    made_at {whole} NOT NULL, expires_at {whole} NOT NULL, revoked_at {whole}, used_at {whole}
)""",
    """CREATE TABLE session (
    digest TEXT PRIMARY KEY, token TEXT NOT NULL REFERENCES token, form_key TEXT NOT NULL,
    expires_at {whole} NOT NULL
)""",
    """CREATE TABLE idempotency (
    person TEXT NOT NULL, key TEXT NOT NULL, request TEXT NOT NULL, version TEXT NOT NULL,
    at {whole} NOT NULL, PRIMARY KEY (person, key)
)""",
    "CREATE INDEX idempotency_age ON idempotency (person, at)",
    """CREATE TABLE question (
    id {number}, person TEXT NOT NULL, dataset TEXT NOT NULL, title TEXT NOT NULL, sql TEXT NOT NULL
)""",
    """CREATE TABLE event (
    id {number}, at {whole} NOT NULL, by TEXT NOT NULL, what TEXT NOT NULL, person TEXT NOT NULL
)""",
)
"""`whole` is a type of whole numbers, `number` one that counts by itself."""
_EVERY = 2**62
"""As many rows as there are, for LIMIT."""

_TOKEN_COLUMNS = "id, person, made_at, expires_at, revoked_at, used_at"

Run = Callable[..., list[tuple[Any, ...]]]
"""Takes a statement with ? for its values, and the values; gives the rows."""


class Database(Protocol):
    """Where accounts are kept. Thread safe."""

    def writing(self, *, lasting: bool = False) -> AbstractContextManager[Run]:
        """One transaction that no other writer can interleave with, on any machine; if `lasting`, no power cut undoes it."""
        ...

    def read(self, statement: str, *values: Any) -> list[tuple[Any, ...]]:
        """The rows of a statement."""
        ...

    def is_ready(self) -> bool:
        """Whether it answers."""
        ...

    def close(self) -> None:
        """Close it."""
        ...


class Accounts:
    """People, tokens, sessions, idempotency keys and saved questions in a database.

    Thread safe: one transaction at a time, also for several processes.
    """

    def __init__(self, database: Database, *, clock: Callable[[], float] = time.time) -> None:
        self.database, self._clock = database, clock
        self._claimed = 0

    @property
    def _now(self) -> int:
        return int(self._clock())

    # People

    def add(self, name: str, role: Role, *, by: str) -> Person:
        """A new person; `BadInput` if the name is taken, revoked people included."""
        if not _is_name(name):
            raise BadInput(
                "An account's name has 1 to 60 letters, digits, dots, hyphens, underscores or @, such as "
                "'ann' or 'ann@example.org'. No account was made."
            )
        with self.database.writing() as write:
            if write("SELECT 1 FROM person WHERE name = ?", (name,)):
                raise BadInput(
                    f"There is an account {name!r} already. Names are not used twice, because the ledger "
                    "records charges under them. No account was made."
                )
            write("INSERT INTO person VALUES (?, ?, NULL)", (name, role.value))
            self._note(write, by, f"added as {role.value}", name)
        return Person(name, role)

    def person(self, name: str) -> Person | None:
        """The person of that name."""
        found = self.database.read("SELECT name, role, revoked_at FROM person WHERE name = ?", name)
        return _person(found[0]) if found else None

    def people(self) -> Sequence[Person]:
        """Everybody, by name."""
        return [
            _person(row)
            for row in self.database.read("SELECT name, role, revoked_at FROM person ORDER BY name")
        ]

    # Tokens

    def issue(self, name: str, *, days: int, by: str) -> str:
        """A new token for a person. This is the only time that it can be seen."""
        if not 1 <= days <= LONGEST_DAYS:
            raise BadInput(
                f"A token is valid for 1 to {LONGEST_DAYS} days, not {days}. None was made."
            )
        person = self.person(name)
        if person is None or person.is_revoked:
            raise BadInput(f"There is no active account {name!r}. No token was made.")
        token_id, token = tokens.new_token()
        with self.database.writing() as write:
            now = self._now
            write(
                "INSERT INTO token VALUES (?, ?, ?, ?, ?, NULL, NULL)",
                (token_id, name, tokens.digest_of(token), now, now + days * 86_400),
            )
            self._note(
                write,
                by,
                f"token {token_id} issued, valid for {days} day{'' if days == 1 else 's'}",
                name,
            )
        return token

    def tokens(self, name: str | None = None) -> Sequence[TokenView]:
        """A person's tokens, or everybody's, newest first."""
        where, values = ("", ()) if name is None else (" WHERE person = ?", (name,))
        return [
            TokenView(*row)
            for row in self.database.read(
                f"SELECT {_TOKEN_COLUMNS} FROM token{where} ORDER BY made_at DESC, id", *values
            )
        ]

    def revoke_token(self, token_id: str, *, by: str) -> None:
        """End a token and every session that it opened."""
        with self.database.writing(lasting=True) as write:
            found = write("SELECT person FROM token WHERE id = ?", (token_id,))
            if not found:
                raise BadInput(f"There is no token {token_id[:20]!r}. Nothing was changed.")
            write(
                "UPDATE token SET revoked_at = coalesce(revoked_at, ?) WHERE id = ?",
                (self._now, token_id),
            )
            write("DELETE FROM session WHERE token = ?", (token_id,))
            self._note(write, by, f"token {token_id} revoked", found[0][0])

    def revoke(self, name: str, *, by: str) -> None:
        """End a person's account, tokens and sessions. What the person spent stays in the ledger."""
        with self.database.writing(lasting=True) as write:
            if not write("SELECT 1 FROM person WHERE name = ?", (name,)):
                raise BadInput(f"There is no account {name[:60]!r}. Nothing was changed.")
            now = self._now
            write(
                "UPDATE person SET revoked_at = coalesce(revoked_at, ?) WHERE name = ?", (now, name)
            )
            write(
                "DELETE FROM session WHERE token IN (SELECT id FROM token WHERE person = ?)",
                (name,),
            )
            write(
                "UPDATE token SET revoked_at = coalesce(revoked_at, ?) WHERE person = ?",
                (now, name),
            )
            self._note(write, by, "revoked", name)

    def by_token(self, token: str) -> Person | None:
        """Whose token it is; None if it is unknown, wrong, expired or revoked."""
        found = self._valid_token(token)
        return None if found is None else found[1]

    def _valid_token(self, token: str) -> tuple[str, Person] | None:
        name = tokens.name_in(token)
        found = self.database.read(
            "SELECT t.digest, t.expires_at, t.revoked_at, p.name, p.role, p.revoked_at, t.used_at "
            "FROM token t JOIN person p ON p.name = t.person WHERE t.id = ?",
            name or "",
        )
        if not found or name is None:
            return None
        digest, expires_at, revoked_at, person, role, person_revoked, used_at = found[0]
        now = self._now
        if not tokens.is_same(digest, token) or now >= expires_at:
            return None
        if revoked_at is not None or person_revoked is not None:
            return None
        if used_at is None or now - used_at >= 3600:  # to the hour: not a write for every request
            with self.database.writing() as write:
                write("UPDATE token SET used_at = ? WHERE id = ?", (now, name))
        return name, Person(person, Role(role))

    # Sessions

    def sign_in(self, token: str) -> str | None:
        """Open a session with a token; its cookie's value, or None as for `by_token`."""
        found = self._valid_token(token)
        if found is None:
            return None
        cookie, now = tokens.new_secret(), self._now
        with self.database.writing() as write:
            write("DELETE FROM session WHERE expires_at <= ?", (now,))
            write(
                "INSERT INTO session VALUES (?, ?, ?, ?)",
                (tokens.digest_of(cookie), found[0], tokens.new_secret(), now + SESSION_SECONDS),
            )
        return cookie

    def session(self, cookie: str) -> Session | None:
        """The session of a cookie, while it and its token are valid."""
        found = self.database.read(
            "SELECT s.form_key, p.name, p.role, p.revoked_at FROM session s "
            "JOIN token t ON t.id = s.token JOIN person p ON p.name = t.person "
            "WHERE s.digest = ? AND s.expires_at > ? AND t.expires_at > ? AND t.revoked_at IS NULL "
            "AND p.revoked_at IS NULL",
            tokens.digest_of(cookie),
            self._now,
            self._now,
        )
        if not found:
            return None
        form_key, *person = found[0]
        return Session(_person(tuple(person)), form_key)

    def sign_out(self, cookie: str) -> None:
        """End a session."""
        with self.database.writing(lasting=True) as write:
            write("DELETE FROM session WHERE digest = ?", (tokens.digest_of(cookie),))

    # Idempotency keys

    def claim_key(self, person: str, key: str, *, request: str, version: str) -> KeyState:
        """Bind an idempotency key to a person, a request and a state of the data, or say what it is bound to."""
        with self.database.writing() as write:
            found = write(
                "SELECT request, version FROM idempotency WHERE person = ? AND key = ?",
                (person, key),
            )
            if not found:
                now = self._now
                write(
                    "INSERT INTO idempotency VALUES (?, ?, ?, ?, ?)",
                    (person, key, request, version, now),
                )
                self._claimed += 1
                if self._claimed % CLAIMS_BETWEEN_CLEANINGS:
                    return KeyState.NEW
                write(
                    "DELETE FROM idempotency WHERE person = ? AND (at < ? OR key IN (SELECT key FROM "
                    "idempotency WHERE person = ? ORDER BY at DESC LIMIT ? OFFSET ?))",
                    (person, now - KEY_SECONDS, person, _EVERY, MOST_KEYS),
                )
                return KeyState.NEW
        if found[0][0] != request:
            return KeyState.OTHER_REQUEST
        return KeyState.SAME if found[0][1] == version else KeyState.OTHER_DATA

    # Saved questions

    def save_question(self, person: str, *, dataset: str, title: str, sql: str) -> None:
        """Keep a question."""
        with self.database.writing() as write:
            write(
                "INSERT INTO question (person, dataset, title, sql) VALUES (?, ?, ?, ?)",
                (person, dataset, title, sql),
            )
            write(
                "DELETE FROM question WHERE person = ? AND id IN (SELECT id FROM question WHERE person = ? "
                "ORDER BY id DESC LIMIT ? OFFSET ?)",
                (person, person, _EVERY, MOST_QUESTIONS),
            )

    def saved_questions(self, person: str, dataset: str) -> Sequence[SavedQuestion]:
        """A person's kept questions about a dataset, newest first."""
        rows = self.database.read(
            "SELECT id, dataset, title, sql FROM question WHERE person = ? AND dataset = ? ORDER BY id DESC",
            person,
            dataset,
        )
        return [SavedQuestion(*row) for row in rows]

    def drop_question(self, person: str, question: int) -> None:
        """Forget a kept question."""
        with self.database.writing() as write:
            write("DELETE FROM question WHERE person = ? AND id = ?", (person, question))

    # The audit trail

    def _note(self, write: Run, by: str, what: str, person: str) -> None:
        write(
            "INSERT INTO event (at, by, what, person) VALUES (?, ?, ?, ?)",
            (self._now, by, what, person),
        )

    def events(self) -> Sequence[AccountEvent]:
        """What was done to accounts, newest first."""
        rows = self.database.read(
            "SELECT at, by, what, person FROM event ORDER BY id DESC LIMIT 1000"
        )
        return [AccountEvent(*row) for row in rows]

    def is_ready(self) -> bool:
        """Whether the store answers."""
        return self.database.is_ready()

    def close(self) -> None:
        """Close the store."""
        self.database.close()


def _person(row: tuple[Any, ...]) -> Person:
    name, role, revoked_at = row
    return Person(name, Role(role), revoked_at is not None)


def _is_name(name: str) -> bool:
    return 0 < len(name) <= 60 and name.isascii() and all(c.isalnum() or c in ".-_@" for c in name)
