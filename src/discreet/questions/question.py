"""`Question`: counts, sums and averages that are asked for, as plain data."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from discreet.questions.expressions import TRUE, Expression
from discreet.questions.keys import Key
from discreet.schema import Column

AggregateKind = Literal["count", "sum", "avg", "quantile", "moment", "total", "valued"]


@dataclass(frozen=True, slots=True)
class Aggregate:
    """`count(*)` (column None), `count(col)`, `sum(col)`, `avg(col)`, `quantile(col, level)`, or a moment.

    A moment is the sum of a column less its middle or another centre, or of the product of two such; see `middle_of`. A total is
    the sum of an expression over clamped columns, and "valued" counts the rows that it has a value for.
    """

    kind: AggregateKind
    column: str | None
    name: str
    """What the answer's column is called."""
    level: Fraction | None = None
    """The level, for a quantile: between 0 and 1, and a half for the median."""
    second: str | None = None
    """The other column of a moment."""
    expression: Expression | None = None
    """What a total adds up."""
    centres: tuple[float, ...] = ()  # of a moment, in the place of the middles


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked, as plain data; column names are the schema's own."""

    aggregates: tuple[Aggregate, ...]
    condition: Expression = TRUE
    group_by: tuple[Key, ...] = ()
    """Plain columns by their names, and computed keys."""
    text: str = ""


def middle_of(column: Column) -> float:
    """The number that values are taken from: halfway between the declared bounds."""
    bounds = column.value_bounds
    assert bounds is not None
    return float((bounds[0] + bounds[1]) / 2)
