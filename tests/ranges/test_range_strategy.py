"""Strategies over the cells of a short column: their error, their answers, and when they are chosen."""

from __future__ import annotations

import csv
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import chi2

from discreet.answering import ReleaseReader
from discreet.core.noise import DrawnNoise
from discreet.errors import BadInput, BadRelease
from discreet.families.ranges.estimate.cell_strategies import (
    cell_intervals,
    interval_strategy,
    interval_variances,
)
from discreet.families.ranges.queries.ranges import Intervals, Rectangles
from discreet.families.ranges.release.strategy import RangeStrategy
from discreet.families.ranges.release.tree import FullTree
from discreet.privacy.budget import Budget
from discreet.privacy.cost import Accounting
from discreet.releases import plan
from discreet.releases.verifying import verify
from discreet.schema import Schema
from tests.releasing import release

SCHEMA = """
dataset = "people"
adjacency = "{adjacency}"
[columns.age]
kind = "integer"
range = [0, {last}]
[columns.pay]
kind = "integer"
range = [0, 9]
"""


def schema_of(cells: int, adjacency: str = "add-remove") -> Schema:
    return Schema.loads(SCHEMA.format(last=cells - 1, adjacency=adjacency))


def released(folder, cells=40, budget=None, *, adjacency="add-remove", rows=None, **named):
    ages = [age % cells for age in range(900)] if rows is None else rows
    with (folder / "people.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["age", "pay"])
        writer.writerows([["" if age is None else age, 1] for age in ages])
    return release(
        folder / "people.csv",
        schema_of(cells, adjacency),
        budget=Budget(rho="1000000") if budget is None else budget,
        workload="intervals(age)",
        algorithms={"intervals(age)": "strategy", **named},
        ledger=folder / "ledger.db",
    )


@pytest.mark.parametrize("squared", [True, False])
@pytest.mark.parametrize("cells", [2, 3, 17, 60])
def test_the_variance_of_every_interval_is_that_of_its_least_squares(cells, squared):
    matrix = interval_strategy(cells, squared=squared)
    found = cell_intervals(matrix, np.zeros(len(matrix)), 4.0)
    inverse = np.linalg.pinv(matrix.astype(float))
    variances = []
    for first in range(cells):
        for last in range(first, cells):
            weights = inverse[first : last + 1].sum(axis=0)
            one = found.between(np.array([first], np.uint64), np.array([last], np.uint64))
            assert one.outer_std[0] == pytest.approx(2 * np.linalg.norm(weights))
            variances.append(float(weights @ weights))
    assert interval_variances(matrix) == pytest.approx((np.mean(variances), np.max(variances)))


@pytest.mark.parametrize(
    ("cells", "accounting", "limit"),
    [(16, Accounting.CONCENTRATED, 0.9), (100, Accounting.CONCENTRATED, 0.8), (256, Accounting.CONCENTRATED, 0.85),
     (16, Accounting.BASIC, 0.9), (100, Accounting.BASIC, 0.8)],
)  # fmt: skip
def test_a_strategy_expects_less_error_than_the_best_full_tree(cells, accounting, limit):
    share = Budget(rho="1/10") if accounting is Accounting.CONCENTRATED else Budget(epsilon=1)
    expected = [
        each.prepare(
            Intervals("age"), schema_of(cells), share=share, accounting=accounting
        ).error(rows=None, confidence=0.95).expected
        for each in (RangeStrategy(), FullTree())
    ]  # fmt: skip
    assert expected[0] <= limit * expected[1]


@pytest.mark.parametrize("budget", [Budget(rho="1/2"), Budget(epsilon=1)], ids=["rho", "epsilon"])
def test_noise_has_the_variance_that_intervals_are_made_of(budget):
    """4,000 draws of three intervals: chi square (of Laplace sums with an excess kurtosis of at most 3, taken as
    2.5 times wider) leaves its bounds with probability below 1e-7; it would notice a factor of 1.3."""
    is_gaussian = budget == Budget(rho="1/2")
    accounting = Accounting.CONCENTRATED if is_gaussian else Accounting.BASIC
    made = RangeStrategy().prepare(
        Intervals("age"), schema_of(24), share=budget, accounting=accounting
    )
    (query,) = (request.query for request in made.requests)
    exact = query.evaluate(np.arange(26, dtype=np.int64) * 7)
    draws = 4000
    first, last = np.array([0, 5, 11], np.uint64), np.array([23, 5, 17], np.uint64)
    sums = []
    for _ in range(draws):
        noisy = DrawnNoise().add(exact, made.law, step="test")
        found = cell_intervals(query.array, noisy.astype(float), made.law.variance)
        one = found.between(first, last)
        sums.append(one.outer)
    truth = [7 * sum(range(24)), 35, 7 * sum(range(11, 18))]
    squares = ((np.array(sums) - truth) ** 2).sum(axis=0) / one.outer_std**2
    low, high = chi2.ppf([1e-8, 1 - 1e-8], draws)
    slack = 1 if is_gaussian else 2.5
    assert (squares > draws - slack * (draws - low)).all()
    assert (squares < draws + slack * (high - draws)).all()


@pytest.mark.parametrize("adjacency", ["add-remove", "change-one"])
def test_without_noise_to_speak_of_every_question_has_its_true_answer(tmp_path, adjacency):
    """At rho a million the noise of a count is below 1e-2 rows, so rounding takes all of it away; at this
    confidence no interval misses but for a chance of 1e-8, which rounding would show."""
    rows = [None] * 5 + [3] * 10 + [7] * 20 + [39] * 6
    made = released(tmp_path, rows=rows, adjacency=adjacency)
    reader = ReleaseReader(made)

    def asked(sql):
        return reader.ask(sql, confidence=1 - 1e-8).only.estimate

    assert asked("SELECT count(*) FROM people WHERE age BETWEEN 3 AND 7") == 30
    assert asked("SELECT count(*) FROM people WHERE age > 7") == 6
    assert asked("SELECT count(*) FROM people WHERE age < 4 OR age >= 20") == 16
    assert asked("SELECT count(age) FROM people") == 36
    assert asked("SELECT median(age) FROM people") == pytest.approx(7, abs=1)
    groups = reader.ask("SELECT age, count(*) FROM people GROUP BY age", confidence=1 - 1e-8)
    assert sorted(groups.columns[0].estimate)[-3:] == [6, 10, 20]
    many = reader.count_many("age", [0, 7], [39, 7], confidence=1 - 1e-8)
    assert many.estimate.tolist() == [36, 20]
    assert 16 <= reader.synthesize(rows=36, seed=1).column("age").count(7) <= 21
    assert reader.distribution("age", confidence=1 - 1e-8).estimate.sum() == pytest.approx(
        36, abs=1e-6
    )
    assert verify(made).ok


def test_the_claim_holds_for_all_intervals_and_is_within_a_few_deviations(tmp_path):
    """It fails with probability below delta = 1e-9. Nine deviations are for the noise of least squares, and
    one for what smoothing moves."""
    rows = [age % 30 for age in range(3000)]
    made = released(tmp_path, cells=30, rows=rows, budget=Budget(rho="1/50"))
    reader = ReleaseReader(made)
    bound = reader.usefulness("intervals(age)", delta="1/1000000000").bound
    first, last = (each.astype(np.uint64) for each in np.triu_indices(30))
    found = reader.count_many("age", first, last, codes=True)
    truth = 100 * (last - first + 1).astype(float)
    assert np.abs(found.estimate - truth).max() <= bound
    assert bound <= 10 * found.std.max()
    (claim,) = made.claims
    assert claim.bound < bound and claim.simultaneous


def test_it_is_chosen_where_it_expects_less():
    def chosen(cells, **budget):
        planned = plan(schema_of(cells), budget=Budget(**budget), workload="intervals(age)")
        return planned.classes[0].algorithm

    assert chosen(100, rho="1/10") == "strategy"
    assert chosen(5000, rho="1/10") == "tree"
    assert chosen(100, epsilon=1) == "adaptive-tree"


def test_what_it_cannot_do_is_refused_in_a_sentence():
    named = {"algorithms": {"intervals(age)": "strategy"}}
    with pytest.raises(BadInput, match=r"'age' has 300 cells.*2 to 256"):
        plan(schema_of(300), budget=Budget(rho=1), workload="intervals(age)", **named)
    with pytest.raises(BadInput, match=r"at most 128\. Use a tree, or a budget with a delta"):
        plan(schema_of(200), budget=Budget(epsilon=1), workload="intervals(age)", **named)
    assert "one column" in (RangeStrategy().refusal(Rectangles("age", "pay"), schema_of(9)) or "")


def test_a_strategy_that_does_not_say_what_its_cells_hold_is_refused(tmp_path):
    made = released(tmp_path, cells=6)
    (part,) = made.parts
    (only,) = part.measurements
    rows = only.query.matrix
    singular = replace(only.query, matrix=(*rows[:-1], rows[0]))
    for broken in (
        replace(part, measurements=(replace(only, query=singular),)),
        replace(part, measurements=(only, only)),
        replace(part, estimates={"leaves": np.zeros(5)}),
    ):
        with pytest.raises(BadRelease, match="strategy"):
            ReleaseReader(replace(made, parts=(broken,))).ask("SELECT count(age) FROM people")
