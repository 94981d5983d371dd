"""The family of halfspaces: linear inequalities over numeric columns."""

from __future__ import annotations

from discreet.families.halfspaces.queries.grid_counts import GridCounts
from discreet.families.halfspaces.queries.halfspaces import parse_halfspaces
from discreet.queries.registry import ClassReader, Family

_RELEASE = "discreet.families.halfspaces.release"

FAMILY = Family(
    name="halfspaces",
    readers={"halfspaces": ClassReader(parse_halfspaces)},
    queries=(GridCounts,),
    algorithms={
        "halfspaces": (
            f"{_RELEASE}.choice:BestHalfspaces",
            f"{_RELEASE}.tree:HalfspaceTree",
            f"{_RELEASE}.cells:HalfspaceCells",
        ),
    },
)
