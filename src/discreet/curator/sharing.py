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


def measured_once(
    needed: Sequence[Needed], accounting: Accounting
) -> tuple[tuple[Needed, ...], dict[Term | Ranked, Fraction]]:
    """The tallies to measure, each with its weight, and for each aggregate the way that they serve.

    An aggregate takes its other way where the expected errors of all together are then smaller.
    """
    chosen = [replace(each, otherwise=None) for each in needed]
    least, weights = _best_weights(chosen, accounting)
    for place, each in enumerate(needed):
        if each.otherwise is None:
            continue
        tried = list(chosen)
        tried[place] = each.otherwise
        errors, other = _best_weights(tried, accounting)
        if errors < least - WORTHWHILE:
            chosen, least, weights = tried, errors, other
    return tuple(chosen), weights


def _best_weights(
    needed: Sequence[Needed], accounting: Accounting
) -> tuple[float, dict[Term | Ranked, Fraction]]:
    """The least sum of the logarithms of the squared errors, and the weights that reach it."""
    power = 2 if accounting is Accounting.BASIC else 1
    terms = list(dict.fromkeys(term for each in needed for term in each.terms))
    place = {term: number for number, term in enumerate(terms)}
    rows = [
        [(place[term], float(error)) for term, error in zip(each.terms, each.errors, strict=True)]
        for each in needed
    ]
    weights = [1 / len(terms)] * len(terms)
    for _ in range(ROUNDS):
        pull = [0.0] * len(terms)
        for row in rows:
            squared = math.fsum(error / weights[at] ** power for at, error in row)
            for at, error in row:
                pull[at] += error / squared
        # w^(power + 1) is in proportion to the pull where the product is least.
        wanted = [each ** (1 / (power + 1)) for each in pull]
        total = math.fsum(wanted)
        weights = [each / total for each in wanted]
    found = {
        term: Fraction(max(1, round(FINEST * weight)))
        for term, weight in zip(terms, weights, strict=True)
    }
    whole = float(sum(found.values()))
    taken = [float(found[term]) / whole for term in terms]
    errors = math.fsum(
        math.log(math.fsum(error / taken[at] ** power for at, error in row)) for row in rows
    )
    return errors, found
