"""Sources: files, globs, directories, DuckDB tables and frames, and what is said when one is wrong."""

from __future__ import annotations

import inspect
import os
import subprocess
import sys
from dataclasses import replace
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.feather as feather
import pyarrow.orc as orc
import pyarrow.parquet as pq
import pytest

from discreet.engines import column_names_and_types, open_engine
from discreet.engines.duckdb.dialect import DIALECT
from discreet.errors import BadInput, BadSource, EngineFailed
from discreet.privacy.adjacency import PrivacyUnit
from discreet.queries.tallies import Rows, Tally
from discreet.questions.expressions import Call, ColumnValue, Constant
from discreet.schema import CategoryColumn, CsvOptions, DateColumn, IntegerColumn, Schema
from discreet.schema.views import View

CANARY = "CANARY-7719"
SCHEMA = Schema(dataset="s", columns=(IntegerColumn("a", 0, 9), CategoryColumn("b", ("x", "y"))))
TABLE = pa.table({"a": [1, 2, None], "b": ["x", "z", None], "c": [1.5, 2.5, 3.5]})


def counted(source: Any, schema: Schema = SCHEMA) -> list[list[int]]:
    with open_engine(source, schema) as engine:
        first = [
            marginal.tolist() for marginal in engine.marginals([(name,) for name in schema.names])
        ]
        assert first == [m.tolist() for m in engine.marginals([(name,) for name in schema.names])]
    return first


ANSWER = [[0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 1], [1, 0, 1, 1]]


def test_a_file_counts_once_however_many_names_it_has(tmp_path: Path) -> None:
    """Else each of its rows would move a count by as many, and the noise hides one."""
    pq.write_table(TABLE, tmp_path / "part.parquet")
    (tmp_path / "latest.parquet").symlink_to("part.parquet")
    os.link(tmp_path / "part.parquet", tmp_path / "again.parquet")
    TABLE.to_pandas().to_csv(tmp_path / "part.csv", index=False)
    (tmp_path / "latest.csv").symlink_to("part.csv")
    for source in (tmp_path, tmp_path / "*.parquet"):
        assert counted(str(source)) == ANSWER
    assert sum(counted(str(tmp_path / "*.csv"))[0]) == TABLE.num_rows


def test_what_a_broken_run_left_behind_is_not_counted(tmp_path: Path) -> None:
    """Spark's files are copied out of such directories when they are whole; other programs pass over them too."""
    for place in ("part.parquet", "_temporary/0/part.parquet", ".part.parquet"):
        (tmp_path / place).parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(TABLE, tmp_path / place)
    (tmp_path / "directory.parquet").mkdir()
    assert counted(str(tmp_path)) == ANSWER


@pytest.mark.parametrize("log", ["_delta_log/0.json", ".hoodie/x", "metadata/v1.metadata.json"])
def test_a_directory_that_also_holds_replaced_rows_is_refused(tmp_path: Path, log: str) -> None:
    for place in ("part.parquet", "part-rewritten.parquet"):
        pq.write_table(TABLE, tmp_path / place)
    (tmp_path / log).parent.mkdir()
    (tmp_path / log).write_text("{}")
    files = sorted(map(str, tmp_path.glob("*.parquet")))
    for source in (str(tmp_path), str(tmp_path / "*.parquet"), ds.dataset(files)):
        with pytest.raises(BadSource, match="rows that were replaced"):
            open_engine(source, SCHEMA)
    (tmp_path / "part-rewritten.parquet").unlink()
    assert counted(str(tmp_path / "part.parquet")) == ANSWER  # one file holds a row once


def test_a_glob_passes_over_what_a_broken_run_left_behind(tmp_path: Path) -> None:
    for place in ("_data/part.parquet", "_data/_temporary/0/part.parquet", "_data/a=1/.b.parquet"):
        (tmp_path / place).parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(TABLE, tmp_path / place)
    assert counted(str(tmp_path / "_data" / "**" / "*.parquet")) == ANSWER


@pytest.mark.parametrize(
    "name", ["a[1].parquet", "a?.parquet", "*.parquet", "d[1]/a.parquet", "who=*/a.parquet"]
)
def test_no_name_of_a_file_is_taken_for_a_pattern(tmp_path: Path, name: str) -> None:
    """DuckDB would read `a1` in the place of `a[1]`, so twice: one row would move a count by 2."""
    for place in ("a1.parquet", "d1/a.parquet", "who=1/a.parquet", name):
        (tmp_path / place).parent.mkdir(exist_ok=True)
        pq.write_table(TABLE, tmp_path / place)
    pattern = "**/*.parquet"
    for source in (tmp_path, tmp_path / pattern, tmp_path / name, (tmp_path / name).parent):
        if source == tmp_path / "*.parquet":
            continue  # the user's own pattern
        with pytest.raises(BadSource, match=r"holds .*No row was read") as caught:
            open_engine(str(source), SCHEMA)
        assert repr(str(tmp_path / name)) in str(caught.value)
    (tmp_path / name).unlink()
    assert sum(counted(str(tmp_path / pattern))[0]) == 3 * TABLE.num_rows


