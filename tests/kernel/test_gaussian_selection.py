"""Naming keys by Gaussian noise: the whole set of names keeps (epsilon, delta), computed outcome by outcome."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import mpmath
import numpy as np
import pytest
from scipy.stats import binomtest

from discreet.core.mechanisms import PartitionSelection
from discreet.core.mechanisms.gaussian_selection import GaussianKeeping
from discreet.core.mechanisms.partition_selection import Keeping
from discreet.samplers import kept_by_chance

NINE = Fraction(1, 10**9)


def delta_of(law: GaussianKeeping, one: list[int], other: list[int]) -> Fraction:
    """The larger delta of the two directions at the law's epsilon, over all sets of names."""
    with mpmath.workdps(80):
        growth = mpmath.exp(mpmath.mpf(law.epsilon.numerator) / law.epsilon.denominator)
        scale = mpmath.mpf(2) ** law.bits
        here, there = (
            [mpmath.mpf(law.chance(count) * 2**law.bits) / scale for count in counts]
            for counts in (one, other)
        )
        ahead = behind = mpmath.mpf(0)
        for names in product((True, False), repeat=len(one)):
            p = mpmath.fprod(c if n else 1 - c for c, n in zip(here, names, strict=True))
            q = mpmath.fprod(c if n else 1 - c for c, n in zip(there, names, strict=True))
            ahead, behind = ahead + max(p - growth * q, 0), behind + max(q - growth * p, 0)
        worst = max(ahead, behind)
        return Fraction(int(mpmath.ceil(worst * 10**30)), 10**30)


@pytest.mark.parametrize("epsilon", ["1/5", "1", "4"])
@pytest.mark.parametrize("delta", ["1e-9", "1/1000"])
@pytest.mark.parametrize("touched", [2, 5, 8])
def test_the_names_of_all_keys_together_keep_epsilon_and_delta(
    touched: int, epsilon: str, delta: str
) -> None:
    """Keys of one unit alone, keys at, below and above the threshold, and mixtures of them; added,
    and under change-one half of them added and half removed."""
    law = GaussianKeeping(epsilon=Fraction(epsilon), delta=Fraction(delta), touched=touched)
    far = int(float(law.sigma_squared) ** 0.5)
    starts = [1, 2, law.even - 2 * far, law.even - far, law.even - 1, law.even, law.even + far]
    starts = [max(1, start) for start in starts] + [law.certain - 1]
    for start in starts:
        for alone in {0, 1, touched // 2, touched}:
            before = [0] * alone + [start] * (touched - alone)
            after = [count + 1 for count in before]
            assert delta_of(law, before, after) <= law.delta
            half = touched // 2
            swapped = after[:half] + before[half:], before[:half] + after[half:]
            assert delta_of(law, *swapped) <= law.delta


def test_the_guarantee_is_not_far_from_what_is_spent() -> None:
    """Keys of one unit alone take half of delta: a threshold that is lower by a few would break it."""
    law = GaussianKeeping(epsilon=Fraction(1), delta=NINE, touched=5)
    assert Fraction(2, 5) * NINE <= delta_of(law, [0] * 5, [1] * 5) <= NINE / 2


@pytest.mark.parametrize(("touched", "even", "each"), [(10, 116, 201), (50, 268, 1003)])
def test_many_keys_a_person_are_named_from_far_fewer_people_on(
    touched: int, even: int, each: int
) -> None:
    mechanism = PartitionSelection(epsilon=Fraction(1), delta=NINE)
    assert mechanism.each(touched).even == each
    law = mechanism.law(touched)
    assert isinstance(law, GaussianKeeping) and law.even == even
    assert law.chances[law.even] in (1 << (law.bits - 1), (1 << (law.bits - 1)) - 1)


@pytest.mark.parametrize("touched", [1, 2, 3, 4, 5, 6, 8, 20])
@pytest.mark.parametrize("epsilon", ["1/10", "1", "10", "40"])
def test_the_law_that_needs_fewer_people_is_taken(touched: int, epsilon: str) -> None:
    mechanism = PartitionSelection(epsilon=Fraction(epsilon), delta=Fraction(1, 10**6))
    law, each = mechanism.law(touched), mechanism.each(touched)
    other = GaussianKeeping.offered(mechanism.epsilon, mechanism.delta, touched)
    assert law.even == min([each.even] + ([other.even] if other else []))
    assert touched > 1 or isinstance(law, Keeping)


@pytest.mark.parametrize(
    ("epsilon", "delta", "touched"),
    [
        (1, NINE, 1),
        (21, NINE, 9),
        (1, Fraction(1, 50), 9),
        (1, Fraction(1, 10**45), 9),
        (Fraction(1, 10**6), NINE, 9),
    ],
)
def test_where_it_cannot_be_tabulated_it_is_not_offered(
    epsilon: Fraction, delta: Fraction, touched: int
) -> None:
    assert GaussianKeeping.offered(Fraction(epsilon), delta, touched) is None


def test_chances_rise_from_nobody_to_certainty() -> None:
    law = GaussianKeeping(epsilon=Fraction(1), delta=NINE, touched=10)
    assert law.chances[0] == 0 and law.chances[-1] == 1 << law.bits
    assert all(a < b for a, b in zip(law.chances, law.chances[1:], strict=False))
    assert 10 * law.chance(1) <= NINE / 2


def test_gaussian_coins_fall_as_often_as_their_chances_say() -> None:
    """Exact binomial, 40,000 coins at each of 3 counts: false alarm 3e-9; catches a bias of 2 points."""
    law = GaussianKeeping(epsilon=Fraction(1), delta=Fraction(1, 1000), touched=4)
    for count in (law.even - 5, law.even, law.even + 5):
        coins = kept_by_chance(np.full(40_000, count), law.chances, law.bits)
        assert binomtest(int(coins.sum()), 40_000, float(law.chance(count))).pvalue > 1e-9
