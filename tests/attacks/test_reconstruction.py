"""Reconstruction: nearly exact subset counts give a secret column away; ours do not."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.attacks.reconstruction import (
    all_subset_counts,
    consistent_candidate,
    decoded,
    random_subsets,
)
from discreet.audits.attacking import reconstruct, reconstruct_all_subsets
from discreet.errors import BadInput


def secret_and_counts(people, questions, seed):
    secret = np.random.default_rng(seed).integers(0, 2, people)
    subsets = random_subsets(people, questions, seed=seed)
    return secret, subsets, (subsets @ secret.astype(np.float32)).astype(np.float64)


@pytest.mark.parametrize("method", ["least-squares", "l1", "linear-program"])
def test_exact_counts_give_every_bit_away(method):
    secret, subsets, counts = secret_and_counts(48, 192, 1)
    assert np.array_equal(decoded(subsets, counts, method=method), secret)


def test_noise_of_a_quarter_root_n_hides_almost_nobody():
    secret, subsets, counts = secret_and_counts(512, 2048, 2)
    noise = np.random.default_rng(3).uniform(-1, 1, 2048) * 0.25 * np.sqrt(512)
    assert (decoded(subsets, counts + noise) == secret).mean() >= 0.99


def test_l1_decoding_recovers_everybody_although_a_fifth_of_the_answers_is_arbitrary():
    secret, subsets, counts = secret_and_counts(256, 1024, 4)
    draws = np.random.default_rng(5)
    wrong = draws.random(1024) < 0.2
    answers = np.where(wrong, draws.uniform(0, 256, 1024), counts)
    assert np.array_equal(decoded(subsets, answers, method="l1"), secret)
    assert (decoded(subsets, answers, method="least-squares") == secret).mean() < 0.95


@pytest.mark.parametrize("error", [0.5, 1.0, 2.0])
def test_whatever_agrees_with_all_subset_counts_differs_in_at_most_four_errors(error):
    outcome = reconstruct_all_subsets(people=10, error=error, draws=10)
    assert all(line.value <= 4 * error for line in outcome.lines)


def test_the_adversarial_answers_reach_the_bound_of_four_errors():
    """So the bound is tested where it is tight: a candidate that is wrong in fewer places only would pass anything."""
    outcome = reconstruct_all_subsets(people=12, error=1.0, draws=10)
    assert outcome.line("noise by an adversary").value >= 2


def test_answers_that_no_secret_fits_are_refused():
    answers = all_subset_counts(np.array([1, 0, 1, 1])).astype(np.float64)
    answers[3] += 5
    with pytest.raises(BadInput, match="No secret agrees"):
        consistent_candidate(answers, error=1.0)


def test_the_outcome_shows_the_attack_work_before_and_fail_after():
    """A cell for every person is guessed right with at most .731, so all 64 are with probability below 2e-9."""
    outcome = reconstruct(people=64, draws=1)
    before = [line for line in outcome.lines if not line.ours]
    after = [line for line in outcome.lines if line.ours]
    assert outcome.line("exact counts").value == 1.0
    assert all(line.value > 0.9 for line in before)
    assert len(after) == 3 and all(line.value < 1 for line in after)
    assert outcome.banner == ""
    assert outcome.to_dict()["lines"][0]["value"] == 1.0


def test_an_outcome_on_a_custodians_own_column_is_not_private():
    outcome = reconstruct(secret=[0, 1] * 16, draws=1)
    assert outcome.banner.startswith("NOT PRIVATE")


@pytest.mark.parametrize(
    ("kwargs", "said"),
    [
        ({"people": 3}, "at least 8 people"),
        ({"secret": [0, 2, 1] * 5}, "0 and 1 alone"),
        ({"method": "guess"}, "no method 'guess'"),
    ],
)
def test_bad_input_gets_one_clear_sentence(kwargs, said):
    with pytest.raises(BadInput, match=said):
        reconstruct(draws=1, **kwargs)


def test_a_secret_that_nobody_has_is_attacked_too():
    outcome = reconstruct(secret=[0] * 16, draws=1)
    assert outcome.line("counts below 5 suppressed").value == 1.0, "all are, and 0 is right"
