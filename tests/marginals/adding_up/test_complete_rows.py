"""Tables about the rows that lack no value."""

from __future__ import annotations

import numpy as np
import pandas
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.answering import ReleaseReader
from discreet.errors import BadInput
from discreet.families.tables.queries.complete_tables import CompleteTable
from discreet.privacy.adjacency import Adjacency
from discreet.privacy.budget import Budget
from discreet.schema import Schema
from tests.marginals.adding_up.random_tables import (
    WORKLOAD,
)
from tests.releasing import release


def complete_schema(adjacency, rows=1):
    unit = f'[unit]\nidentifier = "id"\nmax_rows = {rows}\n' if rows > 1 else ""
    return Schema.loads(
        f'dataset = "t"\nadjacency = "{adjacency}"\n{unit}'
        + "".join(f'[columns.{n}]\nkind = "boolean"\nnulls = "exclude"\n' for n in "abc")
    )


@pytest.mark.parametrize("adjacency", ["add-remove", "change-one"])
@given(
    counts=st.lists(st.integers(0, 5), min_size=8, max_size=8),
    place=st.integers(0, 8),
    other=st.integers(0, 8),
)
def test_neighbours_move_a_table_of_complete_rows_by_at_most_its_sensitivity(
    adjacency, counts, place, other
):
    """Cell 8 is none: a row that lacks a value. Every table of the class, and every move of one row."""
    schema = complete_schema(adjacency)
    before = np.array(counts, dtype=np.int64)
    if adjacency == "change-one":
        before[place % 8] += place < 8
    after = before.copy()
    if adjacency == "change-one" and place < 8:
        after[place] -= 1
    if other < 8:
        after[other] += 1
    for kept in (("a", "b"), ("a",), ("b", "c"), ("a", "b", "c")):
        query = CompleteTable(("a", "b", "c"), kept)
        moved = query.evaluate(after.reshape(2, 2, 2)) - query.evaluate(before.reshape(2, 2, 2))
        bound = query.sensitivity(schema)
        assert np.abs(moved).sum() <= bound.l1 and (moved**2).sum() <= bound.l2_squared
        assert query.size(schema) == moved.size == 2 ** len(kept)


def test_a_table_of_complete_rows_reads_and_writes_itself_and_refuses_nonsense():
    query = CompleteTable(("a", "b", "c"), ("a", "c"))
    assert CompleteTable.from_dict(query.to_dict()) == query
    schema = complete_schema("add-remove")
    assert schema.adjacency is Adjacency.ADD_REMOVE
    for columns_, kept in ((("a", "a"), ("a",)), (("a", "b"), ("b", "a")), (("a",), ("b",))):
        with pytest.raises(BadInput):
            CompleteTable(columns_, kept)


def test_direct_tables_of_booleans_that_leave_rows_out_are_about_the_complete_rows(tmp_path):
    """There are 400 rows: 100 of them lack a, and 100 others lack b. False alarm 1e-9."""
    table = pandas.DataFrame(
        {
            "a": pandas.array([None] * 100 + [True] * 300, dtype="boolean"),
            "b": pandas.array([True] * 100 + [None] * 100 + [True] * 200, dtype="boolean"),
            "c": pandas.array([False] * 400, dtype="boolean"),
        }
    )
    found = release(
        table, complete_schema("add-remove"), budget=Budget(epsilon=5), workload=[WORKLOAD],
        algorithms={WORKLOAD: "direct"}, ledger=tmp_path / "l.db",
    )  # fmt: skip
    reader = ReleaseReader(found)
    for condition in ("a AND NOT c", "a", "NOT c", "b"):
        told = reader.ask(f"SELECT count(*) FROM t WHERE {condition}", confidence=1 - 1e-9).only
        assert told.lower <= 200 <= told.upper < 300
    notes = reader.ask("SELECT count(*) FROM t WHERE a").notes
    assert any("a, b, c" in note and "not counted by these tables" in note for note in notes)


def test_tables_that_leave_out_different_rows_are_not_averaged(tmp_path):
    """400 rows have a, 100 of them b. One table counts those with both, another one those with a. False alarm 1e-9."""
    schema = complete_schema("add-remove")
    table = pandas.DataFrame(
        {
            "a": pandas.array([True] * 400, dtype="boolean"),
            "b": pandas.array([True] * 100 + [None] * 300, dtype="boolean"),
            "c": pandas.array([True] * 400, dtype="boolean"),
        }
    )
    found = release(
        table, schema, budget=Budget(epsilon=10), workload=["marginals(a, b)", "marginals(a)"],
        algorithms={"marginals(a, b)": "all-cells"}, ledger=tmp_path / "l.db",
    )  # fmt: skip
    reader = ReleaseReader(found)
    for condition, rows in (("a", 400), ("a AND b", 100)):
        told = reader.ask(f"SELECT count(*) FROM t WHERE {condition}", confidence=1 - 1e-9)
        assert told.only.lower <= rows <= told.only.upper < rows + 100
        assert any("not counted by these tables" in note for note in told.notes) == (rows == 100)
