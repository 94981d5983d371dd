"""Leaves that look empty are told from those that are small, by all leaves of a layer together."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.baselines.histogram_engine import histogram_schema
from discreet.families.ranges.estimate.tree_empties import (
    Empties,
    laplace_scale,
    told_apart,
)
from discreet.families.ranges.estimate.tree_layers import Layer, PrunedTree, laplace_variance
from discreet.families.ranges.estimate.tree_shrinkage import smoothed

EPSILONS = [0.001, 0.05, 1.0, 12.0]


def typical_noise(many, epsilon):
    """The quantiles of discrete Laplace noise: what a layer of empty leaves looks like, without luck."""
    ratio = np.exp(-epsilon)
    tail = (np.arange(many) + 0.5) / many
    size = np.log(np.minimum(tail, 1 - tail) * (1 + ratio)) / np.log(ratio)
    return np.sign(tail - 0.5) * np.maximum(np.floor(size), 0.0)


def layers(leaves, epsilon, *, whole):
    """A root and 16 leaves below it."""
    nodes = np.arange(16, dtype=np.uint64)[:, np.newaxis]
    precision = 1 / laplace_variance(epsilon)
    coarse = np.array([1 / laplace_variance(epsilon / 8)])
    root = Layer((0,), nodes[:1], np.array([whole]), coarse, np.zeros(1, np.bool_))
    below = Layer((4,), nodes, leaves, np.full(16, precision), np.ones(16, np.bool_))
    return PrunedTree([root, below], columns=("x0",), schema=histogram_schema((16,)))


def chances_of_empty(seen, epsilon):
    all_of_them = np.ones(len(seen), np.bool_)
    return Empties(seen, laplace_variance(epsilon), among=all_of_them).chances(slice(None))


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_the_scale_of_noise_is_found_from_its_variance(epsilon):
    assert laplace_scale(laplace_variance(epsilon)) == pytest.approx(1 / epsilon, rel=1e-6)


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_leaves_that_are_only_noise_are_taken_for_empty(epsilon):
    seen = typical_noise(200, epsilon)
    assert chances_of_empty(seen, epsilon).mean() > 0.85


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_leaves_that_all_hold_rows_are_not_taken_for_empty(epsilon):
    rows = np.ceil(8 / epsilon)
    seen = typical_noise(200, epsilon) + rows
    assert chances_of_empty(seen, epsilon).mean() < 0.02


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_a_leaf_is_the_less_likely_empty_the_more_rows_are_seen_in_it(epsilon):
    seen = np.concatenate([typical_noise(100, epsilon), np.linspace(0, 50 / epsilon, 100).round()])
    chances = chances_of_empty(seen, epsilon)[np.argsort(seen)]
    assert ((chances >= 0) & (chances <= 1)).all()
    assert (np.diff(chances) <= 1e-9).all()
    assert chances[-1] == 0


def test_the_noise_of_empty_leaves_does_not_add_up_in_the_whole():
    epsilon = 1.0
    leaves = typical_noise(16, epsilon)
    leaves[3] = 1000.0
    tree = layers(leaves.copy(), epsilon, whole=1004.0)
    plain, sparse = tree.upward(), tree.upward([told_apart(each) for each in tree.layers])
    assert sparse.variance[0][0] < 0.5 * plain.variance[0][0]
    assert sparse.value[1][3] == 1000.0
    assert abs(sparse.value[1][np.arange(16) != 3]).max() < 0.5 * abs(leaves[[0, 15]]).max()
    np.testing.assert_array_equal(tree.layers[1].values, leaves)  # intervals see what was measured


def test_counts_that_are_not_empty_stay_what_they_were_seen_as():
    epsilon = 0.1
    leaves = typical_noise(16, epsilon) + 900.0
    tree = layers(leaves, epsilon, whole=14_400.0)
    assert np.allclose(tree.upward([told_apart(each) for each in tree.layers]).value[1], leaves)
    assert np.allclose(
        tree.upward([told_apart(each) for each in tree.layers]).variance[0],
        tree.upward().variance[0],
    )


def test_a_half_that_holds_little_is_not_taken_for_nothing():
    """It is seen with twice the noise of its sum, beside a leaf with a hundred times as many rows."""
    leaves = np.zeros(16)
    leaves[2], leaves[8:] = 17_000.0, 10.0
    tree = layers(leaves, 0.1, whole=17_080.0)
    assert smoothed(tree)[-1][8:].sum() > 40


def test_few_rows_in_a_half_are_believed_as_far_as_other_depths_hold_few():
    """80 rows are seen with twice their noise. In a steep tail each half holds few rows, and none is empty."""
    leaves = np.zeros(16)
    leaves[0], leaves[8:] = 17_000.0, 10.0
    corner = smoothed(layers(leaves.copy(), 0.1, whole=leaves.sum()))[-1][8:].sum()
    leaves[1:8] = [1_700, 300, 300, 60, 60, 60, 60]
    tail = smoothed(layers(leaves.copy(), 0.1, whole=leaves.sum()))[-1][8:].sum()
    assert tail > 1.3 * corner
