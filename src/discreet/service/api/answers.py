"""An answer as JSON: its rows, and what the groups' labels stand for in their own types."""

from __future__ import annotations

from datetime import date, datetime
from typing import Any

import numpy as np

from discreet.artifacts.answers import Answers, json_value
from discreet.questions.cells.values import Span


def answer_shape(answers: Answers) -> dict[str, Any]:
    """`Answers.to_dict`, with the groups' typed values beside it."""
    shape = answers.to_dict()
    shape["group_values"] = {
        name: _values(answers, axis) for axis, name in enumerate(answers.groups)
    }
    return shape


def _values(answers: Answers, axis: int) -> dict[str, Any]:
    kind = "plain"
    found: dict[str, Any] = {}
    for code in np.unique(answers.codes[:, axis]).tolist():
        label, value = answers.label(axis, code), answers.value(axis, code)
        if isinstance(value, Span):
            found[label] = {"first": json_value(value.first), "last": json_value(value.last)}
            value = value.first
        else:
            found[label] = json_value(value)
        if isinstance(value, date):
            kind = "datetime" if isinstance(value, datetime) else "date"
    return {"type": kind, "values": found}
