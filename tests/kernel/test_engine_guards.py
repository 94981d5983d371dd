"""No row can make the engine fail, speak, reach out or count a person twice."""

from __future__ import annotations

import gc
import stat
import sys
import tempfile
from fractions import Fraction
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet.engines import SumRequest, open_engine
from discreet.engines.protocol import bounding_key
from discreet.engines.spill import PREFIX
from discreet.errors import BadSource, DiscreetError, EngineFailed
from discreet.queries.tallies import Rows, Tally
from discreet.questions.expressions import TRUE, Call, ColumnValue, Constant
from discreet.schema import Schema
from tests.harness.material.engine_rows import encoded_rows

SCHEMA = """
dataset = "people"
adjacency = "add-remove"
{unit}
[columns.age]
kind = "integer"
range = [0, 99]
[columns.sex]
kind = "category"
values = ["f", "m"]
other = true
[columns.pay]
kind = "number"
bounds = [0.0, 100.0]
bits = 3
"""
PLAIN = Schema.loads(SCHEMA.format(unit=""))
TWO_EACH = Schema.loads(SCHEMA.format(unit='[unit]\nidentifier = "id"\nmax_rows = 2'))
NAN, INFINITE = float("nan"), float("inf")
CANARY = "XQ_CANARY_7391"


def parquet(folder: Path, name: str = "people.parquet", **columns: object) -> Path:
    path = folder / name
    pq.write_table(pa.table(columns), path)
    return path


# --- values ------------------------------------------------------------------------------


def test_a_number_that_is_no_number_counts_as_null_and_never_as_an_edge(tmp_path):
    pay = [1.0, NAN, INFINITE, -INFINITE, None, 99.0]
    path = parquet(tmp_path, age=[1] * 6, sex=["f"] * 6, pay=pay)
    with open_engine(path, PLAIN) as engine:
        (counts,) = engine.marginals([("pay",)])
        (total,) = engine.sums([SumRequest("pay", 1, Fraction(0), Fraction(100))])
    assert counts.tolist() == [1, 0, 0, 0, 0, 0, 0, 1, 4]
    assert total == 100


def test_values_far_outside_the_bounds_add_no_more_than_the_bounds(tmp_path):
    path = parquet(tmp_path, age=[-(10**9), 10**9, 50], sex=["f"] * 3, pay=[-1e300, 1e300, 50.0])
    with open_engine(path, PLAIN) as engine:
        totals = engine.sums(
            [
                SumRequest("age", 1, Fraction(0), Fraction(99)),
                SumRequest("pay", 1024, Fraction(0), Fraction(100)),
            ]
        )
    assert totals == [149, 150 * 1024]


def test_a_sum_is_the_exact_integer_whatever_the_order_of_the_rows(tmp_path):
    """Doubles would lose the small values beside the large ones, one way or the other."""
    schema = Schema.loads(
        'dataset = "d"\nadjacency = "add-remove"\n'
        '[columns.x]\nkind = "number"\nbounds = [0.0, 4000000000.0]\nbits = 3\n'
    )
    values = [4e9] * 2000 + [2.0**-20] * 2001
    request = SumRequest("x", 1 << 20, Fraction(0), Fraction(4 * 10**9))
    exact = 2000 * 4 * 10**9 * 2**20 + 2001
    assert exact > 2**53, "a double could not hold it"
    for name, order in (("up", values), ("down", values[::-1])):
        with open_engine(parquet(tmp_path, f"{name}.parquet", x=order), schema) as engine:
            assert engine.sums([request]) == [exact]


def test_sums_of_the_widest_integers_do_not_wrap(tmp_path):
    schema = Schema.loads(
        'dataset = "d"\nadjacency = "add-remove"\n'
        f'[columns.x]\nkind = "integer"\nrange = [0, {2**62 - 1}]\n'
    )
    with open_engine(parquet(tmp_path, x=[2**62 - 1] * 9), schema) as engine:
        assert engine.sums([SumRequest("x", 1, Fraction(0), Fraction(2**62 - 1))]) == [
            9 * (2**62 - 1)
        ]


HOSTILE = [
    "", "x", "12abc", "1e999", "-1e999", "nan", "99999999999999999999999999999999999999999",
    "2020-13-45", "'; DROP TABLE encoded_rows; --", 'a"b', "\\", "%s", "\t7\t", "٣", "0x1F", "1_000",
]  # fmt: skip


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_no_text_makes_a_verb_fail(tmp_path, form):
    if form == "csv":
        path = tmp_path / "people.csv"
        lines = ["age,sex,pay", *(f'"{t.replace(chr(34), chr(34) * 2)}",f,1' for t in HOSTILE)]
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    else:
        path = parquet(tmp_path, age=HOSTILE, sex=HOSTILE, pay=HOSTILE)
    with open_engine(path, PLAIN) as engine:
        counts = engine.marginals([("age",), ("sex",), ("pay",)])
        engine.sums([SumRequest("age", 1, Fraction(0), Fraction(99))])
        nodes = np.arange(4, dtype=np.uint64).reshape(-1, 1)
        engine.node_counts(("age",), (5,), nodes)
    assert [int(each.sum()) for each in counts] == [len(HOSTILE)] * 3
    expected = [0] * PLAIN.column("age").cells
    for text in HOSTILE:
        expected[PLAIN.column("age").code_of(text)] += 1
    assert counts[0].tolist() == expected


