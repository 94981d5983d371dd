"""Whether a column gives every row a cell."""

from __future__ import annotations

from discreet.schema.columns.column import Column
from discreet.schema.columns.named import CategoryColumn
from discreet.schema.columns.ordered import OrderedColumn


def keeps_every_row(column: Column) -> bool:
    """Whether every row has a cell in `column`: nulls and outside values are not left out."""
    if column.nulls != "cell":
        return False
    if isinstance(column, CategoryColumn):
        return column.other
    return not isinstance(column, OrderedColumn) or column.outside != "exclude"
