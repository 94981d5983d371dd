"""Means, sums and counts by group: the right numbers, the right noise, intervals that hold."""

from __future__ import annotations

from collections import defaultdict
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import binom

import discreet as dc
from discreet.answering.regions.region import Region
from discreet.errors import BadRelease
from discreet.families.groups.answer.drawn_groups import slopes, tilted
from discreet.families.groups.answer.noisy_columns import noisy_columns
from discreet.families.groups.answer.number_source import GroupSource
from discreet.families.groups.queries.group_sums import GroupEnds
from discreet.privacy.budget import Budget
from discreet.privacy.cost import Accounting
from discreet.releases.verifying import verify
from tests.groups.people import (
    SCHEMA,
    drawn_part,
    exact_numbers,
    prepared,
    schema_of,
    some_rows,
    written,
)

BUDGETS = [Budget(epsilon=1), Budget(rho="1/20")]
ROWS = some_rows(4000, np.random.default_rng(7))


def by_region(rows=ROWS, keep=lambda row: True):
    """Incomes of each region, as they are rounded before they are summed."""
    found = defaultdict(list)
    for row in rows:
        if row[2] is not None and keep(row):
            found[row[0]].append(row[2])
    return found


def source_of(text, schema, budget=BUDGETS[0], *, noisy, algorithm=None):
    made = prepared(text, schema, budget, algorithm=algorithm)
    exact = exact_numbers(made, ROWS, schema)
    return GroupSource(drawn_part(made, exact, schema, noisy=noisy), 0, schema)


@pytest.mark.parametrize("algorithm", ["group-ends", "group-split"])
def test_without_noise_every_form_of_question_has_the_true_answer(algorithm):
    schema = schema_of()
    source = source_of("means(income by sex, region)", schema, noisy=False, algorithm=algorithm)
    region = Region(groups=("region",), kind="avg", column="income")
    found = source.read_one(region, 0.95)
    truth = by_region()
    np.testing.assert_allclose(found.estimate, [np.mean(truth[each]) for each in "nes"], atol=1e-4)
    sums = source.read_one(Region(groups=("region",), kind="sum", column="income"), 0.95)
    np.testing.assert_allclose(sums.estimate, [sum(truth[each]) for each in "nes"], atol=0.05)
    counts = source.read_one(Region(groups=("region",), kind="count", column="income"), 0.95)
    np.testing.assert_allclose(counts.estimate, [len(truth[each]) for each in "nes"], atol=1e-6)
    both = source.read_one(Region(groups=("sex", "region"), kind="count", column="income"), 0.95)
    assert both.codes.tolist()[:4] == [[0, 0], [0, 1], [0, 2], [1, 0]]
    women = [len(by_region(keep=lambda row: row[1] == "f")[each]) for each in "nes"]
    np.testing.assert_allclose(both.estimate[:3], women, atol=1e-6)


def test_a_release_answers_plain_sql_and_verifies(tmp_path):
    """False alarm: 1e-7 an interval, a dozen of them."""
    path = written(ROWS, tmp_path / "people.csv")
    reader = dc.release(
        path,
        schema_of(),
        budget=Budget(epsilon=2),
        workload=["means(income, age by region)", "sums(income by sex)"],
        ledger=tmp_path / "ledger.db",
    )
    truth, sure = by_region(), 1 - 1e-7
    asked = {
        "SELECT region, avg(income) FROM people GROUP BY region": [
            np.mean(truth[each]) for each in "nes"
        ],
        "SELECT avg(income) FROM people WHERE region IN ('n', 's')": [
            np.mean(truth["n"] + truth["s"])
        ],
        "SELECT avg(income) FROM people": [
            np.mean([each for own in truth.values() for each in own])
        ],
        "SELECT sum(income) FROM people WHERE sex = 'f'": [
            sum(map(sum, by_region(keep=lambda row: row[1] == "f").values()))
        ],
        "SELECT region, count(income) FROM people GROUP BY region": [
            len(truth[each]) for each in "nes"
        ],
        "SELECT avg(age) FROM people WHERE region = 'e'": [
            np.mean([row[3] for row in ROWS if row[0] == "e"])
        ],
    }
    answers = reader.ask_many(list(asked), confidence=sure)
    for question, answer, exact in zip(asked, answers, asked.values(), strict=True):
        (column,) = answer.columns
        assert np.all((column.lower <= exact) & (exact <= column.upper)), question
    with pytest.raises(dc.NotAnswerable, match=r"ask for count\(income\)"):
        reader.ask("SELECT count(*) FROM people WHERE region = 'n'")
    assert verify(reader.release).ok
    assert reader.usefulness("sums(income by sex)", delta="1/20").bound > 0
    for claim in reader.release.claims:  # what is useful is what was claimed, of the same groups
        useful = reader.usefulness(claim.query_class, delta="1/20")
        assert (useful.bound, useful.among) == (pytest.approx(claim.bound), claim.among)
    assert len(reader.synthesize(200, seed=1).column("region")) == 200


