"""Reconstruction as a curve, incidence inference, and the Markov chain that is not private."""

from __future__ import annotations

import math

import numpy as np
import pytest

from discreet.attacks.reconstruction import all_subset_counts, consistent_candidate
from discreet.errors import BadInput
from discreet.theory.incidence import direct_std, infer_conditional, inference_std, joint_estimate
from discreet.theory.markov import (
    WARNING,
    chain_sample,
    distance_after,
    excess_loss,
    mechanism_law,
    transition_matrix,
)
from discreet.theory.reconstruction import curve, noise_that_protects
from tests.theory.test_sample_sizes import conjunctions, prefixes


@pytest.mark.parametrize("error", [0, 0.5, 1, 2])
def test_no_table_that_fits_all_subset_sums_is_wrong_in_more_than_four_times_their_error(error):
    """The curve, run by the exhaustive attack of `attacks`: random errors, and the worst there are."""
    public = np.random.default_rng(12)
    secret = public.permutation([0, 1] * 5)
    true = all_subset_counts(secret)
    (point,) = curve(10, [error])
    assert point.most_wrong == int(4 * error)
    swapped = secret.copy()
    for value in (0, 1):  # 2E of its ones and 2E of its zeros exchanged
        swapped[np.flatnonzero(secret == value)[: int(2 * error)]] = 1 - value
    between = (true + all_subset_counts(swapped)) / 2
    for answers in (true + public.uniform(-error, error, len(true)), between):
        found = consistent_candidate(answers, error=error)
        assert int((found != secret).sum()) <= point.most_wrong
    assert int((swapped != secret).sum()) == point.most_wrong  # and it fits the answers between


def test_the_curve_falls_from_all_rows_to_none():
    points = curve(1000, [0, 50, 125, 250, 400])
    assert [point.least_recovered for point in points] == [1, 0.8, 0.5, 0, 0]
    assert noise_that_protects(1000, 0.5) == 125


def halves(public, both, only_first, only_second, subsets, scale):
    """Noisy counts of two attributes in random halves of the rows."""
    shared = public.binomial(both, 0.5, subsets)
    first = shared + public.binomial(only_first, 0.5, subsets)
    second = shared + public.binomial(only_second, 0.5, subsets)
    noise = public.laplace(0, scale, (2, subsets))
    return first + noise[0], second + noise[1]


def test_conditionals_follow_from_counts_of_single_attributes_if_attenuation_is_corrected():
    """n 10^6, epsilon 1 over 2 x 100 counts; 60 runs with a fixed seed."""
    public = np.random.default_rng(13)
    rows, subsets = 10**6, 100
    both, only_first, only_second = 280_000, 120_000, 180_000
    scale = 2.0 * subsets
    found = [
        infer_conditional(
            *halves(public, both, only_first, only_second, subsets, scale),
            first_total=both + only_first,
            second_total=both + only_second,
            noise_variance=2 * scale * scale,
        )
        for _ in range(60)
    ]
    corrected = np.array([each.estimate for each in found])
    raw = np.array([each.uncorrected for each in found])
    error = math.sqrt(((corrected - 0.7) ** 2).mean())
    assert error < 0.25
    assert math.sqrt(((raw - 0.7) ** 2).mean()) > error
    stated = inference_std(400_000, 460_000, subsets, noise_variance=2 * scale * scale)
    assert 0.4 * stated < error < 2.5 * stated
    assert direct_std(400_000, 0.7, noise_variance=8.0) < error / 1000
    assert joint_estimate(found[0], 0.4) == pytest.approx(0.4 * found[0].estimate)
    assert rows == 10**6


def test_without_a_heavy_subset_nothing_is_known():
    found = infer_conditional(
        np.zeros(3), np.zeros(3), first_total=100, second_total=100, noise_variance=1
    )
    assert (found.estimate, found.heavy) == (0.5, 0)
    with pytest.raises(BadInput, match="same subsets"):
        infer_conditional(np.zeros(3), np.zeros(2), first_total=1, second_total=1, noise_variance=0)


TABLE = np.array([6, 1, 2, 3])


def test_the_chains_limit_is_the_law_of_the_mechanism():
    for workload in (prefixes(4), conjunctions(2)):
        matrix = transition_matrix(TABLE, workload, size=3, alpha=1.0)
        law = mechanism_law(TABLE, workload, size=3, alpha=1.0)
        assert matrix.sum(axis=1) == pytest.approx(np.ones(len(matrix)))
        assert law @ matrix == pytest.approx(law, abs=1e-12)
        far, near = (
            distance_after(TABLE, workload, size=3, alpha=1.0, steps=steps) for steps in (1, 3000)
        )
        assert far > 0.05 and near < 1e-6


def test_after_few_steps_the_chain_tells_neighbours_apart_by_more_than_alpha():
    """Why section 8 asks for fast mixing, and why no release is made with a chain."""
    table, neighbour = np.array([0, 1, 20]), np.array([0, 0, 21])
    early, late = (
        excess_loss(table, neighbour, prefixes(3), size=3, alpha=2.0, steps=steps)
        for steps in (8, 100_000)
    )
    assert early > 0.04 and late <= 1e-6
    assert WARNING.startswith("NOT PRIVATE")


def test_the_chain_walks_towards_good_databases():
    public = np.random.default_rng(14)
    table = np.array([60, 10, 20, 30])
    drawn = [
        chain_sample(table, prefixes(4), size=12, alpha=1.0, steps=400, public=public)
        for _ in range(20)
    ]
    errors = [np.abs(np.cumsum(each) * 10 - np.cumsum(table)).max() for each in drawn]
    assert np.mean(errors) < 20 and all(each.sum() == 12 for each in drawn)
