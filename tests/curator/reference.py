"""What an expression means, in plain Python: the engines are held to it."""

from __future__ import annotations

import math
from datetime import date, timedelta
from typing import Any

from discreet.questions.cells.functions import matches
from discreet.questions.expressions import COMPARED, Call, ColumnValue, Constant, Expression
from discreet.schema import OrderedColumn, Schema
from discreet.schema.columns.values import (
    MICROSECONDS_PER_DAY,
    boolean_of,
    category_text_of,
    double_of,
    integer_of,
    microseconds_of,
)


def _whole(value: int) -> int | None:
    return value if -(2**63) <= value < 2**63 else None


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def column_value(schema: Schema, name: str, raw: Any) -> Any:
    kind = schema.column(name).kind
    if kind == "integer":
        number = integer_of(raw)
        return None if number is None else _whole(number)
    if kind == "number":
        return double_of(raw)
    if kind == "boolean":
        return boolean_of(raw)
    if kind == "category":
        return category_text_of(raw)
    moment = microseconds_of(raw)
    return moment // MICROSECONDS_PER_DAY if moment is not None and kind == "date" else moment


def evaluate(node: Expression, row: dict[str, Any], schema: Schema) -> Any:
    if isinstance(node, Constant):
        return node.value
    if isinstance(node, ColumnValue):
        return column_value(schema, node.column, row[node.column])
    if node.name == "clamped":
        (column,) = node.arguments
        assert isinstance(column, ColumnValue)
        return clamped_value(schema, column.column, row[column.column])
    values = [evaluate(argument, row, schema) for argument in node.arguments]
    return _call(node, values)


def clamped_value(schema: Schema, name: str, raw: Any) -> Any:
    """What a sum of the column adds for a row; None for nulls and what has no value cell."""
    column = schema.column(name)
    code = column.code_of(raw)
    if code is None or code >= column.value_cells:
        return None
    value = column.unit_of(raw) if isinstance(column, OrderedColumn) else code
    assert value is not None and column.value_bounds is not None
    low, high = column.value_bounds
    inside = min(max(value, low), high)
    return float(inside) if column.kind == "number" else int(inside)


def _call(node: Call, values: list[Any]) -> Any:
    name = node.name
    if name == "and":
        return False if False in values else None if None in values else True
    if name == "or":
        return True if True in values else None if None in values else False
    if name == "is null":
        return values[0] is None
    if name in ("is true", "is false"):
        return values[0] is (name == "is true")
    if name == "coalesce":
        return _close(node, next((value for value in values if value is not None), None))
    if name == "case":
        *pairs, otherwise = values
        met = zip(pairs[::2], pairs[1::2], strict=True)
        return _close(node, next((value for truth, value in met if truth is True), otherwise))
    if name in ("least", "greatest"):
        known = [_close(node, value) for value in values if value is not None]
        return (min if name == "least" else max)(known, default=None)
    if name == "in":
        if values[0] is None:
            return None
        return True if values[0] in values[1:] else None if None in values[1:] else False
    if None in values:
        return None
    if name in COMPARED:
        left, right = _alike(node, values)
        return {
            "=": left == right, "!=": left != right, "<": left < right,
            "<=": left <= right, ">": left > right, ">=": left >= right,
        }[name]  # fmt: skip
    match name:
        case "not":
            return not values[0]
        case "like" | "ilike":
            return matches(values[1], values[0], name == "ilike")
        case "lower" | "upper":
            return getattr(values[0], name)()
        case "length":
            return len(values[0])
        case "floor" | "ceil" if node.type == "number":
            return float(getattr(math, name)(values[0]))
        case "round" if node.type == "number":
            scale = 10.0 ** abs(values[1]) if len(values) > 1 else 1.0
            if len(values) > 1 and values[1] < 0:
                return _finite(_half_away(values[0] / scale) * scale)
            scaled = _finite(values[0] * scale)
            return None if scaled is None else _half_away(scaled) / scale
        case "cast" if node.type == "number":
            return float(values[0])
        case "floor" | "ceil" | "round":
            return values[0]
        case "year" | "month" | "day" | "quarter" | "dayofweek":
            day = date(1970, 1, 1) + timedelta(days=values[0])
            return (
                {
                    "quarter": (day.month + 2) // 3,
                    "dayofweek": day.isoweekday() % 7,
                }.get(name)
                if name in ("quarter", "dayofweek")
                else getattr(day, name)
            )
    return _number(node, values)


def _close(node: Call, value: Any) -> Any:
    """A number where the result is one, although the part that it is taken from may be whole."""
    return float(value) if node.type == "number" and value is not None else value


def _half_away(value: float) -> float:
    """To a whole number, halves away from 0."""
    whole = math.floor(abs(value))
    return math.copysign(whole + (abs(value) - whole >= 0.5), value)


def _alike(node: Call, values: list[Any]) -> tuple[Any, Any]:
    if {argument.type for argument in node.arguments} == {"integer", "number"}:
        return float(values[0]), float(values[1])
    if {argument.type for argument in node.arguments} == {"date", "datetime"}:
        values = [
            value * MICROSECONDS_PER_DAY if argument.type == "date" else value
            for argument, value in zip(node.arguments, values, strict=True)
        ]
    return values[0], values[1]


def _number(node: Call, values: list[Any]) -> Any:
    whole = node.type == "integer"
    close = _whole if whole else _finite
    if not whole:
        values = [float(value) for value in values]
    match node.name, values:
        case "+", [left, right]:
            return close(left + right)
        case "-", [left, right]:
            return close(left - right)
        case "*", [left, right]:
            return close(left * right)
        case "/", [left, right]:
            return None if right == 0 else _finite(left / right)
        case "%", [left, right]:
            if right == 0:
                return None
            if not whole:
                return _finite(math.fmod(left, right))
            return abs(left) % abs(right) * (1 if left >= 0 else -1)
        case "negative", [value]:
            return close(-value)
        case "abs", [value]:
            return close(abs(value))
    raise AssertionError(node.name)
