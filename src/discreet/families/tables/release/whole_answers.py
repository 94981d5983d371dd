"""Releases whose answers add up: counts that lie near the measured cells and not on them, and claims about these."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from math import prod
from typing import Any

from discreet.answering.usefulness import MOVED
from discreet.arrays import Floats
from discreet.artifacts.release import ANSWERS, AS_MEASURED, ErrorClaim
from discreet.families.tables.answer.evidence import (
    AGREEING,
    FROM_WHOLE_TABLE,
    has_two_values,
    kept_empty,
)
from discreet.families.tables.answer.linear_tables import Agreed
from discreet.families.tables.answer.together.agreement import can_be_agreed
from discreet.families.tables.answer.usefulness import farthest_from_whole
from discreet.families.tables.estimate.whole_tables import can_be_whole
from discreet.schema import Schema

Columns = tuple[str, ...]

FEW_COMBINATIONS = 1 << 16
"""Up to so many combinations of cells, tables over boolean columns are read from a whole table, whatever the algorithm: finding it takes about a second."""
MOST_CROSSWISE = 8000
"""Measured numbers up to which a whole table is found where nothing else would give whole counts that agree: it takes half a minute."""
TABLE = (
    "whole counts near all tables; cells in the order of the columns, the last one fastest (of columns of two cells, the "
    "first), or those that are not empty, each with its count"
)


def columns_of(sets: Sequence[tuple[str, ...]], schema: Schema) -> tuple[str, ...]:
    """All columns of some tables, in the schema's order."""
    return tuple(name for name in schema.names if any(name in columns for columns in sets))


def are_boolean(sets: Sequence[tuple[str, ...]], schema: Schema) -> bool:
    """Whether the tables are of several columns, each of two values."""
    names = columns_of(sets, schema)
    return len(names) > 1 and has_two_values(names, schema)


def are_few_booleans(sets: Sequence[tuple[str, ...]], schema: Schema) -> bool:
    """Whether besides there are so few combinations that a whole table is always found."""
    few = prod(schema.sizes(columns_of(sets, schema))) <= FEW_COMBINATIONS
    return few and are_boolean(sets, schema) and can_be_whole(sets, schema)


def should_be_whole(sets: Sequence[tuple[str, ...]], schema: Schema) -> bool:
    """Whether a whole table is found: for columns of two values, and where tables share columns crosswise."""
    if can_be_agreed(sets, schema):
        return are_boolean(sets, schema) and can_be_whole(sets, schema)
    return can_be_whole(sets, schema, MOST_CROSSWISE)


def is_quick(sets: Sequence[tuple[str, ...]], schema: Schema) -> bool:
    """Whether counts that agree are found at once, without a whole table."""
    return not are_boolean(sets, schema) and can_be_agreed(sets, schema)


def whole_facts(sets: Sequence[tuple[str, ...]], schema: Schema) -> dict[str, Any]:
    """What a part says of itself where its answers are whole counts."""
    return {
        "columns": list(columns_of(sets, schema)),
        "table": TABLE,
        ANSWERS: kept_empty(FROM_WHOLE_TABLE, schema),
    }


def agreeing_facts(sets: Sequence[tuple[str, ...]], schema: Schema) -> dict[str, Any]:
    """What a part says of itself where its answers add up without a whole table."""
    agree = can_be_agreed(sets, schema)
    return {ANSWERS: kept_empty(AGREEING, schema) if agree else AS_MEASURED}


def claims_of_agreed_counts(
    claims: tuple[ErrorClaim, ...], tables: Iterable[tuple[Floats, Agreed | None]]
) -> tuple[ErrorClaim, ...]:
    """Claims about measured cells, made for the answers, which are given beside them.

    A true cell is no farther from the measured one than is claimed, and not below 0: so it lies in what is left of that interval.
    """
    bounds = [0.0] * len(claims)
    for measured, agreed in tables:
        if agreed is None or agreed.as_measured:
            bounds = [max(bound, each.bound) for bound, each in zip(bounds, claims, strict=True)]
            continue
        for place, each in enumerate(claims):
            reached = farthest_from_whole(measured, each.bound, agreed)
            bounds[place] = max(bounds[place], reached)
    return tuple(
        replace(each, bound=float(math.ceil(bound - 1e-9)), theorem=each.theorem + MOVED)
        if bound != each.bound
        else each
        for each, bound in zip(claims, bounds, strict=True)
    )


def claims_of_whole_counts(
    claims: tuple[ErrorClaim, ...],
    whole: Callable[[Columns], Floats],
    measured: Callable[[Columns], Floats],
    sets: Iterable[Columns],
    most: int | None,
) -> tuple[ErrorClaim, ...]:
    """The same where one table, or one set of tables, holds what is answered. No count exceeds `most`, where that is public."""
    return claims_of_agreed_counts(
        claims, ((measured(own), Agreed(whole(own), most)) for own in sets)
    )
