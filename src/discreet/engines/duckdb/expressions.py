"""Expressions of a condition as DuckDB SQL over the units u0, u1, ...: total, like every layer.

Integers are computed in 128 bits and cast back with TRY_CAST, which is null beyond 64; doubles that
are not finite become null. See `queries.expressions` for what each operation means.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sqlglot import exp

from discreet.engines.duckdb import sql as s
from discreet.engines.duckdb.cells import ends
from discreet.engines.duckdb.sql import Sql
from discreet.questions.expression_bounds import CLAMPED
from discreet.questions.expressions import COMPARED, Call, ColumnValue, Constant, Expression
from discreet.schema.columns.named import CategoryColumn
from discreet.schema.columns.ordered import OrderedColumn
from discreet.schema.columns.values import MICROSECONDS_PER_DAY, double_of
from discreet.schema.schema import Schema

_COMPARISONS: dict[str, type[exp.Binary]] = {
    "=": exp.EQ,
    "!=": exp.NEQ,
    "<": exp.LT,
    "<=": exp.LTE,
    ">": exp.GT,
    ">=": exp.GTE,
}
_ARITHMETIC: dict[str, type[exp.Binary]] = {"+": exp.Add, "-": exp.Sub, "*": exp.Mul}
_TYPES = {"text": "VARCHAR", "boolean": "BOOLEAN", "number": "DOUBLE"}


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
    return s.kept_if(value, lambda one: s.call("isfinite", one))


def _not_zero(value: Sql, zero: Sql) -> Sql:
    return s.kept_if(value, lambda one: s.binary(exp.NEQ, one, zero))


def _doubles(arguments: Sequence[Sql]) -> list[Sql]:
    return [s.cast(argument, "DOUBLE") for argument in arguments]


def _wide(arguments: Sequence[Sql]) -> list[Sql]:
    return [s.cast(argument, "HUGEINT") for argument in arguments]


def _arithmetic(node: Call, arguments: list[Sql]) -> Sql:
    kind = _ARITHMETIC[node.name]
    if node.type == "integer":
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


def _of_one_type(node: Call, arguments: Sequence[Sql]) -> list[Sql]:
    wanted = _TYPES.get(node.type, "BIGINT")
    return [s.cast(argument, wanted) for argument in arguments]


def _passing_over_nulls(function: str) -> Callable[[Call, list[Sql]], Sql]:
    return lambda node, arguments: s.call(function, *_of_one_type(node, arguments))


def _case(node: Call, arguments: list[Sql]) -> Sql:
    *pairs, otherwise = arguments
    conditions = [s.cast(condition, "BOOLEAN") for condition in pairs[::2]]
    *values, last = _of_one_type(node, [*pairs[1::2], otherwise])
    return s.choose(list(zip(conditions, values, strict=True)), last)


def _is(truth: Sql) -> Callable[[Call, list[Sql]], Sql]:
    return lambda node, arguments: s.binary(exp.Is, s.cast(arguments[0], "BOOLEAN"), truth.copy())


def _floor_divided(value: Sql, size: int) -> Sql:
    """floor(value / size) in 64 bits: the rest is brought to 0 .. size - 1 first."""
    by = s.cast(s.whole(size), "HUGEINT")
    wide = s.cast(value, "HUGEINT")
    rest = s.call("mod", s.add(s.call("mod", wide, by), by), by)
    return s.try_cast(s.divide_whole(s.subtract(wide, rest), by), "BIGINT")


def _part(node: Call, arguments: list[Sql]) -> Sql:
    source = node.arguments[0].type
    value, name = arguments[0], node.name
    if name in ("hour", "minute", "second"):
        if source == "date":
            return s.choose([(s.is_null(value), s.null())], s.cast(s.whole(0), "BIGINT"))
        size, count = {"hour": (3_600_000_000, 24), "minute": (60_000_000, 60)}.get(
            name, (1_000_000, 60)
        )
        passed = _floor_divided(value, size)
        by = s.cast(s.whole(count), "BIGINT")
        return s.call("mod", s.add(s.call("mod", passed, by), by), by)
    days = _floor_divided(value, MICROSECONDS_PER_DAY) if source == "datetime" else value
    day = s.add(s.cast(s.text("1970-01-01"), "DATE"), s.try_cast(days, "INTEGER"))
    return s.cast(s.call(name, day), "BIGINT")


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
    "floor": _rounded("floor"),
    "ceil": _rounded("ceil"),
    "lower": _text_function("lower"),
    "upper": _text_function("upper"),
    "length": _text_function("length"),
    "round": _rounded("round"),
    "coalesce": _passing_over_nulls("coalesce"),
    "least": _passing_over_nulls("least"),
    "greatest": _passing_over_nulls("greatest"),
    "case": _case,
    **dict.fromkeys(
        ("year", "quarter", "month", "day", "dayofweek", "hour", "minute", "second"), _part
    ),
}
