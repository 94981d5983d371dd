"""Spark as a place of rows: what is read and what refused, whatever the session's settings, and how work ends."""

from __future__ import annotations

import math
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from datetime import datetime
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sqlglot import exp

import discreet as dc
from discreet.engines import SumRequest, column_names_and_types, open_engine
from discreet.engines.spark.dialect import DIALECT
from discreet.engines.sql import syntax as s
from discreet.errors import BadSource, EngineFailed
from discreet.privacy.adjacency import PrivacyUnit
from discreet.queries.tallies import Cells, Persons, Rows, Tally, Total
from discreet.questions.dialects.curator_sql import parse_curator_question
from discreet.questions.expressions import TRUE
from discreet.schema import (
    CategoryColumn,
    DatetimeColumn,
    IntegerColumn,
    NumberColumn,
    Schema,
)
from tests.command_line import Done
from tests.engines.care_view import CARE, ROWS, TABLES, counted_view
from tests.engines.four_people import AGES, CANARY, SCHEMA, SEXES, TABLE, counted, wrong_in_threads
from tests.spark_session import compiled, session, setting, spark_frame


@pytest.fixture
def spark() -> Any:
    return session()


@pytest.fixture
def frame() -> Any:
    return spark_frame(TABLE)


# -- What is read ----------------------------------------------------------------------------


def test_frames_tables_views_and_parquet_files_are_read_alike(
    spark: Any, frame: Any, tmp_path: Path
) -> None:
    pq.write_table(TABLE, tmp_path / "people.parquet")
    spark.sql("CREATE DATABASE IF NOT EXISTS clinic")
    frame.write.saveAsTable("clinic.Odd_one")
    frame.createOrReplaceTempView("shown")
    spark.sql("CREATE VIEW clinic.chosen AS SELECT sex, age FROM clinic.Odd_one")
    try:
        sources: dict[str, object] = {
            "a frame": frame,
            "columns and rows of it": frame.select("sex", "age").where(
                "age IS NULL OR age <> 5 OR sex = 'x'"
            ),
            "names that SQL would take apart": frame.toDF("AGE", "Sex").selectExpr(
                "AGE", "Sex", "1 AS `a.b${c}`"
            ),
            "a table": "spark:clinic.Odd_one",
            "with its catalog": "spark:spark_catalog.clinic.`odd_one`",
            "a temporary view": "spark:shown",
            "a view": "spark:clinic.chosen",
            "files": f"spark:{tmp_path}/people.parquet",
            "a format and a path": f"spark:parquet.`{tmp_path}/people.parquet`",
        }
        for name, source in sources.items():
            assert counted(source) == [AGES, SEXES], name
        assert column_names_and_types(f"spark:{tmp_path}/people.parquet") == [
            ("age", "BIGINT"),
            ("sex", "STRING"),
        ]
    finally:
        spark.sql("DROP DATABASE clinic CASCADE")
        spark.catalog.dropTempView("shown")


SETTINGS = {
    "spark.sql.ansi.enabled": "false",
    "spark.sql.session.timeZone": "Asia/Kathmandu",
    "spark.sql.caseSensitive": "true",
    "spark.sql.parser.escapedStringLiterals": "true",
    "spark.sql.legacy.exponentLiteralAsDecimal.enabled": "true",
    "spark.sql.decimalOperations.allowPrecisionLoss": "false",
    "spark.sql.ansi.enforceReservedKeywords": "true",
    "spark.sql.ansi.doubleQuotedIdentifiers": "true",
}


