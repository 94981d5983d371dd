"""Views in DuckDB: the declared join, rendered from plain data, with comparisons that cannot fail.

Columns are compared as identifiers are read, as texts, so a person of the join is the person that
rows are bounded by, and no value of any type can stop it.
"""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

from sqlglot import exp

from discreet.engines.duckdb.dialect import DIALECT
from discreet.engines.duckdb.scan import Scan, open_parquet, parquet_table
from discreet.engines.duckdb.session import Session
from discreet.engines.sources import Source, SourceColumn, locate
from discreet.engines.sql import syntax as s
from discreet.engines.sql.syntax import Sql
from discreet.errors import BadSource
from discreet.schema.columns.column import folded
from discreet.schema.schema import Schema
from discreet.schema.views import ViewColumn


def open_view(session: Session, source: Source, schema: Schema) -> Scan:
    """The scan of a view's columns; afterwards the session is locked."""
    view = schema.view
    assert view is not None
    files = {name: file for (name, _), file in zip(view.tables, source.files, strict=True)}
    for one, other in combinations(files, 2):
        if Path(files[one]).samefile(files[other]):  # as public it could be joined by anything
            raise BadSource(
                f"Tables {one!r} and {other!r} of the view are one file. No row was read. Name it once, "
                "and give it two aliases in the view's SQL."
            )
    used: dict[str, dict[str, tuple[str, str]]] = {}
    for join in view.joins:
        pairs = [pair for one in view.joins for both in one.equal for pair in both]
        pairs += [column for _, column in view.columns]
        wanted = {
            folded(column): column for alias, column in pairs if folded(alias) == folded(join.alias)
        }
        fields = open_parquet(session, (files[join.table],), tuple(wanted.values()))
        used[folded(join.alias)] = dict(zip(wanted, fields, strict=True))

    def raw(column: ViewColumn) -> Sql:
        field, _ = used[folded(column[0])][folded(column[1])]
        return s.name(_alias(column[0]), field)

    def compared(column: ViewColumn) -> Sql:
        type_ = DIALECT.field_type(used[folded(column[0])][folded(column[1])][1])
        if type_.family in ("unknown", "unreadable"):
            raise BadSource(
                f"Column {column[1]!r} has a type that tables cannot be joined by. No row was read. "
                "Make it a number or a text."
            )
        return DIALECT.identifier(raw(column), type_)

    outputs = [exp.alias_(raw(column), f"v{n}") for n, (_, column) in enumerate(view.columns)]
    first, *others = view.joins
    query = exp.select(*outputs).from_(_table(session, files[first.table], first.alias))
    for join in others:
        equal = [s.equal(compared(left), compared(right)) for left, right in join.equal]
        query = query.join(
            _table(session, files[join.table], join.alias),
            on=exp.and_(*equal),
            join_type="left" if join.keeps_unmatched else "inner",
        )
    types = [used[folded(alias)][folded(column)][1] for _, (alias, column) in view.columns]
    columns = [
        SourceColumn(n, name, type_)
        for n, (name, type_) in enumerate(zip(view.names, types, strict=True))
    ]
    found = locate(schema, columns, names_are_public=True)
    session.lock(source.files)
    scanned = tuple((f"v{one.place}", one.type_name) for one in found)
    return Scan(query.subquery("joined"), scanned)


def _alias(name: str) -> str:
    return "t_" + folded(name)


def _table(session: Session, file: str, alias: str) -> Sql:
    table = parquet_table(session, (file,))
    table.set("alias", exp.TableAlias(this=exp.to_identifier(_alias(alias), quoted=True)))
    return table
