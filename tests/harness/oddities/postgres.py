"""Odd values in PostgreSQL: of every type that the database lists, text in many collations, and made-up texts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import count
from typing import Any

import psycopg

from tests.harness.oddities.values import CANARY, NAMES, ROWS, TOGETHER, Case
from tests.postgres_server import READER, server

_SPELLED = (
    *("0", "1", "-1", "32767", "-32768", "2147483647", "-2147483648", "9223372036854775807"),
    *("-9223372036854775808", "9" * 38, "0." + "9" * 38, "1e308", "-1e308", "5e-324", "-0.0", "1e400"),
    *("1e-400", "1e131071", "0." + "0" * 16000 + "1", "NaN", "Infinity", "-Infinity", "epoch", "now"),
    *("9999-12-31", "294276-12-31 23:59:59.999999", "4714-11-24 00:00:00 BC", "4714-11-24 BC"),
    *("5874897-12-31", "1999-12-31 24:00:00", "23:59:60", "24:00:00", "00:00:00+15:59", "178000000 years"),
    *("-178000000 years", "{1,2}", "{}", "{{1},{2}}", "{NULL}", '{"a": 1}', "null", "[]", "10101", "true"),
    *("00000000-0000-0000-0000-000000000000", "ffffffff-ffff-ffff-ffff-ffffffffffff", "X", "x", "x ", ""),
    *("(1,2)", "[1,2)", "empty", "1.2.3.4/32", "::1", "08:00:2b:01:02:03", "$99,999.99", "\\xff00", "<a/>"),
    *(CANARY, f"{CANARY} {CANARY}", "\u00e9", "e\u0301", "\u0130", "\ufdfd", "\U0001f469\u200d\U0001f680"),
    *("9" * 7_000, "y" * 1_000_000, "'", '"', "\\", "%", "a'b\\", "$$", "--", "\u202e", "\x01"),
)  # fmt: skip
_WITH_PARAMETERS = (
    *("numeric(4,2)", "numeric(1000,0)", "numeric(38,38)", "char(5)", "varchar(9)", "bit(5)", "timestamp(0)"),
    *("int4[]", "text[]", "int4range", "int4multirange", "odd_enum", "odd_domain", "odd_pair", "citext"),
)  # fmt: skip
_MAKE = (
    "DROP TYPE IF EXISTS odd_enum, odd_pair CASCADE",
    f"CREATE TYPE odd_enum AS ENUM ('x', 'X', '{CANARY}')",
    "DROP DOMAIN IF EXISTS odd_domain CASCADE",
    "CREATE DOMAIN odd_domain AS numeric CHECK (VALUE IS NULL OR VALUE = VALUE)",
    "CREATE TYPE odd_pair AS (a int, b text)",
    "CREATE EXTENSION IF NOT EXISTS citext",
)
_names = count(1)


def postgres_cases(made_up: Sequence[str], *, every_collation: bool = True) -> Iterator[Case]:
    """Each in tables of its own, for a user who may only read; then made-up texts."""
    with psycopg.connect(server().admin, autocommit=True) as connection:
        for statement in _MAKE:
            connection.execute(statement.encode())
        for type_ in _types(connection, every_collation=every_collation):
            odd = [text for text in _SPELLED if _reads(connection, text, type_)]
            plain = next((one for one in ("1", "x", *odd) if one in odd), None)
            yield from _in_tables(f"postgres {type_}", plain, [*odd, None], type_)
    yield from _in_tables("postgres made-up text", "1", made_up, "text", alone=False)


def _in_tables(
    name: str, plain: Any, odd: Sequence[Any], type_: str, *, alone: bool = True
) -> Iterator[Case]:
    """So many odd values in a table that some plain rows are left; more where none is tried alone."""
    most = ROWS - 4 if alone else TOGETHER
    for start in range(0, len(odd), most):
        part = tuple(odd[start : start + most])
        place = name if start == 0 else f"{name}, {start}"
        yield Case(place, plain, part, partial(_loaded, type_), alone)


def _types(connection: psycopg.Connection[Any], *, every_collation: bool) -> list[str]:
    listed = connection.execute(
        "SELECT typname::text FROM pg_type t JOIN pg_namespace n ON n.oid = typnamespace WHERE "
        "typtype = 'b' AND nspname = 'pg_catalog' AND typcategory <> 'A' AND typname !~ '^(pg_|reg)'"
    ).fetchall()
    collations = connection.execute(
        "SELECT quote_ident(collname) FROM pg_collation WHERE collencoding IN (-1, 6) ORDER BY collname"
    ).fetchall()
    step = 1 if every_collation else 80
    named = [f"text COLLATE {name}" for (name,) in collations[:: max(step, len(collations) // 40)]]
    return [*(f'"{name}"' for (name,) in listed), *_WITH_PARAMETERS, *named]


def _reads(connection: psycopg.Connection[Any], text: str, type_: str) -> bool:
    try:
        connection.execute(f"SELECT CAST(%s AS {_bare(type_)})".encode(), [text])
    except psycopg.Error:
        return False
    return True


def _bare(type_: str) -> str:
    return type_.partition(" COLLATE")[0]


def _loaded(type_: str, values: Sequence[Any]) -> str:
    name = f"odd_{next(_names)}"
    with psycopg.connect(server().admin, autocommit=True) as connection:
        columns = ", ".join(f"{one} {type_}" for one in NAMES)
        connection.execute(f"CREATE TABLE {name} ({columns})".encode())
        connection.execute(f"GRANT SELECT ON {name} TO {READER}".encode())
        row = ", ".join(f"CAST(t AS {_bare(type_)})" for _ in NAMES)
        connection.execute(
            f"INSERT INTO {name} SELECT {row} FROM unnest(%s::text[]) AS t".encode(), [list(values)]
        )
    return f"{server().address}#{name}"
