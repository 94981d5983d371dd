"""The family of predicates: conditions that are declared one by one."""

from __future__ import annotations

from collections.abc import Iterator

from discreet.families.predicates.queries.predicates import parse_predicates
from discreet.families.predicates.queries.strategy import InequalityCounts, StrategyCounts
from discreet.queries.registry import ClassReader, Family
from discreet.questions.spelling import conditions, quoted
from discreet.schema import Schema

_RELEASE = "discreet.families.predicates.release"


def _examples(schema: Schema) -> Iterator[str]:
    # several first, between which there is something to select
    for listed in sorted(conditions(schema), key=len, reverse=True):
        yield f"predicates({', '.join(map(quoted, listed))})"


FAMILY = Family(
    name="predicates",
    readers={"predicates": ClassReader(parse_predicates)},
    queries=(StrategyCounts, InequalityCounts),
    algorithms={
        "predicates": (
            f"{_RELEASE}.strategy:StrategyPredicates",
            f"{_RELEASE}.strategy:IndependentPredicates",
            f"{_RELEASE}.mwem:MwemPredicates",
        ),
    },
    sources={"predicates": "discreet.families.predicates.answer.predicates:predicates_of"},
    usefulness={"predicates": "discreet.families.predicates.answer.predicates:predicates_bound"},
    selections={"predicates": "discreet.families.predicates.queries.predicates:selected_among"},
    extremes={"predicates": "discreet.families.predicates.queries.predicates:extreme_rows"},
    shown_as={"predicates": "condition"},
    examples=_examples,
)
