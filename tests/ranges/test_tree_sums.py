"""Sums, means and moments from a tree: the right noise, intervals that hold, and questions about a release."""

from __future__ import annotations

import csv
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

import discreet as dc
from discreet.answering.regions.region import Region
from discreet.families.ranges.answer.ranges import RangeSource
from discreet.families.ranges.answer.tree_sums import _edge, sums_of
from discreet.families.ranges.estimate.tree_passes import TreePasses
from discreet.families.ranges.release.tree import FullTree
from discreet.questions.expressions import Call, ColumnValue, Constant
from tests.no_noise import without_noise
from tests.ranges.exact import dense_least_squares, drawing, prepared
from tests.ranges.people import PEOPLE

BELOW = Call("<", (ColumnValue("x0", "integer"), Constant(130, "integer")), "boolean")
KINDS = {
    "sum": Region(kind="sum", column="x0"),
    "mean": Region(kind="avg", column="x0"),
    "squares": Region(kind="moment", column="x0", second="x0", centres=(40.0, 40.0)),
    "sum below": Region(BELOW, kind="sum", column="x0"),
    "mean below": Region(BELOW, kind="avg", column="x0"),
}


def true_value(name: str, values: np.ndarray) -> float:
    """The answer, for a value of each row."""
    if name.endswith("below"):
        values = values[values < 130]
    if name.startswith("mean"):
        return float(values.mean())
    return float(((values - 40.0) ** 2).sum() if name == "squares" else values.sum())


@pytest.mark.parametrize("cells", [2, 37, 300])
def test_weighted_leaves_have_the_variance_of_dense_least_squares(cells):
    generator = np.random.default_rng()
    made = prepared((cells,))
    with drawing(generator.poisson(generator.gamma(0.1, 60, cells)), made) as draw:
        source = RangeSource(draw(), made.schema)
    first, _, _, covariance = dense_least_squares(source.tree, (cells,))
    weights = generator.normal(0, 10, len(first))
    ordered = weights[np.argsort(first[:, 0])]
    found = source.intervals.weighted_deviation(ordered)
    assert found**2 == pytest.approx(weights @ covariance @ weights)


@pytest.mark.parametrize("cells", [1, 2, 37, 300])
def test_sums_up_to_each_leaf_have_the_variance_of_dense_least_squares(cells):
    generator = np.random.default_rng()
    made = prepared((cells,))
    with drawing(generator.poisson(generator.gamma(0.1, 60, cells)), made) as draw:
        source = RangeSource(draw(), made.schema)
    first, _, _, covariance = dense_least_squares(source.tree, (cells,))
    order = np.argsort(first[:, 0])
    covariance = covariance[np.ix_(order, order)]
    many = len(order)
    passes = TreePasses(source.nodes, source.intervals.leaves)
    before, after = generator.normal(0, 10, (2, many))
    weights = np.where(np.arange(many) < np.arange(many)[:, np.newaxis], before, after)
    expected = np.einsum("bi,ij,bj->b", weights, covariance, weights)
    np.testing.assert_allclose(passes.boundary_deviations(before, after) ** 2, expected, rtol=1e-6)
    level, start, stop = 0.3, many // 4, many - many // 5
    inside = (np.arange(many) >= start) & (np.arange(many) < stop)
    weights = np.where(np.arange(many) < np.arange(start, stop)[:, np.newaxis], 1 - level, -level)
    weights = weights * inside
    expected = np.einsum("bi,ij,bj->b", weights, covariance, weights)
    found = source.intervals.excess(level, start, stop)
    np.testing.assert_allclose(found**2, expected, rtol=1e-6, atol=1e-9)


@given(
    far=st.floats(-1e18, -1e-3),
    best=st.floats(1e-3, 1e18),
    share=st.floats(0, 1),
    power=st.sampled_from([0.3, 1.0, 3.0]),
    sign=st.sampled_from([1, -1]),
)
def test_the_end_of_an_interval_is_found_on_the_safe_side(far, best, share, power, sign):
    """However values are ruled out: what is found is ruled out, or the first of all, and near the end."""
    end = far + share * (best - far)

    def surplus(t):
        return math.copysign(abs(end - sign * t) ** power, end - sign * t)

    found = sign * _edge(sign * far, sign * best, surplus)
    assert found <= end
    assert end - found <= (best - far) / 2**29


