"""Accounts in one SQLite file.

Nothing here is needed to keep the privacy promise: charges and caps are the ledger's. So a write
that a power cut loses costs at most a new sign-in, or an idempotency key whose question the ledger
still knows.
"""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from discreet.errors import BadInput
from discreet.service.accounts import tokens
from discreet.service.accounts.people import AccountEvent, Person, Role, Session, TokenView
from discreet.service.accounts.protocol import KeyState, SavedQuestion

FORMAT = 1
SESSION_SECONDS = 12 * 3600
KEY_SECONDS = 30 * 24 * 3600
MOST_KEYS = 10_000
"""Idempotency keys that are kept for a person; the oldest go first."""
CLAIMS_BETWEEN_CLEANINGS = 256
MOST_QUESTIONS = 200
LONGEST_DAYS = 3650

_TABLES = """
CREATE TABLE person (name TEXT PRIMARY KEY, role TEXT NOT NULL, revoked_at INTEGER) STRICT;
CREATE TABLE token (
    id TEXT PRIMARY KEY, person TEXT NOT NULL REFERENCES person, digest TEXT NOT NULL,
    made_at INTEGER NOT NULL, expires_at INTEGER NOT NULL, revoked_at INTEGER, used_at INTEGER
) STRICT;
CREATE TABLE session (
    digest TEXT PRIMARY KEY, token TEXT NOT NULL REFERENCES token, form_key TEXT NOT NULL,
    expires_at INTEGER NOT NULL
) STRICT;
CREATE TABLE idempotency (
    person TEXT NOT NULL, key TEXT NOT NULL, request TEXT NOT NULL, version TEXT NOT NULL,
    at INTEGER NOT NULL, PRIMARY KEY (person, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX idempotency_age ON idempotency (person, at);
CREATE TABLE question (
    id INTEGER PRIMARY KEY, person TEXT NOT NULL, dataset TEXT NOT NULL, title TEXT NOT NULL,
    sql TEXT NOT NULL
) STRICT;
CREATE TABLE event (
    id INTEGER PRIMARY KEY, at INTEGER NOT NULL, by TEXT NOT NULL, what TEXT NOT NULL,
    person TEXT NOT NULL
) STRICT;
"""

_TOKEN_COLUMNS = "id, person, made_at, expires_at, revoked_at, used_at"


