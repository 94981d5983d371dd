"""How names, values and conditions are spelled: in the text of a query class, and in SQL that is shown or tried."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date
from fractions import Fraction

from discreet.errors import BadInput
from discreet.schema import OrderedColumn, Schema

_RESERVED = frozenset(
    [
        "all",
        "alter",
        "and",
        "any",
        "as",
        "asc",
        "between",
        "by",
        "case",
        "connect_by_root",
        "create",
        "cross",
        "cube",
        "current_date",
        "current_time",
        "current_timestamp",
        "current_user",
        "desc",
        "describe",
        "distinct",
        "drop",
        "else",
        "end",
        "except",
        "exists",
        "false",
        "fetch",
        "for",
        "from",
        "glob",
        "grant",
        "group",
        "having",
        "if",
        "ilike",
        "in",
        "inner",
        "insert",
        "intersect",
        "into",
        "is",
        "join",
        "lateral",
        "like",
        "limit",
        "lock",
        "not",
        "notnull",
        "null",
        "offset",
        "on",
        "or",
        "order",
        "outer",
        "partitioned_by",
        "qualify",
        "regexp",
        "returning",
        "revoke",
        "rlike",
        "rollback",
        "rollup",
        "select",
        "table",
        "tablesample",
        "then",
        "true",
        "uncache",
        "union",
        "using",
        "values",
        "when",
        "where",
        "window",
        "with",
        "xor",
    ]
)


def quoted(name: str) -> str:
    """A column's name as it stands in the text of a class: odd ones in double quotes."""
    return name if re.fullmatch(r"[^\W\d]\w*", name) else '"' + name.replace('"', '""') + '"'


def checked_weight(weight: Fraction | int) -> Fraction:
    """The weight of a class, exact and above 0."""
    value = Fraction(weight)
    if value <= 0:
        raise BadInput(f"The weight of a query class is {value}; it must be greater than 0.")
    return value


def sql_name(name: str) -> str:
    """A name as SQL writes it."""
    return '"' + name.replace('"', '""') + '"'


def readable_name(name: str) -> str:
    """A name as a person writes it in SQL: in double quotes only where it must stand in them."""
    plain = name.isidentifier() and name.isascii() and name.lower() not in _RESERVED
    return name if plain else sql_name(name)


def no_such_table(name: str) -> str:
    """What is said of a column behind a name that FROM does not give."""
    return (
        f"There is no table {name!r} in FROM. A table with an alias goes by the alias alone, and a subquery cannot use "
        "the tables of the query around it: join two subqueries with GROUP BY instead."
    )


def sql_value(column: OrderedColumn, cell: int) -> str:
    """The least value of a cell."""
    low = column.bounds(cell)[0]
    return f"'{low}'" if isinstance(low, date) else str(low)


def conditions(schema: Schema) -> Iterator[tuple[str, ...]]:
    """Conditions of one column at a time: that it has a value, and, of an ordered one, several that overlap."""
    for column in schema.columns:
        name = sql_name(column.name)
        yield (f"{name} IS NOT NULL",)
        if isinstance(column, OrderedColumn) and column.value_cells >= 4:
            places = (1, column.value_cells // 4, column.value_cells // 2, column.value_cells - 1)
            one, two, three, four = (sql_value(column, place) for place in sorted(places))
            yield (
                f"{name} >= {three}",
                f"{name} < {two}",
                f"{name} >= {one} AND {name} < {four}",
                f"{name} >= {two} AND {name} < {three}",
            )
