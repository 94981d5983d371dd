"""Whole releases audited on invented tables; noise laws tested against what was drawn."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from click.testing import CliRunner

from discreet.audits.guessing.laws import NoisePool, checked_law
from discreet.audits.guessing.releases import (
    _alert,
    _choice,
    audit_release,
)
from discreet.audits.guessing.tables import ends_of, neighbouring_tables
from discreet.audits.observing import Step
from discreet.cli.commands.auditing import command
from discreet.core.mechanisms import DiscreteLaplace
from discreet.core.noise import DrawnNoise
from discreet.core.vault import Grant
from discreet.families.shared.estimate.public_random import generator
from discreet.privacy.adjacency import Sensitivity
from discreet.privacy.budget import Budget
from discreet.privacy.laws import DiscreteGaussianLaw, DiscreteLaplaceLaw, RoundedGaussianLaw
from discreet.queries.measurable import Marginal
from discreet.schema import Schema
from tests.harness.material.tables import _COLUMNS
from tests.harness.suite import (
    MUTANT,
    ShrunkNoise,
    recorded_laws,
    registered_algorithms,
    release_jobs,
)

OWN = """
dataset = "people"
adjacency = "{adjacency}"
{unit}
[csv]
delimiter = ";"
[columns.sex]
kind = "category"
values = ["F", "M"]
[columns.age]
kind = "integer"
range = [0, 20]
"""
UNIT = '[unit]\nidentifier = "who"\nmax_rows = 3'
ROWS = Schema.loads(OWN.format(adjacency="add-remove", unit=""))
CHANGED = Schema.loads(OWN.format(adjacency="change-one", unit=""))
PEOPLE = Schema.loads(OWN.format(adjacency="add-remove", unit=UNIT))
CHANGED_PEOPLE = Schema.loads(OWN.format(adjacency="change-one", unit=UNIT))
LAWS = (
    DiscreteLaplaceLaw(Fraction(1, 3)),
    DiscreteLaplaceLaw(Fraction(40)),
    DiscreteGaussianLaw(Fraction(2)),
    DiscreteGaussianLaw(Fraction(10**7)),
    RoundedGaussianLaw(Fraction(5)),
)


# --- whole releases -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("schema", "budget", "workload"),
    [
        (ROWS, Budget(epsilon=1), ["histogram(sex)", "means(age)"]),
        (CHANGED, Budget(epsilon=1, delta="1e-6"), ["marginals(2)"]),
        (PEOPLE, Budget(rho="1/10"), ["histogram(age)", "sums(age)"]),
        (CHANGED_PEOPLE, Budget(epsilon="1/2"), ["sums(age)"]),
    ],
    ids=["rows", "changed rows", "people", "changed people"],
)
def test_an_honest_release_of_any_schema_is_not_refuted(schema, budget, workload):
    """False alarm 1e-6."""
    found = audit_release(schema, budget=budget, workload=workload, runs=300)
    assert not found.refuted, found
    assert found.laws, "the noise was looked at"


def first_refuted(schema, **asked):
    """What the game finds when it is played until it refutes, six times at most: a bug that one game misses once in
    ten is missed by all with p < 1e-6."""
    for _ in range(6):
        found = audit_release(schema, **asked)
        if found.finding.refuted:
            break
    return found


def test_the_game_by_itself_sees_a_histogram_with_half_its_noise():
    """One histogram reaches its loss often: true epsilon 2 against 1. Certified at 1,000 runs: 1.5 with a
    deviation of .07 (measured), so it is missed with p < 1e-9."""
    found = first_refuted(
        ROWS,
        budget=Budget(epsilon=1),
        workload="histogram(sex)",
        runs=1000,
        drawn=ShrunkNoise(Fraction(2)),
    )
    assert found.finding.refuted
    assert found.refuted and "noise" in found.verdict


def test_of_several_pairs_the_one_that_differs_most_is_played():
    """Somebody aged 0 adds nothing to a sum of ages, somebody aged 20 adds all. Certified:
    2.1 with a deviation of .14 (measured), so it is missed with p < 1e-9."""
    found = audit_release(
        ROWS,
        budget=Budget(epsilon=1),
        workload="sums(age)",
        runs=600,
        drawn=ShrunkNoise(Fraction(4)),
    )
    assert found.finding.certified > 1


def test_the_laws_see_noise_a_fifth_too_small_where_the_game_cannot():
    """False alarm 1e-6; 20,000 draws miss a factor of 1.2 with p < 1e-9."""
    asked = {"budget": Budget(epsilon=1), "workload": ["histogram(age)"], "runs": 1000}
    honest = recorded_laws(ROWS, **asked)
    mutant = recorded_laws(ROWS, **asked, drawn=ShrunkNoise(MUTANT))
    assert not any(check.refuted() for check in honest)
    assert any(check.refuted() for check in mutant)


def test_the_game_sees_an_ignored_l1_sensitivity_which_no_noise_law_shows(monkeypatch):
    """Change-one with the noise of add-remove: the loss is 2 against 1. One game of 2,500 runs certifies 1.4 with a
    deviation of .2 (measured), so it misses once in 40."""
    asked = {"budget": Budget(epsilon=1), "workload": "histogram(sex)"}
    assert not audit_release(CHANGED, runs=1000, **asked).refuted
    monkeypatch.setattr(
        Marginal, "sensitivity", lambda self, schema: Sensitivity(l1=1, l2_squared=1)
    )
    found = first_refuted(CHANGED, runs=2500, **asked)
    assert not found.failing_laws
    assert found.finding.refuted


def test_an_audit_short_of_time_makes_fewer_runs():
    found = audit_release(
        ROWS, budget=Budget(epsilon=1), workload="histogram(sex)", runs=100_000, seconds=0.0
    )
    assert found.finding.runs == 100 and not found.refuted


def test_a_release_that_takes_other_steps_on_a_neighbour_is_refuted(monkeypatch):
    honest = Grant.measure

    def branching(self, requests):
        measured = honest(self, requests)
        if self._engine.row_count() > 2:
            self._noise.add(np.zeros(1, dtype=np.int64), measured[0].law, step="extra")
        return measured

    monkeypatch.setattr(Grant, "measure", branching)
    found = audit_release(ROWS, budget=Budget(epsilon=1), workload="histogram(sex)", runs=100)
    assert found.refuted and found.diverged


def test_every_registered_algorithm_is_audited():
    reached = {name for _, job in release_jobs() for name in job.algorithms.values()}
    assert reached == registered_algorithms()


@pytest.mark.parametrize("schema", [ROWS, CHANGED, PEOPLE, CHANGED_PEOPLE])
def test_invented_tables_are_neighbours(schema):
    for one, other in neighbouring_tables(schema):
        differing = set(one.rows) ^ set(other.rows)
        mine, theirs = list(one.rows), list(other.rows)
        for row in one.rows:
            if row in theirs:
                theirs.remove(row)
                mine.remove(row)
        most = schema.unit.max_rows
        assert len(theirs) <= most and (mine or theirs)
        assert len(mine) == (len(theirs) if schema.adjacency == "change-one" else 0)
        if schema.unit.identifier:
            assert len({row[0] for row in differing}) <= 1


@pytest.mark.parametrize("kind", list(_COLUMNS))
def test_invented_rows_lie_in_the_first_and_the_last_cell(kind):
    column = Schema.loads(f'dataset = "d"\n[columns.c]\n{_COLUMNS[kind][0]}').column("c")
    texts = ends_of(column)
    assert [column.code_of(text) for text in texts] == [0, column.value_cells - 1]


# --- scores of choices and alerts ---------------------------------------------------------


def step(name, exact, output, *, laws=(), unit=None):
    return Step(
        name=name,
        exact=np.array(exact),
        laws=tuple(laws),
        unit=unit,
        output=np.array(output),
    )


def test_the_probabilities_of_a_choice_add_to_one():
    chances = [_choice(step("select", [0, 3, 5], [i], unit=Fraction(1, 2))) for i in range(3)]
    assert math.fsum(map(math.exp, chances)) == pytest.approx(1)
    assert chances[2] - chances[0] == pytest.approx(2.5)


def test_the_probabilities_of_an_alert_add_to_one():
    low, high = DiscreteLaplaceLaw(Fraction(2)), DiscreteLaplaceLaw(Fraction(4))
    start = step("1 threshold", [10], [12], laws=[low])

    def chance(*answers):
        asked = [
            step("above", [count], [answer], laws=[high])
            for count, answer in zip((8, 11), answers, strict=False)
        ]
        return math.exp(_alert([start, *asked]))

    assert chance(1) + chance(0, 1) + chance(0, 0) == pytest.approx(1, abs=1e-8)
    assert chance(0, 1) > chance(0, 0)


# --- noise laws ---------------------------------------------------------------------------


@pytest.mark.parametrize("law", LAWS, ids=str)
def test_noise_of_a_law_fits_it(law):
    """False alarm 1e-6."""
    assert not checked_law(law, DrawnNoise().draw(law, 50_000)).refuted()


@pytest.mark.parametrize("law", LAWS[1:], ids=str)
def test_noise_a_tenth_too_small_or_too_large_does_not_fit(law):
    """50,000 draws miss a factor of 1.1 with p < 1e-6 (the share within a scale moves by 12 sd or more)."""
    for factor in (Fraction(11, 10), Fraction(10, 11)):
        draws = ShrunkNoise(factor).add(np.zeros(50_000, dtype=np.int64), law, step="audit")
        assert checked_law(law, draws).refuted()


def test_noise_that_is_biased_or_used_twice_does_not_fit():
    law = DiscreteLaplaceLaw(Fraction(3))
    draws = DrawnNoise().draw(law, 20_000)
    assert checked_law(law, draws + 1).refuted()
    assert checked_law(law, np.repeat(draws[:10_000], 2)).worst == "alike in a row"
    assert checked_law(law, np.repeat(draws[:10_000], 2)).refuted()


def test_numbers_that_share_their_noise_by_design_fit_their_laws():
    """A chain may hold a law twice, with the same number under both. False alarm 1e-6."""
    laws = tuple(DiscreteLaplaceLaw(Fraction(scale)) for scale in (2, 5, 5))
    pool = NoisePool()
    for _ in range(300):
        exact = np.arange(40)
        pool.add([step("1 refine", exact, DrawnNoise().chain(exact, laws, step=""), laws=laws)])
    assert [check.draws for check in pool.checks()] == [12_000, 12_000]
    assert not any(check.refuted() for check in pool.checks())


def test_the_p_value_of_a_true_law_is_small_no_more_often_than_it_says():
    """400 honest tests at a level of .05: false alarm 1e-6."""
    from scipy.stats import binomtest

    law = DiscreteGaussianLaw(Fraction(9))
    small = sum(checked_law(law, DrawnNoise().draw(law, 500)).p_value < 0.05 for _ in range(400))
    assert binomtest(small, 400, 0.05, alternative="greater").pvalue > 1e-6


# --- the command --------------------------------------------------------------------------


def run(*words):
    return CliRunner().invoke(command, list(words), catch_exceptions=False)


def test_the_command_prints_claim_bound_runs_and_rate():
    result = run("discrete-laplace", "--epsilon", "1", "--fast")
    assert result.exit_code == 0
    for words in ("claimed:", "epsilon is at least", "10,000", "1e-06", "not refuted"):
        assert words in result.output


def test_the_command_ends_with_1_when_a_claim_is_refuted(monkeypatch):
    honest = DiscreteLaplace.law

    def cheating(self, sensitivity, *, size):
        law = honest(self, sensitivity, size=size)
        return replace(law, scale=law.scale * 2 / 3)

    monkeypatch.setattr(DiscreteLaplace, "law", cheating)
    result = run("discrete-laplace", "--epsilon", "1", "--json")
    assert result.exit_code == 1
    assert "refuted" in {row["verdict"] for row in json.loads(result.output)}


def test_the_command_audits_a_release_from_its_schema_alone(tmp_path):
    path = tmp_path / "people.toml"
    path.write_text(OWN.format(adjacency="add-remove", unit=UNIT))
    result = run(str(path), "--for", "histogram(sex)", "--epsilon", "1", "--runs", "200", "--json")
    assert result.exit_code == 0
    (found,) = json.loads(result.output)
    assert found["power"] == "not claimed for whole releases"
    assert found["noise_laws"] and found["runs"] == 200
    assert [each.name for each in tmp_path.iterdir()] == ["people.toml"]


def test_a_delta_for_a_mechanism_without_one_is_refused():
    from discreet.errors import BadInput

    with pytest.raises(BadInput, match="no delta"):
        run("exponential", "--epsilon", "1", "--delta", "1e-6")


@pytest.mark.trust
def test_the_whole_suite_passes_and_sees_every_mutant():
    from tests.harness.audits import main

    assert main([]) == 0


def test_public_coins_are_fair():
    """Exact binomial: false alarm 1e-9."""
    from scipy.stats import binomtest

    from discreet.audits.guessing.game import fair_coins

    assert binomtest(int(fair_coins(100_000).sum()), 100_000, 0.5).pvalue > 1e-9
    assert generator() is not None


@pytest.mark.parametrize("schema", [ROWS, CHANGED], ids=["rows", "changed rows"])
def test_predicates_that_hold_at_no_end_of_the_domains_are_moved_by_some_pair(schema):
    """Half the noise on one count: true epsilon 2 against 1. Missed with p < 1e-9 at 1,000 runs, as above; a pair
    that moves nothing certifies 0."""
    found = first_refuted(
        schema,
        budget=Budget(epsilon=1),
        workload='predicates("age BETWEEN 7 AND 9")',
        runs=1000,
        drawn=ShrunkNoise(Fraction(2)),
    )
    assert found.finding.refuted
