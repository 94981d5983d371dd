"""Answers that add up: summed over one column or over another, the same rows are the same number."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from itertools import pairwise, permutations
from pathlib import Path

import numpy as np
import pandas
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.answering import ReleaseReader
from discreet.answering.combining import APART_NOTE, that_adds_up
from discreet.answering.estimates import Estimates
from discreet.answering.library import Library
from discreet.artifacts.release import AS_MEASURED
from discreet.errors import BadInput, NotAnswerable
from discreet.families.tables.answer.evidence import (
    AGREEING,
    AGREEING_WITHIN,
    COMPLETE_ROWS,
    NONE_IN_EMPTY_CELLS,
    WITHOUT_A_CELL,
    agreement_of,
)
from discreet.families.tables.answer.table_source import WITHIN_NOTE
from discreet.families.tables.queries.complete_tables import CompleteTable
from discreet.families.tables.release import whole_answers
from discreet.privacy.adjacency import Adjacency
from discreet.privacy.budget import Budget
from discreet.releases import together
from discreet.releases.together import agreeing_parts
from discreet.releases.verifying import verify
from discreet.schema import Schema, keeps_every_row
from tests.releasing import release

WORKLOAD = "marginals(2)"
FEW = 12 if settings().max_examples == 100 else 300
"""Examples: each is a release. `make trust` looks at more of them."""
OF_BOOLEANS = ("direct", "all-cells", "fourier", "residuals", "residuals-even", "adaptive", "adaptive-even", "automatic")  # fmt: skip
OF_ANY = ("direct", "all-cells", "residuals", "residuals-even", "adaptive", "adaptive-even", "automatic")  # fmt: skip


@st.composite
def columns(draw, kinds):
    """The declaration of a column, and how many values it has."""
    kind = draw(st.sampled_from(kinds))
    nulls = f'nulls = "{draw(st.sampled_from(["cell", "exclude"]))}"\n'
    if kind == "boolean":
        return f'kind = "boolean"\n{nulls}', 2
    if kind == "two":
        other = draw(st.sampled_from(["true", "false"]))
        return f'kind = "category"\nvalues = ["v0", "v1"]\nother = {other}\n{nulls}', 2
    size = draw(st.integers(2, 5))
    if kind == "category":
        values = ", ".join(f'"v{place}"' for place in range(size))
        return f'kind = "category"\nvalues = [{values}]\n{nulls}', size
    return f'kind = "integer"\nrange = [0, {size - 1}]\n{nulls}', size


@st.composite
def drawn(draw, kinds, algorithms):
    """A schema, 80 rows and an algorithm."""
    declared = [draw(columns(kinds)) for _ in range(draw(st.integers(3, 4)))]
    names = [f"a{place}" for place in range(len(declared))]
    adjacency = draw(st.sampled_from(["add-remove", "change-one"]))
    schema = Schema.loads(
        f'dataset = "t"\nadjacency = "{adjacency}"\npeople = 80\n'
        + "".join(f"[columns.{n}]\n{text}" for n, (text, _) in zip(names, declared, strict=True))
    )
    public = np.random.default_rng(draw(st.integers(0, 1000)))
    rows = {
        name: [_value(text, public.integers(0, size), public.random()) for _ in range(80)]
        for name, (text, size) in zip(names, declared, strict=True)
    }
    return schema, pandas.DataFrame(rows).astype(object), draw(st.sampled_from(algorithms))


def released(schema, rows, algorithm, workload=WORKLOAD):
    """With much noise, so that many cells fall below 0; `None` where the algorithm refuses the columns."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            return release(
                rows, schema, budget=Budget(epsilon="1/3"), workload=[workload],
                algorithms={workload: algorithm}, ledger=Path(folder) / "l.db",
            )  # fmt: skip
        except (
            BadInput
        ) as refusal:  # residuals of columns that leave rows out; Fourier of a cell for others
            assert "cell" in str(refusal)
            return None


def _value(text, code, luck):
    if luck < 0.1:
        return None
    if "boolean" in text:
        return bool(code)
    return int(code) if "integer" in text else f"v{code}"