@pytest.mark.parametrize("algorithm", [None, FullTree()], ids=["adaptive", "full"])
def test_intervals_of_sums_and_means_hold(algorithm):
    """95% intervals of five questions. At that rate a question holds in fewer than `fewest` of 80 draws with a chance
    below 2e-7; one that counts half of the noise holds in about two thirds where the leaves are cells."""
    draws, rows = 80, 3000
    made = prepared((200,), algorithm=algorithm)
    place = np.linspace(0, 1, rows)
    values = (199 * place**2).astype(int)
    fewest = int(binom.ppf(2e-7, draws, 0.95))
    held = dict.fromkeys(KINDS, 0)
    with drawing(np.bincount(values, minlength=200), made, draws=draws) as draw:
        for _ in range(draws):
            source = RangeSource(draw(), made.schema)
            for name, region in KINDS.items():
                found = sums_of(source, region, 0.95)
                assert found is not None and found.lower <= found.estimate <= found.upper
                held[name] += bool(found.lower <= true_value(name, values) <= found.upper)
    assert min(held.values()) >= fewest, (held, fewest)


def test_sql_over_a_release_of_intervals_alone(tmp_path):
    """Without noise: integers are exact, wide leaves and cells are allowed for."""
    ages, incomes = np.arange(400) % 90, np.linspace(3, 997, 400) ** 0.9
    path = tmp_path / "people.csv"
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["age", "income", "born", "sex"])
        writer.writerows([a, i, "1970-01-01", "f"] for a, i in zip(ages, incomes, strict=True))
    with without_noise():
        reader = dc.release(
            path,
            dc.Schema.loads(PEOPLE),
            budget=dc.Budget(epsilon=8),
            workload=["intervals(age)", "intervals(income)"],
            ledger=tmp_path / "ledger.db",
        )
    for question, truth in (
        ("sum(age)", ages.sum()),
        ("avg(age)", ages.mean()),
        ("stddev_pop(age)", ages.std()),
        ("avg(income)", incomes.mean()),
        ("sum(income)", incomes.sum()),
        ("avg(income) FILTER (WHERE income > 100.3)", incomes[incomes > 100.3].mean()),
        ("sum(age) / 2", ages.sum() / 2),
    ):
        answer = reader.ask(f"SELECT {question} FROM people").only
        assert answer.lower <= truth <= answer.upper, question
        assert answer.estimate == pytest.approx(truth, rel=0.05), question
    with pytest.raises(dc.NotAnswerable, match="means"):
        reader.ask("SELECT avg(age) FROM people WHERE income > 100")
    with pytest.raises(dc.NotAnswerable):
        reader.ask("SELECT sex, avg(age) FROM people GROUP BY sex")


def test_a_tree_answers_before_a_table_that_has_more_noise(tmp_path):
    """Over 4,096 cells each cell's own noise adds up; the choice is by the noise laws."""
    schema = dc.Schema.loads(
        'dataset = "d"\n[columns.x]\nkind = "integer"\nrange = [0, 4095]\nnulls = "exclude"\n'
    )
    path = tmp_path / "d.csv"
    path.write_text("x\n" + "\n".join(str(each % 500) for each in range(3000)))
    reader = dc.release(
        path,
        schema,
        budget=dc.Budget(epsilon=2),
        workload=["intervals(x)", "histogram(x)"],
        ledger=tmp_path / "ledger.db",
    )
    alone = dc.release(
        path,
        schema,
        budget=dc.Budget(epsilon=1),
        workload=["histogram(x)"],
        ledger=tmp_path / "other.db",
    )
    with_tree, without = (each.ask("SELECT sum(x) FROM d").only for each in (reader, alone))
    assert with_tree.upper - with_tree.lower < (without.upper - without.lower) / 3