def test_a_text_that_is_not_utf_8_is_a_text_like_any_other(tmp_path):
    raw = pa.array([b"f", b"\xff\xfe" + CANARY.encode(), b"m"], type=pa.binary())
    broken = pa.Array.from_buffers(pa.string(), 3, raw.buffers())
    for dictionary in (True, False):
        path = tmp_path / f"{dictionary}.parquet"
        table = pa.table({"age": [1, 2, 3], "sex": broken, "pay": [1.0] * 3})
        pq.write_table(table, path, use_dictionary=dictionary)
        for source in (path, table):
            with open_engine(source, PLAIN) as engine:
                assert engine.marginals([("sex",)])[0].tolist() == [1, 1, 1, 0]


def test_json_in_parquet_is_refused_by_its_type_before_a_row_can_break_it(tmp_path):
    for text in ('"f"', "{" + CANARY):
        broken = pa.ExtensionArray.from_storage(pa.json_(pa.string()), pa.array([text]))
        path = parquet(tmp_path, age=[1], sex=broken, pay=[1.0])
        with pytest.raises(BadSource, match="'sex' is of type JSON"), open_engine(path, PLAIN):
            pass


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
@pytest.mark.parametrize("kind", ["date", "datetime"])
def test_a_moment_beyond_the_calendar_makes_no_verb_fail(kind, unit):
    schema = Schema.loads(
        'dataset = "d"\nadjacency = "add-remove"\n'
        f'[columns.x]\nkind = "{kind}"\nrange = ["2020-01-01", "2020-12-31"]\ngranularity = "month"\n'
    )
    moments = pa.array([2**62, -(2**62), 0, None], type=pa.timestamp(unit))
    with open_engine(pa.table({"x": moments}), schema) as engine:
        assert engine.marginals([("x",)])[0].sum() == 4


@pytest.mark.parametrize("zone", [None, "UTC"])
@pytest.mark.parametrize("files", [1, 2])
def test_milliseconds_in_parquet_are_read_however_far_they_are(tmp_path, zone, files):
    schema = Schema.loads(
        'dataset = "d"\nadjacency = "add-remove"\n'
        '[columns.x]\nkind = "date"\nrange = ["2020-01-01", "2020-12-31"]\ngranularity = "month"\n'
    )
    march = 1_584_000_000_000
    for number in range(files):
        moments = pa.array([march, 2**62, -(2**62), None], type=pa.timestamp("ms", zone))
        pq.write_table(pa.table({"y": [1] * 4, "x": moments}), tmp_path / f"{number}.parquet")
    with open_engine(tmp_path, schema) as engine:
        for _ in range(2):
            counts = engine.marginals([("x",)])[0]
            assert counts.tolist() == [files, 0, files, *[0] * 8, files, files]


@pytest.mark.parametrize("far", [0, 2**62])
def test_milliseconds_in_parquet_are_refused_by_their_type_where_arrow_is_not_there_to_read_them(
    tmp_path, far, monkeypatch
):
    monkeypatch.setitem(sys.modules, "pyarrow.dataset", None)
    monkeypatch.delattr(pa, "dataset", raising=False)
    schema = Schema.loads(
        'dataset = "d"\nadjacency = "add-remove"\n'
        '[columns.x]\nkind = "date"\nrange = ["2020-01-01", "2020-12-31"]\ngranularity = "month"\n'
    )
    moments = pa.array([0, far], type=pa.timestamp("ms"))
    path = tmp_path / "moments.parquet"
    pq.write_table(pa.table({"x": moments}), path)
    with pytest.raises(BadSource, match="'x' holds timestamps in milliseconds"):
        open_engine(path, schema)
    pq.write_table(pa.table({"x": pa.array([0, 1], type=pa.timestamp("us"))}), path)
    with open_engine(path, schema) as engine:
        assert engine.marginals([("x",)])[0].sum() == 2


