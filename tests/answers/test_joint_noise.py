"""Numbers that share draws: sums, differences and ratios have the noise of the draws that are left in them."""

from __future__ import annotations

import warnings
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from discreet.answering import ReleaseReader
from discreet.families.shared.estimate.linear_widths import linear_half_width
from discreet.families.shared.estimate.public_random import generator
from discreet.families.tables.answer.together.library import TableLibrary
from discreet.postprocessing.joint_noise import JointNoise, joint_ratio
from discreet.privacy.budget import Budget
from discreet.privacy.laws import DiscreteGaussianLaw, DiscreteLaplaceLaw
from discreet.schema import Schema
from tests.marginals.redrawing import Redrawing
from tests.releasing import release

SCHEMA = """
dataset = "d"
people = 3000
adjacency = "{adjacency}"
[columns.town]
kind = "category"
values = ["a", "b", "c", "d"]
[columns.age]
kind = "integer"
range = [0, 9]
"""
WAYS = {
    "residuals": ("marginals(town, age; town; age)", "residuals", Budget(epsilon=1, delta="1e-6")),
    "several tables": ("marginals(town, age; town; age)", "direct", Budget(epsilon=1)),
    "one table": ("marginals(town, age)", None, Budget(epsilon=1)),
    "a public total": ("marginals(town, age)", None, Budget(epsilon=1)),
}
LEVEL = Fraction(95, 100)


@pytest.fixture(scope="module")
def rows():
    source = generator(3)
    towns = source.choice(4, 3000, p=[0.55, 0.25, 0.15, 0.05])
    ages = source.integers(0, 10, 3000)
    return [{"town": "abcd"[town], "age": int(age)} for town, age in zip(towns, ages, strict=True)]


@pytest.fixture(scope="module")
def made(rows, tmp_path_factory):
    folder = tmp_path_factory.mktemp("joint")
    lines = ["town,age", *(f"{row['town']},{row['age']}" for row in rows)]
    (folder / "d.csv").write_text("\n".join(lines) + "\n")
    found = {}
    for name, (workload, algorithm, budget) in WAYS.items():
        adjacency = "change-one" if name == "a public total" else "add-remove"
        found[name] = release(
            folder / "d.csv",
            Schema.loads(SCHEMA.format(adjacency=adjacency)),
            budget=budget,
            workload=workload,
            algorithms={} if algorithm is None else {workload: algorithm},
            ledger=folder / f"{len(found)}.db",
        )
    return found


def one(reader, sql, **more):
    return reader.ask(sql, **more).columns[0]


def table_and_weights(reader, taken, less):
    """The table of towns, and weights for its cells: 1 for the towns taken, -1 for those to take away."""
    table = reader._library.made(TableLibrary).table(("town",))
    weights = np.zeros(table.counts.shape)
    for name in taken:
        weights["abcd".index(name)] += 1
    for name in less:
        weights["abcd".index(name)] -= 1
    return table, weights


@pytest.mark.parametrize("way", ["residuals", "several tables", "one table"])
def test_a_difference_of_counts_has_the_noise_of_the_cells_that_differ(made, way):
    """What both count cancels; no chance is in it."""
    reader = ReleaseReader(made[way])
    found = one(
        reader,
        "SELECT count(*) FILTER (WHERE town IN ('a', 'b', 'c')) - count(*) FILTER (WHERE town IN ('b', 'c', 'd')) "
        "AS x FROM d",
    )
    table, weights = table_and_weights(reader, "a", "d")
    width, std = table.reach(weights, LEVEL)
    assert (found.upper - found.lower)[0] / 2 == pytest.approx(width, rel=0.01, abs=1)
    assert found.std[0] == pytest.approx(std, rel=1e-6)
    measured = float(
        table.counts @ weights
    )  # what is shown is whole and adds up; the interval holds both
    assert found.lower[0] - 1 <= measured <= found.upper[0] + 1
    same = one(
        reader, "SELECT count(*) FILTER (WHERE town = 'a') - count(town) + count(town) AS x FROM d"
    )
    alone = one(reader, "SELECT count(*) FILTER (WHERE town = 'a') AS x FROM d")
    assert (same.upper - same.lower)[0] <= (alone.upper - alone.lower)[0] + 2


