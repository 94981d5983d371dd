"""Ranges and quantiles of ordered columns in every group: the same tree, or strategy, in each of them.

Groups are disjoint, so every group has the whole share for its own ranges, and the best strategy for
all ranges of all groups is the best one of a single column, once in each group. Of a column with few
cells it is an optimised strategy, else a tree of whole levels. Which one is decided by the expected
error, from public facts. A column with more cells than fit beside its groups is cut into buckets.

Guarantee:   the share, by additive mechanisms on integers, composed over levels and columns.
Adjacency:   the schema's.
Sensitivity: `GroupBuckets`, `GroupStrategy`: a row is in one cell of one group.
Theorem:     the mechanisms', and composition; the matrix mechanism (Li, Miklau, Hay, McGregor,
             Rastogi 2015), for the strategy.
Error:       each range is a known combination of independent draws.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from discreet.artifacts.measurement import Measurement
from discreet.artifacts.release import ErrorClaim, Part
from discreet.errors import BadInput
from discreet.families.groups.answer.bounds import group_range_claims, noise_bound
from discreet.families.groups.queries.classes import GroupedIntervals
from discreet.families.groups.queries.group_ranges import GroupBuckets, GroupStrategy
from discreet.families.ranges.estimate.cell_strategies import (
    MOST_CELLS_L1,
    MOST_CELLS_L2,
    interval_strategy,
    interval_variances,
)
from discreet.families.ranges.queries.ranges import Intervals, measured_cuts
from discreet.families.ranges.release.error import class_error
from discreet.families.ranges.release.shares import best_shares, level_variance
from discreet.families.shared.release.measured import MeasuredByRequests, noise_entry
from discreet.families.shared.release.protocol import ClassError, Prepared, Verbs, of_type
from discreet.families.shared.release.splitting import shares
from discreet.privacy.budget import Budget
from discreet.privacy.cost import Accounting
from discreet.privacy.laws import NoiseLaw
from discreet.queries.classes import QueryClass
from discreet.queries.measurable import Query
from discreet.queries.tree import Tree, bits_of
from discreet.schema import Schema

KIND = "group-ranges"
MOST_NUMBERS = 1 << 21
"""Buckets of one level, over all groups: what a live question about quantiles has, too."""

TOO_MANY = "there are too many cells for a bound of all ranges at once"


@dataclass(frozen=True, slots=True)
class GroupTrees:
    """A tree of whole levels in every group."""

    name: ClassVar[str] = "group-trees"
    kind: ClassVar[str] = KIND

    def refusal(self, query_class: QueryClass, schema: Schema) -> str | None:
        if bits_kept(_checked(query_class), schema) < 0:
            return (
                f"{query_class.text} has more than {MOST_NUMBERS:,} groups; group by fewer columns."
            )
        return None

    def prepare(
        self, query_class: QueryClass, schema: Schema, *, share: Budget, accounting: Accounting
    ) -> PreparedGroupRanges:
        made, groups = _checked(query_class), _checked(query_class).groups(schema)
        power = 2 if accounting is Accounting.BASIC else 1
        asked: list[tuple[Query, Budget]] = []
        for column, part in _columns(made, schema, share):
            tree = group_tree(column, made, schema, power)
            weights = best_shares(tree, power).shares
            levels = [level for level, weight in enumerate(weights) if weight]
            bits = bits_of(schema.column(column).value_cells)
            for level, own in zip(levels, shares(part, [weights[x] for x in levels]), strict=True):
                asked.append((GroupBuckets(column, groups, bits - tree.depths[level][0]), own))
        return PreparedGroupRanges.noisy(
            self, made, schema, asked, share=share, accounting=accounting
        )


@dataclass(frozen=True, slots=True)
class GroupStrategies:
    """The strategy of least expected error over the cells, in every group."""

    name: ClassVar[str] = "group-strategy"
    kind: ClassVar[str] = KIND

    def refusal(self, query_class: QueryClass, schema: Schema) -> str | None:
        made = _checked(query_class)
        for name in made.measured(schema):
            cells = schema.column(name).value_cells
            if not 2 <= cells <= MOST_CELLS_L2:
                return (
                    f"column {name!r} has {cells:,} cells, and a strategy is looked for over 2 to "
                    f"{MOST_CELLS_L2} of them; use a tree."
                )
            if cells * made.cells(schema) > MOST_NUMBERS:
                return f"{query_class.text} has more than {MOST_NUMBERS:,} numbers; group by fewer columns."
        return None

    def prepare(
        self, query_class: QueryClass, schema: Schema, *, share: Budget, accounting: Accounting
    ) -> PreparedGroupRanges:
        made = _checked(query_class)
        is_gaussian = accounting is not Accounting.BASIC or share.delta > 0
        asked: list[tuple[Query, Budget]] = []
        for column, part in _columns(made, schema, share):
            cells = schema.column(column).value_cells
            if not is_gaussian and cells > MOST_CELLS_L1:
                raise BadInput(
                    f"{made.text}: column {column!r} has {cells:,} cells, and for Laplace noise a strategy is "
                    f"looked for over at most {MOST_CELLS_L1}. Use a tree, or a budget with a delta. "
                    "Nothing was read or charged."
                )
            matrix = interval_strategy(cells, squared=is_gaussian)
            rows = tuple(tuple(map(int, row)) for row in matrix)
            asked.append((GroupStrategy(column, made.groups(schema), rows), part))
        return PreparedGroupRanges.noisy(
            self, made, schema, asked, share=share, accounting=accounting
        )


@dataclass(frozen=True, slots=True)
class BestGroupRanges:
    """The trees, unless strategies expect less."""

    name: ClassVar[str] = "best-group-ranges"
    kind: ClassVar[str] = KIND
    chooses: ClassVar[bool] = True

    def refusal(self, query_class: QueryClass, schema: Schema) -> str | None:
        return GroupTrees().refusal(query_class, schema)

    def prepare(
        self, query_class: QueryClass, schema: Schema, *, share: Budget, accounting: Accounting
    ) -> Prepared:
        options: list[PreparedGroupRanges] = []
        for way in (GroupTrees(), GroupStrategies()):
            if way.refusal(query_class, schema) is not None:
                continue
            try:
                options.append(way.prepare(query_class, schema, share=share, accounting=accounting))
            except BadInput:
                if not options:
                    raise
        return min(options, key=lambda each: sum(mean for _, mean, _ in each.variances()))


def _checked(query_class: QueryClass) -> GroupedIntervals:
    return of_type(query_class, GroupedIntervals)


def _columns(
    query_class: GroupedIntervals, schema: Schema, share: Budget
) -> Iterator[tuple[str, Budget]]:
    """Each measured column with its part of the share."""
    columns = query_class.measured(schema)
    return zip(columns, shares(share, [1] * len(columns)), strict=True)


def bits_kept(query_class: GroupedIntervals, schema: Schema) -> int:
    """How many halvings of a column fit beside its groups; below 0 where not even the groups fit."""
    return (MOST_NUMBERS // query_class.cells(schema)).bit_length() - 1


def group_tree(column: str, query_class: GroupedIntervals, schema: Schema, power: int) -> Tree:
    """The levels over one column, down to its cells or to as many buckets as fit."""
    bits = min(bits_of(schema.column(column).value_cells), bits_kept(query_class, schema))
    options = [
        Tree((column,), tuple((cut,) for cut in cuts))
        for cuts in (measured_cuts(bits), tuple(range(bits + 1)))
    ]
    return min(options, key=lambda tree: best_shares(tree, power).mean_variance)


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedGroupRanges(MeasuredByRequests):
    """Levels or strategies of all measured columns, with their noise."""

    def noise(self) -> list[dict[str, Any]]:
        found = []
        for request, law in zip(self.requests, self.laws, strict=True):
            query = request.query
            shown = None
            if isinstance(query, GroupStrategy):
                shown = {"kind": query.kind, "column": query.column, "groups": list(query.groups)}
            found.append(noise_entry(query, law, self.schema, shown=shown))
        return found

    def _measured(self, column: str) -> list[tuple[GroupBuckets | GroupStrategy, NoiseLaw]]:
        """What is measured of one column, with its noise."""
        found = []
        for request, law in zip(self.requests, self.laws, strict=True):
            query = request.query
            assert isinstance(query, GroupBuckets | GroupStrategy)
            if query.column == column:
                found.append((query, law))
        return found

    def variances(self) -> list[tuple[str, float, float]]:
        """Each column with the mean and the largest variance of a range in one group."""
        found: list[tuple[str, float, float]] = []
        for column in self.query_class.measured(self.schema):
            own = self._measured(column)
            first, law = own[0]
            if isinstance(first, GroupStrategy):
                mean, worst = interval_variances(first.array)
                found.append((column, mean * law.variance, worst * law.variance))
                continue
            bits = bits_of(self.schema.column(column).value_cells)
            levels = {
                bits - query.shift: each.variance
                for query, each in own
                if isinstance(query, GroupBuckets)
            }
            depths = sorted({0, *levels})
            tree = Tree((column,), tuple((depth,) for depth in depths))
            known = {depths.index(depth): variance for depth, variance in levels.items()}
            found.append((column, *level_variance(tree, known)))
        return found

    def error(self, *, rows: int | None, confidence: float) -> ClassError:
        """The expected error of a range of one group. A quantile's error is that of its rank."""
        groups = self.query_class.cells(self.schema)
        columns = self.query_class.measured(self.schema)
        found: list[ClassError] = []
        for column, mean, worst in self.variances():
            together = noise_bound(
                self._measured(column),
                self.schema,
                groups=groups,
                delta=(1 - confidence) / len(columns),
            )
            made = class_error(
                Intervals(column),
                self.schema,
                mean=mean,
                worst=worst,
                rows=rows,
                confidence=confidence,
                together=together,
            )
            found.append(made)
        widest = max(found, key=lambda each: each.half_width or 0.0)
        known = [each.simultaneous for each in found if each.simultaneous is not None]
        return replace(
            widest,
            expected=sum(each.expected or 0.0 for each in found) / len(found),
            queries=groups * sum(each.queries for each in found),
            simultaneous=max(known) if len(known) == len(found) else None,
            note="" if len(known) == len(found) else TOO_MANY,
        )

    def finish(
        self,
        grant: Verbs,
        measured: Sequence[Measurement],
        *,
        public_rows: int | None,
        confidence: float,
    ) -> tuple[Part, tuple[ErrorClaim, ...]]:
        groups = list(self.query_class.groups(self.schema))
        part = self.part(measured, estimates={}, facts={"groups": groups})
        return part, group_range_claims(part, self.schema, confidence)
