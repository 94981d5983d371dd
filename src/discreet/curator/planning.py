"""From a question and a budget to tallies and noise: all that is decided before a row is read.

One charge pays for the whole question. A tally that several aggregates need is measured once; the
budget is shared out so that the expected errors of all aggregates together are least.

Aggregates often need the same tallies: AVG, SUM, COUNT and VARIANCE of a column all follow from its
centred sum, its count and its squares. A tally with a share w of the budget has squared error c / w^2
where epsilon is shared and c / w where rho is, and the squared error of an aggregate is the sum V over
its tallies. The shares make the product of all V least, so that each aggregate counts alike, whatever
its unit. With w = e^u the logarithm of the product is convex (a geometric program), and at its least
w_i is the mean over the aggregates of the part of V that tally i makes; that is solved by iteration.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import prod
from typing import Any

from discreet.core.mechanisms import Exponential, PartitionSelection
from discreet.core.vault import ChoiceRequest, TallyRequest
from discreet.curator.needed import SHARES_OF_A_SHARE, Needed, Ranked
from discreet.errors import BadBudget, BadInput, BadQuestion
from discreet.families.shared.release.noise_choice import check_drawable, least_error_mechanism
from discreet.families.shared.release.splitting import shares
from discreet.privacy.budget import Budget, Notion
from discreet.privacy.cost import Accounting, allowance
from discreet.privacy.laws import NoiseLaw
from discreet.privacy.shares import accountings, selection_epsilon
from discreet.queries.group_choices import CellScores, RankScores
from discreet.queries.places import loaded
from discreet.queries.tallies import (
    Cells,
    FoundKeys,
    Tally,
    Term,
    keys_touched,
)
from discreet.questions.dialects.aggregates import AGGREGATES
from discreet.questions.dialects.curator_sql import Aggregate, CuratorQuestion
from discreet.questions.keys import key_size, tally_groups
from discreet.schema import Schema
from discreet.schema.limits import MOST_CELLS, MOST_GROUPS

FINEST = 1 << 10
"""Weights are whole numbers of about this size, so that noise scales stay short rationals."""
ROUNDS = 60
WORTHWHILE = 1e-9


Named = tuple[int, Term | Ranked]
"""A tally, and the question that it belongs to: others have other conditions and groups."""


def measured_once(
    asked: Sequence[Sequence[Needed]], accounting: Accounting
) -> tuple[list[tuple[Needed, ...]], list[dict[Term | Ranked, Fraction]]]:
    """For each question, the way that each aggregate is answered, and the weight of each tally.

    An aggregate takes its other way where the expected errors of all together are then smaller.
    """
    flat = [(number, each) for number, own in enumerate(asked) for each in own]
    chosen = [(number, replace(each, otherwise=None)) for number, each in flat]
    least, weights = _best_weights(chosen, accounting)
    for place, (number, each) in enumerate(flat):
        if each.otherwise is None:
            continue
        tried = list(chosen)
        tried[place] = (number, each.otherwise)
        errors, other = _best_weights(tried, accounting)
        if errors < least - WORTHWHILE:
            chosen, least, weights = tried, errors, other
    numbers = range(len(asked))
    return (
        [tuple(each for place, each in chosen if place == number) for number in numbers],
        [
            {term: weight for (place, term), weight in weights.items() if place == number}
            for number in numbers
        ],
    )


def _best_weights(
    needed: Sequence[tuple[int, Needed]], accounting: Accounting
) -> tuple[float, dict[Named, Fraction]]:
    """The least sum of the logarithms of the squared errors, and the weights that reach it."""
    power = 2 if accounting is Accounting.BASIC else 1
    names = list(dict.fromkeys((number, term) for number, each in needed for term in each.terms))
    place = {name: position for position, name in enumerate(names)}
    rows = [
        [
            (place[number, term], float(error))
            for term, error in zip(each.terms, each.errors, strict=True)
        ]
        for number, each in needed
    ]
    weights = [1 / len(names)] * len(names)
    for _ in range(ROUNDS):
        pull = [0.0] * len(names)
        for row in rows:
            squared = math.fsum(error / weights[at] ** power for at, error in row)
            for at, error in row:
                pull[at] += error / squared
        # w^(power + 1) is in proportion to the pull where the product is least.
        wanted = [each ** (1 / (power + 1)) for each in pull]
        total = math.fsum(wanted)
        weights = [each / total for each in wanted]
    found = {
        name: Fraction(max(1, round(FINEST * weight)))
        for name, weight in zip(names, weights, strict=True)
    }
    whole = float(sum(found.values()))
    taken = [float(found[name]) / whole for name in names]
    errors = math.fsum(
        math.log(math.fsum(error / taken[at] ** power for at, error in row)) for row in rows
    )
    return errors, found


MOST_KEYS = 100_000
"""Found keys of one question."""


@dataclass(frozen=True, slots=True)
class Pick:
    """A choice in every group, and how it is made."""

    pick: Ranked
    scores: RankScores
    mechanism: Exponential

    def request(self, found: FoundKeys | None) -> ChoiceRequest:
        scores = self.scores
        if found is not None:
            scores = replace(scores, tally=replace(scores.tally, found=found))
        return ChoiceRequest(scores, self.mechanism)


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
    picks: tuple[Pick, ...] = ()
    """Choices in every group, such as the bucket of a median."""
    choice: ChoiceRequest | None = None
    """Cells chosen in every group, where that is all that is asked."""
    finder: PartitionSelection | None = None
    """How keys that no schema lists are named, before anything else is read."""

    def requests_for(self, keys: tuple[tuple[str, ...], ...]) -> tuple[TallyRequest, ...]:
        """The requests, once the keys are known."""
        found = FoundKeys(self.question.unlisted, keys)
        return tuple(
            TallyRequest(replace(request.query, found=found), request.mechanism)
            for request in self.requests
        )

    @property
    def choices(self) -> int:
        """How many choices in groups are made for the question."""
        return len(self.picks) + (self.choice is not None)

    def picks_for(self, keys: tuple[tuple[str, ...], ...] | None) -> tuple[ChoiceRequest, ...]:
        """The choices in groups, once the keys, if any, are known."""
        found = None if keys is None else FoundKeys(self.question.unlisted, keys)
        return tuple(pick.request(found) for pick in self.picks)

    @property
    def most_keys(self) -> int:
        """The most found keys that can be answered; further ones, in order, are left out."""
        cells = [prod(request.query.shape(self.schema)[1:]) for request in self.requests]
        groups = prod(key_size(key, self.schema) for key in self.question.groups)
        return min(MOST_KEYS, MOST_GROUPS // groups, *(MOST_CELLS // each for each in cells))

    @property
    def reads_public_rows(self) -> bool:
        return any(each.divides_by_rows for each in self.needed)

    def place(self, term: Term | Ranked) -> int:
        """Which measurement holds a term."""
        terms: list[Term | Ranked] = [request.query.term for request in self.requests]
        return terms.index(term)

    def law_of(self, term: Term | Ranked) -> NoiseLaw:
        """The noise of the measurement that holds a term."""
        return self.laws[self.place(term)]


def plan_question(
    question: CuratorQuestion, schema: Schema, *, budget: Budget, notion: Notion
) -> Planned:
    """Choose accounting and noise for a budget, under a cap that counts `notion`."""
    return plan_questions((question,), schema, budget=budget, notion=notion)[0]


def plan_questions(
    questions: Sequence[CuratorQuestion], schema: Schema, *, budget: Budget, notion: Notion
) -> tuple[Planned, ...]:
    """The same for several questions that one charge pays for. Each aggregate gets an equal share."""
    if not isinstance(budget, Budget):
        raise BadBudget(
            f"The budget must be a Budget, not {type(budget).__name__}. Nothing was read or charged."
        )
    choices = accountings(budget, notion=notion)
    if len(questions) > 1:
        _check_together(questions)
    if questions[0].unlisted:
        check_names_keys(budget, notion)
        choices = [Accounting.BASIC]  # naming keys has no rho and no mu
    options = [_under(accounting, questions, schema, budget) for accounting in choices]
    return min(options, key=_loudness)


def _check_together(questions: Sequence[CuratorQuestion]) -> None:
    for question in questions:
        kinds = [AGGREGATES[one.kind] for one in question.aggregates]
        if question.unlisted:
            raise BadQuestion(
                "Groups whose values are not declared are found for one condition at a time: ask without FILTER, "
                "CASE, ROLLUP and subqueries. Nothing was read or charged."
            )
        if any(kind.stands_alone for kind in kinds):
            raise BadQuestion(
                f"{question.aggregates[0].name} must be alone in its SELECT. Nothing was read or charged. Ask the "
                "rest in another question."
            )


def _loudness(planned: Sequence[Planned]) -> float:
    return math.fsum(math.log(law.std + 1e-300) for each in planned for law in each.laws)


def _under(
    accounting: Accounting, questions: Sequence[CuratorQuestion], schema: Schema, budget: Budget
) -> tuple[Planned, ...]:
    allowed = allowance(budget, accounting)
    if budget.notion is not Notion.EPSILON:
        budget = allowed  # a delta beside a rho would buy nothing
    first = questions[0]
    if AGGREGATES[first.aggregates[0].kind].chooses:
        return (_choosing(accounting, first, schema, budget, allowed),)
    finder = None
    aggregates = sum(len(question.aggregates) for question in questions)
    if first.unlisted:
        finder, allowed = _finding(budget, aggregates=aggregates)
        finder.law(keys_touched(schema)).certain  # noqa: B018 - refuses what cannot be tabulated
    share = allowed.times(Fraction(1, SHARES_OF_A_SHARE * aggregates))
    asked = [
        [
            _needed_for(one, question, schema, share=share, accounting=accounting)
            for one in question.aggregates
        ]
        for question in questions
    ]
    needed, weights = measured_once(asked, accounting)
    parts = iter(shares(allowed, [weight for each in weights for weight in each.values()]))
    found = tuple(
        Planned(
            question=question,
            schema=schema,
            charge=budget,
            accounting=accounting,
            needed=own,
            finder=finder,
            **_requests(question, {term: next(parts) for term in terms}, schema, accounting),
        )
        for question, own, terms in zip(questions, needed, weights, strict=True)
    )
    uses_delta = any(request.mechanism.cost().delta for each in found for request in each.requests)
    if accounting is Accounting.BASIC and budget.delta and not uses_delta and finder is None:
        # Laplace noise won everywhere: a delta that buys nothing is not charged.
        return _under(accounting, questions, schema, Budget(epsilon=budget.epsilon))
    return found


def _requests(
    question: CuratorQuestion,
    parts: dict[Term | Ranked, Budget],
    schema: Schema,
    accounting: Accounting,
) -> dict[str, Any]:
    """The tallies and choices of a question with their noise, and its laws."""
    requests: list[TallyRequest] = []
    laws: list[NoiseLaw] = []
    picks: list[Pick] = []
    for term, part in parts.items():
        if isinstance(term, Ranked):
            cells = Tally(
                Cells(term.column, term.shift), tally_groups(question.groups), question.condition
            )
            chosen_by = chooser(part, accounting, times=1)
            picks.append(Pick(term, RankScores(cells, term.level), chosen_by))
            continue
        tally = Tally(term, tally_groups(question.groups), question.condition)
        if question.unlisted:
            tally = replace(tally, found=FoundKeys(question.unlisted))
        moved = tally.sensitivity(schema)
        size = tally.size(schema) if tally.found is None else MOST_KEYS
        mechanism = least_error_mechanism(moved, size, share=part, accounting=accounting)
        law = mechanism.law(moved, size=size)
        check_drawable(law, what="The question")
        requests.append(TallyRequest(tally, mechanism))
        laws.append(law)
    return {"requests": tuple(requests), "laws": tuple(laws), "picks": tuple(picks)}


def check_names_keys(budget: Budget, notion: Notion) -> None:
    """Naming undeclared values needs a delta, and has no cost in rho or mu."""
    if not isinstance(budget, Budget) or budget.delta == 0 or budget.notion is not Notion.EPSILON:
        raise BadBudget(
            "Finding undeclared values needs a budget with an epsilon and a delta above 0, such as "
            "1e-9, because a name can reveal who holds it. Nothing was read or charged."
        )
    if notion is not Notion.EPSILON:
        raise BadBudget(
            f"This dataset's cap counts {notion.words}, and finding undeclared values has no cost in "
            f"{notion.words}. Nothing was read or charged. Declare the values, or a cap of an epsilon and a delta."
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
    tally = Tally(Cells(aggregate.column), tally_groups(question.groups), question.condition)
    tally.size(schema)
    mechanism = chooser(allowed, accounting, times=aggregate.chosen)
    return Planned(
        question=question,
        schema=schema,
        charge=budget,
        accounting=accounting,
        needed=(Needed(aggregate, (), ()),),
        choice=ChoiceRequest(CellScores(tally), mechanism, aggregate.chosen),
    )


def chooser(allowed: Budget, accounting: Accounting, *, times: int) -> Exponential:
    """The exponential mechanism that `times` uses of spend `allowed`, rounded down."""
    epsilon = selection_epsilon(allowed.times(Fraction(1, times)))
    if epsilon == 0:
        raise BadBudget("The budget is too small to choose with. Nothing was read or charged.")
    return Exponential(epsilon=epsilon)


def _needed_for(one: Aggregate, question: CuratorQuestion, schema: Schema, **more: Any) -> Needed:
    found: Needed = loaded(AGGREGATES[one.kind].needed)(one, question, schema, **more)
    return found


def check_not_empty(budget: Budget | None, accuracy: object) -> None:
    """Exactly one of the two says what the question may cost."""
    if (budget is None) == (accuracy is None):
        raise BadInput(
            "Give a budget, or an accuracy such as '±50 at 95%', and not both. Nothing was read or charged."
        )
