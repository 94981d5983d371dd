"""PostgreSQL as a place of rows: what is read, and the whole way from a table to an answer."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import discreet as dc
from discreet.engines import open_engine
from discreet.errors import BadSource, EngineFailed
from discreet.privacy.adjacency import PrivacyUnit
from discreet.queries.tallies import Cells, Tally
from discreet.questions.expressions import TRUE
from discreet.schema import IntegerColumn, NumberColumn, Schema
from tests.command_line import Done
from tests.engines.care_view import CARE, ROWS, TABLES, counted_view
from tests.engines.four_people import AGES, CANARY, SCHEMA, SEXES, counted
from tests.postgres_server import READER, Server, named, postgres_source


def test_tables_plain_views_materialised_partitioned_and_remote_tables_are_read_alike(
    postgres: Server, source: str
) -> None:
    """By a user who may do nothing but SELECT."""
    table = source.partition("#public.")[2]
    made = {
        "chosen": f"CREATE VIEW chosen AS SELECT sex, age FROM {table} WHERE age IS NULL OR age <> 5 OR sex = 'x'",
        "kept": f"CREATE MATERIALIZED VIEW kept AS SELECT * FROM {table}",
        "parts": "CREATE TABLE parts (age int, sex text) PARTITION BY LIST (sex);"
        "CREATE TABLE part_f PARTITION OF parts FOR VALUES IN ('F');"
        "CREATE TABLE part_rest PARTITION OF parts DEFAULT;"
        f"INSERT INTO parts SELECT age, sex FROM {table}",
        '"Odd ""one"""': f'CREATE TABLE "Odd ""one""" AS SELECT age AS "AGE", sex FROM {table}',
        '"dotted.space"."a.b"': 'CREATE SCHEMA "dotted.space";'
        f'CREATE TABLE "dotted.space"."a.b" AS SELECT * FROM {table};'
        f'GRANT USAGE ON SCHEMA "dotted.space" TO {READER}',
        "remote": "CREATE EXTENSION postgres_fdw;"
        "CREATE SERVER itself FOREIGN DATA WRAPPER postgres_fdw "
        f"OPTIONS (host '{postgres.folder}', dbname 'postgres');"
        f"CREATE USER MAPPING FOR {READER} SERVER itself "
        f"OPTIONS (user '{READER}', password_required 'false');"
        "CREATE FOREIGN TABLE remote (age bigint, sex text) SERVER itself "
        f"OPTIONS (schema_name 'public', table_name '{table}')",
    }
    sources = {name: named(postgres, name, *sql.split(";")) for name, sql in made.items()}
    try:
        for name, one in sources.items():
            assert counted(one) == [AGES, SEXES], name
        assert counted(f"{postgres.address}#PUBLIC.KEPT") == [AGES, SEXES]
        assert counted(f"{postgres.address}#kept") == [AGES, SEXES]
    finally:
        postgres.execute(
            "DROP EXTENSION postgres_fdw CASCADE", "DROP VIEW chosen", "DROP MATERIALIZED VIEW kept",
            'DROP TABLE parts, "Odd ""one"""', 'DROP SCHEMA "dotted.space" CASCADE',
        )  # fmt: skip


def test_every_verb_sees_the_rows_of_one_moment(postgres: Server, source: str) -> None:
    table = source.partition("#")[2]
    with open_engine(source, SCHEMA) as engine:
        assert engine.row_count() == 4
        postgres.execute(f"INSERT INTO {table} SELECT 1, 'F' FROM generate_series(1, 100)")
        assert engine.row_count() == 4
        assert engine.marginals([("age",)])[0].tolist() == AGES
    assert counted(source)[0][1] == 101


def test_a_transaction_can_change_nothing(source: str) -> None:
    with open_engine(source, SCHEMA) as engine:
        session: Any = engine._session  # type: ignore[attr-defined]
        for statement in ("CREATE TEMP TABLE t (a int)", "CREATE TABLE public.t (a int)"):
            with pytest.raises(EngineFailed):
                session.catalog(statement)
        ((level, only_reads, timeout),) = session.catalog(
            "SELECT current_setting('transaction_isolation'), current_setting('transaction_read_only'), "
            "current_setting('statement_timeout')"
        )
        assert (level, only_reads, timeout) == ("repeatable read", "on", "1h")


def test_texts_are_compared_byte_by_byte_whatever_the_collation(postgres: Server) -> None:
    source = named(
        postgres,
        "collated",
        "CREATE COLLATION blind (provider = icu, locale = 'und-u-ks-level1', deterministic = false)",
        'CREATE TABLE collated (age int, sex text COLLATE blind)',
        "INSERT INTO collated VALUES (1, 'F'), (1, 'f'), (1, 'M'), (1, 'm')",
    )  # fmt: skip
    try:
        assert counted(source)[1] == [1, 1, 2, 0]
        with open_engine(source, SCHEMA) as engine:
            keys, held = engine.held_keys(["sex"], TRUE)
        assert keys == [("F",), ("M",), ("f",), ("m",)] and held.tolist() == [1, 1, 1, 1]
    finally:
        postgres.execute("DROP TABLE collated", "DROP COLLATION blind")


