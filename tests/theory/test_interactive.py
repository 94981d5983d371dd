"""Ask live, or release once: the number of questions at which a release becomes better."""

from __future__ import annotations

import json
from fractions import Fraction

import pytest
from click.testing import CliRunner

from discreet.cli.application import application
from discreet.privacy.budget import Budget
from discreet.releases import plan
from discreet.releases.interactive import MOST_QUESTIONS, curator_laws, curator_limits
from discreet.schema import Schema

TEXT = """
dataset = "people"
people = 10000
[columns.age]
kind = "integer"
range = [0, 255]
[columns.sex]
kind = "category"
values = ["f", "m"]
[columns.income]
kind = "integer"
range = [0, 1000]
"""
SCHEMA = Schema.loads(TEXT)


@pytest.mark.parametrize(
    ("budget", "asked"),
    [
        (Budget(epsilon=1), ["intervals(age)", "marginals(sex)"]),
        (Budget(epsilon=1, delta="1e-6"), ["marginals(age, sex)"]),
        (Budget(rho="1/10"), ["marginals(age, sex)"]),
    ],
)
def test_that_many_questions_are_as_close_as_the_release_and_one_more_is_not(budget, asked):
    planned = plan(SCHEMA, budget=budget, workload=asked)
    limits = curator_limits(planned, SCHEMA)
    assert [each.query_class for each in limits] == asked
    for limit in limits:
        assert limit.questions is not None and limit.questions < MOST_QUESTIONS
        share = planned.charge.times(Fraction(1, len(asked)))
        here, more = (
            min(law.half_width(0.95) for law in curator_laws(many, share, SCHEMA))
            for many in (max(1, limit.questions), limit.questions + 1)
        )
        assert more > limit.half_width
        assert limit.questions == 0 or here <= limit.half_width


def test_a_release_of_all_intervals_is_better_from_some_questions_on():
    planned = plan(SCHEMA, budget=Budget(epsilon=1), workload=["intervals(age)"])
    (limit,) = curator_limits(planned, SCHEMA)
    assert 0 < limit.questions < limit.queries
    assert "the release is better" in limit.sentence


def test_a_few_cells_are_answered_live_as_closely():
    """One disjoint cell moves by 1 in a release of all of them: a single question cannot be closer."""
    planned = plan(SCHEMA, budget=Budget(epsilon=1), workload=["marginals(sex)"])
    (limit,) = curator_limits(planned, SCHEMA)
    assert limit.questions == 1 and limit.queries > 1


def test_errors_that_are_not_in_rows_have_no_number():
    planned = plan(SCHEMA, budget=Budget(epsilon=1), workload=["means(income)"])
    (limit,) = curator_limits(planned, SCHEMA)
    assert limit.questions is None and "no number" in limit.sentence


def test_the_command_prints_it_and_json_holds_it(tmp_path):
    path = tmp_path / "people.toml"
    path.write_text(TEXT)
    asked = ["plan", str(path), "--epsilon", "1", "--for", "intervals(age)", "--questions"]
    found = CliRunner().invoke(application, asked)
    assert found.exit_code == 0 and "of all analysts together" in found.stdout
    plain = CliRunner().invoke(application, [*asked, "--json"])
    (limit,) = json.loads(plain.stdout)["questions"]
    assert limit["queries"] == 256 * 257 // 2 and limit["questions"] > 0