def sums(reader, one, other, **how):
    """How many rows have each cell of a column, added up over another one."""
    told = reader.ask(f"SELECT {one}, {other}, count(*) FROM t GROUP BY {one}, {other}", **how)
    cells = reader.schema.column(one).cells
    return told.columns[0].estimate.reshape(cells, -1).sum(axis=1)


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
        assert np.array_equal(alone.setdefault(one, told), told)
        value = "true" if reader.schema.column(one).kind == "boolean" else "'v1'"
        where = reader.ask(f"SELECT {other}, count(*) FROM t WHERE {one} = {value} GROUP BY {other}")  # fmt: skip
        assert where.columns[0].estimate.sum() == told[1]
    assert len({float(each.sum()) for each in alone.values()}) == 1


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
        if said != AGREEING_WITHIN:
            assert np.allclose(alone.setdefault(one, summed), summed, rtol=0, atol=1e-6)
            here = reader.ask(f"SELECT {one}, count(*) FROM t GROUP BY {one}").columns[0].estimate
            assert np.allclose(here, summed, rtol=0, atol=1e-6)
    if alone:
        totals = [float(each.sum()) for each in alone.values()]
        if found.parts[0].facts.get(WITHOUT_A_CELL) != COMPLETE_ROWS:
            totals.append(reader.ask("SELECT count(*) FROM t").only.estimate)
        assert np.ptp(totals) < 1e-6


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
    assert any("below 0" in note for note in by[0].notes)
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
    assert Library(older).agreed_over(("a",)) is None and Library(found).agreed_over(("a",)) is not None  # fmt: skip


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


@settings(max_examples=FEW, deadline=None)
@given(table=drawn(("boolean", "category", "integer"), OF_ANY))
def test_additive_answers_add_up_for_columns_of_any_kind(table):
    """Up to the rounding of doubles; refused where tables leave out different rows, for then there is nothing to agree on."""
    found = released(*table)
    if found is None:
        return
    reader, names = ReleaseReader(found), table[0].names
    alone = {}
    for one, other in permutations(names, 2):
        try:
            told = sums(reader, one, other, additive=True)
        except NotAnswerable as refusal:
            assert "leave out different rows" in str(refusal)
            assert any(part.algorithm == "direct" for part in found.parts)
            continue
        assert np.allclose(alone.setdefault(one, told), told, rtol=0, atol=1e-6)
    totals = [float(each.sum()) for each in alone.values()]
    assert not totals or np.ptp(totals) < 1e-6


def test_additive_answers_are_those_measured_and_others_are_refused(tmp_path):
    schema = Schema.loads(
        'dataset = "t"\n[columns.a]\nkind = "integer"\nrange = [0, 3]\n[columns.b]\nkind = "integer"\nrange = [0, 2]\n'
    )
    table = pandas.DataFrame({"a": [0, 1, 2, 3] * 5, "b": [0, 1] * 10})
    reader = ReleaseReader(
        release(table, schema, budget=Budget(epsilon=1), workload=["marginals(a, b)"],
                algorithms={"marginals(a, b)": "residuals"}, ledger=tmp_path / "l.db")
    )  # fmt: skip
    told = reader.ask("SELECT a, b, count(*) FROM t GROUP BY a, b", additive=True)
    measured, _ = reader.noisy_table(["a", "b"])
    assert np.allclose(told.columns[0].estimate, measured.reshape(-1))
    assert (told.columns[0].lower < told.columns[0].estimate).all()
    assert any("add up" in note for note in told.notes)
    with pytest.raises(NotAnswerable, match="Only counts"):
        reader.ask("SELECT sum(a) FROM t", additive=True)
    alone = ReleaseReader(
        release(table, schema, budget=Budget(epsilon=1), workload=["marginals(a)"], ledger=tmp_path / "m.db")
    )  # fmt: skip
    with pytest.raises(NotAnswerable, match="would have needed"):
        alone.ask("SELECT b, count(*) FROM t GROUP BY b", additive=True)


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
    assert any("a, b, c" in note and "in no answer" in note for note in notes)


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
        assert any("in no answer" in note for note in told.notes) == (rows == 100)