def test_like_takes_each_piece_where_it_first_stands_and_never_looks_again() -> None:
    """Spark's own LIKE took 17 seconds on 80 letters, and has no end on a thousand: an answer that never comes
    tells of the row. Patterns and texts hold what a regular expression reads in its own way."""
    texts = [
        "aaaa",
        "a.b",
        "axb",
        "",
        "a\nb",
        "(a",
        "É\\",
        "é\\",
        "\U0001f600b",
        "ab%_",
        "abab",
        "[a",
        "a+",
    ]
    texts += ["a" * 2_000]
    schema = Schema(dataset="t", columns=(CategoryColumn("m", ("F",)),))
    table = pa.table({"m": texts})
    patterns = [
        "%a_%a_%a_%a_%a_%b%c",
        "a.b",
        "a_b",
        "(%",
        "%\\",
        "_b",
        "%",
        "",
        "%ab%ab",
        "%a%b%",
        "a+",
        "[_%",
        "É_",
    ]
    like = DIALECT.like(s.name("m"), s.text("x%a_%%.%b"), any_case=False)
    (matched,) = like.find_all(exp.RegexpLike)
    assert matched.expression.name == r"\A(?:(?s)x(?>.*?a.)(?>.*?\.).*b)\z"
    tallies = []
    for pattern in patterns:
        for word in ("LIKE", "ILIKE"):
            sql = f"SELECT count(*) FROM t WHERE m {word} '{pattern}'"
            tallies.append(Tally(Rows(), condition=parse_curator_question(sql, schema).condition))
    with open_engine(spark_frame(table), schema) as one, open_engine(table, schema) as other:
        assert one.tally(tallies) == other.tally(tallies)


def test_no_setting_of_the_session_changes_a_number_and_none_is_changed() -> None:
    """The texts hold what one setting or another reads in its own way, and the sum takes more than 64 bits."""
    texts = ("a\\b", "a'b", "${spark.app.name}", "\\n", '"', "1e3")
    schema = Schema(
        dataset="odd",
        unit=PrivacyUnit("who", 3, max_groups=2),
        columns=(
            CategoryColumn("text", texts),
            IntegerColumn("large", 0, 2**61),
            NumberColumn("real", 0.0, 10.0, bits=6),
        ),
    )
    rows = 40
    frame = spark_frame(
        {
            "who": [f"p{n % 13}" for n in range(rows)],
            "text": [[*texts, None, "\n", "tests"][n % 9] for n in range(rows)],
            "large": [2**61 - n % 3 for n in range(rows)],
            "real": [n * 0.3 for n in range(rows)],
        }
    )
    question = parse_curator_question(
        "SELECT count(*) FROM odd WHERE text LIKE '%\\_' OR real / 3 > 1e-1 OR text = '${spark.app.name}'",
        schema,
    )

    def said() -> list[Any]:
        with open_engine(frame, schema) as engine:
            tallies = [
                Tally(Rows(), ("text",), question.condition),
                Tally(Total("large", 1, 3), ("text",)),
                Tally(Persons(), ("text",)),
                Tally(Cells("real"), ("text",)),
            ]
            keys, held = engine.held_keys(["text"], TRUE)
            return [
                engine.row_count(),
                engine.sums([SumRequest("large", 1, Fraction(0), Fraction(2**61))]),
                *(one.tolist() for one in engine.marginals([("text", "real")])),
                *(one.tolist() for one in engine.tally(tallies)),
                keys,
                held.tolist(),
            ]

    plain = said()
    assert plain[1][0] > 2**63
    assert plain[3] != [0] * len(plain[3])
    spark = session()
    with ExitStack() as stack:
        for name, value in SETTINGS.items():
            stack.enter_context(setting(name, value))
        assert said() == plain
        assert {name: spark.conf.get(name) for name in SETTINGS} == SETTINGS
    with compiled():
        assert said() == plain
    tables = [row.tableName for row in spark.sql("SHOW TABLES").collect()]
    assert not [name for name in tables if name.startswith("discreet_")]


def test_texts_are_compared_byte_by_byte_whatever_the_collation(spark: Any, frame: Any) -> None:
    spark.sql("CREATE TABLE blind (age int, sex string COLLATE UTF8_LCASE) USING parquet")
    try:
        spark.sql("INSERT INTO blind VALUES (1, 'F'), (1, 'f'), (1, 'M'), (1, 'm')")
        assert counted("spark:blind")[1] == [1, 1, 2, 0]
        with open_engine("spark:blind", SCHEMA) as engine:
            keys, held = engine.held_keys(["sex"], TRUE)
        assert keys == [("F",), ("M",), ("f",), ("m",)] and held.tolist() == [1, 1, 1, 1]
    finally:
        spark.sql("DROP TABLE blind")


