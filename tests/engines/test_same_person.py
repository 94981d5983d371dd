"""Who is one person: rows whose identifiers are equal, however they are spelled, and no others.

One person under two names has twice the rows that the noise was made for. Two people under one name change
places when one of them goes. Either way a table and its neighbour are further apart than was paid for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import dataset

from discreet.engines import open_engine
from discreet.errors import BadSource
from discreet.postprocessing.reading.statement import read_statement
from discreet.privacy.adjacency import PrivacyUnit
from discreet.queries.tallies import Rows, Tally
from discreet.questions.dialects.curator_sql import CuratorDialect
from discreet.schema import CategoryColumn, IntegerColumn, Schema
from tests.harness.files.raw_parquet import Stored, converted, decimal, write_raw
from tests.harness.files.stored_types import people as stored_people
from tests.postgres_server import postgres_source, server
from tests.spark_session import session

CELLS = 8
ONE_ROW = Schema(
    dataset="t", columns=(IntegerColumn("cell", 0, CELLS - 1),), unit=PrivacyUnit("who", max_rows=1)
)


def counted(source: object) -> np.ndarray[Any, Any]:
    with open_engine(source, ONE_ROW) as engine:
        (found,) = engine.marginals([("cell",)])
    return np.asarray(found)


def cells(people: Sequence[Any]) -> list[int]:
    """Another cell for each row."""
    return list(range(len(people)))


def arrow(people: Sequence[Any], type_: Any) -> pa.Table:
    return pa.table({"who": pa.array(people, type_), "cell": cells(people)})


def objects(people: Sequence[Any]) -> pd.DataFrame:
    return pd.DataFrame({"who": pd.Series(people, dtype=object), "cell": cells(people)})


def spark(people: Sequence[float]) -> Any:
    return session().createDataFrame(arrow(people, pa.float64()))


ZEROS = (0.0, -0.0, 0.0)
ONE_PERSON: dict[str, Callable[[], object]] = {
    "doubles of Arrow": lambda: arrow(ZEROS, pa.float64()),
    "floats of Arrow": lambda: arrow(ZEROS, pa.float32()),
    "doubles of pandas": lambda: arrow(ZEROS, pa.float64()).to_pandas(),
    "doubles of Polars": lambda: pl.DataFrame({"who": ZEROS, "cell": cells(ZEROS)}),
    "doubles of PostgreSQL": lambda: postgres_source(arrow(ZEROS, pa.float64())),
    "doubles of Spark": lambda: spark(ZEROS),
    "numbers of Python": lambda: objects([1, 1.0, Decimal("1.00"), Fraction(1), np.float32(1)]),
    "fractions of Python": lambda: objects([0.5, Decimal("0.50"), Fraction(1, 2)]),
    "decimals of Python": lambda: objects([Decimal("0.1"), Decimal("0.10"), Fraction(1, 10)]),
    "decimals of PostgreSQL": lambda: server().load(
        arrow(["1", "1.0", "1.00", "1.000"], pa.string()), {"who": "numeric"}
    ),
}


@pytest.mark.parametrize("kind", ONE_PERSON)
def test_equal_identifiers_are_one_person_however_they_are_spelled(kind: str) -> None:
    assert counted(ONE_PERSON[kind]()).sum() == 1


def nocase(folder: Path) -> str:
    with duckdb.connect(str(folder / "people.duckdb")) as database:
        database.execute("CREATE TABLE t (who VARCHAR COLLATE NOCASE, cell INTEGER)")
        database.execute("INSERT INTO t VALUES ('Ann', 0), ('ann', 1)")
    return str(folder / "people.duckdb")


def wide(folder: Path) -> Path:
    """Decimals of more than 38 digits, which DuckDB reads as doubles: these two as one."""
    people = [Decimal(10**45 + 1), Decimal(10**45 + 2)]
    pq.write_table(arrow(people, pa.decimal256(50, 0)), folder / "people.parquet")
    return folder / "people.parquet"


def nanoseconds(folder: Path) -> Path:
    """Moments in 96 bits, which DuckDB reads in microseconds: these two as one."""
    moments = pa.array([1, 2], pa.int64()).view(pa.timestamp("ns"))
    path = folder / "people.parquet"
    pq.write_table(arrow(moments, moments.type), path, use_deprecated_int96_timestamps=True)
    return path


def nanoseconds_in_spark(folder: Path) -> object:
    """The same, of which Spark cuts off the nanoseconds, under another name too."""
    return session().read.parquet(str(nanoseconds(folder))).toDF("WHO", "cell")


SHORT = {
    name: converted(name, "INT32") for name in ("INT_8", "UINT_8", "INT_16", "UINT_16")
} | {"4 digits": decimal(4, 0, "INT32"), "9 digits": decimal(9, 0, "INT64")}  # fmt: skip
"""Numbers that Parquet stores in more bytes than their types say, so that two of them may have the same lower ones."""


def short(stored: Stored, folder: Path) -> Path:
    size = 8 if stored.physical == "INT64" else 4
    people = [one.to_bytes(size, "little") for one in (1, 257, 65_537, 2 ** (8 * size - 2) + 1)]
    return stored_people(folder / "people.parquet", stored, list(enumerate(people)))


def in_postgres(type_: str, *people: str) -> object:
    server().execute(
        "CREATE EXTENSION IF NOT EXISTS citext",
        "CREATE COLLATION IF NOT EXISTS any_case (provider = icu, locale = 'und-u-ks-level2', deterministic = false)",
    )
    return server().load(arrow(people, pa.string()), {"who": type_})


MIXED_UP: dict[str, Callable[[Path], object]] = {
    "decimals of 50 digits": wide,
    "moments in 96 bits": nanoseconds,
    "moments in 96 bits, in Spark": lambda folder: f"spark:{nanoseconds(folder)}",
    "moments in 96 bits, renamed in Spark": nanoseconds_in_spark,
    "short numbers, in Spark": lambda folder: f"spark:{short(SHORT['INT_16'], folder)}",
    "NOCASE of DuckDB": nocase,
    "citext of PostgreSQL": lambda _: in_postgres("citext", "Ann", "ann"),
    "a collation of PostgreSQL": lambda _: in_postgres("text COLLATE any_case", "Ann", "ann"),
    "numbers in JSON of PostgreSQL": lambda _: in_postgres("jsonb", "1", "1.0"),
    "a collation of Spark": lambda _: session().createDataFrame(
        arrow(("Ann", "ann"), pa.string()), "who string collate UTF8_LCASE, cell int"
    ),
}


@pytest.mark.parametrize("kind", MIXED_UP)
def test_identifiers_that_their_database_takes_for_equal_are_not_told_apart_by_spelling(
    kind: str, tmp_path: Path
) -> None:
    with pytest.raises(BadSource, match="'who' has a type or a collation that cannot tell people"):
        counted(MIXED_UP[kind](tmp_path))


@pytest.mark.parametrize("name", SHORT)
def test_numbers_whose_upper_bits_a_reader_drops_name_nobody(name: str, tmp_path: Path) -> None:
    """Parquet has no shorter numbers than 32 bits. What they hold beyond their type is dropped: 257 is 1 in INT_8."""
    path = short(SHORT[name], tmp_path)
    with pytest.raises(BadSource, match="'who' has a type or a collation that cannot tell people"):
        counted(path)
    if not name.endswith("digits"):  # of decimals, Arrow reads all digits
        with pytest.raises(BadSource, match="in more bytes than its type holds"):
            counted(dataset.dataset(path))


def test_short_numbers_name_nobody_in_files_that_arrow_reads(tmp_path: Path) -> None:
    """A column in milliseconds is read through Arrow, which drops upper bits too, and wraps far moments of 96 bits."""
    day = Schema.loads(
        'dataset = "t"\n[unit]\nidentifier = "who"\n[columns.cell]\nkind = "date"\nrange = [2020-01-01, 2020-12-31]'
    )
    for stored, width in ((SHORT["INT_8"], 4), (Stored("moments", "INT96"), 12)):
        people = [one.to_bytes(width, "little") for one in (1, 257)]
        days = [bytes(8)] * 2
        columns = [("who", stored, people), ("cell", converted("TIMESTAMP_MILLIS", "INT64"), days)]
        path = write_raw(tmp_path / "people.parquet", columns)
        with pytest.raises(BadSource, match="No row was read"):
            open_engine(path, day)


def test_tables_are_not_joined_by_what_mixes_people_up(tmp_path: Path) -> None:
    """One person's double is spelled as the decimals of two others are read."""
    folder = wide(tmp_path).parent
    pq.write_table(arrow([1e45], pa.float64()), folder / "others.parquet")
    joined = Schema.loads("""
        dataset = "t"
        [unit]
        identifier = "who"
        [view]
        sql = "SELECT o.who, p.cell FROM others o JOIN people p ON o.who = p.who"
        tables = { others = "others.parquet", people = "people.parquet" }
        [columns.cell]
        kind = "integer"
        range = [0, 7]
        """)
    with pytest.raises(BadSource, match="'who' has a type that tables cannot be joined by"):
        open_engine(folder, joined)


