"""Odd values in DuckDB files: of every type that the database lists, text in every collation, and made-up texts."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import duckdb

from tests.harness.oddities.arrow import arrow_table
from tests.harness.oddities.values import (
    CANARY,
    NAMES,
    TOGETHER,
    Case,
    can,
    one_of_width,
    patterns,
)

_SPELLED = (
    *("0", "1", "-1", "127", "-128", "255", "32767", "-32768", "65535", "2147483647", "-2147483648"),
    *("4294967295", "9223372036854775807", "-9223372036854775808", "18446744073709551615"),
    *("170141183460469231731687303715884105727", "-170141183460469231731687303715884105728"),
    *("340282366920938463463374607431768211455", "9" * 38, "0." + "9" * 38, "1e308", "5e-324", "-0.0"),
    *("nan", "infinity", "-infinity", "epoch", "9999-12-31", "294247-01-10 04:00:54.775806"),
    *("290309-12-22 (BC)", "5881580-07-10", "5877642-06-25 (BC)", "2262-04-11 23:47:16.854775806"),
    *("292277026596-12-04 15:30:07", "292278994-08-17 07:12:55.807", "23:59:60", "24:00:00"),
    *("23:59:59.999999+15:59:59", "1000000 years", "-178956970 years -8 months", "[1, 2]", "[]"),
    *("{'a': 1}", "{}", "10101", "00000000-0000-0000-0000-000000000000", "X", "", "true"),
    *("FFFFFFFF-FFFF-FFFF-FFFF-FFFFFFFFFFFF", CANARY, "x ", "\u00e9", "POINT(1 1)"),
)  # fmt: skip
_COLLATIONS = ("nocase", "noaccent", "nfc", "de")
_WITH_PARAMETERS = (
    *("DECIMAL(4,2)", "DECIMAL(38,0)", "DECIMAL(38,38)", "DECIMAL(18,3)", "INTEGER[]", "INTEGER[2]"),
    *("STRUCT(a INTEGER)", "MAP(VARCHAR, INTEGER)", "UNION(n INTEGER, t VARCHAR)"),
    *("ENUM('x', 'X', '" + CANARY + "')", "TIMESTAMP WITH TIME ZONE", "TIME WITH TIME ZONE"),
)  # fmt: skip


def duckdb_types(*, every_collation: bool = True) -> list[str]:
    """Every type that DuckDB lists, some with parameters, and text in every collation, or in a few."""
    connection = duckdb.connect()
    listed = connection.execute("SELECT DISTINCT logical_type FROM duckdb_types()").fetchall()
    collations = connection.execute("SELECT collname FROM pragma_collations()").fetchall()
    wanted = [name for (name,) in listed] + list(_WITH_PARAMETERS)
    named = [name for (name,) in collations if every_collation or name in _COLLATIONS]
    wanted += [f'VARCHAR COLLATE "{name}"' for name in named] + ["VARCHAR COLLATE NOCASE.NOACCENT"]
    usable = []
    for type_ in sorted(set(wanted)):
        if can(connection.execute, f"CREATE OR REPLACE TABLE t (x {type_})"):
            usable.append(type_)
    connection.close()
    return usable


def duckdb_cases(
    folder: Path, made_up: Sequence[str], *, every_collation: bool = True
) -> Iterator[Case]:
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE texts (t VARCHAR)")
        connection.executemany("INSERT INTO texts VALUES (?)", [[one] for one in _SPELLED])
        for type_ in duckdb_types(every_collation=every_collation):
            bare = _without_collation(type_)
            odd = []
            query = f"SELECT t FROM texts WHERE TRY_CAST(t AS {bare}) IS NOT NULL"
            if can(connection.execute, query):
                odd = [text for (text,) in connection.execute(query).fetchall()]
            if "COLLATE" in type_:
                odd = ["X", "x ", "\u00e9", CANARY]
            plain = next((one for one in ("x", "1", *odd) if one in odd or bare == "VARCHAR"), None)
            yield Case(f"duckdb {type_}", plain, (*odd, None), partial(_written, folder, type_))
    for unit in ("s", "ms", "us", "ns"):  # farther than any text can spell
        far = tuple(patterns(8))
        made = partial(_from_arrow, folder, unit)
        yield Case(f"duckdb TIMESTAMP_ in {unit}", one_of_width(8), far, made)
    for start in range(0, len(made_up), TOGETHER):
        part = tuple(made_up[start : start + TOGETHER])
        made = partial(_written, folder, "VARCHAR")
        yield Case(f"duckdb made-up text, {start}", "1", part, made, False)


def _from_arrow(folder: Path, unit: str, values: Sequence[bytes]) -> str:
    import pyarrow as pa

    path = folder / f"{abs(hash((unit, tuple(values))))}.duckdb"
    path.unlink(missing_ok=True)
    with duckdb.connect(str(path)) as file:
        file.register("odd", arrow_table(pa.timestamp(unit), values))
        file.execute("CREATE TABLE t AS SELECT * FROM odd")
    return str(path)


def _written(folder: Path, type_: str, values: Sequence[Any]) -> str:
    bare = _without_collation(type_)
    path = folder / f"{abs(hash((type_, tuple(values))))}.duckdb"
    path.unlink(missing_ok=True)
    with duckdb.connect(str(path)) as file:
        file.execute("CREATE TABLE t (" + ", ".join(f"{name} {type_}" for name in NAMES) + ")")
        row = ", ".join(f"TRY_CAST($1 AS {bare})" for _ in NAMES)
        file.executemany(f"INSERT INTO t SELECT {row}", [[one] for one in values])
    return str(path)


def _without_collation(type_: str) -> str:
    return re.sub(r" COLLATE .*", "", type_)