def test_no_table_of_a_view_is_taken_for_a_pattern(tmp_path: Path) -> None:
    """A public table, joined by any column, could be that of the people."""
    view = View(
        "SELECT v.who, r.a, r.b FROM visits v JOIN rates r ON v.a = r.a",
        (("visits", "t1.parquet"), ("rates", "t[1].parquet")),
        ("rates",),
        "who",
    )
    schema = replace(SCHEMA, unit=PrivacyUnit("who"), view=view)
    pq.write_table(TABLE.append_column("who", pa.array([1, 2, 3])), tmp_path / "t1.parquet")
    pq.write_table(TABLE, tmp_path / "t[1].parquet")
    with pytest.raises(BadSource, match="No row was read"):
        open_engine(str(tmp_path), schema)


def test_csv_and_duckdb_files_of_any_name_are_read_by_it(tmp_path: Path) -> None:
    for name, shown in (("t1", ["9"]), ("t[1]", ["3"]), ("t*", ["5"])):
        (tmp_path / f"{name}.csv").write_text("a,b\n" + "".join(f"{a},x\n" for a in shown))
        with duckdb.connect(str(tmp_path / f"{name}.duckdb")) as made:
            made.execute(f"CREATE TABLE t AS SELECT {shown[0]} AS a, 'x' AS b")
    for kind in ("csv", "duckdb"):
        assert counted(str(tmp_path / f"t[1].{kind}"))[0][3] == 1


def test_a_temporary_directory_that_duckdb_takes_for_a_pattern_is_refused_before_the_charge(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a[1]").mkdir()
    (tmp_path / "t.csv").write_text("a,b\n1,x\n")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "a[1]"))
    with pytest.raises(BadSource, match="TMPDIR"):
        open_engine(str(tmp_path / "t.csv"), SCHEMA)


def test_a_folder_that_is_called_like_a_home_is_not_the_home(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "~").mkdir()
    pq.write_table(TABLE, tmp_path / "~" / "t.parquet")
    monkeypatch.chdir(tmp_path)
    assert counted("~") == ANSWER


RUNS = [
    pa.run_end_encoded(pa.int32(), pa.dictionary(pa.int32(), pa.string())),
    pa.run_end_encoded(pa.int32(), pa.run_end_encoded(pa.int32(), pa.string())),
    pa.run_end_encoded(pa.int32(), pa.string_view()),
    pa.run_end_encoded(pa.int32(), pa.json_()),
]


@pytest.mark.parametrize("type_", RUNS, ids=str)
def test_runs_that_arrow_cannot_take_apart_are_refused_before_the_charge(type_: Any) -> None:
    """A table of no rows would be released, and one of one row would fail after its charge."""
    schema = Schema(dataset="t", columns=(CategoryColumn("c", ("a",)),))
    for column in (pa.nulls(1, type_), pa.chunked_array([], type=type_)):
        with pytest.raises(BadSource, match="No row was read"):
            open_engine(pa.table({"c": column}), schema)


def of_bytes(type_: Any, values: list[int]) -> Any:
    """An array that stores these numbers, whether they fit its type or not."""
    size = type_.bit_width // 8
    stored = b"".join(one.to_bytes(size, "little", signed=True) for one in values)
    return pa.Array.from_buffers(type_, len(values), [None, pa.py_buffer(stored)])


DAY = 86_400_000
IN_DICTIONARIES = {
    "a day with a time": of_bytes(pa.date64(), [18_262 * DAY, 18_263 * DAY + 1]),
    "too many digits": of_bytes(pa.decimal128(4, 2), [100, 10**30]),
    "a time after midnight": of_bytes(pa.time32("s"), [1, 10**6]),
    "texts that are no text": pa.ListArray.from_arrays(
        pa.array([0, 1, 2], pa.int32()), pa.array([b"a", b"\xff"]).view(pa.string())
    ),
    "bytes": pa.array([b"a", b"\xff"], pa.binary_view()),
}


