"""Which numbers an expression inside SUM or AVG can be: exact interval arithmetic from the schema.

An aggregate adds up an expression over clamped columns: each column's value is clamped to its
declared bounds first, as SUM(column) does, and `clamped(column)` says so in the tree. A column inside
a condition (of CASE WHEN) is read as WHERE reads it, before it is clamped: a condition adds nothing.

The ends are exact fractions and hold for every row (Moore 1966: the interval of an operation holds
all its values, whatever the operands in theirs). Privacy does not rest on that: an engine clamps the
value of each row to these ends once more, so a row adds no more than they say even where a double
was rounded. Where no finite ends follow, the question is refused before anything is read.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import date, timedelta
from fractions import Fraction
from math import ceil, floor, log, sqrt

from discreet.errors import BadQuestion
from discreet.questions.expressions import (
    NUMERIC,
    TEMPORAL,
    Call,
    ColumnValue,
    Constant,
    Expression,
)
from discreet.schema import Schema
from discreet.schema.columns.values import MICROSECONDS_PER_DAY

Ends = tuple[Fraction, Fraction]
CLAMPED = "clamped"
_ZERO, _SMALLEST, _LARGEST = map(Fraction, (0.0, 5e-324, 1.7976931348623157e308))  # of doubles
_PARTS = {
    "quarter": (1, 4), "month": (1, 12), "day": (1, 31), "dayofweek": (0, 6), "isodow": (1, 7),
    "week": (1, 53), "dayofyear": (1, 366), "hour": (0, 23), "minute": (0, 59), "second": (0, 59),
}  # fmt: skip


def over_clamped_columns(expression: Expression) -> Expression:
    """The expression with each column whose value it adds up clamped; conditions stay as they are."""
    if isinstance(expression, ColumnValue):
        if expression.type in (*NUMERIC, *TEMPORAL):
            return Call(CLAMPED, (expression,), expression.type)
        return expression
    if isinstance(expression, Constant) or expression.type == "boolean":
        return expression
    arguments = tuple(over_clamped_columns(argument) for argument in expression.arguments)
    return Call(expression.name, arguments, expression.type)


def expression_bounds(expression: Expression, schema: Schema) -> Ends:
    """The least and the greatest value; a `BadQuestion` where none can be derived."""
    if isinstance(expression, Constant):
        if expression.value is None:  # as 1 % 0 is: it adds nothing
            return _point(Fraction(0))
        if expression.type not in NUMERIC or isinstance(expression.value, (str, bool)):
            raise BadQuestion("An aggregate adds up numbers, and a literal in it is not one.")
        return _point(Fraction(expression.value))
    if isinstance(expression, ColumnValue):
        raise BadQuestion(f"Column {expression.column!r} holds no numbers to add up.")
    name, arguments = expression.name, expression.arguments
    if name == CLAMPED:
        (column,) = arguments
        assert isinstance(column, ColumnValue)
        return _column_bounds(column.column, schema)
    if name in ("case", "coalesce", "least", "greatest"):
        values = (*arguments[1::2], arguments[-1]) if name == "case" else arguments
        known = [value for value in values if not _is_null(value)] or [arguments[-1]]
        ends = [expression_bounds(value, schema) for value in known]
        low, high = min(low for low, _ in ends), max(high for _, high in ends)
        # One that is never null is always among those compared; any other may be passed over.
        there = [pair for value, pair in zip(known, ends, strict=True) if _is_never_null(value)]
        if name == "least" and there:
            high = min(high for _, high in there)
        if name == "greatest" and there:
            low = max(low for low, _ in there)
        return low, high
    if name == "year":
        return _years(arguments[0], schema)
    if name == "nullif":
        return expression_bounds(arguments[0], schema)
    if name == "cast":
        return _converted(expression, schema)
    if name == "round" and len(arguments) > 1:
        return _rounded(expression_bounds(arguments[0], schema), arguments[1])
    if name in _PARTS:
        return Fraction(_PARTS[name][0]), Fraction(_PARTS[name][1])
    operation = _OPERATIONS.get(name)
    if operation is None:
        raise BadQuestion(
            f"The schema gives no bounds for {name}(...) inside an aggregate. Write numbers, columns, "
            "+ - * / %, abs, sqrt, ln, floor, ceil, round, least, greatest, coalesce or CASE."
        )
    if name == "*" and arguments[0] == arguments[1]:
        return _square(expression_bounds(arguments[0], schema))
    return operation([expression_bounds(argument, schema) for argument in arguments])


def _column_bounds(name: str, schema: Schema) -> Ends:
    bounds = schema.column(name).value_bounds
    if bounds is None:
        raise BadQuestion(
            f"Column {name!r} is of kind {schema.column(name).kind}; only integer, number and boolean "
            "columns can be summed."
        )
    return Fraction(bounds[0]), Fraction(bounds[1])


def _years(moment: Expression, schema: Schema) -> Ends:
    """The years of a column's declared range."""
    if not (isinstance(moment, Call) and moment.name == CLAMPED):
        raise BadQuestion("year() inside an aggregate takes a plain column of dates.")
    bounds = expression_bounds(moment, schema)
    days = [end / (MICROSECONDS_PER_DAY if moment.type == "datetime" else 1) for end in bounds]
    first, last = (date(1970, 1, 1) + timedelta(days=floor(day)) for day in days)
    return Fraction(first.year), Fraction(last.year)


