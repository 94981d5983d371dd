"""One battery for all engines: the same awkward values in DuckDB, in PostgreSQL and in Spark, under every verb.

    python -m tests.harness.battery                       the listed values, then 6,000 made-up ones
    python -m tests.harness.battery --quick               the listed values alone
    python -m tests.harness.battery --engine Spark doubles dates    some of them on one engine
    python -m tests.harness.battery --engine Spark --ansi off       without ANSI mode

Every number must be equal, integer for integer: marginals, node counts, sums, tallies with conditions and groups,
keys with who holds them, row counts, and the rows that bounding keeps. Made-up values stand in larger tables, where the
rows that meet a condition are also counted value by value. The number of cells is printed.
Values are spelled as texts, and cast by each database to its own type.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import combinations
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import psycopg

from discreet.engines import SumRequest, open_engine
from discreet.queries.tallies import (
    Cells,
    FoundKeys,
    Persons,
    Present,
    Rows,
    Squares,
    Tally,
    Total,
    Valued,
)
from discreet.questions.dialects.curator_sql import parse_curator_question
from discreet.questions.expressions import TRUE, Expression
from discreet.schema import Schema
from tests.harness.material.engine_rows import encoded_rows
from tests.harness.material.spark_values import cast_values
from tests.harness.progress import Progress
from tests.postgres_server import READER, server
from tests.spark_session import expect_a_long_run, setting

NAMES = ("category", "integer", "number", "boolean", "date", "datetime", "person")
"""The columns of every table, all with the same values; named by the kinds that they are declared as."""
_PLAIN = """
[columns.category]
kind = "category"
values = ["x", "1", "true", "1970-01-01", "\\u00e9", "e\\u0301", "", "0.1", "a'b\\\\"]
[columns.integer]
kind = "integer"
range = [-8, 7]
[columns.number]
kind = "number"
bounds = [-8.0, 8.0]
bits = 5
closed = "right"
[columns.boolean]
kind = "boolean"
[columns.date]
kind = "date"
range = ["1960-01-01", "2029-12-31"]
granularity = "year"
[columns.datetime]
kind = "datetime"
range = ["1970-01-01", "1970-01-02"]
granularity = "hour"
"""
_AWKWARD = """
[columns.category]
kind = "category"
values = ["X", "1.0", "-1", "9223372036854775807", "\\u00c4", "false", "1e308", "0"]
other = false
nulls = "exclude"
[columns.integer]
kind = "integer"
range = [-9223372036854775808, 9223372036854775807]
outside = "other"
[columns.number]
kind = "number"
bounds = [0.0, 1e-300]
bits = 20
outside = "exclude"
nulls = "exclude"
[columns.boolean]
kind = "boolean"
nulls = "exclude"
[columns.date]
kind = "date"
range = ["1970-01-01", "2020-12-31"]
granularity = "month"
outside = "other"
[columns.datetime]
kind = "datetime"
range = ["0001-01-01", "9998-12-31"]
granularity = "microsecond"
outside = "exclude"
"""
_HEADS = {
    "rows": 'dataset = "battery"\n',
    "people": 'dataset = "battery"\n[unit]\nidentifier = "person"\nmax_rows = 3\nmax_groups = 2\n',
}
SCHEMAS = {
    f"{kind} {unit}": Schema.loads(head + columns)
    for kind, columns in (("plain", _PLAIN), ("awkward", _AWKWARD))
    for unit, head in _HEADS.items()
}
CONDITIONS = (
    "integer % 3 = 1 OR -integer < abs(integer) - 2",
    "number * number > 0.5 OR number / integer < 3",
    "number % 0.7 > 0.3 AND number - integer <= number + 1e308",
    "round(number * 1000, 1) = floor(number) OR ceil(number) > round(number, 3)",
    "lower(category) LIKE '%e%' OR upper(category) ILIKE '_1%'",
    "substr(category, 1, 2) || category < 'e' AND length(trim(category)) > 2",
    "category IN ('x', '1.0', 'nan') OR category > 'Z'",
    "cast(category AS integer) > 3 OR cast(category AS double) < 1",
    "cast(category AS date) < '2000-01-01' OR cast(category AS timestamp) > '1999-12-31 23:59:59'",
    "cast(number AS integer) = 3 OR cast(integer AS double) > number",
    "cast(integer AS varchar) = '-1' OR cast(boolean AS varchar) = 'true'",
    "year(date) % 4 = 0 AND month(datetime) < 7 OR dayofweek(date) = 3 OR week(date) = 53",
    "hour(datetime) < 12 OR second(datetime) = 59 OR dayofyear(datetime) > 365",
    "date_trunc('quarter', date) = date OR date_trunc('week', datetime) < '1970-01-01'",
    "date + 3 > datetime AND date - 400 < '1969-12-31'",
    "cast(date AS varchar) > '1970' OR cast(datetime AS date) = date",
    "boolean IS NOT FALSE AND NOT (boolean AND integer > 0)",
    "greatest(integer, 3) = least(number, integer) OR coalesce(number, 1) > nullif(integer, 2)",
    "CASE WHEN boolean THEN number WHEN integer > 1 THEN 2 ELSE 0.25 END < 1",
    "ln(number) > -3 OR sqrt(number * 4) <= 2",
    "number IS DISTINCT FROM integer AND integer IS NOT NULL",
)
MADE_UP_ROWS = 240
"""Rows in each table of made-up values. Spark takes as long for a query over 60 rows as over 600."""


@dataclass(frozen=True, slots=True)
class Values:
    """Values of one type, as texts that both databases can read; `None` is null."""

    name: str
    duckdb_type: str
    postgres_type: str
    texts: tuple[str | None, ...]


_TEXTS = (
    "x", "X", "x ", " x", "\t1\n", "1", "+1", "-1", "1.", ".5", "1e3", "1e-5", "1e400", "1e-400", "-1e-324",
    "5e-324", "2.4703282292062328e-324", "1.7976931348623157e308", "1.7976931348623158e308", "1.8e308",
    "0x1F", "1_000", "1,5", "--1", "nan", "NaN", "inf", "-Infinity", "infinity", "true", "TRUE", "t", "Yes",
    "no", "0", "-0", "-0.0", "00", "9" * 400, "0" * 50 + "7", "9223372036854775807", "9223372036854775808",
    "-9223372036854775808", "-9223372036854775809", "170141183460469231731687303715884105728", "7.999999999",
    "\u00e9", "e\u0301", "\u00c4", "\u00e4", "\u00df", "\u1e9e", "\u0130", "\u0131", "\u01c5", "\ufb01",
    "\u212a", "\U00010400", "\U0001f469\u200d\U0001f680", "a'b\\", "a\\'b", '"', "%", "_", "\\", "$$", "", " ",
    "1970-01-01", "1970-1-1", "2020-02-29", "2021-02-29", "2020-02-30", "2020-13-01", "0000-01-01",
    "0001-01-01", "9999-12-31", "10000-01-01", "1970-01-01T00:30", "1970-01-01 00:30:59.9999999",
    "1970-01-01 00:30:59.123", "1970-01-01T23:59:60Z", "1970-01-01T01:00:00+05:30", "1970-01-01T01:00-00:30",
    "1970-01-01 24:00", "1999-12-31T23:59:59.999999Z", "2016-12-31T23:59:60Z", "44-03-15 BC", "epoch", "now",
    "today", "1970-01-01 01:00:00 Europe/Berlin", None,
)  # fmt: skip
_INTEGERS = ("0", "1", "-1", "7", "8", "-8", "-9", "2147483647", "-2147483648", None)
_LONG = (
    *_INTEGERS,
    "9223372036854775807",
    "-9223372036854775808",
    "9223372036854775806",
    "4611686018427387904",
)
_DOUBLES = (
    "0", "-0.0", "1", "-1", "0.1", "0.5", "1.5", "2.5", "-2.5", "0.49999999999999994", "8", "8.000000000000002",
    "nan", "infinity", "-infinity", "5e-324", "-5e-324", "2.2250738585072014e-308", "1e-300", "1.7976931348623157e308",
    "-1.7976931348623157e308", "1e15", "1e16", "1000000000000000.5", "4503599627370496.5", "1161245304887865.25",
    "-1904517866628064.75", "1118827763414213.625", "9007199254740993",
    "9.2233720368547758e18", "9.3e18", "-9.2233720368547758e18", "1e30", "1e31", "123456.789", "3e-301", "7e-301",
    "1e150", "1e160", "1e-160", "8e-323", "-9.9e-323", "6.3e-322", "1.35807730622e-312", "5.641232424577593e-278",
    "7.61352657140625e286", "8444738143086783488", "789726256089874048", None,
)  # fmt: skip
_DATES = (
    "1970-01-01", "1969-12-31", "2020-02-29", "1960-01-01", "1959-12-31", "2029-12-31", "2030-01-01", "0001-01-01",
    "9999-12-31", "10000-01-01", "0044-03-15 BC", "4713-01-01 BC", "5874897-12-31", "infinity", "-infinity", None,
)  # fmt: skip
_MOMENTS = (
    "1970-01-01 00:00:00", "1969-12-31 23:59:59.999999", "1970-01-01 12:30:00", "1970-01-02 00:00:00",
    "2021-03-28 01:30:00", "2021-10-31 00:30:00", "2021-10-31 01:30:00", "0001-01-01 00:00:00",
    "9998-12-31 23:59:59.999999", "0044-03-15 10:00:00 BC", "4713-01-01 00:00:00 BC", "294246-12-31 23:59:59",
    "infinity", "-infinity", None,
)  # fmt: skip
_ZONED = tuple(
    None
    if one is None
    else one
    if "infinity" in one
    else one.replace(" BC", "") + zone + (" BC" if " BC" in one else "")
    for one in _MOMENTS
    for zone in ("+00", "-03:30", "+05:45")
)
_DECIMALS = ("0", "1", "-1", "0.5", "7.99", "8.01", "-8.01", "99999999.99", "-99999999.99", None)
LISTED = (
    Values("text", "VARCHAR", "text", _TEXTS),
    Values("small integers", "SMALLINT", "smallint", _INTEGERS[:7]),
    Values("integers", "INTEGER", "integer", _INTEGERS),
    Values("long integers", "BIGINT", "bigint", _LONG),
    Values("doubles", "DOUBLE", "double precision", _DOUBLES),
    Values("floats", "FLOAT", "real", ("0", "1", "0.1", "nan", "infinity", "-infinity", "3.4e38", "1e-45", "16777217", None)),
    Values("decimals", "DECIMAL(10,2)", "numeric(10,2)", _DECIMALS),
    Values("wide decimals", "DECIMAL(38,20)", "numeric(38,20)", (*_DECIMALS, "0." + "3" * 20, "1" * 18)),
    Values("booleans", "BOOLEAN", "boolean", ("true", "false", None)),
    Values("dates", "DATE", "date", _DATES),
    Values("moments", "TIMESTAMP", "timestamp", _MOMENTS),
    Values("zoned moments", "TIMESTAMP WITH TIME ZONE", "timestamptz", _ZONED),
    Values("identifiers", "UUID", "uuid", ("00000000-0000-0000-0000-000000000000", "ffffffff-ffff-ffff-ffff-ffffffffffff", None)),
    Values("no rows", "BIGINT", "bigint", ()),
    Values("one row", "VARCHAR", "text", ("1",)),
    Values("one null", "DOUBLE", "double precision", (None,)),
    Values("twins", "VARCHAR", "text", ("1", "1", "x", "x", "1", "x", None, None, "1", "1")),
)  # fmt: skip


def made_up(number: int, seed: int) -> Iterator[Values]:
    """Random values of a few types, in tables of `MADE_UP_ROWS`."""
    generator = random.Random(seed)
    pieces = (
        "1",
        "9",
        "0",
        "-",
        "+",
        ".",
        "e",
        "E",
        " ",
        "19",
        "70",
        "-01",
        "T",
        ":",
        "Z",
        "x",
        "\u00e9",
        "\u00df",
        "e5",
    )

    def text() -> str:
        if generator.random() < 0.3:
            return generator.choice([one for one in _TEXTS if one is not None]) + generator.choice(
                pieces
            )
        return "".join(generator.choice(pieces) for _ in range(generator.randrange(1, 9)))

    def double() -> str:
        size = generator.choice((1.0, 10.0, 1e-300, 1e300, 1e-320, 1e15, 1e155))
        return repr(generator.uniform(-2, 2) * size)

    def whole() -> str:
        return str(generator.randrange(-(2**63), 2**63) >> generator.randrange(64))

    def moment() -> str:
        day = np.datetime64(generator.randrange(-700_000, 2_900_000), "D")
        clock = f"{generator.randrange(24):02}:{generator.randrange(60):02}:{generator.uniform(0, 59.999):09.6f}"
        return f"{day} {clock}"

    makers = (
        ("text", "VARCHAR", "text", text),
        ("doubles", "DOUBLE", "double precision", double),
        ("long integers", "BIGINT", "bigint", whole),
        ("moments", "TIMESTAMP", "timestamp", moment),
    )
    for place in range(number // MADE_UP_ROWS):
        name, there, here, make = makers[place % len(makers)]
        texts = tuple(make() for _ in range(MADE_UP_ROWS))
        yield Values(f"made-up {name} {place}", there, here, texts)


def in_duckdb(values: Values, folder: Path) -> str:
    path = folder / f"{abs(hash((values.duckdb_type, values.texts)))}.duckdb"
    path.unlink(missing_ok=True)
    with duckdb.connect(str(path)) as file:
        file.execute("SET TimeZone = 'UTC'")
        file.execute(
            "CREATE TABLE t (" + ", ".join(f"{name} {values.duckdb_type}" for name in NAMES) + ")"
        )
        row = ", ".join(f"CAST($1 AS {values.duckdb_type})" for _ in NAMES)
        spelled = [_for_duckdb(one, values.duckdb_type) for one in values.texts]
        if spelled:
            file.executemany(f"INSERT INTO t SELECT {row}", [[one] for one in spelled])
    return str(path)


def _for_duckdb(text: str | None, type_: str) -> str | None:
    """The era stands behind the date."""
    if text is None or type_ == "VARCHAR" or not text.endswith(" BC"):
        return text
    day, _, clock = text.removesuffix(" BC").partition(" ")
    return f"{day} (BC) {clock}".strip()


def in_postgres(values: Values) -> str:
    name = f"battery_{abs(hash((values.postgres_type, values.texts)))}"
    with psycopg.connect(server().admin, autocommit=True) as connection:
        connection.execute(f"DROP TABLE IF EXISTS {name}".encode())
        columns = ", ".join(f"{one} {values.postgres_type}" for one in NAMES)
        connection.execute(f"CREATE TABLE {name} ({columns})".encode())
        connection.execute(f"GRANT SELECT ON {name} TO {READER}".encode())
        connection.execute("SET TimeZone = 'UTC'")
        row = ", ".join(f"t::{values.postgres_type}" for _ in NAMES)
        connection.execute(
            f"INSERT INTO {name} SELECT {row} FROM unnest(%s::text[]) AS t".encode(),
            [list(values.texts)],
        )
    return f"{server().address}#{name}"


def in_spark(values: Values) -> Any:
    return cast_values(NAMES, values.texts, values.duckdb_type)


OTHERS: dict[str, Callable[[Values], Any]] = {"PostgreSQL": in_postgres, "Spark": in_spark}
"""Engines that are compared with DuckDB."""


def numbers(
    source: object,
    schema: Schema,
    conditions: Sequence[str] = CONDITIONS,
    *,
    by_value: bool = False,
) -> dict[Any, int]:
    """Every number that the verbs say of a source; `by_value`, also which values meet a condition."""
    found: dict[Any, int] = {}

    def add(verb: str, arrays: Sequence[Any]) -> None:
        for place, array in enumerate(arrays):
            for cell, number in enumerate(np.asarray(array).reshape(-1).tolist()):
                found[verb, place, cell] = int(number)

    small = [name for name in schema.names if schema.column(name).cells < 2**21]
    with open_engine(source, schema, threads=1) as engine:
        add(
            "marginals",
            engine.marginals([(name,) for name in small if schema.column(name).cells < 2**12]),
        )
        few = [name for name in small if schema.column(name).cells < 1000]
        add("pairs", engine.marginals(list(combinations(few, 2))))
        add("sums", [engine.sums(list(_sums(schema)))])
        for name in ("integer", "number", "date", "datetime"):
            bits = max(0, (schema.column(name).value_cells - 1).bit_length())
            for shift in {bits, max(0, bits - 4)}:
                nodes = np.arange(20, dtype=np.uint64).reshape(-1, 1)
                add(f"nodes {name} {shift}", [engine.node_counts((name,), (shift,), nodes)])
        ends = np.array([[0], [2**63 - 1], [2**63], [2**64 - 1], [7], [15]], dtype=np.uint64)
        add("leaves", [engine.node_counts(("integer",), (0,), ends)])
        pairs = np.array([(one, other) for one in range(4) for other in range(4)], dtype=np.uint64)
        add("node pairs", [engine.node_counts(("integer", "boolean"), (0, 0), pairs)])
        add("tallies", engine.tally(list(_tallies(schema, conditions))))
        keys, held = engine.held_keys(["category"], TRUE)
        for key, number in zip(keys, held.tolist(), strict=True):
            found["keys", key] = number
        if by_value:
            each = FoundKeys(("category",), tuple(keys))
            met = [Tally(Rows(), (), _condition(text, schema), each) for text in conditions]
            for text, counts in zip(conditions, engine.tally(met), strict=True):
                for key, number in zip(keys, counts.tolist(), strict=True):
                    found["by value", text, key] = number
        named = FoundKeys(("category",), (("x",), ("1",), ("1.0",), ("\u00e9",), ("nowhere",)))
        add(
            "found",
            engine.tally(
                [Tally(Rows(), (), TRUE, named), Tally(Rows(), ("boolean",), TRUE, named)]
            ),
        )
        found["rows"] = engine.row_count()
        kept: dict[Any, int] = {}
        coded = [name for name in schema.names if schema.column(name).cells < 2**62]
        for batch in encoded_rows(engine, coded, 64):
            for row in batch.tolist():
                kept["kept", *row] = kept.get(("kept", *row), 0) + 1
    return found | kept


def _sums(schema: Schema) -> Iterator[SumRequest]:
    for name, scale in (("integer", 1), ("number", 16), ("boolean", 1), ("date", 1)):
        bounds = schema.column(name).value_bounds
        assert bounds is not None
        limit = Fraction(2**61)
        yield SumRequest(name, scale, max(bounds[0], -limit), min(bounds[1], limit))


def _tallies(schema: Schema, conditions: Sequence[str]) -> Iterator[Tally]:
    terms: list[Any] = [Rows(), Present("number"), Valued("number"), Cells("boolean")]
    if schema.column("integer").cells < 2**10:
        terms += [
            Total("integer", 1, 0),
            Squares("integer", 1, 1, 0),
            Total("number", 16, 1, 2),
            Cells("datetime"),
        ]
        terms += [Cells("number", 2)]
    if schema.unit.identifier is not None:
        terms.append(Persons())
    for groups in ((), ("boolean",), ("category", "boolean")):
        for term in terms:
            yield Tally(term, groups)
    for text in conditions:
        condition = _condition(text, schema)
        yield Tally(Rows(), (), condition)
        yield Tally(Present("category"), ("boolean",), condition)


def _condition(text: str, schema: Schema) -> Expression:
    return parse_curator_question(f"SELECT count(*) FROM battery WHERE {text}", schema).condition


@dataclass(slots=True)
class Outcome:
    """How many cells were compared, and what differs."""

    cells: int = 0
    values: int = 0
    differences: list[str] = field(default_factory=list)

    def add(self, other: Outcome) -> None:
        self.cells += other.cells
        self.values += other.values
        self.differences += other.differences

    def __str__(self) -> str:
        differ = len(self.differences)
        return f"{self.values:,} values, {self.cells:,} cells compared, {differ} differ"


def compared(
    listed: Sequence[Values],
    schemas: Sequence[str] = tuple(SCHEMAS),
    others: Sequence[str] = tuple(OTHERS),
    conditions: Sequence[str] = CONDITIONS,
) -> Outcome:
    """Every number of DuckDB and of each other engine, for some values and schemas."""
    outcome = Outcome()
    progress = Progress("tables under a schema", len(listed) * len(schemas))
    with tempfile.TemporaryDirectory() as folder:
        for values in listed:
            by_value = len(values.texts) >= MADE_UP_ROWS
            file = in_duckdb(values, Path(folder))
            sources = {other: OTHERS[other](values) for other in others}
            outcome.values += len(values.texts)
            for name in schemas:
                one = numbers(file, SCHEMAS[name], conditions, by_value=by_value)
                for other, source in sources.items():
                    two = numbers(source, SCHEMAS[name], conditions, by_value=by_value)
                    outcome.cells += len(one)
                    outcome.differences += [
                        f"{values.name}, {name}: {key}: {one.get(key)} in DuckDB, {two.get(key)} in {other}"
                        for key in {**one, **two}
                        if one.get(key) != two.get(key)
                    ]
                progress.advance(last=f"{values.name}, {name}: {outcome}")
    return outcome


def main(words: Sequence[str]) -> int:
    """Print the differences and the number of cells; the exit code says whether there was one."""
    parser = argparse.ArgumentParser(prog="python -m tests.harness.battery")
    parser.add_argument("names", nargs="*", help="of the listed values; all if none is given")
    parser.add_argument("--quick", action="store_true", help="no made-up values")
    parser.add_argument("--engine", choices=tuple(OTHERS), action="append")
    parser.add_argument("--schema", choices=tuple(SCHEMAS), action="append")
    parser.add_argument("--ansi", choices=("on", "off"), default="on", help="Spark's ANSI mode")
    parser.add_argument("--made-up", type=int, default=6_000, help="how many values")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().getrandbits(32))
    given = parser.parse_args(words)
    listed = [values for values in LISTED if not given.names or values.name in given.names]
    others = given.engine or tuple(OTHERS)
    ansi = "true" if given.ansi == "on" else "false"
    expect_a_long_run()
    with setting("spark.sql.ansi.enabled", ansi) if "Spark" in others else nullcontext():
        outcome = compared(listed, given.schema or tuple(SCHEMAS), others)
        if not given.quick and not given.names:
            schemas = given.schema or ("plain rows", "awkward people")
            outcome.add(compared(list(made_up(given.made_up, given.seed)), schemas, others))
    sys.stdout.write("".join(f"{one}\n" for one in outcome.differences))
    sys.stdout.write(f"{outcome} (seed {given.seed})\n")
    return 1 if outcome.differences else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
