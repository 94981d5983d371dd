"""Intervals of the population: noise and the luck of the draw, covered together."""

from __future__ import annotations

import numpy as np
import pandas
import pytest
from click.testing import CliRunner
from scipy.stats import beta

from discreet.answering import ReleaseReader
from discreet.answering.population import ASSUMED, share_interval
from discreet.cli.application import application
from discreet.errors import BadInput, NotAnswerable
from discreet.privacy.budget import Budget
from discreet.privacy.laws import DiscreteLaplaceLaw
from discreet.schema import Schema
from tests.releasing import release, release_to_file

SCHEMA = """
dataset = "survey"
people = 500
adjacency = "{adjacency}"
[columns.vote]
kind = "category"
values = ["yes", "no", "none"]
"""


def survey():
    return pandas.DataFrame({"vote": ["yes"] * 260 + ["no"] * 200 + ["none"] * 40})


def released(tmp_path, adjacency):
    schema = Schema.loads(SCHEMA.format(adjacency=adjacency))
    return release(
        survey(),
        schema,
        budget=Budget(epsilon=1),
        workload=["marginals(vote)"],
        ledger=tmp_path / adjacency,
    )


def test_an_interval_without_noise_is_that_of_clopper_and_pearson():
    low, high = share_interval(7, 7, fewest=50, most=50, delta=0.05)
    assert low == pytest.approx(beta.ppf(0.025, 7, 44))
    assert high == pytest.approx(beta.ppf(0.975, 8, 43))
    assert share_interval(0, 50, fewest=50, most=50, delta=0.05) == (0.0, 1.0)
    assert share_interval(0, 0, fewest=0, most=0, delta=0.05) == (0.0, 1.0)
    assert share_interval(3, float("inf"), fewest=9, most=9, delta=0.05)[1] == 1.0
    with pytest.raises(BadInput):
        share_interval(4, 3, fewest=9, most=9, delta=0.05)


@pytest.mark.parametrize("share", [0.002, 0.3, 0.5])
@pytest.mark.parametrize(("rows", "scale"), [(100, 1), (1000, 10)])
def test_the_share_of_the_population_is_covered(share, rows, scale):
    """8,000 draws a case, at least 95% by proof; below 94% has a chance of 1e-4 only at exactly 95%, and the seed is fixed."""
    public = np.random.default_rng(rows)
    law = DiscreteLaplaceLaw(scale=scale)
    width = law.half_width(1 - 0.025)
    ratio = 1 - np.exp(-1 / scale)
    draws = 8000
    counts = public.binomial(rows, share, draws)
    noise = public.geometric(ratio, draws) - public.geometric(ratio, draws)
    seen = {}
    covered = 0
    for value in (counts + noise).tolist():
        ends = max(0, value - width), min(rows, value + width)
        if ends[0] > ends[1]:
            ends = (rows, rows) if value > rows else (0, 0)
        if ends not in seen:
            seen[ends] = share_interval(*ends, fewest=rows, most=rows, delta=0.025)
        low, high = seen[ends]
        covered += low <= share <= high
    assert covered / draws >= 0.95


@pytest.mark.parametrize("adjacency", ["change-one", "add-remove"])
def test_a_release_answers_of_the_population_beside_the_table(tmp_path, adjacency):
    reader = ReleaseReader(released(tmp_path, adjacency))
    shares = reader.population("SELECT vote, count(*) FROM survey GROUP BY vote")
    assert [each.group[0] for each in shares][:3] == ["yes", "no", "none"]
    for each in shares:
        assert 0 <= each.lower <= each.table_lower <= each.table_upper <= each.upper <= 1
        assert each.upper - each.lower > each.table_upper - each.table_lower
    wider = reader.population("SELECT count(*) FROM survey WHERE vote = 'yes'", confidence=0.99)[0]
    assert wider.upper - wider.lower > shares[0].upper - shares[0].lower
    stated = reader.population("SELECT count(*) FROM survey WHERE vote = 'yes'", rows=500)[0]
    assert stated.rows == 500


def test_only_counts_are_of_the_population(tmp_path):
    reader = ReleaseReader(released(tmp_path, "change-one"))
    for question in (
        "SELECT 100 * count(*) FROM survey",
        "SELECT vote, count(*) FROM survey GROUP BY vote HAVING count(*) > 3",
    ):
        with pytest.raises(NotAnswerable, match="only counts"):
            reader.population(question)


def test_the_command_prints_both_intervals_and_the_assumption(tmp_path):
    path = tmp_path / "survey.release"
    release_to_file(
        survey(), Schema.loads(SCHEMA.format(adjacency="change-one")), path=path, budget=Budget(epsilon=1),
        workload=["marginals(vote)"], ledger=tmp_path / "ledger",
    )  # fmt: skip
    asked = ["ask", str(path), "SELECT vote, count(*) FROM survey GROUP BY vote", "--population"]
    found = CliRunner().invoke(application, asked)
    assert found.exit_code == 0 and "of the population" in found.stdout
    assert ASSUMED in found.stderr
    as_json = CliRunner().invoke(application, [*asked, "--json"])
    assert as_json.exit_code == 0 and '"table_lower"' in as_json.stdout


def test_a_release_that_a_theorem_speaks_for_says_why_it_says_nothing_at_a_large_confidence(
    tmp_path,
):
    """The general mechanism's theorem holds at 95%: nothing of the risk is left for the luck of the draw. No noise decides it."""
    schema = Schema.loads(
        'dataset = "t"\nadjacency = "change-one"\n[columns.x]\nkind = "integer"\nrange = [0, 7]\n'
    )
    reader = ReleaseReader(
        release(
            pandas.DataFrame({"x": list(range(8)) * 100}), schema, budget=Budget(epsilon=1),
            workload=["intervals(x)"], algorithms={"intervals(x)": "general"}, ledger=tmp_path / "l.db",
        )
    )  # fmt: skip
    (nothing,) = reader.population("SELECT count(*) FROM t WHERE x < 4")
    assert (nothing.lower, nothing.upper) == (0, 1)
    assert nothing.note is not None and "0.9 or less" in nothing.note
    (told,) = reader.population("SELECT count(*) FROM t WHERE x < 4", confidence=0.9)
    assert told.note is None and 0 < told.lower < told.upper < 1
