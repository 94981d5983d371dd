"""A short question cannot occupy a public service: work is counted, and too much of it is refused."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import pandas
import pytest

from discreet.answering import ReleaseReader
from discreet.errors import BadQuestion, NotAnswerable
from discreet.privacy.budget import Budget
from discreet.privacy.laws.laplace import DiscreteLaplaceLaw
from discreet.questions.cells import truths
from discreet.questions.expressions import Call, ColumnValue, Constant
from discreet.questions.limits import work
from discreet.questions.limits.work import TooMuchWork, bounded_work, spend, tried_work
from discreet.releases import release
from discreet.schema import IntegerColumn, Schema
from tests.no_noise import without_noise
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


BIG = Schema(dataset="t", columns=(IntegerColumn("big", 0, 2**20 - 1, 1, nulls="exclude"),))
CASES = " ".join(f"WHEN big < {i * 1000} THEN big*{i + 2}+{i}" for i in range(1, 28))


@pytest.mark.parametrize(
    "asked",
    [
        f"CASE {CASES} ELSE big*2+1 END = {{}}",
        " OR ".join(f"abs(big-{i}) * 2 + 1 = {{}}" for i in range(7)),
        "big*3+5 = {}",
    ],
)
def test_what_was_asked_before_refuses_no_question(asked: str, tmp_path: Path) -> None:
    """All values of an expression are looked up once it was asked for often; where these are too many, they never are."""
    rows = pandas.DataFrame({"big": list(range(0, 2**20, 2**14))})
    with without_noise():
        made = release(
            rows, BIG, budget=Budget(epsilon=1), workload=["intervals(big)"], ledger=tmp_path / "l"
        )
    texts = [asked.replace("{}", str(value)) for value in [200_001, *range(17, 57, 2), 200_001]]
    found = [made.ask(f"SELECT count(*) FROM t WHERE {text}").only for text in texts]
    assert found[0] == found[-1]


def test_work_that_was_tried_in_vain_costs_a_question_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(work, "MOST_STEPS", 100)
    with bounded_work():
        with pytest.raises(TooMuchWork), tried_work():
            spend(26)
        with tried_work():
            spend(25)
        spend(75)
        with pytest.raises(TooMuchWork), tried_work():
            spend(1)
        with pytest.raises(TooMuchWork):
            spend(1)


def test_a_refusal_is_kept_for_the_next_group(monkeypatch: pytest.MonkeyPatch) -> None:
    """A condition that divides too many cells is not walked through again for each group."""
    walked = []

    def refused(*_: object) -> Any:
        walked.append(1)
        raise NotAnswerable("too many ranges")

    monkeypatch.setattr(truths, "boxes", refused)
    atom = Call(">", (ColumnValue("big", "integer"), Constant(-77, "integer")), "boolean")
    for _ in range(3):
        with pytest.raises(NotAnswerable, match="too many ranges"):
            truths.truth_boxes(atom, BIG.columns)
    assert len(walked) == 1
    truths._truth_boxes.cache_clear()


def test_questions_may_come_one_after_the_other(reader: Any) -> None:
    found = reader.ask_many(f"SELECT count(*) FROM t WHERE k < {most}" for most in (3, 9))
    assert len(found) == 2
