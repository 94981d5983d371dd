"""The cost of a refined tree, recomputed from what was published, path by path."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from discreet.artifacts.measurement import HEAVIEST, TreeLevel, TreeMeasurement
from discreet.errors import BadInput
from discreet.privacy.adjacency import Adjacency
from discreet.schema import Schema


def tree_epsilon(measured: TreeMeasurement, schema: Schema, wrong: type[Exception]) -> Fraction:
    """What the tree costs one unit; raises `wrong` where the published structure breaks a rule.

    The rules: levels go down; the nodes of a level are exactly the children of the nodes above that
    were not stopped (the root at the top); the number shown first is never finer than the number
    kept, and is that number where both have the same noise, or it would be a second draw that nobody
    paid for; and along every path, what each node cost adds to at most the path's epsilon. Where the
    root is a weighted count, the epsilons are those of the heaviest path. A lighter one pays less for
    the root, and the numbers below it have as much more as that leaves, so its sum is the same.
    """
    tree = measured.tree
    try:
        tree.check(schema)
    except BadInput as error:
        raise wrong(str(error)) from None
    if measured.path_epsilon <= 0 or not measured.levels:
        raise wrong("the tree has no levels, or its paths have no epsilon.")
    if measured.weights:
        _check_weights(measured, wrong)
    before = Fraction(0)  # what any path that is still alive has paid
    alive, depth = tree.root(), 0
    for place, level in enumerate(measured.levels):
        last = level.level == len(tree.depths) - 1
        if place and level.level <= measured.levels[place - 1].level:
            raise wrong("the levels of the tree are out of order.")
        for step in range(depth, level.level):
            alive = tree.children(alive, step, schema)
        depth = level.level
        if not np.array_equal(level.nodes, alive):
            raise wrong(
                f"level {level.level} has other nodes than the children of those that were not stopped."
            )
        _check_spending(measured, level, before, last, wrong)
        before += level.refined_epsilon
        alive = level.nodes[~level.stopped]
        if last and len(alive):
            raise wrong("the tree goes on below its last level.")
    if len(alive):
        raise wrong("the tree ends above its last level, at nodes that were not stopped.")
    return _unit_epsilon(measured.path_epsilon, schema)


def _check_weights(measured: TreeMeasurement, wrong: type[Exception]) -> None:
    """The root of a tree of one column is measured, with a weight for each place below it, and not stopped."""
    tree, root = measured.tree, measured.levels[0]
    if len(tree.columns) > 1 or len(tree.depths) < 2 or root.level or root.stopped.any():
        raise wrong("the tree has weights, and no root that they could belong to.")
    if len(measured.weights) != 1 << tree.depths[1][0]:
        raise wrong("the tree's root does not have a weight for each place of the first level.")
    if min(measured.weights) < 0 or not 1 <= max(measured.weights) <= HEAVIEST:
        raise wrong(f"the weights of a tree's root go from 0 to {HEAVIEST:,}, and are not all 0.")
    if not 0 < root.refined_epsilon < measured.path_epsilon == root.stopped_epsilon:
        raise wrong("the tree's weighted root leaves nothing to the levels below it.")


def _check_spending(
    measured: TreeMeasurement,
    level: TreeLevel,
    before: Fraction,
    last: bool,
    wrong: type[Exception],
) -> None:
    shown, stopped, refined = level.first_epsilon, level.stopped_epsilon, level.refined_epsilon
    if before + stopped > measured.path_epsilon or before + refined > measured.path_epsilon:
        raise wrong(
            f"a path that reaches level {level.level} costs more than the "
            f"{float(measured.path_epsilon):.6g} that each path has."
        )
    finer_first = shown > stopped or (not last and shown > refined)
    if min(shown, stopped) <= 0 or refined < 0 or finer_first:
        raise wrong(f"level {level.level} has first numbers with less noise than its final ones.")
    kept = np.where(level.stopped, shown == stopped, shown == refined)
    if np.any(kept & (level.first != level.values)):
        raise wrong(
            f"level {level.level} has two numbers of a node where its noise was drawn once."
        )
    if not last and refined == 0:
        raise wrong(f"level {level.level} refines its nodes at no cost.")


def _unit_epsilon(path: Fraction, schema: Schema) -> Fraction:
    """One row touches one path, or two where it is changed; a unit has up to max_rows rows."""
    paths = schema.unit.max_rows * (2 if schema.adjacency is Adjacency.CHANGE_ONE else 1)
    return path * paths
