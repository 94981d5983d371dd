"""Expressions of a condition as DuckDB SQL over the units u0, u1, ...: total, like every layer.

Integers are computed in 128 bits and cast back with TRY_CAST, which is null beyond 64; doubles that
are not finite become null. See `questions.expressions` for what each operation means.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sqlglot import exp

from discreet.engines.duckdb import sql as s
from discreet.engines.duckdb.cells import ends
from discreet.engines.duckdb.sql import Sql
from discreet.engines.duckdb.units import read_text
from discreet.questions.expression_bounds import CLAMPED
from discreet.questions.expressions import (
    COMPARED,
    DATE_PARTS,
    SMALLEST_POSITIVE,
    Call,
    ColumnValue,
    Constant,
    Expression,
    Type,
)
from discreet.schema.columns.named import CategoryColumn
from discreet.schema.columns.ordered import OrderedColumn
from discreet.schema.columns.values import MICROSECONDS_PER_DAY, double_of
from discreet.schema.schema import Schema

_COMPARISONS: dict[str, type[exp.Binary]] = {
    "=": exp.EQ, "!=": exp.NEQ, "<": exp.LT, "<=": exp.LTE, ">": exp.GT, ">=": exp.GTE,
}  # fmt: skip
_ARITHMETIC: dict[str, type[exp.Binary]] = {"+": exp.Add, "-": exp.Sub, "*": exp.Mul}
_TYPES = {"text": "VARCHAR", "boolean": "BOOLEAN", "number": "DOUBLE"}
_CLOCK = {"hour": 3_600_000_000, "minute": 60_000_000, "second": 1_000_000}
_FOUR_CENTURIES = 146_097
"""Days after which the Gregorian calendar repeats, weekdays included."""
_FIRST_SPELLED, _LAST_SPELLED = -719_162, 2_932_896
"""0001-01-01 and 9999-12-31."""


class Compiler:
    """Compiles expressions for one schema; `double_categories` are those whose units are numbers."""

    def __init__(self, schema: Schema, double_categories: frozenset[str] = frozenset()) -> None:
        self._schema = schema
        self._place = {column.name: place for place, column in enumerate(schema.columns)}
        self._double_categories = double_categories

    def sql(self, node: Expression) -> Sql:
        if isinstance(node, ColumnValue):
            return self._column(node)
        if isinstance(node, Constant):
            return _constant(node)
        if node.name == CLAMPED:
            (column,) = node.arguments
            assert isinstance(column, ColumnValue)
            return self.clamped(column.column)
        arguments = [self.sql(argument) for argument in node.arguments]
        if node.name in COMPARED:
            left, right = self._alike(node, arguments)
            return s.binary(_COMPARISONS[node.name], left, right)
        if node.name == "distinct":
            return s.binary(exp.NullSafeNEQ, *self._alike(node, arguments))
        if node.name == "nullif":
            equal = s.binary(exp.EQ, *self._alike(node, arguments))
            return s.choose([(equal, s.null())], arguments[0])
        if node.name == "in":
            alike = self._alike(node, arguments)
            return s.is_in(alike[0], alike[1:])
        return _OPERATIONS[node.name](node, arguments)

    def _column(self, node: ColumnValue) -> Sql:
        unit = s.name(f"u{self._place[node.column]}")
        if node.type == "integer":
            return s.try_cast(unit, "BIGINT")
        if node.column in self._double_categories:
            return self._category_text(node.column, unit)
        return unit

    def clamped(self, name: str) -> Sql:
        """The clamped unit of a row whose cell is a value cell; null for any other row."""
        column, unit = self._schema.column(name), s.name(f"u{self._place[name]}")
        if not isinstance(column, OrderedColumn):
            return s.cast(unit, "BIGINT")
        low, high = ends(column)
        type_ = "DOUBLE" if column.kind == "number" else "BIGINT"
        inside = s.both(s.at_most(low, unit), s.at_most(unit, high))
        # Comparisons are half the price of least and greatest; a null is in no branch.
        cases = [(inside, s.try_cast(unit, type_))]
        if column.outside == "edge":
            cases += [(s.less(unit, low), low), (s.less(high, unit), high)]
        return s.choose(cases, s.null())

    def _category_text(self, name: str, unit: Sql) -> Sql:
        """A category kept as a number: the declared value that spells it, else its digits."""
        column = self._schema.column(name)
        assert isinstance(column, CategoryColumn)
        cases = [
            (s.equal(unit, s.double(number)), s.text(value))
            for value in column.values
            if (number := double_of(value)) is not None
        ]
        digits = s.try_cast(unit, "VARCHAR")
        return s.choose(cases, digits) if cases else digits

    def _alike(self, node: Call, arguments: Sequence[Sql]) -> list[Sql]:
        """Operands of one type: an integer beside a number is a number, a date beside a datetime one."""
        types = {argument.type for argument in node.arguments} - {"null"}
        if types == {"integer", "number"}:
            return [s.cast(argument, "DOUBLE") for argument in arguments]
        if types == {"date", "datetime"}:
            return [
                s.multiply(s.cast(argument, "HUGEINT"), s.whole(MICROSECONDS_PER_DAY))
                if part.type == "date"
                else argument
                for part, argument in zip(node.arguments, arguments, strict=True)
            ]
        return list(arguments)


def _constant(node: Constant) -> Sql:
    value = node.value
    if value is None:
        return s.null()
    if node.type == "boolean":
        return exp.true() if value else exp.false()
    if node.type == "text":
        return s.text(str(value))
    if node.type == "number":
        return s.double(float(value))
    return s.cast(s.whole(int(value)), "BIGINT")


def _finite(value: Sql) -> Sql:
    """As `sql.finite`, of an expression that may be long."""
    return s.kept_if(value, lambda one: s.call("isfinite", one))


def _not_zero(value: Sql, zero: Sql) -> Sql:
    return s.kept_if(value, lambda one: s.binary(exp.NEQ, one, zero))


def _doubles(arguments: Sequence[Sql]) -> list[Sql]:
    return [s.cast(argument, "DOUBLE") for argument in arguments]


def _wide(arguments: Sequence[Sql]) -> list[Sql]:
    return [s.cast(argument, "HUGEINT") for argument in arguments]


def _arithmetic(node: Call, arguments: list[Sql]) -> Sql:
    kind = _ARITHMETIC[node.name]
    if node.type != "number":
        return s.try_cast(s.binary(kind, *_wide(arguments)), "BIGINT")
    return _finite(s.binary(kind, *_doubles(arguments)))


def _divided(node: Call, arguments: list[Sql]) -> Sql:
    dividend, divisor = _doubles(arguments)
    return _finite(s.binary(exp.Div, dividend, _not_zero(divisor, s.double(0.0))))


def _modulo(node: Call, arguments: list[Sql]) -> Sql:
    if node.type == "integer":
        dividend, divisor = _wide(arguments)
        zero = s.cast(s.whole(0), "HUGEINT")
        return s.try_cast(s.call("mod", dividend, _not_zero(divisor, zero)), "BIGINT")
    dividend, divisor = _doubles(arguments)
    return _finite(s.call("mod", dividend, _not_zero(divisor, s.double(0.0))))


def _negative(node: Call, arguments: list[Sql]) -> Sql:
    if node.type == "integer":
        zero = s.cast(s.whole(0), "HUGEINT")
        return s.try_cast(s.subtract(zero, _wide(arguments)[0]), "BIGINT")
    return s.subtract(s.double(0.0), arguments[0])


def _absolute(node: Call, arguments: list[Sql]) -> Sql:
    if node.type == "integer":
        return s.try_cast(s.call("abs", _wide(arguments)[0]), "BIGINT")
    return s.call("abs", arguments[0])


def _rounded(function: str) -> Callable[[Call, list[Sql]], Sql]:
    def operation(node: Call, arguments: list[Sql]) -> Sql:
        return arguments[0] if node.type == "integer" else s.call(function, arguments[0])

    return operation


def _real(function: str, least: float) -> Callable[[Call, list[Sql]], Sql]:
    """A function that has a value from `least` on: of smaller numbers it is null, and never asked for."""

    def operation(node: Call, arguments: list[Sql]) -> Sql:
        (value,) = _doubles(arguments)
        there = s.kept_if(value, lambda one: s.at_most(s.double(least), one))
        return _finite(s.call(function, there))

    return operation


def _text_function(function: str) -> Callable[[Call, list[Sql]], Sql]:
    return lambda node, arguments: s.call(function, s.cast(arguments[0], "VARCHAR"))


def _pattern(kind: type[exp.Binary]) -> Callable[[Call, list[Sql]], Sql]:
    return lambda node, arguments: s.binary(kind, s.cast(arguments[0], "VARCHAR"), arguments[1])


def _joined(kind: type[exp.Binary]) -> Callable[[Call, list[Sql]], Sql]:
    def balanced(parts: list[Sql]) -> Sql:
        """Halves of halves, so that a thousand parts nest ten deep."""
        if len(parts) == 1:
            return parts[0]
        middle = len(parts) // 2
        return s.binary(kind, balanced(parts[:middle]), balanced(parts[middle:]))

    return lambda node, arguments: balanced([s.cast(argument, "BOOLEAN") for argument in arguments])


def _fitted(value: Sql, type_: Type, wanted: Type) -> Sql:
    """A value among others of one type: an integer among numbers is one, a date among moments one."""
    if (type_, wanted) == ("date", "datetime"):
        return _midnight(value)
    return s.cast(value, _TYPES.get(wanted, "BIGINT"))


def _midnight(days: Sql) -> Sql:
    wide = s.multiply(s.cast(days, "HUGEINT"), s.whole(MICROSECONDS_PER_DAY))
    return s.try_cast(wide, "BIGINT")


def _all_fitted(node: Call, arguments: Sequence[Sql]) -> list[Sql]:
    pairs = zip(node.arguments, arguments, strict=True)
    return [_fitted(value, part.type, node.type) for part, value in pairs]


def _of_several(function: str) -> Callable[[Call, list[Sql]], Sql]:
    return lambda node, arguments: s.call(function, *_all_fitted(node, arguments))


def _case(node: Call, arguments: list[Sql]) -> Sql:
    values = [
        _fitted(value, part.type, node.type)
        for part, value in zip(node.arguments[1::2], arguments[1::2], strict=True)
    ]
    conditions = [s.cast(condition, "BOOLEAN") for condition in arguments[:-1:2]]
    otherwise = _fitted(arguments[-1], node.arguments[-1].type, node.type)
    return s.choose(list(zip(conditions, values, strict=True)), otherwise)


def _rounded_to(node: Call, arguments: list[Sql]) -> Sql:
    """round(x * 10^d) / 10^d, half away from zero."""
    if node.type == "integer":
        return arguments[0]
    digits = node.arguments[1].value if len(node.arguments) > 1 else 0  # type: ignore[union-attr]
    assert isinstance(digits, int)
    scale = s.double(10.0 ** abs(digits))
    there, back = (exp.Mul, exp.Div) if digits >= 0 else (exp.Div, exp.Mul)
    scaled = s.binary(there, s.cast(arguments[0], "DOUBLE"), scale)
    return _finite(s.binary(back, s.call("round", _finite(scaled)), scale.copy()))


def _trimmed(function: str) -> Callable[[Call, list[Sql]], Sql]:
    return lambda node, arguments: s.call(function, s.cast(arguments[0], "VARCHAR"), s.text(" "))


def _substring(node: Call, arguments: list[Sql]) -> Sql:
    return s.call("substr", s.cast(arguments[0], "VARCHAR"), *arguments[1:])


def _concatenated(node: Call, arguments: list[Sql]) -> Sql:
    made = s.cast(arguments[0], "VARCHAR")
    for part in arguments[1:]:
        made = s.binary(exp.DPipe, made, s.cast(part, "VARCHAR"))
    return made


def _converted(node: Call, arguments: list[Sql]) -> Sql:
    source, wanted, value = node.arguments[0].type, node.type, arguments[0]
    if source in ("null", wanted):
        return s.cast(value, _TYPES.get(wanted, "BIGINT"))
    if source == "text":
        return s.try_cast(read_text(wanted, value), "DOUBLE" if wanted == "number" else "BIGINT")
    if (source, wanted) == ("date", "datetime"):
        return _midnight(value)
    if (source, wanted) == ("datetime", "date"):
        return s.try_cast(s.divided_down(value, MICROSECONDS_PER_DAY), "BIGINT")
    if (source, wanted) == ("date", "text"):
        low, high = s.whole(_FIRST_SPELLED), s.whole(_LAST_SPELLED)
        day = s.try_cast(s.clamp(value, low, high), "INTEGER")
        spelled = s.cast(s.add(_epoch(), day), "VARCHAR")
        inside = s.both(s.at_most(low, value), s.at_most(value, high))
        return s.choose([(inside, spelled)], s.null())
    return s.try_cast(value, _TYPES.get(wanted, "BIGINT"))


def _is(truth: Sql) -> Callable[[Call, list[Sql]], Sql]:
    return lambda node, arguments: s.binary(exp.Is, s.cast(arguments[0], "BOOLEAN"), truth.copy())


def _epoch() -> Sql:
    return s.cast(s.text("1970-01-01"), "DATE")


def _days(value: Sql, source: Type) -> Sql:
    if source == "date":
        return value
    return s.try_cast(s.divided_down(value, MICROSECONDS_PER_DAY), "BIGINT")


def _same_day(days: Sql) -> Sql:
    """The day of the same date 400 years or more later or earlier, which every database knows."""
    return s.add(_epoch(), s.try_cast(s.rest(days, _FOUR_CENTURIES), "INTEGER"))


def _part(node: Call, arguments: list[Sql]) -> Sql:
    source = node.arguments[0].type
    value, name = arguments[0], node.name
    if name in _CLOCK:
        if source != "datetime":
            return s.choose([(s.is_null(value), s.null())], s.cast(s.whole(0), "BIGINT"))
        passed = s.try_cast(s.divided_down(value, _CLOCK[name]), "BIGINT")
        return s.rest(passed, 24 if name == "hour" else 60)
    days = _days(value, source)
    part = s.cast(s.call(name, _same_day(days)), "BIGINT")
    if name != "year":
        return part
    cycles = s.try_cast(s.divided_down(days, _FOUR_CENTURIES), "BIGINT")
    return s.add(part, s.multiply(cycles, s.whole(400)))


def _truncated(node: Call, arguments: list[Sql]) -> Sql:
    source, value = node.arguments[1].type, arguments[1]
    unit = str(node.arguments[0].value)  # type: ignore[union-attr]
    if unit in _CLOCK:
        if source != "datetime":
            return value
        past = s.rest(value, _CLOCK[unit])
        return s.try_cast(s.subtract(s.cast(value, "HUGEINT"), past), "BIGINT")
    days = _days(value, source)
    if unit == "day":
        past = s.cast(s.whole(0), "BIGINT")
    elif unit == "week":  # 1970-01-01 was a Thursday
        past = s.rest(s.add(s.rest(days, 7), s.whole(3)), 7)
    else:
        day = _same_day(days)
        past = s.subtract(day, s.cast(s.call("date_trunc", s.text(unit), day), "DATE"))
    first = s.try_cast(s.subtract(s.cast(days, "HUGEINT"), past), "BIGINT")
    return first if source != "datetime" else _midnight(first)


_OPERATIONS: dict[str, Callable[[Call, list[Sql]], Sql]] = {
    "and": _joined(exp.And),
    "or": _joined(exp.Or),
    "not": lambda node, arguments: exp.Paren(this=exp.Not(this=s.cast(arguments[0], "BOOLEAN"))),
    "is null": lambda node, arguments: s.is_null(arguments[0]),
    "is true": _is(exp.true()),
    "is false": _is(exp.false()),
    "like": _pattern(exp.Like),
    "ilike": _pattern(exp.ILike),
    **dict.fromkeys(_ARITHMETIC, _arithmetic),
    "/": _divided,
    "%": _modulo,
    "negative": _negative,
    "abs": _absolute,
    "sqrt": _real("sqrt", 0.0),
    "ln": _real("ln", SMALLEST_POSITIVE),
    **{name: _rounded(name) for name in ("floor", "ceil")},
    **{name: _text_function(name) for name in ("lower", "upper", "length")},
    **{name: _trimmed(name) for name in ("trim", "ltrim", "rtrim")},
    "substr": _substring,
    "concat": _concatenated,
    "round": _rounded_to,
    **{name: _of_several(name) for name in ("coalesce", "greatest", "least")},
    "case": _case,
    "cast": _converted,
    "date_trunc": _truncated,
    **dict.fromkeys(DATE_PARTS, _part),
}
