"""Literals and types of SQL: reading, converting and working out what has no column in it."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from typing import Any

from discreet.errors import BadQuestion
from discreet.questions.cells.reaching.expressions import value_of
from discreet.questions.expressions import (
    NUMERIC,
    TEMPORAL,
    Call,
    ColumnValue,
    Constant,
    Expression,
    Type,
)
from discreet.schema.columns.values import MICROSECONDS_PER_DAY, day_of, days_of, microseconds_of


def folded_constant(made: Expression) -> Expression:
    """An expression without columns, evaluated."""
    if not isinstance(made, Call) or not all(isinstance(one, Constant) for one in made.arguments):
        return made
    value = value_of(made, {})
    return Constant(value, "null" if value is None else made.type)


def months_later(start: Constant, months: int) -> Constant:
    """The same day of a later month, or its last day where it has no such day."""
    assert isinstance(start.value, int)
    size = 1 if start.type == "date" else MICROSECONDS_PER_DAY
    day = day_of(start.value // size)
    total = day.year * 12 + day.month - 1 + months
    year, month = divmod(total, 12)
    following = date(year + (month == 11), (month + 1) % 12 + 1, 1)
    last = (following - date(year, month + 1, 1)).days
    moved = days_of(date(year, month + 1, min(day.day, last)))
    return Constant(moved * size + start.value % size, start.type)


def converted(value: Expression, wanted: Type) -> Expression:
    pairs: dict[Type, tuple[Type, ...]] = {
        "integer": ("number", "text", "boolean"),
        "number": ("integer", "text"),
        "text": ("integer", "boolean", "date"),
        "date": ("datetime", "text"),
        "datetime": ("date", "text"),
    }
    if value.type == wanted:
        return value
    if value.type not in (*pairs.get(wanted, ()), "null"):
        raise BadQuestion(f"CAST cannot make {described(value)} a {wanted}.")
    return Call("cast", (value,), wanted)


def type_named(name: str) -> Type | None:
    names: dict[str, Type] = {
        **dict.fromkeys(("TINYINT", "SMALLINT", "INT", "BIGINT"), "integer"),
        **dict.fromkeys(("FLOAT", "DOUBLE", "DECIMAL"), "number"),
        **dict.fromkeys(("TEXT", "VARCHAR", "CHAR", "NVARCHAR"), "text"),
        "DATE": "date",
        **dict.fromkeys(("TIMESTAMP", "TIMESTAMPNTZ", "DATETIME"), "datetime"),
        "BOOLEAN": "boolean",
    }
    return names.get(name)


def as_moment(value: Expression) -> Expression:
    if isinstance(value, Constant) and value.type == "text":
        return temporal(str(value.value), "date")
    return value


def text_of(node: Any) -> str:
    """A literal's text, or a name."""
    return str(getattr(node, "name", "") or getattr(node, "this", ""))


def temporal(text: str, wanted: Type, beside: str = "") -> Constant:
    moment = microseconds_of(text)
    if moment is None:
        shown = f"{text[:40]!r}{f', which is compared with {beside},' if beside else ''}"
        raise BadQuestion(f"The date {shown} is not readable; write DATE '2020-01-31'.")
    if wanted == "date" and moment % MICROSECONDS_PER_DAY == 0:
        return Constant(moment // MICROSECONDS_PER_DAY, "date")
    return Constant(moment, "datetime")


def double(value: int | Decimal) -> Constant:
    found = float(value)
    if found in (float("inf"), float("-inf")):
        raise BadQuestion("A number in the question is too large.")
    return Constant(found, "number")


def negated(value: Constant) -> Constant:
    assert isinstance(value.value, (int, float))
    return Constant(-value.value, value.type)


def family(type_: Type) -> str:
    return "numeric" if type_ in NUMERIC else "temporal" if type_ in TEMPORAL else type_


def described(part: Expression) -> str:
    """An expression as a person would call it."""
    if isinstance(part, ColumnValue):
        return f"column {part.column!r} ({part.type})"
    if isinstance(part, Constant):
        return f"a {part.type} literal" if part.type != "null" else "NULL"
    return f"{part.name}(...) ({part.type})"
