"""Differencing, averaging and membership: exact statistics give people away; ours do not."""

from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import discreet as dc
from discreet.attacks.differencing import Aggregate
from discreet.attacks.differencing import difference as follow
from discreet.attacks.membership import Advantage, homer_scores, most_advantage
from discreet.audits.attacking import average, difference, match, member
from discreet.errors import BadInput
from tests.harness.suite import ShrunkNoise

SCHEMA = dc.Schema.loads(
    'dataset = "t"\n[columns.sex]\nkind = "category"\nvalues = ["F", "M"]\nother = false\nnulls = "exclude"\n'
)


def test_the_new_employee_earns_630000():
    outcome = difference(draws=1)
    assert outcome.details["disclosed"] == [
        {"person": "26", "value": 630_000.0, "how": "the mean of 26 less the mean of 25"}
    ]
    assert [line.ours for line in outcome.lines] == [False, True]


def test_differences_of_several_publications_are_found_and_nobody_else_is_named():
    aggregates = [
        Aggregate("a", "sum", frozenset("ab"), 3.0),
        Aggregate("b", "sum", frozenset("bc"), 5.0),
        Aggregate("c", "sum", frozenset("ac"), 4.0),
        Aggregate("d", "mean", frozenset("xyz"), 7.0),
    ]
    found = {each.person: each.value for each in follow(aggregates)}
    assert found == {"a": 1.0, "b": 2.0, "c": 3.0}


def test_a_table_of_publications_is_read(tmp_path: Path):
    path = tmp_path / "aggregates.csv"
    path.write_text("name,statistic,people,value\none,mean,1-25,500000\ntwo,mean,1-26,505000\n")
    assert difference(path).details["disclosed"][0]["value"] == 630_000.0
    path.write_text("name,value\none,3\n")
    with pytest.raises(BadInput, match="columns name, statistic, people, value"):
        difference(path)


def test_repeated_fresh_answers_average_the_noise_away_and_ours_do_not():
    """The mean of 2,000 draws at scale 10 has deviation .32: above 3 with probability below 1e-18."""
    outcome = average(draws=2, times=2_000)
    assert outcome.line("fresh noise for every repetition, 2,000 asked").value < 3
    assert outcome.details["same_answer"] is True


def test_members_lean_on_exact_means():
    """1,500 columns and 50 people: the score's two means lie 5.5 deviations apart."""
    draws = np.random.default_rng(0)
    population = draws.uniform(0.1, 0.9, 1_500)
    rows = (draws.random((50, 1_500)) < population).astype(float)
    strangers = (draws.random((50, 1_500)) < population).astype(float)
    inside = homer_scores(rows, rows.mean(0), population, 50)
    outside = homer_scores(strangers, rows.mean(0), population, 50)
    assert (inside > 0).mean() > 0.9 and (outside < 0).mean() > 0.9


def test_the_outcome_of_membership_is_high_before_and_below_the_bound_after():
    """At epsilon 1 the advantage is at most .462; 133 judged games exceed .9 with probability below 1e-20."""
    outcome = member(people=50, columns=800, games=200)
    assert outcome.lines[0].value > 0.8
    assert outcome.lines[-1].ours and outcome.lines[-1].value < 0.9


@pytest.mark.parametrize(("epsilon", "delta", "most"), [(math.log(3), 0.0, 0.5), (0.0, 0.1, 0.1)])
def test_the_most_advantage_is_that_of_the_theorem(epsilon, delta, most):
    assert most_advantage(epsilon, delta) == pytest.approx(most)


def test_the_interval_of_an_advantage_is_exact():
    """Clopper and Pearson for 8 of 10: [.4439, .9748]."""
    found = Advantage(8, 10)
    assert found.lower == pytest.approx(2 * 0.44390 - 1, abs=1e-4)
    assert found.upper == pytest.approx(2 * 0.97479 - 1, abs=1e-4)


def table(folder: Path) -> Path:
    path = folder / "table.csv"
    path.write_text("sex\n" + "F\nM\n" * 10)
    return path


def test_membership_in_a_release_stays_within_what_epsilon_allows(tmp_path):
    """The verdict is wrong once in a million runs."""
    outcome = match(
        table(tmp_path),
        SCHEMA,
        budget=dc.Budget(epsilon=1),
        workload=["histogram(sex)"],
        games=300,
    )
    assert outcome.details["broken"] is False
    assert outcome.banner.startswith("NOT PRIVATE")


def test_noise_that_is_too_small_breaks_the_bound_on_membership(tmp_path):
    """Noise for epsilon 4 has advantage .96 where .46 is allowed: missed with probability below 1e-20."""
    outcome = match(
        table(tmp_path),
        SCHEMA,
        budget=dc.Budget(epsilon=1),
        workload=["histogram(sex)"],
        games=300,
        drawn=ShrunkNoise(Fraction(4)),
    )
    assert outcome.details["broken"] is True


def test_the_matching_game_against_synthetic_rows_is_played(tmp_path):
    outcome = match(
        table(tmp_path),
        SCHEMA,
        budget=dc.Budget(epsilon=1),
        workload=["histogram(sex)"],
        games=60,
        synthetic=True,
    )
    assert outcome.details["games"] == 40 and not outcome.details["broken"]


def test_the_matching_game_needs_a_row_that_can_be_taken_out(tmp_path):
    changed = dc.Schema.loads(
        'dataset = "t"\nadjacency = "change-one"\n[columns.sex]\nkind = "category"\nvalues = ["F", "M"]\n'
    )
    with pytest.raises(BadInput, match="adjacency add-remove"):
        match(table(tmp_path), changed, budget=dc.Budget(epsilon=1), workload=["histogram(sex)"])
