"""Ranges by an adaptive tree: the default release of `intervals` and `rectangles`.

The tree is measured from the root down. A node that looks nearly empty is not split any further, and
is published again with all the epsilon that its path has left, by noise reduction; so sparse regions
cost one accurate number instead of many noisy ones. Nothing is ever listed but live nodes.

Guarantee:   epsilon-DP (`core.refining`).
Adjacency:   the schema's.
Sensitivity: a row touches one path; two where it is changed; a unit up to max_rows times that.
Theorem:     composition along paths, parallel composition across them, noise reduction.
Error:       generalised least squares on the pruned tree gives each range a variance in closed form.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import ClassVar, Self, cast

import numpy as np

from discreet.arrays import Bools, Floats
from discreet.artifacts.measurement import Measurement, TreeMeasurement
from discreet.artifacts.release import ErrorClaim, Part
from discreet.core.refining import LevelView
from discreet.families.ranges.answer.ranges import RangeSource
from discreet.families.ranges.estimate.bridges import BridgeRoot
from discreet.families.ranges.estimate.tree_empties import told_apart
from discreet.families.ranges.estimate.tree_layers import PrunedTree, layers_of, shown_layers
from discreet.families.ranges.estimate.tree_shrinkage import smoothed, smoothed_last
from discreet.families.ranges.queries.ranges import DEEP, Ranges, range_tree
from discreet.families.ranges.release.claims import stopped_levels_bound, tree_claims
from discreet.families.ranges.release.error import ADAPTIVE_NOTE, FORESEEN_NOTE, class_error
from discreet.families.ranges.release.foreseen import InventedTable
from discreet.families.ranges.release.shares import best_shares, rounded_shares
from discreet.families.ranges.release.weighted_shares import may_weigh, weighted_shares
from discreet.families.shared.release.protocol import Algorithm, ClassError, Verbs, of_type
from discreet.families.shared.release.refined import MeasuredByRefining, level_laws, scheduled
from discreet.privacy.budget import Budget
from discreet.privacy.cost import Accounting
from discreet.queries.classes import QueryClass
from discreet.queries.tree import Tree
from discreet.schema import Schema

STOP_BELOW = 20.0
"""A node is not split if its estimate is below this many times 1/(its path's epsilon)."""
EMPTY_CHILDREN = 0.5
"""Live children that an empty node may have, in expectation, so that no domain can explode."""
LEAST_ROOT = 1 / 32
"""A root that is worth less of epsilon is not measured: its children add up to it."""
SMOOTHED = "leaves are smoothed non-negative counts of the stopped nodes, level by level"
MOST_INVENTED = 1 << 20
"""Cells up to which a plan releases an invented table."""
MOST_DOUBLED = 36.0
"""A node of one column is worth splitting from twice the noise of an interval on, up to this. In domains
so deep that once the noise is more, a few people would already go unseen."""


@dataclass(frozen=True, slots=True)
class StoppingRule:
    """Stop where the estimate is low: a function of noisy numbers and public facts.

    The estimate is the smoothed one, which neighbours and ancestors have a say in. In domains of more
    than `DEEP` bits a node has 32 children, its own noisy number says nearly all that there is to know
    before it is split, and the layers are too large to smooth at every level: there it is that number.
    """

    tree: Tree
    schema: Schema
    thresholds: tuple[float, ...]
    """By level, in rows."""

    def __call__(self, view: LevelView) -> Bools:
        if view.level == 0:
            return np.zeros(len(view.nodes), dtype=np.bool_)
        if sum(self.tree.depths[-1]) > DEEP:
            return np.asarray(view.first < self.thresholds[view.level])
        layers = shown_layers(
            self.tree,
            view.above,
            view.level,
            view.nodes,
            view.first,
            view.first_epsilon,
            view.weights,
        )
        tree = PrunedTree(layers, columns=self.tree.columns, schema=self.schema)
        return np.asarray(smoothed_last(tree) < self.thresholds[view.level])


def thresholds(
    tree: Tree, shares: Sequence[Fraction], *, path: Fraction, whole: Fraction | None = None
) -> tuple[float, ...]:
    """Below which estimate a node of each level stops, when paths of `path` decide it.

    Splitting pays from `STOP_BELOW` / `whole` rows on, `whole` being what a path has for its counts
    (the same as `path`, unless a tree is measured twice). An empty node of noise scale 1/(s path)
    passes for alive with probability at most exp(-s k) / 2 at the threshold k / path, so with f
    children k = ln(f / 2 / EMPTY_CHILDREN) / s keeps the expected number of live ones at that.
    """
    found = []
    worth = STOP_BELOW
    if len(tree.columns) == 1:
        # An interval cuts two leaves: rows in them below its noise are not worth telling apart.
        noise = math.sqrt(2 * best_shares(tree).mean_variance)
        worth = max(worth, noise, min(2 * noise, MOST_DOUBLED))
    above = 0  # halvings down to the last level that was measured
    for level, share in enumerate(shares):
        below = worth / float(path if whole is None else whole)
        if level and share:
            fan = 1 << (sum(tree.depths[level]) - above)
            above = sum(tree.depths[level])
            below = max(below, math.log(fan / 2 / EMPTY_CHILDREN) / float(share * path))
        found.append(below)
    return tuple(found)


def adaptive_shares(tree: Tree) -> tuple[Fraction, ...]:
    """Shares of an adaptive tree: the best ones for a full tree, evened out where boxes have surfaces.

    In d columns a box touches ever more nodes the deeper they lie, so a full tree spends most at the
    bottom. Where paths end early their last node gets what the levels below would have had, and the
    levels that decide are worth more; the d-th root of the shares below the root does justice to both.
    """
    best = np.array([float(share) for share in best_shares(tree).shares])
    if best[0] < LEAST_ROOT and len(best) > 1:
        best[0] = 0.0
    evened = best[1:] ** (1 / len(tree.columns))
    if len(evened):
        if sum(tree.depths[-1]) > DEEP:
            evened = np.ones_like(evened)  # no path reaches the bottom of so deep a domain
        # No level is skipped: below a skipped one an empty node would have too many children.
        evened = np.maximum(evened, evened.mean() / 2)
        best[1:] = (1 - best[0]) * evened / evened.sum()
    return rounded_shares(best)


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedTree(MeasuredByRefining):
    """The tree with its schedule."""

    @classmethod
    def adaptive(
        cls,
        algorithm: Algorithm,
        query_class: QueryClass,
        columns: tuple[str, ...],
        schema: Schema,
        *,
        share: Budget,
        accounting: Accounting,
    ) -> Self:
        """The tree over `columns` with the schedule that its share pays for."""
        tree = range_tree(columns, schema)
        what = query_class.text
        shares = adaptive_shares(tree)
        weights: tuple[int, ...] = ()
        if cls.is_weighted and may_weigh(tree) and shares[0]:
            found = weighted_shares(tree, best_shares(tree))
            shares, weights = found.shares, found.weights
        epsilon, schedule = scheduled(
            shares, schema, share=share, accounting=accounting, what=what, weights=weights
        )
        own = {"tree": tree, "epsilon": epsilon, "schedule": schedule}
        return cls.of(algorithm, query_class, schema, share, **own)

    is_weighted: ClassVar[bool] = True
    """Whether the root of a tree over one column counts by weights."""
    is_simulated: ClassVar[bool] = True
    """Whether the bound of all ranges at once is simulated."""

    def error(self, *, rows: int | None, confidence: float) -> ClassError:
        plain = best_shares(self.tree)
        best = weighted_shares(self.tree, plain) if self.schedule.weights else plain
        scale = 2 / float(self.path) ** 2
        return class_error(
            self.query_class,
            self.schema,
            mean=scale * best.mean_variance,
            worst=scale * best.worst_variance,
            rows=rows,
            confidence=confidence,
            together=self._together(rows, confidence),
            note=ADAPTIVE_NOTE if rows is None else FORESEEN_NOTE,
        )

    def _together(self, rows: int | None, confidence: float) -> float:
        """The bound that the release will claim: foreseen on an invented table, or of its noise alone."""
        cells = [self.schema.column(name).value_cells for name in self.tree.columns]
        if rows is not None and math.prod(cells) <= MOST_INVENTED:
            found = _foreseen(self, rows, confidence)
            if found is not None:
                return found
        weights, root = self.schedule.weights, None
        levels = [(depth, law) for depth, _, law in level_laws(self.tree, self.schedule, self.path)]
        if weights:
            (_, law), *levels = levels
            root = BridgeRoot(weights, law)
        return stopped_levels_bound(
            cells,
            levels,
            possible=1 if self.is_simulated else None,
            delta=1 - confidence,
            root=root,
        )

    def measure(self, grant: Verbs) -> tuple[TreeMeasurement, ...]:
        """The refined tree: one use of the core's verb."""
        rule = StoppingRule(
            self.tree, self.schema, thresholds(self.tree, self.schedule.shares, path=self.path)
        )
        return (grant.refine(self.tree, epsilon=self.epsilon, schedule=self.schedule, stop=rule),)

    def finish(
        self,
        grant: Verbs,
        measured: Sequence[Measurement],
        *,
        public_rows: int | None,
        confidence: float,
    ) -> tuple[Part, tuple[ErrorClaim, ...]]:
        refined = self.measure(grant)
        part = self.part(
            refined,
            estimates={"leaves": leaf_estimates(refined[-1], self.schema)},
            facts={"estimates": SMOOTHED},
        )
        return part, tree_claims(RangeSource(part, self.schema), confidence)


@lru_cache(maxsize=64)
def _foreseen(prepared: PreparedTree, rows: int, confidence: float) -> float | None:
    """What the release of an invented table claims, for one of its ranges; None if it claims nothing."""
    table = InventedTable(prepared.schema, rows)
    _, claims = prepared.finish(cast(Verbs, table), (), public_rows=None, confidence=confidence)
    assert isinstance(prepared.query_class, Ranges)
    return claims[0].bound / prepared.query_class.pieces if claims else None


@dataclass(frozen=True, slots=True)
class AdaptiveTree:
    """The adaptive tree."""

    name: ClassVar[str] = "adaptive-tree"
    kind: ClassVar[str] = "ranges"
    prepared: ClassVar[type[PreparedTree]] = PreparedTree

    def refusal(self, query_class: QueryClass, schema: Schema) -> str | None:
        return None

    def prepare(
        self, query_class: QueryClass, schema: Schema, *, share: Budget, accounting: Accounting
    ) -> PreparedTree:
        asked = of_type(query_class, Ranges)
        return self.prepared.adaptive(
            self, asked, asked.named(schema), schema, share=share, accounting=accounting
        )


def leaf_estimates(measured: TreeMeasurement, schema: Schema) -> Floats:
    """Smoothed counts of the leaves, level by level."""
    tree = PrunedTree(layers_of(measured), columns=measured.tree.columns, schema=schema)
    return tree.leaves(smoothed(tree, tree.upward([told_apart(layer) for layer in tree.layers])))
