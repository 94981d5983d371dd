"""Asking: what is charged, what is free, what is left, and what a crash leaves behind."""

from __future__ import annotations

import os
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import discreet as dc
from discreet.curator.accuracy import margin_of
from discreet.curator.curator import version_of
from discreet.curator.planning import plan_question
from discreet.errors import AnswerLost
from discreet.questions.dialects.curator_sql import parse_curator_question
from tests.curator.conftest import Opener, schema_of, table_of

ONE = dc.Budget(epsilon=1)
COUNT = "SELECT count(*) FROM people"


def test_the_same_question_is_answered_from_the_record_at_no_cost(opened: Opener) -> None:
    curator = opened()
    first = curator.ask(
        "SELECT count(*), avg(age) FROM people WHERE age > 3 AND member", budget=ONE
    )
    again = curator.ask(
        "select COUNT( * ) AS n, AVG(AGE) from People where (MEMBER) and 3 < age OR FALSE",
        budget=ONE,
    )
    same = curator.ask(
        "SELECT count(*) n, avg(age) FROM people WHERE member AND age > 3", budget=ONE
    )
    assert curator.left == dc.Budget(epsilon=8)  # `3 < age OR FALSE` is another question
    assert first[0]["count"].estimate == same[0]["n"].estimate
    assert len(again) == 1


def test_another_confidence_shows_the_same_noise_and_costs_nothing(opened: Opener) -> None:
    curator = opened()
    narrow = curator.ask(COUNT, budget=ONE, confidence=0.5).only
    wide = curator.ask(COUNT, budget=ONE, confidence=0.999).only
    assert curator.left == dc.Budget(epsilon=9)
    assert narrow.estimate == wide.estimate
    assert wide.upper - wide.lower > narrow.upper - narrow.lower


def test_another_budget_version_or_analyst_is_another_question(opened: Opener) -> None:
    opened().ask(COUNT, budget=ONE)
    opened().ask(COUNT, budget=dc.Budget(epsilon=2))
    opened(data_version="march").ask(COUNT, budget=ONE)
    opened(analyst="ann").ask(COUNT, budget=ONE)
    curator = opened()
    assert curator.left == dc.Budget(epsilon=5)
    curator.ask(COUNT, budget=ONE)
    assert curator.left == dc.Budget(epsilon=5)


def test_the_version_of_a_file_changes_with_its_time_and_never_tells_its_size(
    tmp_path: Path,
) -> None:
    path = tmp_path / "a.parquet"
    table_of(10).to_parquet(path)
    before = version_of(path, schema_of())
    assert version_of(path, schema_of()) == before
    stamp = path.stat().st_mtime_ns
    table_of(20).to_parquet(path)
    os.utime(path, ns=(stamp, stamp))
    assert version_of(path, schema_of()) == before
    os.utime(path, ns=(stamp + 1, stamp + 1))
    assert version_of(path, schema_of()) != before


def test_one_charge_pays_for_all_the_aggregates_of_a_question(opened: Opener) -> None:
    curator = opened()
    answers = curator.ask(
        "SELECT sex, count(*), count(age), sum(income), avg(age), stddev(age), median(age) "
        "FROM people GROUP BY sex",
        budget=ONE,
    )
    assert curator.left == dc.Budget(epsilon=9)
    assert [row.group["sex"] for row in answers] == ["F", "M", "(other)", "null"]
    for row in answers:
        for answer in row.answers.values():
            assert answer.lower <= answer.estimate <= answer.upper


def test_what_is_left_is_exact_for_the_dataset_and_the_analyst(opened: Opener) -> None:
    third = dc.Budget(epsilon="1/3")
    ann = opened(analyst="ann", analyst_cap=dc.Budget(epsilon=1))
    bob = opened(analyst="bob")
    for column in ("age", "sex", "income"):
        ann.ask(f"SELECT count({column}) FROM people", budget=third)
    assert ann.left == dc.Budget.from_dict({"epsilon": "0"})
    with pytest.raises(dc.BudgetExceeded, match="ann"):
        ann.ask(COUNT, budget=dc.Budget(epsilon="1/1000"))
    assert bob.left == dc.Budget(epsilon=9)
    bob.ask(COUNT, budget=dc.Budget(epsilon=9))
    assert bob.left.amount == 0
    with pytest.raises(dc.BudgetExceeded):
        bob.ask("SELECT sum(age) FROM people", budget=dc.Budget(epsilon="1/1000"))
    assert bob.ask(COUNT, budget=dc.Budget(epsilon=9)).only.estimate > 0  # the record stays free


