"""A short question cannot occupy a public service: work is counted, and too much of it is refused."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from discreet.answering import ReleaseReader
from discreet.errors import BadQuestion
from discreet.privacy.laws.laplace import DiscreteLaplaceLaw
from discreet.questions.limits import work
from discreet.questions.limits.work import TooMuchWork, bounded_work, spend
from discreet.schema import IntegerColumn, Schema
from tests.releases_by_hand import release_of_tables

SCHEMA = Schema(dataset="t", columns=(IntegerColumn("k", 0, 999, 1, nulls="exclude"),))


@pytest.fixture(scope="module")
def reader() -> Any:
    return ReleaseReader(
        release_of_tables(SCHEMA, [("k",)], [{"k": 5}], law=DiscreteLaplaceLaw(Fraction(2)))
    )


MANY = [
    "SELECT count(*) FROM t WHERE " + " OR ".join(f"k*k%{i + 11}={i % 5}" for i in range(9)),
    "SELECT CASE WHEN k%3=1 THEN k//9 WHEN k%7=2 THEN 1 END AS g, count(*) FROM t GROUP BY 1",
    " UNION ALL ".join(
        f"SELECT k//9 AS g, count(*) FROM t WHERE k > {i} GROUP BY 1" for i in range(5)
    ),
    "SELECT k//9 AS g, avg(k), avg(k) FILTER (WHERE k < 900) FROM t GROUP BY 1",
    "SELECT quantile(k, 0.3) FROM t",
]


@pytest.mark.parametrize("question", MANY)
def test_every_kind_of_work_is_counted(
    question: str, reader: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Looks at cells, groups, aggregates and the quantiles of their noise: none is free."""
    monkeypatch.setattr(work, "MOST_STEPS", 30_000)
    with pytest.raises(
        TooMuchWork, match=r"30,000 steps of work\. Ask for fewer groups, conditions"
    ):
        reader.ask(question)


def test_what_one_question_took_is_not_held_against_the_next(reader: Any) -> None:
    for _ in range(3):
        found = reader.ask("SELECT k // 3 AS g, count(*) FROM t WHERE k % 5 = 1 GROUP BY 1")
        assert len(found.codes) > 100


def test_the_steps_of_many_questions_are_those_of_each(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(work, "MOST_STEPS", 10)
    spend(1_000_000)  # nobody bounds it
    with bounded_work(2):
        spend(20)
        with pytest.raises(BadQuestion, match="more than 10 steps"):
            spend(1)
    with bounded_work():
        spend(10)
