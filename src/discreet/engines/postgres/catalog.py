"""Which table a name means, what its columns are, and whether reading it can fail on some row.

Tables, materialised views and partitioned tables hold what they hold. A view runs expressions of its own for
each row, and a foreign table is read by a program of its own, and either may stop at some row, after the
charge. So a view may only choose columns and rows of one table, by plain comparisons, and a foreign table
must be another PostgreSQL's. Row-level security runs expressions too, so it must not apply.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import PurePath
from typing import Any

import sqlglot
from sqlglot import exp

from discreet.engines.postgres.address import TableName
from discreet.engines.postgres.dialect import DIALECT
from discreet.engines.postgres.session import Session
from discreet.engines.sources import SourceColumn, locate
from discreet.engines.sql.syntax import Sql
from discreet.engines.sql.views import joined
from discreet.errors import BadSource
from discreet.schema.columns.column import folded
from discreet.schema.schema import Schema

_RELATIONS = """
SELECT c.oid::int8, n.nspname::text, c.relname::text, c.relkind::text
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'p', 'm', 'v', 'f') AND n.nspname NOT IN ('pg_catalog', 'information_schema')
AND n.nspname NOT LIKE 'pg\\_toast%%' AND has_schema_privilege(n.oid, 'USAGE')
"""
_CHILDREN = """
WITH RECURSIVE tree AS (
    SELECT %s::oid AS oid UNION SELECT i.inhrelid FROM pg_inherits i JOIN tree ON i.inhparent = tree.oid
)
SELECT c.oid::int8, c.relname::text, c.relkind::text, row_security_active(c.oid), w.fdwname::text
FROM tree JOIN pg_class c ON c.oid = tree.oid
LEFT JOIN pg_foreign_table f ON f.ftrelid = c.oid
LEFT JOIN pg_foreign_server s ON s.oid = f.ftserver
LEFT JOIN pg_foreign_data_wrapper w ON w.oid = s.srvfdw
"""
_COLUMNS = """
WITH RECURSIVE base AS (
    SELECT a.attnum, a.attname::text AS name, a.atttypid AS type, a.attgenerated::text AS generated,
        EXISTS (SELECT FROM pg_collation c WHERE c.oid = a.attcollation AND NOT c.collisdeterministic) AS spelled
    FROM pg_attribute a WHERE a.attrelid = %s AND a.attnum > 0 AND NOT a.attisdropped
    UNION ALL
    SELECT b.attnum, b.name, t.typbasetype, b.generated, b.spelled FROM base b JOIN pg_type t ON t.oid = b.type
    WHERE t.typtype = 'd'
)
SELECT b.name, t.typname::text, t.typtype::text, t.typcategory::text, n.nspname::text, b.spelled, EXISTS (
        SELECT FROM pg_cast c JOIN pg_proc f ON f.oid = c.castfunc JOIN pg_type g ON g.oid = c.casttarget
        WHERE c.castsource = t.oid AND f.pronamespace <> 'pg_catalog'::regnamespace AND g.typnamespace = 'pg_catalog'::regnamespace
    ), b.generated,
    has_column_privilege(%s::oid, b.attnum, 'SELECT')