@pytest.mark.parametrize("unit", ["us", "ns"])
def test_no_moment_as_an_identifier_makes_a_verb_fail(tmp_path, unit):
    """DuckDB cannot spell a timestamp before its calendar's first day."""
    moments = pa.array([-(2**63), -(2**63) + 2, 2**63 - 2, 0, None], type=pa.timestamp(unit))
    path = parquet(tmp_path, id=moments, age=[1] * 5, sex=["f"] * 5, pay=[1.0] * 5)
    for source in (path, pq.read_table(path)):
        with open_engine(source, TWO_EACH) as engine:
            assert engine.row_count() == 4, "a null identifier is nobody's"


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
@pytest.mark.parametrize("zone", [None, "UTC", "Asia/Kolkata"])
def test_a_moment_beyond_the_calendar_lies_outside_of_every_range(unit, zone):
    schema = Schema.loads(
        'dataset = "d"\nadjacency = "add-remove"\n[columns.x]\nkind = "datetime"\n'
        'range = ["2020-01-01", "2020-01-02"]\ngranularity = "day"\noutside = "edge"\n'
    )
    moments = pa.array([2**62, -(2**62), 2**62, None], type=pa.timestamp(unit, zone))
    for source in (pa.table({"x": moments}), pa.table({"x": moments}).to_pandas()):
        with open_engine(source, schema) as engine:
            assert engine.marginals([("x",)])[0].tolist() == [1, 2, 1]


@pytest.mark.parametrize("collation", ["NOCASE", "NOACCENT", "NOCASE.NOACCENT", "de"])
def test_a_collation_makes_no_two_texts_one(tmp_path, collation):
    """Else the spelling of one row could become the name of a group."""
    schema = Schema.loads(
        'dataset = "d"\nadjacency = "add-remove"\n[unit]\nidentifier = "id"\nmax_rows = 1\n'
        '[columns.x]\nkind = "category"\nvalues = ["Flu", "FLU"]\n'
    )
    path = tmp_path / "t.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute(f"CREATE TABLE t (x VARCHAR COLLATE {collation}, id VARCHAR)")
        connection.execute(
            "INSERT INTO t VALUES ('flú', 'A'), ('FLU', 'a'), ('Flu', 'b'), ('flu', 'B')"
        )
    with open_engine(path, schema) as engine:
        keys, held = engine.held_keys(("x",), TRUE)
        assert dict(zip(keys, held.tolist(), strict=True)) == dict.fromkeys(
            [("flú",), ("FLU",), ("Flu",), ("flu",)], 1
        )
        assert engine.marginals([("x",)])[0].tolist() == [1, 1, 2, 0]
        condition = Call("=", (ColumnValue("x", "text"), Constant("flu", "text")), "boolean")
        assert engine.tally([Tally(Rows(), (), condition)])[0].tolist() == [1]


def test_a_table_of_no_rows_or_of_nulls_alone_is_counted_like_any_other(tmp_path):
    types = pa.schema([("age", pa.int64()), ("sex", pa.string()), ("pay", pa.float64())])
    for rows in (0, 1, 3):
        table = pa.table({name: [None] * rows for name in types.names}, schema=types)
        pq.write_table(table, tmp_path / f"{rows}.parquet")
        with open_engine(tmp_path / f"{rows}.parquet", PLAIN) as engine:
            (counts,) = engine.marginals([("age", "sex")])
            assert counts.shape == (101, 4)
            assert counts[100, 3] == counts.sum() == rows
            assert engine.sums([SumRequest("pay", 1, Fraction(0), Fraction(100))]) == [0]


# --- people with several rows --------------------------------------------------------------


def bounded_by_hand(rows: list[tuple[object, int]], most: int) -> dict[int, int]:
    """Ages that are kept, by the documented rule, in plain Python."""
    codes = PLAIN.column("age"), PLAIN.column("sex"), PLAIN.column("pay")
    kept: dict[int, int] = {}
    for person in {who for who, _ in rows if who is not None}:
        own = [age for who, age in rows if who == person]
        own.sort(
            key=lambda age: bounding_key(
                str(person), [codes[0].code_of(age), codes[1].code_of("f"), codes[2].code_of(1.0)]
            )
        )
        for age in own[:most]:
            kept[age] = kept.get(age, 0) + 1
    return kept


ROWS = [(1, 10), (1, 20), (1, 30), (1, 40), (2, 50), (None, 60), (None, 61), (3, 70), (3, 70)]


