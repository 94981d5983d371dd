"""Bounds of all ranges at once: simulated bounds are valid, and a plan and a release say the same."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import binom

from discreet.families.ranges.answer.box_usefulness import BoxDraws
from discreet.families.ranges.answer.class_bounds import tree_bound
from discreet.families.ranges.answer.ranges import RangeSource
from discreet.families.ranges.answer.usefulness import adaptive_noise, chernoff_noise
from discreet.families.ranges.estimate.all_ranges import (
    UNLUCKY,
    all_ranges_bound,
    drawn,
    exceeding,
    level_leaves,
    strategy_leaves,
)
from discreet.families.ranges.estimate.walks import WalkLevel, walk_bound
from discreet.families.ranges.release.adaptive import AdaptiveTree
from discreet.families.ranges.release.strategy import RangeStrategy
from discreet.families.ranges.release.tree import FullTree
from discreet.families.ranges.release.two_stage import TwoStageTree
from discreet.privacy.laws import DiscreteGaussianLaw, DiscreteLaplaceLaw
from tests.ranges.exact import drawing, prepared

LAPLACE = DiscreteLaplaceLaw(scale=Fraction(3))
GAUSSIAN = DiscreteGaussianLaw(sigma_squared=Fraction(20))


@pytest.mark.parametrize("draws", [2000, 20_000])
@pytest.mark.parametrize("delta", [0.05, 0.01, 0.004])
def test_so_few_draws_above_a_bound_that_is_too_small_are_as_unlucky_as_stated(draws, delta):
    above = exceeding(draws, delta)
    if above is None:
        assert binom.cdf(0, draws, delta) > UNLUCKY
        return
    assert binom.cdf(above, draws, delta) <= UNLUCKY < binom.cdf(above + 1, draws, delta)


@pytest.mark.parametrize("law", [LAPLACE, GAUSSIAN], ids=lambda law: law.kind)
def test_a_simulated_bound_of_one_number_is_its_exact_quantile_or_a_little_more(law):
    """One leaf and one draw: the exact law is known. No chance: the draws are always the same."""
    leaves = strategy_leaves(np.array([[1]]), law)
    bound = all_ranges_bound(leaves, 0.05)
    assert law.half_width(0.95) <= bound <= law.half_width(0.97) + 1
    together = all_ranges_bound(leaves, 0.05, copies=4)
    assert law.half_width(1 - 0.05 / 4) - 1 <= together <= law.half_width(1 - 0.02 / 4) + 1


def test_a_risk_too_small_to_simulate_has_a_chernoff_bound():
    leaves = level_leaves(20, [(2, LAPLACE), (0, LAPLACE)])
    assert leaves is not None
    sizes = [all_ranges_bound(leaves, delta) for delta in (0.05, 1e-4, 1e-9)]
    assert sizes[0] < sizes[1] < sizes[2] < 40 * sizes[0]
    assert level_leaves(5000, [(0, LAPLACE)]) is None


def test_least_squares_leaves_are_unbiased_and_agree_with_the_levels():
    leaves = level_leaves(13, [(2, LAPLACE), (1, GAUSSIAN), (0, LAPLACE)])
    design = np.concatenate(
        [
            np.equal.outer(np.arange((12 >> shift) + 1), np.arange(13) >> shift)
            for shift in (2, 1, 0)
        ]
    )
    np.testing.assert_allclose(leaves.weights @ design, np.eye(13), atol=1e-9)


@pytest.mark.parametrize("law", [LAPLACE, GAUSSIAN], ids=lambda law: law.kind)
def test_walks_stay_within_their_bound_as_often_as_it_says(law):
    """600 draws of fresh public noise, walked by hand over 50 cells in two levels of 16 and 1: a bound at
    90% that holds less often fails by chance with probability below 1e-7; one at 70% is caught."""
    levels = [WalkLevel(4, law), WalkLevel(0, law)]
    bound = walk_bound(50, levels, 0.1)
    public = np.random.default_rng()
    held = 0
    for _ in range(600):
        top, cells = drawn(law, (4,), public), drawn(law, (50,), public)
        values = [0.0]
        for start in range(4):
            inside = cells[16 * start : 16 * start + 16]
            left, right = top[:start].sum(), top[: start + 1].sum()
            for place in range(len(inside) + 1):
                # The fewer draws: from the left by `start + place` of them, else from the right.
                by_left = start + place <= start + 1 + len(inside) - place
                values.append(
                    left + inside[:place].sum() if by_left else right - inside[place:].sum()
                )
            values += [left, right]
        held += max(values) - min(values) <= bound
    assert held >= binom.ppf(1e-7, 600, 0.9)


def test_without_simulation_the_bound_of_walks_is_larger():
    levels = [WalkLevel(4, LAPLACE), WalkLevel(0, LAPLACE)]
    assert adaptive_noise(256, levels, 3, 0.05) < chernoff_noise(levels, 8, 0.05)
    assert walk_bound(1 << 40, [WalkLevel(0, LAPLACE)], 0.05) is None
    assert walk_bound(16, levels, 1e-12) is None


@pytest.mark.parametrize("log_risk", [2.0, 6.0, 14.0])
def test_the_draws_of_several_levels_are_bounded_together(log_risk):
    """Exact tails by convolution; no chance is involved."""
    laws = [DiscreteLaplaceLaw(scale=Fraction(2))] * 3 + [
        DiscreteLaplaceLaw(scale=Fraction(4))
    ] * 60
    places = np.arange(-300, 301)
    total = np.array([1.0])
    draws = BoxDraws()
    for law in laws:
        total = np.convolve(total, np.asarray(law.pmf(places)))
        around = law.envelope()
        draws.add(around.variance, around.slack, around.scale)
    far = draws.reach(log_risk)
    tail = total[len(total) // 2 + math.floor(far) + 1 :].sum()
    assert tail <= math.exp(-log_risk) + 1e-13


@pytest.mark.parametrize("algorithm", [AdaptiveTree(), TwoStageTree(), FullTree(), RangeStrategy()])
def test_a_plan_promises_the_noise_that_the_release_claims(algorithm):
    """Large even counts: nothing is stopped early, and smoothing moves estimates by less than the noise does.
    So the claim is the planned bound plus what is seen of smoothing: never less, and at most 2.5 times."""
    shape = (100,)
    made = prepared(shape, algorithm=algorithm)
    planned = made.error(rows=None, confidence=0.95).simultaneous
    counts = np.full(shape, 100_000) + 977 * np.arange(100) % 40_000
    with drawing(counts, made) as draw:
        part = draw()
    source = RangeSource(part, made.schema)
    if isinstance(algorithm, RangeStrategy):
        from discreet.families.ranges.answer.cell_ranges import CellRangeSource

        source = CellRangeSource(part, made.schema)
    claimed, _ = tree_bound(source, 1, 0.05)
    # A plan of two stages takes the widest boundary for all; the release knows the noise of each.
    least = 0.7 * planned if isinstance(algorithm, TwoStageTree) else planned - 1e-6
    assert least <= claimed <= 2.5 * planned


def test_few_rows_are_not_claimed_to_be_off_by_many_times_their_number():
    """90 rows, epsilon 1/10: no estimate is off by more than the rows that there may be. The total of the top
    level is known to a few hundred at most; without that bound the claim is above a thousand."""
    shape = (100,)
    made = prepared(shape, epsilon="1/10")
    counts = np.zeros(shape, dtype=np.int64)
    counts[:90] = 1
    with drawing(counts, made) as draw:
        source = RangeSource(draw(), made.schema)
    planned = made.error(rows=90, confidence=0.95).simultaneous
    assert tree_bound(source, 1, 0.05)[0] < planned + 400
