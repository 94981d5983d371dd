"""Parts side by side: their tables, and the ranges beside them, add up with one another."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from itertools import permutations
from pathlib import Path

import numpy as np
import pandas
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.answering import ReleaseReader
from discreet.answering.combining import APART_NOTE, that_adds_up
from discreet.answering.estimates import Estimates
from discreet.errors import BadInput, NotAnswerable
from discreet.families.tables.answer.table_source import WITHIN_NOTE
from discreet.privacy.budget import Budget
from discreet.releases import together
from discreet.releases.together import agreeing_parts
from discreet.releases.verifying import verify
from discreet.schema import Schema, keeps_every_row
from tests.marginals.adding_up.random_tables import (
    FEW,
    drawn,
)
from tests.releasing import release


@settings(max_examples=FEW, deadline=None)
@given(
    table=drawn(("boolean", "category", "integer"), ("direct", "residuals", "adaptive-even", "automatic")),
    workload=st.sampled_from(
        [
            ("marginals(a0, a1)", "marginals(a1, a2)"),
            ("marginals(a0)", "marginals(2)"),
            ("marginals(a0, a1, a2)", "marginals(a1, a2)", "marginals(a0; a2)"),
            ("marginals(3)", "marginals(a0, a1)"),
            ("marginals(a0, a1)", "means(a2)", "marginals(a1, a2)"),
        ]
    ),
)  # fmt: skip
def test_tables_of_parts_side_by_side_add_up_with_one_another(table, workload):
    """The first part by the drawn algorithm. Whole numbers of at least 0; but tables that leave rows out agree each with itself."""
    schema, rows, algorithm = table
    if workload[1] == "means(a2)" and schema.column("a2").kind != "integer":
        return
    with tempfile.TemporaryDirectory() as folder:
        try:
            found = release(
                rows, schema, budget=Budget(epsilon="1/3"), workload=workload,
                algorithms={workload[0]: algorithm}, ledger=Path(folder) / "l.db",
            )  # fmt: skip
        except BadInput:
            return
    reader = ReleaseReader(found)
    assert verify(found, thorough=True).ok
    complete = [name for name in schema.names[:3] if keeps_every_row(schema.column(name))]
    alone = {}
    for one, other in permutations(schema.names[:3], 2):
        try:
            told = reader.ask(f"SELECT {one}, {other}, count(*) FROM t GROUP BY {one}, {other}")
        except NotAnswerable:
            continue
        counts = told.columns[0]
        assert np.array_equal(counts.estimate, np.rint(counts.estimate))
        assert counts.estimate.min() >= 0 and (counts.lower <= counts.estimate).all() and (counts.estimate <= counts.upper).all()  # fmt: skip
        if {one, other} <= set(complete) and not any("in no answer" in note for note in told.notes):
            summed = counts.estimate.reshape(schema.column(one).cells, -1).sum(axis=1)
            assert np.array_equal(alone.setdefault(one, summed), summed)
            here = reader.ask(f"SELECT {one}, count(*) FROM t GROUP BY {one}").columns[0].estimate
            assert np.array_equal(here, summed)
    if alone:
        totals = {float(each.sum()) for each in alone.values()}
        assert totals == {reader.ask("SELECT count(*) FROM t").only.estimate}


@pytest.mark.parametrize(("adjacency", "algorithm"), [("add-remove", "adaptive-tree"), ("change-one", "strategy")])  # fmt: skip
def test_ranges_beside_tables_of_the_same_column_add_up_with_them(adjacency, algorithm, tmp_path):
    """Ranges, cells and groups, asked one by one or as arrays; claims and usefulness allow for how far they were moved."""
    schema = Schema.loads(
        f'dataset = "t"\nadjacency = "{adjacency}"\n[columns.x]\nkind = "integer"\nrange = [0, 19]\n[columns.a]\nkind = "boolean"\n'
    )
    table = pandas.DataFrame({"x": [None, 2, 3, 3, 17] * 12, "a": [True, False, None] * 20})
    workload = ["intervals(x)", "marginals(x, a)", "marginals(a)"]
    found = release(
        table, schema, budget=Budget(epsilon="1/2"), workload=workload,
        algorithms={workload[0]: algorithm}, ledger=tmp_path / "l.db",
    )  # fmt: skip
    assert verify(found, thorough=True).ok
    reader = ReleaseReader(found)
    cells = reader.ask("SELECT x, count(*) FROM t GROUP BY x").columns[0].estimate
    both = reader.ask("SELECT x, a, count(*) FROM t GROUP BY x, a").columns[0].estimate
    assert np.array_equal(both.reshape(21, 3).sum(axis=1), cells) and both.min() >= 0
    assert cells.sum() == reader.ask("SELECT count(*) FROM t").only.estimate
    low, high = np.array([(a, b) for a in range(20) for b in range(a, 20)]).T
    many = reader.count_many("x", low, high)
    sums = np.append(0, np.cumsum(cells))
    assert np.array_equal(many.estimate, sums[high + 1] - sums[low])
    assert (many.lower <= many.estimate).all() and (many.estimate <= many.upper).all()
    for place in (0, 57, 209):
        one = reader.ask(f"SELECT count(*) FROM t WHERE x BETWEEN {low[place]} AND {high[place]}").only  # fmt: skip
        assert (one.estimate, one.lower, one.upper) == (many.estimate[place], many.lower[place], many.upper[place])  # fmt: skip
    assert np.array_equal(reader.count_cells(["x"], np.arange(21)[:, None]).estimate, cells)
    alone = ReleaseReader(replace(found, parts=found.parts[:1])).count_many("x", low, high).estimate  # fmt: skip
    moved = float(np.abs(many.estimate - alone).max())
    stated = ReleaseReader(replace(found, parts=found.parts[:1])).usefulness("intervals(x)", delta="1/20")  # fmt: skip
    told = reader.usefulness("intervals(x)", delta="1/20").bound
    assert told == 60 if adjacency == "change-one" and told == 60 else told >= stated.bound + moved - 1  # fmt: skip


def test_tables_side_by_side_that_leave_out_different_rows_agree_each_with_itself(tmp_path):
    """Whole numbers whose sums are those of the same table, whatever the noise; every answer says that others count other rows."""
    schema = Schema.loads('dataset = "t"\n' + "".join(f'[columns.{name}]\nkind = "integer"\nrange = [0, 4]\nnulls = "exclude"\n' for name in "abc"))  # fmt: skip
    table = pandas.DataFrame({name: [0, 1, None, 1] * 10 for name in "abc"})
    workload = ["marginals(a, b)", "marginals(b, c)"]
    found = release(table, schema, budget=Budget(epsilon="1/10"), workload=workload, ledger=tmp_path / "l.db")  # fmt: skip
    assert verify(found, thorough=True).ok
    reader = ReleaseReader(found)
    for pair in (("a", "b"), ("b", "c")):
        told = reader.ask(f"SELECT {pair[0]}, {pair[1]}, count(*) FROM t GROUP BY {pair[0]}, {pair[1]}")  # fmt: skip
        cells = told.columns[0].estimate.reshape(5, 5)
        assert np.array_equal(cells, np.rint(cells)) and cells.min() >= 0
        assert WITHIN_NOTE in told.notes
        for value in range(5):
            one = reader.ask(f"SELECT {pair[1]}, count(*) FROM t WHERE {pair[0]} = {value} GROUP BY {pair[1]}")  # fmt: skip
            assert np.array_equal(one.columns[0].estimate, cells[value])


def test_an_interval_of_ranges_beside_tables_holds_the_count():
    """Whatever was measured: here 50 beside an interval of 10 to 20."""
    best = Estimates.single(15.0, 10.0, 20.0, 2.0)
    agreed = Estimates.single(50.0, 40.0, 60.0, 5.0, adds_up=True, includes_ranges=True)
    told = that_adds_up(best, agreed)
    assert (float(told.estimate[0]), float(told.lower[0]), float(told.upper[0])) == (50, 10, 50)
    apart = that_adds_up(best, replace(agreed, includes_ranges=False))
    assert apart.estimate is best.estimate and apart.notes == (APART_NOTE,)


def test_claims_of_parts_side_by_side_allow_for_how_far_answers_were_moved(tmp_path, monkeypatch):
    """40,000 rows with noise of some hundreds on a cell: answers are moved by far more than a row, all but surely."""
    made_alone = []

    def remembered(found, **how):
        made_alone.append(found)
        return agreeing_parts(found, **how)

    monkeypatch.setattr(together, "agreeing_parts", remembered)
    schema = Schema.loads('dataset = "t"\n' + "".join(f'[columns.{name}]\nkind = "integer"\nrange = [0, 4]\n' for name in "abc"))  # fmt: skip
    table = pandas.DataFrame({name: [0, 1, 2, 1] * 10_000 for name in "abc"})
    workload = ["marginals(a, b)", "marginals(b, c)", "intervals(a)"]
    found = release(table, schema, budget=Budget(epsilon="1/100"), workload=workload, ledger=tmp_path / "l.db")  # fmt: skip
    (before,) = made_alone
    beside = ReleaseReader(found)
    for part in before.parts[:2]:
        alone, by = ReleaseReader(replace(before, parts=(part,))), ", ".join(part.query_class.columns)  # fmt: skip
        answers = [each.ask(f"SELECT {by}, count(*) FROM t GROUP BY {by}").columns[0].estimate for each in (alone, beside)]  # fmt: skip
        moved = float(np.abs(answers[0] - answers[1]).max())
        assert moved > 1
        for old, new in zip(before.claims, found.claims, strict=True):
            if old.query_class == part.query_class.text:
                assert new.bound >= old.bound + moved and "lie from" in new.theorem


def test_what_was_measured_by_itself_beside_tables_says_that_sums_may_differ(tmp_path):
    schema = Schema.loads('dataset = "t"\n[columns.x]\nkind = "integer"\nrange = [0, 9]\n[columns.a]\nkind = "boolean"\n')  # fmt: skip
    table = pandas.DataFrame({"x": list(range(10)) * 6, "a": [True, False] * 30})
    asked = ['predicates("x >= 5")', "marginals(2)"]
    reader = ReleaseReader(release(table, schema, budget=Budget(epsilon=1), workload=asked, ledger=tmp_path / "l.db"))  # fmt: skip
    question = "SELECT count(*) FROM t WHERE x >= 5"
    assert APART_NOTE in reader.ask(question).notes
    assert APART_NOTE not in reader.ask("SELECT count(*) FROM t WHERE a").notes
    summed = reader.ask("SELECT x, count(*) FROM t WHERE x >= 5 GROUP BY x", additive=True)
    whole = reader.ask(question, additive=True).only.estimate
    assert abs(summed.columns[0].estimate.sum() - whole) < 1e-6
