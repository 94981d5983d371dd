"""Ranges by a tree without adaptivity: whole levels measured, shares best for random ranges.

The reference for the adaptive tree, and its better where a delta buys Gaussian noise: the noise does
not depend on the rows, so the exact error of every range is known beforehand. Which levels are measured is
decided by that error, too: every fourth or fifth halving under Laplace noise, nearly all of them under
Gaussian noise, where a level's precision falls with its share and not with the square of it.

Guarantee:   the share: epsilon-DP (discrete Laplace), (epsilon, delta)-DP (rounded Gaussian), or
             rho-zCDP (discrete Gaussian).
Adjacency:   the schema's.
Sensitivity: a unit's rows lie in one block each of every level: `BlockCounts.sensitivity`.
Theorem:     the mechanism's, and composition over the levels.
Error:       generalised least squares; variances in closed form (`shares`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import ClassVar, cast

from discreet.artifacts.measurement import Measurement
from discreet.artifacts.release import ErrorClaim, Part
from discreet.engines.protocol import LARGEST_MARGINAL
from discreet.families.ranges.answer.ranges import RangeSource
from discreet.families.ranges.estimate.tree_layers import PrunedTree, full_layers
from discreet.families.ranges.estimate.tree_shrinkage import smoothed
from discreet.families.ranges.queries.ranges import Ranges, measured_tree, range_tree
from discreet.families.ranges.release.claims import tree_claims, whole_levels_bound
from discreet.families.ranges.release.error import INVENTED_NOTE, class_error
from discreet.families.ranges.release.foreseen import InventedTable
from discreet.families.ranges.release.shares import best_shares, level_variance
from discreet.families.shared.release.measured import MeasuredByRequests
from discreet.families.shared.release.protocol import ClassError, Verbs, of_type
from discreet.families.shared.release.splitting import shares
from discreet.privacy.budget import Budget
from discreet.privacy.cost import Accounting
from discreet.queries.blocks import BlockCounts
from discreet.queries.classes import QueryClass
from discreet.queries.tree import Tree
from discreet.schema import Schema

MOST_INVENTED = 1 << 16
"""Cells up to which a plan releases an invented table."""
MOST_HALVED = 1 << 20
"""Cells of a domain of which all halvings may be measured: twice as many numbers as cells."""


@dataclass(frozen=True, slots=True)
class FullTree:
    """Every node of every measured level."""

    name: ClassVar[str] = "tree"
    kind: ClassVar[str] = "ranges"

    def refusal(self, query_class: QueryClass, schema: Schema) -> str | None:
        cells = math.prod(
            schema.column(name).cells for name in of_type(query_class, Ranges).columns
        )
        if cells > LARGEST_MARGINAL:
            return (
                f"a full tree over {cells:,} cells is more than the {LARGEST_MARGINAL:,} that are counted "
                "one by one; use the adaptive tree."
            )
        return None

    def prepare(
        self, query_class: QueryClass, schema: Schema, *, share: Budget, accounting: Accounting
    ) -> PreparedFullTree:
        asked = of_type(query_class, Ranges)
        columns = asked.named(schema)
        power = 2 if accounting is Accounting.BASIC else 1
        chosen = best_levels(columns, schema, power)
        by_depth = {
            depth: weight
            for depth, weight in zip(chosen.depths, best_shares(chosen, power).shares, strict=True)
            if weight
        }
        tree = measured_tree(columns, schema, by_depth)
        weights = [by_depth.get(depth, Fraction(0)) for depth in tree.depths]
        cells = tuple(schema.column(name).value_cells for name in columns)
        levels = [level for level, weight in enumerate(weights) if weight]
        queries = [BlockCounts(columns, tree.shifts(level), cells) for level in levels]
        shared = zip(queries, shares(share, [weights[level] for level in levels]), strict=True)
        own = {"tree": tree, "levels": tuple(levels)}
        return PreparedFullTree.noisy(
            self, asked, schema, shared, share=share, accounting=accounting, **own
        )


def best_levels(columns: Sequence[str], schema: Schema, power: int) -> Tree:
    """The usual levels, or all halvings where random ranges expect less of these."""
    usual = range_tree(columns, schema)
    if math.prod(schema.column(name).value_cells for name in columns) > MOST_HALVED:
        return usual
    halved = range_tree(columns, schema, every=True)
    return min((usual, halved), key=lambda tree: best_shares(tree, power).mean_variance)


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedFullTree(MeasuredByRequests):
    """The levels with their noise."""

    tree: Tree
    levels: tuple[int, ...]

    def error(self, *, rows: int | None, confidence: float) -> ClassError:
        variances = dict(zip(self.levels, (law.variance for law in self.laws), strict=True))
        mean, worst = level_variance(self.tree, variances)
        depths = [self.tree.depths[level] for level in self.levels]
        foreseen = None
        if rows is not None and math.prod(self.cells) <= MOST_INVENTED:
            foreseen = _foreseen(self, rows, confidence)
        return class_error(
            self.query_class,
            self.schema,
            mean=mean,
            worst=worst,
            rows=rows,
            confidence=confidence,
            together=whole_levels_bound(
                self.cells, list(zip(depths, self.laws, strict=True)), 1 - confidence
            )
            if foreseen is None
            else foreseen,
            note="" if foreseen is None else INVENTED_NOTE,
        )

    @property
    def cells(self) -> list[int]:
        return [self.schema.column(name).value_cells for name in self.tree.columns]

    def finish(
        self,
        grant: Verbs,
        measured: Sequence[Measurement],
        *,
        public_rows: int | None,
        confidence: float,
    ) -> tuple[Part, tuple[ErrorClaim, ...]]:
        counts = {
            level: (each.values, each.law.variance)
            for level, each in zip(self.levels, measured, strict=True)
        }
        layers = full_layers(self.tree, counts, self.schema)
        tree = PrunedTree(layers, columns=self.tree.columns, schema=self.schema)
        part = self.part(
            measured,
            estimates={"leaves": tree.leaves(smoothed(tree))},
            facts={"estimates": "leaves are smoothed non-negative counts of the cells"},
        )
        return part, tree_claims(RangeSource(part, self.schema), confidence)


@lru_cache(maxsize=64)
def _foreseen(prepared: PreparedFullTree, rows: int, confidence: float) -> float | None:
    """What the release of an invented table claims, for one of its ranges; None if it claims nothing."""
    table, schema = InventedTable(prepared.schema, rows), prepared.schema
    measured = []
    for request, law in zip(prepared.requests, prepared.laws, strict=True):
        query = request.query
        assert isinstance(query, BlockCounts)
        moved, cost = query.sensitivity(schema), request.mechanism.cost()
        measured.append(Measurement(query, law, moved, cost, table.level(query, law)))
    grant = cast(Verbs, table)
    _, claims = prepared.finish(grant, measured, public_rows=None, confidence=confidence)
    assert isinstance(prepared.query_class, Ranges)
    return claims[0].bound / prepared.query_class.pieces if claims else None
