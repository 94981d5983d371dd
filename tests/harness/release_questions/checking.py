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
        number = round(float(value), 6)
        return str(int(number)) if number == int(number) else str(number)
    return str(value)


def number_of(value: Any) -> float | None:
    """A true value as a number: of a date the days since 1970."""
    if value is None:
        return None
    if isinstance(value, datetime):
        return (value - _EPOCH).total_seconds() * 1e6
    if isinstance(value, date):
        return float((value - _EPOCH.date()).days)
    found = float(value)
    return (
        found if math.isfinite(found) else None
    )  # DuckDB divides by 0; SQL has no number for that


def own_rows(answers: Answers) -> list[tuple[Any, ...]]:
    axes = range(len(answers.groups))
    return [
        tuple(key_of(answers.value(axis, int(answers.codes[place, axis]))) for axis in axes)
        for place in range(len(answers))
    ]


def wrong_shape(answers: Answers, statement: Statement) -> Iterator[str]:
    """Findings that need no truth."""
    names = [f"k{place}" for place in range(statement.keys)]
    shown = [f"a{n}" for n in range(len(statement.numbers))]
    plain = [
        name for name in answers.groups if name in shown
    ]  # what no noise is in is a plain value
    if list(answers.groups) != [*names, *plain]:
        yield f"the groups are called {answers.groups}"
    if [column.name for column in answers.columns] != [each for each in shown if each not in plain]:
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
        if np.any(lower[known] > estimate[known] + slack) or np.any(
            upper[known] < estimate[known] - slack
        ):
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
    answers: Answers, statement: Statement, truths: Sequence[Sequence[tuple[Any, ...]]]
) -> tuple[str, str] | None:
    """Where the truth is not in an interval, or a group is missing.

    There are several truths where the schema leaves rows out: a number may be about any of these sets of rows.
    """
    places = {key[: statement.keys]: place for place, key in enumerate(own_rows(answers))}
    every = [
        {tuple(map(key_of, row[: statement.keys])): row[statement.keys :] for row in rows}
        for rows in truths
    ]
    if not statement.chooses:
        for key in set.intersection(*(set(each) for each in every)):
            if key not in places and not _says_so(answers, key):
                return "missing group", f"{key} is not among {list(places)[:6]}"
    if statement.order and not statement.chooses and len(truths) == 1:
        wrong = _wrong_order(statement, list(places), every[0])
        if wrong is not None:
            return "order", wrong
    for key, place in places.items():
        for column in answers.columns:
            number = int(column.name[1:])
            text = statement.numbers[number]
            if len(truths) > 1 and _is_of_several(text):
                continue  # each of its numbers may be about rows of its own, as notes say
            wanted = [_wanted(true.get(key), number, text, statement) for true in every]
            lower, upper = float(column.lower[place]), float(column.upper[place])
            if any(
                each is None or lower - _slack(each) <= each <= upper + _slack(each)
                for each in wanted
            ):
                continue
            kind = "model" if column.covers is Covers.NOISE_AND_MODEL else "outside"
            return kind, (
                f"{text} of {key} is {wanted}, answered {column.estimate[place]} "
                f"[{lower}, {upper}] {column.covers.value}"
            )
    return None


def _wrong_order(
    statement: Statement, own: list[tuple[Any, ...]], true: dict[tuple[Any, ...], Any]
) -> str | None:
    """Whether groups come in another order than in the truth, which lists no group without rows."""
    if statement.order.startswith("a"):
        return None  # estimates decide, and even the smallest interval leaves some orders open
    axis = int(statement.order[1:])
    shown, wanted = (
        list(dict.fromkeys(key[axis] for key in keys))
        for keys in ([key for key in own if key in true], [key for key in true if key in set(own)])
    )
    return None if shown == wanted else f"ordered by {statement.order}: {shown}, not {wanted}"


def _is_of_several(text: str) -> bool:
    return any(sign in text for sign in (" / ", " + ", " - ", "CASE WHEN count(*)", " OVER "))


def _says_so(answers: Answers, key: tuple[Any, ...]) -> bool:
    """Whether a note says that such a group is missing: trees count values only."""
    is_special = None in key or "(other)" in key
    return is_special and any(
        "are not counted" in note or "left out" in note for note in answers.notes
    )


def leaves_others_out(answers: Answers) -> bool:
    return any(note.startswith("Values outside the declared domain") for note in answers.notes)


def _wanted(
    own: tuple[Any, ...] | None, number: int, text: str, statement: Statement
) -> float | None:
    if own is not None:
        return number_of(own[number])
    is_count = text.startswith("count(") and not _is_of_several(text)
    return 0.0 if is_count and not statement.chooses else None


def _slack(number: float) -> float:
    return 1e-6 * (1 + abs(number))


def numbers(answers: Answers) -> list[Any]:
    """All that is said, for comparing two ways to ask."""
    return [
        own_rows(answers),
        *([c.estimate.tolist(), c.lower.tolist(), c.upper.tolist()] for c in answers.columns),
    ]


def alike(one: Answers, other: Answers) -> bool:
    left, right = numbers(one), numbers(other)
    if left[0] != right[0] or len(left) != len(right):
        return False
    return all(
        np.allclose(a, b, rtol=1e-9, atol=1e-9, equal_nan=True)
        for ours, theirs in zip(left[1:], right[1:], strict=True)
        for a, b in zip(ours, theirs, strict=True)
    )
