"""What stands behind the columns of a data frame in Spark: another name, a cast or a choice of rows hides nothing of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.orc as orc
import pyarrow.parquet as pq
import pytest

from discreet.curator.statements import Statements
from discreet.engines import open_engine
from discreet.engines.spark.places import odd_remote_source
from discreet.errors import BadSource
from discreet.privacy.adjacency import PrivacyUnit
from discreet.privacy.budget import Budget, Notion
from discreet.schema import (
    DateColumn,
    DatetimeColumn,
    IntegerColumn,
    NumberColumn,
    Schema,
)
from tests.harness.files.raw_parquet import decimal, write_raw
from tests.spark_session import session, setting

BY_ROW = Schema(dataset="t", columns=(IntegerColumn("a", 0, 120),))
BY_PERSON = Schema(
    dataset="t", columns=(IntegerColumn("a", 0, 120),), unit=PrivacyUnit("person", max_rows=1)
)
NAMES: dict[str, Callable[[Any, str], Any]] = {
    "another name": lambda frame, own: frame.withColumnRenamed(own, "person"),
    "other names for all": lambda frame, own: frame.toDF(
        *("person" if one == own else one for one in frame.columns)
    ),
    "a cast": lambda frame, own: frame.selectExpr(f"CAST({own} AS STRING) AS person", "a"),
    "a cast of a cast": lambda frame, own: frame.selectExpr(
        f"CAST({own} AS STRING) AS b", "a"
    ).selectExpr("b AS person", "a"),
    "a union": lambda frame, own: frame.sparkSession.createDataFrame(
        pa.table({"person": ["zoe"], "a": [1]})
    ).union(frame.selectExpr(f"CAST({own} AS STRING)", "a")),
    "a choice of rows": lambda frame, own: frame.where(f"{own} IS NOT NULL").selectExpr(
        "'ann' AS person", "a"
    ),
    "a choice by another name": lambda frame, own: (
        frame.selectExpr(f"{own} AS b", "a")
        .where("b IS NOT NULL")
        .selectExpr("'ann' AS person", "a")
    ),
}


@pytest.fixture
def spark() -> Any:
    return session()


def folder(place: Path, **files: dict[str, Any]) -> str:
    for name, columns in files.items():
        (place / name).mkdir(parents=True)
        pq.write_table(pa.table(columns), place / name / "part.parquet")
    return str(place)


def refused(frame: Any, why: str, schema: Schema = BY_PERSON) -> None:
    with pytest.raises(BadSource, match=rf"(?s){why}.*No row was read"):
        open_engine(frame, schema)


@pytest.mark.parametrize("what", NAMES)
def test_no_name_and_no_cast_hides_what_stands_behind_a_column(
    what: str, spark: Any, tmp_path: Path
) -> None:
    """Three people of a folder were one, 257 and 1 were one, and a far moment stopped the run, once columns were renamed."""
    seen = NAMES[what]
    for version in ("parquet", ""):
        with setting("spark.sql.sources.useV1SourceList", version):
            place = tmp_path / f"version-{version}"
            people = pa.table({"who": ["ann", "bob", "cy"], "a": [1, 1, 2]})
            (place / "folders" / "who=a-m").mkdir(parents=True)
            pq.write_table(people, place / "folders" / "who=a-m" / "part.parquet")
            refused(
                seen(spark.read.parquet(str(place / "folders")), "who"),
                "'who' is what folders are named",
            )
            far = {"m": pa.array([0, 2**60], pa.timestamp("ms")), "a": [1, 1]}
            refused(
                seen(spark.read.parquet(folder(place / "far", one=far) + "/one"), "m"),
                "'m' is stored in milliseconds",
            )
            few = {"n": pa.array([1], pa.int8()), "a": [1]}
            many = {"n": pa.array([1, 257], pa.int32()), "a": [1, 1]}
            narrow = folder(place / "narrow", one=few, two=many)
            read = spark.read.schema("n tinyint, a int").option("recursiveFileLookup", True)
            refused(seen(read.parquet(narrow), "n"), "'n' is of another type")
            if "choice" not in what:
                short = spark.read.parquet(f"{narrow}/one")
                refused(seen(short, "n"), "cannot tell people apart")


def test_what_is_renamed_or_chosen_by_plain_columns_is_read(spark: Any, tmp_path: Path) -> None:
    rows = {"who": ["ann", "bob", "cy"], "n": pa.array([1, 2, 3], pa.int32()), "a": [1, 1, 2]}
    frame = spark.read.parquet(folder(tmp_path, one=rows) + "/one")
    for seen, number in (
        (frame.withColumnRenamed("who", "person").where("n < 3"), 2),
        (frame.selectExpr("CAST(n AS BIGINT) AS person", "a"), 3),
        (frame.selectExpr("who AS person", "a").unionByName(frame.selectExpr("who AS person", "a").where("a > 7")), None),
    ):  # fmt: skip
        if number is None:
            refused(seen, "would be read twice")
            continue
        with open_engine(seen, BY_PERSON) as engine:
            assert engine.row_count() == number


@pytest.mark.parametrize(
    ("stored", "computed"),
    [
        (pa.array([0.0, -0.0, 5.1, 5.2]), ("CAST(who AS STRING)", "CAST(who AS INT)", "who > 5D")),
        (
            pa.array([1_604_208_600 * 10**6, 1_604_212_200 * 10**6], pa.timestamp("us", tz="UTC")),
            ("CAST(who AS STRING)", "CAST(who AS DATE)"),
        ),
        (pa.array([Decimal("1.25"), Decimal("1.26")]), ("CAST(who AS DECIMAL(3, 1))",)),
        (pa.array(["1", "01"]), ("CAST(who AS INT)", "'ann'")),
    ],
)
def test_nobody_is_told_apart_by_a_cast(
    stored: Any, computed: Sequence[str], spark: Any, tmp_path: Path
) -> None:
    """As texts, two zeros were two people, and two moments of an hour that the session's time zone has twice were one."""
    pq.write_table(pa.table({"who": stored, "a": [1] * len(stored)}), tmp_path / "t.parquet")
    frame = spark.read.parquet(str(tmp_path))
    with setting("spark.sql.ansi.enabled", "false"):
        for each in computed:
            seen = [frame.selectExpr(f"{each} AS person", "a")]
            seen.append(frame.selectExpr(f"{each} AS b", "a").selectExpr("b AS person", "a"))
            for one in seen:
                with pytest.raises(BadSource, match=r"cannot tell people apart|a comparison of"):
                    open_engine(one, BY_PERSON)
    numbers = frame.selectExpr("CAST(CAST(a AS BIGINT) AS STRING) AS person", "1 AS a")
    with open_engine(numbers, BY_PERSON) as engine:
        assert engine.row_count() == 1


