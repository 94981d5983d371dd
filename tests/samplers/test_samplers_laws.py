"""The samplers follow their laws, with the entropy that releases use.

False alarms and the smallest defect caught: see `test_samplers_goodness_of_fit`.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from discreet.errors import BadInput
from discreet.samplers import (
    discrete_gaussian,
    discrete_laplace,
    geometric,
    rounded_gaussian,
    uniform_below,
)
from tests.samplers.test_samplers_goodness_of_fit import (
    DRAWS,
    FALSE_ALARM,
    discrete_gaussian_cdf,
    fit,
    fit_of_draws,
    geometric_cdf,
    laplace_cdf,
    rounded_gaussian_cdf,
)

SCALES = [Fraction(s) for s in ("1/100", "1/3", "1", "5/2", "10", "1000", "1000000000")]
VISIBLE = SCALES[1:]  # at 1/100 noise other than 0 has probability below 1e-42


def gaussian(sampler):
    """A Gaussian sampler by its sigma, as the others are by their scale."""
    return lambda sigma, count: sampler(sigma * abs(sigma), count)


LAWS = {
    "geometric": (geometric, geometric_cdf),
    "discrete_laplace": (discrete_laplace, laplace_cdf),
    "discrete_gaussian": (gaussian(discrete_gaussian), discrete_gaussian_cdf),
    "rounded_gaussian": (gaussian(rounded_gaussian), rounded_gaussian_cdf),
}
SYMMETRIC = ["discrete_laplace", "discrete_gaussian", "rounded_gaussian"]


@pytest.mark.parametrize("scale", SCALES, ids=str)
@pytest.mark.parametrize("name", LAWS)
def test_draws_follow_the_law(name, scale):
    draw, cdf = LAWS[name]
    draws = draw(scale, DRAWS)
    assert draws.dtype == np.int64
    assert fit_of_draws(draws, cdf(float(scale)), spread=float(scale)).passes


@pytest.mark.parametrize("scale", VISIBLE, ids=str)
@pytest.mark.parametrize("name", LAWS)
def test_draws_at_a_scale_2_percent_too_large_are_found_out(name, scale):
    """The planted defect: were it missed, the test above would prove little. Misses < 1e-6."""
    draw, cdf = LAWS[name]
    draws = draw(scale * Fraction(102, 100), DRAWS)
    assert not fit_of_draws(draws, cdf(float(scale)), spread=float(scale)).passes


@pytest.mark.parametrize("scale", VISIBLE, ids=str)
@pytest.mark.parametrize("name", SYMMETRIC)
def test_noise_is_as_often_positive_as_negative(name, scale):
    """Exact binomial, 1e-9; misses a bias of half a point with probability below 1e-3."""
    draws = LAWS[name][0](scale, DRAWS)
    positive, negative = int((draws > 0).sum()), int((draws < 0).sum())
    assert stats.binomtest(positive, positive + negative, 0.5).pvalue > FALSE_ALARM


@pytest.mark.parametrize("scale", ["1/3", "1", "2", "10"])
def test_laplace_noise_is_zero_as_often_as_its_pmf_says(scale):
    """Exact binomial, 1e-9; a zero counted twice would be seen tens of thousands of times."""
    scale = Fraction(scale)
    zeros = int((discrete_laplace(scale, DRAWS) == 0).sum())
    assert stats.binomtest(zeros, DRAWS, math.tanh(0.5 / float(scale))).pvalue > FALSE_ALARM


@pytest.mark.parametrize("shift", [0, 8, 16])
@pytest.mark.parametrize("scale", ["37", "1000", "1000000", "1000000000"])
def test_all_binary_digits_of_laplace_noise_follow_the_law_too(scale, shift):
    """Cells of equal probability see nothing of the low digits. Eleven digits at a time, of each
    sign's geometric part alone: a symmetric mixture hides a biased digit. Catches a 1% bias."""
    draws = discrete_laplace(Fraction(scale), DRAWS)
    weights = np.exp(-np.arange(2048) * 2.0**shift / float(scale))
    for part in (draws[draws >= 0], ~draws[draws < 0]):
        counts = np.bincount((part >> shift) % 2048, minlength=2048)
        assert fit(counts, weights / weights.sum()).passes


@pytest.mark.parametrize("name", SYMMETRIC)
def test_the_low_digits_of_wide_noise_are_even(name):
    draws = LAWS[name][0](Fraction(10**6), DRAWS)
    assert fit(np.bincount(draws % 64, minlength=64), np.full(64, 1 / 64)).passes


