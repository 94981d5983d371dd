"""The reach of COALESCE, NULLIF, GREATEST and LEAST."""

from __future__ import annotations

import math
from itertools import product

from discreet.questions.cells.reach import (
    MOST_OPTIONS,
    NULL,
    Operation,
    Reach,
    joined,
    numbers,
    texts,
)
from discreet.questions.cells.reaching.comparisons import compared
from discreet.questions.cells.reaching.units import fitted
from discreet.questions.expressions import Call


def _all_fitted(node: Call, parts: list[Reach]) -> list[Reach]:
    return [
        fitted(part, argument.type, node.type)
        for argument, part in zip(node.arguments, parts, strict=True)
    ]


def _coalesce(node: Call, parts: list[Reach]) -> Reach:
    found: list[Reach] = []
    for part in _all_fitted(node, parts):
        found.append(part._replace(null=False))
        if not part.null:
            return joined(found)
    return joined(found)._replace(null=True)


def _nullif(node: Call, parts: list[Reach]) -> Reach:
    value, other = parts
    if not value.has_value or not other.has_value:
        return value
    equal = compared(Call("=", node.arguments, "boolean"), parts).options
    if equal == {True} and not other.null:
        return NULL
    return value._replace(null=value.null or True in equal)


def _extreme(node: Call, parts: list[Reach]) -> Reach:
    """GREATEST and LEAST: a part that may be null may be left out."""
    parts = _all_fitted(node, parts)
    pick = max if node.name == "greatest" else min
    null = all(part.null for part in parts)
    valued = [part for part in parts if part.has_value]
    if not valued:
        return NULL
    if any(part.low is None for part in valued):
        if (
            any(part.any_text for part in valued)
            or math.prod(len(part.options) + part.null for part in valued)
            > MOST_OPTIONS * MOST_OPTIONS
        ):
            return Reach(null, any_text=True)
        sides = [[*part.options, *([None] if part.null else [])] for part in valued]
        made = frozenset(
            pick(kept, key=str)
            for each in product(*sides)
            if (kept := [value for value in each if value is not None])
        )
        return texts(made, null=null)
    sure = [part for part in valued if not part.null]
    lows = [part.low for part in valued if part.low is not None]
    highs = [part.high for part in valued if part.high is not None]
    # A part that must be there bounds the result on one side; of those that may be, any may be alone.
    if node.name == "greatest":
        low = max((part.low for part in sure if part.low is not None), default=min(lows))
        return numbers(low, max(highs), null=null)
    high = min((part.high for part in sure if part.high is not None), default=max(highs))
    return numbers(min(lows), high, null=null)


SAYING_WHAT_NULLS_DO: dict[str, Operation] = {
    "coalesce": _coalesce,
    "nullif": _nullif,
    "greatest": _extreme,
    "least": _extreme,
}
