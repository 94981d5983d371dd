"""The textbook's formulas against simulated noise, with fixed seeds."""

from __future__ import annotations

import math

import numpy as np
import pytest

from discreet.errors import BadInput
from discreet.theory.textbook import (
    analytic_gaussian_sigma,
    classic_gaussian_sigma,
    crossing,
    exponential_accuracy,
    gaussian_accuracy,
    laplace_accuracy,
    laplace_scale,
    mean_vector,
    randomised_response_std,
)


def test_laplace_error_grows_with_d_to_three_halves_and_gaussian_with_d():
    small, large = (mean_vector(d, 1000, epsilon=1, delta=1e-6) for d in (4, 400))
    assert large.laplace / small.laplace == pytest.approx(1000)
    assert large.gaussian / small.gaussian == pytest.approx(100)
    assert (small.better, large.better) == ("Laplace", "Gaussian")
    d = crossing(epsilon=1, delta=1e-6)
    assert mean_vector(d, 7, epsilon=1, delta=1e-6).better == "Gaussian"
    assert mean_vector(d - 1, 7, epsilon=1, delta=1e-6).better == "Laplace"


def test_the_stated_errors_are_those_of_the_noise():
    """20,000 draws of vectors of 20 numbers: the root mean square is right within 3%."""
    public, d, n = np.random.default_rng(16), 20, 500
    found = mean_vector(d, n, epsilon=1, delta=1e-6)
    laplace = public.laplace(0, laplace_scale(d / n, 1), (20_000, d))
    sigma = analytic_gaussian_sigma(math.sqrt(d) / n, epsilon=1, delta=1e-6)
    gauss = public.normal(0, sigma, (20_000, d))
    for noise, stated in ((laplace, found.laplace), (gauss, found.gaussian)):
        assert math.sqrt((noise**2).sum(axis=1).mean()) == pytest.approx(stated, rel=0.03)


@pytest.mark.parametrize("queries", [1, 50])
def test_accuracies_hold_for_all_queries_as_often_as_they_say(queries):
    public = np.random.default_rng(17)
    laplace = np.abs(public.laplace(0, 3, (50_000, queries))).max(axis=1)
    gauss = np.abs(public.normal(0, 3, (50_000, queries))).max(axis=1)
    missed = [
        (laplace > laplace_accuracy(3, beta=0.05, queries=queries)).mean(),
        (gauss > gaussian_accuracy(3, beta=0.05, queries=queries)).mean(),
    ]
    assert all(0.04 < each < 0.055 for each in missed)


def test_the_exponential_mechanism_is_as_close_to_the_best_as_stated():
    """The worst case: one best candidate, all others just too bad."""
    bound = exponential_accuracy(1, epsilon=0.5, candidates=100, beta=0.05)
    scores = np.append(0.0, np.full(99, -bound))
    weights = np.exp(0.25 * scores)
    assert weights[1:].sum() / weights.sum() <= 0.05


def test_the_classic_gaussian_is_wider_below_one_and_refused_above():
    for epsilon in (0.1, 0.5, 1.0):
        classic = classic_gaussian_sigma(1, epsilon=epsilon, delta=1e-6)
        assert analytic_gaussian_sigma(1, epsilon=epsilon, delta=1e-6) < classic
    with pytest.raises(BadInput, match="analytic"):
        classic_gaussian_sigma(1, epsilon=1.01, delta=1e-6)


def test_randomised_response_is_as_wide_as_stated():
    public, rows, epsilon = np.random.default_rng(18), 1000, 1.0
    keep = 1 / (1 + math.exp(-epsilon))
    bits = np.arange(rows) % 2
    told = np.where(public.random((5000, rows)) < keep, bits, 1 - bits).mean(axis=1)
    shares = (told - (1 - keep)) / (2 * keep - 1)
    assert shares.mean() == pytest.approx(0.5, abs=0.003)
    stated = randomised_response_std(rows, epsilon)
    assert 0.8 * stated < shares.std() <= 1.03 * stated


def test_nonsense_is_refused():
    for wrong in (
        lambda: laplace_scale(0, 1),
        lambda: laplace_accuracy(1, beta=0),
        lambda: gaussian_accuracy(1, beta=0.1, queries=0),
        lambda: mean_vector(0, 1, epsilon=1, delta=1e-6),
    ):
        with pytest.raises(BadInput):
            wrong()
