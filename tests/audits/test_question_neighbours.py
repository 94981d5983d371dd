"""Random questions to tables that differ in one row: the row decides no error, and moves no tally too far."""

from __future__ import annotations

import pytest

from tests.harness.question_neighbours import SOURCES, audit

SEED = 1


def test_one_row_decides_no_question() -> None:
    """Parquet, whose statistics a database may plan by; the seed is fixed, so chance decides nothing.

    With this seed it finds the hole of `a-files-statistics-plan-another-query`, for which it was not written.
    """
    assert audit(100, SEED, kinds=("parquet",), nulls_alone=True) == []


@pytest.mark.trust
@pytest.mark.parametrize("kind", SOURCES)
def test_one_row_decides_no_question_of_many(kind: str) -> None:
    assert audit(1_000, 2, kinds=(kind,)) == []
