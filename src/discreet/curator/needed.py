"""Which tallies each aggregate of a curator's question needs, and how they share its part of the budget."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import ceil, prod
from typing import TypedDict, Unpack

from discreet.families.numbers.release.fixed_point import bounds_of, fixed_point_sum
from discreet.privacy.budget import Budget
from discreet.privacy.cost import Accounting
from discreet.queries.tallies import (
    Cells,
    Persons,
    Present,
    Rows,
    Squares,
    Tally,
    Term,
    Total,
    Valued,
)
from discreet.queries.tree import bits_of
from discreet.questions.curator_sql import Aggregate, CuratorQuestion
from discreet.questions.expressions import TRUE
from discreet.questions.keys import key_size
from discreet.schema import Schema

MOST_QUANTILE_BITS = 18
"""Buckets of a quantile: at most 2^18, in levels of up to 6 bits."""
LEVEL_BITS = 6
MOST_QUANTILE_CELLS = 1 << 21
USUAL_KEYS = 256
"""For how many of them a quantile's buckets leave room; more keys are then cut off."""
ROW_BITS = 60
"""A row's value in a sum is rounded to so many: 2^40 rows then move it by 2^-21 of a bound at most."""
SQUARE_BITS = 24
"""A row's square is kept to so many bits."""


@dataclass(frozen=True, slots=True)
class Needed:
    """The tallies behind one aggregate, in the order in which its answer reads them."""

    aggregate: Aggregate
    terms: tuple[Term, ...]
    weights: tuple[Fraction, ...]
    """What part of the aggregate's share each gets; they add to 1."""
    divides_by_rows: bool = False
    """Whether the denominator is the public number of rows."""


class Paid(TypedDict):
    """What a sum's grid is chosen for."""

    share: Budget
    accounting: Accounting


def count(
    one: Aggregate, question: CuratorQuestion, schema: Schema, **paid: Unpack[Paid]
) -> Needed:
    return alone(one, Rows())


def persons(
    one: Aggregate, question: CuratorQuestion, schema: Schema, **paid: Unpack[Paid]
) -> Needed:
    return alone(one, Persons())


def present(
    one: Aggregate, question: CuratorQuestion, schema: Schema, **paid: Unpack[Paid]
) -> Needed:
    return alone(one, Present(column_of(one)))


def histogram(
    one: Aggregate, question: CuratorQuestion, schema: Schema, **paid: Unpack[Paid]
) -> Needed:
    return alone(one, Cells(column_of(one)))


def total(
    one: Aggregate, question: CuratorQuestion, schema: Schema, **paid: Unpack[Paid]
) -> Needed:
    return alone(one, _total(column_of(one), schema, False, **paid))


def mean(one: Aggregate, question: CuratorQuestion, schema: Schema, **paid: Unpack[Paid]) -> Needed:
    """The sum of the centred values, and how many there are, unless that is public."""
    column = column_of(one)
    added = _total(column, schema, True, **paid)
    if rows_divide(question, schema, column):
        return Needed(one, (added,), (Fraction(1),), divides_by_rows=True)
    return Needed(one, (added, Valued(column)), (Fraction(3, 5), Fraction(2, 5)))


def spread(
    one: Aggregate, question: CuratorQuestion, schema: Schema, **paid: Unpack[Paid]
) -> Needed:
    """As for a mean, and the sum of the squares."""
    column = column_of(one)
    added = _total(column, schema, True, **paid)
    squares = _squares(added, schema)
    if rows_divide(question, schema, column):
        two = (Fraction(2, 5), Fraction(3, 5))
        return Needed(one, (added, squares), two, divides_by_rows=True)
    three = (Fraction(3, 10), Fraction(4, 10), Fraction(3, 10))
    return Needed(one, (added, squares, Valued(column)), three)


def quantile(
    one: Aggregate, question: CuratorQuestion, schema: Schema, **paid: Unpack[Paid]
) -> Needed:
    levels = _levels(column_of(one), question, schema)
    return Needed(one, levels, (Fraction(1, len(levels)),) * len(levels))


def alone(one: Aggregate, term: Term) -> Needed:
    """An aggregate that is one tally."""
    return Needed(one, (term,), (Fraction(1),))


def column_of(one: Aggregate) -> str:
    """The column of an aggregate that has one."""
    assert one.column is not None
    return one.column


def rows_divide(question: CuratorQuestion, schema: Schema, column: str) -> bool:
    """Whether a mean may be divided by the number of rows, public under change-one.

    Only over all rows, and only where nulls are declared not to be expected: one that is there
    counts as the middle of the bounds.
    """
    return (
        schema.rows_are_public
        and not question.groups
        and not question.unlisted
        and question.condition == TRUE
        and schema.column(column).nulls == "exclude"
    )


def _total(
    column: str, schema: Schema, centred: bool, share: Budget, accounting: Accounting
) -> Total:
    if schema.column(column).kind == "boolean":
        return Total(column, 2, 1) if centred else Total(column, 1, 0)
    query = fixed_point_sum(column, schema, centred=centred, share=share, accounting=accounting)
    bits = 0
    if schema.column(column).kind == "number" and not centred:
        widest = max(map(abs, bounds_of(column, schema))) * query.grid
        bits = max(1, ROW_BITS - ceil(widest).bit_length())
    return Total(column, query.grid, int(query.center * query.grid), bits)


def _squares(total: Total, schema: Schema) -> Squares:
    """Squares of the centred values, kept to 24 bits, so that no sum of them leaves 64."""
    exact = Squares(total.column, total.grid, total.center, 0)
    _, most = Tally(exact).row_bounds(schema)
    shift = max(0, most.bit_length() - SQUARE_BITS)
    return Squares(total.column, total.grid, total.center, shift)


def _levels(column: str, question: CuratorQuestion, schema: Schema) -> tuple[Cells, ...]:
    """Histograms of the column, coarse to fine, whose nodes add up to any count below an edge.

    As fine as the column's cells are, up to 2^18 buckets and as many over all groups as fit.
    """
    groups = prod(key_size(key, schema) for key in question.groups)
    groups *= USUAL_KEYS if question.unlisted else 1
    bits = bits_of(schema.column(column).value_cells)
    room = max(1, MOST_QUANTILE_CELLS // groups).bit_length() - 1
    kept = min(bits, MOST_QUANTILE_BITS, max(1, room))
    levels = max(1, -(-kept // LEVEL_BITS))
    depths = sorted({-(-kept * (place + 1) // levels) for place in range(levels)})
    return tuple(Cells(column, bits - depth) for depth in depths)


def center_of(total: Total) -> Fraction:
    return Fraction(total.center, total.grid)