@pytest.mark.parametrize("adjacency", ["add-remove", "change-one"])
@pytest.mark.parametrize("budget", BUDGETS, ids=str)
def test_the_way_of_the_smaller_expected_error_is_taken(adjacency, budget):
    """Both ends together under Laplace noise and under change-one; a split where rho is shared freely."""
    schema = schema_of(adjacency)
    ways = {
        name: prepared("means(age by sex)", schema, budget, algorithm=name)
        for name in ("group-ends", "group-split")
    }
    best = prepared("means(age by sex)", schema, budget)
    assert best.algorithm == min(ways, key=lambda name: ways[name].log_error())
    wins = budget.is_pure or adjacency == "change-one"
    assert best.algorithm == ("group-ends" if wins else "group-split")
    errors = {name: way.error(rows=1000, confidence=0.95).half_width for name, way in ways.items()}
    if budget.is_pure:
        assert errors["group-ends"] < 0.8 * errors["group-split"]


@pytest.mark.parametrize("algorithm", ["group-ends", "group-split"])
def test_a_column_of_one_value_is_planned_and_its_mean_is_that_value(algorithm):
    """Its bounds have no width, and nothing is divided by that."""
    schema = dc.Schema.loads(
        'dataset = "t"\n[columns.m]\nkind = "boolean"\n[columns.i]\nkind = "integer"\nrange = [5, 5]'
    )
    made = prepared("means(i by m)", schema, BUDGETS[0], algorithm=algorithm)
    assert made.error(rows=1000, confidence=0.95).half_width == 0


def test_more_groups_cost_nothing_and_more_columns_share():
    schema = schema_of()
    one, two = (
        prepared(f"means(income by {by})", schema, BUDGETS[0]).noise()[0]["std"]
        for by in ("region", "region, sex")
    )
    assert one == two
    shared = prepared("means(income, age by region)", schema, BUDGETS[0]).noise()[0]["std"]
    assert shared == pytest.approx(2 * one, rel=1e-6)


def test_sums_alone_are_measured_where_the_bounds_do_not_end_at_nothing():
    schema = schema_of()
    assert prepared("sums(income by sex)", schema, BUDGETS[0]).algorithm == "group-sums"
    assert prepared("sums(age by sex)", schema, BUDGETS[0]).algorithm == "group-ends"
    source = source_of("sums(income by sex)", schema, noisy=False)
    assert source.read_one(Region(kind="avg", column="income"), 0.95) is None


def covered(text, adjacency, budget, *, draws, algorithm=None):
    """How many intervals of independent groups' means and sums held, and how many there were."""
    schema = schema_of(adjacency)
    made = prepared(text, schema, budget, algorithm=algorithm)
    exact = exact_numbers(made, ROWS, schema)
    kinds = ("avg", "sum")
    regions = [Region(groups=("region",), kind=kind, column="income") for kind in kinds]
    calm = GroupSource(drawn_part(made, exact, schema, noisy=False), 0, schema)
    truth = [calm.read_one(region, 0.95).estimate for region in regions]
    held = dict.fromkeys(kinds, 0)
    for _ in range(draws):
        source = GroupSource(drawn_part(made, exact, schema), 0, schema)
        for kind, region, true in zip(kinds, regions, truth, strict=True):
            found = source.read_one(region, 0.95)
            held[kind] += int(((found.lower <= true) & (true <= found.upper)).sum())
    return held, 3 * draws


