"""The family of measures by group: means, sums, ranges and quantiles in every group of rows."""

from __future__ import annotations

from collections.abc import Iterator

from discreet.families.groups.queries.group_ranges import GroupBuckets, GroupStrategy
from discreet.families.groups.queries.group_sums import GroupCounts, GroupEnds, GroupSums
from discreet.queries.registry import Family
from discreet.questions.spelling import quoted
from discreet.schema import Schema

_RELEASE = "discreet.families.groups.release"
_ANSWER = "discreet.families.groups.answer"
_QUERIES = "discreet.families.groups.queries"
_NUMBERS = ("means-by-group", "sums-by-group")
_RANGES = ("intervals-by-group", "quantiles-by-group")
_OF_RANGES = (
    f"{_RELEASE}.ranges:BestGroupRanges",
    f"{_RELEASE}.ranges:GroupTrees",
    f"{_RELEASE}.ranges:GroupStrategies",
)


def _examples(schema: Schema) -> Iterator[str]:
    """For each kind of class: one column by one, one by two, and two by one, where the schema has enough."""
    for word in ("means", "sums", "intervals", "quantiles"):
        is_range = word in ("intervals", "quantiles")
        fitting = [
            quoted(column.name)
            for column in schema.columns
            if (column.is_ordered if is_range else column.value_bounds is not None)
        ]
        for first in fitting[:1]:
            others = [quoted(name) for name in schema.names if quoted(name) != first]
            yield from (f"{word}({first} by {other})" for other in others[:1])
            if len(others) > 1:
                yield f"{word}({first} by {others[0]}, {others[1]})"
        if len(fitting) > 1:
            left = [quoted(n) for n in schema.names if quoted(n) not in (fitting[0], fitting[-1])]
            yield from (f"{word}({fitting[0]}, {fitting[-1]} by {other})" for other in left[:1])


FAMILY = Family(
    name="groups",
    queries=(GroupEnds, GroupSums, GroupCounts, GroupBuckets, GroupStrategy),
    algorithms={
        "means-by-group": (
            f"{_RELEASE}.numbers:BestGroupNumbers",
            f"{_RELEASE}.numbers:GroupEndSums",
            f"{_RELEASE}.numbers:GroupSplit",
        ),
        "sums-by-group": (
            f"{_RELEASE}.numbers:BestGroupNumbers",
            f"{_RELEASE}.numbers:GroupEndSums",
            f"{_RELEASE}.numbers:GroupPlainSums",
        ),
        **dict.fromkeys(_RANGES, _OF_RANGES),
    },
    sources={
        "group-numbers": f"{_ANSWER}.number_source:group_numbers_of",
        "group-ranges": f"{_ANSWER}.range_source:group_ranges_of",
    },
    usefulness=dict.fromkeys(_NUMBERS, f"{_ANSWER}.bounds:numbers_bound")
    | dict.fromkeys(_RANGES, f"{_ANSWER}.bounds:ranges_bound"),
    counts=frozenset(_RANGES),
    questions=dict.fromkeys(_NUMBERS, f"{_QUERIES}.classes:number_questions")
    | dict.fromkeys(_RANGES, f"{_QUERIES}.classes:range_questions"),
    examples=_examples,
)