@pytest.mark.parametrize("what", IN_DICTIONARIES)
def test_no_value_of_a_dictionary_stops_a_run(what: str) -> None:
    """A value that does not fit its type is read as in a column without a dictionary."""
    schema = Schema(dataset="s", columns=(DateColumn("c", date(2020, 1, 1), date(2020, 1, 31)),))
    values = IN_DICTIONARIES[what]
    if pa.types.is_decimal(values.type):
        schema = Schema(dataset="s", columns=(IntegerColumn("c", 0, 9),))
    places = pa.array([0, 1, None, 0, 1], pa.int8())
    coded = pa.DictionaryArray.from_arrays(places, values, safe=False)
    plain = pa.concat_arrays([values, pa.nulls(1, values.type), values])
    assert counted(pa.table({"c": coded}), schema) == counted(pa.table({"c": plain}), schema)
    assert sum(counted(pa.table({"c": coded.slice(1, 3)}), schema)[0]) == 3


def test_a_place_beyond_a_dictionary_reads_no_foreign_memory() -> None:
    schema = Schema(dataset="s", columns=(IntegerColumn("c", 0, 9),))
    for places in ([0, 1 << 20], [0, -1]):
        coded = pa.DictionaryArray.from_arrays(pa.array(places), pa.array([1]), safe=False)
        with pytest.raises(EngineFailed, match="could not be read"):
            counted(pa.table({"c": coded}), schema)


def test_runs_and_dictionaries_of_plain_values_are_read() -> None:
    schema = Schema(dataset="t", columns=(CategoryColumn("c", ("a", "b")),))
    for inner in (pa.string(), pa.large_string()):
        values = pa.array(["a", "b"], inner)
        runs = pa.RunEndEncodedArray.from_arrays(pa.array([2, 3], pa.int32()), values)
        places = pa.DictionaryArray.from_arrays(pa.array([0, 0, 1]), values)
        for column in (runs, places):
            assert counted(pa.table({"c": column}), schema)[0][:2] == [2, 1]


def test_an_arrow_dataset_counts_no_file_twice(tmp_path: Path) -> None:
    """By a link, by its name given twice, or as a part of two datasets."""
    pq.write_table(TABLE, tmp_path / "part.parquet")
    one = ds.dataset(tmp_path / "part.parquet")
    assert counted(one) == ANSWER
    os.link(tmp_path / "part.parquet", tmp_path / "again.parquet")
    for twice in (
        ds.dataset(tmp_path),
        ds.dataset([*one.files, *one.files]),
        ds.dataset([one, one]),
    ):
        with pytest.raises(BadSource, match="a file twice"):
            open_engine(twice, SCHEMA)


def test_no_folders_name_decides_how_an_arrow_dataset_reads_others(tmp_path: Path) -> None:
    """Arrow reads `code=01` as the number 1, until one row lies in `code=A`: all others would change their cells."""
    schema = Schema(dataset="t", columns=(CategoryColumn("code", ("01", "02")),))
    for code in ("01", "02"):
        (tmp_path / f"code={code}").mkdir()
        pq.write_table(pa.table({"a": [1]}), tmp_path / f"code={code}" / "part.parquet")
    for guessed in ("hive", ds.partitioning(flavor="hive", schema=None)):
        with pytest.raises(BadSource, match="read as a number"):
            open_engine(ds.dataset(tmp_path, partitioning=guessed), schema)
    named = ds.partitioning(pa.schema([("code", pa.string())]), flavor="hive")
    for source in (ds.dataset(tmp_path, partitioning=named), str(tmp_path)):
        with open_engine(source, schema) as engine:
            assert engine.marginals([("code",)])[0].tolist()[:2] == [1, 1]


def test_importing_the_engines_imports_no_database_and_no_frame() -> None:
    program = (
        "import sys, discreet.engines as e\n"
        "assert not {'duckdb', 'sqlglot', 'pandas', 'polars', 'pyarrow'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", program], check=True, env={"PYTHONPATH": "src"})


def test_reading_a_file_imports_no_frame(tmp_path: Path) -> None:
    pq.write_table(TABLE, tmp_path / "t.parquet")
    program = (
        "import sys, numpy\nfrom discreet.engines import open_engine\n"
        "from discreet.schema import *\n"
        "s = Schema(dataset='s', columns=(IntegerColumn('a', 0, 9),))\n"
        f"with open_engine({str(tmp_path / 't.parquet')!r}, s) as e:\n"
        "    e.marginals([('a',)]); e.row_count()\n"
        "    e.node_counts(('a',), (0,), numpy.zeros((1, 1), dtype=numpy.uint64))\n"
        "assert not {'pandas', 'polars', 'pyarrow'} & set(sys.modules), sys.modules.keys()"
    )
    subprocess.run([sys.executable, "-c", program], check=True, env={"PYTHONPATH": "src"})


