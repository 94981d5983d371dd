"""Sums of a numeric column as integers: where the values are cut, and how finely they are counted.

Everything is decided by the schema, never by a row. Integers are summed exactly; real numbers are
rounded to a power of two, the finest that leaves room for the sum, and for its noise, in 64 bits.
"""

from __future__ import annotations

from fractions import Fraction
from math import ceil, floor

from discreet.engines.protocol import SumRequest, checked_sum
from discreet.errors import BadInput
from discreet.families.shared.release.noise_choice import least_error_mechanism
from discreet.privacy.adjacency import Sensitivity
from discreet.privacy.budget import Budget
from discreet.privacy.cost import Accounting
from discreet.privacy.laws.law import LARGEST_SPREAD
from discreet.queries.measurable import SATURATION, ClampedSum
from discreet.schema import Schema

STEPS = 1 << 24
"""How many steps the bounds of a real column span, at least, if there is room."""
UNKNOWN_ROWS = 1 << 30
"""Rows to leave room for when the schema does not say how many people there are."""


def bounds_of(column: str, schema: Schema) -> tuple[Fraction, Fraction]:
    """The declared bounds of a numeric column."""
    bounds = schema.column(column).value_bounds
    if bounds is None:
        raise BadInput(f"Column {column} has no numeric bounds.")
    return Fraction(bounds[0]), Fraction(bounds[1])


def fixed_point_sum(
    column: str, schema: Schema, *, centred: bool, share: Budget, accounting: Accounting
) -> ClampedSum:
    """The sum of `column` on the finest useful grid.

    `centred`: measured from the middle of the bounds, where one row adds least. Only a real
    column's middle may have to be moved onto the grid, by less than a step.
    """
    low, high = bounds_of(column, schema)
    middle = (low + high) / 2 if centred else Fraction(0)
    is_integer = schema.column(column).kind == "integer"
    grid = middle.denominator if is_integer else power_of_two(high - low)
    while True:
        center = Fraction(round(middle * grid), grid)
        query = ClampedSum(column=column, grid=grid, center=center)
        if _fits(query, schema, share, accounting):
            return query
        if is_integer or grid == 1:
            raise BadInput(
                f"The bounds of column {column}, {_plain(low)} to {_plain(high)}, are too wide to sum in "
                "64-bit integers with this budget. Nothing was read or charged. Declare narrower bounds."
            )
        grid //= 2


def power_of_two(width: Fraction) -> int:
    """The least power of two, at least 1, that makes `width` span STEPS steps."""
    steps = ceil(STEPS / width)
    return 1 << max(0, (steps - 1).bit_length())


def _fits(query: ClampedSum, schema: Schema, share: Budget, accounting: Accounting) -> bool:
    try:
        checked_sum(schema, SumRequest(query.column, query.grid, *bounds_of(query.column, schema)))
    except BadInput:  # some term would not be exact in the arithmetic that engines share
        return False
    low, high = query.unit_bounds(schema)
    return has_room(max(-low, high), query.sensitivity(schema), schema, share, accounting)


def has_room(
    of_a_row: int, moved: Sensitivity, schema: Schema, share: Budget, accounting: Accounting
) -> bool:
    """Whether 64 bits hold the sum of all rows, of which none adds more than `of_a_row`, and its noise."""
    rows = UNKNOWN_ROWS if schema.people is None else max(10 * schema.people, 1 << 20)
    if of_a_row * rows * schema.unit.max_rows > SATURATION:
        return False
    mechanism = least_error_mechanism(moved, 1, share=share, accounting=accounting)
    return mechanism.law(moved, size=1).std <= LARGEST_SPREAD


def _plain(value: Fraction) -> str:
    return str(floor(value)) if value.denominator == 1 else f"{float(value):g}"
