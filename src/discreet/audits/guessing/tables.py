"""Tiny neighbouring tables for any schema: rows at the ends of the declared domains, and nobody's.

The more a unit's values lie apart, the more it moves every count and sum: the worst case for privacy.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from discreet.errors import BadInput
from discreet.privacy.adjacency import Adjacency
from discreet.queries.classes import QueryClass
from discreet.queries.places import loaded
from discreet.queries.registry import merged
from discreet.schema import Column, Schema

OTHERS = 2
"""Units that both tables have."""
Row = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class GeneratedTable:
    """Rows of text under a schema; the identifier, where there is one, stands first."""

    schema: Schema
    header: tuple[str, ...]
    rows: tuple[Row, ...]


def written_to(table: GeneratedTable, path: Path) -> Path:
    """The table as a CSV file, which is how the engine gets to see it."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, quoting=csv.QUOTE_ALL, lineterminator="\n")
        writer.writerow(table.header)
        writer.writerows(table.rows)
    return path


def neighbouring_tables(
    schema: Schema, classes: Sequence[QueryClass] = ()
) -> Iterator[tuple[GeneratedTable, GeneratedTable]]:
    """Pairs of tiny neighbouring tables for any schema, the changing unit at the ends of every domain.

    The queries of a class may be the same at both ends, as those of declared predicates: for each such
    class the unit also lies in one of its extreme rows, and moves to the other.
    """
    unit = schema.unit
    names = tuple(column.name for column in schema.columns)
    header = (() if unit.identifier is None else (unit.identifier,)) + names

    def rows(person: str, ends: Sequence[str]) -> list[tuple[str, ...]]:
        own = () if unit.identifier is None else (person,)
        return [(*own, *ends)] * (1 if unit.identifier is None else unit.max_rows)

    low, high = ([ends_of(column)[end] for column in schema.columns] for end in (0, 1))
    null = [""] * len(names)
    others = [row for n in range(OTHERS) for row in rows(f"p{n}", low)]

    def table(extra: list[tuple[str, ...]]) -> GeneratedTable:
        return GeneratedTable(schema=schema, header=header, rows=(*others, *extra))

    places = merged("extremes")
    telling = [_telling(schema, each, places[each.name]) for each in classes if each.name in places]
    if schema.adjacency is Adjacency.ADD_REMOVE:
        for state in (low, high, *(most for most, _ in telling)):
            yield table([]), table(rows("somebody", state))
        return
    for before, after in ((low, high), (low, null), (null, high), *telling):
        yield table(rows("somebody", before)), table(rows("somebody", after))


def _telling(schema: Schema, asked: QueryClass, place: str) -> tuple[list[str], list[str]]:
    """Two rows that the queries of a class tell apart, as texts."""
    one, other = (
        [
            _text_in(column, codes[column.name]) if column.name in codes else ends_of(column)[0]
            for column in schema.columns
        ]
        for codes in loaded(place)(asked, schema)
    )
    return one, other


def _text_in(column: Column, code: int) -> str:
    """The text of some value in a cell; a null's is empty."""
    if code == column.null_cell:
        return ""
    value = column.value_in(code, Fraction(0))
    return str(value).lower() if column.kind == "boolean" else str(value)


def ends_of(column: Column) -> tuple[str, str]:
    """Texts of two values in the column's first and last cell, at its bounds where it has some."""
    if not column.value_cells:  # a category without declared values: any two texts
        return "one", "other"
    texts = []
    for end, code in ((0, 0), (1, column.value_cells - 1)):
        value = column.value_in(code, Fraction(0))
        bounds = column.value_bounds
        if bounds is not None and column.kind in ("integer", "number"):
            edge = bounds[end]
            typed = int(edge) if column.kind == "integer" else float(edge)
            if column.code_of(typed) == code:
                value = typed
        text = str(value).lower() if column.kind == "boolean" else str(value)
        if not text and column.kind == "category":
            raise BadInput(
                f"Column {column.name!r} has an empty category, which a CSV file reads as null."
            )
        texts.append(text)
    return texts[0], texts[1]