def test_nobodys_function_or_operator_is_called_by_accident(postgres: Server, source: str) -> None:
    """Another user's functions of the same names, in the schema that names are usually looked up in."""
    postgres.execute(
        "CREATE FUNCTION public.md5(text) RETURNS text LANGUAGE sql AS 'SELECT 1/0 || $1'",
        "CREATE FUNCTION public.floor(float8) RETURNS float8 LANGUAGE sql AS 'SELECT 1/0 + $1'",
    )
    try:
        schema = Schema(
            dataset="people",
            unit=PrivacyUnit("sex", 1),
            columns=(NumberColumn("age", 0.0, 10.0, bits=20),),
        )
        with open_engine(
            f"{source.replace('?', '?options=-csearch_path%3Dpublic,pg_catalog&')}", schema
        ) as engine:
            assert engine.row_count() == 3
    finally:
        postgres.execute("DROP FUNCTION public.md5(text)", "DROP FUNCTION public.floor(float8)")


def test_a_product_too_small_for_a_double_stops_no_verb(source: str) -> None:
    """PostgreSQL raises an error where a product underflows: a cell's number is such a product."""
    tiny = postgres_source({"x": [5e-324, -5e-324, 1.0, 1e6, None, 2.3e-308]})
    schema = Schema(dataset="t", columns=(NumberColumn("x", 0.0, 1e6, bits=13),))
    with open_engine(tiny, schema) as engine:
        counts = engine.marginals([("x",)])[0]
    assert [counts[0], counts[2**13 - 1], counts[2**13]] == [4, 1, 1]


def test_many_columns_marginals_and_histograms_stay_within_what_a_query_may_hold() -> None:
    """PostgreSQL takes 1,664 columns of a query, and 31 names of GROUPING."""
    columns = tuple(IntegerColumn(f"c{n}", 0, 299) for n in range(40))
    source = postgres_source({one.name: [n, n + 1, None] for n, one in enumerate(columns)})
    schema = Schema(dataset="wide", columns=columns)
    pairs = list(combinations(schema.names, 2))
    with open_engine(source, schema) as engine:
        found = engine.marginals(pairs)
        counted = engine.tally([Tally(Cells(name)) for name in schema.names])
    assert len(found) == 780
    for (one, other), table in zip(pairs, found, strict=True):
        n, m = int(one[1:]), int(other[1:])
        assert [table[n, m], table[n + 1, m + 1], table[300, 300], table.sum()] == [1, 1, 1, 3]
    for n, numbers in enumerate(counted):
        assert [numbers[n], numbers[n + 1], numbers[300], numbers.sum()] == [1, 1, 1, 3]
    many = tuple(IntegerColumn(f"c{n}", 0, 9) for n in range(501))
    by_person = Schema(dataset="wide", unit=PrivacyUnit("p", 1), columns=many)
    wide = postgres_source({"p": ["a"], **{one.name: [1] for one in many}})
    with pytest.raises(BadSource, match="at most 500"), open_engine(wide, by_person):
        pass


def test_the_databases_message_is_not_passed_on(source: str) -> None:
    table = source.partition("#")[2]
    with open_engine(source, SCHEMA) as engine:
        with pytest.raises(EngineFailed, match="InvalidTextRepresentation") as caught:
            engine._session.catalog(f"SELECT CAST(sex AS integer) FROM {table} WHERE age = 40")  # type: ignore[attr-defined]
        assert CANARY not in repr(caught.value)
        assert caught.value.__cause__ is None and caught.value.__context__ is None


def test_a_declared_view_joins_tables_of_a_database_as_it_joins_files(
    postgres: Server, tmp_path: Path
) -> None:
    postgres.execute("CREATE SCHEMA care", f"GRANT USAGE ON SCHEMA care TO {READER}")
    try:
        for name, table in TABLES.items():
            pq.write_table(table, tmp_path / f"{name}.parquet")
            made = postgres.load(table).partition("#")[2]
            postgres.execute(f"CREATE TABLE care.{name} AS SELECT * FROM {made}")
        postgres.execute(f"GRANT SELECT ON ALL TABLES IN SCHEMA care TO {READER}")
        files, tables = counted_view(str(tmp_path)), counted_view(f"{postgres.address}#care")
        assert files == tables and files[0] == ROWS
        wrong = f"{postgres.address}#care.visits"
        with pytest.raises(BadSource, match=r"names? the schema"), open_engine(wrong, CARE):
            pass
    finally:
        postgres.execute("DROP SCHEMA care CASCADE")


def test_the_command_line_drafts_releases_and_asks(
    source: str, tmp_path: Path, discreet: Callable[..., Done]
) -> None:
    draft = discreet("schema", "draft", source)
    assert draft.code == 0, draft.err
    assert '[columns.age]\nkind = "integer"' in draft.out and CANARY not in draft.out
    toml = tmp_path / "people.toml"
    toml.write_text(SCHEMA.dumps())
    out, ledger = tmp_path / "people.release", tmp_path / "ledger.db"
    options = [
        "--schema",
        str(toml),
        "--epsilon",
        "1",
        "--for",
        "marginals(age, sex)",
        "-o",
        str(out),
    ]
    done = discreet("release", source, *options, "--ledger", str(ledger))
    assert done.code == 0, done.err
    asked = discreet("ask", str(out), "SELECT count(*) FROM people", "--json")
    assert asked.code == 0, asked.err
    assert b"postgresql:" not in ledger.read_bytes() + out.read_bytes()


def test_a_curator_answers_from_a_table_in_postgresql(source: str, tmp_path: Path) -> None:
    with dc.Curator(
        source, SCHEMA, cap=dc.Budget(epsilon=10), ledger=tmp_path / "ledger.db"
    ) as curator:
        answer = curator.ask(
            "SELECT count(*) FROM people WHERE sex = 'F'", budget=dc.Budget(epsilon=5)
        )
    (column,) = answer.columns
    assert column.lower[0] <= column.estimate[0] <= column.upper[0]