def test_a_folders_name_takes_the_place_of_no_column(spark: Any, tmp_path: Path) -> None:
    """Else all rows in a folder `who=3` would be one person's. Folders of other names are columns."""
    by_person = Schema(
        dataset="t", columns=(IntegerColumn("a", 0, 9),), unit=PrivacyUnit("who", max_rows=1)
    )
    people = pa.table({"who": ["ann", "bob", "cy"], "a": [1, 2, 3]})
    for root, folder in (("own", "WHO=3"), ("spelled", "%77ho=3"), ("other", "year=2020")):
        (tmp_path / root / folder).mkdir(parents=True)
        pq.write_table(people, tmp_path / root / folder / "part.parquet")
        with open_engine(f"spark:{tmp_path / root}", by_person) as engine:
            assert engine.row_count() == 3
    of_folders = Schema(dataset="t", columns=(IntegerColumn("year", 2019, 2021),))
    with open_engine(f"spark:{tmp_path / 'other'}", of_folders) as engine:
        (counts,) = engine.marginals([("year",)])
        assert counts.tolist()[:3] == [0, 3, 0]


def test_no_folders_name_decides_how_others_are_read(spark: Any, tmp_path: Path) -> None:
    """Spark reads `code=01` as the number 1, until one row lies in `code=A`."""
    schema = Schema(
        dataset="t",
        columns=(CategoryColumn("code", ("01", "02")), IntegerColumn("year", 2019, 2021)),
        unit=PrivacyUnit("who", max_rows=1),
    )
    before: list[int] = []
    for more in ((), ("A",)):
        for number, code in enumerate(("01", "1", "02", *more)):
            place = tmp_path / f"year=2020/code={code}/who=0{number}"
            place.mkdir(parents=True, exist_ok=True)
            pq.write_table(pa.table({"a": [1]}), place / "part.parquet")
        with open_engine(f"spark:{tmp_path}", schema) as engine:
            codes, years = (engine.marginals([(one,)])[0].tolist() for one in ("code", "year"))
            assert engine.row_count() == 3 + len(more)
        assert years[1] == 3 + len(more)
        assert codes[:2] == [1, 1]
        assert before in ([], codes[:2])
        before = codes[:2]


def test_files_of_other_types_than_spark_reads_them_by_are_refused(
    spark: Any, tmp_path: Path
) -> None:
    """Spark takes the types of one file for all: 257 and 1 became one person, and a far day stopped the run."""
    by_person = Schema(
        dataset="t", columns=(IntegerColumn("a", 0, 9),), unit=PrivacyUnit("who", max_rows=1)
    )
    moments = Schema(
        dataset="t",
        columns=(
            DatetimeColumn("at", datetime(2020, 1, 1), datetime(2020, 12, 31), granularity="day"),
        ),
    )
    few, many = pa.array([1], pa.int8()), pa.array([1, 257], pa.int32())
    day = pa.array([18_300, 2**30], pa.int32()).cast(pa.date32())
    moment = pa.array([datetime(2020, 2, 2)], pa.timestamp("us"))
    other = {"b": pa.array(["x"])}, {"b": pa.array([5, 6])}
    for root, schema, first, second in (
        ("narrow", by_person, {"who": few, "a": few}, {"who": many, "a": many}),
        (
            "undeclared too",
            by_person,
            {"who": few, "a": few, **other[0]},
            {"who": many, "a": many, **other[1]},
        ),
        ("far", moments, {"at": moment}, {"at": day}),
    ):
        (tmp_path / root).mkdir()
        for name, columns in (("1", first), ("2", second)):
            pq.write_table(pa.table(columns), tmp_path / root / f"{name}.parquet")
        with pytest.raises(BadSource, match="of another type in some of the files"):
            open_engine(f"spark:{tmp_path / root}", schema)
    read = spark.read.schema("who tinyint, a int").parquet(str(tmp_path / "narrow" / "2.parquet"))
    with pytest.raises(BadSource, match="of another type in some of the files"):
        open_engine(read, by_person)
    (tmp_path / "narrow" / "1.parquet").rename(tmp_path / "narrow" / "3.parquet")
    for source in (
        tmp_path / "narrow",
        tmp_path / "narrow" / "2.parquet",
    ):  # a wider type holds all
        with open_engine(f"spark:{source}", by_person) as engine:
            assert engine.row_count() == 2
    for name, column in zip(("2", "3"), other, strict=True):  # what is not declared may differ
        whose = {"who": many[: len(column["b"])], "a": many[: len(column["b"])]}
        pq.write_table(pa.table({**whose, **column}), tmp_path / "narrow" / f"{name}.parquet")
    with open_engine(f"spark:{tmp_path / 'narrow'}", by_person) as engine:
        assert engine.row_count() == 2