CASES = [
    ("add-remove", BUDGETS[0], "group-ends"),
    ("change-one", BUDGETS[0], "group-split"),
    ("add-remove", BUDGETS[1], "group-split"),
    ("change-one", BUDGETS[1], "group-ends"),
]


@pytest.mark.parametrize(("adjacency", "budget", "algorithm"), CASES, ids=str)
def test_intervals_of_groups_hold_as_often_as_they_say(adjacency, budget, algorithm):
    """600 independent draws a kind: false alarm below 1e-6; a true coverage of .90 is caught with
    probability .94."""
    held, many = covered(
        "means(income by region)", adjacency, budget, draws=200, algorithm=algorithm
    )
    for kind, count in held.items():
        assert count >= binom.ppf(1e-7, many, 0.95), kind


def test_the_interval_of_several_groups_together_has_the_noise_of_all_of_them():
    """300 draws: false alarm below 1e-6. With the noise of one group for the four of sex a mean would
    hold 68% of the time."""
    schema = schema_of()
    made = prepared("means(income by sex)", schema, BUDGETS[0])
    exact = exact_numbers(made, ROWS, schema)
    region = Region(kind="avg", column="income")
    calm = GroupSource(drawn_part(made, exact, schema, noisy=False), 0, schema)
    truth = calm.read_one(region, 0.95).estimate[0]
    held = 0
    for _ in range(300):
        found = GroupSource(drawn_part(made, exact, schema), 0, schema).read_one(region, 0.95)
        held += found.lower[0] <= truth <= found.upper[0]
    assert held >= binom.ppf(1e-7, 300, 0.95)


@pytest.mark.parametrize("budget", [*BUDGETS, Budget(epsilon=1, delta=1e-6)], ids=str)
@pytest.mark.parametrize("text", ["means(income, age by sex)", "sums(income by sex)"])
def test_the_parts_of_a_share_add_up_to_it(text, budget):
    schema = schema_of()
    for algorithm in ("group-ends", "group-split" if "means" in text else "group-sums"):
        made = prepared(text, schema, budget, algorithm=algorithm)
        notion = Accounting.BASIC if budget.is_pure else Accounting.CONCENTRATED
        spent = [cost.under(notion) for cost in made.costs()]
        assert sum(spent[1:], spent[0]) == made.share


def test_a_person_in_many_groups_is_said_to_be_cut():
    text = SCHEMA.format(
        adjacency="add-remove", unit='[unit]\nidentifier = "id"\nmax_rows = 5\nmax_groups = 2\n'
    )
    schema = dc.Schema.loads(text)
    made = prepared("means(income by sex)", schema, BUDGETS[0])
    zeros = [np.zeros(request.query.size(schema), dtype=np.int64) for request in made.requests]
    source = GroupSource(drawn_part(made, zeros, schema), 0, schema)
    found = source.read_one(Region(groups=("sex",), kind="avg", column="income"), 0.95)
    assert any("At most 2 groups" in note for note in found.notes)


@pytest.mark.trust
@pytest.mark.parametrize(("adjacency", "budget", "algorithm"), CASES, ids=str)
def test_the_pooled_coverage_of_groups_is_between_945_and_970(adjacency, budget, algorithm):
    """24,000 independent draws a kind. A coverage of exactly .95 falls below .9433, or one of .963
    above .970, with probability below 1e-6."""
    held, many = covered(
        "means(income by region)", adjacency, budget, draws=8000, algorithm=algorithm
    )
    for kind, count in held.items():
        assert 0.9433 <= count / many <= 0.97, (kind, count / many)


def test_an_empty_group_has_a_mean_anywhere_and_no_error():
    schema = schema_of()
    made = prepared("means(income by sex)", schema, BUDGETS[0])
    nothing = [np.zeros_like(each) for each in exact_numbers(made, [], schema)]
    source = GroupSource(drawn_part(made, nothing, schema, noisy=False), 0, schema)
    found = source.read_one(Region(groups=("sex",), kind="avg", column="income"), 0.95)
    assert np.all(found.lower == -50) and np.all(found.upper == 150)


