"""Expressions over a row's columns, typed and total: what a curator's WHERE is made of.

An expression has a value for every row: null, or a value of its type. Nothing overflows, divides or
fails to cast; where SQL would raise an error, the value is null. The meaning, for every engine:

  column    the row's raw value, read as the schema's kind says (a text that does not read as the
            declared kind, NaN and infinity are null), before it is clamped or put into a cell
  integer   64 bits; +, -, *, abs and - give null where the result leaves them
  number    IEEE doubles; null where the result is not finite
  / and %   null where the divisor is 0; / divides in doubles; % has the sign of the dividend
  round     to a whole number, halves away from 0
  least     the smallest of its values, and greatest the largest; nulls are passed over
  case      (condition, value, ..., otherwise): the value of the first condition that is true
  AND, OR   SQL's three truth values; a row is counted where the condition is true

Plain data, so that it can be compared, digested, and told to any database.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

Type = Literal["integer", "number", "text", "boolean", "date", "datetime", "null"]

TYPE_OF_KIND: dict[str, Type] = {
    "category": "text",
    "boolean": "boolean",
    "integer": "integer",
    "number": "number",
    "date": "date",
    "datetime": "datetime",
}
NUMERIC: tuple[Type, ...] = ("integer", "number")
TEMPORAL: tuple[Type, ...] = ("date", "datetime")
COMPARED = ("=", "!=", "<", "<=", ">", ">=")
DATE_PARTS = ("year", "quarter", "month", "day", "dayofweek", "hour", "minute", "second")


@dataclass(frozen=True, slots=True)
class ColumnValue:
    """What the row holds in a column."""

    column: str
    type: Type


@dataclass(frozen=True, slots=True)
class Constant:
    """A literal: days since 1970-01-01 for a date, microseconds for a datetime."""

    value: int | float | str | bool | None
    type: Type


@dataclass(frozen=True, slots=True)
class Call:
    """An operator or a function."""

    name: str
    arguments: tuple[Expression, ...]
    type: Type


Expression = ColumnValue | Constant | Call
TRUE = Constant(True, "boolean")


def columns_of(expression: Expression) -> Iterator[str]:
    """Every column that an expression reads, again where it reads it again."""
    if isinstance(expression, ColumnValue):
        yield expression.column
    elif isinstance(expression, Call):
        for argument in expression.arguments:
            yield from columns_of(argument)


def canonical(expression: Expression) -> list[Any]:
    """The same for expressions that differ only in the order of AND, OR, IN, or in repetition."""
    if isinstance(expression, ColumnValue):
        return ["column", expression.column]
    if isinstance(expression, Constant):
        return ["constant", expression.type, repr(expression.value)]
    parts = [canonical(argument) for argument in expression.arguments]
    if expression.name in ("and", "or", "in"):
        kept = parts[1:] if expression.name == "in" else parts
        sorted_texts = sorted({json.dumps(part) for part in kept})
        ordered = [json.loads(text) for text in sorted_texts]
        parts = [parts[0], *ordered] if expression.name == "in" else ordered
    return [expression.name, *parts]