def bytes_as_text(people: Sequence[bytes]) -> pa.Table:
    """Arrow text whose bytes nobody has looked at."""
    stored = pa.array(people, pa.binary())
    return arrow(pa.Array.from_buffers(pa.string(), len(people), stored.buffers()), pa.string())


def csv(people: Sequence[bytes], folder: Path) -> Path:
    path = folder / "people.csv"
    lines = [b"%s,%d\n" % pair for pair in zip(people, cells(people), strict=True)]
    path.write_bytes(b"who,cell\n" + b"".join(lines))
    return path


def parquet(type_: Any, people: Sequence[int | None], folder: Path) -> Path:
    """A file of numbers that are stored as they are, whatever the type allows."""
    stored = b"".join(
        (one or 0).to_bytes(type_.bit_width // 8, "little", signed=True) for one in people
    )
    known = pa.array([one is not None for one in people]).buffers()[1]
    array = pa.Array.from_buffers(type_, len(people), [known, pa.py_buffer(stored)])
    pq.write_table(arrow(array, type_), folder / "people.parquet")
    return folder / "people.parquet"


LONG = tuple(dict.fromkeys(np.longdouble(2) ** 62 + step for step in range(3)))
"""As many as the machine's long doubles tell apart."""
OTHERS: dict[str, tuple[Callable[..., object], tuple[Any, ...]]] = {
    "CSV": (csv, (b"M\xfcller", b"M\xf6ller", b"Miller")),
    "Arrow": (lambda people, _: bytes_as_text(people), (b"M\xfcller", b"M\xf6ller", b"Miller")),
    "halves of pairs": (lambda people, _: objects(people), ("a\ud800", "a\udc00", "a?")),
    "decimals": (
        lambda people, _: objects(people),
        (Decimal("1234567890123456788"), Decimal("1234567890123456789"), 1234567890123456790),
    ),
    "small decimals": (
        lambda people, _: objects(people),
        (Decimal("0.1"), 0.1, Decimal("0.10000000000000000001"), Decimal("1E-900"), 0),
    ),
    "fractions": (
        lambda people, _: objects(people),
        (Fraction(1, 3), Fraction(10**20, 3 * 10**20 + 1), 1 / 3, Fraction(1, 10**5000)),
    ),
    "far moments": (
        lambda people, _: objects(people),
        (np.datetime64(60_000, "Y"), np.datetime64(70_000, "Y"), np.datetime64(-70_000, "Y")),
    ),
    "moments that microseconds do not hold": (
        lambda people, _: objects(people),
        (*map(pd.Timestamp, (0, 1, 2)), np.datetime64(3, "ns"), *np.array([5, 5 + 2**58], "M8[s]")),
    ),
    "a number and a moment": (
        lambda people, _: objects(people),
        (10**6, datetime(1970, 1, 1, 0, 0, 1)),
    ),
    "long doubles": (
        lambda people, _: pd.DataFrame(
            {"who": np.array(people, dtype=np.longdouble), "cell": cells(people)}
        ),
        LONG,
    ),
    "long doubles as objects": (
        lambda people, _: objects(people),
        (*LONG, np.longdouble(2) ** -16_000),
    ),
    "days of Arrow in milliseconds": (
        lambda people, _: arrow(pa.array(people, pa.int64()).view(pa.date64()), pa.date64()),
        (0, 1, 2**62, 2**62 + 1),
    ),
    "decimals of Parquet that have too many digits": (
        lambda people, folder: parquet(pa.decimal128(38, 0), people, folder),
        (10**38 + 1, 10**38 + 2, 10**38 - 1),
    ),
    "moments of Parquet before the calendar": (
        lambda people, folder: parquet(pa.timestamp("us"), people, folder),
        (5 - 2**63, 6 - 2**63, 7 - 2**63),
    ),
}


@pytest.mark.parametrize("width", [32, 64])
def test_different_numbers_are_different_people(width: int) -> None:
    """All powers of two, random numbers, and the numbers next to each. DuckDB spells 2^81 as 2^82."""
    types: dict[int, tuple[Any, Any]] = {32: (np.float32, np.uint32), 64: (np.float64, np.uint64)}
    type_, whole = types[width]
    least, greatest = {32: (-149, 128), 64: (-1074, 1024)}[width]
    powers = 2.0 ** np.arange(least, greatest, dtype=np.float64)
    some = np.random.default_rng().integers(0, 1 << width, 20_000, dtype=whole).view(type_)
    near = np.concatenate([powers.astype(type_), some[np.isfinite(some)]])
    near = np.concatenate([near, np.nextafter(near, type_(0)), np.nextafter(near, type_(np.inf))])
    people = np.unique(near[np.isfinite(near)])
    found = counted(pa.table({"who": people, "cell": np.zeros(len(people), dtype=np.int64)}))
    assert found.sum() == len(people)


@pytest.mark.parametrize("kind", OTHERS)
def test_nobody_takes_the_place_of_whoever_goes(kind: str, tmp_path: Path) -> None:
    made, people = OTHERS[kind]
    for turned in (people, people[::-1]):
        everybody = counted(made(turned, tmp_path))
        for place in range(len(turned)):
            # The others keep their cells: an identifier of None is nobody's.
            blank = b"" if isinstance(turned[place], bytes) and kind == "CSV" else None
            without = [blank if n == place else one for n, one in enumerate(turned)]
            moved = np.abs(everybody - counted(made(without, tmp_path))).sum()
            assert moved <= 1, f"{turned[place]!r} moves {moved} counts of one row a person"


NUMBERED = Schema(
    dataset="t", columns=(CategoryColumn("code", ("1", "2")),), unit=PrivacyUnit("who", max_rows=1)
)
QUESTION = "SELECT count(*) FROM t WHERE code LIKE '-%'"


def negative(source: object) -> int:
    """The exact number of rows kept whose code, a number, is spelled with a minus sign."""
    plan = read_statement(QUESTION, NUMBERED, CuratorDialect(NUMBERED, QUESTION, ()))
    tally = Tally(Rows(), condition=plan.questions[0].condition)
    with open_engine(source, NUMBERED) as engine:
        ((found,),) = engine.tally([tally])
    return int(found)


def with_both_zeros(people: Sequence[int]) -> pa.Table:
    rows = [(f"p{n}", zero) for n in people for zero in (0.0, -0.0)]
    Random(7).shuffle(rows)
    return pa.table({"who": [who for who, _ in rows], "code": [zero for _, zero in rows]})


@pytest.mark.parametrize("place", ["Arrow", "PostgreSQL", "Spark"])
def test_which_of_two_zeros_is_kept_hangs_on_nobody_else(place: str) -> None:
    """-0.0 and 0.0 sort alike, so a sort keeps either; of 2,000 people it then kept others when one was gone."""

    def source(people: Sequence[int]) -> object:
        table = with_both_zeros(people)
        if place == "PostgreSQL":
            return postgres_source(table)
        return table if place == "Arrow" else session().createDataFrame(table.to_pandas())

    many = range(2000 if place != "Spark" else 50)
    assert abs(negative(source(many)) - negative(source(many[1:]))) <= 1
    assert negative(source(range(3))) == 0, "two zeros are one number, spelled 0.0"