def test_every_kind_of_source_gives_the_same_counts(tmp_path: Path) -> None:
    parts = tmp_path / "parts" / "deep"
    parts.mkdir(parents=True)
    pq.write_table(TABLE.slice(0, 1), tmp_path / "parts" / "1.parquet")
    pq.write_table(TABLE.slice(1), parts / "2.PARQUET")
    pq.write_table(TABLE, tmp_path / "strangely named")
    with duckdb.connect(str(tmp_path / "one.duckdb")) as connection:
        connection.register("source", TABLE)
        connection.execute("CREATE TABLE t AS SELECT * FROM source")
    for source in (
        TABLE,
        TABLE.to_batches()[0],
        pa.RecordBatchReader.from_batches(TABLE.schema, TABLE.to_batches()),
        ds.dataset(TABLE),
        TABLE.to_pandas(),
        pl.from_arrow(TABLE),
        pl.DataFrame(TABLE).lazy(),
        TABLE.to_pandas(types_mapper=pd.ArrowDtype),
        TABLE.to_pandas().convert_dtypes(),
        TABLE.to_pandas().astype({"b": "category"}),
        tmp_path / "parts",
        str(tmp_path / "strangely named"),
        str(tmp_path / "one.duckdb"),
        f"{tmp_path / 'one.duckdb'}::t",
        f"{tmp_path / 'one.duckdb'}::T",
    ):
        assert counted(source) == ANSWER, source


def test_an_arrow_dataset_of_files_that_are_converted_is_refused(tmp_path: Path) -> None:
    """Arrow reads moments of ORC in nanoseconds, and stopped at one in the year 2300, after the charge."""
    orc.write_table(TABLE, tmp_path / "t.orc")
    feather.write_feather(TABLE, tmp_path / "t.feather")
    pq.write_table(TABLE, tmp_path / "t.parquet")
    TABLE.to_pandas().to_csv(tmp_path / "t.csv", index=False)
    TABLE.to_pandas().to_json(tmp_path / "t.json", orient="records", lines=True)
    for format_ in ("orc", "csv", "json"):
        with pytest.raises(BadSource, match=r"text or ORC files.*No row was read"):
            counted(ds.dataset(tmp_path / f"t.{format_}", format=format_))
    for format_ in ("feather", "parquet"):
        assert counted(ds.dataset(tmp_path / f"t.{format_}", format=format_)) == ANSWER


def test_a_lazy_table_that_reads_files_is_refused(tmp_path: Path) -> None:
    """Polars gave all people of a folder its name, took 01 for 1 until a row lay in `code=A`, let one quote swallow
    95 lines, and dropped the upper bits of short numbers. What has been read, or lies in memory, is taken."""
    (tmp_path / "b=x").mkdir()
    pq.write_table(TABLE, tmp_path / "b=x" / "part.parquet")
    TABLE.to_pandas().to_csv(tmp_path / "t.csv", index=False)
    TABLE.to_pandas().to_json(tmp_path / "t.ndjson", orient="records", lines=True)
    pl.DataFrame(TABLE).write_ipc(tmp_path / "t.arrow")
    read = pl.scan_parquet(tmp_path / "b=x" / "part.parquet")
    memory = pl.DataFrame(TABLE).lazy()
    for lazy in (
        read,
        pl.scan_parquet(f"{tmp_path}/**/*.parquet", hive_partitioning=True),
        pl.scan_csv(tmp_path / "t.csv", ignore_errors=True),
        pl.scan_csv((tmp_path / "t.csv").read_bytes()),
        pl.scan_ndjson(tmp_path / "t.ndjson"),
        pl.scan_ipc(tmp_path / "t.arrow"),
        pl.scan_pyarrow_dataset(ds.dataset(tmp_path / "b=x" / "part.parquet")),
        pl.concat([memory, read.select(memory.collect_schema().names())]),
        memory.join(read.select("a"), on="a", how="left").filter(pl.col("a") > 0).select("b", "a"),
        read.map_batches(lambda frame: frame),
    ):
        with pytest.raises(BadSource, match=r"LazyFrame reads files.*No row was read"):
            counted(lazy)
    assert counted(read.collect()) == ANSWER
    assert counted(pl.concat([memory.slice(0, 1), memory.slice(1)]).sort("a")) == ANSWER
    assert counted(memory.map_batches(lambda frame: frame)) == ANSWER


