"""Answers that add up: summed over one column or over another, the same rows are the same number."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise, permutations

import numpy as np
import pandas
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.answering import ReleaseReader
from discreet.artifacts.release import AS_MEASURED
from discreet.errors import NotAnswerable
from discreet.families.shared.answer.library import Library
from discreet.families.tables.answer.evidence import (
    AGREEING,
    AGREEING_WITHIN,
    COMPLETE_ROWS,
    COUNTED_APART,
    NONE_IN_EMPTY_CELLS,
    WITHOUT_A_CELL,
    agreement_of,
)
from discreet.families.tables.answer.together.library import TableLibrary
from discreet.families.tables.release import whole_answers
from discreet.privacy.budget import Budget
from discreet.releases.verifying import verify
from discreet.schema import Schema
from tests.marginals.adding_up.random_tables import (
    FEW,
    OF_ANY,
    OF_BOOLEANS,
    WORKLOAD,
    counts_fewer,
    drawn,
    released,
    sums,
)
from tests.releasing import release


@settings(max_examples=FEW, deadline=None)
@given(table=drawn(("boolean", "two"), OF_BOOLEANS))
def test_answers_about_columns_of_two_values_add_up_whatever_the_algorithm_and_whatever_becomes_of_nulls(
    table,
):
    """Exact, in whole numbers of at least 0. The noise is larger than the counts: cut off one by one, they disagree."""
    found = released(*table)
    if found is None:
        return
    reader, names = ReleaseReader(found), table[0].names
    assert verify(found, thorough=True).ok
    alone = {}
    for one, other in permutations(names, 2):
        told = sums(reader, one, other)
        assert np.array_equal(told, np.rint(told)) and told.min() >= 0
        if counts_fewer(found, table[0], other):
            assert (told <= reader.ask(f"SELECT {one}, count(*) FROM t GROUP BY {one}").columns[0].estimate).all()  # fmt: skip
        else:
            assert np.array_equal(alone.setdefault(one, told), told)
        value = "true" if reader.schema.column(one).kind == "boolean" else "'v1'"
        where = reader.ask(f"SELECT {other}, count(*) FROM t WHERE {one} = {value} GROUP BY {other}")  # fmt: skip
        assert where.columns[0].estimate.sum() == told[1]
    totals = [float(each.sum()) for name, each in alone.items() if not counts_fewer(found, table[0], name)]  # fmt: skip
    assert len(set(totals)) <= 1
    assert totals or found.parts[0].facts.get(WITHOUT_A_CELL) == COUNTED_APART


@settings(max_examples=FEW, deadline=None)
@given(
    table=drawn(("boolean", "category", "integer"), OF_ANY),
    workload=st.sampled_from([WORKLOAD, "marginals(3)", "marginals(a0, a1, a2)", "marginals(a0, a1; a1, a2)"]),
)  # fmt: skip
def test_answers_about_columns_of_any_kind_add_up_whatever_the_algorithm_and_the_tables(
    table, workload
):
    """Summed over one column or another, or counted at once, in Python or in SQL. Whole numbers of at least 0.

    Tables that leave out different rows are about different rows: those agree each with itself.
    """
    found = released(*table, workload)
    if found is None:
        return
    reader, names = ReleaseReader(found), table[0].names[:3]
    assert verify(found, thorough=True).ok
    said = found.parts[0].facts["answers"]
    alone = {}
    for one, other in permutations(names, 2):
        by_both = f"SELECT {one}, {other}, count(*) AS n FROM t GROUP BY {one}, {other}"
        try:
            told = reader.ask(by_both).columns[0]
        except NotAnswerable:  # no table is over both, or it leaves out rows
            continue
        assert (told.lower <= told.estimate).all() and (told.estimate <= told.upper).all()
        summed = told.estimate.reshape(reader.schema.column(one).cells, -1).sum(axis=1)
        assert np.array_equal(told.estimate, np.rint(told.estimate)) and told.estimate.min() >= 0
        kind = reader.schema.column(one).kind
        value, code = {"boolean": ("true", 1), "integer": ("0", 0)}.get(kind, ("'v0'", 0))
        where = f"SELECT {other}, count(*) FROM t WHERE {one} = {value} GROUP BY {other}"
        in_sql = reader.ask(f"SELECT sum(n) FROM ({by_both})").only.estimate
        assert abs(reader.ask(where).columns[0].estimate.sum() - summed[code]) < 1e-6
        assert abs(in_sql - summed.sum()) < 1e-6
        if counts_fewer(found, table[0], other):
            here = reader.ask(f"SELECT {one}, count(*) FROM t GROUP BY {one}").columns[0].estimate
            assert (summed <= here).all() or said == AS_MEASURED
        elif said != AGREEING_WITHIN:
            assert np.allclose(alone.setdefault(one, summed), summed, rtol=0, atol=1e-6)
            here = reader.ask(f"SELECT {one}, count(*) FROM t GROUP BY {one}").columns[0].estimate
            assert np.allclose(here, summed, rtol=0, atol=1e-6)
    if alone:
        totals = [float(each.sum()) for name, each in alone.items() if not counts_fewer(found, table[0], name)]  # fmt: skip
        if found.parts[0].facts.get(WITHOUT_A_CELL) != COMPLETE_ROWS:
            totals.append(reader.ask("SELECT count(*) FROM t").only.estimate)
        assert not totals or np.ptp(totals) < 1e-6


def test_more_tables_of_three_columns_than_a_whole_table_holds_are_answered_as_measured(
    tmp_path, monkeypatch
):
    """They add up, lie below 0 where noise took them there, and no claim takes them to be cut off. No noise decides it: at epsilon 1/1000 all but surely."""
    monkeypatch.setattr(whole_answers, "MOST_CROSSWISE", 100)
    schema = Schema.loads(
        'dataset = "t"\nadjacency = "change-one"\n'
        + "".join(f'[columns.{name}]\nkind = "integer"\nrange = [0, 2]\n' for name in "abcd")
    )
    table = pandas.DataFrame({name: [0, 1, 2, 1] * 10 for name in "abcd"})
    found = release(
        table, schema, budget=Budget(epsilon="1/1000"), workload=["marginals(3)"],
        algorithms={"marginals(3)": "residuals"}, ledger=tmp_path / "l.db",
    )  # fmt: skip
    reader = ReleaseReader(found)
    assert found.parts[0].facts["answers"] == AS_MEASURED
    by = [reader.ask(f"SELECT {each}, count(*) FROM t WHERE a = 1 GROUP BY {each}") for each in "bcd"]  # fmt: skip
    ways = [each.columns[0] for each in by]
    alone = reader.ask("SELECT count(*) FROM t WHERE a = 1").only
    assert np.allclose([way.estimate.sum() for way in ways], alone.estimate, rtol=0, atol=1e-6)
    assert min(way.estimate.min() for way in ways) < 0
    assert all((way.lower <= way.estimate).all() and (way.estimate <= way.upper).all() for way in ways)  # fmt: skip
    assert any("negative" in note for note in by[0].notes)
    assert min(claim.bound for claim in found.claims) > 40
    assert reader.usefulness("marginals(3)", delta="1/20").bound > 40


@pytest.mark.parametrize("algorithm", ["residuals", "direct", "adaptive"])
def test_answers_about_more_columns_than_any_whole_table_holds_add_up(algorithm, tmp_path):
    """64 columns of two values, which have 2,016 pairs, and two of many values: whole counts of at least 0."""
    columns, rows = 64, 300
    public = np.random.default_rng(3)
    names = [f"a{place}" for place in range(columns)]
    schema = Schema.loads(
        'dataset = "t"\npeople = 300\n'
        + "".join(f'[columns.{name}]\nkind = "boolean"\nnulls = "exclude"\n' for name in names[2:])
        + '[columns.a0]\nkind = "integer"\nrange = [0, 99]\n[columns.a1]\nkind = "boolean"\n'
    )
    table = pandas.DataFrame({name: public.random(rows) < 0.1 for name in names})
    table["a0"] = public.integers(0, 50, rows)
    asked = "marginals(" + "; ".join(f"{one}, {other}" for one, other in pairwise(names)) + ")"
    found = release(
        table, schema, budget=Budget(epsilon=1), workload=[asked],
        algorithms={asked: f"{algorithm}-even" if algorithm != "direct" else algorithm}, ledger=tmp_path / "l.db",
    )  # fmt: skip
    reader = ReleaseReader(found)
    measured = ReleaseReader(replace(found, parts=tuple(replace(part, facts={k: v for k, v in part.facts.items() if k != "answers"}) for part in found.parts)))  # fmt: skip
    for one, two, three in (names[:3], names[30:33]):
        asked = [f"SELECT {by}, count(*) FROM t WHERE {two} GROUP BY {by}" for by in (one, three)]
        ways = [reader.ask(each).columns[0] for each in asked]
        if algorithm != "direct":  # its tables are about different rows
            alone = reader.ask(f"SELECT count(*) FROM t WHERE {two}").only.estimate
            assert {way.estimate.sum() for way in ways} == {alone}
        for each, way in zip(asked, ways, strict=True):
            before = measured.ask(each).columns[0]
            assert (way.lower <= before.lower).all() and (before.upper <= way.upper).all()
            assert (way.lower <= way.estimate).all() and (way.estimate <= way.upper).all()
            assert np.array_equal(way.estimate, np.rint(way.estimate)) and way.estimate.min() >= 0


def test_an_older_file_with_declared_empty_cells_is_read_as_measured(tmp_path):
    schema = Schema.loads(
        'dataset = "t"\n[columns.a]\nkind = "integer"\nrange = [0, 3]\n[columns.b]\nkind = "boolean"\n[[impossible]]\na = 0\nb = true\n'
    )
    table = pandas.DataFrame({"a": [1, 2, 3] * 10, "b": [True, False] * 15})
    found = release(table, schema, budget=Budget(epsilon="1/10"), workload=["marginals(a, b)"], ledger=tmp_path / "l.db")  # fmt: skip
    part = found.parts[0]
    assert part.facts["answers"] == AGREEING + NONE_IN_EMPTY_CELLS
    older = replace(found, parts=(replace(part, facts={**part.facts, "answers": AGREEING}),))
    assert agreement_of(part, schema, [("a", "b")]) and not agreement_of(older.parts[0], schema, [("a", "b")])  # fmt: skip
    assert Library(older).made(TableLibrary).agreed_over(("a",)) is None
    assert Library(found).made(TableLibrary).agreed_over(("a",)) is not None


@pytest.mark.parametrize(
    ("workload", "algorithm"),
    [
        (("marginals(2)",), "direct"),
        (("marginals(2)",), "adaptive"),
        (("marginals(2)",), "all-cells"),
        (("marginals(3)",), "residuals"),
        (("marginals(a, b)", "marginals(2)"), "residuals"),
    ],
)
def test_cells_that_are_declared_empty_stay_empty_and_answers_add_up(workload, algorithm, tmp_path):
    """Whatever the noise. Of 60 rows at epsilon 1/3, nearly all cells are noise."""
    schema = Schema.loads(
        'dataset = "t"\npeople = 60\n'
        + "".join(f'[columns.{name}]\nkind = "integer"\nrange = [0, {size}]\n' for name, size in zip("abcd", (5, 3, 2, 1), strict=True))
        + '[[impossible]]\na = { "<" = 3 }\nb = { ">=" = 1 }\n[[impossible]]\nb = 0\nc = [1, 2]\n'
    )  # fmt: skip
    table = pandas.DataFrame({"a": [0, 5, 4] * 20, "b": [0, 2, 3] * 20, "c": [0, 1, 2] * 20, "d": [0, 1] * 30})  # fmt: skip
    found = release(
        table, schema, budget=Budget(epsilon="1/3"), workload=workload,
        algorithms={workload[0]: algorithm}, ledger=tmp_path / "l.db",
    )  # fmt: skip
    assert verify(found, thorough=True).ok
    reader, alone = ReleaseReader(found), {}
    for one, other in permutations("abcd", 2):
        counts = reader.ask(f"SELECT {one}, {other}, count(*) FROM t GROUP BY {one}, {other}").columns[0].estimate  # fmt: skip
        table = counts.reshape(schema.column(one).cells, -1)
        assert np.array_equal(table, np.rint(table)) and table.min() >= 0
        if (one, other) == ("a", "b"):
            assert not table[:3, 1:4].any()
        assert np.array_equal(alone.setdefault(one, table.sum(axis=1)), table.sum(axis=1))
    assert {each.sum() for each in alone.values()} == {reader.ask("SELECT count(*) FROM t").only.estimate}  # fmt: skip