FROM base b JOIN pg_type t ON t.oid = b.type JOIN pg_namespace n ON n.oid = t.typnamespace
WHERE t.typtype <> 'd' ORDER BY b.attnum
"""
_OWN_CAST = ", which is cast by a function of its own"
_KINDS = {"e": "enum", "c": "composite", "r": "range", "m": "multirange"}
_PLAIN = (
    exp.Select, exp.From, exp.Table, exp.TableAlias, exp.Identifier, exp.Column, exp.Alias, exp.Where,
    exp.And, exp.Or, exp.Not, exp.Paren, exp.Is, exp.Null, exp.Boolean, exp.EQ, exp.NEQ, exp.LT, exp.LTE,
    exp.GT, exp.GTE, exp.Literal, exp.Neg, exp.DataType,
)  # fmt: skip
"""What a view may be made of, beside casts of constants and casts to text."""
_COMPARISONS = (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE)
_ONE_TEXT = {
    "int2",
    "int4",
    "int8",
    "bool",
    "text",
    "varchar",
    "bpchar",
    "name",
    "uuid",
    "date",
    "timestamp",
    "timestamptz",
    "enum",
}
"""Types of which different values are different texts, and equal ones the same."""
_ALSO_COMPARED = {"bytea", "bit", "varbit", "time", "timetz", "interval", "money"}
"""Types that no column is read from, and whose comparisons cannot fail: those of areas and lengths overflow."""


@dataclass(frozen=True, slots=True)
class Relation:
    """A table that can be read, and its columns."""

    table: Sql
    columns: list[SourceColumn]
    unreadable: frozenset[str]
    """Columns that this user may not read, or that are computed when they are read."""

    def refuse_unreadable(self, names: Sequence[str]) -> None:
        for name in names:
            if name in self.unreadable:
                raise BadSource(
                    f"Column {name!r} may not be read by you, or is computed when it is read. No row was "
                    "read. Ask the table's owner for SELECT on it, or take it out of the schema."
                )


def find(session: Session, name: TableName) -> Relation:
    """The table of a name; `BadSource` where there is none, or where reading it may fail."""
    found = session.catalog(_RELATIONS)
    wanted = [_Part.read(part) for part in name.parts]
    chosen = [
        row
        for row in found
        if all(part.means(text) for part, text in zip(wanted[::-1], (row[2], row[1]), strict=False))
    ]
    exact = [
        row for row in chosen if [part.text for part in wanted] == [row[1], row[2]][-len(wanted) :]
    ]
    chosen = exact or chosen
    if len(chosen) > 1:
        places = ", ".join(repr(f"{row[1]}.{row[2]}") for row in chosen[:10])
        raise BadSource(
            f"The name {str(name)!r} may mean {places}. Nothing was read. Write the schema before the table, "
            "and put names into double quotes where only their case differs."
        )
    if not chosen:
        known = [f"{row[1]}.{row[2]}" for row in found]
        asked = str(name) if len(wanted) > 1 else f"public.{name}"
        near = get_close_matches(asked.lower(), known, n=1)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        raise BadSource(
            f"There is no table {str(name)!r} that you can see in the database. Nothing was read.{hint}"
        )
    oid, schema, table, kind = chosen[0]
    anew = _spelled_anew(session, oid, f"{schema}.{table}", kind)
    columns, unreadable = [], []
    for place, row in enumerate(session.catalog(_COLUMNS, [oid, oid])):
        column, *type_, generated, readable = row
        type_name = f"{_type_name(*type_)}{' collate' * (column in anew)}"
        columns.append(SourceColumn(place, column, type_name))
        if generated == "v" or not readable:
            unreadable.append(column)
    return Relation(exp.table_(table, db=schema, quoted=True), columns, frozenset(unreadable))


def found_table(
    session: Session, name: TableName, schema: Schema
) -> tuple[Sql, Sequence[tuple[str, str]]]:
    """A table, and the fields of the declared columns, then the identifier's."""
    relation = find(session, name)
    found = locate(schema, relation.columns, names_are_public=True)
    relation.refuse_unreadable([column.name for column in found])
    return relation.table, [(column.name, column.type_name) for column in found]


def found_view(
    session: Session, name: TableName, schema: Schema
) -> tuple[Sql, Sequence[tuple[str, str]]]:
    """The join of a declared view. Its tables are those of a schema of the database that have its files' names."""
    view = schema.view
    assert view is not None
    if len(name.parts) > 1:
        raise BadSource(
            "The schema declares a view, so the source must name the schema of the database that holds its "
            "tables. Nothing was read. Write postgresql://host/db#schema."
        )
    place = name.parts[0]
    tables = {
        table: find(session, TableName((place, quoted_name(PurePath(file).stem))))
        for table, file in view.tables
    }

    def fields_of(table: str, columns: tuple[str, ...]) -> list[tuple[str, str]]:
        found = []
        for column in columns:
            alike = [one for one in tables[table].columns if folded(one.name) == folded(column)]
            if len(alike) != 1:
                what = "no column" if not alike else "more than one column"
                raise BadSource(
                    f"Table {table!r} of the view has {what} {column!r}. No row was read."
                )
            tables[table].refuse_unreadable([alike[0].name])
            found.append((alike[0].name, alike[0].type_name))
        return found

    return joined(schema, fields_of, lambda table: tables[table].table.copy(), DIALECT)


def quoted_name(name: str) -> str:
    doubled = name.replace('"', '""')
    return f'"{doubled}"'


@dataclass(frozen=True, slots=True)
class _Part:
    text: str
    quoted: bool

    @classmethod
    def read(cls, part: str) -> _Part:
        if part.startswith('"'):
            return cls(part[1:-1].replace('""', '"'), True)
        return cls(part, False)

    def means(self, name: str) -> bool:
        return name == self.text if self.quoted else name.lower() == self.text.lower()


def _type_name(name: str, kind: str, category: str, schema: str, spelled: bool, cast: bool) -> str:
    """The type; with "collate" behind it where different texts are equal in the column, and with more where somebody's own
    function casts it: that may fail on some row, so such a type is not known."""
    if cast:
        return f"{name}{_OWN_CAST}"
    if spelled:
        return f"{_type_name(name, kind, category, schema, False, cast)} collate"
    if category == "A":
        return "array"
    if kind in _KINDS:
        return _KINDS[kind]
    return name if schema == "pg_catalog" or name == "citext" else f"{schema}.{name}"


