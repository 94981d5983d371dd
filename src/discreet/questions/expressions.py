"""Expressions over a row's columns, typed and total: what WHERE and the keys of GROUP BY are made of.

An expression has a value for every row: null, or a value of its type. Nothing overflows, divides or
fails to cast; where SQL would raise an error, the value is null. The meaning, for every engine and for
the cells of a release:

  column    for a curator the row's raw value, read as the schema's kind says (a text that does not
            read as the declared kind, NaN and infinity are null), before it is clamped or put into a
            cell; for a release the value as the schema counts it, clamped where the schema says so
  integer   64 bits; +, -, *, abs and - give null where the result leaves them
  number    IEEE doubles; null where the result is not finite
  date      days since 1970-01-01; + and - of whole numbers, and the difference of two dates, in days
  / and %   null where the divisor is 0; / divides in doubles; % has the sign of the dividend
  sqrt, ln  in doubles; null where the number has none
  round     half away from zero; with digits, round(x * 10^d) / 10^d in doubles
  cast      its target is the call's type; a number becomes the nearest integer, half to even; a text
            that does not read as the type is null
  greatest, least   nulls are left out; null where nothing else is there
  concat    null if a part is null
  case      condition, value, condition, value, ..., otherwise
  distinct  IS DISTINCT FROM: true or false, never null
  AND, OR   SQL's three truth values; a row is counted where the condition is true

Plain data, so that it can be compared, digested, and told to any database.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

Type = Literal["integer", "number", "text", "boolean", "date", "datetime", "null"]

TYPE_OF_KIND: dict[str, Type] = {"category": "text", "boolean": "boolean", "integer": "integer"}
TYPE_OF_KIND |= {"number": "number", "date": "date", "datetime": "datetime"}
NUMERIC: tuple[Type, ...] = ("integer", "number")
TEMPORAL: tuple[Type, ...] = ("date", "datetime")
COMPARED = ("=", "!=", "<", "<=", ">", ">=")
COMPLEMENTS = {"=": "!=", "!=": "=", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}
MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
TRUNCATED = ("year", "quarter", "month", "week", "day", "hour", "minute", "second")
"""What `date_trunc` takes as its first argument, a text."""
DATE_PARTS = (*TRUNCATED, "dayofweek", "isodow", "dayofyear")
SMALLEST_INTEGER, LARGEST_INTEGER = -(2**63), 2**63 - 1
SMALLEST_POSITIVE = 5e-324


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


@dataclass(frozen=True)
class Call:
    """An operator or a function. Its hash and its columns are found once: an IN list may be long."""

    name: str
    arguments: tuple[Expression, ...]
    type: Type

    @cached_property
    def columns(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(name for part in self.arguments for name in columns_of(part)))

    @cached_property
    def _hash(self) -> int:
        return hash((self.name, self.arguments, self.type))

    def __hash__(self) -> int:
        return self._hash

    def __reduce__(self) -> tuple[Any, ...]:
        return Call, (self.name, self.arguments, self.type)  # texts hash differently elsewhere


Expression = ColumnValue | Constant | Call
Unit = int | float
TRUE = Constant(True, "boolean")


@dataclass(frozen=True, slots=True)
class Bins:
    """Which group a row is in, as plain numbers: all that an engine and the core see of a key.

    Of one ordered column, `starts` are the first units of its bins, in order, and `codes` their groups; a
    value is clamped as the schema says. Otherwise `starts` is empty, and `codes` has a group for every
    combination of cells of `columns`, the last column running fastest. A group of -1 is none.
    """

    columns: tuple[str, ...]
    codes: tuple[int, ...]
    size: int
    starts: tuple[Unit, ...] = ()
    other: int = -1
    """With `starts`: the group of values outside the declared domain, where they have a cell."""
    null: int = -1
    """With `starts`: the group of nulls."""
    period: int = 0
    """With `starts`: the units after which the bins repeat, from 0 on; 0 where they do not."""


def columns_of(expression: Expression) -> tuple[str, ...]:
    """Every column that an expression reads."""
    if isinstance(expression, ColumnValue):
        return (expression.column,)
    return expression.columns if isinstance(expression, Call) else ()


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
    named = f"cast to {expression.type}" if expression.name == "cast" else expression.name
    return [named, *parts]