def test_a_category_of_many_values_is_joined_and_finds_each(spark: Any) -> None:
    values = tuple(f"v{n}" for n in range(300))
    schema = Schema(dataset="many", columns=(CategoryColumn("c", values),))
    first, second = (spark_frame({"c": [*values[:250], "w", None, values[0]]}) for _ in range(2))
    with open_engine(first, schema) as one, open_engine(second, schema) as other:
        for engine in (one, other):
            (counts,) = engine.marginals([("c",)])
            assert counts.tolist() == [2, *[1] * 249, *[0] * 50, 1, 1]


def test_a_type_without_values_counts_as_null(spark: Any) -> None:
    frame = spark.sql(
        "SELECT * FROM VALUES (X'31', array(1), 1), (X'', array(), 2) AS t(seen, ages, age)"
    )
    odd = Schema(dataset="t", columns=(IntegerColumn("seen", 0, 9), IntegerColumn("ages", 0, 9)))
    with open_engine(frame, odd) as engine:
        assert [one[-1] for one in engine.marginals([("seen",), ("ages",)])] == [2, 2]
    with (
        pytest.raises(BadSource, match="cannot tell people apart"),
        open_engine(
            frame, Schema(dataset="t", unit=PrivacyUnit("seen", 1), columns=odd.columns[1:])
        ),
    ):
        pass


def test_a_declared_view_joins_tables_of_a_catalog_as_it_joins_files(
    spark: Any, tmp_path: Path
) -> None:
    spark.sql("CREATE DATABASE IF NOT EXISTS care")
    try:
        for name, table in TABLES.items():
            pq.write_table(table, tmp_path / f"{name}.parquet")
            spark_frame(table).write.saveAsTable(f"care.{name}")
        files, tables = counted_view(str(tmp_path)), counted_view("spark:care")
        assert files == tables and files[0] == ROWS
        with pytest.raises(BadSource, match="name the schema"):
            open_engine(spark_frame(TABLE), CARE)
    finally:
        spark.sql("DROP DATABASE care CASCADE")


# -- What is refused, before a row is read ------------------------------------------------------

REFUSED: dict[str, Callable[[Any], Any]] = {
    "computes": lambda frame: frame.selectExpr("10 / age AS age", "sex"),
    "casts": lambda frame: frame.selectExpr("CAST(sex AS INT) AS age", "sex"),
    "joins": lambda frame: frame.join(frame.selectExpr("age AS b")),
    "groups": lambda frame: frame.groupBy("sex").agg({"age": "max"}).toDF("sex", "age"),
    "takes some rows": lambda frame: frame.limit(2),
    "takes rows by chance": lambda frame: frame.where("rand() < 0.5"),
    "asks its user's function": lambda frame: frame.mapInPandas(lambda rows: rows, frame.schema),
}


@pytest.mark.parametrize("what", REFUSED)
def test_a_frame_that_may_fail_on_a_row_or_mix_people_is_refused(what: str, frame: Any) -> None:
    with setting("spark.sql.ansi.enabled", "true"):
        made = REFUSED[what](frame)
    with pytest.raises(BadSource, match=r"more than choose columns.*No row was read"):
        open_engine(made, SCHEMA)


CHOICES = ("x > 5D", "x <> 1D", "NOT (x < 5D)", "x IN (1D, 9D) OR x > 8D", "zero >= 0D", "zero <=> 0D", "f > CAST(5 AS FLOAT)", "CAST(f AS DOUBLE) > 5D", "age > 0", "age > 0.5D")  # fmt: skip
"""What rows are chosen by. A file's least and greatest values know no NaN, and take -0.0 for less than 0.0."""


