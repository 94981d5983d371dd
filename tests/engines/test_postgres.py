"""PostgreSQL as a place of rows: who may read what, what is refused, and how work ends that is broken off."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import psycopg
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import discreet as dc
from discreet.cli.application import application
from discreet.cli.failures import run
from discreet.engines import column_names_and_types, open_engine
from discreet.errors import BadSource, EngineFailed
from discreet.privacy.adjacency import PrivacyUnit
from discreet.queries.tallies import Cells, Tally
from discreet.questions.expressions import TRUE
from discreet.schema import CategoryColumn, IntegerColumn, NumberColumn, Schema
from tests.postgres_server import READER, Server, postgres_source, server

CANARY = "CANARY-5521"
SCHEMA = Schema(
    dataset="people", columns=(IntegerColumn("age", 0, 9), CategoryColumn("sex", ("F", "M")))
)
TABLE = pa.table({"age": [1, 2, None, 40], "sex": ["F", "M", None, CANARY]})
AGES, SEXES = [0, 1, 1, 0, 0, 0, 0, 0, 0, 1, 1], [1, 1, 1, 1]


@pytest.fixture
def postgres() -> Server:
    return server()


@pytest.fixture
def source() -> str:
    return postgres_source(TABLE)


@dataclass(frozen=True, slots=True)
class Done:
    returncode: int
    stdout: str
    stderr: str


@pytest.fixture
def discreet(capsys: pytest.CaptureFixture[str]) -> Callable[..., Done]:
    def go(*words: str) -> Done:
        code = run(application, words)
        said = capsys.readouterr()
        return Done(code, said.out, said.err)

    return go


def counted(source: str, schema: Schema = SCHEMA) -> list[list[int]]:
    with open_engine(source, schema) as engine:
        return [counts.tolist() for counts in engine.marginals([("age",), ("sex",)])]


def named(server: Server, name: str, *statements: str) -> str:
    """The source of something that statements make, for a user who may read it."""
    server.execute(*statements, f"GRANT SELECT ON {name} TO {READER}")
    return f"{server.address}#{name}"


# -- What is read ----------------------------------------------------------------------------


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
    schema = Schema.loads(
        """dataset = "care"
        [unit]
        identifier = "person"
        max_rows = 2
        [view]
        sql = "SELECT v.person, v.cost, p.sex, w.floor FROM visits AS v LEFT JOIN patients p ON v.person = p.person JOIN wards w ON w.ward = v.ward"
        tables = { visits = "visits.parquet", patients = "patients.parquet", wards = "wards.parquet" }
        public = ["wards"]
        [columns.cost]
        kind = "integer"
        range = [0, 9]
        [columns.sex]
        kind = "category"
        values = ["F", "M"]
        [columns.floor]
        kind = "integer"
        range = [0, 3]
        """
    )
    persons = [f"p{n % 7}" for n in range(30)]
    tables = {
        "visits": pa.table(
            {"person": persons, "cost": list(range(30)), "ward": ["a", "b", "gone"] * 10}
        ),
        "patients": pa.table(
            {"person": ["p0", "p1", "p2", "p3", None], "sex": ["F", "M", None, "X", "F"]}
        ),
        "wards": pa.table({"ward": ["a", "b", "b"], "floor": [1, 2, 3]}),
    }
    postgres.execute("CREATE SCHEMA care", f"GRANT USAGE ON SCHEMA care TO {READER}")
    try:
        for name, table in tables.items():
            pq.write_table(table, tmp_path / f"{name}.parquet")
            made = postgres.load(table).partition("#")[2]
            postgres.execute(f"CREATE TABLE care.{name} AS SELECT * FROM {made}")
        postgres.execute(f"GRANT SELECT ON ALL TABLES IN SCHEMA care TO {READER}")
        sets = [("cost", "sex"), ("floor",), ("sex", "floor")]
        found = []
        for source in (str(tmp_path), f"{postgres.address}#care"):
            with open_engine(source, schema) as engine:
                found.append(
                    [engine.row_count(), *(one.tolist() for one in engine.marginals(sets))]
                )
        assert found[0] == found[1]
        assert found[0][0] == 14
        wrong = f"{postgres.address}#care.visits"
        with pytest.raises(BadSource, match=r"names? the schema"), open_engine(wrong, schema):
            pass
    finally:
        postgres.execute("DROP SCHEMA care CASCADE")


# -- What is refused, before a row is read ------------------------------------------------------


@pytest.mark.parametrize(
    "address",
    [
        f"postgresql://me:{CANARY}@host/db#t",
        f"postgresql://host/db?password={CANARY}#t",
        f"postgresql://host/db?sslpassword={CANARY}#t",
    ],
)
def test_a_password_in_an_address_is_refused_and_not_repeated(
    address: str, discreet: Callable[..., Done]
) -> None:
    with pytest.raises(BadSource, match="holds a password") as caught:
        open_engine(address, SCHEMA)
    assert CANARY not in str(caught.value)
    done = discreet("schema", "draft", address)
    assert done.returncode == 2 and CANARY not in done.stdout + done.stderr


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("postgresql://host/db", "names no table"),
        ("postgresql://host/db#a.b.c", "does not name a table"),
        ("postgresql://host:port/db#t", "cannot be read|cannot be opened"),
        ("postgresql://nobody@127.0.0.1:1/db#t", r"cannot be opened: [^\n\t]*refused\. Nothing"),
    ],
)
def test_an_address_that_leads_nowhere_is_refused(address: str, said: str) -> None:
    with pytest.raises(BadSource, match=said):
        open_engine(address, SCHEMA)


def test_a_table_that_is_not_there_is_named_with_the_nearest_one(
    postgres: Server, source: str
) -> None:
    table = source.partition("#")[2]
    with pytest.raises(BadSource, match=rf"no table.*Did you mean '{table[:-1]}"):
        open_engine(source[:-1] + "x", SCHEMA)
    with pytest.raises(BadSource, match=r"lacks a column.*'age'"):
        open_engine(source, Schema(dataset="p", columns=(IntegerColumn("aeg", 0, 9),)))


REFUSED = {
    "a view that computes": ("VIEW", "SELECT 10 / age AS age, sex FROM {table}", "choose columns"),
    "a view that casts": ("VIEW", "SELECT sex::int AS age, sex FROM {table}", "choose columns"),
    "a view that joins": ("VIEW", "SELECT a.age, b.sex FROM {table} a, {table} b", "choose columns"),
    "a view that groups": ("VIEW", "SELECT max(age) AS age, sex FROM {table} GROUP BY 2", "choose columns"),
    "a view that filters by a function": (
        "VIEW", "SELECT * FROM {table} WHERE length(sex) = 1", "choose columns"
    ),
    "a view that takes some rows": ("VIEW", "SELECT * FROM {table} LIMIT 2", "choose columns"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_a_view_that_may_fail_on_a_row_or_mix_people_is_refused(
    name: str, postgres: Server, source: str
) -> None:
    kind, query, said = REFUSED[name]
    table = source.partition("#")[2]
    one = named(postgres, "refused", f"CREATE {kind} refused AS {query.format(table=table)}")
    try:
        with pytest.raises(BadSource, match=said), open_engine(one, SCHEMA):
            pass
    finally:
        postgres.execute(f"DROP {kind} refused")


def test_row_security_foreign_files_and_columns_without_leave_are_refused(
    postgres: Server, tmp_path: Path
) -> None:
    made = [
        "CREATE TABLE secured (age int, sex text)",
        "CREATE POLICY few ON secured USING (1 / age > 0)",
        "ALTER TABLE secured ENABLE ROW LEVEL SECURITY",
        "CREATE EXTENSION file_fdw",
        "CREATE SERVER files FOREIGN DATA WRAPPER file_fdw",
        "CREATE FOREIGN TABLE file (age int, sex text) SERVER files OPTIONS (filename '/nowhere')",
        "CREATE TABLE closed (age int, sex text)",
        f"GRANT SELECT (sex) ON closed TO {READER}",
        f"GRANT SELECT ON secured, file TO {READER}",
    ]
    postgres.execute(*made)
    try:
        for name, said in (
            ("secured", "row-level security"),
            ("file", "foreign table of file_fdw"),
            ("closed", "'age' may not be read"),
        ):
            with (
                pytest.raises(BadSource, match=said),
                open_engine(f"{postgres.address}#{name}", SCHEMA),
            ):
                pass
    finally:
        postgres.execute("DROP EXTENSION file_fdw CASCADE", "DROP TABLE secured, closed")


def test_a_type_that_is_not_known_is_refused_and_one_without_values_counts_as_null(
    postgres: Server,
) -> None:
    postgres.execute("CREATE TYPE weekday AS ENUM ('F', 'M')", "CREATE DOMAIN short AS smallint")
    source = named(
        postgres,
        "typed",
        "CREATE TABLE typed (age short, sex weekday, ages int[], seen bytea)",
        "INSERT INTO typed VALUES (3, 'F', '{1}', 'x'), (12, 'M', '{}', ''), (NULL, NULL, NULL, NULL)",
    )
    try:
        assert counted(source) == [[0, 0, 0, 1, 0, 0, 0, 0, 0, 1, 1], [1, 1, 0, 1]]
        assert column_names_and_types(source) == [
            ("age", "INT2"), ("sex", "ENUM"), ("ages", "ARRAY"), ("seen", "BYTEA"),
        ]  # fmt: skip
        odd = Schema(
            dataset="t", columns=(IntegerColumn("seen", 0, 9), IntegerColumn("ages", 0, 9))
        )
        with open_engine(source, odd) as engine:
            assert [one[-1] for one in engine.marginals([("seen",), ("ages",)])] == [3, 3]
    finally:
        postgres.execute("DROP TABLE typed", "DROP TYPE weekday", "DROP DOMAIN short")


def test_a_type_whose_casts_the_database_lacks_is_refused_before_the_charge(
    source: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As if money were taken for a number, which has no cast to a double."""
    money = server().load(pa.table({"age": ["1"], "sex": ["F"]}), {"age": "money"})
    number = Schema(dataset="t", columns=(NumberColumn("age", 0.0, 9.0, bits=2),))
    from discreet.engines.postgres import dialect

    families = {**dialect._FAMILIES, "integer": ("money",)}
    monkeypatch.setattr(dialect, "_FAMILIES", families)
    with pytest.raises(BadSource, match="cannot read a type"), open_engine(money, number):
        pass


