"""Coins, the exponential mechanism's choice, and noise reduction. Each check: 1e-9."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from discreet.errors import BadInput
from discreet.samplers import bernoulli_exp, noise_chain, select_exponential
from tests.samplers.test_samplers_goodness_of_fit import (
    DRAWS,
    FALSE_ALARM,
    fit,
    fit_of_draws,
    laplace_cdf,
)


@pytest.mark.parametrize("unit", [Fraction(1, 1000), Fraction(1, 10), Fraction(1), Fraction(7, 3)])
def test_coins_fall_with_probability_exp_of_minus_n_units(unit):
    """200,000 coins for each n: catches half a point of probability."""
    for n in (0, 1, 2, 3, 6, 21, 1000):
        falls = int(bernoulli_exp(np.full(200_000, n), unit).sum())
        chance = math.exp(-n * unit)
        assert stats.binomtest(falls, 200_000, chance).pvalue > FALSE_ALARM


def test_coins_of_one_call_are_independent_and_keep_their_order():
    numerators = np.tile([0, 1, 2, 3], (50_000, 1))
    coins = bernoulli_exp(numerators, Fraction(1, 2))
    assert coins.shape == numerators.shape and coins[:, 0].all()
    pattern = coins[:, 1] * 4 + coins[:, 2] * 2 + coins[:, 3]
    chances = [math.exp(-n / 2) for n in (1, 2, 3)]
    law = [
        math.prod(c if pattern_bits >> (2 - i) & 1 else 1 - c for i, c in enumerate(chances))
        for pattern_bits in range(8)
    ]
    assert fit(np.bincount(pattern, minlength=8), np.array(law)).passes


def test_coins_with_enormous_exponents_never_fall_and_never_fail():
    assert not bernoulli_exp(np.array([2**64 - 1, 2**63], np.uint64), Fraction(1)).any()
    assert bernoulli_exp(np.full(1000, 1), Fraction(1, 10**30)).all()
    assert bernoulli_exp(np.array([], np.int64), Fraction(1)).size == 0


@pytest.mark.parametrize("numerators", [np.array([-1]), np.array([0.5]), np.array(["1"])])
def test_exponents_that_are_not_natural_numbers_are_refused(numerators):
    with pytest.raises(BadInput, match="Nothing was drawn"):
        bernoulli_exp(numerators, Fraction(1))


@pytest.mark.parametrize("unit", [Fraction(0), Fraction(-1, 2), 0.5])
def test_a_unit_that_is_not_a_positive_rational_is_refused(unit):
    with pytest.raises(BadInput, match="unit"):
        bernoulli_exp(np.array([1]), unit)
    with pytest.raises(BadInput, match="unit"):
        select_exponential(np.array([1]), unit=unit)


def choices(scores, unit, count):
    """How often each candidate is chosen."""
    scores = np.asarray(scores)
    chosen = [select_exponential(scores, unit=unit) for _ in range(count)]
    return np.bincount(chosen, minlength=scores.size)


@pytest.mark.parametrize(
    "scores",
    [
        [0, 1, 2, 3],
        [-5, -5, -5],
        [-7, -2, -9, -2, -3],
        [10**6, 10**6 - 1, 0],
        [2**62, 2**62 - 2, -(2**62)],
    ],
    ids=str,
)
@pytest.mark.parametrize("unit", [Fraction(1, 10), Fraction(1, 2)])
def test_a_candidate_is_chosen_as_often_as_its_weight_says(scores, unit):
    """6,000 choices: catches 4 points of probability, and a unit half or twice as large."""
    best = max(scores)
    weights = np.array([math.exp(-float(unit * (best - score))) for score in scores])
    assert fit(choices(scores, unit, 6_000), weights / weights.sum()).passes


@pytest.mark.parametrize("gap", [2_000, 10**6, 10**12, 2**63 - 1])
def test_a_hopeless_candidate_is_never_chosen_and_nothing_overflows(gap):
    scores = np.full(1000, -gap)
    scores[[3, 500]] = 0
    counts = choices(scores, Fraction(1), 300)
    assert counts[3] + counts[500] == 300
    assert stats.binomtest(int(counts[3]), 300, 0.5).pvalue > FALSE_ALARM


def test_tiny_units_make_the_choice_uniform_and_large_ones_the_best():
    scores = np.arange(4)
    assert fit(choices(scores, Fraction(1, 10**30), 4_000), np.full(4, 0.25)).passes
    assert choices(scores, Fraction(10**6), 100)[3] == 100


def test_the_whole_range_of_int64_is_a_gap_without_wrapping():
    extremes = np.array([-(2**63), 2**63 - 1, 0])
    assert all(select_exponential(extremes, unit=Fraction(1)) == 1 for _ in range(50))
    unsigned = np.array([0, 2**64 - 1], np.uint64)
    assert all(select_exponential(unsigned, unit=Fraction(1)) == 1 for _ in range(50))
    # At a unit of 2^-63 the gap of 2^64 - 1 weighs exp(-2): it is neither 0 nor negative.
    counts = choices(extremes[:2], Fraction(1, 2**63), 800)
    worst = math.exp(-2)
    assert fit(counts, np.array([worst, 1]) / (1 + worst)).passes


def test_a_single_candidate_is_chosen():
    assert select_exponential(np.array([-(2**63)]), unit=Fraction(1, 3)) == 0


@pytest.mark.parametrize("scores", [np.array([], np.int64), np.array([0.5]), np.array([[1]])])
def test_scores_that_are_not_integers_in_a_row_are_refused(scores):
    with pytest.raises(BadInput, match="scores"):
        select_exponential(scores, unit=Fraction(1))


CHAIN = [Fraction(2, 3), Fraction(2), Fraction(5)]


def test_each_row_of_a_chain_follows_the_law_of_its_scale():
    for row, scale in zip(noise_chain(CHAIN, DRAWS), CHAIN, strict=True):
        assert fit_of_draws(row, laplace_cdf(float(scale)), spread=float(scale)).passes


def extra_pmf(fine: Fraction, coarse: Fraction, reach: int = 400) -> dict[int, float]:
    """The law of coarse - fine, from the series of (1-p)(1-qz) / ((1-q)(1-pz)) and its mirror."""
    p, q = math.exp(-1 / coarse), math.exp(-1 / fine)
    first = (1 - p) / (1 - q)
    side = np.array([first, *(first * (p - q) * p ** (k - 1) for k in range(1, reach))])
    both = np.correlate(side, side, mode="full")
    return {d: float(both[d + reach - 1]) for d in range(-reach + 1, reach)}


@pytest.mark.parametrize("pair", [(0, 1), (1, 2), (0, 2)])
def test_fine_and_coarse_noise_follow_their_joint_law(pair):
    """Chi-square on fine x coarse, clipped to -8..8: catches independent rows, extra noise that
    depends on the fine row, and 1% of wrong probability in a common cell."""
    low, high = pair
    rows = noise_chain(CHAIN, DRAWS)
    reach = 8
    fine_law, extra_law = laplace_cdf(float(CHAIN[low])), extra_pmf(CHAIN[low], CHAIN[high])
    joint = np.zeros((2 * reach + 1, 2 * reach + 1))
    for fine in range(-60, 61):
        chance = fine_law(fine) - fine_law(fine - 1)
        a = min(max(fine, -reach), reach) + reach
        for extra, extra_chance in extra_law.items():
            joint[a, min(max(fine + extra, -reach), reach) + reach] += chance * extra_chance
    clipped = np.clip(rows, -reach, reach) + reach
    cells = clipped[low] * (2 * reach + 1) + clipped[high]
    assert fit(np.bincount(cells, minlength=joint.size), joint.ravel() / joint.sum()).passes


def test_extra_noise_is_independent_of_the_finer_rows():
    """Chi-square on (row 0, row 1 - row 0, row 2 - row 1), each clipped to -2..2."""
    rows = noise_chain(CHAIN, DRAWS)
    parts = np.clip([rows[0], rows[1] - rows[0], rows[2] - rows[1]], -2, 2) + 2
    law = laplace_cdf(float(CHAIN[0]))
    laws = [{k: law(k) - law(k - 1) for k in range(-60, 61)}]
    laws += [extra_pmf(CHAIN[i], CHAIN[i + 1]) for i in (0, 1)]
    clipped = []
    for pmf in laws:
        part = np.zeros(5)
        for value, chance in pmf.items():
            part[min(max(value, -2), 2) + 2] += chance
        clipped.append(part)
    joint = np.einsum("i,j,k->ijk", *clipped).ravel()
    counts = np.bincount(parts[0] * 25 + parts[1] * 5 + parts[2], minlength=125)
    assert fit(counts, joint / joint.sum()).passes


def test_equal_scales_repeat_the_noise():
    rows = noise_chain([Fraction(2), Fraction(2)], 1000)
    assert (rows[0] == rows[1]).all()


def test_scales_a_hair_apart_make_almost_the_same_noise():
    rows = noise_chain([Fraction(2), Fraction(2) + Fraction(1, 10**12)], 10_000)
    assert (rows[0] != rows[1]).sum() <= 2


@pytest.mark.parametrize("scales", [[], [Fraction(2), Fraction(1)], [Fraction(0)], [1.5]])
def test_a_chain_that_is_not_finest_first_is_refused(scales):
    with pytest.raises(BadInput, match="scales"):
        noise_chain(scales, 1)
