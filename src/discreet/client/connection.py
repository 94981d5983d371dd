"""`connect`: a service, with the same `ask` as a curator or a release that is open here."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from datetime import date, datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np

from discreet.artifacts.answer import Covers, Unit
from discreet.artifacts.answers import AnswerColumn, Answers
from discreet.client.transport import HttpTransport, Transport, Unreachable
from discreet.errors import BadBudget, BadInput
from discreet.privacy.budget import Budget
from discreet.questions.cells.values import Span

DAY, ORIGIN = date(1970, 1, 1), datetime(1970, 1, 1)


def answers_in(data: Mapping[str, Any]) -> Answers:
    """From the shape that a service sends: `Answers.to_dict`, and the groups' values in their own types."""
    try:
        return _answers(data)
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise BadInput(
            f"The service's answer is not understood ({type(error).__name__}). Is it another version?"
        ) from None


def _answers(data: Mapping[str, Any]) -> Answers:
    rows = data["rows"]
    groups = tuple(rows[0]["group"]) if rows else ()
    names = tuple(rows[0]["answers"]) if rows else ()
    labels: list[list[str]] = []
    typed: list[dict[str, object]] = [
        _typed(data.get("group_values", {}).get(name, {})) for name in groups
    ]
    codes = np.zeros((len(rows), len(groups)), dtype=np.int64)
    for axis, name in enumerate(groups):
        texts = [str(row["group"][name]) for row in rows]
        known = list(dict.fromkeys(texts))
        places = {text: place for place, text in enumerate(known)}
        codes[:, axis] = [places[text] for text in texts]
        labels.append(known)
    return Answers(
        groups=groups,
        codes=codes,
        label=lambda axis, code: labels[axis][code],
        typed=lambda axis, code: typed[axis].get(labels[axis][code], labels[axis][code]),
        columns=tuple(_column(name, [row["answers"][name] for row in rows]) for name in names),
        confidence=float(data["confidence"]),
        question=str(data.get("question", "")),
        notes=tuple(map(str, data.get("notes", ()))),
    )


def _typed(told: Mapping[str, Any]) -> dict[str, object]:
    """What each label stands for. JSON has no dates, so the service says where they are."""
    read: Any = {"date": date.fromisoformat, "datetime": datetime.fromisoformat}.get(
        told.get("type", ""), lambda value: value
    )

    def single(value: Any) -> Any:
        return read(value) if isinstance(value, str) and told["type"] != "plain" else value

    values: Mapping[str, Any] = told.get("values", {})
    return {
        label: Span(single(value["first"]), single(value["last"]), label)
        if isinstance(value, dict)
        else single(value)
        for label, value in values.items()
    }


def _column(name: str, answers: list[Mapping[str, Any]]) -> AnswerColumn:
    unit = next(
        (
            Unit.DATETIME if "T" in each["estimate"] else Unit.DATE
            for each in answers
            if isinstance(each["estimate"], str)
        ),
        Unit.COUNT if all(isinstance(each["estimate"], int) for each in answers) else Unit.NUMBER,
    )

    def numbers(field: str, missing: float) -> Any:
        return np.array([_number(each[field], missing) for each in answers], dtype=np.float64)

    return AnswerColumn(
        name=name,
        estimate=numbers("estimate", np.nan),
        lower=numbers("lower", -np.inf),
        upper=numbers("upper", np.inf),
        std=numbers("std", np.inf),
        covers=Covers(answers[0]["covers"]),
        unit=unit,
    )


def _number(value: Any, missing: float) -> float:
    """JSON has no infinity: an end that is not there is unbounded."""
    if value is None:
        return missing
    if isinstance(value, str):
        if "T" in value:
            return (datetime.fromisoformat(value) - ORIGIN).total_seconds() * 1e6
        return float((date.fromisoformat(value) - DAY).days)
    return float(value)


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
