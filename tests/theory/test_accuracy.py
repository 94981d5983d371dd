"""Accuracy functions: one for every mechanism, each compared with the mechanism's own law."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from discreet.core.mechanisms.partition_selection import Keeping
from discreet.core.mechanisms.registry import MECHANISMS
from discreet.core.mechanisms.threshold import AboveThreshold
from discreet.errors import BadInput
from discreet.local.protocols import LocalHashing, Piecewise, RandomisedResponse, UnaryEncoding
from discreet.local.protocols.protocol import variance_of_share
from discreet.privacy.laws import DiscreteGaussianLaw, DiscreteLaplaceLaw, RoundedGaussianLaw
from discreet.theory import accuracy


def test_every_mechanism_has_an_accuracy_function() -> None:
    assert set(accuracy.MECHANISMS) == set(MECHANISMS)
    assert all(function.__doc__ for function in accuracy.MECHANISMS.values())


@pytest.mark.parametrize("queries", [1, 40])
@pytest.mark.parametrize(
    ("found", "law"),
    [
        (accuracy.discrete_laplace_accuracy, DiscreteLaplaceLaw(scale=Fraction(7, 2))),
        (accuracy.discrete_gaussian_accuracy, DiscreteGaussianLaw(sigma_squared=Fraction(30))),
        (accuracy.rounded_gaussian_accuracy, RoundedGaussianLaw(sigma_squared=Fraction(30))),
    ],
)
def test_whole_number_noise_exceeds_its_accuracy_with_probability_beta_and_no_less_would_do(
    found, law, queries
):
    """By the law's own probabilities, which are summed here term by term."""
    scale = law.scale if isinstance(law, DiscreteLaplaceLaw) else law.sigma_squared
    beta = 0.05
    most = found(scale, beta=beta, queries=queries)
    reach = np.arange(-400, 401)
    pmf = np.array([float(law.pmf(int(each))) for each in reach])
    assert pmf.sum() == pytest.approx(1, abs=1e-9)
    assert pmf[np.abs(reach) > most].sum() <= beta / queries + 1e-12
    assert pmf[np.abs(reach) > most - 1].sum() > beta / queries


@pytest.mark.parametrize("epsilon", [Fraction(1, 2), Fraction(1), Fraction(3)])
def test_people_who_answer_alone_are_as_far_off_as_their_protocols_say(epsilon):
    """Within a hundredth; a hash has a whole number of values, and then within a twentieth."""
    people, own = 10_000, float(epsilon)
    for protocol, said, apart in (
        (RandomisedResponse.for_epsilon(epsilon, answers=5), accuracy.one_of_several_std(people, epsilon=own, values=5), 0.01),
        (UnaryEncoding.for_epsilon(epsilon, values=5), accuracy.unary_encoding_std(people, epsilon=own), 0.01),
        (LocalHashing.for_epsilon(epsilon, values=100), accuracy.local_hashing_std(people, epsilon=own), 0.05),
    ):  # fmt: skip
        assert said == pytest.approx(math.sqrt(variance_of_share(protocol, people)), rel=apart)
    law = Piecewise.for_epsilon(epsilon)
    zeroth, first, second = (float(each) for each in law.second_moment())
    worst = 0.0
    for point in (0, law.cells):
        mean = float(law.middle) + float(law.slope) * point
        spread = zeroth + first * point + second * point**2 - mean**2
        worst = max(worst, math.sqrt(spread) / float(law.slope) * 2 / law.cells)
    said = accuracy.piecewise_std(people, epsilon=own)
    assert said == pytest.approx(worst / math.sqrt(people), rel=0.05)


@pytest.mark.parametrize("beta", [0.5, 0.05])
def test_a_key_is_named_from_as_many_people_on_as_the_rule_says(beta):
    rule = Keeping(epsilon=Fraction(1), delta=Fraction(1, 10**6))
    found = accuracy.units_to_be_named(epsilon=1, delta=1e-6, beta=beta)
    assert rule.chance(found) >= 1 - beta > rule.chance(found - 1)


def test_the_accuracy_of_a_threshold_is_the_mechanisms_own():
    own = AboveThreshold(epsilon=Fraction(1, 2)).error_bound(3, questions=100, beta=0.05)
    assert accuracy.above_threshold_accuracy(3, epsilon=0.5, queries=100, beta=0.05) == own


def test_the_noisy_maximum_is_seldom_farther_below_the_largest():
    """20,000 draws; at a rate of exactly beta = .05 more than .06 has a chance below 1e-9, and the seed is fixed."""
    public = np.random.default_rng(3)
    scores = np.arange(50.0)
    noisy = scores + public.laplace(0, 2 / 0.5, (20_000, 50))
    below = scores.max() - scores[noisy.argmax(axis=1)]
    said = accuracy.noisy_max_accuracy(1, epsilon=0.5, candidates=50, beta=0.05)
    assert (below > said).mean() <= 0.06


def test_what_makes_no_sense_is_refused():
    with pytest.raises(BadInput):
        accuracy.discrete_laplace_accuracy(0, beta=0.05)
    with pytest.raises(BadInput):
        accuracy.one_of_several_std(10, epsilon=1, values=1)
    with pytest.raises(BadInput):
        accuracy.units_to_be_named(epsilon=1e-9, delta=1e-12, beta=0.01)
