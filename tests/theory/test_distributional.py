"""Distributional privacy: the evaluator, the separation, the implication, and the trap of replacement."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from scipy.stats import binom, hypergeom

from discreet.errors import BadInput
from discreet.theory.distributional import (
    chance_of_neighbours,
    count_chances,
    count_chances_without_replacement,
    hospital_noise,
    implied_epsilon,
    leaky_mechanism,
    loss_of_counts,
    mirrored_mod,
    mirrored_mod_loss,
    period_of,
    plain_count_loss,
    sampled_loss,
)


def test_mirrored_mod_rises_and_falls_and_neighbours_differ_by_at_most_one():
    assert mirrored_mod(np.arange(8), 3).tolist() == [0, 1, 2, 2, 1, 0, 0, 1]
    for period in (1, 2, 5, 20):
        steps = np.diff(mirrored_mod(np.arange(-50, 500), period))
        assert np.abs(steps).max(initial=0) <= 1


def test_the_loss_of_mirrored_mod_reaches_one_with_probability_275_thousandths():
    """Theorem 7.3 at alpha .1, n 10^4; at n 20 its condition fails, and so does its conclusion."""
    assert mirrored_mod_loss(0.1, 10_000) == pytest.approx(0.275, abs=1e-3)
    assert mirrored_mod_loss(0.1, 20) == pytest.approx(0.0022, abs=1e-4)


def test_it_is_differentially_private_all_the_same():
    """One changed bit moves the answer by at most 1, so noise of scale 1/alpha gives a loss of at most alpha."""
    answers = mirrored_mod(np.arange(101), period_of(0.1))
    assert np.abs(np.diff(answers)).max() * 0.1 <= 0.1 + 1e-12


def test_two_over_alpha_must_be_whole():
    assert [period_of(each) for each in (1, 0.5, 0.1, 2)] == [2, 4, 20, 1]
    for bad in (0.3, 0.7, 0, -1, 5):
        with pytest.raises(BadInput):
            period_of(bad)


@pytest.mark.parametrize(("rows", "share"), [(1, 0.5), (30, 0.2), (500, 0.5), (7, 0.0), (7, 1.0)])
def test_counts_follow_the_binomial_law(rows, share):
    assert count_chances(rows, share) == pytest.approx(
        binom.pmf(np.arange(rows + 1), rows, share), abs=1e-10
    )


def test_counts_without_replacement_follow_the_hypergeometric_law():
    found = count_chances_without_replacement(40, 13, 17)
    assert found == pytest.approx(hypergeom.pmf(np.arange(18), 40, 13, 17), abs=1e-12)


def test_the_exact_evaluator_agrees_with_all_pairs_of_a_small_population():
    """Tables of 3 of 7 elements, drawn without replacement: every pair of tables, by hand."""
    elements, having, scale = range(7), {0, 1, 2, 3}, 2.0
    counts = [len(having & set(table)) for table in combinations(elements, 3)]
    apart = [abs(a - b) / scale >= 0.5 for a in counts for b in counts]
    chances = count_chances_without_replacement(7, 4, 3)
    found = loss_of_counts(chances, np.arange(4), noise_scale=scale, threshold=0.5)
    assert found == pytest.approx(np.mean(apart), abs=1e-12)


def test_drawn_pairs_bound_beta_from_below():
    """2,000 pairs; the lower bound at 1 - 1e-9 is above the truth in one of 10^9 runs, and near it always."""
    public, exact = np.random.default_rng(7), plain_count_loss(0.1, 1000)
    found = sampled_loss(
        lambda: int(public.binomial(1000, 0.5)),
        lambda one, two: 0.1 * abs(one - two),
        pairs=2000,
        threshold=1 - 1e-9,
        confidence=1 - 1e-9,
    )
    assert exact - 0.15 < found.lower <= exact
    assert found.exceeded == round(found.share * 2000)
    nothing = sampled_loss(lambda: 0, lambda one, two: 0.0, pairs=10, threshold=0.5)
    assert nothing.lower == 0.0


@pytest.mark.parametrize("rows", [1, 2, 5, 9])
def test_the_chance_of_a_pair_of_neighbours_is_two_over_the_square_of_one_more(rows):
    tables = list(combinations(range(rows + 1), rows))
    wanted = {tables[0], tables[1]}
    hits = sum({one, two} == wanted for one in tables for two in tables)
    assert (
        Fraction(hits, len(tables) ** 2)
        == chance_of_neighbours(rows)
        == Fraction(2, (rows + 1) ** 2)
    )


def test_distributional_privacy_without_replacement_implies_differential_privacy():
    """Theorem 7.1 run: where beta is below the chance of neighbours, their loss is at most alpha."""

    def noisy_sum(table, scale=4.0):
        outputs = np.arange(-40, 60)
        weights = np.exp(-np.abs(outputs - sum(table)) / scale)
        return weights / weights.sum()

    elements = (0, 1, 2, 5)
    below = chance_of_neighbours(3) / 2
    alpha = implied_epsilon(noisy_sum, elements, beta=below)
    pairs = [(a, b) for a in combinations(elements, 3) for b in combinations(elements, 3)]
    losses = [float(np.log(noisy_sum(a) / noisy_sum(b)).max()) for a, b in pairs]
    # distributionally private with that alpha, for no drawn pair is further apart
    assert alpha == pytest.approx(max(losses)) and 5 / 4.0 * 0.9 < alpha <= 5 / 4.0 + 0.1
    with pytest.raises(BadInput, match="nothing follows"):
        implied_epsilon(noisy_sum, elements, beta=chance_of_neighbours(3))


def test_drawn_with_replacement_a_mechanism_may_give_a_table_away():
    """The secret table is drawn with probability 2^-12 at most; between neighbours the loss is infinite."""
    secret = (0, 1) * 6
    leaks = leaky_mechanism(secret, (0.5, 0.5))
    assert leaks(secret)[-1] == 1 and leaks((0,) * 12)[-1] == 0
    drawn_with_replacement = math.comb(12, 6) / 2**12
    assert drawn_with_replacement < 0.25
    rare = leaky_mechanism((0,) * 12, (0.5, 0.5))
    assert (
        implied_epsilon(leaky_mechanism((1, 2, 3), (0.5, 0.5)), (1, 2, 3, 4), beta=Fraction(0))
        == math.inf
    )
    assert rare((0,) * 12)[-1] == 1


def test_a_hospital_needs_more_noise_than_a_patient():
    """Two hospitals of 100 patients of 10,000, of whom 3,000 smoke."""
    patient = 1 / 0.5
    hospital = hospital_noise(10_000, 3_000, 100, alpha=0.5, beta=0.01)
    law = count_chances_without_replacement(10_000, 3_000, 100)
    reached = loss_of_counts(law, np.arange(101), noise_scale=hospital, threshold=0.5 + 1e-9)
    less = loss_of_counts(law, np.arange(101), noise_scale=hospital * 0.9, threshold=0.5 + 1e-9)
    assert hospital > 5 * patient
    assert reached <= 0.01 < less
