"""What one person can move, under every unit, adjacency and budget, is paid for; and no extreme value stops a question.

The long part of both: `python -m tests.harness.loss_neighbours` and `python -m tests.harness.edge_expressions`.
"""

from __future__ import annotations

from random import SystemRandom
from typing import Any

import pytest

from discreet.queries import tallies
from tests.harness import edge_expressions
from tests.harness.loss_neighbours import audit, audit_releases


def test_no_neighbour_is_told_apart_by_more_than_a_question_costs_under_any_unit() -> None:
    """The loss is bounded by what the noise was drawn for, so chance fails nothing; a failure names its seed."""
    seed = SystemRandom().randrange(10**9)
    found, _ = audit(5, seed, asked=4, neighbours=3)
    assert not found, f"seed {seed}: {found[0]}"


@pytest.mark.trust
def test_no_neighbour_is_told_apart_by_any_of_many_questions_in_any_source() -> None:
    seed = SystemRandom().randrange(10**9)
    found, seen = audit(400, seed, kinds=("arrow", "parquet", "csv", "duckdb", "postgres"))
    assert not found, f"seed {seed}: {found[0]}"
    assert {"tally", "choose"} <= set(seen), "nothing was moved: the audit looked at nothing"


@pytest.mark.trust
def test_no_neighbour_is_told_apart_by_any_of_many_releases() -> None:
    seed = SystemRandom().randrange(10**9)
    found, _ = audit_releases(60, seed)
    assert not found, f"seed {seed}: {found[0]}"


@pytest.mark.trust
def test_the_audit_sees_a_sensitivity_that_is_too_small(monkeypatch: pytest.MonkeyPatch) -> None:
    """A planted bug: one row of a person is paid for, however many are kept."""
    correct = tallies.Tally.sensitivity

    def smaller(self: tallies.Tally, schema: Any) -> Any:
        found = correct(self, schema)
        return type(found)(l1=max(1, found.l1 // 3), l2_squared=max(1, found.l2_squared // 9))

    monkeypatch.setattr(tallies.Tally, "sensitivity", smaller)
    found, _ = audit(20, 3, asked=10, neighbours=4)
    assert any("told apart" in line for line in found)


def test_no_extreme_value_stops_an_expression() -> None:
    seed = SystemRandom().randrange(10**9)
    assert edge_expressions.audit("duckdb", depth=2, most=60, seed=seed) == []


@pytest.mark.trust
@pytest.mark.parametrize("kind", ["duckdb", "postgres", "spark"])
def test_no_extreme_value_stops_an_expression_inside_another(kind: str) -> None:
    assert edge_expressions.audit(kind, depth=2, most=300) == []
