"""How many synthetic rows there are, and of which columns, where several parts have something to say."""

from __future__ import annotations

import csv
import subprocess
import sys
from dataclasses import replace
from datetime import date

import numpy as np
import pyarrow.parquet
import pytest

from discreet.answering import ReleaseReader
from discreet.answering.synthesis.synthetic import SyntheticTable, _arrow_values, synthesize
from discreet.privacy.budget import Budget
from discreet.schema import CategoryColumn, Schema
from tests.releasing import release

SCHEMA = """
dataset = "d"
people = 200
[columns.age]
kind = "integer"
range = [0, 49]
[columns.x]
kind = "number"
bounds = [0, 1]
bits = 6
[columns.sex]
kind = "category"
values = ["f", "m"]
[columns.town]
kind = "category"
values = ["a", "b", "c", "d"]
[columns.member]
kind = "boolean"
"""
TABLES = "marginals(age, sex; sex, town)"
WORKLOADS = [
    ([TABLES], "adaptive"),
    ([TABLES], "residuals"),
    ([TABLES, "intervals(age)", "intervals(x)"], "adaptive"),
    ([TABLES, "histogram(member)", "intervals(x)"], "adaptive"),
    ([TABLES, "marginals(town, member)"], "residuals"),
    (["histogram(member)", "intervals(x)"], None),
]


def released(rows, workload, algorithm, tmp_path, *, epsilon=9):
    table = tmp_path / "d.csv"
    with table.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["age", "x", "sex", "town", "member"])
        for place in range(rows):
            pair = ("a", True) if place % 3 else ("b", False)
            writer.writerow([place % 50, place / max(rows, 1), "fm"[place % 2], *pair])
    made = release(
        table,
        Schema.loads(SCHEMA),
        budget=Budget(epsilon=epsilon),
        workload=workload,
        algorithms={} if algorithm is None else {TABLES: algorithm},
        ledger=tmp_path / "ledger.db",
    )
    return ReleaseReader(made)


@pytest.mark.parametrize("rows", [0, 3, 200])
@pytest.mark.parametrize(("workload", "algorithm"), WORKLOADS)
def test_there_are_as_many_synthetic_rows_as_the_release_counts(
    rows, workload, algorithm, tmp_path
):
    """No noise decides it, so there is no false alarm."""
    reader = released(rows, workload, algorithm, tmp_path)
    counted = reader.ask("SELECT count(*) FROM d").only.estimate
    assert len(reader.synthesize(seed=1)) == counted


@pytest.mark.parametrize("algorithm", ["adaptive", "residuals"])
def test_no_row_is_drawn_where_a_count_is_below_0(algorithm, tmp_path):
    """Answers that are not made to add up may be. `numpy` refuses an array of fewer than 0 rows."""
    reader = released(3, [TABLES], algorithm, tmp_path)
    library, counted = reader._library, reader.ask("SELECT count(*) FROM d").only
    for estimate in (-7.0, -0.5):
        below = replace(counted, estimate=estimate, std=1.0)
        assert len(synthesize(library, rows=None, seed=1, counted=below)) == 0


@pytest.mark.parametrize("rows", [0, 200])
def test_where_only_rows_with_values_are_counted_there_are_as_many_as_the_longest_column_has(
    rows, tmp_path
):
    """No noise decides it, so there is no false alarm."""
    reader = released(rows, ["intervals(age)", "intervals(x)"], None, tmp_path, epsilon=1)
    counted = [reader.ask(f"SELECT count({name}) FROM d").only.estimate for name in ("age", "x")]
    assert len(reader.synthesize(seed=1)) == max(counted)


def test_columns_of_all_parts_are_drawn_together_from_what_all_have_measured(tmp_path):
    """The table of town and member has noise with probability below e^-190, at epsilon 200; residuals have
    cells off by less than a row but for less than 1e-9. Drawn apart, the two would agree in 56%."""
    workload = [TABLES, "marginals(town, member)"]
    reader = released(300, workload, "residuals", tmp_path, epsilon=400)
    drawn = reader.synthesize(seed=1)
    assert drawn.names == ("age", "sex", "town", "member")
    agree = [
        (town == "a") == member
        for town, member in zip(drawn.column("town"), drawn.column("member"), strict=True)
    ]
    assert sum(agree) >= 0.95 * len(drawn)


