"""The `refine` verb: an adaptive tree whose every path costs the same, exactly.

At each measured level the rows' counts are taken only below nodes that are still alive.
A node is first published coarsely; the caller's stopping rule looks at noisy numbers and
says where to stop; a stopped node is then published again with all the epsilon that its
path has left, any other with its level's share. The coarse number is the fine one plus
independent noise, so it is post-processing of it and the pair costs the fine epsilon only
(Koufogiannis, Han, Pappas 2015, gradual release; exact on integers by the decomposition in
samplers.noise_chain). The root may be a weighted count: a path pays for it by the weight of its
node in the first level, and what that leaves makes each number below it finer alike.

Guarantee:   epsilon-DP.
Adjacency:   the schema's. A row touches one path. Add-remove: m rows of a unit touch m paths
             of epsilon/m each. Change-one: each of them touches two, so a path has epsilon/(2m).
Sensitivity: each node's count moves by at most 1 for a row on its path.
Theorem:     basic composition along a path; parallel composition across nodes of a level,
             which are disjoint. Which nodes are alive depends on noisy numbers only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

import numpy as np
import numpy.typing as npt

from discreet.artifacts.measurement import HEAVIEST, TreeLevel, TreeMeasurement
from discreet.errors import BadInput
from discreet.privacy.adjacency import Adjacency
from discreet.privacy.cost import Cost
from discreet.privacy.laws import DiscreteLaplaceLaw
from discreet.queries.measurable import SATURATION, Counts
from discreet.queries.tree import Nodes, Tree
from discreet.schema import Schema

Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """How a path's epsilon is spread over the levels.

    `shares`: one for each level, adding to 1; a level with share 0 is not measured. A stopped
    node takes its own share and all those below it. `deciding`: the part of a level's share
    that the number shown to the stopping rule is drawn with; the rest refines the same number.
    `weights`: of each place of the first level (of one column) in the root's number; all 1 if none.
    The shares are those of the heaviest path.
    """

    shares: tuple[Fraction, ...]
    deciding: Fraction
    weights: tuple[int, ...] = ()

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
        if self.weights:
            fits = len(tree.columns) == 1 and [len(self.weights)] == [
                1 << d for d in tree.depths[1]
            ]
            if not fits or min(self.weights) < 0 or not 0 < max(self.weights) <= HEAVIEST:
                raise BadInput(f"A weighted root has a weight of 0 to {HEAVIEST} for each place.")

    def paths(
        self, tree: Tree, level: int, nodes: Nodes
    ) -> Iterator[tuple[Fraction, Bools | slice]]:
        """Nodes of paths of one weight, and the epsilon of their numbers, as a part of the level's."""
        if not self.weights or level == 0:
            yield Fraction(1, max(self.weights, default=1)), slice(None)
            return
        places = nodes[:, 0] >> np.uint64(tree.depths[level][0] - tree.depths[1][0])
        heavy = np.array(self.weights)[places.astype(np.int64)]
        for weight in np.unique(heavy).tolist():
            paid = self.shares[0] * Fraction(weight, max(self.weights))
            yield (1 - paid) / (1 - self.shares[0]), heavy == weight


@dataclass(frozen=True, slots=True, eq=False)
class LevelView:
    """What a stopping rule sees: noisy numbers, and what is public."""

    level: int
    nodes: Nodes
    first: Counts
    first_epsilon: Fraction
    above: tuple[TreeLevel, ...]
    weights: tuple[int, ...] = ()


class Chains(Protocol):
    """Where the noisy numbers of a level come from: drawn, or published before and given back."""

    def chain(self, exact: Counts, laws: Sequence[DiscreteLaplaceLaw], *, step: str) -> Counts: ...


def path_epsilon(epsilon: Fraction, schema: Schema) -> Fraction:
    """What one row's path may cost so that one unit costs `epsilon`."""
    paths = {Adjacency.ADD_REMOVE: 1, Adjacency.CHANGE_ONE: 2}[schema.adjacency]
    return epsilon / (paths * schema.unit.max_rows)


def refine(
    tree: Tree,
    *,
    epsilon: Fraction,
    schedule: Schedule,
    stop: Callable[[LevelView], Bools],
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
        if schedule.weights and level == 0:
            below = tree.children(alive, 0, schema)
            weights = np.array(schedule.weights)[below[:, 0].astype(np.int64)]
            exact = count(tree.columns, tree.shifts(1), below)
            # Held so low that no sum can wrap: each count still moves by at most 1.
            exact = np.array([weights @ np.clip(exact, 0, SATURATION >> 20)])
        else:
            exact = count(tree.columns, tree.shifts(level), alive)
        noisy = np.empty((len(epsilons), len(alive)), dtype=np.int64)
        for part, here in schedule.paths(tree, level, alive):
            laws = [DiscreteLaplaceLaw(scale=1 / (each * part)) for each in epsilons]
            drawn = noise.chain(exact[here], laws, step=next_step("refine"))
            if isinstance(here, slice):  # all nodes: what was drawn need not be copied
                noisy = np.asarray(drawn, dtype=np.int64)
            else:
                noisy[:, here] = drawn
        first = noisy[-1].copy()  # a copy: a slice would carry the finer numbers in its `base`
        for shown in (first, alive):
            shown.flags.writeable = False
        if is_last:
            stopped = np.ones(len(alive), dtype=np.bool_)
        else:
            view = LevelView(level, alive, first, epsilons[2], tuple(levels), schedule.weights)
            stopped = np.asarray(stop(view))
        if stopped.dtype != np.bool_ or stopped.shape != (len(alive),):
            raise BadInput("A stopping rule returns one boolean for each node that it is shown.")
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
    cost = Cost.pure(epsilon)
    return TreeMeasurement(tree, tuple(levels), whole, cost, schedule.weights)
