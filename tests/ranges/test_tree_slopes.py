"""Splits that follow the slope between neighbours, in a tree over one column."""

from __future__ import annotations

import numpy as np

from benchmarks.baselines.histogram_engine import histogram_schema
from discreet.families.ranges.estimate.tree_layers import Layer, PrunedTree
from discreet.families.ranges.estimate.tree_shrinkage import smoothed
from discreet.families.ranges.estimate.tree_slopes import Line

SCHEMA = histogram_schema((256,))


def tree_of(counts, *, stopped=(), variance=1.0, noise=None):
    """Counts of 256 cells in levels of 1, 16 and 256 nodes; some of the 16 are leaves."""
    layers = []
    for bits in (0, 4, 8):
        nodes = np.arange(1 << bits)
        if bits == 8:
            nodes = nodes[~np.isin(nodes >> 4, stopped)]
        values = counts.reshape(1 << bits, -1).sum(axis=1)[nodes].astype(float)
        if noise is not None:
            values += noise.normal(0, np.sqrt(variance), len(values))
        ends = np.full(len(nodes), bits == 8)
        if bits == 4:
            ends[list(stopped)] = True
        layers.append(
            Layer(
                (bits,),
                nodes.astype(np.uint64)[:, np.newaxis],
                values,
                np.full(len(nodes), 1 / variance),
                ends,
            )
        )
    return PrunedTree(layers, columns=("x0",), schema=SCHEMA)


def test_the_halves_of_a_ramp_are_foretold_exactly_but_at_its_ends():
    counts = 5.0 + np.arange(256)
    line = Line(tree_of(counts))
    for place, level in ((0, 1), (0, 3), (1, 0), (1, 3)):
        width = 256 >> (4 * place + level)
        whole = counts.reshape(-1, width).sum(axis=1)
        left = counts.reshape(-1, width // 2).sum(axis=1)[0::2]
        found = line.shifts(place, level, whole.reshape(16**place, -1)).ravel()
        np.testing.assert_allclose((whole / 2 + found)[1:-1], left[1:-1])
        np.testing.assert_array_equal(found[[0, -1]], 0.0)


def test_a_leaf_that_was_not_split_is_a_neighbour_too():
    counts = 5.0 + np.arange(256)
    tree = tree_of(counts, stopped=(4, 5, 9))
    line = Line(tree)
    whole = counts.reshape(16, 16).sum(axis=1)
    line.stop(1, whole)
    alive = tree.layers[1].alive
    found = line.shifts(1, 0, whole[alive][:, np.newaxis]).ravel()
    expected = Line(tree_of(counts)).shifts(1, 0, whole[:, np.newaxis]).ravel()
    np.testing.assert_allclose(found, expected[alive])


def test_a_single_high_node_bends_nothing_and_no_half_is_foretold_below_nothing():
    generator = np.random.default_rng()
    flat = np.full(256, 3.0)
    flat[80:96] = 1000.0
    found = Line(tree_of(flat)).shifts(1, 0, flat.reshape(16, 16).sum(axis=1)[:, np.newaxis])
    np.testing.assert_array_equal(found, 0.0)
    wild = generator.gamma(0.3, size=256)
    whole = wild.reshape(16, 16).sum(axis=1)[:, np.newaxis]
    found = Line(tree_of(wild)).shifts(1, 0, whole)
    assert (np.abs(found) <= whole / 4 + 1e-12).all()


def test_counts_stay_non_negative_and_add_up_with_slopes():
    generator = np.random.default_rng()
    counts = generator.poisson(generator.gamma(0.2, 50, 256))
    tree = tree_of(counts, stopped=(2, 7), variance=400.0, noise=generator)
    root, middle, last = smoothed(tree)
    assert min(each.min() for each in (root, middle, last)) >= 0
    alive = tree.layers[1].alive
    np.testing.assert_allclose(last.reshape(-1, 16).sum(axis=1), middle[alive], atol=1e-6)
    np.testing.assert_allclose(middle.sum(), root[0], atol=1e-6)


def test_slopes_lower_the_error_of_a_steep_smooth_table():
    """Squared errors of cells over 20 draws, with slopes against without: about .28. One draw's ratio has a
    standard deviation of about .08, so the mean of 20 is above .6 with a probability below 1e-9; slopes
    that gain less than a third are caught."""
    generator = np.random.default_rng()
    counts = np.exp(np.linspace(0, 9, 256))
    ratios = []
    for _ in range(20):
        tree = tree_of(counts, variance=120.0**2, noise=generator)
        errors = [
            np.square(smoothed(tree, sloped=sloped)[-1] - counts).sum() for sloped in (True, False)
        ]
        ratios.append(errors[0] / errors[1])
    assert np.mean(ratios) < 0.6, np.mean(ratios)
