"""A root that counts by weights: shares, least squares, and what a bound makes of it."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.baselines.histogram_engine import histogram_schema
from discreet.artifacts.manifest import Kept
from discreet.artifacts.release import FORMAT_VERSION
from discreet.families.ranges.answer.levels import bridge_root
from discreet.families.ranges.answer.ranges import RangeSource
from discreet.families.ranges.estimate.bridges import BridgeLevel, bridged
from discreet.families.ranges.estimate.tree_layers import PrunedTree, layers_of
from discreet.families.ranges.queries.ranges import range_tree
from discreet.families.ranges.release.shares import best_shares
from discreet.families.ranges.release.weighted_shares import may_weigh, weighted_shares
from discreet.families.shared.estimate.public_random import generator as public_generator
from discreet.privacy.laws import DiscreteLaplaceLaw
from tests.ranges.exact import dense_least_squares, drawing, prepared


def shares_of(cells):
    tree = range_tree(("x0",), histogram_schema((cells,)))
    plain = best_shares(tree)
    return tree, plain, weighted_shares(tree, plain)


@pytest.mark.parametrize("cells", [100, 256, 1000, 4096, 1 << 14, 1 << 20])
def test_random_ranges_are_foreseen_to_err_less_than_with_a_plain_root(cells):
    tree, plain, found = shares_of(cells)
    assert may_weigh(tree) and sum(found.shares) == 1
    assert found.weights == found.weights[::-1]
    half = found.weights[: len(found.weights) // 2]
    assert list(half) == sorted(half) and half[0] < half[-1] == 64
    assert 0.93 < (found.mean_variance / plain.mean_variance) ** 0.5 < 0.98


def exact_variances(cells):
    """Of a full tree, by dense least squares over a release in which nothing was stopped."""
    made = prepared((cells,), epsilon=1)
    with drawing(np.full(cells, 10**6), made) as draw:
        source = RangeSource(draw(), made.schema)
    first, _, _, covariance = dense_least_squares(source.tree, (cells,))
    order = np.argsort(first[:, 0])
    prefix = np.zeros((cells + 1, cells + 1))
    prefix[1:, 1:] = covariance[np.ix_(order, order)].cumsum(axis=0).cumsum(axis=1)
    return made, prefix


def test_the_variance_that_is_foreseen_is_that_of_least_squares():
    """Discrete Laplace noise has a little less variance than 2/epsilon^2, and ranges end between cells."""
    made, prefix = exact_variances(256)
    spread = np.diag(prefix)
    length = np.repeat(np.arange(1, 257), 64)
    place = (np.tile((np.arange(64) + 0.5) / 64, 256) * (257 - length)).astype(int)
    low, high = place, place + length
    mean = float((spread[low] + spread[high] - 2 * prefix[low, high]).mean())
    *_, found = shares_of(256)
    assert made.schedule.weights == found.weights
    assert mean == pytest.approx(2 * found.mean_variance, rel=0.03)
    largest = (spread[:, None] + spread[None, :] - 2 * prefix).max()
    assert largest <= 2 * found.worst_variance


def test_ranges_from_an_end_and_all_rows_err_no_more_than_with_a_plain_root(monkeypatch):
    """In standard deviations, of 256 cells: from an end on average, and all of it, within 3%."""
    _, weighted = exact_variances(256)
    monkeypatch.setattr("discreet.families.ranges.release.adaptive.PreparedTree.is_weighted", False)
    _, plain = exact_variances(256)
    for pick in (lambda each: np.diag(each)[1:].mean(), lambda each: each[-1, -1]):
        assert (pick(weighted) / pick(plain)) ** 0.5 < 1.03


def test_only_deep_enough_trees_of_one_column_have_a_weighted_root():
    for shape, expected in (
        ((40,), True),
        ((16,), False),
        ((300, 300), False),
        ((1 << 33,), False),
    ):
        made = prepared(shape)
        assert bool(made.schedule.weights) == expected, shape


def test_a_release_without_weights_is_read_as_before(monkeypatch):
    """What the weights are not stored for is a plain count: the tree of an older file."""
    monkeypatch.setattr("discreet.families.ranges.release.adaptive.PreparedTree.is_weighted", False)
    made = prepared((300,))
    with drawing(np.full(300, 50), made) as draw:
        (measured,) = draw().trees
    assert "weights" not in measured.stored(Kept(FORMAT_VERSION)) and not measured.weights
    layers = layers_of(measured)
    assert layers[0].weighted is None and layers[0].precision[0] > 0


def test_the_smoothing_chain_has_the_variance_of_every_node_above_the_first_level():
    made = prepared((256,))
    with drawing(np.full(256, 500), made) as draw:
        source = RangeSource(draw(), made.schema)
    first, _, fitted, covariance = dense_least_squares(source.tree, (256,))
    order = np.argsort(first[:, 0])
    covariance, fitted = covariance[np.ix_(order, order)], fitted[order]
    tree = source.tree
    assert isinstance(tree, PrunedTree)
    chain = tree.fitted(tree.upward())
    for level in range(4):
        width = 256 >> (level + 1)
        for place in range(2 << level):
            part = slice(place * width, (place + 1) * width)
            assert chain.inner_variance[0][level][0, place] == pytest.approx(
                covariance[part, part].sum(), rel=1e-6
            )
            assert chain.inner_value[0][level][0, place] == pytest.approx(fitted[part].sum())


def test_a_weighted_root_narrows_the_simulated_errors_of_all_boundaries():
    made = prepared((256,))
    with drawing(np.full(256, 500), made) as draw:
        (measured,) = draw().trees
    root = bridge_root(measured)
    levels = [
        BridgeLevel(
            8 - measured.tree.depths[level.level][0], DiscreteLaplaceLaw(1 / level.first_epsilon)
        )
        for level in measured.levels[1:]
    ]
    with_root = bridged(256, levels, 4000, public_generator(7), root)
    without = bridged(256, levels, 4000, public_generator(7))
    assert np.ptp(with_root, axis=1).mean() < 0.9 * np.ptp(without, axis=1).mean()
