"""Counts that are likely given noisy ones, and what synthetic rows follow because of them."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from discreet.families.tables.estimate.likely_counts import (
    SHAPES,
    LikelyCounts,
    fitted_weights,
    likely,
)
from discreet.families.tables.estimate.wanted_pairs import (
    raked,
    shrunk,
    wanted_columns,
    wanted_pairs,
)

EVEN = np.full(len(SHAPES), 1 / len(SHAPES))


@pytest.mark.parametrize("expected", [0.3, 4.0, 50.0, 3000.0])
@pytest.mark.parametrize("variance", [1.0, 100.0, 40_000.0])
def test_a_likely_count_is_the_mean_given_the_noisy_one(expected, variance):
    """By brute force over all counts of one shape; steps and places cost a fifth of a deviation of the counts at most."""
    from scipy.stats import nbinom

    for place, shape in enumerate(SHAPES[1:6], start=1):
        std = np.sqrt(expected + variance)
        noisy = np.linspace(max(expected - 3 * std, -3 * np.sqrt(variance)), expected + 3 * std, 40)
        counts = np.arange(0, int(expected + 12 * std) + 40)
        chances = nbinom.pmf(counts, shape, shape / (shape + expected))
        given = chances * np.exp(-((noisy[:, None] - counts) ** 2) / 2 / variance)
        exact = (given @ counts) / given.sum(axis=1)
        weights = np.zeros(len(SHAPES))
        weights[place] = 1.0
        found = LikelyCounts.of(noisy, np.full(40, expected), variance).given(weights)
        reach = np.minimum(std, np.sqrt(expected + expected**2 / shape) + 1)
        worst = np.abs(found - exact).max() / np.max(reach)
        assert worst < 0.2, (worst, shape, expected, variance)


def test_likely_counts_are_nearer_to_the_truth_than_noisy_and_expected_ones():
    """Squared errors relative to those of noise are .091 +- .001 and .530 +- .007 (20 runs): false alarm far below 1e-6. Noisy counts
    that were only made positive have .84 and .75. Relative to those of the expected counts they are 1.02 and .28."""
    generator = np.random.default_rng()
    for shape, most in ((1e6, 0.12), (1.0, 0.61)):
        expected = np.full(20_000, 20.0)
        true = generator.poisson(generator.gamma(shape, 20.0 / shape, 20_000))
        noisy = true + 15 * generator.standard_normal(20_000)
        found = likely(noisy, expected, 225.0, 10.0)
        wrong, noise = (float(np.mean((each - true) ** 2)) for each in (found, noisy))
        assert wrong < most * noise
        assert wrong < 1.1 * float(np.mean((expected - true) ** 2))


def test_counts_of_hardly_any_noise_and_counts_beyond_reach_stay_as_they_are():
    noisy = np.array([0.0, 3.0, 10.0, 500.0, 2.0])
    assert np.allclose(likely(noisy, np.full(5, 3.0), 1e-12, 10.0), noisy, atol=0.35)
    far = LikelyCounts.of(np.array([1e6, -1e6]), np.full(2, 3.0), 4.0)
    assert far.given(EVEN).tolist() == [1e6, 0.0]
    assert LikelyCounts.of(np.zeros(0), np.zeros(0), 1.0).given(EVEN).size == 0
    assert np.allclose(fitted_weights([], 2.0), EVEN)


@pytest.mark.parametrize("variance", [0.0, 1e-30, 1e-3, 1e12])
def test_nothing_that_noise_can_be_makes_a_count_that_is_no_number(variance):
    generator = np.random.default_rng()
    for expected in (np.zeros(30), np.full(30, 1e-300), generator.gamma(0.1, 1e6, 30)):
        noisy = expected + np.sqrt(variance) * generator.standard_normal(30)
        found = likely(noisy, expected, variance, 10.0)
        assert np.all(np.isfinite(found)) and np.all(found >= 0)


def measured_columns(tables, variance):
    return SimpleNamespace(
        determines=lambda columns: columns[0] in tables,
        table=lambda columns: tables[columns[0]],
        cell_variance=lambda columns: variance,
    )


def test_a_column_that_nobody_measured_keeps_the_shares_of_the_model():
    shares = [np.array([0.5, 0.3, 0.2]), np.array([0.9, 0.1])]
    model = SimpleNamespace(marginal=lambda columns: shares[columns[0]])
    found = wanted_columns(model, measured_columns({}, 4.0), ["a", "b"], [2, 2], 100.0)
    assert all(np.array_equal(one, other) for one, other in zip(found, shares, strict=True))


def test_shares_of_a_column_are_between_those_of_the_model_and_the_likely_ones():
    """With little noise all are the measured ones; with more, cells for nulls that are small in all columns are taken to be empty."""
    generator = np.random.default_rng(5)
    true = np.array([500.0, 300.0, 200.0, 0.0])
    names = list("abcdefgh")
    for variance, most in ((1.0, 0.01), (2500.0, 0.2)):
        tables = {name: true + np.sqrt(variance) * generator.standard_normal(4) for name in names}
        model = SimpleNamespace(marginal=lambda columns: np.full(4, 0.25))
        found = wanted_columns(model, measured_columns(tables, variance), names, [3] * 8, 1000.0)
        for name, shares in zip(names, found, strict=True):
            assert shares.sum() == pytest.approx(1)
            modelled = shrunk(np.full(4, 0.25), tables[name] / 1000, variance / 1e6)
            assert np.abs(shares - true / 1000).sum() / 2 < most
            assert shares[3] <= modelled[3] / 2 + 0.01


def test_wanted_pairs_of_independent_columns_are_nearer_to_them_than_a_model_that_follows_noise():
    """.200 instead of .269, with drawn noise that is always the same."""
    generator = np.random.default_rng(8)
    true = 2000 * np.outer(*generator.dirichlet(np.ones(10), 2))
    noisy = true + 20 * generator.standard_normal((10, 10))
    tables = {("a", "b"): noisy, ("a",): noisy.sum(axis=1), ("b",): noisy.sum(axis=0)}
    measured = SimpleNamespace(
        sizes=lambda columns: (10,) * len(columns),
        determines=lambda columns: columns in tables,
        table=lambda columns: tables[columns],
        cell_variance=lambda columns: 400.0 * noisy.size / tables[columns].size,
    )
    model = np.maximum(noisy, 0) / np.maximum(noisy, 0).sum()
    shares = SimpleNamespace(
        marginal=lambda columns: model.sum(axis=1 - columns[0]), pair=lambda one, other: model
    )
    found = wanted_pairs(shares, measured, ["a", "b"], [10, 10], rows=2000.0, drawn=1000.0)
    assert found is not None and found.shape == (20, 20)
    assert np.allclose(found[:10, 10:], found[10:, :10].T)
    assert found[:10, 10:].sum() == pytest.approx(1000, rel=1e-3)
    off, before = (
        np.abs(each - true / true.sum()).sum() / 2 for each in (found[:10, 10:] / 1000, model)
    )
    assert off < 0.8 * before, (off, before)


def test_a_wanted_table_goes_towards_the_measured_one_as_far_as_noise_does_not_explain():
    """Exact: no draw is involved."""
    model, noisy = np.array([0.5, 0.3, 0.2]), np.array([0.4, 0.4, 0.2])
    differ = float(np.mean((noisy - model) ** 2))
    assert np.allclose(shrunk(model, noisy, differ), model), "noise explains all"
    assert np.allclose(shrunk(model, noisy, 0.0), noisy), "there is no noise"
    assert np.allclose(shrunk(model, noisy, differ / 2), (model + noisy) / 2)
    raked_table = raked(np.array([[0.5, 0.1], [0.2, 0.2]]), np.array([0.5, 0.5]), noisy[:2] / 0.8)
    assert np.allclose(raked_table.sum(axis=0), 0.5)
    assert np.allclose(raked_table.sum(axis=1), 0.5, atol=1e-3)
