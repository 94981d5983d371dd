"""A plan takes the best algorithm, gives the right reason, and warns of what it should."""

from __future__ import annotations

import pytest

from discreet.errors import BadInput
from discreet.privacy.budget import Budget
from discreet.privacy.guidance import guidance
from discreet.releases import TargetError, plan
from discreet.schema import Schema

NUMBERS = """
dataset = "points"
adjacency = "{adjacency}"
people = 20000
[columns.a]
kind = "integer"
range = [0, 9]
nulls = "exclude"
[columns.b]
kind = "integer"
range = [0, 9]
nulls = "exclude"
"""


def wide_schema(people):
    columns = "".join(
        f'[columns.c{k}]\nkind = "integer"\nrange = [0, {3 + 2 * k}]\n' for k in range(5)
    )
    return Schema.loads(f'dataset = "wide"\npeople = {people}\n{columns}')


def test_an_error_is_solved_for_by_the_best_algorithm_whose_error_is_known():
    """So few people that the automatic choice is a model, whose errors nobody knows beforehand."""
    schema = wide_schema(1000)
    target = TargetError(query_class="marginals(2)", relative=0.1)
    found = plan(schema, workload="marginals(2)", target=target)
    named = {
        name: plan(
            schema, workload="marginals(2)", target=target, algorithms={"marginals(2)": name}
        ).budget.epsilon
        for name in ("direct", "residuals")
    }
    assert found.budget.epsilon == min(named.values())
    best = min(named, key=named.__getitem__)
    assert f"--algorithm 'marginals(2)={best}'" in found.classes[0].error.note
    given = plan(
        schema, workload="marginals(2)", target=target, algorithms={"marginals(2)": "direct"}
    )
    assert given.classes[0].algorithm == "direct"
    assert "--algorithm" not in given.classes[0].error.note


@pytest.mark.parametrize(
    "text", ["halfspaces(a, b, gamma=0.5)", "halfspaces(a, b, projections=5x2)"]
)
def test_gamma_and_projections_are_used_or_refused(text):
    budget = Budget(epsilon=1)
    used = plan(Schema.loads(NUMBERS.format(adjacency="change-one")), workload=text, budget=budget)
    assert used.classes[0].algorithm == "net"
    secret = Schema.loads(NUMBERS.format(adjacency="add-remove"))
    with pytest.raises(BadInput, match="gamma= and projections= are for the literal net alone"):
        plan(secret, workload=text, budget=budget)
    named = {text: "tree"}
    with pytest.raises(BadInput, match="leave them out"):
        plan(secret, workload=text, budget=budget, algorithms=named)


def test_a_grid_that_knows_no_bound_of_all_queries_says_just_that():
    schema = Schema.loads(NUMBERS.format(adjacency="add-remove"))
    asked = "halfspaces(a, b)"
    target = TargetError(query_class=asked, relative=0.01, simultaneous=True)
    with pytest.raises(BadInput, match="no bound of all queries at once"):
        plan(schema, workload=asked, target=target, algorithms={asked: "cells"})


@pytest.mark.parametrize(
    ("delta", "warned"), [("9.9e-8", True), ("2e-8", True), ("1e-8", False), ("1e-10", False)]
)
def test_a_delta_not_far_below_one_in_the_number_of_people_is_warned_of(delta, warned):
    said = guidance(Budget(epsilon=1, delta=delta), people=10**7)
    assert bool(said) is warned
    assert all("1 in 10,000,000 people" in each and "1e-08 or less" in each for each in said)
