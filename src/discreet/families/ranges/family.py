"""The family of ranges: intervals, rectangles, and unions of them."""

from __future__ import annotations

from discreet.families.ranges.queries.cell_strategy import CellStrategy
from discreet.families.ranges.queries.ranges import Intervals, Rectangles, parse_unions
from discreet.queries.class_arguments import one_column
from discreet.queries.registry import ClassReader, Family

_RELEASE = "discreet.families.ranges.release"
_TREES = (
    f"{_RELEASE}.choice:BestTree",
    f"{_RELEASE}.adaptive:AdaptiveTree",
    f"{_RELEASE}.tree:FullTree",
)
_STRATEGY = f"{_RELEASE}.strategy:RangeStrategy"
_TWO_STAGE = f"{_RELEASE}.two_stage:TwoStageTree"

FAMILY = Family(
    name="ranges",
    readers={
        "intervals": ClassReader(one_column("intervals", Intervals)),
        "rectangles": ClassReader(lambda columns: Rectangles(*columns)),
        "unions": ClassReader(parse_unions),
    },
    queries=(CellStrategy,),
    algorithms={
        "intervals": (*_TREES, _STRATEGY, _TWO_STAGE),
        "rectangles": (*_TREES, _TWO_STAGE),
        "unions": (*_TREES, _STRATEGY, _TWO_STAGE),
    },
)