@pytest.mark.parametrize("way", list(WAYS))
def test_all_groups_together_have_the_noise_of_the_whole(made, way):
    reader = ReleaseReader(made[way])
    sql = "SELECT sum(n) AS x FROM (SELECT town, count(*) AS n FROM d GROUP BY town) t"
    together, whole = one(reader, sql), one(reader, "SELECT count(*) AS x FROM d")
    if way == "a public total":
        # The cells are added up one by one here, so the public number of rows is not used. Missed once in 10^8 runs.
        sure = one(reader, sql, confidence=1 - 1e-8)
        assert sure.lower[0] <= 3000 <= sure.upper[0]
        return
    width = (together.upper - together.lower)[0]
    assert width <= (whole.upper - whole.lower)[0] * 1.02 + 2


def test_more_than_half_of_a_public_total_is_counted_by_the_other_cells(made):
    """3,000 less some cells, minus some cells: all their draws have the same sign, and none cancels."""
    reader = ReleaseReader(made["a public total"])
    sql = (
        "SELECT count(*) FILTER (WHERE town <> 'd' AND age > 0) - count(*) FILTER (WHERE town = 'd' AND age = 3) "
        "AS x FROM d"
    )
    found = one(reader, sql)
    large = reader.ask("SELECT count(*) FROM d WHERE town <> 'd' AND age > 0", whole=False).only
    small = reader.ask("SELECT count(*) FROM d WHERE town = 'd' AND age = 3", whole=False).only
    assert found.std[0] ** 2 == pytest.approx(large.std**2 + 3 * small.std**2)
    assert found.estimate[0] == pytest.approx(large.estimate - small.estimate, abs=60)


def noise_of(source, law, rows=1):
    shape = (rows, 6)
    return {
        "first": (law, source.integers(-2, 3, shape).astype(float)),
        "second": (law, source.integers(0, 2, shape).astype(float)),
    }


@pytest.mark.parametrize(
    "law",
    [DiscreteGaussianLaw(Fraction(400)), DiscreteLaplaceLaw(Fraction(10))],
    ids=["normal", "laplace"],
)
def test_the_interval_of_a_ratio_holds_every_ratio_that_its_noise_allows(law):
    """By trying ratios one by one: none that a test would keep is left out, and few others are let in."""
    source = generator(11)
    tried = 0
    is_slow = not law.sums_are_normal
    for _ in range(2 if is_slow else 6):
        x, y = float(source.integers(-600, 900)), float(source.integers(300, 900))
        top = JointNoise(np.array([x]), noise_of(source, law))
        bottom = JointNoise(np.array([y]), noise_of(source, law))
        found = joint_ratio(top, bottom, 0, LEVEL)
        if found is None:
            continue
        tried += 1
        low, high = found
        kept = []
        for ratio in np.linspace(
            low - 3 * (high - low), high + 3 * (high - low), 71 if is_slow else 141
        ):
            left = bottom.times(-ratio)
            weights = [(law, each[0]) for law, each in top.plus(left).weights.values()]
            if abs(x - ratio * y) <= linear_half_width(weights, LEVEL):
                kept.append(ratio)
        assert low <= min(kept) and max(kept) <= high
        assert max(kept) - min(kept) >= (high - low) * (1 - 2 * 7 / (70 if is_slow else 140) - 0.06)
    assert tried >= (1 if is_slow else 3)


