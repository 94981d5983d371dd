"""Bounds for all ranges at once: every query within them, their tails exact, no tree taken as fixed."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from discreet.families.ranges.answer.box_usefulness import (
    BoxDraws,
    Draws,
    _most_crossed,
    box_bound,
    box_distances,
)
from discreet.families.ranges.answer.class_bounds import tree_bound
from discreet.families.ranges.answer.levels import counted_levels, measured_levels
from discreet.families.ranges.answer.ranges import RangeSource
from discreet.families.ranges.answer.usefulness import _boundaries, interval_bound
from discreet.families.ranges.estimate.all_ranges import reach
from discreet.families.ranges.release.adaptive import AdaptiveTree
from discreet.families.ranges.release.tree import FullTree
from discreet.families.ranges.release.two_stage import TwoStageTree
from discreet.privacy.laws import DiscreteLaplaceLaw
from tests.ranges.exact import counts_in, drawing, prepared

RISK = 1e-9
TREES = [AdaptiveTree(), TwoStageTree(), FullTree()]


def histogram_of(kind, shape):
    generator = np.random.default_rng()
    size = int(np.prod(shape))
    return {
        "empty": lambda: np.zeros(size, dtype=np.int64),
        "spikes": lambda: np.where(np.arange(size) % 37 == 0, 60, 0),
        "at the threshold": lambda: np.resize([25, 15, 20, 30], size),
        "skewed": lambda: generator.poisson(generator.gamma(0.1, 200, size)),
    }[kind]().reshape(shape)


def every_box(shape):
    """First and last cells of all boxes."""
    sides = [np.triu_indices(size) for size in shape]
    firsts = np.meshgrid(*(low for low, _ in sides), indexing="ij")
    lasts = np.meshgrid(*(high for _, high in sides), indexing="ij")
    return tuple(
        np.stack([each.reshape(-1) for each in ends], axis=1).astype(np.uint64)
        for ends in (firsts, lasts)
    )


@pytest.mark.parametrize("kind", ["empty", "spikes", "at the threshold", "skewed"])
@pytest.mark.parametrize("shape", [(150,), (12, 12)], ids=str)
@pytest.mark.parametrize("algorithm", TREES, ids=lambda each: each.name)
def test_no_range_is_ever_off_by_more_than_the_bound_for_all(algorithm, shape, kind):
    """Three draws of each of 24 cases, all ranges: the bound fails with probability at most 1e-9 in each, so
    a false alarm in all of them has probability 7.2e-8. At 99.99% an answer is the clipped and rounded
    one that readers get. The bound is several times what errors are: what it is made of is tested below."""
    counts = histogram_of(kind, shape)
    first, last = every_box(shape)
    truth = counts_in(counts, first, last)
    made = prepared(shape, algorithm=algorithm)
    with drawing(counts, made, draws=3) as draw:
        for _ in range(3):
            source = RangeSource(draw(), made.schema)
            bound, theorem = tree_bound(source, 1, RISK)
            assert theorem
            for confidence in (0.5, 0.9999):
                found = source.count(first, last, confidence=confidence)
                assert np.abs(found.estimate - truth).max() <= bound
            assert tree_bound(source, 3, RISK)[0] == 3 * bound


def convolved(pmf, many):
    total = np.array([1.0])
    for _ in range(many):
        total = np.convolve(total, pmf)
    return total


@pytest.mark.parametrize("algorithm", [AdaptiveTree(), TwoStageTree()], ids=lambda each: each.name)
@pytest.mark.parametrize("shape", [(256,), (16, 16)], ids=str)
def test_what_hides_in_a_leaf_is_bounded_however_much_it_is(shape, algorithm, monkeypatch):
    """All nodes stop at the first level below the root, and a hundred thousand rows lie in one cell: its
    estimate is off by nearly all of them. False alarm 1e-9 a run; a bound without the leaves' rows is
    off by a hundred times."""
    for place in ("adaptive", "two_stage"):
        monkeypatch.setattr(
            f"discreet.families.ranges.release.{place}.thresholds",
            lambda tree, shares, **_: (1e12,) * len(shares),
        )
    counts = np.zeros(shape, dtype=np.int64)
    counts[(3,) * len(shape)] = 100_000
    made = prepared(shape, algorithm=algorithm)
    with drawing(counts, made) as draw:
        source = RangeSource(draw(), made.schema)
    first, last = every_box(shape)
    off = np.abs(
        source.count(first, last, confidence=0.95).estimate - counts_in(counts, first, last)
    )
    assert 50_000 < off.max() <= tree_bound(source, 1, RISK)[0] < 1_000_000


@pytest.mark.parametrize("shape", [(16,), (4, 4)], ids=str)
def test_where_estimates_are_the_measured_numbers_the_noise_alone_is_bounded(shape):
    """Large uneven counts leave nothing to smooth: a bound that forgot the noise fails in each of 20 draws
    with probability above .9. False alarm: 20 times 1e-9."""
    generator = np.random.default_rng()
    counts = generator.permutation(10 ** np.linspace(5, 9, 16)).astype(np.int64).reshape(shape)
    made = prepared(shape, algorithm=FullTree(), epsilon="1/10")
    first, last = every_box(shape)
    truth = counts_in(counts, first, last)
    with drawing(counts, made, draws=20) as draw:
        for _ in range(20):
            source = RangeSource(draw(), made.schema)
            off = np.abs(source.fitted(first, last).estimate - truth).max()
            assert off <= tree_bound(source, 1, RISK)[0]


@pytest.mark.parametrize(
    "epsilon, many",
    [(epsilon, many) for epsilon in ("1/8", "1/2", "2") for many in (1, 3, 12)] + [("2", 100)],
)
def test_the_reach_of_a_sum_is_exceeded_no_more_often_than_it_says(epsilon, many):
    """Exact tails by convolution, cut where the rest is below 1e-14; no chance is involved."""
    law = DiscreteLaplaceLaw(scale=1 / Fraction(epsilon))
    most = math.ceil(36 * float(law.scale)) + 2
    places = np.arange(-most, most + 1)
    pmf = np.asarray(law.pmf(places))
    total = convolved(pmf, many)
    above = np.where(places > 0, pmf, 0.0)
    above[most] = pmf[: most + 1].sum()  # max(noise, 0)
    positive = convolved(above[most:], many)
    for log_risk in (1.0, 4.0, 10.0, 22.0):
        far = reach(
            np.array([2 * many * float(law.scale) ** 2]), log_risk, np.array([float(law.scale)])
        )[0]
        tail = total[len(total) // 2 + math.floor(far) + 1 :].sum()
        assert tail <= math.exp(-log_risk) + 1e-13
        hidden = BoxDraws(Draws(0, 0.0, 0.0, 0.0), (1, 1))
        hidden.hide(many, float(law.scale))
        far = hidden.hidden(log_risk)
        assert positive[math.floor(far) + 1 :].sum() <= math.exp(-log_risk) + 1e-13


@pytest.mark.parametrize("algorithm", TREES, ids=lambda each: each.name)
def test_the_sums_that_the_bound_is_about_are_the_rows_before_each_boundary(algorithm):
    """At epsilon 300 each of a few hundred draws is 0 but for a chance below 1e-9."""
    counts = histogram_of("skewed", (300,))
    made = prepared((300,), algorithm=algorithm, epsilon=300)
    with drawing(counts, made) as draw:
        source = RangeSource(draw(), made.schema)
    starts, ends = _boundaries(source, 0.05)
    prefix = np.concatenate([[0], np.cumsum(counts)])
    index = source.intervals
    np.testing.assert_allclose(starts.rows, prefix[index.starts.astype(int)], atol=1e-6)
    np.testing.assert_allclose(ends.rows, prefix[index.ends.astype(int) + 1], atol=1e-6)
    assert interval_bound(source, 0.05) < 3 + counts.sum() / 20


def test_an_adaptive_tree_is_bounded_by_what_was_shown_before_it_decided():
    """The final numbers of stopped nodes were chosen by their own noise; those shown first were not."""
    counts = histogram_of("at the threshold", (512,))
    made = prepared((512,))
    with drawing(counts, made) as draw:
        part = draw()
    levels = measured_levels(RangeSource(part, made.schema))
    assert levels.is_adaptive
    for level, shown in zip(counted_levels(part.measurements[0]), levels.levels, strict=True):
        assert np.array_equal(shown.numbers, level.first)
        assert shown.scale[0] == pytest.approx(1 / float(level.first_epsilon))


def test_the_bound_of_a_box_is_that_of_its_faces():
    """A grid of 4 x 4 leaves with one row each in the estimate: no two faces a column cut more than 16."""
    counts = np.ones((4, 4), dtype=int)
    made = prepared((4, 4), algorithm=FullTree(), epsilon=300)
    with drawing(counts, made) as draw:
        source = RangeSource(draw(), made.schema)
    assert box_bound(source, 0.05) < 1


def test_the_distance_of_all_boxes_is_the_largest_of_each():
    """By brute force over all boxes of 8 x 4 cells, in leaves of several sizes, whose rows are spread evenly."""
    generator = np.random.default_rng()
    corners = [(0, 0, 3, 3), (4, 0, 5, 1), (6, 0, 7, 1), (4, 2, 7, 3)]
    low = np.array([each[:2] for each in corners], dtype=np.uint64)
    high = np.array([each[2:] for each in corners], dtype=np.uint64)
    for _ in range(40):
        rows = generator.normal(size=len(corners))
        cells = np.zeros((8, 4))
        for (a, b, c, d), each in zip(corners, rows, strict=True):
            cells[a : c + 1, b : d + 1] = each / ((c - a + 1) * (d - b + 1))
        first, last = every_box((8, 4))
        largest = np.abs(counts_in(cells, first, last)).max()
        assert box_distances(low, high, rows) == pytest.approx(largest)
    assert box_distances(low[:, :1], high[:, :1], rows) is None


def test_no_two_faces_cut_more_leaves_than_is_said():
    """By brute force over all pairs of places; a leaf that both cut counts once."""
    generator = np.random.default_rng()
    for _ in range(20):
        low = generator.integers(0, 20, 12)
        high = low + generator.integers(0, 6, 12)
        weights = generator.random(12)
        found = 0.0
        for one in range(30):
            for two in range(one, 30):
                cut = ((low < one) & (one <= high)) | ((low < two) & (two <= high))
                found = max(found, weights[cut].sum())
        said = _most_crossed(low.astype(np.uint64), high.astype(np.uint64), weights)
        assert said == pytest.approx(found)
