"""`connect`: a service, with the same `ask` as a curator or a release that is open here."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from discreet.artifacts.answers import Answers
from discreet.client.answers import answers_in
from discreet.client.transport import HttpTransport, Transport, Unreachable
from discreet.errors import BadBudget, BadInput
from discreet.privacy.budget import Budget

TRIES = 3
"""A question that gets no answer is sent again, with the same key: it is charged at most once."""


def connect(url: str, token: str | None = None) -> Service:
    """A service at `url`. Public releases need no token. Nothing is sent before something is asked."""
    return Service(HttpTransport(url, token), url)


class Service:
    """A curator's service. Thread safe: it keeps nothing that changes."""

    def __init__(self, transport: Transport, url: str = "") -> None:
        self._transport, self._url = transport, url

    def me(self) -> dict[str, str]:
        """The account behind the token: its name and role."""
        return dict(self._get("/api/v1/me"))

    def datasets(self) -> list[str]:
        """The names of the datasets that the account may ask live."""
        return [each["name"] for each in self._get("/api/v1/datasets")["datasets"]]

    def releases(self) -> list[str]:
        """The names of the releases."""
        return [each["name"] for each in self._get("/api/v1/releases")["releases"]]

    def dataset(self, name: str) -> RemoteDataset:
        """A dataset that is asked live."""
        return RemoteDataset(self._transport, name)

    def release(self, name: str) -> RemoteRelease:
        """A release that is asked at no cost."""
        return RemoteRelease(self._transport, name)

    def history(self, *, limit: int = 100) -> list[dict[str, Any]]:
        """The newest charges."""
        return list(self._get(f"/api/v1/history?limit={int(limit)}")["entries"])

    def _get(self, path: str) -> Any:
        return json.loads(self._transport.send("GET", path))

    def __repr__(self) -> str:
        return f"Service({self._url!r})"


class RemoteDataset:
    """A table that a service answers live questions about. Thread safe: it keeps nothing that changes."""

    def __init__(self, transport: Transport, name: str) -> None:
        self.name = name
        self._transport, self._path = transport, f"/api/v1/datasets/{quote(name, safe='')}"

    def ask(
        self,
        sql: str,
        *,
        budget: Budget | None = None,
        accuracy: str | float | None = None,
        confidence: float = 0.95,
        undeclared: Sequence[str] = (),
        key: str | None = None,
    ) -> Answers:
        """The answer to a question, charged once, also where it has to be sent again.

        `key` is the idempotency key; a new one is made where none is given.
        """
        body = _question(sql, budget, accuracy, confidence, undeclared)
        headers = {"Idempotency-Key": key or os.urandom(16).hex()}
        for last in (*[False] * (TRIES - 1), True):
            try:
                found = self._transport.send("POST", f"{self._path}/ask", body, headers)
                break
            except Unreachable:
                if last:
                    raise
        return answers_in(json.loads(found))

    def preview(
        self,
        sql: str,
        *,
        budget: Budget | None = None,
        accuracy: str | float | None = None,
        confidence: float = 0.95,
        undeclared: Sequence[str] = (),
    ) -> dict[str, Any]:
        """What `ask` would charge, and how wide its intervals would be. Nothing is read or charged."""
        body = _question(sql, budget, accuracy, confidence, undeclared)
        found: dict[str, Any] = json.loads(
            self._transport.send("POST", f"{self._path}/preview", body)
        )
        return found

    @property
    def left(self) -> Budget:
        """The exact budget that is left for the account's questions."""
        return Budget.from_dict(
            json.loads(self._transport.send("GET", f"{self._path}/left"))["left"]
        )

    def describe(self) -> dict[str, Any]:
        """Columns, unit, promise, and what is left in words."""
        found: dict[str, Any] = json.loads(self._transport.send("GET", self._path))
        return found

    def __repr__(self) -> str:
        return f"RemoteDataset({self.name!r})"

    def _repr_html_(self) -> str:
        return _html(self.describe(), "in_words")


class RemoteRelease:
    """A release that a service answers for. Thread safe: it keeps nothing that changes."""

    def __init__(self, transport: Transport, name: str) -> None:
        self.name = name
        self._transport, self._path = transport, f"/api/v1/releases/{quote(name, safe='')}"

    def ask(self, sql: str, *, confidence: float = 0.95) -> Answers:
        """The answer to a question, at no cost."""
        body = {"sql": sql, "confidence": confidence}
        return answers_in(json.loads(self._transport.send("POST", f"{self._path}/ask", body)))

    def describe(self) -> dict[str, Any]:
        """What it holds, whom it protects, and questions that it answers."""
        found: dict[str, Any] = json.loads(self._transport.send("GET", self._path))
        return found

    def verify(self) -> dict[str, Any]:
        """What the service recomputed from the file. To rely on nobody, download the file and verify it here."""
        found: dict[str, Any] = json.loads(self._transport.send("GET", f"{self._path}/verify"))
        return found

    def download(self, path: Path | str) -> Path:
        """The release file, for `open_release`. A file that is there is not overwritten."""
        place = Path(path)
        if place.exists():
            raise BadInput(f"{place} exists. Nothing was downloaded. Name another file.")
        place.write_bytes(self._transport.send("GET", f"{self._path}/file"))
        return place

    def __repr__(self) -> str:
        return f"RemoteRelease({self.name!r})"

    def _repr_html_(self) -> str:
        return _html(self.describe(), "promise")


def _question(
    sql: str,
    budget: Budget | None,
    accuracy: str | float | None,
    confidence: float,
    undeclared: Sequence[str],
) -> dict[str, Any]:
    if budget is not None and not isinstance(budget, Budget):
        raise BadBudget(f"The budget must be a Budget, not {type(budget).__name__}.")
    return {
        "sql": sql,
        "budget": None if budget is None else budget.to_dict(),
        "accuracy": None if accuracy is None else str(accuracy),
        "confidence": confidence,
        "undeclared": [undeclared] if isinstance(undeclared, str) else list(undeclared),
    }


def _html(described: dict[str, Any], words: str) -> str:
    from html import escape

    rows = "".join(
        f"<tr><td>{escape(str(each['name']))}</td><td>{escape(str(each['kind']))}</td>"
        f"<td>{escape(str(each.get('described', each.get('values', ''))))}</td></tr>"
        for each in described["columns"]
    )
    said = "".join(f"<p>{escape(str(line))}</p>" for line in described.get(words, ()))
    return (
        f"<p><b>{escape(str(described.get('title', described['name'])))}</b></p>{said}"
        f"<table><tr><th>column</th><th>kind</th><th>values</th></tr>{rows}</table>"
    )