def _short_numbers(place: Path, rows: Sequence[int]) -> str:
    """The column has 8 bits by its type. Some values are stored as 101 + 256, which Spark reads as 101."""
    table = pa.table({"x": pa.array(rows, pa.int8()), "a": [1] * len(rows)})
    pq.write_table(table, place, use_dictionary=False, compression="none")
    place.write_bytes(place.read_bytes().replace(b"\x65\0\0\0", b"\x65\x01\0\0"))
    return str(place)


@pytest.mark.parametrize("condition", ["x < 110", "x = 101", "x IN (101, 3)", "NOT x > 110"])
def test_no_row_decides_whether_a_question_sees_those_that_a_file_stores_beside_it(
    condition: str, spark: Any, tmp_path: Path
) -> None:
    """Spark dropped upper bits of short numbers, and passed over parts of files by what these say of them: one row
    moved a count from 0 to 101, at sensitivity 1."""
    schema = Schema(dataset="t", columns=(IntegerColumn("x", 0, 120), IntegerColumn("a", 0, 120)))
    asked = Statements(schema, Notion.EPSILON).planned(
        f"SELECT count(*) FROM t WHERE {condition}", Budget(epsilon=1), None, 0.95
    )
    query = asked.parts[0].requests[0].query
    found = []
    for name, more in (("less", []), ("more", [5])):
        path = _short_numbers(tmp_path / f"{name}.parquet", [101] * 100 + more)
        with open_engine(f"spark:{path}", schema) as engine:
            found.append(int(engine.tally([query])[0][0]))
        chosen = spark.read.parquet(path).selectExpr("CAST(x AS INT) AS y", "a").where("y < 110")
        refused(chosen, "a comparison of a column", BY_ROW)
    assert found[0] == 100
    assert abs(found[1] - found[0]) <= 1


