"""How far one person can move a query, worked out by hand for the worst rows and compared with what the query says."""

from __future__ import annotations

import csv
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from discreet.core.mechanisms import AboveThreshold, DiscreteLaplace
from discreet.core.noise import DrawnNoise
from discreet.core.vault import Request, Vault
from discreet.engines import open_engine
from discreet.errors import BadInput
from discreet.families.predicates.queries.strategy import InequalityCounts, StrategyCounts
from discreet.families.ranges.queries.cell_strategy import CellStrategy
from discreet.families.tables.queries.cell_count import CellCount
from discreet.families.tables.queries.complete_tables import CompleteTable
from discreet.families.tables.queries.parities import Parity
from discreet.families.tables.queries.residuals import BinnedTable, ModelDistance, Residual
from discreet.ledger import Ledger
from discreet.privacy.budget import Budget
from discreet.queries.blocks import BlockCounts, CutCounts, GridCounts
from discreet.queries.measurable import ClampedSum, Marginal, PresentCount
from discreet.queries.registry import query_types
from discreet.reference.intervals.range_count import RangeCount
from discreet.schema import Schema
from tests.groups.test_group_sensitivity import QUERIES as BY_GROUP

SCHEMA = """
dataset = "people"
adjacency = "{adjacency}"
{unit}
[columns.x]
kind = "integer"
range = [-4, 10]
[columns.y]
kind = "number"
bounds = [1.0, 3.5]
bits = 2
[columns.p]
kind = "boolean"
nulls = "exclude"
[columns.q]
kind = "boolean"
nulls = "exclude"
"""
VALUES = (None, -4, 0, 3, 10, 99, -99)
"""Of x: a null, both ends, the middle, and what is clamped."""


def schema_of(adjacency="add-remove", rows=1):
    unit = f'[unit]\nidentifier = "id"\nmax_rows = {rows}\n' if rows > 1 else ""
    return Schema.loads(SCHEMA.format(adjacency=adjacency, unit=unit))


def one_row(query, value):
    """What one row adds to the answer, by hand: a null is a cell, and adds nothing to a sum."""
    clamped = None if value is None else min(10, max(-4, value))
    match query:
        case Marginal():
            answer = np.zeros(16, dtype=np.int64)
            answer[15 if clamped is None else clamped + 4] = 1
            return answer
        case CellCount(cells=cells):
            return np.array([int((15 if clamped is None else clamped + 4) in cells)])
        case ClampedSum(grid=grid, center=center):
            return np.array([0 if clamped is None else int((clamped - center) * grid)])
        case PresentCount():
            return np.array([int(clamped is not None)])
    raise AssertionError(query)


ASKED = (
    Marginal(("x",)),
    CellCount(("x",), (4, 15)),
    ClampedSum("x"),
    ClampedSum("x", grid=2, center=Fraction(7, 2)),
    ClampedSum("x", grid=3, center=Fraction(-5)),
    ClampedSum("x", grid=1, center=Fraction(20)),
    PresentCount("x"),
)


