"""The measured levels of a released tree with their noise: what bounds for all ranges are made of."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from discreet.arrays import Bools, Floats
from discreet.artifacts.measurement import TreeLevel, TreeMeasurement
from discreet.families.ranges.answer.ranges import RangeSource
from discreet.families.ranges.estimate.bridges import BridgeRoot
from discreet.families.ranges.queries.ranges import range_tree
from discreet.privacy.laws import DiscreteLaplaceLaw, NoiseLaw
from discreet.queries.blocks import BlockCounts
from discreet.queries.tree import Nodes


@dataclass(frozen=True, slots=True, eq=False)
class MeasuredLevel:
    """Numbers of a level, in the order of its nodes, with noise of known law."""

    depth: tuple[int, ...]
    nodes: Nodes
    numbers: Floats
    variance: Floats
    """The variance of continuous noise that the noise lies below, apart from `slack`."""
    scale: Floats
    """The scale of Laplace noise; 0 for Gaussian noise."""
    slack: Floats
    """By how much rounding moves it, at most."""
    stopped: Bools
    final: Floats
    """The last number of each node; of a stopped one it has less noise than the first."""
    final_scale: float
    """The scale of Laplace noise on a stopped node's last number."""
    law: NoiseLaw | None
    """The noise of all numbers, where it is one."""


@dataclass(frozen=True, slots=True, eq=False)
class MeasuredLevels:
    """From the top down."""

    depths: tuple[tuple[int, ...], ...]
    levels: tuple[MeasuredLevel, ...]
    is_adaptive: bool
    """Whether numbers of a level decided which nodes lie below it."""


def measured_levels(source: RangeSource) -> MeasuredLevels:
    """The numbers that an adaptive tree showed first, or the final ones of any other tree."""
    trees = source.part.trees
    layers = source.tree.layers  # refuses a tree that is none
    if len(trees) == 1:
        tree = trees[0]
        return MeasuredLevels(
            tree.tree.depths,
            tuple(_first(tree.tree.depths[level.level], level) for level in counted_levels(tree)),
            is_adaptive=True,
        )
    if trees:
        tree = trees[-1]
        return MeasuredLevels(
            tree.tree.depths,
            tuple(_final(tree.tree.depths[level.level], level) for level in counted_levels(tree)),
            is_adaptive=False,
        )
    whole = range_tree(source.columns, source.schema, every=True)
    laws = {
        whole.depths[_level_of(whole.depths, each.query.shifts)]: each.law
        for each in source.part.noisy
        if isinstance(each.query, BlockCounts)
    }
    return MeasuredLevels(
        whole.depths,
        tuple(
            _noisy(layer.depth, layer.nodes, layer.values, laws[layer.depth], layer.stopped)
            for layer in layers
            if layer.depth in laws
        ),
        is_adaptive=False,
    )


def counted_levels(tree: TreeMeasurement) -> tuple[TreeLevel, ...]:
    """The levels of plain counts: without a root that counts by weights.

    The epsilons of these levels are those of the heaviest path, so no noise is larger than they say.
    """
    return tree.levels[bool(tree.weights) :]


def bridge_root(tree: TreeMeasurement) -> BridgeRoot | None:
    """The root of an adaptive tree that counts by weights."""
    if not tree.weights:
        return None
    scale = max(tree.weights) / tree.levels[0].first_epsilon
    return BridgeRoot(tree.weights, DiscreteLaplaceLaw(scale=scale))


def _level_of(depths: tuple[tuple[int, ...], ...], shifts: tuple[int, ...]) -> int:
    return depths.index(tuple(d - s for d, s in zip(depths[-1], shifts, strict=True)))


def _first(depth: tuple[int, ...], level: TreeLevel) -> MeasuredLevel:
    law = DiscreteLaplaceLaw(scale=1 / level.first_epsilon)
    shown = _noisy(depth, level.nodes, level.first.astype(np.float64), law, level.stopped)
    final, scale = level.values.astype(np.float64), 1 / float(level.stopped_epsilon)
    return replace(shown, final=final, final_scale=scale)


def _final(depth: tuple[int, ...], level: TreeLevel) -> MeasuredLevel:
    other = level.refined_epsilon or level.stopped_epsilon
    scale = np.where(level.stopped, 1 / float(level.stopped_epsilon), 1 / float(other))
    values = level.values.astype(np.float64)
    return MeasuredLevel(
        depth,
        level.nodes,
        values,
        2 * scale**2,
        scale,
        np.zeros(len(scale)),
        level.stopped,
        values,
        1 / float(level.stopped_epsilon),
        None,
    )


def _noisy(
    depth: tuple[int, ...], nodes: Nodes, numbers: Floats, law: NoiseLaw, stopped: Bools
) -> MeasuredLevel:
    around = law.envelope()
    many = len(nodes)
    return MeasuredLevel(
        depth,
        nodes,
        numbers,
        np.full(many, around.variance),
        np.full(many, around.scale),
        np.full(many, around.slack),
        stopped,
        numbers,
        around.scale,
        law,
    )