ORC_TYPES = {
    "decimals": (pa.array([Decimal("1.25"), Decimal("1.26")]), "int"),
    "doubles": (pa.array([5.1, 5.2]), "bigint"),
    "long numbers": (pa.array([5, 5 + 2**40]), "float"),
    "moments": (pa.array([0, 1], pa.timestamp("us")), "date"),
    "truths": (pa.array([5, 6]), "boolean"),
}


@pytest.mark.parametrize("what", ORC_TYPES)
def test_orc_files_of_other_types_than_spark_reads_them_by_are_refused(
    what: str, spark: Any, tmp_path: Path
) -> None:
    """Two people were one."""
    values, type_ = ORC_TYPES[what]
    orc.write_table(pa.table({"person": values, "a": [1, 2]}), tmp_path / "part.orc")
    read = spark.read.schema(f"person {type_}, a bigint").orc(str(tmp_path))
    refused(read, "'person' is of another type")
    alike = spark.read.schema("person string, a bigint").orc(str(tmp_path))
    refused(alike, "'person' is of another type")
    if what == "long numbers":
        with open_engine(spark.read.orc(str(tmp_path)), BY_PERSON) as engine:
            assert engine.row_count() == 2


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_moments_in_orc_files_are_refused(unit: str, spark: Any, tmp_path: Path) -> None:
    """One far moment stopped the run after its charge, whatever was read of it."""
    first, last = datetime(2000, 1, 1), datetime(2010, 1, 1)
    columns = DatetimeColumn("m", first, last, granularity="year"), IntegerColumn("a", 0, 9)
    far = pa.array([0, 10**14 if unit == "s" else 0], pa.timestamp(unit))
    days = pa.array([0, 2**31 - 1], pa.int32()).cast(pa.date32())
    orc.write_table(pa.table({"m": far, "d": days, "a": [1, 2]}), tmp_path / "part.orc")
    frame = spark.read.orc(str(tmp_path))
    refused(frame, "files that are not Parquet", Schema(dataset="t", columns=columns))
    refused(frame.where("m IS NOT NULL").select("a"), "files that are not Parquet", BY_ROW)
    moments = spark.read.schema("d timestamp, a bigint").orc(str(tmp_path))
    refused(
        moments.withColumnRenamed("d", "m"), "of another type", Schema(dataset="t", columns=columns)
    )
    by_day = DateColumn("d", date(2000, 1, 1), date(2010, 1, 1), granularity="year")
    with open_engine(frame, Schema(dataset="t", columns=(by_day,))) as engine:
        assert engine.row_count() == 2


class DataSource:
    """Stands for the plan of files that are read through Spark Connect."""

    def __init__(self, format_: str) -> None:
        self._format = format_


def test_orc_files_are_refused_through_spark_connect() -> None:
    """Nothing there tells how they store moments."""
    assert "orc" in str(odd_remote_source(None, DataSource("orc")))  # type: ignore[arg-type]
    assert odd_remote_source(None, DataSource("Parquet")) is None  # type: ignore[arg-type]


@pytest.mark.parametrize("version", ["parquet", ""])
def test_files_whose_rest_is_left_out_where_a_value_cannot_be_read_are_refused(
    version: str, spark: Any, tmp_path: Path
) -> None:
    """One row took the ninety after it out of the table."""
    schema = Schema(dataset="t", columns=(NumberColumn("x", 0.0, 120.0, cuts=(5.0,)),))
    values = [10_000] * 10 + [2**150] + [10_000] * 90
    wide = decimal(38, 4, "FIXED_LEN_BYTE_ARRAY", 20)
    stored = [one.to_bytes(20, "big", signed=True) for one in values]
    path = str(write_raw(tmp_path / "part.parquet", [("x", wide, stored)]))
    with setting("spark.sql.sources.useV1SourceList", version):
        for name in ("ignoreCorruptFiles", "IGNORECORRUPTFILES"):
            refused(spark.read.option(name, True).parquet(path), "ignoreCorruptFiles", schema)
        with setting("spark.sql.files.ignoreCorruptFiles", "true"):
            refused(f"spark:{path}", "ignoreCorruptFiles", schema)
            refused(spark.read.parquet(path), "ignoreCorruptFiles", schema)
