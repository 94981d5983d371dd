"""Long texts: no engine reads more of one than a fixed number of letters, so nobody's can fill its memory."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet.engines import open_engine
from discreet.engines.sql.units import LONGEST_TEXT
from discreet.privacy.adjacency import PrivacyUnit
from discreet.queries.tallies import Rows, Tally
from discreet.questions.expressions import TRUE, Call, ColumnValue, Constant
from discreet.schema import CategoryColumn, IntegerColumn, Schema
from discreet.schema.views import View
from tests.postgres_server import server
from tests.spark_session import session

MOST = LONGEST_TEXT
SCHEMA = Schema(
    dataset="t",
    unit=PrivacyUnit("who"),
    columns=(
        CategoryColumn("note", (), undeclared=True),
        CategoryColumn("code", ("a", "b" * 2 * MOST)),
        IntegerColumn("cell", 0, 9),
    ),
)
LONG = "é" * MOST
TABLE = pa.table(
    {
        "who": ["1", "2", "3", "4", "w" * MOST, "w" * (MOST + 1)],
        "note": [LONG, LONG + "1", LONG + "12", "x", "x", "x"],
        "code": ["a", "b" * 2 * MOST, "b" * (2 * MOST + 1), "b" * MOST, "a", "a"],
        "cell": [0, 0, 0, 0, 1, 1],
    }
)
SOURCES: dict[str, Callable[[], Any]] = {
    "DuckDB": lambda: TABLE,
    "PostgreSQL": lambda: server().load(TABLE, {}),
    "Spark": lambda: session().createDataFrame(TABLE.to_pandas()),
}


@pytest.mark.parametrize("engine", SOURCES)
def test_of_a_long_text_each_engine_reads_as_many_letters(engine: str) -> None:
    """A longer one is none of the declared values, and it is nobody's identifier."""
    with open_engine(SOURCES[engine](), SCHEMA) as opened:
        keys, counts = opened.held_keys(("note",), TRUE)
        assert list(zip(keys, counts, strict=True)) == [
            (("x",), 2),
            ((LONG,), 1),
            ((LONG + "1",), 2),
        ]
        codes, cells = opened.marginals([("code",), ("cell",)])
        assert codes.tolist()[:2] == [2, 1] and codes.sum() == 5
        assert cells.tolist()[:2] == [4, 1]


def test_the_long_texts_of_one_person_do_not_stop_a_run(tmp_path: Path) -> None:
    """The database holds the rows of a person together: their texts took more than its memory."""
    rows, size = 250, 400_000
    notes = [chr(97 + place % 26) * size for place in range(rows)]
    columns = {"code": ["a"] * rows, "cell": [0] * rows}
    names = {"who": ["1"] * rows, "note": notes}, {"who": ["1" * size] * rows, "note": ["x"] * rows}
    is_x = Call("=", (ColumnValue("note", "text"), Constant("x", "text")), "boolean")
    for place, more in enumerate(names):
        path = tmp_path / f"{place}.parquet"
        pq.write_table(pa.table({**more, **columns}), path, compression="zstd", row_group_size=50)
        with open_engine(path, SCHEMA, memory_limit="160MB", threads=1) as opened:
            assert opened.tally([Tally(Rows(), condition=is_x)])[0].tolist() == [0]
            assert opened.held_keys(("note",), TRUE)[1].sum() == 1 - place


def test_the_long_texts_of_one_person_do_not_stop_a_view(tmp_path: Path) -> None:
    """A join holds a table's rows, with their whole texts, before any text is read."""
    sql = "SELECT v.who, p.note, p.code, v.cell FROM v JOIN p ON v.who = p.who"
    view = View(sql, (("v", "v.parquet"), ("p", "p.parquet")), identifier="who")
    rows, size, others = 500, 400_000, 5_000
    names = [f"p{place}" for place in range(others)]
    visits = pa.table({"who": ["1", *names] * 3, "cell": [0] * 3 * (others + 1)})
    pq.write_table(visits, tmp_path / "v.parquet")
    places = pa.array([0] * others + [1] * rows, pa.int32())
    notes = pa.DictionaryArray.from_arrays(places, ["x", "y" * size])
    people = {"who": names + ["1"] * rows, "note": notes, "code": ["a"] * (others + rows)}
    pq.write_table(pa.table(people), tmp_path / "p.parquet")
    schema = replace(SCHEMA, view=view)
    with open_engine(tmp_path, schema, memory_limit="160MB", threads=1) as opened:
        keys, counts = opened.held_keys(("note",), TRUE)
    assert keys == [("x",), ("y" * (MOST + 1),)] and counts.tolist() == [others, 1]


def test_the_long_texts_of_one_person_do_not_stop_a_view_in_spark(tmp_path: Path) -> None:
    """Spark hands a table of a small file whole to all who join it: these texts took more than its memory."""
    sql = "SELECT v.who, p.note, p.code, v.cell FROM v JOIN p ON v.who = p.who"
    view = View(sql, (("v", "v.parquet"), ("p", "p.parquet")), identifier="who")
    rows, size, others = 1_500, 900_000, 50_000
    notes = pa.DictionaryArray.from_arrays(pa.array([0] * rows, pa.int32()), ["y" * size])
    tables = {
        "v": pa.table(
            {"who": list(map(str, range(others))), "cell": pa.array([0] * others, pa.int32())}
        ),
        "p": pa.table({"who": ["1"] * rows, "note": notes, "code": ["a"] * rows}),
    }
    spark = session()
    spark.sql("CREATE DATABASE long_texts")
    try:
        for name, table in tables.items():
            (tmp_path / name).mkdir()
            pq.write_table(table, tmp_path / name / "part.parquet")
            place = tmp_path / name
            spark.sql(f"CREATE TABLE long_texts.{name} USING parquet LOCATION '{place}'")
        with open_engine("spark:long_texts", replace(SCHEMA, view=view)) as opened:
            assert opened.row_count() == 1
    finally:
        spark.sql("DROP DATABASE long_texts CASCADE")


def test_of_a_long_text_a_view_reads_as_many_letters(tmp_path: Path) -> None:
    view = View(
        "SELECT t.who, t.note, t.code, t.cell FROM t", (("t", "t.parquet"),), identifier="who"
    )
    pq.write_table(TABLE, tmp_path / "t.parquet")
    with (
        open_engine(TABLE, SCHEMA) as plain,
        open_engine(tmp_path, replace(SCHEMA, view=view)) as joined,
    ):
        (keys, counts), (others, found) = (
            one.held_keys(("note",), TRUE) for one in (plain, joined)
        )
        assert keys == others and counts.tolist() == found.tolist()
        sets = [("code",), ("cell",)]
        for one, other in zip(plain.marginals(sets), joined.marginals(sets), strict=True):
            assert one.tolist() == other.tolist()