def test_without_the_driver_the_fix_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(BadSource, match=r"discreet\[postgres\]"):
        open_engine("postgresql://host/db#t", SCHEMA)


# -- Work that is broken off -------------------------------------------------------------------


def test_a_query_that_takes_too_long_ends_in_one_sentence_and_the_engine_goes_on(
    postgres: Server, source: str
) -> None:
    table = source.partition("#")[2]
    postgres.execute(f"INSERT INTO {table} SELECT 1, 'F' FROM generate_series(1, 200000)")
    with open_engine(source, SCHEMA) as engine:
        session: Any = engine._session  # type: ignore[attr-defined]
        session.catalog("SELECT set_config('statement_timeout', '1', true)")
        with pytest.raises(EngineFailed, match=r"statement_timeout.*stays charged") as caught:
            engine.marginals([("age", "sex")])
        assert caught.value.__cause__ is None and caught.value.__context__ is None
        assert engine.marginals([("age",)])[0].sum() == 200_004  # the setting went with what failed


@pytest.mark.parametrize("how", ["one connection", "the server"])
def test_a_lost_connection_ends_in_one_sentence(how: str, postgres: Server, source: str) -> None:
    with open_engine(source, SCHEMA) as engine:
        assert engine.row_count() == 4
        if how == "the server":
            postgres.stop()
            postgres.start()
        else:
            postgres.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'discreet'"
            )
        with pytest.raises(
            EngineFailed, match=r"connection to the database was lost.*stays charged"
        ):
            engine.row_count()
        with pytest.raises(EngineFailed, match="closed"):
            engine.marginals([("age",)])
    assert counted(source)[0] == AGES