def test_partitioned_directories_have_the_columns_of_their_paths(tmp_path: Path) -> None:
    for name in ("x", "z", "__HIVE_DEFAULT_PARTITION__"):
        (tmp_path / f"b={name}").mkdir()
    for row, name in enumerate(("x", "z", "__HIVE_DEFAULT_PARTITION__")):
        pq.write_table(TABLE.slice(row, 1).select(["a"]), tmp_path / f"b={name}" / "part.parquet")
    assert counted(tmp_path) == ANSWER


def test_a_folders_name_takes_the_place_of_no_column(tmp_path: Path) -> None:
    """Else all rows in a folder `who=a-m` would be one person's."""
    inside, backwards = tmp_path / "WHO=a-m", tmp_path / "x\\who=3"  # DuckDB takes both strokes
    inside.mkdir()
    backwards.mkdir()
    people = pa.table({"who": ["ann", "bob", "cy"], "a": [1, 2, 3]})
    for folder in (inside, backwards):
        pq.write_table(people, folder / "part.parquet")
    by_person = Schema(
        dataset="t", columns=(IntegerColumn("a", 0, 9),), unit=PrivacyUnit("who", max_rows=1)
    )
    view = View(sql="SELECT p.who, p.a FROM p", tables=(("p", "part.parquet"),), identifier="who")
    for source, schema in (
        (inside / "part.parquet", by_person),
        (backwards / "part.parquet", by_person),
        (inside, by_person),
        (inside, replace(by_person, view=view)),
    ):
        with open_engine(source, schema) as engine:
            assert engine.row_count() == 3


def test_no_folders_name_takes_a_columns_place_in_an_arrow_dataset(tmp_path: Path) -> None:
    """Arrow gives all rows below `who=a-m` that value, whatever the file holds."""
    (tmp_path / "who=a-m").mkdir()
    by_person = Schema(
        dataset="t", columns=(IntegerColumn("a", 0, 9),), unit=PrivacyUnit("who", max_rows=1)
    )
    people = pa.table({"who": ["ann", "bob", "cy"], "a": [1, 2, 3]})
    pq.write_table(people, tmp_path / "who=a-m" / "part.parquet")
    with pytest.raises(BadSource, match="folder's name takes its place"):
        open_engine(ds.dataset(tmp_path, partitioning="hive"), by_person)
    with open_engine(ds.dataset(tmp_path), by_person) as engine:
        assert engine.row_count() == 3
    pq.write_table(people.select(["a"]), tmp_path / "who=a-m" / "part.parquet")
    with open_engine(ds.dataset(tmp_path, partitioning="hive"), by_person) as engine:
        assert engine.row_count() == 1  # the folder says who it is, and nothing else does


@pytest.mark.parametrize("names", [("A", "a"), ("a", "A")])
def test_a_column_whose_name_differs_in_case_alone_is_not_read_for_another(
    tmp_path: Path, names: tuple[str, str]
) -> None:
    """DuckDB reads the first of them, and casts its texts to the type of another file: one would stop a run."""
    pq.write_table(pa.table({"a": [1, 2]}), tmp_path / "1.parquet")
    texts, numbers = pa.array(["3", CANARY]), pa.array([4, 5])
    columns = [texts if name == "A" else numbers for name in names]
    pq.write_table(pa.table(columns, names=list(names)), tmp_path / "2.parquet")
    with pytest.raises(BadSource, match="differs from it in case alone"):
        open_engine(tmp_path, Schema(dataset="t", columns=(IntegerColumn("a", 0, 9),)))


@pytest.mark.parametrize("with_bloom_filter", [False, True])
def test_a_row_decides_nothing_for_those_that_a_file_stores_beside_it(
    tmp_path: Path, with_bloom_filter: bool
) -> None:
    """Wrong bytes are read as `?`. What a file says of its bytes, for readers to pass over rows, knows nothing of that."""
    options: dict[str, Any] = {}
    if with_bloom_filter:
        if "bloom_filter_options" not in inspect.signature(pq.ParquetWriter).parameters:
            pytest.skip("this pyarrow writes no Bloom filter")
        options = {"bloom_filter_options": {"b": True}}
    counts = []
    for number, more in enumerate(([], [b"a"], [b"m?"], [b"zz"])):
        stored = pa.array([b"m\xff"] * 100 + [b"m~", b"z"] + more, pa.binary())
        texts = pa.Array.from_buffers(pa.string(), len(stored), stored.buffers())
        path = tmp_path / f"{number}.parquet"
        pq.write_table(pa.table({"b": texts, "a": [1] * len(texts)}), path, **options)
        asked = [
            Call("=", (ColumnValue("b", "text"), Constant("m?", "text")), "boolean"),
            Call("like", (ColumnValue("b", "text"), Constant("m?%", "text")), "boolean"),
        ]
        with open_engine(path, SCHEMA) as engine:
            found = engine.tally([Tally(Rows(), condition=each) for each in asked])
        counts.append([int(each[0]) for each in found])
    assert counts == [[100, 100], [100, 100], [101, 101], [100, 100]]