def _is_null(expression: Expression) -> bool:
    return isinstance(expression, Constant) and expression.value is None


def _is_never_null(expression: Expression) -> bool:
    if isinstance(expression, Constant):
        return expression.value is not None
    if not isinstance(expression, Call):
        return False
    if expression.name == "case":
        return all(map(_is_never_null, (*expression.arguments[1::2], expression.arguments[-1])))
    is_first = expression.name in ("coalesce", "least", "greatest")
    return is_first and any(map(_is_never_null, expression.arguments))


def _converted(expression: Call, schema: Schema) -> Ends:
    """Casts to the nearest integer; a truth value to 1 or 0; a moment to the days around it."""
    (inside,) = expression.arguments
    if inside.type == "boolean":
        return Fraction(0), Fraction(1)
    if inside.type not in (*NUMERIC, "datetime"):
        raise BadQuestion(f"A {inside.type} that is cast has no bounds; use CASE x WHEN ... END.")
    low, high = expression_bounds(inside, schema)
    size = MICROSECONDS_PER_DAY if inside.type == "datetime" else 1
    if expression.type in ("integer", "date"):
        return Fraction(floor(low / size)), Fraction(ceil(high / size))
    return low, high


def _rounded(ends: Ends, digits: Expression) -> Ends:
    """Rounds to a number of digits, which moves no value by more than half of the last digit."""
    assert isinstance(digits, Constant) and isinstance(digits.value, int)
    half = Fraction(1, 2) * Fraction(10) ** -digits.value
    return ends[0] - half, ends[1] + half


def _point(value: Fraction) -> Ends:
    return value, value


def _hull(values: Sequence[Fraction]) -> Ends:
    return min(values), max(values)


def _square(ends: Ends) -> Ends:
    low, high = ends
    least = Fraction(0) if low <= 0 <= high else min(low * low, high * high)
    return least, max(low * low, high * high)


def _product(parts: Sequence[Ends]) -> Ends:
    left, right = parts
    return _hull([a * b for a in left for b in right])


def _quotient(parts: Sequence[Ends]) -> Ends:
    left, right = parts
    if right[0] <= 0 <= right[1]:
        raise BadQuestion(
            "The divisor inside an aggregate can be 0 by the schema, so the quotient has no bounds. "
            "Keep it away from 0, as in a / greatest(b, 1)."
        )
    return _hull([a / b for a in left for b in right])


def _remainder(parts: Sequence[Ends]) -> Ends:
    """The remainder has the sign of the dividend and is smaller than the divisor; it is null where that is 0."""
    (low, high), divisor = parts
    most = max(map(abs, divisor))
    return max(min(low, Fraction(0)), -most), min(max(high, Fraction(0)), most)


def _absolute(parts: Sequence[Ends]) -> Ends:
    ((low, high),) = parts
    least = Fraction(0) if low <= 0 <= high else min(abs(low), abs(high))
    return least, max(abs(low), abs(high))


def _logarithm(parts: Sequence[Ends]) -> Ends:
    if parts[0][0] <= 0:
        raise BadQuestion(
            "The argument of ln() or log() inside an aggregate can be 0 or less by the schema, so the result has no bounds. Keep it above 0, as in ln(greatest(x, 1))."
        )
    return _outward(*(log(min(max(end, _SMALLEST), _LARGEST)) for end in parts[0]))


def _outward(low: float, high: float) -> Ends:
    """A little more than both ends: a double is rounded."""
    return Fraction(low) - Fraction(abs(low)) / 2**40, Fraction(high) + Fraction(abs(high)) / 2**40


def _half_away(value: Fraction) -> Fraction:
    whole = floor(abs(value) + Fraction(1, 2))
    return Fraction(whole if value >= 0 else -whole)


def _each_end(function: Callable[[Fraction], int | Fraction]) -> Callable[[Sequence[Ends]], Ends]:
    """The bounds of a function that never falls: its values at the two ends."""
    return lambda parts: (Fraction(function(parts[0][0])), Fraction(function(parts[0][1])))


_OPERATIONS: dict[str, Callable[[Sequence[Ends]], Ends]] = {
    "+": lambda parts: (parts[0][0] + parts[1][0], parts[0][1] + parts[1][1]),
    "-": lambda parts: (parts[0][0] - parts[1][1], parts[0][1] - parts[1][0]),
    "*": _product,
    "/": _quotient,
    "%": _remainder,
    "negative": lambda parts: (-parts[0][1], -parts[0][0]),
    "abs": _absolute,
    "sqrt": lambda parts: _outward(*(sqrt(max(min(end, _LARGEST), _ZERO)) for end in parts[0])),
    "ln": _logarithm,
    "floor": _each_end(floor),
    "ceil": _each_end(ceil),
    "round": _each_end(_half_away),
}