@pytest.mark.parametrize("name", LAWS)
def test_successive_draws_are_independent(name):
    """Chi-square of pairs (this one, the next), clipped to -3..3."""
    draw, cdf = LAWS[name]
    draws = np.clip(draw(Fraction(3, 2), 2 * DRAWS), -3, 3).reshape(2, DRAWS)
    law = np.diff([0.0, *(cdf(1.5)(k) for k in range(-3, 3)), 1.0])
    counts = np.bincount((draws[0] + 3) * 7 + draws[1] + 3, minlength=49)
    assert fit(counts, np.outer(law, law).ravel()).passes


def test_sigma_may_be_irrational():
    for sampler, cdf in (
        (discrete_gaussian, discrete_gaussian_cdf),
        (rounded_gaussian, rounded_gaussian_cdf),
    ):
        draws = sampler(Fraction(2), DRAWS)
        assert fit_of_draws(draws, cdf(math.sqrt(2)), spread=2).passes


def test_tails_are_not_cut_off():
    """At scale 1/3 the table of the top digit ends at 4: exp(-12) of the draws lie beyond, 61
    of ten million. (`test_samplers_ties` narrows the tables, and sees the tail all the time.)"""
    far = sum(int((geometric(Fraction(1, 3), DRAWS) >= 4).sum()) for _ in range(10))
    assert stats.binomtest(far, 10 * DRAWS, math.exp(-12)).pvalue > FALSE_ALARM


@pytest.mark.parametrize("bound", [1, 2, 3, 5, 6, 7, 12, 100, 192, 255, 256, 257, 1000])
def test_uniform_numbers_below_a_bound_are_uniform(bound):
    """Catches the bias of a word taken modulo the bound, in every word size up to 16 bits."""
    draws = uniform_below(bound, 300_000)
    assert fit(np.bincount(draws, minlength=bound), np.full(bound, 1 / bound)).passes


@pytest.mark.parametrize("bound", [3 << 30, 3 << 61, 3 << 62, 3 << 100], ids=lambda b: f"{b:.1e}")
def test_large_bounds_have_no_modulo_bias(bound):
    """A word modulo 3/4 of its range hits the lowest third half the time instead of a third."""
    draws = uniform_below(bound, 30_000)
    assert min(draws) >= 0 and max(draws) < bound
    thirds = np.array([int(d) // (bound // 3) for d in draws])
    assert fit(np.bincount(thirds, minlength=3), np.full(3, 1 / 3)).passes


def test_a_bound_of_two_to_the_63_still_fits_int64():
    draws = uniform_below(1 << 63, 1000)
    assert draws.dtype == np.int64 and (draws >= 0).all()
    assert fit(np.bincount(uniform_below(1 << 63, 100_000) >> 62), np.full(2, 0.5)).passes


def test_bounds_above_int64_give_python_integers():
    draws = uniform_below(10**30, 5)
    assert draws.dtype == object and all(type(d) is int and 0 <= d < 10**30 for d in draws)


@pytest.mark.parametrize("draw", [draw for draw, _ in LAWS.values()], ids=list(LAWS))
@pytest.mark.parametrize("scale", [Fraction(0), Fraction(-1), Fraction(2**50), Fraction(1, 2**50)])
def test_scales_that_make_no_sense_or_could_overflow_are_refused(draw, scale):
    with pytest.raises(BadInput, match="Nothing was drawn"):
        draw(scale, 1)


@pytest.mark.parametrize("scale", [1.5, True, "1/2", None])
def test_a_scale_that_is_not_exact_is_refused(scale):
    with pytest.raises(BadInput, match="exact rational"):
        discrete_laplace(scale, 1)


@pytest.mark.parametrize("count", [-1, 1.5, True, None])
def test_a_count_that_is_no_number_of_draws_is_refused(count):
    with pytest.raises(BadInput, match="count"):
        discrete_laplace(Fraction(1), count)


@pytest.mark.parametrize("bound", [0, -5, 2.0, True])
def test_an_empty_range_is_refused(bound):
    with pytest.raises(BadInput, match="bound"):
        uniform_below(bound, 1)


@pytest.mark.parametrize("name", LAWS)
def test_any_number_of_draws_is_given_also_none_and_one(name):
    for count in (0, 1, 2, 100, (1 << 15) + 1):
        assert LAWS[name][0](Fraction(10), count).shape == (count,)


@pytest.mark.parametrize("name", LAWS)
def test_the_extreme_scales_that_are_accepted_work(name):
    draw = LAWS[name][0]
    assert (draw(Fraction(1, 2**40), 1000) == 0).all()
    wide = draw(Fraction(2**40), 10_000)
    assert 2**38 < np.abs(wide).mean() < 2**42


def test_numpy_set_to_raise_on_underflow_does_not_disturb_the_noise():
    with np.errstate(all="raise"):
        assert discrete_gaussian(Fraction(1, 100), 1000).shape == (1000,)
        assert rounded_gaussian(Fraction(1, 100), 1000).shape == (1000,)