def test_no_row_decides_whether_spark_reads_those_that_a_file_stores_beside_it(
    spark: Any, tmp_path: Path
) -> None:
    """Spark passes over a part of a file whose greatest value is too small: so one row brought back a hundred with NaN."""

    def table(extra: list[float], name: str) -> str:
        real, zero = [1.0, *[math.nan] * 100, *extra], [-0.0] * 101 + extra
        same = {"age": [1] * len(real), "sex": ["F"] * len(real)}
        columns = {"x": real, "f": pa.array(real, pa.float32()), "zero": zero, **same}
        pq.write_table(pa.table(columns), tmp_path / name)
        return str(tmp_path / name)

    less, more = table([], "less.parquet"), table([9.0], "more.parquet")
    taken = 0
    for choice in CHOICES:
        try:
            few, many = (
                np.array(counted(spark.read.parquet(path).where(choice))[0]).sum()
                for path in (less, more)
            )
        except BadSource as error:
            assert "a comparison of a column of type float" in str(error)
            continue
        assert abs(many - few) <= 1, choice
        taken += 1
    assert taken == 2, "whole numbers may be compared"
    computed = spark.read.parquet(less).selectExpr("x > 5D AS sex", "age")
    with pytest.raises(BadSource, match="a comparison of a column"):
        open_engine(computed, SCHEMA)


@pytest.mark.parametrize("ansi", ["true", "false"])
def test_a_cast_that_stops_at_a_far_day_or_an_odd_text_is_refused_in_any_mode(
    ansi: str, spark: Any, tmp_path: Path
) -> None:
    """Spark holds days and moments that it cannot turn into each other, and reads intervals strictly."""
    far = {
        "day": pa.array([0, 2**31 - 1], pa.int32()).view(pa.date32()),
        "local": pa.array([0, 2**63 - 1], pa.int64()).view(pa.timestamp("us")),
        "moment": pa.array([0, -(2**63)], pa.int64()).view(pa.timestamp("us", "UTC")),
    }
    pq.write_table(pa.table({**far, "age": [1, 2], "sex": ["F", "odd"]}), tmp_path / "far.parquet")
    casts = [
        "day AS TIMESTAMP",
        "day AS TIMESTAMP_NTZ",
        "local AS TIMESTAMP",
        "moment AS TIMESTAMP_NTZ",
    ]
    casts += ["sex AS INTERVAL DAY", "age AS INTERVAL YEAR"]
    with setting("spark.sql.ansi.enabled", ansi):
        table = spark.read.parquet(str(tmp_path / "far.parquet"))
        for cast in casts:
            made = table.selectExpr("age", "sex", f"CAST({cast}) AS made")
            for frame in (made, made.where("made IS NOT NULL").select("age", "sex")):
                with pytest.raises(BadSource, match=r"\(a cast\).*No row was read"):
                    open_engine(frame, SCHEMA)
        kept = table.selectExpr("CAST(age AS DECIMAL(20, 0)) AS age", "CAST(day AS STRING) AS sex")
        with open_engine(kept, SCHEMA) as engine:
            assert engine.row_count() == 2


def test_a_view_of_the_catalog_that_computes_is_refused(spark: Any, frame: Any) -> None:
    frame.write.saveAsTable("plain")
    spark.sql("CREATE VIEW divided AS SELECT 10 / age AS age, sex FROM plain")
    try:
        with pytest.raises(BadSource, match="more than choose columns"):
            open_engine("spark:divided", SCHEMA)
    finally:
        spark.sql("DROP VIEW divided")
        spark.sql("DROP TABLE plain")


def test_a_session_in_which_an_old_date_stops_the_reader_is_refused(frame: Any) -> None:
    with (
        setting("spark.sql.parquet.datetimeRebaseModeInRead", "EXCEPTION"),
        pytest.raises(BadSource, match="Set it to CORRECTED"),
    ):
        open_engine(frame, SCHEMA)


def test_moments_in_milliseconds_are_refused_before_spark_stops_at_one(
    spark: Any, tmp_path: Path
) -> None:
    """In microseconds they are read; what is not declared does not matter."""
    far = pa.array([0, 2**62], pa.timestamp("ms", tz="UTC"))
    near = pa.array([0, 10**15], pa.timestamp("us", tz="UTC"))
    pq.write_table(pa.table({"far": far, "near": near}), tmp_path / "a b%20c.parquet")
    schemas = [
        Schema(
            dataset="t",
            columns=(
                DatetimeColumn(
                    name, datetime(1970, 1, 1), datetime(1970, 1, 2), granularity="hour"
                ),
            ),
        )
        for name in ("near", "far")
    ]
    source = f"spark:{tmp_path}"
    with open_engine(source, schemas[0]) as engine:
        assert engine.marginals([("near",)])[0].sum() == 2
    with pytest.raises(BadSource, match=r"'far' is stored in milliseconds.*No row was read"):
        open_engine(source, schemas[1])


