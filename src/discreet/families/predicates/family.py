"""The family of predicates: conditions that are declared one by one."""

from __future__ import annotations

from discreet.families.predicates.queries.predicates import parse_predicates
from discreet.families.predicates.queries.strategy import InequalityCounts, StrategyCounts
from discreet.queries.registry import ClassReader, Family

_RELEASE = "discreet.families.predicates.release"

FAMILY = Family(
    name="predicates",
    readers={"predicates": ClassReader(parse_predicates)},
    queries=(StrategyCounts, InequalityCounts),
    algorithms={
        "predicates": (
            f"{_RELEASE}.strategy:BestPredicates",
            f"{_RELEASE}.strategy:IndependentPredicates",
            f"{_RELEASE}.mwem:MwemPredicates",
        ),
    },
)
