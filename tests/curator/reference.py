"""What an expression means, in plain Python: the engines are held to it."""

from __future__ import annotations

import math
from datetime import date, datetime, timedelta
from fractions import Fraction
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


def _whole(value: Any) -> int | None:
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
        return next((v for v in _fitted(node, values) if v is not None), None)
    if name == "case":
        met = _met(values)
        place = len(values) - 1 if met is None else met + 1
        return _fit(values[place], node.arguments[place].type, node.type)
    if name in ("greatest", "least"):
        kept = [value for value in _fitted(node, values) if value is not None]
        return None if not kept else max(kept) if name == "greatest" else min(kept)
    if name == "distinct":
        if None in values:
            return values != [None, None]
        left, right = _alike(node, values)
        return left != right
    if name == "nullif":
        if None in values:
            return values[0]
        left, right = _alike(node, values)
        return None if left == right else values[0]
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
            return "".join(_one_letter(letter, name) for letter in values[0])
        case "trim" | "ltrim" | "rtrim":
            return {"trim": str.strip, "ltrim": str.lstrip, "rtrim": str.rstrip}[name](
                values[0], " "
            )
        case "substr":
            return values[0][values[1] - 1 :][: values[2]]
        case "concat":
            return "".join(values)
        case "cast":
            return _cast(values[0], node.arguments[0].type, node.type)
        case "round":
            return values[0] if node.type == "integer" else _round(*values)
        case "date_trunc":
            return _truncated(values[0], values[1], node.type)
        case "length":
            return len(values[0])
        case "sqrt" | "ln":
            least = 0.0 if name == "sqrt" else 5e-324
            real = {"sqrt": math.sqrt, "ln": math.log}[name]
            return real(float(values[0])) if float(values[0]) >= least else None
        case "floor" | "ceil" if node.type == "number":
            return float(getattr(math, name)(values[0]))
        case "floor" | "ceil":
            return values[0]
        case "hour" | "minute" | "second":
            return getattr(_moment(values[0], node.arguments[0].type), name)
        case "year" | "month" | "day":
            return getattr(_moment(values[0], node.arguments[0].type), name)
        case "quarter" | "dayofweek" | "isodow" | "dayofyear" | "week":
            day = _moment(values[0], node.arguments[0].type)
            return {
                "quarter": (day.month + 2) // 3,
                "dayofweek": day.isoweekday() % 7,
                "isodow": day.isoweekday(),
                "dayofyear": day.toordinal() - date(day.year, 1, 1).toordinal() + 1,
                "week": day.isocalendar().week,
            }[name]
    return _number(node, values)


def _met(values: list[Any]) -> int | None:
    """The place of the first condition of a CASE that is true."""
    return next((n for n in range(0, len(values) - 1, 2) if values[n] is True), None)


def _fit(value: Any, type_: str, wanted: str) -> Any:
    if value is None or (type_, wanted) not in (("integer", "number"), ("date", "datetime")):
        return value
    return float(value) if wanted == "number" else _whole(value * MICROSECONDS_PER_DAY)


def _fitted(node: Call, values: list[Any]) -> list[Any]:
    pairs = zip(node.arguments, values, strict=True)
    return [_fit(value, argument.type, node.type) for argument, value in pairs]


def _one_letter(letter: str, name: str) -> str:
    changed = letter.lower() if name == "lower" else letter.upper()
    return changed if len(changed) == 1 else {"ß": "ẞ", "İ": "i"}.get(letter, letter)


def _moment(value: int, type_: str) -> datetime:
    step = timedelta(days=value) if type_ == "date" else timedelta(microseconds=value)
    return datetime(1970, 1, 1) + step


def _round(value: float, digits: int = 0) -> float | None:
    scale = 10.0 ** abs(digits)
    scaled = value * scale if digits >= 0 else value / scale
    if not math.isfinite(scaled):
        return None
    whole = math.floor(Fraction(abs(scaled)) + Fraction(1, 2))
    whole = whole if scaled >= 0 else -whole
    return _finite(whole / scale if digits >= 0 else whole * scale)


def _cast(value: Any, source: str, wanted: str) -> Any:
    if source == wanted:
        return value
    if source == "text":
        read = {"integer": integer_of, "number": double_of}.get(wanted, microseconds_of)(value)
        if read is None or wanted == "number":
            return read
        return read // MICROSECONDS_PER_DAY if wanted == "date" else _whole(read)
    if wanted == "text":
        if source == "boolean":
            return "true" if value else "false"
        return str(value) if source == "integer" else str(_moment(value, "date").date())
    match source, wanted:
        case "number", "integer":
            return _whole(round(value))
        case "integer", "number":
            return float(value)
        case "date", "datetime":
            return _whole(value * MICROSECONDS_PER_DAY)
        case "datetime", "date":
            return value // MICROSECONDS_PER_DAY
    return int(value)


def _truncated(unit: str, value: int, type_: str) -> int | None:
    moment = _moment(value, type_)
    clock = {"hour": 3600, "minute": 60, "second": 1}
    if unit in clock:
        return value if type_ == "date" else value - value % (clock[unit] * 10**6)
    day = moment.date()
    if unit == "week":
        day -= timedelta(days=day.weekday())
    elif unit != "day":
        month = {"year": 1, "quarter": (day.month - 1) // 3 * 3 + 1}.get(unit, day.month)
        day = day.replace(month=month, day=1)
    days = day.toordinal() - date(1970, 1, 1).toordinal()
    return days if type_ == "date" else _whole(days * MICROSECONDS_PER_DAY)


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
    whole = node.type in ("integer", "date")
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