ODD = [
    "select",
    "a b",
    'q"uote',
    "it's",
    "ünï",
    "😀",
    "a.b",
    "a;--",
    "$1",
    "%s",
    "rowid",
    "c0",
    "u0",
    "f1",
    " ",
]
ODD += ["identifier", "key", "rows", "cell", "k0", "\\", "\n", "read_csv", "encoded_rows", "n"]


def test_odd_column_names_are_names_like_any_other(tmp_path: Path) -> None:
    schema = Schema(
        dataset="odd",
        columns=tuple(IntegerColumn(name, 0, 30) for name in ODD),
        csv=CsvOptions(quoted_line_breaks=True),
    )
    table = pa.table({name: [place, place] for place, name in enumerate(ODD)})
    pq.write_table(table, tmp_path / "odd.parquet")
    lines = ['"' + '","'.join(name.replace('"', '""') for name in ODD) + '"']
    lines += [",".join(map(str, range(len(ODD))))] * 2
    (tmp_path / "odd.csv").write_text("\n".join(lines) + "\n")
    with duckdb.connect(str(tmp_path / "odd's.duckdb")) as connection:
        connection.register("source", table)
        connection.execute('CREATE TABLE "od""d" AS SELECT * FROM source')
    sources = [table, tmp_path / "odd.parquet", tmp_path / "odd.csv", tmp_path / "odd's.duckdb"]
    for source in [*sources, table.to_pandas(), pl.from_arrow(table)]:
        for place, counts in enumerate(counted(source, schema)):
            assert counts[place] == 2, (source, ODD[place])


def test_values_that_look_like_sql_are_values() -> None:
    hostile = (
        "'); DROP TABLE t; --",
        "' OR 1=1 --",
        "\\",
        "$$",
        "{}",
        "?",
        ":x",
        "%s",
        "/*",
        "\n",
        "\t",
    )
    schema = Schema(dataset="h", columns=(CategoryColumn("x", hostile),))
    assert counted(pa.table({"x": [*hostile, "other"]}), schema) == [[1] * (len(hostile) + 1) + [0]]


def test_columns_that_differ_in_case_only_are_refused_if_declared(tmp_path: Path) -> None:
    table = pa.table({"a": [1], "A": [2], "b": ["x"], "d": [1], "D": [1]})
    pq.write_table(table, tmp_path / "t.parquet")
    frame = pd.DataFrame([[1, 2, "x"]], columns=["a", "a", "b"])
    for source in (table, tmp_path / "t.parquet", frame):
        with pytest.raises(BadSource, match="more than one column named 'a'"):
            open_engine(source, SCHEMA)
    only_b = Schema(dataset="s", columns=(CategoryColumn("b", ("x",)),))
    assert counted(tmp_path / "t.parquet", only_b) == [[1, 0, 0]]
    assert counted(frame, only_b) == [[1, 0, 0]]


def test_a_column_is_found_whatever_its_case() -> None:
    table = pa.table({"B": ["x", "z", None], "A": [1, 2, None]})
    assert counted(table) == ANSWER


@pytest.mark.parametrize("swapped", [0, 1])
def test_files_read_together_may_order_their_columns_as_they_like(
    tmp_path: Path, swapped: int
) -> None:
    columns = {"age": [0], "size": [1]}
    for place in range(9):
        names = sorted(columns, reverse=place % 2 == swapped)
        table = pa.table({name: columns[name] for name in names})
        pq.write_table(table, tmp_path / f"{place}.parquet")
    declared = Schema(
        dataset="d", columns=(IntegerColumn("age", 0, 1), IntegerColumn("size", 0, 1))
    )
    with open_engine(tmp_path / "*.parquet", declared) as engine:
        ages, sizes = engine.marginals([("age",), ("size",)])
    assert (ages[0], sizes[1]) == (9, 9)


