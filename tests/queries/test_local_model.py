"""Randomised response: the odds of every report are what was paid for, exactly."""

from __future__ import annotations

from fractions import Fraction

import mpmath
import pytest

from discreet.local.protocols import RandomisedResponse


@pytest.mark.parametrize("answers", [2, 3, 10])
@pytest.mark.parametrize("truth", [Fraction(3, 4), Fraction(9, 10)])
def test_the_odds_of_every_answer_are_those_that_were_paid_for(truth, answers):
    """P(report | that answer is true) / P(report | another is) is the only odds there are."""
    mechanism = RandomisedResponse(truth=truth, answers=answers)
    lie = (1 - truth) / (answers - 1)
    with mpmath.workdps(50):
        odds = mpmath.log(mpmath.mpf((truth / lie).numerator) / (truth / lie).denominator)
        paid = mpmath.mpf(mechanism.epsilon.numerator) / mechanism.epsilon.denominator
    assert 0 <= paid - odds < 1e-15
    assert mechanism.cost().epsilon == mechanism.epsilon


@pytest.mark.parametrize("answers", [2, 3, 10])
@pytest.mark.parametrize("epsilon", [Fraction(1, 10), Fraction(1), Fraction(4)])
def test_the_most_truthful_one_stays_within_its_epsilon_and_wastes_nothing(epsilon, answers):
    mechanism = RandomisedResponse.for_epsilon(epsilon, answers=answers)
    assert epsilon * Fraction(999, 1000) < mechanism.epsilon <= epsilon + Fraction(1, 10**15)
