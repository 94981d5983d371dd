"""Random SQL to releases of made-up tables means what it means to DuckDB (`tests/harness/release_questions`)."""

from __future__ import annotations

import pytest

from tests.harness.release_questions.fuzz import Found, try_case


def test_answers_hold_what_duckdb_says() -> None:
    found = Found()
    for seed in range(6):
        try_case(seed, found, 12)
    assert not found.findings, found.findings[0]
    assert found.compared > 20


@pytest.mark.trust
def test_answers_to_many_questions_hold_what_duckdb_says() -> None:
    found = Found()
    for seed in range(10_000, 10_150):
        try_case(seed, found)
    assert not found.findings, found.findings[0]
    assert found.compared > 1_500
