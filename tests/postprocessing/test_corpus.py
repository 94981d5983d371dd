"""Ordinary SQL means here what it means to DuckDB: with the noise off, the answers are the same.

Groups that the schema declares and no row is in are listed here, and not by DuckDB: they must be empty.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable
from typing import Any

import pytest

from discreet.artifacts.answers import Answers
from discreet.questions.cells.values import Span
from tests.postprocessing.corpus import CORPUS

CASES = [
    pytest.param(sql, id=f"{name}: {sql[:90]}") for name, all_of in CORPUS.items() for sql in all_of
]


def rows_of(answers: Answers) -> list[tuple[Any, ...]]:
    """Plain rows, in the order of the answer: labels first, then numbers."""
    found = []
    for place in range(len(answers)):
        labels = [
            answers.value(axis, int(answers.codes[place, axis]))
            for axis in range(len(answers.groups))
        ]
        numbers = [column.unit.of(float(column.estimate[place])) for column in answers.columns]
        found.append(tuple(map(plain, [*labels, *numbers])))
    return found


def plain(value: Any) -> Any:
    if isinstance(value, Span):
        return plain(value.first)
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, datetime.date):
        return value.isoformat()[:10]
    if isinstance(value, (int, float)) or hasattr(value, "as_tuple"):
        number = float(value)
        return None if math.isnan(number) else round(number, 6)
    return "(other)" if str(value).lower().startswith(("!fir", "!x")) else str(value)


def bag(row: tuple[Any, ...]) -> tuple[str, ...]:
    """A row whatever the order of its columns."""
    return tuple(sorted(map(repr, row)))


def check(found: Answers, wanted: list[tuple[Any, ...]], sql: str) -> None:
    mine = rows_of(found)
    theirs = [tuple(map(plain, row)) for row in wanted]
    left = [bag(row) for row in mine]
    for row in theirs:
        assert bag(row) in left, (row, mine[:20])
        left.remove(bag(row))
    for row in left:  # declared groups without rows
        assert any(value in ("0.0", "None", "False", "'small'", "'(other)'") for value in row), (
            row,
            theirs,
        )
    is_open = any(
        "the noise hides the place" in note for note in found.notes
    )  # the noise that there would be
    if "ORDER BY" in sql and "OVER" not in sql and not left and not is_open:
        assert [bag(row) for row in mine] == [bag(row) for row in theirs]


@pytest.mark.parametrize("sql", CASES)
def test_a_release_without_noise_answers_as_duckdb_does(
    sql: str, exact_release: Callable[[str], Answers], truth: Callable[[str], list[tuple[Any, ...]]]
) -> None:
    check(exact_release(sql), truth(sql), sql)


@pytest.mark.parametrize("sql", CASES)
def test_a_curator_without_noise_answers_as_duckdb_does(
    sql: str, exact_curator: Callable[[str], Answers], truth: Callable[[str], list[tuple[Any, ...]]]
) -> None:
    check(exact_curator(sql), truth(sql), sql)