def test_a_lost_answer_is_reported_and_never_drawn_again(
    opened: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed between the noise and the record: the charge stands, and asking again gives nothing."""
    curator = opened()
    monkeypatch.setattr("discreet.curator.recording.PATIENCE", 0.05)
    with monkeypatch.context() as patch:
        patch.setattr("discreet.core.vault.Grant.record", _killed)
        with pytest.raises(KeyboardInterrupt):
            curator.ask(COUNT, budget=ONE)
    assert curator.left == dc.Budget(epsilon=9)
    reads: list[object] = []
    monkeypatch.setattr(curator._engine, "tally", reads.append)
    for _ in range(2):
        with pytest.raises(AnswerLost, match="its answer is lost"):
            curator.ask(COUNT, budget=ONE)
    assert curator.left == dc.Budget(epsilon=9)
    assert reads == []


def _killed(*_: object, **__: object) -> None:
    raise KeyboardInterrupt


def test_an_answer_is_durable_before_it_leaves(
    opened: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    curator = opened()
    with monkeypatch.context() as patch:
        patch.setattr("discreet.curator.statements.answers_from", _killed)
        with pytest.raises(KeyboardInterrupt):
            curator.ask(COUNT, budget=ONE)
    curator.ask(COUNT, budget=ONE)
    assert curator.left == dc.Budget(epsilon=9)


@pytest.mark.parametrize(
    "what", ["count(*)", "sum(income)", "histogram(sex)", "count(age), sum(age)"]
)
@pytest.mark.parametrize("cap", [dc.Budget(epsilon=10), dc.Budget(rho=10)], ids=str)
def test_an_accuracy_buys_intervals_just_as_narrow_as_asked(
    opened: Opener, what: str, cap: dc.Budget
) -> None:
    curator = opened(cap=cap)
    sql, margin = f"SELECT {what} FROM people", 700
    cost = curator.cost(sql, accuracy=f"±{margin} at 90%")
    assert curator.left == cap  # nothing is spent by asking for a price
    answers = curator.ask(sql, accuracy=f"±{margin} at 90%")
    assert curator.spent == cost
    assert answers.confidence == 0.9
    widths = [(column.upper - column.lower).max() for column in answers.columns]
    assert max(widths) <= 2 * margin
    question = parse_curator_question(sql, schema_of())
    cheaper = cost.times(Fraction(98, 100))
    planned = plan_question(question, schema_of(), budget=cheaper, notion=cap.notion)
    assert margin_of(planned, Fraction(9, 10)) > margin


def test_means_divide_by_the_public_number_of_rows_under_change_one(opened: Opener) -> None:
    curator = opened(schema=schema_of("change-one"))
    answers = curator.ask("SELECT avg(income) FROM people", budget=ONE)
    assert any("400" in note for note in answers.notes)
    secret = curator.ask("SELECT avg(income) FROM people WHERE age > 10", budget=ONE)
    assert not any("public" in note for note in secret.notes)


def test_units_are_counted_once_each(opened: Opener) -> None:
    curator = opened(schema=schema_of(max_rows=2), cap=dc.Budget(epsilon=1000))
    answers = curator.ask(
        "SELECT count(DISTINCT person) FROM people", budget=dc.Budget(epsilon=500)
    )
    assert answers.only.estimate == 201


def test_the_mode_and_the_top_cells_are_found_where_the_budget_is_large(opened: Opener) -> None:
    curator = opened(cap=dc.Budget(epsilon=1000))
    rows = curator.ask("SELECT top(born, 2) FROM people", budget=dc.Budget(epsilon=400))
    counts = table_of()["born"].str[:4].value_counts()
    best = set(counts[counts == counts.max()].index)
    assert {row.group["top(born, 2)"] for row in rows} <= best
    assert not rows.columns  # a value is named, and no number beside it looks like its interval
    assert any("at most 0 rows fewer than the fullest cell" in note for note in rows.notes)


def test_a_question_counts_rho_where_the_cap_does(opened: Opener) -> None:
    curator = opened(cap=dc.Budget(rho=1))
    curator.ask(COUNT, budget=dc.Budget(rho="1/10"))
    curator.ask(COUNT, budget=dc.Budget(epsilon="1/10"))  # a pure epsilon costs epsilon^2/2
    curator.ask("SELECT mode(sex) FROM people", budget=dc.Budget(rho="1/10"))
    assert curator.left == dc.Budget(rho=Fraction(1) - Fraction(2, 10) - Fraction(1, 200))


def test_an_alert_is_paid_once_and_ends_with_its_first_above(opened: Opener) -> None:
    curator = opened(cap=dc.Budget(epsilon=100))
    alert = curator.alert(200, budget=dc.Budget(epsilon=50), questions=3)
    assert alert.margin < 40
    assert not alert.is_above(f"{COUNT} WHERE age < 5")
    assert alert.is_above(COUNT)
    assert curator.left == dc.Budget(epsilon=50)
    with pytest.raises(dc.BadInput, match="fired"):
        alert.is_above(COUNT)
    with pytest.raises(dc.BadQuestion):
        curator.alert(200, budget=ONE).is_above("SELECT sum(age) FROM people")


def test_a_choice_is_recorded_like_an_answer(opened: Opener) -> None:
    curator = opened(cap=dc.Budget(epsilon=100))
    candidates = {str(k): (f"{COUNT} WHERE age >= {k}", k) for k in (1, 50, 99)}
    choices = {curator.choose(candidates, budget=ONE).name for _ in range(10)}
    assert len(choices) == 1
    assert curator.left == dc.Budget(epsilon=99)


def test_noise_is_really_added_to_every_kind_of_answer(opened: Opener) -> None:
    """At epsilon 1/1000 two draws agree with probability below 1e-3 each, and all of them with 1e-9."""
    curator = opened()
    seen = []
    for version in ("a", "b", "c", "d"):
        asker = opened(data_version=version)
        answers = asker.ask(
            "SELECT count(*), sum(age) FROM people",
            budget=dc.Budget(epsilon="1/1000"),
        )
        seen.append(tuple(column.estimate[0] for column in answers.columns))
    assert len(set(seen)) > 1
    assert curator.spent == dc.Budget(epsilon="4/1000")


def test_intervals_of_an_empty_group_span_what_is_possible(opened: Opener) -> None:
    answers = opened().ask(
        "SELECT avg(age), median(age), stddev(age) FROM people WHERE age < 0", budget=ONE
    )
    row = answers[0]
    assert row["avg(age)"].upper - row["avg(age)"].lower > 60
    assert row["median(age)"].upper - row["median(age)"].lower > 60
    assert np.isfinite(row["stddev(age)"].upper)
