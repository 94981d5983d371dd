"""Columns that leave rows out, with one more cell for just these rows: see `completed`.

A column with `nulls = "exclude"` or `other = false` gives some rows no cell. Two tables over different such columns are then
about different rows, and cannot be put together. With one more cell, behind the declared ones, every row lies in one cell of every
table. The cell is there for what is measured and estimated. Nobody can ask for it: a condition never selects it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import ClassVar

from discreet.schema.columns.column import (
    OTHER_LABEL,
    CodeSelection,
    Column,
    Nulls,
    keeps_every_row,
)
from discreet.schema.schema import Schema

WITHOUT_A_CELL = "(no cell)"


@dataclass(frozen=True, slots=True)
class CompletedColumn(Column):
    """A declared column, and a last cell for the rows that have none of its own. Thread safe: it never changes."""

    declared: Column
    name: str
    nulls: Nulls = "cell"
    kind: ClassVar[str] = "completed"
    is_ordered: ClassVar[bool] = False

    def __post_init__(self) -> None:
        """The declared column was seen to."""

    @property
    def value_cells(self) -> int:
        return self.declared.value_cells

    @property
    def has_other(self) -> bool:
        return self.declared.has_other

    @property
    def null_cell(self) -> int | None:
        return self.declared.null_cell

    @property
    def cells(self) -> int:
        return self.declared.cells + 1

    def code_of(self, value: object) -> int | None:
        found = self.declared.code_of(value)
        return self.declared.cells if found is None else found

    def label(self, code: int) -> str:
        return WITHOUT_A_CELL if code == self.declared.cells else self.declared.label(code)

    def value_in(self, code: int, fraction: Fraction | float) -> object:
        """A value that the declared column gives no cell, where one can be named."""
        if code != self.declared.cells:
            return self.declared.value_in(code, fraction)
        if self.declared.nulls == "exclude" or self.declared.is_ordered:
            return None
        return OTHER_LABEL

    def codes_where(self, operator: str, literal: object = None) -> CodeSelection:
        return self.declared.codes_where(operator, literal)


@dataclass(frozen=True, slots=True, kw_only=True)
class CompletedSchema(Schema):
    """A schema with some `CompletedColumn`s. Thread safe: it never changes."""

    declared: Schema

    def __post_init__(self) -> None:
        """The declared schema was seen to."""
        places = {column.name: place for place, column in enumerate(self.columns)}
        object.__setattr__(self, "_places", places)
        object.__setattr__(self, "_digest", [])


def losing(schema: Schema, names: Iterable[str]) -> tuple[str, ...]:
    """Those of the columns that leave rows out, in the schema's order."""
    wanted = set(names)
    return tuple(
        column.name
        for column in schema.columns
        if column.name in wanted and not keeps_every_row(column)
    )


def all_cells(column: Column) -> int:
    """The column's cells, and one more if it leaves rows out."""
    return column.cells + (not keeps_every_row(column))


def completed_names(schema: Schema, names: Iterable[str]) -> tuple[str, ...]:
    """Those of the columns that have such a cell."""
    return tuple(name for name in names if isinstance(schema.column(name), CompletedColumn))


def declared_cells(schema: Schema, names: Iterable[str]) -> tuple[slice, ...]:
    """Where the declared cells of a table over these columns lie."""
    columns = (schema.column(name) for name in names)
    return tuple(
        slice(0, -1) if isinstance(column, CompletedColumn) else slice(None) for column in columns
    )


def completed(schema: Schema, names: Iterable[str]) -> Schema:
    """The schema in which those of the named columns that leave rows out have a last cell for these rows."""
    found = set(losing(schema, names))
    if not found:
        return schema
    columns = tuple(
        CompletedColumn(column, column.name) if column.name in found else column
        for column in schema.columns
    )
    kept = {each.name: getattr(schema, each.name) for each in fields(Schema) if each.init}
    declared = declared_schema(schema)
    return CompletedSchema(**{**kept, "columns": columns}, declared=declared)


def declared_schema(schema: Schema) -> Schema:
    """The schema as it was declared."""
    return schema.declared if isinstance(schema, CompletedSchema) else schema
