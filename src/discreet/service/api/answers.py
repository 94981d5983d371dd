"""An answer as JSON: its rows, and what the groups' labels stand for in their own types."""

from __future__ import annotations

from datetime import date, datetime
from typing import Any

import numpy as np

from discreet.artifacts.answers import Answers


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
        if isinstance(value, datetime):
            kind, found[label] = "datetime", value.isoformat()
        elif isinstance(value, date):
            kind, found[label] = "date", value.isoformat()
        elif value is None or isinstance(value, (bool, int, float, str)):
            found[label] = value  # a cell of several values keeps its label
    return {"type": kind, "values": found}
