"""An adaptive tree, replayed on neighbours: the same tree, and no path that tells them apart by more than it paid."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from discreet.audits.losses import drawn_levels, step_losses
from discreet.audits.observing import recording, replaying
from discreet.core.refining import Schedule
from discreet.core.vault import Vault
from discreet.errors import BadInput
from discreet.families.shared.estimate.public_random import generator as public_generator
from discreet.ledger import Ledger
from discreet.privacy.budget import Budget
from discreet.queries.tree import Tree
from discreet.schema import Schema
from tests.memory_engine import MemoryEngine

TREE = Tree(columns=("x",), depths=((0,), (2,), (4,), (6,)))
SCHEDULE = Schedule(
    shares=(Fraction(1, 8), Fraction(1, 8), Fraction(1, 4), Fraction(1, 2)), deciding=Fraction(1, 2)
)
EPSILON = Fraction(1)
WEIGHTED = Schedule(
    shares=(Fraction(1, 4), Fraction(1, 8), Fraction(1, 8), Fraction(1, 2)),
    deciding=Fraction(1, 2),
    weights=(2, 7, 5, 0),
)


def schema_of(adjacency):
    return Schema.loads(
        f'dataset = "d"\nadjacency = "{adjacency}"\n[columns.x]\nkind = "integer"\nrange = [0, 59]\n'
    )


def stop(view):
    return view.first < 3 + view.level


def refined(schema, values, ledger, schedule=SCHEDULE):
    vault = Vault(MemoryEngine(schema, [{"x": value} for value in values]), schema, ledger)
    grant = vault.charge(Budget(epsilon=EPSILON), purpose="audit", request="audit")
    return grant.refine(TREE, epsilon=EPSILON, schedule=schedule, stop=stop)


@pytest.mark.parametrize("adjacency", ["add-remove", "change-one"])
def test_neighbours_get_the_same_tree_and_no_more_than_epsilon_tells_them_apart(
    tmp_path, adjacency
):
    schema, generator = schema_of(adjacency), public_generator(None)
    largest = Fraction(0)
    for turn in range(12):
        # Every other time the row that differs lies beyond all others, where a tree must not end with the rows.
        beyond = turn % 2 == 0
        values = generator.integers(0, 30 if beyond else 60, 1 + 4 * turn).tolist()
        fresh = [59 if beyond else int(generator.integers(60))]
        other = [*values[1:], *fresh] if adjacency == "change-one" else [*values, *fresh]
        with recording() as tape, Ledger.open(tmp_path / f"{turn}a.db") as ledger:
            one = refined(schema, values, ledger)
        with replaying(tape) as again, Ledger.open(tmp_path / f"{turn}b.db") as ledger:
            two = refined(schema, other, ledger)
        assert again.questions == tape.questions, "which nodes are read hangs on noisy numbers only"
        for left, right in zip(one.levels, two.levels, strict=True):
            for name in ("nodes", "first", "values", "stopped"):
                assert np.array_equal(getattr(left, name), getattr(right, name)), name
        losses = step_losses(tape.steps, again.steps, iter(one.levels))
        total = sum((loss.epsilon or Fraction(0) for loss in losses), Fraction(0))
        assert total <= EPSILON
        largest = max(largest, total)
    assert largest > EPSILON / 3, "neighbours that never differ would prove nothing"


@pytest.mark.parametrize("adjacency", ["add-remove", "change-one"])
def test_every_path_below_a_weighted_root_costs_exactly_its_epsilon(tmp_path, adjacency):
    """By the laws that were drawn from: one row more, in each place of the first level; or one that moves there."""
    schema, generator = schema_of(adjacency), public_generator(None)
    values = generator.integers(0, 60, 40).tolist()
    for place, value in enumerate((0, 15, 16, 31, 32, 47, 48, 59)):
        other = [*values, value] if adjacency == "add-remove" else [*values[1:], value]
        with recording() as tape, Ledger.open(tmp_path / f"{place}a.db") as ledger:
            one = refined(schema, values, ledger, WEIGHTED)
        with replaying(tape) as again, Ledger.open(tmp_path / f"{place}b.db") as ledger:
            two = refined(schema, other, ledger, WEIGHTED)
        for left, right in zip(one.levels, two.levels, strict=True):
            assert np.array_equal(left.values, right.values)
        losses = step_losses(tape.steps, again.steps, drawn_levels(one))
        total = sum((loss.epsilon or Fraction(0) for loss in losses), Fraction(0))
        assert total <= EPSILON
        assert adjacency == "change-one" or total == EPSILON


def test_a_weighted_root_counts_each_row_by_its_weight(tmp_path):
    """At epsilon 10^4 every draw is 0 but for a chance below 1e-9."""
    schema = schema_of("add-remove")
    with Ledger.open(tmp_path / "l.db") as ledger:
        vault = Vault(MemoryEngine(schema, [{"x": v} for v in (0, 1, 16, 40, 59)]), schema, ledger)
        grant = vault.charge(Budget(epsilon=10**4), purpose="t", request="t")
        tree = grant.refine(
            TREE,
            epsilon=Fraction(10**4),
            schedule=WEIGHTED,
            stop=lambda view: np.zeros(len(view.nodes), dtype=bool),
        )
    assert tree.levels[0].values.tolist() == [2 + 2 + 7 + 5 + 0]
    assert tree.levels[1].values.tolist() == [2, 1, 1, 1] and tree.weights == WEIGHTED.weights


@pytest.mark.parametrize("weights", [(1, 1, 1), (0, 0, 0, 0), (1, 2, 3, -1), (1, 1, 1, 1 << 11)])
def test_weights_that_do_not_fit_are_refused_before_anything_is_read(tmp_path, weights):
    schema = schema_of("add-remove")
    with (
        Ledger.open(tmp_path / "l.db") as ledger,
        pytest.raises(BadInput, match="weight"),
    ):
        refined(schema, [1], ledger, replace(WEIGHTED, weights=weights))


def test_every_node_of_a_level_is_published_whether_rows_lie_there_or_not(tmp_path):
    schema = schema_of("add-remove")
    everywhere = Schedule(shares=(Fraction(1, 4),) * 4, deciding=Fraction(1))
    for name, values in (("none", []), ("one", [7]), ("many", list(range(60)))):
        with Ledger.open(tmp_path / f"{name}.db") as ledger:
            vault = Vault(MemoryEngine(schema, [{"x": v} for v in values]), schema, ledger)
            grant = vault.charge(Budget(epsilon=1), purpose="t", request="t")
            tree = grant.refine(
                TREE,
                epsilon=EPSILON,
                schedule=everywhere,
                stop=lambda view: np.zeros(len(view.nodes), dtype=bool),
            )
        assert [len(level.nodes) for level in tree.levels] == [1, 4, 15, 60]
