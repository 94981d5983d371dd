"""The family of halfspaces: linear inequalities over numeric columns."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

from discreet.families.halfspaces.queries.halfspaces import parse_halfspaces
from discreet.queries.blocks import GridCounts
from discreet.queries.registry import ClassReader, Family
from discreet.questions.spelling import quoted
from discreet.schema import Schema

_RELEASE = "discreet.families.halfspaces.release"


def _examples(schema: Schema) -> Iterator[str]:
    names = [quoted(name) for name in schema.names]
    yield from (f"halfspaces({name})" for name in names)
    yield from (f"halfspaces({one}, {two})" for one, two in combinations(names, 2))


FAMILY = Family(
    name="halfspaces",
    readers={"halfspaces": ClassReader(parse_halfspaces)},
    queries=(GridCounts,),
    algorithms={
        "halfspaces": (
            f"{_RELEASE}.tree:best_halfspaces",
            f"{_RELEASE}.tree:HalfspaceTree",
            f"{_RELEASE}.cells:HalfspaceCells",
        ),
    },
    sources={
        "halfspaces": "discreet.families.shared.answer.evidence:numbers_of",
        "halfspace-tree": "discreet.families.ranges.answer.ranges:tree_of",
    },
    measured={"grid-counts": "discreet.families.halfspaces.answer.halfspaces:grid_of"},
    usefulness={"halfspaces": "discreet.families.halfspaces.answer.usefulness:halfspaces_bound"},
    margins=frozenset({"halfspaces"}),
    pooled=("discreet.families.halfspaces.answer.halfspaces:HalfspaceSource",),
    figures=("discreet.families.halfspaces.figures:plane_figures",),
    shown_as={"halfspaces": "condition"},
    examples=_examples,
)