def test_moments_in_milliseconds_are_found_under_another_name_and_in_files_of_any_name(
    spark: Any, tmp_path: Path
) -> None:
    """Hive gives its Parquet files no suffix. What another name stands for is not guessed at."""
    far = pa.table({"stored": pa.array([0, 2**62], pa.timestamp("ms", tz="UTC"))})
    for file in ("plain.parquet", "hive/000000_0"):
        (tmp_path / file).parent.mkdir(exist_ok=True)
        pq.write_table(far, tmp_path / file)
    first, last = datetime(1970, 1, 1), datetime(1970, 1, 2)
    renamed, stored = (
        Schema(dataset="t", columns=(DatetimeColumn(name, first, last, granularity="hour"),))
        for name in ("renamed", "stored")
    )
    plain, hive = (spark.read.parquet(f"{tmp_path}/{name}") for name in ("plain.parquet", "hive"))
    frames = [
        (plain.withColumnRenamed("stored", "renamed"), renamed),
        (plain.toDF("renamed"), renamed),
        (spark.read.schema("renamed timestamp").parquet(f"{tmp_path}/plain.parquet"), renamed),
    ]
    for frame, schema in [*frames, (hive, stored)]:
        with pytest.raises(BadSource, match=r"is stored in milliseconds.*No row was read"):
            open_engine(frame, schema)


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("spark:", "names no table"),
        ("spark:nowhere.at_all", r"cannot open 'nowhere.at_all'"),
        ("spark:/nowhere/people.parquet", r"cannot open '/nowhere/people.parquet'"),
        ("spark:a b c", "cannot open"),
    ],
)
def test_a_name_that_leads_nowhere_is_refused(spark: Any, source: str, said: str) -> None:
    with pytest.raises(BadSource, match=said) as caught:
        open_engine(source, SCHEMA)
    assert caught.value.__cause__ is None and caught.value.__context__ is None


def test_a_missing_column_is_named_with_the_nearest_one(frame: Any) -> None:
    with pytest.raises(BadSource, match=r"lacks a column.*'age'"):
        open_engine(frame, Schema(dataset="p", columns=(IntegerColumn("aeg", 0, 9),)))


def test_without_the_driver_the_fix_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyspark.sql", None)
    with pytest.raises(BadSource, match=r"discreet\[spark\]"):
        open_engine("spark:people", SCHEMA)


# -- Work that is broken off -------------------------------------------------------------------


def test_sparks_message_is_not_passed_on(frame: Any) -> None:
    with setting("spark.sql.ansi.enabled", "true"), open_engine(frame, SCHEMA) as engine:
        work: Any = engine._session._work  # type: ignore[attr-defined]
        failing = frame.selectExpr("CAST(sex AS INT) AS age")
        with pytest.raises(EngineFailed, match=r"CAST_INVALID_INPUT.*stays charged") as caught:
            work(failing.collect)
        assert CANARY not in repr(caught.value)
        assert caught.value.__cause__ is None and caught.value.__context__ is None
        assert engine.row_count() == 4


ENDLESS = Schema(dataset="endless", columns=(IntegerColumn("id", 0, 9),))


def running(spark: Any) -> int:
    return len(spark.sparkContext.statusTracker().getActiveJobsIds())


def until(condition: Callable[[], bool]) -> None:
    for _ in range(3000):
        if condition():
            return
        time.sleep(0.02)
    raise AssertionError("nothing happened within a minute")


def test_ctrl_c_cancels_the_jobs(spark: Any) -> None:
    with open_engine(spark.range(10**13), ENDLESS) as engine:

        def interrupt() -> None:
            until(lambda: running(spark) > 0)
            os.kill(os.getpid(), signal.SIGINT)

        thread = threading.Thread(target=interrupt)
        before = signal.signal(signal.SIGINT, signal.default_int_handler)
        try:
            thread.start()
            with pytest.raises(KeyboardInterrupt):
                engine.marginals([("id",)])
            thread.join()
        finally:
            signal.signal(signal.SIGINT, before)
        until(lambda: running(spark) == 0)
        with pytest.raises(EngineFailed, match="closed"):
            engine.row_count()
    tables = [row.tableName for row in spark.sql("SHOW TABLES").collect()]
    assert not [name for name in tables if name.startswith("discreet_")]