def evaluated(schema):
    """Queries that are computed from a table of counts, over every cell of which the worst row is sought."""
    small = np.arange(16, dtype=np.int64)
    conditions = ("x >= 3", "x < 7", "x = 1 OR y >= 2.25")
    return (
        BlockCounts(("x",), (2,), (15,)),
        RangeCount("x", 2, 9),
        GridCounts(("x",), (4,), (15,)),
        CutCounts(("x", "y"), ((0, 1, 7), (0, 2)), (15, schema.column("y").value_cells)),
        Residual(()),
        Residual(("y",)),
        Residual(("x", "y")),
        Residual(("x",), (tuple(cell // 3 for cell in range(16)),)),
        BinnedTable(("x", "y")),
        BinnedTable(("x",), (tuple(cell // 3 for cell in range(16)),)),
        ModelDistance.to(("x",), small),
        Parity(("p", "q")),
        CompleteTable(("p", "q"), ("q",)),
        StrategyCounts.of(schema, conditions),
        CellStrategy("x", ((3,) * 15, (*range(-7, 8),))),
        InequalityCounts(("x",), ((1,), (3,)), (4, 11), (tuple(range(-8, 22, 2)),)),
    )


TIGHT = (
    BlockCounts,
    RangeCount,
    GridCounts,
    CutCounts,
    Residual,
    BinnedTable,
    ModelDistance,
    Parity,
    CompleteTable,
    CellStrategy,
)
"""Whose stated sensitivity some pair of rows reaches; the others state a bound that holds for any conditions."""


def test_every_registered_query_is_asked_here():
    """But for counts of undeclared values, whose sensitivity tests/keys/test_named_and_counted.py reaches."""
    asked = (*ASKED, *evaluated(schema_of()), *BY_GROUP)
    assert {query.kind for query in asked} == set(query_types()) - {"key-counts"}


@pytest.mark.parametrize("rows", [1, 3])
@pytest.mark.parametrize("adjacency", ["add-remove", "change-one"])
@pytest.mark.parametrize("place", range(len(evaluated(schema_of()))))
def test_no_two_rows_move_an_evaluated_query_further_than_it_says(place, adjacency, rows):
    """All pairs of cells, added to an empty table and to a crowded one."""
    schema = schema_of(adjacency, rows)
    query = evaluated(schema)[place]
    query.size(schema)
    if query == Residual(()) and adjacency == "change-one" and rows == 1:
        with pytest.raises(BadInput, match="public"):
            query.sensitivity(schema)
        return
    said = query.sensitivity(schema)
    shape = tuple(schema.column(name).cells for name in query.columns)
    cells = int(np.prod(shape))
    reached_l1 = reached_l2 = 0
    for crowd in (np.zeros(shape, np.int64), 5 + np.arange(cells).reshape(shape) * 3 % 7):
        before = query.evaluate(crowd)
        answers = []
        for cell in range(cells):
            table = crowd.copy().reshape(-1)
            table[cell] += rows
            answers.append(query.evaluate(table.reshape(shape)))
        others = [before] if adjacency == "add-remove" else answers
        for one, other in product(answers, others):
            moved = np.abs(one - other)
            reached_l1 = max(reached_l1, int(moved.sum()))
            reached_l2 = max(reached_l2, int((moved**2).sum()))
    assert reached_l1 <= said.l1
    assert reached_l2 <= said.l2_squared
    is_total = query == Residual(()) and adjacency == "change-one"
    if isinstance(query, TIGHT) and not is_total:
        assert (reached_l1, reached_l2) == (said.l1, said.l2_squared)


@pytest.mark.parametrize("rows", [1, 3])
@pytest.mark.parametrize("adjacency", ["add-remove", "change-one"])
@pytest.mark.parametrize("query", ASKED, ids=repr)
def test_the_rows_of_one_unit_move_a_query_by_at_most_its_sensitivity(query, adjacency, rows):
    """Every pair of worst persons; and the worst of them moves it exactly so far."""
    said = query.sensitivity(schema_of(adjacency, rows))
    persons = [sum(one_row(query, value) for value in [each] * rows) for each in VALUES]
    if adjacency == "add-remove":
        moves = persons
    else:
        moves = [one - other for one, other in product(persons, repeat=2)]
    assert max(int(np.abs(move).sum()) for move in moves) == said.l1
    assert max(int((move**2).sum()) for move in moves) == said.l2_squared


def test_a_bound_between_two_steps_of_the_grid_counts_as_the_step_beyond():
    query = ClampedSum("y", grid=1)
    assert query.unit_bounds(schema_of()) == (0, 4)
    assert query.sensitivity(schema_of()).l1 == 4
    assert ClampedSum("y", grid=1, center=Fraction(3)).unit_bounds(schema_of()) == (-2, 1)
    text = SCHEMA.format(adjacency="add-remove", unit="").replace("[1.0, 3.5]", "[-6.25, 3.5]")
    assert query.unit_bounds(Schema.loads(text)) == (-7, 4)


def test_a_sum_is_centred_on_its_grid_only():
    """Elsewhere taking the center off would round what the rows say."""
    assert ClampedSum("y", grid=4, center=Fraction(3, 4)).center == Fraction(3, 4)
    with pytest.raises(BadInput, match="not a multiple of the grid's step 1/4"):
        ClampedSum("y", grid=4, center=Fraction(1, 3))


class NoNoise(DrawnNoise):
    """Shows what the core would have added noise to; reachable only from here."""

    def add(self, exact, law, *, step):
        return exact.copy()


def measured(engine, schema, folder, query):
    with Ledger.open(folder / "ledger.db") as ledger:
        vault = Vault(engine, schema, ledger)
        vault._noise = NoNoise()
        grant = vault.charge(Budget(epsilon=1), purpose="t", request="t")
        (answer,) = grant.measure([Request(query, DiscreteLaplace(epsilon=Fraction(1)))])
    return answer.values.tolist()


@pytest.mark.parametrize("query", ASKED, ids=repr)
def test_what_is_measured_is_the_sum_within_the_declared_bounds(tmp_path, query):
    path = tmp_path / "people.csv"
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["x", "y", "p", "q"])
        writer.writerows([["" if value is None else value, 2, "true", "false"] for value in VALUES])
    schema = schema_of()
    with open_engine(path, schema) as engine:
        found = measured(engine, schema, tmp_path, query)
    assert found == sum(one_row(query, value) for value in VALUES).tolist()


@pytest.mark.parametrize(("total", "kept"), [(2**64 + 5, 2**61), (-(2**63) - 5, -(2**61)), (7, 7)])
def test_a_sum_beyond_64_bits_is_cut_off_and_does_not_wrap(tmp_path, total, kept):
    class Huge:
        def sums(self, requests):
            return [total] * len(requests)

    assert measured(Huge(), schema_of(), tmp_path, ClampedSum("x")) == [kept]


def test_an_alert_refuses_a_count_that_a_person_moves_further(tmp_path):
    schema = schema_of(rows=3)
    with Ledger.open(tmp_path / "ledger.db") as ledger:
        grant = Vault(None, schema, ledger).charge(Budget(epsilon=1), purpose="t", request="t")
        alert = grant.above_threshold(5, AboveThreshold(epsilon=Fraction(1)), sensitivity=2)
        with pytest.raises(BadInput, match="at most 2"):
            alert.is_above(CellCount(("x",), (0,)))
