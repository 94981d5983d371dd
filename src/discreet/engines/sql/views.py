"""Views: the declared join, rendered from plain data, with comparisons that cannot fail.

Columns are compared as identifiers are read, as texts, so a person of the join is the person that
rows are bounded by, and no value of any type can stop it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from sqlglot import exp

from discreet.engines.sources import SourceColumn, locate
from discreet.engines.sql import syntax as s
from discreet.engines.sql.dialect import Dialect
from discreet.engines.sql.fields import MIXED_UP
from discreet.engines.sql.syntax import Sql
from discreet.engines.sql.units import LONGEST_TEXT
from discreet.errors import BadSource
from discreet.schema.columns.column import folded
from discreet.schema.schema import Schema
from discreet.schema.views import ViewColumn

_OF_ANY_LENGTH = re.compile(r"VARCHAR|(string|varchar).*")  # as DuckDB and Spark call texts
Fields = Sequence[tuple[str, str]]
"""Names and types of columns, as their database has them."""


def joined(
    schema: Schema,
    fields_of: Callable[[str, tuple[str, ...]], Fields],
    table_of: Callable[[str], Sql],
    dialect: Dialect,
) -> tuple[Sql, tuple[tuple[str, str], ...]]:
    """The join as a table, and the fields there of the declared columns, then the identifier's.

    `fields_of` finds columns of a table by their names, `table_of` is the table to read; both know
    tables by their names in the view.
    """
    view = schema.view
    assert view is not None
    used: dict[str, dict[str, tuple[str, str]]] = {}
    for join in view.joins:
        pairs = [pair for one in view.joins for both in one.equal for pair in both]
        pairs += [column for _, column in view.columns]
        wanted = {
            folded(column): column for alias, column in pairs if folded(alias) == folded(join.alias)
        }
        fields = fields_of(join.table, tuple(wanted.values()))
        used[folded(join.alias)] = dict(zip(wanted, fields, strict=True))

    def raw(column: ViewColumn) -> Sql:
        return s.name(_alias(column[0]), used[folded(column[0])][folded(column[1])][0])

    def compared(column: ViewColumn) -> Sql:
        name = used[folded(column[0])][folded(column[1])][1]
        type_ = dialect.field_type(name)
        if type_.family in ("unknown", "unreadable") or MIXED_UP.fullmatch(name):
            raise BadSource(
                f"Column {column[1]!r} has a type that tables cannot be joined by. No row was read. "
                "Make it a number or a text."
            )
        return dialect.identifier(raw(column), type_)

    values = [len(each) for one in schema.columns for each in getattr(one, "values", ())]
    letters = s.whole(max([LONGEST_TEXT, *values]) + 1)

    def kept(field: tuple[str, str]) -> exp.Expr:
        """No more of a text is joined than is read: a join holds the rows of a person together."""
        name, is_long = s.name(field[0]), _OF_ANY_LENGTH.fullmatch(field[1])
        cut = s.call("substr", name, s.whole(1), letters)
        return exp.alias_(cut, field[0], quoted=True) if is_long else name

    def named(table: str, alias: str) -> Sql:
        chosen = exp.select(*map(kept, used[folded(alias)].values()))
        return chosen.from_(table_of(table)).subquery(exp.to_identifier(_alias(alias), quoted=True))

    outputs = [exp.alias_(raw(column), f"v{n}") for n, (_, column) in enumerate(view.columns)]
    first, *others = view.joins
    query = exp.select(*outputs).from_(named(first.table, first.alias))
    for join in others:
        equal = [s.equal(compared(left), compared(right)) for left, right in join.equal]
        how = "left" if join.keeps_unmatched else "inner"
        query = query.join(named(join.table, join.alias), on=exp.and_(*equal), join_type=how)
    columns = [
        SourceColumn(n, name, used[folded(alias)][folded(column)][1])
        for n, (name, (alias, column)) in enumerate(view.columns)
    ]
    found = locate(schema, columns, names_are_public=True)
    return query.subquery("joined"), tuple((f"v{one.place}", one.type_name) for one in found)


def _alias(name: str) -> str:
    return "t_" + folded(name)
