"""Answers as a service sends them, made into `Answers` again."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime
from typing import Any

import numpy as np

from discreet.artifacts.answer import Covers, Unit
from discreet.artifacts.answers import AnswerColumn, Answers
from discreet.errors import BadInput
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
