"""Names, values and conditions over any schema's columns, as SQL: for questions that are shown or tried."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date

from discreet.schema import OrderedColumn, Schema


def sql_name(name: str) -> str:
    """A name as SQL writes it."""
    return '"' + name.replace('"', '""') + '"'


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
