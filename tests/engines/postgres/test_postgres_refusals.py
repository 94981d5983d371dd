"""What of PostgreSQL is refused before a row is read: addresses, views, rules, types."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

from discreet.engines import column_names_and_types, open_engine
from discreet.engines.postgres import catalog
from discreet.errors import BadSource
from discreet.privacy.adjacency import PrivacyUnit
from discreet.schema import IntegerColumn, NumberColumn, Schema
from tests.command_line import Done
from tests.engines.four_people import CANARY, SCHEMA, counted
from tests.postgres_server import READER, Server, named, server


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
    assert done.code == 2 and CANARY not in done.out + done.err


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
    "a view that negates": ("VIEW", "SELECT -age AS age, sex FROM {table}", "choose columns"),
    "a view that filters by a negative": ("VIEW", "SELECT * FROM {table} WHERE -age < 9", "choose columns"),
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


@pytest.mark.parametrize("column", ["box", "circle", "lseg[]"])
def test_a_view_that_compares_what_overflows_is_refused(column: str, postgres: Server) -> None:
    """An area of 10^400 stops the comparison, so one row would stop the run."""
    postgres.execute(f"CREATE TABLE shapes (age int, sex text, shape {column})")
    query = "SELECT age, sex FROM shapes WHERE {condition}"
    try:
        one = named(
            postgres, "refused", f"CREATE VIEW refused AS {query.format(condition='shape = shape')}"
        )
        with pytest.raises(BadSource, match="plain comparisons"):
            open_engine(one, SCHEMA)
        postgres.execute("DROP VIEW refused")
        one = named(
            postgres, "refused", f"CREATE VIEW refused AS {query.format(condition='age > -5')}"
        )
        with open_engine(one, SCHEMA) as engine:
            assert engine.row_count() == 0
    finally:
        postgres.execute("DROP TABLE shapes CASCADE")


def test_a_view_that_gives_columns_the_names_of_others_is_refused(postgres: Server) -> None:
    """Then `age` is a box. PostgreSQL writes such names by itself, where a column of the table gets another one."""
    postgres.execute("CREATE TABLE swapped (age int, sex text, shape box)")
    view = "SELECT t.shape AS age, t.sex FROM swapped t(shape, sex, age) WHERE t.age = '(0,0),(1,1)'::box"
    try:
        one = named(postgres, "refused", f"CREATE VIEW refused AS {view}")
        with pytest.raises(BadSource, match="plain comparisons"):
            open_engine(one, SCHEMA)
        one = named(postgres, "above", "CREATE VIEW above AS SELECT age, sex FROM refused")
        with pytest.raises(BadSource, match="plain comparisons"):
            open_engine(one, SCHEMA)
        postgres.execute("DROP VIEW refused CASCADE")
        plain = "CREATE VIEW refused AS SELECT t.age, t.sex FROM swapped t WHERE t.age > 3"
        with open_engine(named(postgres, "refused", plain), SCHEMA) as engine:
            assert engine.row_count() == 0
    finally:
        postgres.execute("DROP TABLE swapped CASCADE")


@pytest.mark.parametrize(
    ("type_", "values", "is_taken"),
    [
        ("numeric", "('1.0'), ('1.00')", False),
        ("float8", "('0'), ('-0')", False),
        ("interval", "('1 mon'), ('30 days')", False),
        ("jsonb", "('1'), ('1.0')", False),
        ("int8", "('1'), ('2')", True),
        ("timestamptz", "('2020-11-01 05:30+00'), ('2020-11-01 04:30+00')", True),
        ("char(3)", "('a'), ('a  '), ('b')", True),
    ],
)
def test_nobody_is_told_apart_by_a_cast_in_a_view(
    postgres: Server, type_: str, values: str, is_taken: bool
) -> None:
    """As texts, 1.0 and 1.00 were two people."""
    schema = Schema(dataset="p", columns=(IntegerColumn("age", 0, 99),), unit=PrivacyUnit("who"))
    postgres.execute(
        f"CREATE TABLE spelled (who {type_}, age int DEFAULT 3)",
        f"INSERT INTO spelled (who) VALUES {values}",
    )
    cast = "CREATE VIEW texts AS SELECT age, who::text AS who FROM spelled"
    try:
        one = named(postgres, "texts", cast)
        above = "CREATE VIEW above AS SELECT t.who, age FROM texts t WHERE age > 0"
        for source in (one, named(postgres, "above", above)):
            if not is_taken:
                with pytest.raises(BadSource, match="cannot tell people apart"):
                    open_engine(source, schema)
                continue
            with open_engine(source, schema) as engine:
                assert engine.row_count() == 2
        plain = "CREATE VIEW plain AS SELECT age AS who, 3 AS age FROM spelled"
        with open_engine(named(postgres, "plain", plain), schema) as engine:
            assert engine.row_count() == 1
    finally:
        postgres.execute("DROP TABLE spelled CASCADE")


def test_no_function_of_somebodys_own_casts_a_column(postgres: Server) -> None:
    """It may fail on some row, or look at others: reading an enumeration as a text called it for each row."""
    make = (
        "CREATE TYPE mood AS ENUM ('F', 'M', 'odd')",
        "CREATE FUNCTION spelled(mood) RETURNS text LANGUAGE plpgsql AS $$ BEGIN "
        "IF enum_out($1) = 'odd' THEN RAISE EXCEPTION 'odd'; END IF; RETURN enum_out($1); END $$",
        "CREATE FUNCTION is_less(int, int) RETURNS bool LANGUAGE sql AS 'SELECT 1 / $1 < $2'",
        "CREATE OPERATOR public.< (LEFTARG = int, RIGHTARG = int, FUNCTION = is_less)",
        "CREATE TABLE moods (age int, sex mood)",
        "INSERT INTO moods VALUES (30, 'F'), (40, 'odd')",
    )
    postgres.execute(*make)
    try:
        with open_engine(named(postgres, "moods"), SCHEMA) as engine:
            assert engine.row_count() == 2
        view = "CREATE VIEW refused AS SELECT age, sex FROM moods WHERE age OPERATOR(public.<) 3"
        with pytest.raises(BadSource, match="plain comparisons"):
            open_engine(named(postgres, "refused", view), SCHEMA)
        for target in ("varchar", "text"):
            postgres.execute(f"CREATE CAST (mood AS {target}) WITH FUNCTION spelled(mood)")
            with pytest.raises(BadSource, match=r"'sex' has a type that is not known.*No row was"):
                open_engine(named(postgres, "moods"), SCHEMA)
            view = f"CREATE VIEW texts{target} AS SELECT age, sex::text FROM moods"
            with pytest.raises(BadSource, match="plain comparisons"):
                open_engine(named(postgres, f"texts{target}", view), SCHEMA)
            postgres.execute(f"DROP CAST (mood AS {target}) CASCADE")
    finally:
        postgres.execute(
            "DROP TABLE moods CASCADE",
            "DROP OPERATOR public.< (int, int)",
            "DROP FUNCTION is_less",
            "DROP TYPE mood CASCADE",
        )


def test_a_view_of_a_column_that_is_computed_when_it_is_read_is_refused(
    postgres: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Such columns are new in PostgreSQL 18, so here the catalog is made to call a column one."""
    old, new = "a.attgenerated::text", "CASE WHEN a.attname = 'share' THEN 'v' ELSE '' END"
    assert old in catalog._COLUMNS
    monkeypatch.setattr(catalog, "_COLUMNS", catalog._COLUMNS.replace(old, new))
    postgres.execute("CREATE TABLE computed (age int, sex text, share int)")
    try:
        for columns, where in (("share AS age, sex", ""), ("age, sex", " WHERE share > 3")):
            query = f"SELECT {columns} FROM computed{where}"
            one = named(postgres, "refused", f"CREATE VIEW refused AS {query}")
            with pytest.raises(BadSource, match="plain comparisons"):
                open_engine(one, SCHEMA)
            postgres.execute("DROP VIEW refused")
        one = named(postgres, "refused", "CREATE VIEW refused AS SELECT age, sex FROM computed")
        with open_engine(one, SCHEMA) as engine:
            assert engine.row_count() == 0
    finally:
        postgres.execute("DROP TABLE computed CASCADE")


@pytest.mark.parametrize("what", ["ctid", "xmin", "tableoid"])
def test_a_view_of_where_a_row_is_stored_is_refused(postgres: Server, what: str) -> None:
    """PostgreSQL has such columns in every table. One long row moves others to the next page, and so out of a view of the first."""
    postgres.execute("CREATE TABLE placed (age int, sex text, note text)")
    first = "ctid < '(1,0)'" if what == "ctid" else f"{what}::text < '9'"
    wheres = (f"age, sex FROM placed WHERE {first}", f"age, {what}::text AS sex FROM placed")
    try:
        for query in wheres:
            one = named(postgres, "refused", f"CREATE VIEW refused AS SELECT {query}")
            with pytest.raises(BadSource, match="plain comparisons"):
                open_engine(one, SCHEMA)
            postgres.execute("DROP VIEW refused")
    finally:
        postgres.execute("DROP TABLE placed CASCADE")


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
