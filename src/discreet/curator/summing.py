"""How a summand (a column, or an expression over columns) becomes an integer sum: grid, centre, count.

Everything follows from the schema, the question and the budget; no row is read for it.
"""

from __future__ import annotations

from fractions import Fraction
from math import ceil

from discreet.errors import BadInput, BadQuestion
from discreet.families.shared.release.fixed_point import (
    STEPS,
    fixed_point_sum,
    has_room,
    power_of_two,
)
from discreet.privacy.budget import Budget
from discreet.privacy.cost import Accounting
from discreet.queries.tallies import (
    FARTHEST_STEP,
    Present,
    Rows,
    Squares,
    Summand,
    Tally,
    Term,
    Total,
    Valued,
    is_whole,
    steps_of,
    summand_bounds,
)
from discreet.questions.dialects.statement import SUMMED_KINDS
from discreet.questions.expressions import COMPARED, Call, ColumnValue, Expression, columns_of
from discreet.schema import Schema

ROW_BITS = 60
"""A row's value in a sum is rounded to this many bits: 2^40 rows then move it by 2^-21 of a bound at most."""
SQUARE_BITS = 24
"""A row's square is kept to this many bits."""


def total_of(
    of: Summand, schema: Schema, centred: bool, *, share: Budget, accounting: Accounting
) -> Total:
    """The sum on the finest grid that leaves room for it, and for its noise, in 64 bits."""
    if isinstance(of, str) and schema.column(of).kind == "boolean":
        return Total(of, 2, 1) if centred else Total(of, 1, 0)
    if isinstance(of, str):
        query = fixed_point_sum(of, schema, centred=centred, share=share, accounting=accounting)
        total = Total(of, query.grid, int(query.center * query.grid))
    else:
        total = _expression_total(of, schema, centred, share, accounting)
    bits = 0
    if not is_whole(of, schema):
        widest = max(map(abs, summand_bounds(of, schema))) * total.grid
        bits = max(1, ROW_BITS - ceil(widest).bit_length())
    return Total(of, total.grid, total.center, bits)


def _expression_total(
    of: Expression, schema: Schema, centred: bool, share: Budget, accounting: Accounting
) -> Total:
    low, high = summand_bounds(of, schema)
    middle = (low + high) / 2 if centred else Fraction(0)
    width = max(high - low, max(abs(low), abs(high)) / STEPS, Fraction(1, STEPS))
    grid = middle.denominator if is_whole(of, schema) else power_of_two(width)
    while True:
        total = Total(of, grid, round(middle * grid))
        if _fits(total, schema, share, accounting):
            return total
        if is_whole(of, schema) or grid == 1:
            raise BadQuestion(
                f"By the schema the expression inside the aggregate lies between {_shown(low)} and "
                f"{_shown(high)}, too wide to sum, or too far from 0 to hold, in 64-bit integers with this budget. Narrow it, as in "
                "least(a * b, 1000)."
            )
        grid //= 2


def _shown(end: Fraction) -> str:
    return f"{float(end):g}" if abs(end) < 10**300 else "10^300 and more"


def _fits(total: Total, schema: Schema, share: Budget, accounting: Accounting) -> bool:
    if max(map(abs, steps_of(total.of, total.grid, schema))) >= FARTHEST_STEP:
        return False  # far from 0, however narrow: the engine holds the value before it is centred
    tally = Tally(total)
    most = max(map(abs, tally.row_bounds(schema)))
    return has_room(most, tally.sensitivity(schema), schema, share, accounting)


def squares_of(total: Total, schema: Schema) -> Squares:
    """Squares of the centred values, kept to 24 bits, so that no sum of them leaves 64."""
    exact = Squares(total.of, total.grid, total.center, 0)
    _, most = Tally(exact).row_bounds(schema)
    shift = max(0, most.bit_length() - SQUARE_BITS)
    return Squares(total.of, total.grid, total.center, shift)


def rows_added(of: Summand, condition: Expression, schema: Schema) -> Term:
    """How many rows a sum adds up, by the tally that most other aggregates share."""
    if isinstance(of, str) and _keeps_all_values(of, schema) and _holds_value(condition, of):
        return Rows()
    return Valued(of)


def rows_present(
    of: Summand, raw: Expression | None, condition: Expression, schema: Schema
) -> Term:
    """COUNT(value): as many rows as a sum adds up, unless some values are in no sum."""
    if isinstance(of, str):
        is_summed = schema.column(of).kind in SUMMED_KINDS and _keeps_all_values(of, schema)
        return rows_added(of, condition, schema) if is_summed else Present(of)
    assert raw is not None
    names = set(columns_of(of))
    if of.type in ("integer", "number") and all(_keeps_all_values(name, schema) for name in names):
        try:
            summand_bounds(of, schema)
        except (BadInput, BadQuestion):  # a count needs no bounds
            return Present(raw)
        return Valued(of)
    return Present(raw)


def _keeps_all_values(name: str, schema: Schema) -> bool:
    """Whether every value that is not null is in the sum, at a bound if it lies beyond."""
    return getattr(schema.column(name), "outside", "edge") == "edge"


def _holds_value(condition: Expression, name: str) -> bool:
    """Whether a row that meets the condition surely has a value in the column."""
    if not isinstance(condition, Call):
        return False
    if condition.name == "and":
        return any(_holds_value(part, name) for part in condition.arguments)
    if condition.name in (*COMPARED, "in"):
        first = condition.arguments[0]
        others = condition.arguments[1:] if condition.name != "in" else ()
        return any(
            isinstance(part, ColumnValue) and part.column == name for part in (first, *others)
        )
    if condition.name == "not":
        (inner,) = condition.arguments
        if isinstance(inner, Call) and inner.name == "is null":
            return isinstance(inner.arguments[0], ColumnValue) and inner.arguments[0].column == name
    return False
