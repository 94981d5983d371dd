"""Aggregates of the different values of a column, from noisy counts of each.

A value counts where some row holds it. A noisy count leaves that open for a value that few rows hold;
`present` is then between 0 and 1, and the interval of the aggregate covers both.
"""

from __future__ import annotations

import math
from typing import Any

from discreet.errors import BadQuestion
from discreet.postprocessing.plan import Across, Call, Expression, Literal
from discreet.questions.dialects.statement import SUMMED_KINDS
from discreet.questions.question import middle_of
from discreet.schema import Column, OrderedColumn

OTHERS_ARE_ONE = "count(DISTINCT ...) is the number of declared values that some row holds; those that are not declared count as one."
_SPREADS = ("Variance", "VariancePop", "Stddev", "StddevSamp", "StddevPop")


def cells_are_values(column: Column) -> str | None:
    """Why the different values of a column are not known; `None` where they are."""
    if isinstance(column, OrderedColumn) and len(set(column.extent(0))) > 1:
        return (
            f"The cells of column {column.name!r} are ranges, so its different values are not known apart. "
            f"GROUP BY {column.name} to see how many rows are in each."
        )
    return None


def counts_others_as_one(column: Column) -> bool:
    """Whether values that the schema does not declare share a cell, and nothing tells them apart."""
    return column.has_other and not _is_open(column)


def _is_open(column: Column) -> bool:
    """Whether there may be values that nobody named: the schema declares none, or a release names some of them."""
    return getattr(column, "is_open", False) or column.undeclared


def of_distinct_values(
    node: Any, name: Expression, counted: Expression, column: Column
) -> Expression:
    """What `node` asks of the values `name`, of each of which there are `counted` rows."""
    kind = type(node).__name__
    if kind == "Mode":
        return Across("mode", name, weight=counted)
    if kind == "Count":
        return Across("present or more" if _is_open(column) else "present", counted)
    if kind not in ("Sum", "Avg", *_SPREADS):
        raise BadQuestion("DISTINCT is allowed only in count, sum, avg, variance and stddev.")
    if column.kind not in SUMMED_KINDS:
        raise BadQuestion(
            f"Column {column.name!r} is of kind {column.kind}; {kind.lower()}() takes columns of kind "
            f"{', '.join(SUMMED_KINDS)}."
        )
    present = Call("present", (counted,))
    many = Across("sum", present)
    if kind == "Sum":
        return Across("sum", Call("*", (present, name)))
    # Values less the middle of their bounds, so that little is subtracted from much.
    moved = Call("-", (name, Literal(middle_of(column))))
    total = Across("sum", Call("*", (present, moved)))
    if kind == "Avg":
        return Call("+", (Literal(middle_of(column)), Call("/", (total, many))))
    squares = Across("sum", Call("*", (present, Call("square", (moved,)))))
    spread = Call("-", (squares, Call("/", (Call("square", (total,)), many))))
    divisor = many if kind.endswith("Pop") else Call("-", (many, Literal(1)))
    variance = Call("within", (Call("/", (spread, divisor)), Literal(0), Literal(math.inf)))
    return variance if kind.startswith("Variance") else Call("sqrt", (variance,))
