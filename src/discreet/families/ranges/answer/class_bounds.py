"""Bounds for whole classes of ranges: of a tree, of cells, or of the buckets of a noisy search."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction

from discreet.answering.asking import Asking
from discreet.artifacts.release import Part, Release
from discreet.errors import NotAnswerable
from discreet.families.ranges.answer.box_usefulness import THEOREM as BOX_THEOREM
from discreet.families.ranges.answer.box_usefulness import box_bound
from discreet.families.ranges.answer.cell_ranges import CellRangeSource
from discreet.families.ranges.answer.joining import moved_ranges, ranges_of
from discreet.families.ranges.answer.ranges import RangeSource
from discreet.families.ranges.answer.usefulness import THEOREM as RANGE_THEOREM
from discreet.families.ranges.answer.usefulness import interval_bound
from discreet.families.ranges.estimate.all_ranges import ROUNDING, all_ranges_bound, level_leaves
from discreet.families.ranges.estimate.all_ranges import THEOREM as CELL_THEOREM
from discreet.families.ranges.queries.ranges import Ranges
from discreet.families.shared.answer.library import Library
from discreet.families.tables.answer.together.library import TableLibrary
from discreet.privacy.laws import NoiseLaw
from discreet.queries.blocks import BlockCounts

MOVED = "; and how far the counts that agree with the release's tables lie from the tree's own"


def ranges_bound(
    library: Library, asking: Asking, query_class: Ranges, delta: Fraction
) -> tuple[float, str]:
    """The bound of a class of ranges, from the tree or the buckets that were released for it."""
    columns = query_class.named(library.schema)
    found = [source for source in ranges_of(library) if set(source.columns) == set(columns)]
    if not found:
        raise NotAnswerable(
            library.made(TableLibrary).refusal(columns, also=f" or {query_class.text}")
        )
    if isinstance(found[0], RangeSource):
        bound, theorem = tree_bound(found[0], query_class.pieces, float(delta))
        moved = 0.0 if query_class.name == "quantiles" else moved_ranges(library, found[0])
        if not moved:
            return bound, theorem
        return bound + query_class.pieces * moved, theorem + MOVED
    bound = found[0].error_at(float(1 - delta))
    if bound == math.inf:
        raise NotAnswerable(
            f"The theorem of {query_class.text} does not reach this confidence: ask with a larger delta."
        )
    return query_class.pieces * bound, str(found[0].part.facts.get("theorem", ""))


def moved_counts(part: Part, _release: Release, together: Library) -> float:
    """How far the counts of a part's ranges lie from those of its own tree, at most."""
    trees = [
        each for each in ranges_of(together) if isinstance(each, RangeSource) and each.part is part
    ]
    assert isinstance(part.query_class, Ranges)
    return part.query_class.pieces * moved_ranges(together, trees[0]) if trees else 0.0


def tree_bound(source: RangeSource, pieces: int, delta: float) -> tuple[float, str]:
    """The simultaneous bound of a released tree for unions of `pieces` ranges, and why it holds."""
    if isinstance(source, CellRangeSource):
        return pieces * source.bound(delta), CELL_THEOREM
    if len(source.columns) == 1 and (whole := _of_whole_levels(source, delta)) is not None:
        return pieces * whole, CELL_THEOREM
    if len(source.columns) == 1:
        return pieces * interval_bound(source, delta), RANGE_THEOREM
    return pieces * box_bound(source, delta), BOX_THEOREM


def _of_whole_levels(source: RangeSource, delta: float) -> float | None:
    """The bound of a short column's tree of whole levels; None for any other tree."""
    levels = {
        each.query.shifts[0]: each.law
        for each in source.part.noisy
        if isinstance(each.query, BlockCounts)
    }
    cells = source.schema.column(source.columns[0]).value_cells
    if source.part.trees or not levels:
        return None
    noise = levels_noise_bound(cells, levels, delta)
    moved = source.intervals.prefix - source.intervals.fitted_prefix
    return None if noise is None else noise + float(moved.max() - moved.min())


def levels_noise_bound(cells: int, laws: Mapping[int, NoiseLaw], delta: float) -> float | None:
    """A bound on the errors of all least squares counts from whole levels of 2^shift cells a node, for plans and releases.

    None where the column has too many cells.
    """
    found = level_leaves(cells, [(shift, laws[shift]) for shift in sorted(laws, reverse=True)])
    return None if found is None else all_ranges_bound(found, delta) + ROUNDING
