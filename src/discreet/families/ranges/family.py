"""The family of ranges: intervals, rectangles, and unions of them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

from discreet.families.groups.queries.classes import (
    GroupedIntervals,
    GroupedQuantiles,
    grouped,
)
from discreet.families.ranges.queries.cell_strategy import CellStrategy
from discreet.families.ranges.queries.ranges import (
    Intervals,
    Quantiles,
    Rectangles,
    parse_unions,
)
from discreet.queries.blocks import BlockCounts
from discreet.queries.class_arguments import one_column
from discreet.queries.registry import ClassReader, Family
from discreet.questions.spelling import quoted
from discreet.schema import Schema

_RELEASE = "discreet.families.ranges.release"
_ANSWER = "discreet.families.ranges.answer"
_COUNTING = ("intervals", "rectangles", "unions")
_CLASSES = ("quantiles", *_COUNTING)
_TREES = (
    f"{_RELEASE}.choice:best_tree",
    f"{_RELEASE}.adaptive:AdaptiveTree",
    f"{_RELEASE}.tree:FullTree",
)
_STRATEGY = f"{_RELEASE}.strategy:RangeStrategy"
_TWO_STAGE = f"{_RELEASE}.two_stage:TwoStageTree"


def _examples(schema: Schema) -> Iterator[str]:
    names = [quoted(name) for name in schema.names]
    pairs = [", ".join(pair) for pair in combinations(names, 2)]
    yield from (f"intervals({name})" for name in names)
    yield from (f"quantiles({name})" for name in names[:2])
    yield from (f"rectangles({pair})" for pair in pairs)
    yield from (f"unions({columns}, 2)" for columns in (*names, *pairs))


FAMILY = Family(
    name="ranges",
    readers={
        "intervals": ClassReader(
            one_column("intervals", Intervals), by_group=grouped(GroupedIntervals)
        ),
        "quantiles": ClassReader(
            one_column("quantiles", Quantiles), by_group=grouped(GroupedQuantiles)
        ),
        "rectangles": ClassReader(lambda columns: Rectangles(*columns)),
        "unions": ClassReader(parse_unions),
    },
    queries=(CellStrategy, BlockCounts),
    algorithms={
        "intervals": (*_TREES, _STRATEGY, _TWO_STAGE),
        "quantiles": (*_TREES, _STRATEGY, _TWO_STAGE),
        "rectangles": (*_TREES, _TWO_STAGE),
        "unions": (*_TREES, _STRATEGY, _TWO_STAGE),
    },
    sources={
        "ranges": f"{_ANSWER}.ranges:tree_of",
        "range-cells": f"{_ANSWER}.cell_ranges:cells_of",
    },
    pooled=(f"{_ANSWER}.tree_source:TreeSource",),
    summed=(f"{_ANSWER}.joining:JoinedRanges",),
    drawn=(f"{_ANSWER}.drawn_rows:rows_of_ranges",),
    usefulness=dict.fromkeys(_CLASSES, f"{_ANSWER}.class_bounds:ranges_bound"),
    moved=dict.fromkeys(_COUNTING, f"{_ANSWER}.class_bounds:moved_counts"),
    counts=frozenset(_CLASSES),
    figures=("discreet.families.ranges.figures:range_figures",),
    questions=dict.fromkeys(_CLASSES, "discreet.families.ranges.queries.ranges:questions"),
    shown_as={"intervals": "range", "quantiles": "median", "rectangles": "range"},
    examples=_examples,
)