def test_rows_in_no_group_are_not_silently_left_out():
    schema = dc.Schema.loads(
        'dataset = "d"\n[columns.g]\nkind = "category"\nvalues = ["a"]\nother = false\n'
        'nulls = "exclude"\n[columns.x]\nkind = "integer"\nrange = [0, 9]\n'
    )
    made = prepared("means(x by g)", schema, BUDGETS[0])
    zeros = [np.zeros(request.query.size(schema), dtype=np.int64) for request in made.requests]
    source = GroupSource(drawn_part(made, zeros, schema, noisy=False), 0, schema)
    with pytest.raises(dc.NotAnswerable, match="in no group"):
        source.read_one(Region(kind="count", column="x"), 0.95)
    for groups in ((), ("g",)):
        found = source.read_one(Region(groups=groups, kind="avg", column="x"), 0.95)
        assert any("'g'" in note for note in found.notes)


def test_numbers_that_do_not_fit_together_are_a_bad_release():
    schema = schema_of()
    made = prepared("means(income by sex)", schema, BUDGETS[1], algorithm="group-split")
    part = drawn_part(made, exact_numbers(made, ROWS, schema), schema)
    sums, counts = part.noisy
    for wrong in ([counts], [sums], [sums, counts, counts]):
        with pytest.raises(BadRelease):
            noisy_columns(wrong, schema)


def test_values_are_drawn_with_the_mean_of_their_group():
    """Deterministic: even draws through the density of each mean."""
    means = np.array([0.02, 0.3, 0.5, 0.9])
    even = (np.arange(100_000) + 0.5) / 100_000
    for mean, slope in zip(means, slopes(means), strict=True):
        assert tilted(even, np.full(len(even), slope)).mean() == pytest.approx(mean, abs=1e-3)


def test_the_two_ends_cost_what_one_sum_costs():
    """The K-norm ball: sum and count together have the L1 sensitivity of the sum from the low bound alone."""
    schema = schema_of()
    ends = GroupEnds("age", ("sex",), 1)
    assert ends.sensitivity(schema).l1 == 39 == ends.tallies(schema)[0].sensitivity(schema).l1
    law = (
        prepared("means(age by sex)", schema, Budget(epsilon=1))
        .requests[0]
        .mechanism.law(ends.sensitivity(schema), size=8)
    )
    assert law.scale == Fraction(39)


@pytest.mark.parametrize(("adjacency", "budget", "algorithm"), CASES, ids=str)
def test_the_claim_is_what_the_plan_says_and_holds_for_the_groups_that_it_names(
    adjacency, budget, algorithm
):
    """300 independent draws at a risk of 5% each: false alarm below 1e-6, by the binomial law.

    The groups are the worst that the claim is for: of just so many values, all of them at a bound.
    """
    schema, text = schema_of(adjacency), "means(income by region)"
    made = prepared(text, schema, budget, algorithm=algorithm)
    rows = [(region, "f", 150.0, 1) for region in "nes" for _ in range(200)]
    exact = exact_numbers(made, rows, schema)
    calm = drawn_part(made, exact, schema, noisy=False)
    _, (claim,) = made.finish(None, calm.noisy, public_rows=600, confidence=0.95)
    assert claim.bound == made.error(rows=600, confidence=0.95).simultaneous
    assert claim.among == "groups of at least 200 values"
    region = Region(groups=("region",), kind="avg", column="income")
    missed = 0
    for _ in range(300):
        found = GroupSource(drawn_part(made, exact, schema), 0, schema).read_one(region, 0.95)
        missed += bool((np.abs(found.estimate - 150) > claim.bound).any())
    assert missed <= binom.isf(1e-6, 300, 0.05)


@pytest.mark.parametrize("budget", BUDGETS, ids=str)
def test_the_claim_of_sums_by_group_is_what_the_plan_says(budget):
    schema = schema_of()
    made = prepared("sums(income by region)", schema, budget)
    part = drawn_part(made, exact_numbers(made, ROWS, schema), schema)
    _, (claim,) = made.finish(None, part.noisy, public_rows=None, confidence=0.95)
    assert claim.bound == pytest.approx(made.error(rows=4000, confidence=0.95).simultaneous)


def test_a_group_of_few_values_gets_no_claim():
    schema = schema_of()
    made = prepared("means(income by region)", schema, Budget(epsilon="1/10000"))
    part = drawn_part(made, exact_numbers(made, ROWS, schema), schema)
    assert made.finish(None, part.noisy, public_rows=len(ROWS), confidence=0.95)[1] == ()
