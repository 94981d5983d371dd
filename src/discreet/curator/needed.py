"""Which tallies each aggregate of a curator's question needs, and how their noise adds to its error."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from math import prod, sqrt
from typing import TypedDict, Unpack

from discreet.curator.summing import rows_added, rows_present, squares_of, total_of
from discreet.privacy.budget import Budget
from discreet.privacy.cost import Accounting
from discreet.queries.tallies import (
    Cells,
    Persons,
    Rows,
    Summand,
    Tally,
    Term,
    Total,
    summand_bounds,
)
from discreet.queries.tree import bits_of
from discreet.questions.dialects.curator_sql import Aggregate, CuratorQuestion
from discreet.questions.expressions import TRUE
from discreet.questions.keys import key_size, tally_groups
from discreet.schema import Schema

MOST_QUANTILE_BITS = 18
"""Buckets of a quantile: at most 2^18, in levels of up to 6 bits."""
LEVEL_BITS = 6
MOST_QUANTILE_CELLS = 1 << 21
TREE_SHARE = Fraction(2, 3)
"""The tree's part of a quantile's budget, where a choice gives the estimate. Its interval is then 1.5 times as wide."""
SHARES_OF_A_SHARE = 8
"""A sum's grid must fit an eighth of an aggregate's equal share; see `planning`."""
USUAL_ROWS = 20_000
"""The rows that a quantile's tree is made for, if the schema declares no number of people."""
USUAL_KEYS = 256
"""The number of keys for which a quantile's buckets leave room; further keys are cut off."""


@dataclass(frozen=True, slots=True)
class Ranked:
    """The bucket (2^shift cells) of a quantile, chosen privately in each group."""

    column: str
    shift: int
    level: Fraction


@dataclass(frozen=True, slots=True)
class Needed:
    """The tallies behind one aggregate, in the order in which its answer reads them."""

    aggregate: Aggregate
    terms: tuple[Term | Ranked, ...]
    errors: tuple[float | Fraction, ...]
    """How much the noise of each adds to the answer's squared error if all have the same share of the
    budget; only their proportions matter, except beside those of `otherwise`."""
    divides_by_rows: bool = False
    """Whether the denominator is the public number of rows."""
    otherwise: Needed | None = field(default=None, kw_only=True)
    """Another way to the same answer, dearer alone, which shares its tallies with other aggregates.
    Its errors are in the same unit as these."""


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
    return alone(one, rows_present(summand_of(one), one.raw, question.condition, schema))


def distinct(
    one: Aggregate, question: CuratorQuestion, schema: Schema, **paid: Unpack[Paid]
) -> Needed:
    """The number of rows in each cell of the column."""
    return alone(one, Cells(column_of(one)))


def total(
    one: Aggregate, question: CuratorQuestion, schema: Schema, **paid: Unpack[Paid]
) -> Needed:
    """The sum itself; or, where a mean or a count is asked too, the centred sum and the count.

    SUM(x) = SUM(x - c) + c COUNT(x). With bounds of 0 to 119 a row moves the sum by 119, and the
    centred sum by 59.5: alone the first is better, beside AVG(x) the second.
    """
    of = summand_of(one)
    plain = total_of(of, schema, False, **paid)
    added = total_of(of, schema, True, **paid)
    reached = _reach(plain, question, schema, paid["accounting"]) ** 2
    centred = _reach(added, question, schema, paid["accounting"]) ** 2
    if rows_divide(question, schema, of):
        other = Needed(one, (added,), (centred,), divides_by_rows=True)
    else:
        rows = rows_added(of, question.condition, schema)
        counted = float(center_of(added)) * _reach(rows, question, schema, paid["accounting"])
        other = Needed(one, (added, rows), (centred, max(counted**2, centred * 1e-6)))
    return Needed(one, (plain,), (reached,), otherwise=other)


def mean(one: Aggregate, question: CuratorQuestion, schema: Schema, **paid: Unpack[Paid]) -> Needed:
    """The sum of the centred values, and how many there are, unless that is public.

    The mean is off by (x - t y) / n, with x and y the noise of sum and count and t the mean less the
    centre. That is a secret; taken as anywhere within the bounds, its square is width^2 / 12.
    """
    of = summand_of(one)
    added = total_of(of, schema, True, **paid)
    summed = _reach(added, question, schema, paid["accounting"]) ** 2
    if rows_divide(question, schema, of):
        return Needed(one, (added,), (summed,), divides_by_rows=True)
    rows = rows_added(of, question.condition, schema)
    counted = _reach(rows, question, schema, paid["accounting"]) ** 2 * _usual_square(of, schema)
    return Needed(one, (added, rows), (summed, max(counted, summed * 1e-6)))


def spread(
    one: Aggregate, question: CuratorQuestion, schema: Schema, **paid: Unpack[Paid]
) -> Needed:
    """As for a mean, and the sum of the squares.

    With z the centred values, the variance is off by (q - 2 t x - (z2 - 2 t^2) y) / n, where q, x and y
    are the noise of squares, sum and count. The same guess is made of t, and z2 - 2 t^2 is as large.
    """
    of = summand_of(one)
    added = total_of(of, schema, True, **paid)
    squares = squares_of(added, schema)
    usual = _usual_square(of, schema)
    accounting = paid["accounting"]
    summed = 4 * usual * _reach(added, question, schema, accounting) ** 2
    unit = float(Fraction(1 << squares.shift, squares.grid**2))
    squared = (unit * _reach(squares, question, schema, accounting)) ** 2
    least = max(summed, squared) * 1e-6
    if rows_divide(question, schema, of):
        errors = (max(summed, least), max(squared, least))
        return Needed(one, (added, squares), errors, divides_by_rows=True)
    rows = rows_added(of, question.condition, schema)
    counted = (usual * _reach(rows, question, schema, accounting)) ** 2
    return Needed(
        one, (added, squares, rows), (max(summed, least), max(squared, least), max(counted, least))
    )


