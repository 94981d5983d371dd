"""Releases replayed on neighbours: nothing but the exact numbers differs, and those by no more than was paid for."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from discreet.artifacts.measurement import Measurement
from discreet.audits.guessing.tables import GeneratedTable
from discreet.audits.observing import Divergence, Step
from discreet.core.vault import Grant
from discreet.families.shared.estimate.public_random import generator as public_generator
from discreet.privacy.budget import Budget
from discreet.schema import Schema
from tests.harness.material.tables import all_algorithms, possible, random_table
from tests.harness.random_neighbours import neighbours
from tests.harness.replay import audit_pairs, check_neighbours, compared, traced
from tests.releasing import release

SCHEMA = Schema.loads(
    """
dataset = "audit"
adjacency = "add-remove"
[columns.integer]
kind = "integer"
range = [-3, 8]
"""
)
TABLE = GeneratedTable(schema=SCHEMA, header=("integer",), rows=(("1",), ("5",), ("x",)))
NEIGHBOUR = replace(TABLE, rows=(*TABLE.rows, ("5",)))


def fresh():
    return public_generator(None)


def run_of(schema, workload, budget=None):
    def run(path, ledger, progress):
        return release(
            path,
            schema,
            budget=budget or Budget(epsilon=1),
            workload=workload,
            ledger=ledger,
            progress=progress,
        )

    return run


OF_UNDECLARED = {"named-keys"}
"""Releases of columns whose values no schema declares. The random tables have none; tests/keys replays them."""


def test_random_releases_of_random_tables_never_give_a_neighbour_away():
    audited = audit_pairs(60, fresh())
    assert audited.pairs == 60
    assert audited.largest_rho > 0, "neighbours that never differ would prove nothing"


@pytest.mark.trust
def test_ten_thousand_pairs_of_neighbours():
    audited = audit_pairs(10_000, fresh(), per_table=8)
    every = {algorithm.name for options in all_algorithms().values() for algorithm in options}
    assert set(audited.algorithms) == every - OF_UNDECLARED, "each registered algorithm took part"


def test_every_registered_algorithm_is_reached_by_the_audit():
    seen = set()
    generator = fresh()
    for _ in range(60):
        seen |= {name for _, name in possible(random_table(generator).schema)}
    every = {algorithm.name for options in all_algorithms().values() for algorithm in options}
    assert seen == every - OF_UNDECLARED


def test_the_loss_of_one_added_row_is_exactly_what_was_charged():
    (losses,) = check_neighbours(TABLE, [NEIGHBOUR], run_of(SCHEMA, "histogram(integer)"))
    assert sum(loss.epsilon for loss in losses) == 1


def test_neighbours_are_neighbours():
    generator = fresh()
    for _ in range(200):
        table = random_table(generator)
        for other in neighbours(table, generator, most=3):
            mine, theirs = list(table.rows), list(other.rows)
            if table.schema.unit.identifier is None:
                for row in table.rows:
                    if row in theirs:
                        theirs.remove(row)
                        mine.remove(row)
                assert len(mine) + len(theirs) <= (2 if len(table.rows) == len(other.rows) else 1)
            else:
                changed = set(mine) ^ set(theirs)
                assert len({row[0] for row in changed}) <= 1


# --- the oracle itself must see what it is there to see -----------------------------------


def test_noise_half_as_large_as_charged_is_seen(monkeypatch):
    honest = Grant.measure

    def cheating(self, requests):
        doubled = [
            replace(
                request, mechanism=replace(request.mechanism, epsilon=request.mechanism.epsilon * 2)
            )
            for request in requests
        ]
        self._spend = lambda costs: None
        return honest(self, doubled)

    monkeypatch.setattr(Grant, "measure", cheating)
    with pytest.raises(Divergence, match="charged 1"):
        check_neighbours(TABLE, [NEIGHBOUR], run_of(SCHEMA, "histogram(integer)"))


def test_a_question_that_depends_on_the_rows_is_seen(monkeypatch):
    honest = Grant.measure

    def curious(self, requests):
        if self._engine.row_count() > 3:
            self._engine.row_count()
        return honest(self, requests)

    monkeypatch.setattr(Grant, "measure", curious)
    with pytest.raises(Divergence, match="other questions"):
        check_neighbours(TABLE, [NEIGHBOUR], run_of(SCHEMA, "histogram(integer)"))


def test_an_exact_number_in_the_file_is_seen(monkeypatch):
    honest = Grant.measure

    def leaking(self, requests):
        measured = honest(self, requests)
        exact = self._engine.marginals([("integer",)])[0]
        return tuple(replace(each, values=each.values * 0 + exact) for each in measured)

    monkeypatch.setattr(Grant, "measure", leaking)
    with pytest.raises(Divergence, match="other files"):
        check_neighbours(TABLE, [NEIGHBOUR], run_of(SCHEMA, "histogram(integer)"))


def test_a_step_that_depends_on_the_rows_is_seen(monkeypatch):
    honest = Grant.measure

    def branching(self, requests):
        measured = honest(self, requests)
        if self._engine.row_count() > 3:
            self._noise.add(np.zeros(1, dtype=np.int64), measured[0].law, step="extra")
        return measured

    monkeypatch.setattr(Grant, "measure", branching)
    with pytest.raises(Divergence):
        check_neighbours(TABLE, [NEIGHBOUR], run_of(SCHEMA, "histogram(integer)"))


def test_an_error_that_depends_on_the_rows_is_seen(monkeypatch):
    from discreet.errors import EngineFailed

    honest = Grant.measure

    def failing(self, requests):
        if self._engine.row_count() > 3:
            raise EngineFailed("too many rows")
        return honest(self, requests)

    monkeypatch.setattr(Grant, "measure", failing)
    with pytest.raises(Divergence, match="error"):
        check_neighbours(TABLE, [NEIGHBOUR], run_of(SCHEMA, "histogram(integer)"))


def test_a_log_line_that_depends_on_the_rows_is_seen(monkeypatch):
    import logging

    honest = Grant.measure

    def chatty(self, requests):
        logging.getLogger("discreet").warning("rows: %s", self._engine.row_count())
        return honest(self, requests)

    monkeypatch.setattr(Grant, "measure", chatty)
    with pytest.raises(Divergence, match="log"):
        check_neighbours(TABLE, [NEIGHBOUR], run_of(SCHEMA, "histogram(integer)"))


def test_a_replay_publishes_the_recorded_numbers():
    one = traced(TABLE, run_of(SCHEMA, "histogram(integer)"))
    other = traced(NEIGHBOUR, run_of(SCHEMA, "histogram(integer)"), recorded=one.tape)
    for first, second in zip(one.release.parts, other.release.parts, strict=True):
        for a, b in zip(first.measurements, second.measurements, strict=True):
            assert isinstance(a, Measurement)
            assert (a.values == b.values).all()
    assert [step.exact.sum() for step in one.tape.steps] == [3]
    assert [step.exact.sum() for step in other.tape.steps] == [4]
    assert isinstance(one.tape.steps[0], Step)
    assert compared(one, other)[0].epsilon == Fraction(1)
