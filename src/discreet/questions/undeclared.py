"""Texts that a condition compares a category with and that the schema does not declare.

Such a question is answered all the same, and most often it is a slip of the pen: the note names the
declared value that is nearest. Values of rows play no part.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from discreet.errors import did_you_mean
from discreet.questions.expressions import Call, ColumnValue, Constant, Expression
from discreet.schema import Schema
from discreet.schema.columns.named import CategoryColumn

MOST_NOTED = 3


def undeclared_values(condition: Expression, schema: Schema) -> tuple[str, ...]:
    """A note for each undeclared value in a condition."""
    return _notes(_equated(condition), schema)


def _equated(condition: Expression) -> Iterator[tuple[str, object]]:
    if not isinstance(condition, Call):
        return
    if condition.name in ("=", "!=", "in"):
        columns = [one.column for one in condition.arguments if isinstance(one, ColumnValue)]
        for one in condition.arguments:
            if len(columns) == 1 and isinstance(one, Constant) and one.type == "text":
                yield columns[0], one.value
    for argument in condition.arguments:
        yield from _equated(argument)


def _notes(compared: Iterable[tuple[str, object]], schema: Schema) -> tuple[str, ...]:
    notes: dict[str, None] = {}
    for name, literal in compared:
        column = schema.column(name)
        if not isinstance(column, CategoryColumn) or column.undeclared or column.declares(literal):
            continue
        near = did_you_mean(str(literal), column.values)
        notes[f"{literal!r} is not a declared value of column {name!r}.{near}"] = None
        if len(notes) == MOST_NOTED:
            break
    return tuple(notes)
