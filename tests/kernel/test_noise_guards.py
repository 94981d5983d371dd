"""Noise is drawn afresh for every number, of every table, at every size, and never cut off."""

from __future__ import annotations

import threading
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import binomtest

from discreet.core.noise import DrawnNoise
from discreet.privacy.laws import DiscreteGaussianLaw, DiscreteLaplaceLaw, RoundedGaussianLaw
from discreet.queries.measurable import SATURATION
from discreet.samplers.entropy import Entropy

LAWS = [
    DiscreteLaplaceLaw(scale=Fraction(10**6)),
    DiscreteGaussianLaw(sigma_squared=Fraction(10**12)),
    RoundedGaussianLaw(sigma_squared=Fraction(10**12)),
]


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.kind)
def test_every_cell_of_every_run_has_a_draw_of_its_own(law):
    """Two of 4,000 draws with a spread of a million are equal about 8 times; all of a row's never."""
    exact = np.zeros(2000, dtype=np.int64)
    noisy = [DrawnNoise().add(exact, law, step="1") for _ in range(2)]
    assert (noisy[0] != noisy[1]).mean() > 0.99
    assert len(np.unique(np.concatenate(noisy))) > 3900


@pytest.mark.parametrize("size", [1, 2, 1000])
@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.kind)
def test_a_table_of_zeros_gets_noise_like_any_other(law, size):
    """A draw is 0 with probability below 1e-6: false alarm below 1e-6 for the whole test."""
    for exact in (np.zeros(size, dtype=np.int64), np.full(size, 3, dtype=np.int64)):
        moved = DrawnNoise().add(exact, law, step="1") - exact
        moved = np.concatenate([moved, DrawnNoise().add(exact, law, step="1") - exact])
        assert (moved != 0).any()


def test_noise_is_not_cut_off_at_any_bound():
    """P(|X| > 6 scales) = 2.5e-3: exact binomial over 200,000 draws, false alarm 1e-9; noise cut at
    6 scales or below, from which averages and linear programs reconstruct rows, is caught for sure."""
    law = DiscreteLaplaceLaw(scale=Fraction(2))
    noise = DrawnNoise().add(np.zeros(200_000, dtype=np.int64), law, step="1")
    beyond = int((np.abs(noise) > 12).sum())
    assert binomtest(beyond, noise.size, 2 * float(law.cdf(-13))).pvalue > 1e-9


def test_numbers_near_the_end_of_int64_are_clamped_and_never_wrap():
    ends = np.array([2**63 - 1, -(2**63), 2**62, 0], dtype=np.int64)
    noise = DrawnNoise()
    law = DiscreteLaplaceLaw(scale=Fraction(2**30))
    for noisy in (noise.add(ends, law, step="1"), noise.chain(ends, [law], step="1")[0]):
        assert abs(int(noisy[0]) - SATURATION) < 2**50
        assert abs(int(noisy[1]) + SATURATION) < 2**50
        assert abs(int(noisy[2]) - SATURATION) < 2**50


@pytest.mark.parametrize("power", [7, 31, 32, 40, 62])
def test_a_candidate_behind_by_any_power_of_two_is_never_chosen(power):
    """At a gap of 2^7 and unit 1 it would be, once in 1e55 draws."""
    scores = np.array([0, 1 << power], dtype=np.int64)
    drawn = {DrawnNoise().choose(scores, Fraction(1), step="1") for _ in range(30)}
    assert drawn == {1}


def test_an_alert_draws_anew_for_every_count():
    """The same count, asked 400 times at its threshold: each answer alike has probability 2^-399."""
    noise = DrawnNoise()
    law = DiscreteLaplaceLaw(scale=Fraction(50))
    answers = {noise.is_above(0, 0, law, step="1") for _ in range(400)}
    assert answers == {True, False}


def test_a_thread_has_a_key_of_its_own():
    """Two threads inside one keystream may be handed the same bytes: the cipher is not locked."""
    source = Entropy()
    keys = []

    def work() -> None:
        source.bits(8)
        keys.append(source._local.keystream)

    work()
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert keys[0] is not keys[1]


def test_one_source_never_repeats_a_draw():
    """Asked again, the same count gets fresh noise that is paid for, never the old noise for nothing,
    from which a difference of two tables would be exact."""
    source, exact = DrawnNoise(), np.arange(50, dtype=np.int64)
    for law in LAWS:
        first, again = (source.add(exact, law, step="1") for _ in range(2))
        assert (first != again).any()
