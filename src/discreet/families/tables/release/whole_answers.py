"""Releases whose answers are read from a whole table, which lies near the measured cells and not on them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from math import prod
from typing import Any

from discreet.artifacts.release import ErrorClaim
from discreet.families.tables.answer.evidence import ANSWERS, FROM_WHOLE_TABLE, has_two_values
from discreet.families.tables.answer.usefulness import MOVED
from discreet.families.tables.estimate.whole_tables import can_be_whole
from discreet.schema import Schema

FEW_COMBINATIONS = 1 << 16
"""Of cells, up to which the tables of any algorithm over boolean columns are read from a whole table: it is found in about a second."""
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


def whole_facts(sets: Sequence[tuple[str, ...]], schema: Schema) -> dict[str, Any]:
    """What a part says of itself where its answers are whole counts."""
    return {
        "columns": list(columns_of(sets, schema)),
        "table": TABLE,
        ANSWERS: FROM_WHOLE_TABLE,
    }


def claims_of_a_moved_table(claims: tuple[ErrorClaim, ...], moved: float) -> tuple[ErrorClaim, ...]:
    """Claims about measured cells, made for answers that lie up to `moved` from them.

    |answer - truth| <= |answer - measured| + |measured - truth|, whatever the noise: the second is claimed already.
    """
    return tuple(
        replace(
            each,
            bound=float(math.ceil(each.bound + moved - 1e-9)),
            theorem=each.theorem + MOVED,
        )
        for each in claims
    )