@pytest.fixture
def locked(postgres: Server, source: str) -> Iterator[psycopg.Connection[Any]]:
    """Another's transaction, for which every reader of the table waits."""
    with psycopg.connect(postgres.admin) as connection:
        connection.execute("SET lock_timeout = '20s'")
        yield connection


def waiting(postgres: Server) -> int:
    """How many queries of engines wait for a lock: such a query has surely begun, and does not end by itself."""
    with psycopg.connect(postgres.admin, autocommit=True) as connection:
        query = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'discreet' AND wait_event_type = 'Lock'"
        (number,) = connection.execute(query).fetchone() or (0,)
        return int(number)


def test_ctrl_c_stops_the_query_on_the_server(
    postgres: Server, source: str, locked: psycopg.Connection[Any]
) -> None:
    table = source.partition("#")[2]
    with open_engine(source, SCHEMA) as engine:
        locked.execute(f"LOCK TABLE {table} IN ACCESS EXCLUSIVE MODE".encode())

        def interrupt() -> None:
            while not waiting(postgres):
                time.sleep(0.01)
            os.kill(os.getpid(), signal.SIGINT)

        thread = threading.Thread(target=interrupt)
        before = signal.signal(
            signal.SIGINT, signal.default_int_handler
        )  # a background job ignores it
        try:
            thread.start()
            with pytest.raises(KeyboardInterrupt):
                engine.row_count()
            thread.join()
        finally:
            signal.signal(signal.SIGINT, before)
        assert waiting(postgres) == 0
        with pytest.raises(EngineFailed, match="closed"):
            engine.row_count()


def test_verbs_of_several_threads_see_their_own_results(source: str) -> None:
    with open_engine(source, SCHEMA) as engine:
        wrong: list[Any] = []

        def work(name: str, right: list[int]) -> None:
            for _ in range(10):
                found = engine.marginals([(name,)])[0].tolist()
                if found != right:
                    wrong.append(found)

        pairs = (("age", AGES), ("sex", SEXES)) * 2
        threads = [threading.Thread(target=work, args=pair) for pair in pairs]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert wrong == []


# -- The whole way -----------------------------------------------------------------------------


def test_the_command_line_drafts_releases_and_asks(
    source: str, tmp_path: Path, discreet: Callable[..., Done]
) -> None:
    draft = discreet("schema", "draft", source)
    assert draft.returncode == 0, draft.stderr
    assert '[columns.age]\nkind = "integer"' in draft.stdout and CANARY not in draft.stdout
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
    assert done.returncode == 0, done.stderr
    asked = discreet("ask", str(out), "SELECT count(*) FROM people", "--json")
    assert asked.returncode == 0, asked.stderr
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
