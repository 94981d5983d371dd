"""Where a data frame's rows lie: files of text, RDDs, folders that name columns, files of several names, replaced rows."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet.engines import open_engine
from discreet.engines.spark.places import odd_source
from discreet.errors import BadSource
from discreet.privacy.adjacency import PrivacyUnit
from discreet.schema import CategoryColumn, IntegerColumn, Schema
from tests.spark_session import session, setting

BY_ROW = Schema(dataset="t", columns=(IntegerColumn("a", 0, 9),))
BY_PERSON = Schema(
    dataset="t", columns=(IntegerColumn("a", 0, 9),), unit=PrivacyUnit("who", max_rows=1)
)
BY_CODE = Schema(dataset="t", columns=(CategoryColumn("code", ("01", "02")),))


@pytest.fixture
def spark() -> Any:
    return session()


def rows_of(source: Any, schema: Schema = BY_ROW) -> int:
    with open_engine(source, schema) as engine:
        return engine.row_count()


TEXTS: dict[str, Callable[[Any, str], Any]] = {
    "lines": lambda read, path: read.csv(path),
    "records over several lines": lambda read, path: read.option("multiLine", True).csv(path),
    "lines that must fit": lambda read, path: read.option("mode", "FAILFAST").csv(path),
    "JSON": lambda read, path: read.json(path),
}


@pytest.mark.parametrize("what", TEXTS)
@pytest.mark.parametrize("version", ["1", "2"])
def test_files_of_text_are_refused(what: str, version: str, spark: Any, tmp_path: Path) -> None:
    """Spark parses them after the charge: a line of 30,000 commas stops it, and an open quote takes 100 lines with it."""
    path = str(tmp_path / "t.csv")
    Path(path).write_text("1,x\n" * 100, encoding="utf-8")
    listed = "csv,json,parquet,orc" if version == "1" else ""
    with setting("spark.sql.sources.useV1SourceList", listed):
        frame = TEXTS[what](spark.read.schema("a int, b string"), path)
        with pytest.raises(BadSource, match=r"more than choose columns.*No row was read"):
            open_engine(frame, BY_ROW)
    with pytest.raises(BadSource, match=r"more than choose columns.*No row was read"):
        open_engine(f"spark:csv.`{path}`", BY_ROW)


def test_an_rdd_runs_any_program_and_is_refused_until_it_has_run(spark: Any) -> None:
    """One row could stop the program. What Arrow, pandas or a checkpoint holds is there."""
    made = spark.createDataFrame(
        spark.sparkContext.parallelize([1, 0]).map(lambda one: (1 // one,)), "a int"
    )
    with pytest.raises(BadSource, match=r"an RDD.*No row was read"):
        open_engine(made, BY_ROW)
    assert rows_of(spark.range(3).toDF("a").localCheckpoint()) == 3
    assert rows_of(spark.createDataFrame(pa.table({"a": [1, 2]}))) == 2


class Java:
    """Stands for a Java object whose class has this name."""

    def __init__(self, name: str, relation: Java | None = None) -> None:
        self._name, self._relation = name, relation

    def getClass(self) -> Java:  # noqa: N802 - as Java calls it
        return self

    def getSimpleName(self) -> str:  # noqa: N802
        return self._name

    def relation(self) -> Java | None:
        return self._relation


def test_a_database_behind_spark_is_refused() -> None:
    """What is named there may be any query, which computes, or joins people."""
    found = odd_source(Java("LogicalRelation", Java("JDBCRelation")))
    assert found == "a source of the kind JDBCRelation"


WAYS: dict[str, Callable[[Any, Path], Any]] = {
    "a data frame": lambda spark, folder: spark.read.parquet(str(folder)),
    "a name between backquotes": lambda spark, folder: f"spark:parquet.`{folder}`",
}


@pytest.mark.parametrize("way", WAYS)
def test_a_folders_name_takes_the_place_of_no_column_however_the_files_are_named(
    way: str, spark: Any, tmp_path: Path
) -> None:
    """All three people would be one. A path behind `spark:` is read by the files' own columns."""
    (tmp_path / "WHO=a-m").mkdir()
    people = pa.table({"who": ["ann", "bob", "cy"], "a": [1, 2, 3]})
    pq.write_table(people, tmp_path / "WHO=a-m" / "part.parquet")
    with pytest.raises(BadSource, match=r"folder.*No row was read"):
        open_engine(WAYS[way](spark, tmp_path), BY_PERSON)
    assert rows_of(WAYS[way](spark, tmp_path)) == 3  # who is not asked for
    assert rows_of(f"spark:{tmp_path}", BY_PERSON) == 3