def test_a_ratio_is_looked_for_as_far_as_the_law_of_its_noise_reaches():
    """Normal noise where the ratio is 0, Laplace noise further out: the first guess falls short."""
    normal, laplace = DiscreteGaussianLaw(Fraction(25)), DiscreteLaplaceLaw(Fraction(60))
    top = JointNoise(np.zeros(1), {"top": (normal, np.ones((1, 1)))})
    bottom = JointNoise(np.array([190.0]), {"bottom": (laplace, np.ones((1, 1)))})
    found = joint_ratio(top, bottom, 0, LEVEL)
    assert found is not None
    for ratio in np.linspace(0, 3 * found[1], 40):
        weights = [(normal, np.ones(1)), (laplace, np.array([ratio]))]
        if ratio * 190 <= linear_half_width(weights, LEVEL):
            assert found[0] <= -ratio and ratio <= found[1]


def test_a_ratio_whose_divisor_may_be_zero_has_no_ends():
    law = DiscreteGaussianLaw(Fraction(400))
    weights = {"one": (law, np.ones((1, 1)))}
    top, bottom = JointNoise(np.array([10.0]), weights), JointNoise(np.array([5.0]), weights)
    assert joint_ratio(top, bottom, 0, LEVEL) is None


def test_a_share_of_the_whole_is_narrower_than_two_separate_numbers_allow(made):
    """The part is in the whole: noise that moves both moves the share less."""
    reader = ReleaseReader(made["residuals"])
    found = one(
        reader, "SELECT town, count(*) * 1.0 / sum(count(*)) OVER () AS x FROM d GROUP BY town"
    )
    count = one(reader, "SELECT town, count(*) FROM d GROUP BY town", confidence=0.975)
    whole = one(reader, "SELECT count(*) FROM d", confidence=0.975)
    apart = [each.upper - each.lower for each in (count, whole)]
    union = (apart[0] + found.estimate * apart[1]) / 3000
    assert ((found.upper - found.lower)[:3] < 0.8 * union[:3]).all()


CONSTRUCTS = {
    "a difference": "SELECT count(*) FILTER (WHERE town = 'a') - count(*) FILTER (WHERE age < 5) AS x FROM d",
    "a sum": "SELECT sum(n) AS x FROM (SELECT town, count(*) AS n FROM d GROUP BY town) t",
    "a share": "SELECT 1.0 * count(*) FILTER (WHERE town = 'b') / count(town) AS x FROM d",
    "a share of a part": "SELECT 1.0 * count(*) FILTER (WHERE town = 'b' AND age > 6) / count(*) FILTER (WHERE town = 'b') AS x FROM d",
}


def misses(made, rows, sql, draws):
    truth = one(ReleaseReader(exactly(made, rows)), sql).estimate[0]
    again, source, missed = Redrawing(made, rows), np.random.default_rng(), 0
    for _ in range(draws):
        found = one(ReleaseReader(again(source)), sql)
        missed += not found.lower[0] <= truth <= found.upper[0]
    return missed


def exactly(made, rows):
    """The release without noise."""

    class Silent:
        def normal(self, mean, std, size):
            return np.zeros(size)

        def geometric(self, stop, size):
            return np.zeros(size, dtype=np.int64)

    return Redrawing(made, rows)(Silent())


@pytest.mark.parametrize("construct", list(CONSTRUCTS))
def test_intervals_of_numbers_that_share_draws_hold(made, rows, construct):
    """60 draws: false alarm below 1e-6; a coverage of 0.65 is caught almost surely. See the long one."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        missed = misses(made["residuals"], rows, CONSTRUCTS[construct], 60)
    assert missed <= stats.binom.ppf(1 - 1e-6, 60, 0.05)


@pytest.mark.trust
@pytest.mark.parametrize("way", ["residuals", "several tables"])
@pytest.mark.parametrize("construct", list(CONSTRUCTS))
def test_intervals_of_numbers_that_share_draws_hold_as_often_as_they_say(
    made, rows, construct, way
):
    """2,000 draws: false alarms below 1e-6 either side; coverages of 0.92 and of 0.985 are caught."""
    draws = 2000
    missed = misses(made[way], rows, CONSTRUCTS[construct], draws)
    assert missed <= stats.binom.ppf(1 - 1e-6, draws, 0.05)
    assert missed >= stats.binom.ppf(1e-6, draws, 0.04), "no wider than it must be"
