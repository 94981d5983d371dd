"""A few chosen neighbours, replayed: the quick cousins of the random pairs in test_replay.

The recorded noise is moved far from 0: where honest noise happens to be 0, a bug that leaves it out
could not be seen.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

from discreet.audits.guessing.tables import GeneratedTable
from discreet.core.vault import Vault
from discreet.errors import BadInput
from discreet.ledger import Ledger
from discreet.privacy.budget import Budget
from discreet.schema import Schema
from tests.harness.leaks import FarNoise
from tests.harness.replay import compared, traced
from tests.releasing import release

SCHEMA = """
dataset = "audit"
adjacency = "{adjacency}"
{unit}
[columns.integer]
kind = "integer"
range = [-3, 8]
[columns.category]
kind = "category"
values = ["a", "b"]
"""
WORKLOAD = ["marginals(integer, category)", "means(integer)", "sums(integer)"]
ROWS = (("1", "a"), ("5", "b"), ("8", "a"), ("x", "z"), ("-3", "b"))


def table_of(adjacency="add-remove", rows=ROWS):
    schema = Schema.loads(SCHEMA.format(adjacency=adjacency, unit=""))
    return GeneratedTable(schema=schema, header=("integer", "category"), rows=rows)


def losses_between(table, *others, budget=None, workload=WORKLOAD):
    def run(path, ledger, progress):
        return release(
            path,
            table.schema,
            budget=budget or Budget(epsilon=1),
            workload=workload,
            ledger=ledger,
            progress=progress,
        )

    recorded = traced(table, run, drawn=FarNoise())
    found = []
    for other in others:
        losses = compared(recorded, traced(other, run, recorded=recorded.tape))
        found.append(sum((loss.epsilon or Fraction(0) for loss in losses), Fraction(0)))
    return found


def test_a_table_with_one_row_more_is_told_apart_by_no_more_than_was_charged():
    """A row at the far end of the bounds, so that sums and means move as far as they can."""
    table = table_of()
    others = [replace(table, rows=(*ROWS, extra)) for extra in (("8", "a"), ("7", "b"))]
    far, near = losses_between(table, *others)
    assert Fraction(9, 10) < far <= 1
    assert 0 < near <= 1


def test_a_table_with_one_row_changed_is_told_apart_by_no_more_than_was_charged():
    table = table_of("change-one")
    (found,) = losses_between(table, replace(table, rows=(("-3", "b"), *ROWS[1:])))
    assert 0 < found <= 1


def test_tables_of_no_row_and_of_one_behave_alike():
    table = table_of(rows=())
    (found,) = losses_between(table, table_of(rows=(("8", "a"),)))
    assert 0 < found <= 1


def test_the_number_of_rows_is_a_secret_where_a_person_may_have_several(tmp_path):
    unit = '[unit]\nidentifier = "person"\nmax_rows = 2\n'
    schema = Schema.loads(SCHEMA.format(adjacency="change-one", unit=unit))
    with Ledger.open(tmp_path / "ledger.db") as ledger:
        grant = Vault(None, schema, ledger).charge(Budget(epsilon=1), purpose="t", request="t")
        with pytest.raises(BadInput, match="secret"):
            grant.public_rows()
