"""Small histograms behind the engine protocol, and least squares by dense matrices to compare with."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction

import numpy as np

from benchmarks.baselines.histogram_engine import histogram_schema, opened_grant
from discreet.artifacts.release import Part
from discreet.families.ranges.queries.ranges import Intervals, Rectangles
from discreet.families.ranges.release.adaptive import AdaptiveTree
from discreet.privacy.budget import Budget
from discreet.privacy.cost import Accounting


def ranges_over(shape):
    names = [f"x{axis}" for axis in range(len(shape))]
    return Intervals(names[0]) if len(shape) == 1 else Rectangles(*names)


def prepared(shape, *, epsilon=1, algorithm=None, adjacency="add-remove"):
    schema = histogram_schema(shape, adjacency=adjacency)
    return (algorithm or AdaptiveTree()).prepare(
        ranges_over(shape),
        schema,
        share=Budget(epsilon=Fraction(epsilon)),
        accounting=Accounting.BASIC,
    )


@contextmanager
def drawing(histogram, made, *, draws=1) -> Iterator[object]:
    """A function that releases the histogram once more, up to `draws` times."""
    with opened_grant(histogram, made.schema, made.share.times(draws)) as grant:

        def draw() -> Part:
            measured = grant.measure(made.requests) if made.requests else ()
            return made.finish(grant, measured, public_rows=None, confidence=0.95)[0]

        yield draw


def dense_least_squares(tree, shape):
    """Leaves' first and last cells, their least squares counts, and the covariance of these."""
    leaves = [
        (layer.depth, tuple(map(int, node)))
        for layer in tree.layers
        for node, stopped in zip(layer.nodes, layer.stopped, strict=True)
        if stopped
    ]
    rows, values, precision = [], [], []
    for layer in tree.layers:
        for node, value, weight in zip(layer.nodes, layer.values, layer.precision, strict=True):
            if weight > 0:
                rows.append([_is_below(leaf, layer.depth, node) for leaf in leaves])
                values.append(value)
                precision.append(weight)
    if (root := tree.layers[0].weighted) is not None:
        first = zip(tree.layers[1].nodes, root.weights, strict=True)
        sums = [
            weight * np.array([_is_below(leaf, tree.layers[1].depth, node) for leaf in leaves])
            for node, weight in first
        ]
        rows.append(np.sum(sums, axis=0).tolist())
        values.append(root.value)
        precision.append(1 / root.variance)
    design, weights = np.array(rows, dtype=float), np.array(precision)
    covariance = np.linalg.inv(design.T @ (design * weights[:, None]))
    fitted = covariance @ (design.T @ (weights * np.array(values)))
    first = np.array(
        [[p << (b - d) for p, b, d in zip(n, tree.bits, depth, strict=True)] for depth, n in leaves]
    )
    last = np.array(
        [
            [min(((p + 1) << (b - d)) - 1, size - 1) for p, b, d, size in zip(n, tree.bits, depth, shape, strict=True)]
            for depth, n in leaves
        ]
    )  # fmt: skip
    return first, last, fitted, covariance


def _is_below(leaf, depth, node):
    leaf_depth, leaf_node = leaf
    return all(
        deep >= here and (place >> (deep - here)) == int(prefix)
        for deep, here, place, prefix in zip(leaf_depth, depth, leaf_node, node, strict=True)
    )


def random_boxes(shape, many, generator):
    first = np.stack([generator.integers(0, size, many) for size in shape], axis=1)
    last = np.stack([generator.integers(0, size, many) for size in shape], axis=1)
    return np.minimum(first, last).astype(np.uint64), np.maximum(first, last).astype(np.uint64)


def counts_in(histogram, first, last):
    """Exact counts of boxes, both ends included."""
    table = np.zeros([size + 1 for size in histogram.shape])
    summed = histogram.astype(float)
    for axis in range(histogram.ndim):
        summed = summed.cumsum(axis=axis)
    table[tuple(slice(1, None) for _ in histogram.shape)] = summed
    total = np.zeros(len(first))
    low, high = first.astype(np.int64), last.astype(np.int64) + 1
    for corner in range(1 << histogram.ndim):
        sides = [(corner >> axis) & 1 for axis in range(histogram.ndim)]
        place = tuple(low[:, a] if side else high[:, a] for a, side in enumerate(sides))
        total += (-1) ** sum(sides) * table[place]
    return total
