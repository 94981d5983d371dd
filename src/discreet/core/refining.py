"""The `refine` verb: an adaptive tree whose every path costs the same, exactly.

At each measured level the rows' counts are taken only below nodes that are still alive.
A node is first published coarsely; the caller's stopping rule looks at noisy numbers and
says where to stop; a stopped node is then published again with all the epsilon that its
path has left, any other with its level's share. The coarse number is the fine one plus
independent noise, so it is post-processing of it and the pair costs the fine epsilon only
(Koufogiannis, Han, Pappas 2015, gradual release; exact on integers by the decomposition in
samplers.noise_chain).

Guarantee:   epsilon-DP.
Adjacency:   the schema's. A row touches one path. Add-remove: m rows of a unit touch m paths
             of epsilon/m each. Change-one: each of them touches two, so a path has epsilon/(2m).
Sensitivity: each node's count moves by at most 1 for a row on its path.
Theorem:     basic composition along a path; parallel composition across nodes of a level,
             which are disjoint. Which nodes are alive depends on noisy numbers only.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol, assert_never

import numpy as np
import numpy.typing as npt

from discreet.artifacts.measurement import TreeLevel, TreeMeasurement
from discreet.errors import BadInput
from discreet.privacy.adjacency import Adjacency
from discreet.privacy.cost import Cost
from discreet.privacy.laws import DiscreteLaplaceLaw
from discreet.queries.measurable import Counts
from discreet.queries.tree import Nodes, Tree
from discreet.schema import Schema


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """How a path's epsilon is spread over the levels.

    `shares`: one for each level, adding to 1; a level with share 0 is not measured. A stopped
    node takes its own share and all those below it. `deciding`: the part of a level's share
    that the number shown to the stopping rule is drawn with; the rest refines the same number.
    """

    shares: tuple[Fraction, ...]
    deciding: Fraction

    def check(self, tree: Tree) -> None:
        if len(self.shares) != len(tree.depths):
            raise BadInput(
                f"The schedule has {len(self.shares)} shares and the tree {len(tree.depths)} levels."
            )
        if any(share < 0 for share in self.shares) or sum(self.shares) != 1:
            raise BadInput("The shares of a schedule are not negative and add to exactly 1.")
        if self.shares[-1] == 0:
            raise BadInput("The last level of a schedule has a share greater than 0.")
        if not 0 < self.deciding <= 1:
            raise BadInput("The deciding part of a share is above 0 and at most 1.")


@dataclass(frozen=True, slots=True, eq=False)
class LevelView:
    """What a stopping rule sees: noisy numbers, and what is public."""

    level: int
    nodes: Nodes
    first: Counts
    first_epsilon: Fraction
    above: tuple[TreeLevel, ...]


class Chains(Protocol):
    """Where the noisy numbers of a level come from: drawn, or published before and given back."""

    def chain(self, exact: Counts, laws: Sequence[DiscreteLaplaceLaw], *, step: str) -> Counts: ...


def path_epsilon(epsilon: Fraction, schema: Schema) -> Fraction:
    """What one row's path may cost so that one unit costs `epsilon`."""
    rows = schema.unit.max_rows
    match schema.adjacency:
        case Adjacency.ADD_REMOVE:
            return epsilon / rows
        case Adjacency.CHANGE_ONE:
            return epsilon / (2 * rows)
    assert_never(schema.adjacency)


def refine(
    tree: Tree,
    *,
    epsilon: Fraction,
    schedule: Schedule,
    stop: Callable[[LevelView], npt.NDArray[np.bool_]],
    schema: Schema,
    count: Callable[[tuple[str, ...], tuple[int, ...], Nodes], Counts],
    noise: Chains,
    next_step: Callable[[str], str],
) -> TreeMeasurement:
    """Measure `tree` adaptively; see the module's docstring. Called by the vault, after the charge."""
    whole = path_epsilon(epsilon, schema)
    left = whole
    alive = tree.root()
    last = len(tree.depths) - 1
    levels: list[TreeLevel] = []
    for level, share in enumerate(schedule.shares):
        if level:
            alive = tree.children(alive, level - 1, schema)
        if share == 0:
            continue
        if not len(alive):
            break
        own = whole * share
        is_last = level == last
        epsilons = [left] if is_last else [left, own, own * schedule.deciding]
        laws = [DiscreteLaplaceLaw(scale=1 / each) for each in epsilons]
        exact = count(tree.columns, tree.shifts(level), alive)
        noisy = noise.chain(exact, laws, step=next_step("refine"))
        first = noisy[-1].copy()  # a copy: a slice would carry the finer numbers in its `base`
        for shown in (first, alive):
            shown.flags.writeable = False
        if is_last:
            stopped = np.ones(len(alive), dtype=np.bool_)
        else:
            stopped = _decided(stop, level, alive, first, epsilons[2], tuple(levels))
        levels.append(
            TreeLevel(
                level=level,
                nodes=alive,
                first=first,
                values=noisy[0].copy() if is_last else np.where(stopped, noisy[0], noisy[1]),
                stopped=stopped,
                first_epsilon=epsilons[-1],
                stopped_epsilon=left,
                refined_epsilon=Fraction(0) if is_last else own,
            )
        )
        alive = alive[~stopped]
        left -= own
    return TreeMeasurement(
        tree=tree, levels=tuple(levels), path_epsilon=whole, cost=Cost.pure(epsilon)
    )


def _decided(
    stop: Callable[[LevelView], npt.NDArray[np.bool_]],
    level: int,
    nodes: Nodes,
    first: Counts,
    first_epsilon: Fraction,
    above: tuple[TreeLevel, ...],
) -> npt.NDArray[np.bool_]:
    view = LevelView(
        level=level, nodes=nodes, first=first, first_epsilon=first_epsilon, above=above
    )
    stopped = np.asarray(stop(view))
    if stopped.dtype != np.bool_ or stopped.shape != (len(nodes),):
        raise BadInput("A stopping rule returns one boolean for each node that it is shown.")
    return stopped