def test_an_algorithm_is_found_however_its_class_is_spaced(tmp_path):
    named = {"marginals(age,sex;sex,town)": "residuals"}
    table = tmp_path / "d.csv"
    table.write_text("age,x,sex,town,member\n1,0.5,f,a,true\n")
    made = release(
        table,
        Schema.loads(SCHEMA),
        budget=Budget(epsilon=1),
        workload=TABLES,
        algorithms=named,
        ledger=tmp_path / "ledger.db",
    )
    assert [part.algorithm for part in made.parts] == ["residuals"]


def test_a_synthetic_file_can_be_read_by_whom_the_umask_lets(tmp_path):
    schema = Schema(dataset="d", columns=(CategoryColumn("a", ("x", "y")),))
    made = SyntheticTable(
        schema=schema,
        names=("a",),
        codes=np.zeros((3, 1), dtype=np.int64),
        places=np.zeros((3, 1), dtype=np.int64),
    )
    (tmp_path / "plain").write_text("")
    for ending in ("csv", "parquet"):
        made.write(tmp_path / f"rows.{ending}")
        assert (tmp_path / f"rows.{ending}").stat().st_mode == (tmp_path / "plain").stat().st_mode


@pytest.mark.parametrize("rows", [0, 3])
def test_a_column_without_a_value_keeps_its_kind_in_parquet(tmp_path, rows):
    text = 'dataset = "d"\n[columns.b]\nkind = "boolean"\n[columns.c]\nkind = "category"\nvalues = ["x"]\n'
    text += '[columns.d]\nkind = "date"\nrange = [2020-01-01, 2020-12-31]\ngranularity = "day"\n'
    text += (
        '[columns.t]\nkind = "datetime"\nrange = [2020-01-01, 2020-12-31]\ngranularity = "day"\n'
    )
    text += '[columns.i]\nkind = "integer"\nrange = [0, 9]\n[columns.n]\nkind = "number"\nbounds = [0, 1]\nbits = 2\n'
    schema = Schema.loads(text)
    nulls = [column.cells - 1 for column in schema.columns]
    made = SyntheticTable(
        schema=schema,
        names=schema.names,
        codes=np.tile(np.array(nulls, dtype=np.int64), (rows, 1)),
        places=np.zeros((rows, len(nulls)), dtype=np.int16),
    )
    made.write(tmp_path / "rows.parquet")
    found = pyarrow.parquet.read_table(tmp_path / "rows.parquet")
    assert [column.null_count for column in found.columns] == [rows] * 6
    types = ["bool", "string", "date32[day]", "timestamp[us]", "int64", "double"]
    assert [str(each) for each in found.schema.types] == types


@pytest.mark.parametrize(
    "values",
    [
        [1, None, -(1 << 63), (1 << 63) - 1],
        [0.5, None, -1e300, float("inf")],
        ["a", None, "", "é\x00b"],
        [True, False, None],
        [1, 2.5],
        [date(2020, 1, 2), None],
        [None, None],
        [],
        list(range(100)),
    ],
    ids=repr,
)
def test_values_become_the_array_that_arrow_makes_of_their_list(values):
    found, expected = _arrow_values(pyarrow, values), pyarrow.array(values)
    found.validate(full=True)
    assert found.type == expected.type
    assert found.to_pylist() == expected.to_pylist() == values


def test_writing_synthetic_rows_does_not_import_pandas():
    """It takes longer to import than the rows take to be written. pyarrow imports it when it is given a list."""
    code = """
import sys, tempfile, numpy as np
from discreet.answering.synthesis.synthetic import SyntheticTable
from discreet.schema import Schema
schema = Schema.loads(sys.argv[1])
codes = np.zeros((3, len(schema.names)), dtype=np.int64)
codes[1] = 1
table = SyntheticTable(schema, schema.names, codes, codes.astype(np.int16))
with tempfile.TemporaryDirectory() as place:
    table.write(f"{place}/rows.parquet")
assert "pyarrow.parquet" in sys.modules and "pandas" not in sys.modules
"""
    columns = SCHEMA.replace('kind = "boolean"', 'kind = "integer"\nrange = [0, 9]')
    subprocess.run([sys.executable, "-c", code, columns], check=True)
