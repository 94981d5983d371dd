"""What must hold for the answers to a statement: that they hold the truth, and that they agree with one another."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import numpy as np

from discreet.artifacts.answer import Covers
from discreet.artifacts.answers import Answers
from discreet.questions.cells.values import Span
from tests.harness.release_questions.statements import Statement

_EPOCH = datetime(1970, 1, 1)


def key_of(value: Any) -> Any:
    """A group's value, alike from both sides."""
    if value is None:
        return None
    if isinstance(value, Span):
        return value.label
    if isinstance(value, (bool, np.bool_)):
        return str(bool(value)).lower()
    if isinstance(value, datetime):
        return value.isoformat()[:10] if value.time() == _EPOCH.time() else value.isoformat()
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, (int, float, Decimal, np.number)):
        return round(float(value), 6)
    return str(value)


def number_of(value: Any, unit: Any) -> float | None:
    """A true value, in the unit of the answer."""
    if value is None:
        return None
    if isinstance(value, datetime):
        return (value - _EPOCH).total_seconds() * 1e6
    if isinstance(value, date):
        return float((value - _EPOCH.date()).days)
    found = float(value)
    return None if math.isnan(found) else found


def own_rows(answers: Answers) -> list[tuple[Any, ...]]:
    axes = range(len(answers.groups))
    return [
        tuple(key_of(answers.value(axis, int(answers.codes[place, axis]))) for axis in axes)
        for place in range(len(answers))
    ]


def wrong_shape(answers: Answers, statement: Statement) -> Iterator[str]:
    """Findings that need no truth."""
    names = [f"k{place}" for place in range(statement.keys)]
    if list(answers.groups) != names:
        yield f"the groups are called {answers.groups}"
    if [column.name for column in answers.columns] != [f"a{n}" for n in range(len(statement.numbers))]:
        yield f"the numbers are called {[column.name for column in answers.columns]}"
    if not statement.keys and len(answers) != 1:
        yield f"{len(answers)} rows without GROUP BY"
    keys = own_rows(answers)
    if len(set(keys)) != len(keys):
        yield "a group is listed twice"
    for column in answers.columns:
        estimate, lower, upper = column.estimate, column.lower, column.upper
        known = ~np.isnan(estimate)
        slack = 1e-9 * (1 + np.abs(estimate[known]))
        if np.any(lower[known] > estimate[known] + slack) or np.any(upper[known] < estimate[known] - slack):
            yield f"an estimate of {column.name} is outside of its own interval"
        if np.any(lower > upper):
            yield f"an interval of {column.name} ends before it begins"
    try:
        json.loads(json.dumps(answers.to_dict(), allow_nan=False))
        str(answers)
        answers.to_columns()
        answers.to_arrow()
    except Exception as error:
        yield f"it cannot be shown: {type(error).__name__}: {error}"


def wrong_numbers(
    answers: Answers, statement: Statement, rows: Sequence[tuple[Any, ...]], *, steps: float, is_exact: bool
) -> Iterator[tuple[str, str]]:
    """Where the truth is not in an interval, or a group is missing."""
    places = {key: place for place, key in enumerate(own_rows(answers))}
    true = {tuple(map(key_of, row[: statement.keys])): row[statement.keys :] for row in rows}
    if not statement.chooses:
        for key in true:
            if key not in places:
                yield "missing group", f"{key} is not among {list(places)[:6]}"
                return
    for key, place in places.items():
        own = true.get(key)
        for number, column in enumerate(answers.columns):
            lower, upper = float(column.lower[place]), float(column.upper[place])
            if own is None:
                if statement.chooses or not statement.numbers[number].startswith("count("):
                    continue
                wanted: float | None = 0.0
            else:
                wanted = number_of(own[number], column.unit)
            if wanted is None:
                continue
            slack = steps + 1e-6 * (1 + abs(wanted))
            if not (lower - slack <= wanted <= upper + slack):
                kind = "model" if column.covers is Covers.NOISE_AND_MODEL else "outside"
                yield kind, (
                    f"{statement.numbers[number]} of {key} is {wanted}, answered {column.estimate[place]} "
                    f"[{lower}, {upper}] {column.covers.value}"
                )
                return
            exactly = is_exact and column.covers is Covers.NOISE and lower == upper
            if exactly and abs(float(column.estimate[place]) - wanted) > slack:
                yield "estimate", f"{statement.numbers[number]} of {key} is {wanted}, answered {column.estimate[place]}"
                return


def numbers(answers: Answers) -> list[Any]:
    """All that is said, for comparing two ways to ask."""
    return [own_rows(answers), *([c.estimate.tolist(), c.lower.tolist(), c.upper.tolist()] for c in answers.columns)]


def alike(one: Answers, other: Answers) -> bool:
    left, right = numbers(one), numbers(other)
    if left[0] != right[0] or len(left) != len(right):
        return False
    return all(
        np.allclose(a, b, rtol=1e-9, atol=1e-9, equal_nan=True)
        for ours, theirs in zip(left[1:], right[1:], strict=True)
        for a, b in zip(ours, theirs, strict=True)
    )