def quantile(
    one: Aggregate, question: CuratorQuestion, schema: Schema, **paid: Unpack[Paid]
) -> Needed:
    """A tree of counts, which gives the interval; and, where it is closer, a choice for the estimate.

    The choice is the exponential mechanism's over the finest buckets: its rank is off by about
    2 max(q, 1 - q) / epsilon, whatever their number, where the tree's counts add the noise of many
    nodes. It is closer unless the buckets are few; both are known before any row is read.
    """
    assert one.level is not None
    column, basic = column_of(one), paid["accounting"] is Accounting.BASIC
    bits, finest = _quantile_bits(column, question, schema)
    whole = float(paid["share"].amount) * SHARES_OF_A_SHARE
    noise = {
        depth: _rank_error_of_tree(_levels(column, bits, depth), one.level, schema, basic)
        for depth in range(min(1, finest), finest + 1)  # a column of one value has no bits
    }
    if _rank_error_of_choice(one.level, basic) >= noise[finest]:
        levels = _levels(column, bits, finest)
        return Needed(one, levels, (Fraction(1),) * len(levels))
    # Deep enough for the rows there are: half the interval is noise in rank, and the rest cells.
    rows = USUAL_ROWS if schema.people is None else schema.people
    paid_for = float(TREE_SHARE) * whole if basic else sqrt(float(TREE_SHARE) * whole)
    width = {depth: 4 * each / paid_for / rows + 2 / 2**depth for depth, each in noise.items()}
    levels = _levels(column, bits, min(width, key=lambda depth: width[depth]))
    chosen = Ranked(column, bits - finest, one.level)
    power = 3 if basic else 2
    errors = [(TREE_SHARE / len(levels)) ** power] * len(levels) + [(1 - TREE_SHARE) ** power]
    return Needed(one, (*levels, chosen), tuple(errors))


def _rank_error_of_tree(
    levels: tuple[Cells, ...], level: Fraction, schema: Schema, basic: bool
) -> float:
    """The standard deviation of (1 - q) below - q above, at epsilon 1 or rho 1: half the nodes of each
    level lie below an edge in the middle, and half above."""
    q = float(level)
    nodes = sum(
        term.buckets(schema) / (levels[place - 1].buckets(schema) if place else 1)
        for place, term in enumerate(levels)
    )
    each = 2.0 * len(levels) ** 2 if basic else len(levels) / 2
    return sqrt(nodes / 2 * ((1 - q) ** 2 + q**2) * each)


def _rank_error_of_choice(level: Fraction, basic: bool) -> float:
    """The rank error of the choice, with its own share: scores fall off like Laplace noise of this scale."""
    share = float(1 - TREE_SHARE)
    epsilon = share if basic else sqrt(8 * share)
    return sqrt(2) * 2 * float(max(level, 1 - level)) / epsilon


def alone(one: Aggregate, term: Term) -> Needed:
    """An aggregate that is one tally."""
    return Needed(one, (term,), (Fraction(1),))


def column_of(one: Aggregate) -> str:
    """The column of an aggregate that has one."""
    assert one.column is not None
    return one.column


def summand_of(one: Aggregate) -> Summand:
    """What an aggregate adds up."""
    return column_of(one) if one.expression is None else one.expression


def rows_divide(question: CuratorQuestion, schema: Schema, of: Summand) -> bool:
    """Whether a mean may be divided by the number of rows, public under change-one.

    Only over all rows, and only where nulls are declared not to be expected: one that is there
    counts as the middle of the bounds.
    """
    return (
        isinstance(of, str)
        and schema.rows_are_public
        and not question.groups
        and not question.unlisted
        and question.condition == TRUE
        and schema.column(of).nulls == "exclude"
    )


def _reach(term: Term, question: CuratorQuestion, schema: Schema, accounting: Accounting) -> float:
    """The scale of the noise: how far a person moves the tally, in units of the values."""
    moved = Tally(term, tally_groups(question.groups)).sensitivity(schema)
    steps = float(moved.l1) if accounting is Accounting.BASIC else sqrt(moved.l2_squared)
    return steps / term.grid if isinstance(term, Total) else steps


def _usual_square(of: Summand, schema: Schema) -> float:
    low, high = summand_bounds(of, schema)
    return float((high - low) ** 2 / 12)


def _quantile_bits(column: str, question: CuratorQuestion, schema: Schema) -> tuple[int, int]:
    """Bits that number the column's cells, and how many of them tell buckets apart.

    As fine as the column's cells are, up to 2^18 buckets and as many over all groups as fit.
    """
    groups = prod(key_size(key, schema) for key in question.groups)
    groups *= USUAL_KEYS if question.unlisted else 1
    bits = bits_of(schema.column(column).value_cells)
    room = max(1, MOST_QUANTILE_CELLS // groups).bit_length() - 1
    return bits, min(bits, MOST_QUANTILE_BITS, max(1, room))


def _levels(column: str, bits: int, kept: int) -> tuple[Cells, ...]:
    """Histograms of the column, coarse to fine, whose nodes add up to any count below an edge."""
    levels = max(1, -(-kept // LEVEL_BITS))
    depths = sorted({-(-kept * (place + 1) // levels) for place in range(levels)})
    return tuple(Cells(column, bits - depth) for depth in depths)


def center_of(total: Total) -> Fraction:
    return Fraction(total.center, total.grid)
