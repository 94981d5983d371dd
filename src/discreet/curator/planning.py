"""From a question and a budget to tallies and noise: all that is decided before a row is read.

One charge pays for the whole question. Each aggregate gets an equal share of it; an aggregate that
needs several tallies splits its share by fixed weights, and a tally that several aggregates need is
measured once, with all their shares.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil, isqrt, prod

from discreet.core.mechanisms import Exponential, PartitionSelection
from discreet.core.vault import TallyRequest
from discreet.errors import BadBudget, BadInput, BadQuestion
from discreet.families.numbers.release.fixed_point import bounds_of, fixed_point_sum
from discreet.families.shared.release.noise_choice import check_drawable, least_error_mechanism
from discreet.families.shared.release.splitting import shares
from discreet.privacy.budget import Budget, Notion
from discreet.privacy.cost import Accounting, allowance
from discreet.privacy.laws import NoiseLaw
from discreet.queries.tallies import (
    Cells,
    FoundKeys,
    Key,
    Persons,
    Present,
    Rows,
    Squares,
    Tally,
    Term,
    Total,
    Valued,
    WeightedCounts,
    keys_touched,
)
from discreet.queries.tree import bits_of
from discreet.questions.curator_sql import Aggregate, CuratorQuestion
from discreet.questions.expressions import TRUE
from discreet.questions.limits import MOST_CELLS, MOST_GROUPS
from discreet.schema import Schema

MOST_QUANTILE_BITS = 18
"""Buckets of a quantile: at most 2^18, in levels of up to 6 bits."""
LEVEL_BITS = 6
MOST_QUANTILE_CELLS = 1 << 21
MOST_KEYS = 100_000
"""Found keys of one question."""
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """A question with its noise."""

    question: CuratorQuestion
    schema: Schema
    charge: Budget
    accounting: Accounting
    needed: tuple[Needed, ...]
    requests: tuple[TallyRequest, ...] = ()
    laws: tuple[NoiseLaw, ...] = ()
    choice: WeightedCounts | None = None
    chooser: Exponential | None = None
    finder: PartitionSelection | None = None
    """How keys that no schema lists are named, before anything else is read."""

    @property
    def groups(self) -> tuple[str, ...]:
        """The columns of declared cells that tell the answer's rows apart."""
        (first, *_) = self.needed
        if first.aggregate.kind == "histogram":
            assert first.aggregate.column is not None
            return (*self.question.groups, first.aggregate.column)
        return self.question.groups

    def requests_for(self, keys: tuple[Key, ...]) -> tuple[TallyRequest, ...]:
        """The requests, once the keys are known."""
        found = FoundKeys(self.question.unlisted, keys)
        return tuple(
            TallyRequest(replace(request.query, found=found), request.mechanism)
            for request in self.requests
        )

    @property
    def most_keys(self) -> int:
        """As many found keys as can be answered; further ones, in order, are left out."""
        cells = [prod(request.query.shape(self.schema)[1:]) for request in self.requests]
        groups = prod(self.schema.column(name).cells for name in self.groups)
        return min(MOST_KEYS, MOST_GROUPS // groups, *(MOST_CELLS // each for each in cells))

    @property
    def reads_public_rows(self) -> bool:
        return any(each.divides_by_rows for each in self.needed)

    def place(self, term: Term) -> int:
        """Which measurement holds a term."""
        return [request.query.term for request in self.requests].index(term)


def plan_question(
    question: CuratorQuestion, schema: Schema, *, budget: Budget, notion: Notion
) -> Planned:
    """Choose accounting and noise for a budget, under a cap that counts `notion`."""
    if not isinstance(budget, Budget):
        raise BadBudget(
            f"The budget must be a Budget, not {type(budget).__name__}. Nothing was read or charged."
        )
    accountings = _accountings(budget, notion)
    if question.unlisted:
        check_names_keys(budget, notion)
        accountings = [Accounting.BASIC]  # naming keys has no rho
    options = [_under(accounting, question, schema, budget) for accounting in accountings]
    return min(options, key=_loudness)


def _accountings(budget: Budget, notion: Notion) -> list[Accounting]:
    if budget.notion is Notion.RHO:
        if notion is Notion.EPSILON:
            raise BadBudget(
                "This dataset's cap counts epsilon, and the budget is given in rho. Nothing was read or "
                "charged. Give it as an epsilon and a delta."
            )
        return [Accounting.CONCENTRATED]
    if budget.is_pure:
        return [Accounting.BASIC]
    if notion is Notion.RHO:
        return [Accounting.CONCENTRATED]
    return [Accounting.BASIC, Accounting.CONCENTRATED]


def _loudness(planned: Planned) -> float:
    return math.fsum(math.log(law.std + 1e-300) for law in planned.laws)


def _under(
    accounting: Accounting, question: CuratorQuestion, schema: Schema, budget: Budget
) -> Planned:
    allowed = allowance(budget, accounting)
    if budget.notion is Notion.RHO:
        budget = allowed  # a delta beside a rho would buy nothing
    if question.aggregates[0].kind == "top":
        return _choosing(accounting, question, schema, budget, allowed)
    finder = None
    if question.unlisted:
        finder, allowed = _finding(budget, aggregates=len(question.aggregates))
        finder.law(keys_touched(schema)).certain  # noqa: B018 - refuses what cannot be tabulated
    share = allowed.times(Fraction(1, 4 * len(question.aggregates)))
    needed = tuple(
        _needed(one, question, schema, share=share, accounting=accounting)
        for one in question.aggregates
    )
    weights: dict[Term, Fraction] = {}
    for each in needed:
        for term, weight in zip(each.terms, each.weights, strict=True):
            weights[term] = weights.get(term, Fraction(0)) + weight
    requests: list[TallyRequest] = []
    laws: list[NoiseLaw] = []
    for term, part in zip(weights, shares(allowed, list(weights.values())), strict=True):
        tally = Tally(term, question.groups, question.condition)
        if question.unlisted:
            tally = replace(tally, found=FoundKeys(question.unlisted))
        moved = tally.sensitivity(schema)
        size = tally.size(schema) if tally.found is None else MOST_KEYS
        mechanism = least_error_mechanism(moved, size, share=part, accounting=accounting)
        law = mechanism.law(moved, size=size)
        check_drawable(law, what="The question")
        requests.append(TallyRequest(tally, mechanism))
        laws.append(law)
    uses_delta = any(request.mechanism.cost().delta for request in requests)
    if accounting is Accounting.BASIC and budget.delta and not uses_delta and finder is None:
        # Laplace noise won everywhere: a delta that buys nothing is not charged.
        return _under(accounting, question, schema, Budget(epsilon=budget.epsilon))
    return Planned(
        question=question,
        schema=schema,
        charge=budget,
        accounting=accounting,
        needed=needed,
        requests=tuple(requests),
        laws=tuple(laws),
        finder=finder,
    )


def check_names_keys(budget: Budget, notion: Notion) -> None:
    """Naming what nobody listed costs a delta, and has no rho."""
    if not isinstance(budget, Budget) or budget.notion is Notion.RHO or budget.delta == 0:
        raise BadBudget(
            "Finding undeclared values needs a budget with an epsilon and a delta above 0, such as "
            "1e-9, because a name can reveal who holds it. Nothing was read or charged."
        )
    if notion is Notion.RHO:
        raise BadBudget(
            "This dataset's cap counts rho, and finding undeclared values has no cost in rho. Nothing was "
            "read or charged. Declare the values, or a cap of an epsilon and a delta."
        )


def _finding(budget: Budget, *, aggregates: int) -> tuple[PartitionSelection, Budget]:
    """How keys are named, and what is left for the values: a pure epsilon.

    Naming gets as much of epsilon as one aggregate does, and the whole delta.
    """
    part = budget.epsilon / (aggregates + 1)
    finder = PartitionSelection(epsilon=part, delta=budget.delta)
    return finder, Budget(epsilon=budget.epsilon - part)


def _choosing(
    accounting: Accounting,
    question: CuratorQuestion,
    schema: Schema,
    budget: Budget,
    allowed: Budget,
) -> Planned:
    (aggregate,) = question.aggregates
    assert aggregate.column is not None
    if budget.notion is Notion.EPSILON and budget.delta and accounting is Accounting.BASIC:
        budget = allowed = Budget(epsilon=budget.epsilon)
    tally = Tally(Cells(aggregate.column), (), question.condition)
    tally.size(schema)
    return Planned(
        question=question,
        schema=schema,
        charge=budget,
        accounting=accounting,
        needed=(Needed(aggregate, (), ()),),
        choice=WeightedCounts((tally,), (1,)),
        chooser=chooser(allowed, accounting, times=aggregate.chosen),
    )


def chooser(allowed: Budget, accounting: Accounting, *, times: int) -> Exponential:
    """The exponential mechanism that `times` uses of spend `allowed`, rounded down."""
    if accounting is Accounting.BASIC:
        return Exponential(epsilon=allowed.epsilon / times)
    # epsilon^2 / 8 = rho / times, to 2^-40 below
    wanted = 8 * allowed.rho / times
    scale = 1 << 40
    root = isqrt(int(wanted * scale * scale))
    if root == 0:
        raise BadBudget("The budget is too small to choose with. Nothing was read or charged.")
    return Exponential(epsilon=Fraction(root, scale))


def _needed(
    one: Aggregate,
    question: CuratorQuestion,
    schema: Schema,
    *,
    share: Budget,
    accounting: Accounting,
) -> Needed:
    column = one.column or ""
    match one.kind:
        case "count":
            return _alone(one, Rows())
        case "persons":
            return _alone(one, Persons())
        case "present":
            return _alone(one, Present(column))
        case "histogram":
            return _alone(one, Cells(column))
        case "sum":
            return _alone(one, _total(column, schema, False, share, accounting))
        case "avg":
            total = _total(column, schema, True, share, accounting)
            if rows_divide(question, schema, column):
                return Needed(one, (total,), (Fraction(1),), divides_by_rows=True)
            return Needed(one, (total, Valued(column)), (Fraction(3, 5), Fraction(2, 5)))
        case "variance" | "stddev":
            total = _total(column, schema, True, share, accounting)
            squares = _squares(total, schema)
            if rows_divide(question, schema, column):
                two = (Fraction(2, 5), Fraction(3, 5))
                return Needed(one, (total, squares), two, divides_by_rows=True)
            three = (Fraction(3, 10), Fraction(4, 10), Fraction(3, 10))
            return Needed(one, (total, squares, Valued(column)), three)
        case "quantile":
            levels = _levels(column, question, schema)
            return Needed(one, levels, (Fraction(1, len(levels)),) * len(levels))
    raise BadQuestion(f"{one.kind} is not answered. Nothing was read or charged.")


def _alone(one: Aggregate, term: Term) -> Needed:
    return Needed(one, (term,), (Fraction(1),))


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
    groups = prod(schema.column(name).cells for name in question.groups)
    groups *= USUAL_KEYS if question.unlisted else 1
    bits = bits_of(schema.column(column).value_cells)
    room = max(1, MOST_QUANTILE_CELLS // groups).bit_length() - 1
    kept = min(bits, MOST_QUANTILE_BITS, max(1, room))
    levels = max(1, -(-kept // LEVEL_BITS))
    depths = sorted({-(-kept * (place + 1) // levels) for place in range(levels)})
    return tuple(Cells(column, bits - depth) for depth in depths)


def center_of(total: Total) -> Fraction:
    return Fraction(total.center, total.grid)


def check_not_empty(budget: Budget | None, accuracy: object) -> None:
    """Exactly one of the two says what the question may cost."""
    if (budget is None) == (accuracy is None):
        raise BadInput(
            "Give a budget, or an accuracy such as '±50 at 95%', and not both. Nothing was read or charged."
        )


__all__ = [
    "Needed",
    "Planned",
    "bounds_of",
    "center_of",
    "check_names_keys",
    "check_not_empty",
    "chooser",
    "plan_question",
    "rows_divide",
]
