"""Bounds of all ranges at once: simulated bounds are valid, and a plan and a release say the same."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from scipy.stats import binom

from discreet.families.ranges.answer.box_usefulness import BoxDraws, Draws
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
from discreet.families.ranges.estimate.box_bridges import simulated_boxes
from discreet.families.ranges.estimate.bridges import BridgeLevel, bridge_bound, bridged
from discreet.families.ranges.release.adaptive import AdaptiveTree
from discreet.families.ranges.release.claims import stopped_levels_bound
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
def test_bridges_stay_within_their_bound_as_often_as_it_says(law):
    """600 draws of fresh public noise, bridged by hand over 50 cells in two levels of 16 and 1: a bound at
    90% that holds less often fails by chance with probability below 1e-7; one at 70% is caught."""
    levels = [BridgeLevel(4, law), BridgeLevel(0, law)]
    bound = bridge_bound(50, levels, 0.1)
    public = np.random.default_rng()
    held = 0
    for _ in range(600):
        top, cells = drawn(law, (4,), public), drawn(law, (50,), public)
        values = [0.0]
        for start in range(4):
            inside = cells[16 * start : 16 * start + 16]
            left, right = top[:start].sum(), top[: start + 1].sum()
            missing = right - left - inside.sum()
            for place in range(len(inside) + 1):
                values.append(left + inside[:place].sum() + missing * place / len(inside))
        held += max(values) - min(values) <= bound
    assert held >= binom.ppf(1e-7, 600, 0.9)


def test_a_bridge_goes_through_the_boundaries_above_it():
    """So a tree that stops anywhere has the errors of the full tree. No chance: any draws do."""
    levels = [BridgeLevel(4, LAPLACE), BridgeLevel(2, LAPLACE), BridgeLevel(0, LAPLACE)]
    whole = bridged(50, levels, 20, np.random.default_rng(7))
    above = bridged(50, levels[:2], 20, np.random.default_rng(7))
    np.testing.assert_allclose(whole[:, [*range(0, 50, 4), 50]], above, atol=1e-9)


def test_without_simulation_the_bound_of_bridges_is_larger():
    levels = [BridgeLevel(4, LAPLACE), BridgeLevel(0, LAPLACE)]
    assert adaptive_noise(256, levels, 1, 0.05) < adaptive_noise(256, levels, 3, 0.05)
    assert adaptive_noise(256, levels, 1, 0.05) < chernoff_noise(levels, 8, 0.05)
    assert bridge_bound(1 << 40, [BridgeLevel(0, LAPLACE)], 0.05) is None
    assert bridge_bound(16, levels, 1e-12) is None


BOXES = [((0, 0), LAPLACE), ((1, 1), LAPLACE), ((3, 3), LAPLACE)]


def stopped_errors(public, rule) -> np.ndarray:
    """The errors of 8 x 7 cells of one draw, where `rule` stops nodes by the noise that they show."""
    root = drawn(LAPLACE, (1,), public)[0]
    found = np.zeros((8, 7))
    halves = drawn(LAPLACE, (2, 2), public)
    for x in range(2):
        for y in range(2):
            block = (slice(4 * x, 4 * x + 4), slice(4 * y, 4 * y + 4))
            cells = found[block].size
            node = halves[x, y] + (root - halves.sum()) * cells / 56
            found[block] = node / cells
            if not rule(halves[x, y]):
                noise = drawn(LAPLACE, found[block].shape, public)
                found[block] = noise + (node - noise.sum()) / cells
    return found


@pytest.mark.parametrize(
    "rule", [lambda _: False, lambda _: True, lambda noise: noise < 0, lambda noise: noise > 1]
)
def test_boxes_of_a_tree_that_its_noise_stops_stay_within_the_bound(rule):
    """600 draws of fresh public noise: a bound at 90% that holds less often fails by chance with probability
    below 1e-7; one at 70% is caught."""
    bound = simulated_boxes((8, 7), BOXES, 0.1, is_whole=False)
    whole = simulated_boxes((8, 7), BOXES, 0.1, is_whole=True)
    assert whole < bound < 2 * whole
    public = np.random.default_rng()
    held = 0
    for _ in range(600):
        sums = np.zeros((9, 8))
        sums[1:, 1:] = stopped_errors(public, rule).cumsum(axis=0).cumsum(axis=1)
        between = sums[:, np.newaxis] - sums
        held += (between.max(axis=2) - between.min(axis=2)).max() <= bound
    assert held >= binom.ppf(1e-7, 600, 0.9)


def test_boxes_of_a_whole_tree_exceed_their_bound_as_rarely_as_it_says():
    """As above, and a bound that is twice too wide is caught: the largest of 600 draws is beyond half of it."""
    bound = simulated_boxes((8, 7), BOXES, 0.1, is_whole=True)
    public = np.random.default_rng()
    furthest = []
    for _ in range(600):
        sums = np.zeros((9, 8))
        sums[1:, 1:] = stopped_errors(public, lambda _: False).cumsum(axis=0).cumsum(axis=1)
        between = sums[:, np.newaxis] - sums
        furthest.append((between.max(axis=2) - between.min(axis=2)).max())
    assert sum(each <= bound for each in furthest) >= binom.ppf(1e-7, 600, 0.9)
    assert max(furthest) > bound / 2


def test_a_smaller_chance_has_a_larger_bound_and_large_grids_are_not_simulated():
    sizes = [simulated_boxes((8, 7), BOXES, delta, is_whole=False) for delta in (0.1, 0.01, 1e-3)]
    assert sizes[0] < sizes[1] < sizes[2] < 4 * sizes[0]
    assert simulated_boxes((8, 7), BOXES, 1e-9, is_whole=True) is None
    assert simulated_boxes((8, 7), BOXES, 1e-9, is_whole=False) is None
    assert simulated_boxes((1024, 1024), BOXES, 0.05, is_whole=False) is None
    gaussian = [(depth, GAUSSIAN) for depth, _ in BOXES]
    assert simulated_boxes((8, 7), gaussian, 0.05, is_whole=False) is None


@pytest.mark.parametrize("delta", [0.1, 1e-3, 1e-6])
def test_the_draws_of_several_levels_are_bounded_together(delta):
    """Exact tails by convolution, either side; no chance is involved. The top level is one draw."""
    laws = [DiscreteLaplaceLaw(scale=Fraction(2))] * 3 + [
        DiscreteLaplaceLaw(scale=Fraction(4))
    ] * 60
    places = np.arange(-300, 301)
    total = np.asarray(LAPLACE.pmf(places))
    around = LAPLACE.envelope()
    draws = BoxDraws(Draws(1, around.variance, around.scale, around.slack), (1, 1))
    for law in laws:
        total = np.convolve(total, np.asarray(law.pmf(places)))
        around = law.envelope()
        draws.add(Draws(1, around.variance, around.scale, around.slack))
    far = draws.reach(delta, 0.0, is_public=True)
    tail = total[len(total) // 2 + math.floor(far) + 1 :].sum()
    assert 2 * tail <= delta + 1e-13
    assert draws.reach(delta, 0.0, is_public=False) > far


@pytest.mark.parametrize("algorithm", [AdaptiveTree(), FullTree()])
@pytest.mark.parametrize(
    "shape, rows", [((100,), 50_000), ((1024,), 2000), ((32, 32), 50_000)], ids=str
)
def test_a_plan_foresees_the_claim_on_a_table_of_another_shape(shape, rows, algorithm):
    """Rows that fall towards one end, not in the shape of a bell: plan and claim are within half of each other.
    The claim varies by some percent from draw to draw; 50% are more than ten times that."""
    made = prepared(shape, algorithm=algorithm)
    planned = made.error(rows=rows, confidence=0.95).simultaneous
    parts = [np.linspace(2, 0.2, size) for size in shape]
    weights = parts[0] if len(parts) == 1 else np.multiply.outer(*parts)
    counts = np.rint(rows * weights / weights.sum()).astype(np.int64)
    with drawing(counts, made) as draw:
        claimed, _ = tree_bound(RangeSource(draw(), made.schema), 1, 0.05)
    assert 0.67 < claimed / planned < 1.5
    assert made.error(rows=None, confidence=0.95).simultaneous < planned


@pytest.mark.parametrize("algorithm", [AdaptiveTree(), FullTree()])
@pytest.mark.parametrize("shape", [(1024,), (32, 64)], ids=str)
def test_a_plan_with_more_epsilon_promises_a_smaller_bound(shape, algorithm):
    """Two rows a cell: counts that were rounded level by level would contradict each other, by more than the noise.
    The draws of a plan are always the same."""
    bounds = [
        prepared(shape, epsilon=epsilon, algorithm=algorithm)
        .error(rows=2 * math.prod(shape), confidence=0.95)
        .simultaneous
        for epsilon in ("1", "5", "25", "99")
    ]
    assert all(more < 0.6 * less for less, more in pairwise(bounds))


@pytest.mark.parametrize("algorithm", [AdaptiveTree(), FullTree()])
def test_a_plan_for_more_rows_than_there_are_people_is_shown(algorithm):
    made = prepared((100,), algorithm=algorithm)
    bounds = [made.error(rows=10**power, confidence=0.95).simultaneous for power in (12, 19, 30)]
    assert bounds[0] == bounds[1] == bounds[2] < 1000


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


@pytest.mark.parametrize("possible", [1, None], ids=["simulated", "by Chernoff"])
def test_a_plan_counts_the_noise_of_every_level(possible):
    """A range takes nodes of each level, so each further level of the same noise makes the bound larger."""
    law = DiscreteLaplaceLaw(scale=10)
    levels = [((depth,), law) for depth in (3, 5, 7)]
    bounds = [
        stopped_levels_bound([128], levels[:many], possible=possible, delta=0.05)
        for many in (1, 2, 3)
    ]
    assert bounds[0] * 1.05 < bounds[1] and bounds[1] * 1.02 < bounds[2]


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
