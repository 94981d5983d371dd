"""The mechanisms of the paper and of the textbooks, for the classes of the families: for comparison."""

from __future__ import annotations

from discreet.queries.blocks import CutCounts
from discreet.queries.registry import Family
from discreet.reference.intervals.range_count import RangeCount

_GENERAL = "discreet.reference.general"
_SEARCH = ("discreet.reference.intervals.search:NoisySearch",)

FAMILY = Family(
    name="reference",
    queries=(CutCounts, RangeCount),
    algorithms={
        "marginals": ("discreet.reference.contingency:AllCells",),
        "intervals": (*_SEARCH, f"{_GENERAL}.release:GeneralIntervals"),
        "rectangles": _SEARCH,
        "unions": _SEARCH,
        "predicates": (f"{_GENERAL}.release:GeneralPredicates",),
        "halfspaces": ("discreet.reference.halfspaces.net_release:HalfspaceNet",),
    },
    sources={
        "buckets": "discreet.families.ranges.answer.buckets:buckets_of",
        "halfspace-net": "discreet.families.shared.answer.evidence:numbers_of",
        "sanitised": "discreet.families.predicates.answer.sanitised:sanitised_of",
    },
    selections={
        "buckets": f"{_GENERAL}.scores:among_walks",
        "sanitised": f"{_GENERAL}.scores:among_listed",
    },
)
