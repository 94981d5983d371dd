"""`Question`: counts, sums and averages that are asked for, as plain data."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from discreet.questions.expressions import TRUE, Expression
from discreet.questions.keys import Key


@dataclass(frozen=True, slots=True)
class Aggregate:
    """`count(*)` (column None), `count(col)`, `sum(col)`, `avg(col)` or `quantile(col, level)`."""

    kind: Literal["count", "sum", "avg", "quantile"]
    column: str | None
    name: str
    """What the answer's column is called."""
    level: Fraction | None = None
    """The level, for a quantile: between 0 and 1, and a half for the median."""


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked, as plain data; column names are the schema's own."""

    aggregates: tuple[Aggregate, ...]
    condition: Expression = TRUE
    group_by: tuple[Key, ...] = ()
    """Plain columns by their names, and computed keys."""
    text: str = ""
