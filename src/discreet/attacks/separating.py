"""Deterministic mechanisms: two tables that differ in one row, and different answers on them, always.

A deterministic mechanism that answers differently on any two tables answers differently on two neighbours: change one
table into the other row by row, and look where the answer changes. Whoever sees the answer then knows which of the two
tables it was, with certainty: no finite epsilon holds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

Row = TypeVar("Row")
Mechanism = Callable[[Sequence[Any]], Any]


def separated_neighbours(
    mechanism: Mechanism, one: Sequence[Row], other: Sequence[Row]
) -> tuple[list[Row], list[Row]] | None:
    """Two neighbours on which the mechanism differs, between two tables of equal length; None if it does not."""
    before = list(one)
    answer = mechanism(before)
    for place, row in enumerate(other):
        after = [*before[:place], row, *before[place + 1 :]]
        told = mechanism(after)
        if told != answer:
            return before, after
        before = after
    return None
