"""Generated statements: with the noise off, a release and a curator answer as DuckDB does."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest

from discreet.artifacts.answers import Answers
from discreet.errors import DiscreetError
from tests.postprocessing.statements import Statements
from tests.postprocessing.test_corpus import plain as plain_value
from tests.postprocessing.test_corpus import rows_of

Ask = Callable[[str], Answers]
Truth = Callable[[str], list[tuple[Any, ...]]]
STATEMENTS, ANSWERED = 25, 8
"""In each test, and how many of them must at least be answered."""


def alike(one: Any, other: Any) -> bool:
    if isinstance(one, (int, float)) and isinstance(other, (int, float)):
        return math.isclose(float(one), float(other), rel_tol=1e-6, abs_tol=1e-6)
    return bool(one == other)


def agree(found: Any, wanted: Any) -> bool:
    """An aggregate over no row is null in SQL; here it is 0, or anything between the bounds."""
    return wanted is None or alike(found, wanted)


def compared(ask: Ask, truth: Truth, seed: int) -> tuple[int, list[object]]:
    """How many statements were answered, and each row of DuckDB's that is not among the answers."""
    answered, missed = 0, list[object]()
    made = Statements(seed)
    for sql in (made.statement() for _ in range(STATEMENTS)):
        try:
            answers = ask(sql)
        except DiscreetError:
            continue
        answered += 1
        found = [as_numbers(row) for row in rows_of(answers)]
        left_out = any(note.startswith("Groups of nulls") for note in answers.notes)
        for row in truth(sql):
            wanted = as_numbers(tuple(map(plain_value, row)))
            is_grouped = " GROUP BY " in sql
            near = [one for one in found if alike(one[0], wanted[0])] if is_grouped else found
            # A group that an aggregate's own condition rules out may be missing; then it is empty.
            if not near and (wanted[1] in (0, None) or left_out):
                continue
            if not any(all(map(agree, one, wanted)) for one in near):
                missed.append((sql, wanted, found[:12]))
    return answered, missed


def as_numbers(row: tuple[Any, ...]) -> tuple[Any, ...]:
    """The row, with truth values as 0 and 1."""
    return tuple(float(each) if isinstance(each, bool) else each for each in row)


@pytest.mark.parametrize("seed", range(8))
def test_a_release_answers_generated_statements_as_duckdb_does(
    seed: int, exact_release: Ask, truth: Truth
) -> None:
    answered, missed = compared(exact_release, truth, seed)
    assert not missed and answered >= ANSWERED


@pytest.mark.parametrize("seed", range(100, 108))
def test_a_curator_answers_generated_statements_as_duckdb_does(
    seed: int, exact_curator: Ask, truth: Truth
) -> None:
    answered, missed = compared(exact_curator, truth, seed)
    assert not missed and answered >= ANSWERED
