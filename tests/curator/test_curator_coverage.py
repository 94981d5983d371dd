"""Intervals hold the truth as often as they say, on skewed, tiny and empty groups.

Each draw is a whole question over many groups, so a few dozen draws pool thousands of (draw, group)
pairs. The groups of one draw have noise of their own, so the pairs are independent given the table;
the count of misses is then binomial at worst, and the bound below allows false alarms of 1e-9.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import date
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom

import discreet as dc
from discreet.curator.answers.answering import Measured, answers_from
from discreet.curator.answers.intervals import listed_width, ratio_interval
from discreet.curator.planning import plan_question
from discreet.engines import open_engine
from discreet.families.shared.estimate.combination import half_width
from discreet.privacy.laws import (
    DiscreteGaussianLaw,
    DiscreteLaplaceLaw,
    NoiseLaw,
    RoundedGaussianLaw,
)
from discreet.questions.dialects.curator_sql import parse_curator_question
from discreet.schema.columns.ordered import OrderedColumn
from tests.curator.coverage import OF_GROUPS, SCHEMA, START, WHAT, exact_of, missed


@pytest.mark.parametrize("what", WHAT)
def test_intervals_hold_the_truth_in_95_of_100_draws(what: str) -> None:
    """False alarm 1e-9; catches a true coverage of .91 or less with 1,500 pairs."""
    misses, pairs, _ = missed(what, 30, budget=dc.Budget(epsilon=1))
    assert misses <= binom.isf(1e-9, pairs, 0.05)


@pytest.mark.trust
@pytest.mark.parametrize("what", WHAT)
@pytest.mark.parametrize(
    "budget", [dc.Budget(epsilon="1/4"), dc.Budget(epsilon=2), dc.Budget(rho="1/10")], ids=str
)
@pytest.mark.parametrize("adjacency", ["add-remove", "change-one"])
def test_pooled_coverage_is_at_least_945_in_1000(
    what: str, budget: dc.Budget, adjacency: str
) -> None:
    """20,000 pairs: an exact 95% interval falls below .945 with probability 6e-4 at worst, so the
    bound is the binomial quantile of 1e-7, .942."""
    draws = 820 if what in OF_GROUPS else 520  # some groups have no exact answer
    misses, pairs, width = missed(what, draws, adjacency=adjacency, budget=budget)
    assert pairs >= 20_000
    assert misses <= binom.isf(1e-7, pairs, 0.05), f"{1 - misses / pairs} at width {width}"


@pytest.mark.parametrize("mean", [90, 500, 900])
def test_a_means_interval_is_as_wide_as_the_noise_of_sum_and_count_together(mean: int) -> None:
    """No draw is made: at either end t the sum less t times the count is off by that noise's quantile."""
    above, below = DiscreteLaplaceLaw(Fraction(40)), DiscreteLaplaceLaw(Fraction(5))
    rows, level = 1000.0, Fraction(95, 100)
    (lower,), (upper,) = ratio_interval(
        np.array([mean * rows]),
        np.array([rows]),
        unit=1.0,
        above=above,
        below=below,
        low=0.0,
        high=1000.0,
        confidence=level,
    )
    for end in (lower, upper):
        needed = half_width([(1.0, above, 1), (end, below, 1)], level)
        assert abs(mean - end) * rows >= needed * (1 - 1e-3) - 1


def laplace(scale: Fraction) -> NoiseLaw:
    return DiscreteLaplaceLaw(scale)


def discrete_gaussian(sigma: Fraction) -> NoiseLaw:
    return DiscreteGaussianLaw(sigma**2)


def rounded_gaussian(sigma: Fraction) -> NoiseLaw:
    return RoundedGaussianLaw(sigma**2)