class SqliteAccounts:
    """The `Accounts` of one node. Thread safe: one statement at a time, and for several processes."""

    def __init__(self, path: Path, *, clock: Callable[[], float] = time.time) -> None:
        self.path, self._clock = path, clock
        self._lock = threading.Lock()
        self._claimed = 0
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        if not path.exists():
            path.touch(mode=0o600)
        self._connection = sqlite3.connect(
            path, timeout=30, isolation_level=None, check_same_thread=False
        )
        self._connection.execute("PRAGMA journal_mode = WAL")
        self._connection.execute("PRAGMA synchronous = NORMAL")
        self._connection.execute("PRAGMA foreign_keys = ON")
        with self._writing() as write:
            (version,) = write("PRAGMA user_version").fetchone()
            if version == 0:
                for statement in filter(str.strip, _TABLES.split(";")):
                    write(statement)
                write(f"PRAGMA user_version = {FORMAT}")
            elif version != FORMAT:
                raise BadInput(
                    f"The accounts in {path} were written by another version of discreet (format "
                    f"{version}, this one reads {FORMAT}). Nothing was changed."
                )

    @contextmanager
    def _writing(self) -> Iterator[Callable[..., sqlite3.Cursor]]:
        """One transaction that no other writer can interleave with."""
        with self._lock:
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield self._connection.execute
            except BaseException:
                self._connection.execute("ROLLBACK")
                raise
            self._connection.execute("COMMIT")

    def _read(self, statement: str, *values: Any) -> list[tuple[Any, ...]]:
        with self._lock:
            return self._connection.execute(statement, values).fetchall()

    @property
    def _now(self) -> int:
        return int(self._clock())

    # People

    def add(self, name: str, role: Role, *, by: str) -> Person:
        if not _is_name(name):
            raise BadInput(
                "An account's name has 1 to 60 letters, digits, dots, hyphens, underscores or @, such as "
                "'ann' or 'ann@example.org'. No account was made."
            )
        with self._writing() as write:
            if write("SELECT 1 FROM person WHERE name = ?", (name,)).fetchone():
                raise BadInput(
                    f"There is an account {name!r} already. Names are not used twice, because the ledger "
                    "records charges under them. No account was made."
                )
            write("INSERT INTO person VALUES (?, ?, NULL)", (name, role.value))
            self._note(write, by, f"added as {role.value}", name)
        return Person(name, role)

    def person(self, name: str) -> Person | None:
        found = self._read("SELECT name, role, revoked_at FROM person WHERE name = ?", name)
        return _person(found[0]) if found else None

    def people(self) -> Sequence[Person]:
        return [
            _person(row)
            for row in self._read("SELECT name, role, revoked_at FROM person ORDER BY name")
        ]

    # Tokens

    def issue(self, name: str, *, days: int, by: str) -> str:
        if not 1 <= days <= LONGEST_DAYS:
            raise BadInput(
                f"A token is valid for 1 to {LONGEST_DAYS} days, not {days}. None was made."
            )
        person = self.person(name)
        if person is None or person.is_revoked:
            raise BadInput(f"There is no active account {name!r}. No token was made.")
        token_id, token = tokens.new_token()
        with self._writing() as write:
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
        where, values = ("", ()) if name is None else (" WHERE person = ?", (name,))
        return [
            TokenView(*row)
            for row in self._read(
                f"SELECT {_TOKEN_COLUMNS} FROM token{where} ORDER BY made_at DESC, id", *values
            )
        ]

    def revoke_token(self, token_id: str, *, by: str) -> None:
        with self._writing() as write:
            found = write("SELECT person FROM token WHERE id = ?", (token_id,)).fetchone()
            if found is None:
                raise BadInput(f"There is no token {token_id[:20]!r}. Nothing was changed.")
            write(
                "UPDATE token SET revoked_at = coalesce(revoked_at, ?) WHERE id = ?",
                (self._now, token_id),
            )
            write("DELETE FROM session WHERE token = ?", (token_id,))
            self._note(write, by, f"token {token_id} revoked", found[0])

    def revoke(self, name: str, *, by: str) -> None:
        with self._writing() as write:
            if not write("SELECT 1 FROM person WHERE name = ?", (name,)).fetchone():
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
        found = self._valid_token(token)
        return None if found is None else found[1]

    def _valid_token(self, token: str) -> tuple[str, Person] | None:
        name = tokens.name_in(token)
        found = self._read(
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
            with self._writing() as write:
                write("UPDATE token SET used_at = ? WHERE id = ?", (now, name))
        return name, Person(person, Role(role))

    # Sessions

    def sign_in(self, token: str) -> str | None:
        found = self._valid_token(token)
        if found is None:
            return None
        cookie, now = tokens.new_secret(), self._now
        with self._writing() as write:
            write("DELETE FROM session WHERE expires_at <= ?", (now,))
            write(
                "INSERT INTO session VALUES (?, ?, ?, ?)",
                (tokens.digest_of(cookie), found[0], tokens.new_secret(), now + SESSION_SECONDS),
            )
        return cookie

    def session(self, cookie: str) -> Session | None:
        found = self._read(
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
        with self._writing() as write:
            write("DELETE FROM session WHERE digest = ?", (tokens.digest_of(cookie),))

    # Idempotency keys

    def claim_key(self, person: str, key: str, *, request: str, version: str) -> KeyState:
        with self._writing() as write:
            found = write(
                "SELECT request, version FROM idempotency WHERE person = ? AND key = ?",
                (person, key),
            ).fetchone()
            if found is None:
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
                    "idempotency WHERE person = ? ORDER BY at DESC LIMIT -1 OFFSET ?))",
                    (person, now - KEY_SECONDS, person, MOST_KEYS),
                )
                return KeyState.NEW
        if found[0] != request:
            return KeyState.OTHER_REQUEST
        return KeyState.SAME if found[1] == version else KeyState.OTHER_DATA

    # Saved questions

    def save_question(self, person: str, *, dataset: str, title: str, sql: str) -> None:
        with self._writing() as write:
            write(
                "INSERT INTO question (person, dataset, title, sql) VALUES (?, ?, ?, ?)",
                (person, dataset, title, sql),
            )
            write(
                "DELETE FROM question WHERE person = ? AND id IN (SELECT id FROM question WHERE person = ? "
                "ORDER BY id DESC LIMIT -1 OFFSET ?)",
                (person, person, MOST_QUESTIONS),
            )

    def saved_questions(self, person: str, dataset: str) -> Sequence[SavedQuestion]:
        rows = self._read(
            "SELECT id, dataset, title, sql FROM question WHERE person = ? AND dataset = ? ORDER BY id DESC",
            person,
            dataset,
        )
        return [SavedQuestion(*row) for row in rows]

    def drop_question(self, person: str, question: int) -> None:
        with self._writing() as write:
            write("DELETE FROM question WHERE person = ? AND id = ?", (person, question))

    # The audit trail

    def _note(self, write: Callable[..., sqlite3.Cursor], by: str, what: str, person: str) -> None:
        write(
            "INSERT INTO event (at, by, what, person) VALUES (?, ?, ?, ?)",
            (self._now, by, what, person),
        )

    def events(self) -> Sequence[AccountEvent]:
        rows = self._read("SELECT at, by, what, person FROM event ORDER BY id DESC LIMIT 1000")
        return [AccountEvent(*row) for row in rows]

    def is_ready(self) -> bool:
        try:
            return bool(self._read("SELECT 1"))
        except sqlite3.Error:
            return False

    def backup_to(self, path: Path) -> None:
        """A consistent copy, also while the service runs."""
        path.touch(mode=0o600)
        with self._lock:
            copy = sqlite3.connect(path)
            try:
                self._connection.backup(copy)
            finally:
                copy.close()

    def close(self) -> None:
        with self._lock:
            self._connection.close()


def _person(row: tuple[Any, ...]) -> Person:
    name, role, revoked_at = row
    return Person(name, Role(role), revoked_at is not None)


def _is_name(name: str) -> bool:
    return 0 < len(name) <= 60 and name.isascii() and all(c.isalnum() or c in ".-_@" for c in name)
