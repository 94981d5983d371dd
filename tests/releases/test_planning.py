"""A plan says what a release will be like, without opening anything."""

from __future__ import annotations

import json
import math
from fractions import Fraction

import numpy as np
import pytest

from discreet.core.noise import DrawnNoise
from discreet.errors import BadInput
from discreet.families.numbers.queries.one_number import Means
from discreet.privacy.budget import Budget
from discreet.releases import planning, run
from discreet.releases.planning import plan
from discreet.releases.preparing import prepare
from discreet.releases.targets import TargetError
from tests.releasing import release

HALF = Budget(epsilon="1/2")
WORKLOAD = ["marginals(2)", "means(age)", "sums(income)"]


def test_a_plan_opens_nothing(make_schema, monkeypatch):
    def opened(*_: object, **__: object) -> None:
        raise AssertionError("something was opened")

    monkeypatch.setattr(run, "open_engine", opened)
    monkeypatch.setattr("builtins.open", opened)
    monkeypatch.setattr("pathlib.Path.open", opened)
    planned = plan(make_schema(), budget=HALF, workload=WORKLOAD, rows=1000)
    assert len(planned.classes) == len(WORKLOAD)


def test_a_plan_has_one_row_a_class_and_is_plain_data(make_schema):
    planned = plan(make_schema(), budget=HALF, workload=WORKLOAD, rows=1000)
    assert [row["class"] for row in planned.rows()] == WORKLOAD
    assert json.loads(json.dumps(planned.to_dict()))["rows"] == 1000
    for row in planned.rows():
        assert row["expected_error"] < row["half_width"] <= row["simultaneous_bound"]
        assert row["relative_error"] > 0
    assert not any("open" in name for name in vars(planning))


def test_what_is_planned_is_what_is_released(engines, ledger, make_schema, make_person):
    planned = plan(make_schema(), budget=HALF, workload=WORKLOAD, rows=1000)
    made = release([make_person()], make_schema(), budget=HALF, workload=WORKLOAD, ledger=ledger)
    for each, part in zip(planned.classes, made.parts, strict=True):
        assert each.query_class == part.query_class.text
        assert each.algorithm == part.algorithm
        assert [entry["law"] for entry in each.noise] == [
            measured.law.to_dict() for measured in part.measurements
        ]
    bounds = [each.error.simultaneous for each in planned.classes]
    claimed = [claim.bound for claim in made.claims if claim.simultaneous]
    # Of one row nearly all is noise: counts of at least 0 that add up lie further from what was measured.
    assert claimed[0] >= bounds[0] and claimed[2] == bounds[2]


@pytest.mark.parametrize("adjacency", ["add-remove", "change-one"])
@pytest.mark.parametrize(
    "budget", [HALF, Budget(rho="1/20"), Budget(epsilon=1, delta="1/1000")], ids=str
)
def test_the_expected_error_agrees_with_real_noise(make_schema, adjacency, budget):
    """The mean of 20,000 absolute errors within 5.5 standard errors: false alarm below 1e-7 a class;
    caught almost surely: an expected error off by 6% or more."""
    schema = make_schema(adjacency)
    noise = DrawnNoise()
    draws, rows = 20_000, 100_000
    for part in prepare(
        schema,
        budget=budget,
        workload=["marginals(1)", "means(age)", "sums(income)"],
        algorithms={"marginals(1)": "direct"},
    ).parts:
        planned = part.error(rows=rows, confidence=0.95).expected
        laws = [
            request.mechanism.law(
                request.query.sensitivity(schema), size=request.query.size(schema)
            )
            for request in part.requests
        ]
        match part.query_class.name:
            case "marginals":
                sizes = [request.query.size(schema) for request in part.requests]
                errors = sum(
                    np.abs(noise.draw(law, draws)) * (size / sum(sizes))
                    for law, size in zip(laws, sizes, strict=True)
                )
            case "sums":
                errors = np.abs(noise.draw(laws[0], draws)) / part.query.grid
            case _:  # a mean a quarter of the width off the middle
                shift, grid = 99 / 4, part.total.grid
                total, count = noise.draw(laws[0], draws), noise.draw(laws[1], draws)
                estimate = (shift * rows + total / grid) / (rows + count)
                errors = np.abs(estimate - shift)
        tolerance = 5.5 * float(np.std(errors)) / math.sqrt(draws) + 1e-3 * planned
        assert abs(float(np.mean(errors)) - planned) < tolerance


def test_a_mean_without_a_number_of_rows_says_what_is_missing(make_schema):
    (row,) = plan(make_schema(), budget=HALF, workload="means(age)").rows()
    assert row["expected_error"] is None and "number of rows" in row["note"]
    (row,) = plan(make_schema(facts="people = 5000"), budget=HALF, workload="means(age)").rows()
    assert row["expected_error"] > 0