@pytest.mark.parametrize(
    "scales", [("7", "3"), ("1e6", "2.5"), ("1/2", "40"), ("90000", "1/3")], ids=str
)
@pytest.mark.parametrize("t", [0.0, 0.3, 25.0])
@pytest.mark.parametrize("confidence", ["0.5", "0.95", "0.999"])
@pytest.mark.parametrize("law", [laplace, discrete_gaussian, rounded_gaussian])
def test_the_listed_width_of_two_draws_agrees_with_the_convolved_one(
    law: Callable[[Fraction], NoiseLaw], scales: tuple[str, str], t: float, confidence: str
) -> None:
    """Within what either adds for its own rounding: three thousandths (the general one inverts a
    characteristic function, and rounds outward), a ten-thousandth, and half a lattice step each."""
    above, below = (law(Fraction(scale)) for scale in scales)
    unit = 1.0
    quick = listed_width(unit, above, t, below, float(1 - Fraction(confidence)))
    slow = half_width([(unit, above, 1), (t, below, 1)], Fraction(confidence))
    assert quick is not None
    assert abs(quick - slow) <= 3.1e-3 * slow + max(unit, t)


def test_a_sums_interval_covers_what_rounding_every_row_alike_takes_away() -> None:
    """Without noise: 200,000 rows that all lie just below a middle between two steps of the grid."""
    schema = dc.Schema.loads(SCHEMA.format(adjacency="add-remove", last=1))
    question = parse_curator_question("SELECT sum(pay) FROM people", schema)
    planned = plan_question(
        question, schema, budget=dc.Budget(epsilon=20_000), notion=dc.Budget(epsilon=1).notion
    )
    grid = planned.requests[0].query.term.grid  # type: ignore[union-attr]
    value, rows = 3 + 0.499 / grid, 200_000
    frame = pd.DataFrame({"place": 0, "age": 1, "pay": np.full(rows, value), "seen": START})
    with open_engine(frame, schema) as engine:
        exact = engine.tally([request.query for request in planned.requests])
    measured = Measured(values=tuple(exact), laws=planned.laws)
    answer = answers_from(planned, measured, confidence=0.95).only
    truth = math.fsum(frame["pay"])
    assert answer.lower <= truth <= answer.upper
    assert (
        answer.upper - answer.lower < 3
    )  # bounds of 1,000 at epsilon 20,000: rounding adds little
    assert rows * 0.499 / grid > 3  # what rounding row by row would have lost


MOMENTS = {
    "years": ("date", "year", ["1990-01-01", "2020-12-31"], ["1991-05-17", "2003-02-28"]),
    "weeks": ("date", "week", ["2019-12-30", "2020-12-27"], ["2020-02-29", "2020-11-01"]),
    "hours": ("datetime", "hour", ["2020-01-01", "2020-01-09"], ["2020-01-02T03:04:05"]),
    "a far year": (
        "datetime",
        "millisecond",
        ["8000-01-01", "8000-01-01T00:02:00"],
        ["8000-01-01T00:01:05.6"],
    ),
}


@pytest.mark.parametrize("which", MOMENTS)
def test_the_median_of_moments_lies_in_its_cell_and_is_one_of_them(which: str) -> None:
    """Without noise: the interval is the median's cell, rounded outward where a double is too short."""
    kind, granularity, ends, values = MOMENTS[which]
    schema = dc.Schema.loads(
        f'dataset = "visits"\n[columns.seen]\nkind = "{kind}"\nrange = {ends}\ngranularity = "{granularity}"'
    )
    sql = "SELECT median(seen) FROM visits"
    question = parse_curator_question(sql, schema)
    budget = dc.Budget(epsilon=500)
    planned = plan_question(question, schema, budget=budget, notion=budget.notion)
    frame = pd.DataFrame({"seen": [value for value in values for _ in range(9)] + [ends[0]]})
    with open_engine(frame, schema) as engine:
        exact, picks = exact_of(planned, engine)
    scored = zip(planned.picks, picks, strict=True)
    best = tuple(
        pick.scores.evaluate(counts, schema).argmax(axis=1).reshape(-1, 1)
        for pick, counts in scored
    )
    answer = answers_from(
        planned, Measured(values=tuple(exact), laws=planned.laws, picked=best), confidence=0.95
    ).only
    column = schema.column("seen")
    assert isinstance(column, OrderedColumn)
    truth = column.unit_of(values[0])
    assert truth is not None
    first, last = column.extent(column.code_of_unit(truth))
    assert answer.unit.value == kind
    assert answer.lower <= first <= truth <= last <= answer.upper
    step = max(answer.upper - answer.lower - (last - first), 0)
    assert step <= 2 * math.ulp(answer.upper)
    assert isinstance(answer.value, date)
