"""What is left of a budget, and what is promised, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.errors import DiscreetError
from discreet.privacy.adjacency import Adjacency
from discreet.privacy.budget import Budget
from discreet.questions.spelling import readable_name
from discreet.schema import Schema

if TYPE_CHECKING:
    from discreet.curator import Curator

MARGIN = 50
"""Counts at this margin are what a rest is measured in."""


def cost_of_a_count(curator: Curator) -> Budget | None:
    """What a count at ±`MARGIN` costs; None where no such count can be asked."""
    try:
        return curator.cost(
            f"SELECT count(*) FROM {readable_name(curator.schema.dataset)}", accuracy=MARGIN
        )
    except DiscreetError:
        return None


def left_in_words(count: Budget | None, left: Budget, whose: str) -> str:
    """Such as "About 37 more counts at ±50, for all analysts together.", where one costs `count`."""
    if count is None or left.notion is not count.notion:
        return f"{left} is left, {whose}."
    many = left.amount // count.amount
    if many == 0:
        return f"Less than one count at ±{MARGIN} ({left}) is left, {whose}."
    return f"About {many:,} more {'count' if many == 1 else 'counts'} at ±{MARGIN}, {whose}."


def promise_in_words(schema: Schema, cap: Budget) -> str:
    """Whom a dataset's cap protects, and how far."""
    unit = schema.unit
    whom = "each row" if unit.identifier is None else f"all rows of each '{unit.identifier}'"
    what = (
        "whether they are in the table at all"
        if schema.adjacency is Adjacency.ADD_REMOVE
        else "which values they have"
    )
    if unit.identifier is None:
        what = what.replace("they are", "it is").replace("they have", "it has")
    return f"Answers protect {whom} of the table: they hide {what}. All answers about it together cost at most {cap}. Each number has noise added, and an interval that says how much."
