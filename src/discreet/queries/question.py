"""`Question`: counts, sums and averages that are asked for, as plain data.

May import errors, privacy, schema.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from discreet.queries.conditions import ALWAYS, Condition


@dataclass(frozen=True, slots=True)
class Aggregate:
    """`count(*)` (column None), `count(col)`, `sum(col)` or `avg(col)`."""

    kind: Literal["count", "sum", "avg"]
    column: str | None
    name: str
    """What the answer's column is called."""


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked, as plain data; column names are the schema's own."""

    aggregates: tuple[Aggregate, ...]
    condition: Condition = ALWAYS
    group_by: tuple[str, ...] = ()
    text: str = ""