def _spelled_anew(session: Session, oid: int, name: str, kind: str) -> set[str]:
    """The columns of a view that tell people apart in another way than its table: `who::text` of 1.0 and 1.00. Refuses
    what may fail on some row, or mix people."""
    if kind == "v":
        ((definition,),) = session.catalog("SELECT pg_get_viewdef(%s::oid)", [oid])
        below, compared, cast, named, shown = _table_below(definition)
        if below is None:
            raise _failing_view(name)
        inside = [
            row for row in session.catalog(_RELATIONS) if (row[1], row[2]) == (below.db, below.name)
        ]
        if not inside:
            raise BadSource(
                f"The view {name!r} reads a table of another schema that you cannot see. No row was read. "
                "Ask its owner for USAGE on the schema."
            )
        table = inside[0][0]
        columns = session.catalog(_COLUMNS, [table, table])
        if named - {column for column, *_ in columns}:
            raise _failing_view(name)  # `ctid` is where a row is stored, which other rows decide
        kept = set()
        for column, *type_, generated, _ in columns:
            type_name = _type_name(*type_)
            kept |= {column} if type_name in _ONE_TEXT else set()
            is_computed = column in named and generated == "v"  # when it is read
            is_cast = column in cast and type_name.endswith(_OWN_CAST)
            if is_computed or is_cast or (column in compared and not _compares_safely(type_name)):
                raise _failing_view(name)
        anew = _spelled_anew(session, table, f"{below.db}.{below.name}", inside[0][3])
        return {
            one.alias_or_name
            for one in shown
            if not (column := _shown_column(one, kept)) or column in anew
        }
    for _, child, child_kind, secured, wrapper in session.catalog(_CHILDREN, [oid]):
        if secured:
            raise BadSource(
                f"{child!r} has row-level security that applies to you: its rules may fail on some row, and "
                "hide others. No row was read. Ask for a role with BYPASSRLS, or for a materialised view."
            )
        if child_kind == "f" and wrapper != "postgres_fdw":
            raise BadSource(
                f"{child!r} is a foreign table of {wrapper}, which may fail on some row. No row was read. "
                "Copy it into a materialised view."
            )
    return set()


def _shown_column(shown: Any, kept: set[str]) -> str:
    """The column that an expression shows as it is, or cast to a text of which each of its values has one; "" for any other."""
    inner = shown.unalias()
    while isinstance(inner, exp.Paren):
        inner = inner.this
    if isinstance(inner, exp.Column):
        return str(inner.name)
    column = inner.this.unnest() if isinstance(inner, exp.Cast) else None
    return str(column.name) if isinstance(column, exp.Column) and column.name in kept else ""


def _compares_safely(type_name: str) -> bool:
    is_read = DIALECT.field_type(type_name).family not in ("unknown", "unreadable")
    return is_read or type_name in _ALSO_COMPARED


def _failing_view(name: str) -> BadSource:
    return BadSource(
        f"{name!r} is a view that does more than choose columns and rows of one table by plain comparisons, so it "
        "may fail on some row, or mix people. No row was read. Make it a materialised view, name its table, or "
        "declare a [view] in the schema."
    )


def _table_below(definition: str) -> tuple[Any, set[str], set[str], set[str], list[Any]]:
    """The one table that a plain view chooses from, the columns that it compares, those that it casts, all that it names,
    and what it shows; no table for any other view."""
    other: tuple[Any, set[str], set[str], set[str], list[Any]] = (None, set(), set(), set(), [])
    try:
        query = sqlglot.parse_one(definition, dialect="postgres")
    except sqlglot.errors.SqlglotError:
        return other
    tables = list(query.find_all(exp.Table))
    if not isinstance(query, exp.Select) or len(tables) != 1 or not tables[0].db:
        return other
    if tables[0].alias_column_names:
        return other  # a column would have the name of another, whose type says nothing of it
    taken = {key for key, value in query.args.items() if value}
    if not taken <= {"expressions", "from", "from_", "where", "kind"}:
        return other
    for node in query.walk():
        if isinstance(node, exp.Cast):
            if not isinstance(node.this, exp.Literal) and not node.to.is_type("text"):
                return other
        elif not isinstance(node, _PLAIN):
            return other
        elif isinstance(node, exp.Neg) and not isinstance(node.this, exp.Literal):
            return other  # of the least number there is no negative

    def within(*kinds: type[exp.Expression]) -> set[str]:
        found = (one for kind in kinds for one in query.find_all(kind))
        return {column.name for one in found for column in one.find_all(exp.Column)}

    compared, cast, named = within(*_COMPARISONS), within(exp.Cast), within(exp.Select)
    return tables[0], compared, cast, named, query.expressions