def test_a_folders_name_takes_the_place_of_no_column_of_a_catalogs_table(
    spark: Any, tmp_path: Path
) -> None:
    (tmp_path / "who=3").mkdir()
    people = pa.table({"who": ["ann", "bob", "cy"], "a": [1, 2, 3]})
    pq.write_table(people, tmp_path / "who=3" / "part.parquet")
    spark.sql(f"CREATE TABLE folders USING parquet LOCATION '{tmp_path}'")
    try:
        with pytest.raises(BadSource, match=r"folder.*No row was read"):
            open_engine("spark:folders", BY_PERSON)
    finally:
        spark.sql("DROP TABLE folders")


@pytest.mark.parametrize("way", WAYS)
def test_what_folders_are_named_is_text_however_the_files_are_named(
    way: str, spark: Any, tmp_path: Path
) -> None:
    """Spark reads `code=01` as the number 1, until one row lies in `code=A`: all others would change their cells."""
    for code in ("01", "02"):
        (tmp_path / f"code={code}").mkdir()
        pq.write_table(pa.table({"a": [1]}), tmp_path / f"code={code}" / "part.parquet")
    with pytest.raises(BadSource, match=r"folder.*No row was read"):
        open_engine(WAYS[way](spark, tmp_path), BY_CODE)
    with setting("spark.sql.sources.partitionColumnTypeInference.enabled", "false"):
        frame = WAYS[way](spark, tmp_path)
        with open_engine(frame, BY_CODE) as engine:
            assert engine.marginals([("code",)])[0].tolist()[:2] == [1, 1]


def test_folders_of_a_catalogs_table_have_the_types_that_were_declared(spark: Any) -> None:
    """No row changes those."""
    spark.sql("CREATE TABLE years (a int, year int) USING parquet PARTITIONED BY (year)")
    try:
        spark.sql("INSERT INTO years VALUES (1, 2020), (2, 2021)")
        by_year = Schema(dataset="t", columns=(IntegerColumn("year", 2019, 2021),))
        with open_engine("spark:years", by_year) as engine:
            assert engine.marginals([("year",)])[0].tolist()[:3] == [0, 1, 1]
    finally:
        spark.sql("DROP TABLE years")


@pytest.mark.parametrize("link", [os.symlink, os.link])
def test_a_file_of_two_names_is_not_counted_twice_by_spark(
    link: Callable[[Path, Path], None], spark: Any, tmp_path: Path
) -> None:
    pq.write_table(pa.table({"a": [1, 2]}), tmp_path / "1.parquet")
    assert rows_of(f"spark:{tmp_path}") == 2
    one = spark.read.parquet(str(tmp_path / "1.parquet"))
    for frame in (one.union(one), spark.read.parquet(*[str(tmp_path / "1.parquet")] * 2)):
        with pytest.raises(BadSource, match=r"read twice.*No row was read"):
            open_engine(frame, BY_ROW)
    link(tmp_path / "1.parquet", tmp_path / "latest.parquet")
    for source in (f"spark:{tmp_path}", spark.read.parquet(str(tmp_path))):
        with pytest.raises(BadSource, match=r"read twice.*No row was read"):
            open_engine(source, BY_ROW)


@pytest.mark.parametrize(
    ("log", "data"),
    [("_delta_log/0.json", ""), (".hoodie/x.commit", "2020"), ("metadata/1.metadata.json", "data")],
)
def test_files_of_a_table_that_also_hold_replaced_rows_are_refused_by_spark(
    log: str, data: str, spark: Any, tmp_path: Path
) -> None:
    (tmp_path / data).mkdir(exist_ok=True)
    for number in (1, 2):
        pq.write_table(pa.table({"a": [1, 2]}), tmp_path / data / f"{number}.parquet")
    assert rows_of(f"spark:{tmp_path / data}") == 4
    (tmp_path / log).parent.mkdir()
    (tmp_path / log).write_text("{}", encoding="utf-8")
    for source in (f"spark:{tmp_path / data}", spark.read.parquet(str(tmp_path / data))):
        with pytest.raises(BadSource, match=r"Delta, Hudi or Iceberg.*No row was read"):
            open_engine(source, BY_ROW)
