"""The family of single numbers: means and sums of a column."""

from __future__ import annotations

from collections.abc import Iterator

from discreet.families.groups.queries.classes import GroupedMeans, GroupedSums, grouped
from discreet.families.numbers.queries.one_number import Means, Sums
from discreet.queries.class_arguments import one_column
from discreet.queries.registry import ClassReader, Family
from discreet.questions.spelling import quoted
from discreet.schema import Schema

_RELEASE = "discreet.families.numbers.release"


def _examples(schema: Schema) -> Iterator[str]:
    names = [quoted(name) for name in schema.names]
    yield from (f"means({name})" for name in names)
    yield from (f"sums({name})" for name in names)


FAMILY = Family(
    name="numbers",
    readers={
        "means": ClassReader(one_column("means", Means), by_group=grouped(GroupedMeans)),
        "sums": ClassReader(one_column("sums", Sums), by_group=grouped(GroupedSums)),
    },
    algorithms={
        "means": (f"{_RELEASE}:MeanOfAllRows", f"{_RELEASE}:MeanOfValues"),
        "sums": (f"{_RELEASE}:ClampedSums",),
    },
    sources=dict.fromkeys(("means", "sums"), "discreet.families.shared.answer.evidence:numbers_of"),
    measured={
        "clamped-sum": "discreet.families.numbers.answer:sum_of",
        "present-count": "discreet.families.numbers.answer:count_of",
    },
    usefulness=dict.fromkeys(
        ("means", "sums"), "discreet.families.numbers.answer:one_number_bound"
    ),
    questions=dict.fromkeys(
        ("means", "sums"), "discreet.families.numbers.queries.one_number:questions"
    ),
    shown_as={"means": "avg", "sums": "sum"},
    examples=_examples,
)