def test_a_job_that_somebody_cancels_ends_in_one_sentence_and_the_engine_goes_on(
    spark: Any,
) -> None:
    shares: list[float] = []
    with open_engine(spark.range(10**13), ENDLESS, progress=shares.append) as engine:

        def cancel() -> None:
            until(lambda: running(spark) > 0 and len(shares) > 1)
            spark.sparkContext.cancelAllJobs()

        thread = threading.Thread(target=cancel)
        thread.start()
        with pytest.raises(EngineFailed, match=r"cancelled.*stays charged") as caught:
            engine.marginals([("id",)])
        thread.join()
        assert caught.value.__context__ is None
        assert engine._session.rows(exp.select("1")) == [(1,)]  # type: ignore[attr-defined]
    assert all(0 <= share <= 1 for share in shares)


def test_a_stopped_session_ends_in_one_sentence(spark: Any, frame: Any) -> None:
    with open_engine(frame, SCHEMA) as engine:
        assert engine.row_count() == 4
        spark.stop()
        session.cache_clear()
        with pytest.raises(EngineFailed, match=r"session was stopped.*stays charged") as caught:
            engine.row_count()
        assert caught.value.__context__ is None
    assert counted(spark_frame(TABLE)) == [AGES, SEXES]


def test_verbs_of_several_threads_see_their_own_results(frame: Any) -> None:
    assert wrong_in_threads(frame, times=2) == []


# -- The whole way -----------------------------------------------------------------------------


def test_the_command_line_drafts_releases_and_asks(
    spark: Any, frame: Any, tmp_path: Path, discreet: Callable[..., Done]
) -> None:
    frame.write.saveAsTable("people")
    try:
        draft = discreet("schema", "draft", "spark:people")
        assert draft.code == 0, draft.err
        assert '[columns.age]\nkind = "integer"' in draft.out and CANARY not in draft.out
        toml = tmp_path / "people.toml"
        toml.write_text(SCHEMA.dumps())
        out, ledger = tmp_path / "people.release", tmp_path / "ledger.db"
        options = ["--schema", str(toml), "--epsilon", "1", "--for", "marginals(age, sex)"]
        options += ["-o", str(out), "--ledger", str(ledger)]
        done = discreet("release", "spark:people", *options)
        assert done.code == 0, done.err
        asked = discreet("ask", str(out), "SELECT count(*) FROM people", "--json")
        assert asked.code == 0, asked.err
    finally:
        spark.sql("DROP TABLE people")


def test_a_curator_answers_from_a_data_frame(frame: Any, tmp_path: Path) -> None:
    with dc.Curator(
        frame, SCHEMA, cap=dc.Budget(epsilon=10), ledger=tmp_path / "ledger.db"
    ) as curator:
        answer = curator.ask(
            "SELECT count(*) FROM people WHERE sex = 'F'", budget=dc.Budget(epsilon=5)
        )
    (column,) = answer.columns
    assert column.lower[0] <= column.estimate[0] <= column.upper[0]


def test_doubles_are_spelled_in_the_fewest_digits_as_other_engines_spell_them() -> None:
    """Java before 19 writes more digits of some: of the least, of powers of two, and from 10^16 on."""
    texts = (
        "5e-324", "8e-323", "-9e-323", "1e-322", "1.6e-322", "-6.3e-322", "1.35807730622e-312", "2.5e-310",
        "5.641232424577593e-278", "7.174648137343064e-43", "0.0001", "0.1", "-1.5", "1e+16", "8.444738143086783e+18",
        "7.89726256089874e+17", "1.6228822079685268e+18", "9.03e+21", "-8e+23", "7.61352657140625e+286",
    )  # fmt: skip
    schema = Schema(dataset="d", columns=(CategoryColumn("c", ("x",)),))
    with open_engine(spark_frame({"c": [float(text) for text in texts]}), schema) as engine:
        keys, _ = engine.held_keys(["c"], TRUE)
    assert sorted(keys) == sorted((text,) for text in texts)
    people = Schema(dataset="d", columns=schema.columns, unit=PrivacyUnit("p", 1))
    singles = pa.table({"c": ["x"] * 4, "p": pa.array([0.1, 0.5, 3.4e38, 1e-45], pa.float32())})
    with open_engine(spark_frame(singles), people) as engine:
        assert engine.row_count() == 4  # each is a person
