"""Each thing is measured once: how the tallies of a question share its budget.

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
from dataclasses import replace
from fractions import Fraction

from discreet.curator.needed import Needed, Ranked
from discreet.privacy.cost import Accounting
from discreet.queries.tallies import Term

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
