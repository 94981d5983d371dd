"""Halfspaces by an adaptive tree: fine cells where there are many rows, coarse ones where there are few.

The tree is that of ranges: measured from the root down, halving the columns in turns; a node that
looks nearly empty is published once more with all that its path has left, and not split. A halfspace
is the sum of the nodes inside it; the leaves that it cuts count in proportion.

Guarantee:   epsilon-DP (`core.refining`).
Adjacency:   the schema's.
Sensitivity: a row touches one path; two where it is changed; a unit up to max_rows times that.
Theorem:     composition along paths, parallel composition across them, noise reduction.
Error:       generalised least squares on the pruned tree gives the inner and the outer sum of every
             halfspace a variance in closed form; the interval reaches from one to the other.

`best_halfspaces`: a grid or a tree, by the error to expect; public facts decide. Both errors are averages over the same random halfspaces. Under pure accounting the tree wins nearly
always; with a delta a grid has Gaussian noise, which a tree, being pure, has not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache, partial
from statistics import NormalDist
from typing import ClassVar

import numpy as np

from discreet.arrays import Floats
from discreet.artifacts.measurement import Measurement, TreeMeasurement
from discreet.artifacts.release import ErrorClaim, Part
from discreet.families.halfspaces.estimate.grid import CANONICAL
from discreet.families.halfspaces.estimate.prior import (
    prior_error,
    public_bounds,
    random_halfspaces,
    uniform_share,
)
from discreet.families.halfspaces.estimate.reference import BIAS, Foreseen, foreseen
from discreet.families.halfspaces.queries.halfspaces import Halfspaces
from discreet.families.halfspaces.release.cells import HalfspaceCells, beaten_by_prior
from discreet.families.ranges.estimate.tree_layers import PrunedTree, layers_of
from discreet.families.ranges.estimate.tree_shrinkage import smoothed
from discreet.families.ranges.release.adaptive import SMOOTHED, PreparedTree, thresholds
from discreet.families.shared.release.choice import LeastError
from discreet.families.shared.release.protocol import USUAL_ROWS, ClassError, Verbs, of_type
from discreet.privacy.budget import Budget
from discreet.privacy.cost import Accounting
from discreet.queries.classes import QueryClass
from discreet.queries.tree import MOST_COLUMNS, Tree
from discreet.schema import Schema

MOST_LISTED = 1 << 20
"""Cells of one column: the values at which they begin and end are listed to answer a halfspace."""
SURE_OF_TOTAL = 2.0
"""Standard deviations within which the tree's total counts as all rows, where their number is public."""


@dataclass(frozen=True, slots=True)
class HalfspaceTree:
    """An adaptive tree over the columns."""

    name: ClassVar[str] = "tree"
    kind: ClassVar[str] = "halfspace-tree"

    def refusal(self, query_class: QueryClass, schema: Schema) -> str | None:
        if (reason := of_type(query_class, Halfspaces).of_the_net) is not None:
            return reason
        columns = [schema.column(name) for name in of_type(query_class, Halfspaces).named(schema)]
        if len(columns) > MOST_COLUMNS:
            return f"a tree serves at most {MOST_COLUMNS} columns, not {len(columns)}."
        for column in columns:
            if column.has_other:
                return (
                    f"column {column.name!r} keeps values outside its domain in a cell of their own, "
                    "which may lie on either side of a plane, and a tree does not count it; take the "
                    "algorithm cells."
                )
            if column.value_cells > MOST_LISTED:
                return (
                    f"column {column.name!r} has {column.value_cells:,} cells, and at most "
                    f"{MOST_LISTED:,} are listed; declare wider cells."
                )
        if all(column.value_cells == 1 for column in columns):
            return "its columns have one cell each: there is nothing to split."
        return None

    def prepare(
        self, query_class: QueryClass, schema: Schema, *, share: Budget, accounting: Accounting
    ) -> PreparedHalfspaceTree:
        asked = of_type(query_class, Halfspaces)
        return PreparedHalfspaceTree.adaptive(
            self, asked, asked.named(schema), schema, share=share, accounting=accounting
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedHalfspaceTree(PreparedTree):
    """The tree of ranges, with the error that it has for halfspaces."""

    def foreseen(self, rows: int) -> Foreseen:
        return _foreseen(self.schema, self.tree, self.schedule.shares, self.path, rows)

    def error(self, *, rows: int | None, confidence: float) -> ClassError:
        people = USUAL_ROWS if rows is None else rows
        found = self.foreseen(people)
        prior = self._prior() * people
        note = (
            f"about {found.leaves:,} leaves; errors are averaged over {CANONICAL} random halfspaces, on a "
            f"population that gives {BIAS:.0%} of the rows to one half at every halving"
        )
        if rows is None:
            note += f", of {people:,} rows"
        note += "."
        if found.expected >= prior:
            note += beaten_by_prior(prior)
        z = NormalDist().inv_cdf((1 + confidence) / 2)
        return ClassError.in_rows(
            rows,
            queries=CANONICAL,
            expected=found.expected,
            half_width=None if rows is None else float(np.max(z * found.deviation + found.cut / 2)),
            simultaneous=None,
            note=note,
        )

    def _prior(self) -> float:
        low, high = public_bounds(self.schema, self.tree.columns)
        normals, bounds = random_halfspaces(low, high, CANONICAL, seed=0)
        return prior_error(uniform_share(normals, bounds, low, high))

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
            estimates={"leaves": leaf_estimates(refined[-1], self.schema, public_rows)},
            facts={
                "estimates": SMOOTHED,
                "ties": "a row on the plane satisfies >= and <=; a null satisfies nothing",
            },
        )
        return part, ()


def leaf_estimates(measured: TreeMeasurement, schema: Schema, public_rows: int | None) -> Floats:
    """Smoothed counts of the leaves. Where the total is as good as all rows, they add to these."""
    tree = PrunedTree(layers_of(measured), columns=measured.tree.columns, schema=schema)
    up = tree.upward()
    found = tree.leaves(smoothed(tree, up))
    total = float(found.sum())
    if public_rows is None or total <= 0:
        return found
    reach = float(up.value[0][0]) + SURE_OF_TOTAL * float(up.variance[0][0]) ** 0.5
    goal = public_rows if reach >= public_rows else total
    return np.asarray(found * (goal / total))


@lru_cache(maxsize=64)
def _foreseen(
    schema: Schema, tree: Tree, shares: tuple[Fraction, ...], path: Fraction, rows: int
) -> Foreseen:
    return foreseen(
        tree,
        schema,
        shares=[float(share) for share in shares],
        path=float(path),
        thresholds=thresholds(tree, shares, path=path),
        rows=rows,
    )


best_halfspaces = partial(
    LeastError,
    name="best-cells",
    kind=HalfspaceTree.kind,
    options=(HalfspaceTree(), HalfspaceCells()),
)