@pytest.mark.parametrize("order", [1, -1])
def test_at_most_max_rows_of_a_person_are_kept_and_not_by_their_place(tmp_path, order):
    rows = ROWS[::order]
    path = parquet(
        tmp_path,
        id=[who for who, _ in rows],
        age=[age for _, age in rows],
        sex=["f"] * len(rows),
        pay=[1.0] * len(rows),
    )
    with open_engine(path, TWO_EACH) as engine:
        (counts,) = engine.marginals([("age",)])
        nodes = np.arange(100, dtype=np.uint64).reshape(-1, 1)
        by_node = engine.node_counts(("age",), (0,), nodes)
        encoded = np.concatenate(list(encoded_rows(engine, ("age",), 3)))
        (total,) = engine.sums([SumRequest("age", 1, Fraction(0), Fraction(99))])
        rows_seen = engine.row_count()
    kept = bounded_by_hand(ROWS, 2)
    assert {age: int(counts[age]) for age in np.flatnonzero(counts)} == kept
    assert by_node.tolist() == counts[:100].tolist(), "every verb sees the same bounded table"
    assert sorted(encoded[:, 0].tolist()) == sorted(a for a, n in kept.items() for _ in range(n))
    assert total == sum(age * count for age, count in kept.items())
    assert rows_seen == 5, "rows without an identifier are nobody's"


# --- what an engine may say, and reach --------------------------------------------------------


def damaged_parquet(folder: Path) -> Path:
    """Opens, for its footer is whole; fails when its pages are read, and holds canaries."""
    path = folder / "damaged.parquet"
    text = [f"{CANARY}_{i}" for i in range(2000)]
    table = pa.table({"age": list(range(2000)), "sex": text, "pay": [1.0] * 2000})
    pq.write_table(table, path, compression="none", use_dictionary=False)
    data = bytearray(path.read_bytes())
    for place in range(8, len(data) // 2, 37):
        data[place] ^= 0x5A
    path.write_bytes(bytes(data))
    return path


def everything_said(error: BaseException) -> str:
    return f"{error!r} {error} {error.args} {error.__cause__!r} {error.__notes__ if hasattr(error, '__notes__') else ''}"


def test_a_damaged_file_is_told_without_a_word_of_what_it_holds(tmp_path):
    path = damaged_parquet(tmp_path)
    with pytest.raises(DiscreetError) as caught, open_engine(path, PLAIN) as engine:
        engine.marginals([("age", "sex", "pay")])
    said = everything_said(caught.value)
    assert "CANARY" not in said
    assert isinstance(caught.value, (EngineFailed, BadSource))


def test_an_error_of_the_database_never_shows_its_text(tmp_path):
    """A query that cannot but fail, with a row's value in the database's own message."""
    path = parquet(tmp_path, age=[1], sex=[CANARY], pay=[1.0])
    with open_engine(path, PLAIN) as engine:
        with pytest.raises(EngineFailed) as caught:
            engine._session.rows(f"SELECT CAST(sex AS INTEGER) FROM read_parquet('{path}')")
        assert "CANARY" not in everything_said(caught.value)


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT * FROM read_csv('{other}')",
        "ATTACH '{other}' AS elsewhere",
        "COPY (SELECT 1) TO '{other}.copy'",
        "SET enable_external_access = true",
        "INSTALL httpfs",
    ],
)
def test_an_open_engine_reaches_its_own_source_and_nothing_else(tmp_path, statement):
    other = tmp_path / "other.csv"
    other.write_text("a\n1\n")
    path = parquet(tmp_path, age=[1], sex=["f"], pay=[1.0])
    with open_engine(path, PLAIN) as engine:
        with pytest.raises(EngineFailed):
            engine._session.rows(statement.format(other=other))
        assert engine.row_count() == 1
    assert not (tmp_path / "other.csv.copy").exists()


def test_names_and_values_of_the_schema_are_never_read_as_sql(tmp_path):
    odd = 'age"; DROP TABLE encoded_rows; --'
    schema = Schema.loads(
        'dataset = "d"\nadjacency = "add-remove"\n'
        "[columns.'" + odd + '\']\nkind = "category"\n'
        'values = ["o\'brien", "\'); DROP TABLE x; --", "b"]\n'
    )
    values = ["o'brien", "'); DROP TABLE x; --", "b", "b", "c"]
    with open_engine(parquet(tmp_path, **{odd: values}), schema) as engine:
        (counts,) = engine.marginals([(odd,)])
    assert counts.tolist() == [1, 1, 2, 1, 0]


def test_spilled_rows_are_private_and_gone_when_the_engine_closes(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    engine = open_engine(parquet(tmp_path, age=[1], sex=["f"], pay=[1.0]), PLAIN)
    (place,) = tmp_path.glob(f"{PREFIX}*")
    assert stat.S_IMODE(place.stat().st_mode) == 0o700
    engine.close()
    gc.collect()
    assert list(tmp_path.glob(f"*{PREFIX}*")) == []


def test_a_first_line_that_may_be_a_row_is_not_shown(tmp_path):
    path = tmp_path / "people.csv"
    path.write_text(f"{CANARY},{CANARY}_2,x\n1,f,2\n")
    with pytest.raises(BadSource) as caught, open_engine(path, PLAIN):
        pass
    assert "CANARY" not in everything_said(caught.value)