def test_files_read_together_need_one_type_for_a_column(tmp_path: Path) -> None:
    """Else a cast to the first file's type would fail on some row."""
    pq.write_table(TABLE, tmp_path / "1.parquet")
    pq.write_table(pa.table({"a": [CANARY], "b": ["x"]}), tmp_path / "2.parquet")
    with pytest.raises(BadSource, match=r"Column 'a' .* different types") as refused:
        open_engine(tmp_path / "*.parquet", SCHEMA)
    assert CANARY not in str(refused.value)
    pq.write_table(pa.table({"b": ["x"]}), tmp_path / "2.parquet")
    with pytest.raises(BadSource, match="Column 'a' is missing from some"):
        open_engine(tmp_path / "*.parquet", SCHEMA)


def damaged(place: Path) -> dict[str, Any]:
    good = place / "good.parquet"
    pq.write_table(TABLE, good)
    whole = good.read_bytes()
    (place / "cut.parquet").write_bytes(whole[: len(whole) // 2])
    (place / "empty.parquet").write_bytes(b"")
    (place / "text.parquet").write_text(CANARY * 100)
    (place / "text.duckdb").write_text(CANARY * 100)
    (place / "strange.xyz").write_text(CANARY)
    (place / "nothing").mkdir()
    (place / "bad.csv.gz").write_text(CANARY)
    (place / "mix.csv").write_text("a,b\n")
    os.mkfifo(place / "pipe.csv")
    with duckdb.connect(str(place / "two.duckdb")) as connection:
        connection.execute(
            "CREATE TABLE one (a INT); CREATE TABLE two (a INT); CREATE VIEW v AS SELECT 1 AS a"
        )
    return {
        "no file": place / "no.parquet",
        "no match": place / "*.orc",
        "cut short": place / "cut.parquet",
        "empty": place / "empty.parquet",
        "text as Parquet": place / "text.parquet",
        "text as DuckDB": place / "text.duckdb",
        "an unknown suffix": place / "strange.xyz",
        "an empty directory": place / "nothing",
        "not packed": place / "bad.csv.gz",
        "two formats": place / "[gm]*",
        "a pipe": place / "pipe.csv",
        "a device": "/dev/null",
        "no such table": f"{place / 'two.duckdb'}::tow",
        "two tables": place / "two.duckdb",
        "a view": f"{place / 'two.duckdb'}::v",
        "a number": 7,
        "a list": [1, 2],
        "an empty path": "",
        "a NUL": "a\x00b",
        "a missing column": pa.table({"a": [1], CANARY.lower(): [1]}),
    }


def test_a_wrong_source_is_refused_in_one_sentence_or_two(tmp_path: Path) -> None:
    for kind, source in damaged(tmp_path).items():
        with pytest.raises(BadSource) as refused:
            open_engine(source, SCHEMA)
        assert CANARY not in str(refused.value), kind
        assert refused.value.__cause__ is None, kind
        assert 10 < len(str(refused.value)) < 600, kind
    with pytest.raises(BadSource, match="Did you mean 'two'"):
        open_engine(f"{tmp_path / 'two.duckdb'}::tow", SCHEMA)


@pytest.mark.parametrize(
    "options", [{"memory_limit": "lots"}, {"memory_limit": "1GB'; --"}, {"threads": 0}]
)
def test_odd_options_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(BadInput):
        open_engine(TABLE, SCHEMA, **options)


def test_names_and_types_come_from_metadata(tmp_path: Path) -> None:
    table = pa.table(
        {
            "when": [date(2020, 1, 1)],
            "sum": [Decimal("1.50")],
            "deep": [{"x": 1, "y": [1]}],
            "b": ["x"],
        }
    )
    pq.write_table(table, tmp_path / "t.parquet")
    found = dict(column_names_and_types(tmp_path / "t.parquet"))
    assert found["when"] == "DATE"
    assert found["sum"] == "DECIMAL(3,2)"
    assert found["b"] == "VARCHAR"
    assert list(found) == table.column_names
    assert [name for name, _ in column_names_and_types(table.to_pandas())] == table.column_names
    assert [name for name, _ in column_names_and_types(pl.from_arrow(table))] == table.column_names
    assert dict(column_names_and_types(table))["when"] == "date32[day]"


def test_types_of_a_duckdb_file_are_known_by_what_they_hold(tmp_path: Path) -> None:
    with duckdb.connect(str(tmp_path / "t.duckdb")) as connection:
        connection.execute("CREATE TYPE mood AS ENUM ('x', 'z')")
        connection.execute("CREATE TABLE t (b mood, a DECIMAL(5, 2))")
        connection.execute("INSERT INTO t VALUES ('x', 1.5), ('z', 2), (NULL, NULL)")
    assert counted(tmp_path / "t.duckdb") == ANSWER


def test_a_table_that_computes_columns_when_read_is_refused(tmp_path: Path) -> None:
    with duckdb.connect(str(tmp_path / "t.duckdb")) as connection:
        connection.execute("CREATE TABLE t (b VARCHAR, a INT GENERATED ALWAYS AS (CAST(b AS INT)))")
        connection.execute("INSERT INTO t VALUES ('7')")
    with pytest.raises(BadSource, match="computes a column"):
        open_engine(tmp_path / "t.duckdb", SCHEMA)


def test_an_unknown_type_is_refused_and_not_taken_for_nulls() -> None:
    assert DIALECT.field_type("QUATERNION").family == "unknown"
    assert DIALECT.field_type("TIMESTAMP_PS").family == "unknown"
    for name in ("INTEGER[]", "STRUCT(a INTEGER)", "TIME WITH TIME ZONE", "ENUM('a', 'b')[3]"):
        assert DIALECT.field_type(name).family == "unreadable"


def test_nested_columns_do_not_shift_the_others(tmp_path: Path) -> None:
    table = pa.table(
        {
            "deep": [{"a": 7, "y": [{"a": 1}]}] * 3,
            "a": [1, 2, None],
            "l": [[1]] * 3,
            "b": ["x", "z", None],
        }
    )
    pq.write_table(table, tmp_path / "t.parquet")
    assert counted(tmp_path / "t.parquet") == ANSWER


def test_text_that_is_no_unicode_is_another_text(tmp_path: Path) -> None:
    """Parquet and Arrow can hold it, and an engine that checks it would quote it in an error."""
    data = b"\xffx\xfe" + CANARY.encode()
    offsets = pa.array([0, len(data)], pa.int32()).buffers()[1]
    table = pa.table({"a": [1], "b": pa.StringArray.from_buffers(1, offsets, pa.py_buffer(data))})
    pq.write_table(table, tmp_path / "t.parquet")
    for source in (table, tmp_path / "t.parquet"):
        assert counted(source)[1] == [0, 0, 1, 0]


def test_an_identifier_that_cannot_tell_people_apart_is_refused() -> None:
    schema = Schema(dataset="s", columns=SCHEMA.columns, unit=PrivacyUnit("id", 1))
    with pytest.raises(BadSource, match="identifier 'id'"):
        open_engine(TABLE.append_column("id", pa.array([[1], [2], [3]])), schema)
    with pytest.raises(BadSource, match=r"lacks a column .*'id'"):
        open_engine(TABLE, schema)


@pytest.mark.parametrize("library", ["polars", "pandas"])
def test_a_frame_without_pyarrow_is_refused_with_what_to_install(library: str) -> None:
    code = (
        "import sys\n"
        "class Missing:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name.partition('.')[0] == 'pyarrow':\n"
        "            raise ModuleNotFoundError('No module named pyarrow', name='pyarrow')\n"
        "sys.meta_path.insert(0, Missing())\n"
        f"import {library} as frames\n"
        "from discreet.engines import open_engine\n"
        "from discreet.schema import Schema\n"
        'schema = Schema.loads(\'dataset = "t"\\n[columns.x]\\nkind = "integer"\\nrange = [0, 9]\\n\')\n'
        "try:\n"
        "    open_engine(frames.DataFrame({'x': [1, 2]}), schema)\n"
        "except Exception as error:\n"
        "    print(error)\n"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "discreet[arrow]" in said.stdout, said.stdout


@pytest.mark.parametrize("unit", ["ms", "us"])
def test_a_time_of_day_is_never_read_whatever_its_unit_so_it_stops_no_file(
    tmp_path: Path, unit: str
) -> None:
    kind = pa.time32("ms") if unit == "ms" else pa.time64("us")
    path = tmp_path / "times.parquet"
    pq.write_table(pa.table({"at": pa.array([1, 2, None], kind)}), path)
    schema = Schema(dataset="t", columns=(CategoryColumn("at", ("a",)),))
    with open_engine(path, schema) as engine:
        (counts,) = engine.marginals([("at",)])
    assert counts.sum() == 3


def test_a_short_number_as_identifier_is_refused_with_how_long_it_must_be(tmp_path: Path) -> None:
    path = tmp_path / "people.parquet"
    pd.DataFrame({"who": pd.array([1, 2], "int16"), "cell": [1, 2]}).to_parquet(path)
    cell, unit = IntegerColumn("cell", 0, 9), PrivacyUnit("who", max_rows=1)
    with pytest.raises(BadSource, match="32 or 64 bits"):
        open_engine(path, Schema(dataset="t", columns=(cell,), unit=unit))