@pytest.mark.parametrize(
    "target",
    [
        TargetError(query_class="marginals(2)", half_width=40),
        TargetError(query_class="marginals(2)", half_width=40, simultaneous=True, confidence=0.99),
        TargetError(query_class="means(age)", half_width=0.5),
        TargetError(query_class=Means("age"), relative=0.001),
        TargetError(query_class="sums(income)", relative=0.01),
    ],
    ids=lambda target: f"{target.text}",
)
@pytest.mark.parametrize("delta", [0, Fraction(1, 10**6)])
def test_the_epsilon_that_is_solved_for_meets_the_target_and_a_hundredth_less_does_not(
    make_schema, target, delta
):
    schema = make_schema()
    solved = plan(schema, workload=WORKLOAD, target=target, rows=20_000, delta=delta)
    assert solved.solved == "epsilon"

    def is_met(epsilon: Fraction) -> bool:
        prospect = prepare(schema, budget=Budget(epsilon=epsilon, delta=delta), workload=WORKLOAD)
        (part,) = (part for part in prospect.parts if part.query_class.text == target.text)
        return target.is_met(part, rows=20_000)

    assert is_met(solved.budget.epsilon)
    assert not is_met(solved.budget.epsilon * Fraction(98, 100))
    assert (solved.budget.epsilon * 10**8).denominator == 1


@pytest.mark.parametrize(
    "target",
    [
        TargetError(query_class="marginals(2)", relative=0.01),
        TargetError(query_class="means(age)", half_width=0.1),
        TargetError(query_class="sums(income)", relative=0.01),
    ],
    ids=lambda target: target.text,
)
def test_the_rows_that_are_solved_for_are_the_fewest_that_meet_the_target(make_schema, target):
    solved = plan(make_schema(), budget=HALF, workload=WORKLOAD, target=target, solve="rows")
    needed = solved.rows_assumed
    (part,) = (
        part
        for part in prepare(make_schema(), budget=HALF, workload=WORKLOAD).parts
        if part.query_class.text == target.text
    )
    assert target.is_met(part, rows=needed)
    assert not target.is_met(part, rows=needed - 1)


REFUSED = {
    "no budget": ({"budget": None}, "needs a budget"),
    "solving without a target": ({"solve": "rows"}, "needs a target"),
    "rows that cannot help": (
        {"target": TargetError(query_class="marginals(2)", half_width=0.5), "solve": "rows"},
        "No number of rows",
    ),
    "a target for another class": (
        {"target": TargetError(query_class="marginals(1)", relative=0.5), "solve": "rows"},
        "the workload has",
    ),
    "solving for epsilon with a budget": (
        {"target": TargetError(query_class="marginals(2)", relative=0.5), "solve": "epsilon"},
        "takes no budget",
    ),
    "solving for delta": (
        {"target": TargetError(query_class="marginals(2)", relative=0.5), "solve": "delta"},
        "'epsilon' or for 'rows'",
    ),
    "no rows": ({"rows": 0}, "at least 1"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_a_bad_plan_is_refused_in_words(make_schema, what):
    change, words = REFUSED[what]
    with pytest.raises(BadInput, match=words):
        plan(make_schema(), **({"budget": HALF, "workload": WORKLOAD} | change))


def test_a_relative_target_without_rows_asks_for_them(make_schema):
    with pytest.raises(BadInput, match="give `rows`"):
        plan(
            make_schema(),
            workload=WORKLOAD,
            target=TargetError(query_class="marginals(2)", relative=0.1),
        )


@pytest.mark.parametrize(
    "bad",
    [{}, {"half_width": 1, "relative": 1}, {"half_width": 0}, {"relative": math.inf}],
    ids=str,
)
def test_a_target_is_one_positive_number(bad):
    with pytest.raises(BadInput):
        TargetError(query_class="marginals(2)", **bad)


def test_a_large_budget_is_warned_about(make_schema):
    assert plan(make_schema(), budget=HALF, workload=WORKLOAD).warnings == ()
    (warning,) = plan(make_schema(), budget=Budget(epsilon=20), workload=WORKLOAD).warnings
    assert "epsilon is 20" in warning


@pytest.mark.parametrize(
    "budget", [Budget(epsilon=10**9, delta="1e-9"), Budget(epsilon=10**12)], ids=str
)
def test_a_budget_that_leaves_no_noise_is_planned_and_not_divided_by(make_schema, budget):
    for text in ("intervals(age)", "means(age by sex)", "marginals(2)"):
        assert plan(make_schema(), budget=budget, workload=[text]).warnings


def test_no_error_is_solved_for_where_only_noisy_numbers_will_tell_it(make_schema):
    target = TargetError(query_class="marginals(2)", half_width=5)
    with pytest.raises(BadInput, match=r"released by 'adaptive' here.*Name another algorithm"):
        plan(
            make_schema(),
            workload=["marginals(2)"],
            budget=HALF,
            target=target,
            algorithms={"marginals(2)": "adaptive"},
        )
