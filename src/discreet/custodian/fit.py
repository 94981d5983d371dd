"""How a table fits its schema: rows that are null, or outside of what is declared, for each column; and rows in cells that are
declared empty.

This counts rows without charge and without noise, so its output is NOT PRIVATE.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from discreet.engines import open_engine
from discreet.queries.tallies import Rows, Tally
from discreet.questions.cells.impossible import impossible_cells
from discreet.questions.derived import derived_columns
from discreet.questions.expressions import (
    TRUE,
    TYPE_OF_KIND,
    Call,
    ColumnValue,
    Constant,
    Expression,
)
from discreet.schema import CategoryColumn, Column, OrderedColumn, Schema

MOST_CELLS = 1 << 20
"""Combinations of cells of the columns of a declaration, up to which rows that break it are counted."""
MANY = 0.5
"""From this share of the rows on, a misfit is most likely a mistake in the schema."""


_NUMBERS = (
    "Numbers are written 1234.5. For a CSV file with numbers such as 1.234,5 write, under [csv], "
    'decimal = "," and thousands = ".". Convert other tables before you publish.'
)
_DATES = (
    "Dates are written 2020-01-31, and datetimes 2020-01-31T10:00 or 2020-01-31 10:00, with or without an offset "
    "such as +02:00 or Z. For a CSV file with dates such as 31.01.2020 write, under [csv], "
    'date_format = "%d.%m.%Y".'
)
_SPELLED = {
    "boolean": (
        "Truth values are written true/false, yes/no or 1/0. If the column has other words, declare "
        'kind = "category" with these words as its values.'
    ),
    "integer": _NUMBERS,
    "number": _NUMBERS,
    "date": _DATES,
    "datetime": _DATES,
}
"""How values are written in a text, by the kind of their column."""
_EXACT = 'Texts are compared letter by letter: "1.0" is not "1", and "a" is neither "A" nor "a ".'


@dataclass(frozen=True, slots=True)
class ColumnFit:
    """How one column fits."""

    column: str
    kind: str
    rows: int
    nulls: int
    """Rows without a value, or with one that does not read as the declared kind."""
    outside: int
    """Rows with a value beyond the declared bounds, or one that is not declared."""
    treatment: str
    """What becomes of those outside."""

    @property
    def warning(self) -> str:
        """What is most likely wrong; empty where nothing is."""
        if self.rows and self.nulls >= MANY * self.rows:
            found = (
                f"{self.nulls:,} of {self.rows:,} rows are null: do the values read as {self.kind}?"
            )
            return f"{found} {_SPELLED.get(self.kind, '')}".rstrip()
        if self.rows and self.outside >= MANY * self.rows:
            found = f"{self.outside:,} of {self.rows:,} rows are outside of what is declared."
            return f"{found} {_EXACT}" if self.kind == "category" else found
        return ""

    def to_dict(self) -> dict[str, Any]:
        return {
            "column": self.column,
            "kind": self.kind,
            "rows": self.rows,
            "nulls": self.nulls,
            "outside": self.outside,
            "outside_are": self.treatment,
            "warning": self.warning,
            "private": False,
        }


def fit(source: object, schema: Schema) -> list[ColumnFit]:
    """Every column of the schema against the raw rows."""
    asked = [Tally(Rows())]
    for column in schema.columns:
        asked += [Tally(Rows(), (), condition) for condition in (_null(column), _outside(column))]
    with open_engine(source, schema) as engine:
        counts = [int(each.reshape(-1)[0]) for each in engine.tally(asked)]
    rows, *pairs = counts
    return [
        ColumnFit(
            column.name,
            column.kind,
            rows,
            pairs[2 * place],
            pairs[2 * place + 1],
            _treatment(column),
        )
        for place, column in enumerate(schema.columns)
    ]


@dataclass(frozen=True, slots=True)
class DeclarationFit:
    """How many rows are in cells over some columns that the schema declares empty."""

    columns: tuple[str, ...]
    rows: int

    @property
    def sentence(self) -> str:
        counted = f"{self.rows:,} row is" if self.rows == 1 else f"{self.rows:,} rows are"
        return (
            f"{', '.join(self.columns)}: {counted} in combinations that [[impossible]] or [derived] rules out. "
            "Answers take them to be empty."
        )

    def to_dict(self) -> dict[str, Any]:
        return {"columns": list(self.columns), "rows": self.rows, "private": False}


def fit_of_declarations(source: object, schema: Schema) -> list[DeclarationFit]:
    """The declarations of impossible combinations and derived columns that some rows break, up to `MOST_CELLS` cells."""
    declared = [each.columns for each in schema.impossible]
    declared += [(each.source, each.column) for each in derived_columns(schema)]
    sets = dict.fromkeys(
        tuple(name for name in schema.names if name in columns) for columns in declared
    )
    asked = [columns for columns in sets if prod(schema.sizes(columns)) <= MOST_CELLS]
    if not asked:
        return []
    with open_engine(source, schema) as engine:
        tables = engine.marginals(asked)
    found = []
    for columns, counts in zip(asked, tables, strict=True):
        empty = impossible_cells(schema, columns)
        assert empty is not None
        rows = int(np.asarray(counts).reshape(empty.shape)[empty].sum())
        if rows:
            found.append(DeclarationFit(columns, rows))
    return found


def _value(column: Column) -> ColumnValue:
    return ColumnValue(column.name, TYPE_OF_KIND[column.kind])


def _null(column: Column) -> Expression:
    return Call("is null", (_value(column),), "boolean")


def _outside(column: Column) -> Expression:
    """That a value is not one of the declared domain."""
    value = _value(column)
    if isinstance(column, OrderedColumn):
        low, high = column.extent(0)[0], column.extent(column.value_cells - 1)[1]
        below = Call("<", (value, Constant(low, value.type)), "boolean")
        above = Call(">", (value, Constant(high, value.type)), "boolean")
        return Call("or", (below, above), "boolean")
    if isinstance(column, CategoryColumn) and column.values and not column.undeclared:
        listed = [Constant(text, "text") for text in column.values]
        return Call("not", (Call("in", (value, *listed), "boolean"),), "boolean")
    return Call("not", (TRUE,), "boolean")


def _treatment(column: Column) -> str:
    if isinstance(column, OrderedColumn):
        return {"edge": "counted at the nearest bound", "other": "counted as (other)"}.get(
            column.outside, "left out"
        )
    if isinstance(column, CategoryColumn):
        return "counted as (other)" if column.has_other else "left out"
    return "there are none"
