"""Naming keys: the chances keep both inequalities of differential privacy, exactly, at every count."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import mpmath
import numpy as np
import pytest
from scipy.stats import binomtest

from discreet.core.mechanisms import PartitionSelection
from discreet.core.mechanisms.partition_selection import Keeping
from discreet.errors import BadBudget
from discreet.samplers import kept_by_chance
from tests.chosen_entropy import ReplayedEntropy

GRID = [
    (touched, Fraction(epsilon), Fraction(delta))
    for touched in (1, 2, 7)
    for epsilon in ("1/10", "1", "12")
    for delta in ("1/100", "1e-6", "1e-30")
]


@pytest.mark.parametrize(("touched", "epsilon", "delta"), GRID, ids=str)
def test_one_unit_more_changes_the_chance_of_a_name_by_no_more_than_its_part_of_epsilon_and_delta(
    touched: int, epsilon: Fraction, delta: Fraction
) -> None:
    """Every count up to certainty, both outcomes, both directions, with 80 digits of e^epsilon."""
    law = PartitionSelection(epsilon=epsilon, delta=delta).each(touched)
    with mpmath.workdps(80):
        growth = mpmath.exp(mpmath.mpf(epsilon.numerator) / epsilon.denominator / touched)
        slack = mpmath.mpf(delta.numerator) / delta.denominator / touched
        one = mpmath.mpf(2) ** law.bits
        chances = [mpmath.mpf(chance) / one for chance in law.chances]
        assert chances[0] == 0
        assert chances[1] <= slack
        assert chances[-1] == 1
        for fewer, more in pairwise(chances):
            assert fewer < more
            assert more <= growth * fewer + slack
            assert 1 - fewer <= growth * (1 - more) + slack


@pytest.mark.parametrize(("touched", "epsilon", "delta"), GRID, ids=str)
def test_the_chances_are_the_largest_that_there_are(
    touched: int, epsilon: Fraction, delta: Fraction
) -> None:
    """A hundred-millionth more at any count breaks an inequality with the count before it."""
    law = PartitionSelection(epsilon=epsilon, delta=delta).each(touched)
    with mpmath.workdps(80):
        growth = mpmath.exp(mpmath.mpf(epsilon.numerator) / epsilon.denominator / touched)
        slack = mpmath.mpf(delta.numerator) / delta.denominator / touched
        one = mpmath.mpf(2) ** law.bits
        chances = [mpmath.mpf(chance) / one for chance in law.chances]
        for fewer, more in pairwise(chances[:-1]):
            raised = more + mpmath.mpf(10) ** -8 * min(more, 1 - more)
            assert raised > growth * fewer + slack or 1 - fewer > growth * (1 - raised) + slack


def test_coins_fall_as_often_as_their_chances_say() -> None:
    """Exact binomial, 40,000 coins at each of 4 counts: false alarm 4e-9; catches a bias of 2 points."""
    law = Keeping(epsilon=Fraction(1), delta=Fraction(1, 100))
    for count in (1, law.even - 1, law.even, law.certain - 1):
        coins = kept_by_chance(np.full(40_000, count), law.chances, law.bits)
        assert binomtest(int(coins.sum()), 40_000, float(law.chance(count))).pvalue > 1e-9


def test_a_key_that_nobody_holds_is_never_named_and_one_that_enough_hold_always_is() -> None:
    law = Keeping(epsilon=Fraction(1), delta=Fraction(1, 10))
    counts = np.array([0, -5, law.certain, law.certain + 1, 1 << 60])
    for _ in range(200):
        assert kept_by_chance(counts, law.chances, law.bits).tolist() == [False] * 2 + [True] * 3


@pytest.mark.parametrize(("further", "named"), [(0, True), (1, False)])
def test_a_tie_in_the_first_word_is_decided_by_further_bits(further: int, named: bool) -> None:
    bits, chance = 128, (5 << 64) + 1
    tape = [np.uint64(5).tobytes(), further.to_bytes(8, "little")]
    coins = kept_by_chance(np.array([0]), [chance], bits, entropy=ReplayedEntropy(tape))
    assert coins.tolist() == [named]


def test_naming_needs_an_epsilon_and_a_delta_and_not_too_small_ones() -> None:
    for epsilon, delta in ((0, 1), (1, 0), (1, 2), (-1, 1)):
        with pytest.raises(BadBudget):
            PartitionSelection(epsilon=Fraction(epsilon), delta=Fraction(delta))
    tiny = PartitionSelection(epsilon=Fraction(1, 10**7), delta=Fraction(1, 10**9))
    with pytest.raises(BadBudget, match="too small"):
        tiny.law(1).certain  # noqa: B018
