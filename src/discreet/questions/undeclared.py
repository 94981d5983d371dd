"""Texts that a condition compares a category with and that the schema does not declare.

Such a question is answered all the same, and most often it is a slip of the pen: the note names the
declared value that is nearest. Values of rows play no part.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from discreet.errors import did_you_mean
from discreet.questions.conditions import Comparison, Condition, Membership, leaves_of
from discreet.questions.expressions import Call, ColumnValue, Expression
from discreet.questions.expressions import Constant as Literal
from discreet.schema import Schema
from discreet.schema.columns.named import CategoryColumn

MOST_NOTED = 3


def undeclared_in_condition(condition: Condition, schema: Schema) -> tuple[str, ...]:
    """A note for each undeclared value in a question to a release."""
    return _notes(_compared(condition), schema)


def undeclared_in_expression(condition: Expression, schema: Schema) -> tuple[str, ...]:
    """A note for each undeclared value in a question to a curator."""
    return _notes(_equated(condition), schema)


def _compared(condition: Condition) -> Iterator[tuple[str, object]]:
    for leaf in leaves_of(condition):
        if isinstance(leaf, Comparison):
            yield leaf.column, leaf.literal
        elif isinstance(leaf, Membership):
            for literal in leaf.literals:
                yield leaf.column, literal


def _equated(condition: Expression) -> Iterator[tuple[str, object]]:
    if not isinstance(condition, Call):
        return
    if condition.name in ("=", "!=", "in"):
        columns = [one.column for one in condition.arguments if isinstance(one, ColumnValue)]
        for one in condition.arguments:
            if len(columns) == 1 and isinstance(one, Literal) and one.type == "text":
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
