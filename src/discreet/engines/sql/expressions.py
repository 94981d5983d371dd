"""Expressions of a condition as SQL over the units u0, u1, ...: total, like every layer.

Integers are computed in more bits and narrowed, which is null beyond 64; doubles that are not finite
become null. See `questions.expressions` for what each operation means.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sqlglot import exp

from discreet.engines.sql import syntax as s
from discreet.engines.sql.cells import ends
from discreet.engines.sql.dialect import Dialect
from discreet.engines.sql.syntax import Sql
from discreet.engines.sql.units import read_text
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

    def __init__(
        self, schema: Schema, dialect: Dialect, double_categories: frozenset[str] = frozenset()
    ) -> None:
        self.dialect = dialect
        self._schema = schema
        self._place = {column.name: place for place, column in enumerate(schema.columns)}
        self._double_categories = double_categories

    def sql(self, node: Expression) -> Sql:
        if isinstance(node, ColumnValue):
            return self._column(node)
        if isinstance(node, Constant):
            return self._constant(node)
        if node.name == CLAMPED:
            (column,) = node.arguments
            assert isinstance(column, ColumnValue)
            return self.clamped(column.column)
        arguments = [self.sql(argument) for argument in node.arguments]
        return s.flattened(self._operation(node, arguments), self.dialect.render)

    def _operation(self, node: Call, arguments: list[Sql]) -> Sql:
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
        return _OPERATIONS[node.name](node, arguments, self.dialect)

    def _column(self, node: ColumnValue) -> Sql:
        unit = s.name(f"u{self._place[node.column]}")
        if node.type == "integer":
            return self.dialect.narrowed(unit)
        if node.column in self._double_categories:
            return self._category_text(node.column, unit)
        return unit

    def _constant(self, node: Constant) -> Sql:
        value = node.value
        if value is None:
            return s.null()
        if node.type == "boolean":
            return exp.true() if value else exp.false()
        if node.type == "text":
            return self.dialect.constant_text(str(value))
        if node.type == "number":
            return s.double(float(value))
        return s.cast(s.whole(int(value)), "BIGINT")

    def clamped(self, name: str) -> Sql:
        """The clamped unit of a row whose cell is a value cell; null for any other row."""
        column, unit = self._schema.column(name), s.name(f"u{self._place[name]}")
        if not isinstance(column, OrderedColumn):
            return self.dialect.whole_of_boolean(unit)
        low, high = ends(column)
        type_ = "DOUBLE" if column.kind == "number" else "BIGINT"
        inside = s.both(s.at_most(low, unit), s.at_most(unit, high))
        # Comparisons are half the price of least and greatest; a null is in no branch.
        cases = [(inside, self.dialect.fitted(unit, type_))]
        if column.outside == "edge":
            cases += [(s.less(unit, low), low), (s.less(high, unit), high)]
        return s.choose(cases, s.null())

    def _category_text(self, name: str, unit: Sql) -> Sql:
        """A category kept as a number: the declared value that spells it, else its digits."""
        column = self._schema.column(name)
        assert isinstance(column, CategoryColumn)
        cases = [
            (s.equal(unit, s.double(number)), self.dialect.constant_text(value))
            for value in column.values
            if (number := double_of(value)) is not None
        ]
        digits = self.dialect.text_of(unit, "number")
        return s.choose(cases, digits) if cases else digits

    def _alike(self, node: Call, arguments: Sequence[Sql]) -> list[Sql]:
        """Operands of one type: an integer beside a number is a number, a date beside a datetime one."""
        types = {argument.type for argument in node.arguments} - {"null"}
        if types == {"integer", "number"}:
            return _doubles(arguments)
        if types == {"date", "datetime"}:
            return [
                s.multiply(s.cast(argument, "HUGEINT"), s.whole(MICROSECONDS_PER_DAY))
                if part.type == "date"
                else argument
                for part, argument in zip(node.arguments, arguments, strict=True)
            ]
        return list(arguments)


Operation = Callable[[Call, list[Sql], Dialect], Sql]


def _doubles(arguments: Sequence[Sql]) -> list[Sql]:
    return [s.cast(argument, "DOUBLE") for argument in arguments]


def _wide(arguments: Sequence[Sql]) -> list[Sql]:
    return [s.cast(argument, "HUGEINT") for argument in arguments]


def _arithmetic(node: Call, arguments: list[Sql], dialect: Dialect) -> Sql:
    kind = _ARITHMETIC[node.name]
    if node.type != "number":
        return dialect.narrowed(s.binary(kind, *_wide(arguments)))
    return dialect.calculated(kind, *_doubles(arguments))


def _modulo(node: Call, arguments: list[Sql], dialect: Dialect) -> Sql:
    if node.type == "integer":
        return dialect.whole_remainder(*arguments)
    return dialect.remainder(*_doubles(arguments))


def _negative(node: Call, arguments: list[Sql], dialect: Dialect) -> Sql:
    if node.type == "integer":
        zero = s.cast(s.whole(0), "HUGEINT")
        return dialect.narrowed(s.subtract(zero, _wide(arguments)[0]))
    return s.subtract(s.double(0.0), arguments[0])


def _absolute(node: Call, arguments: list[Sql], dialect: Dialect) -> Sql:
    if node.type == "integer":
        return dialect.narrowed(s.call("abs", _wide(arguments)[0]))
    return s.call("abs", arguments[0])


def _rounded(function: str) -> Operation:
    return lambda node, arguments, dialect: (
        arguments[0] if node.type == "integer" else s.call(function, arguments[0])
    )


def _real(function: str, least: float) -> Operation:
    """A function that has a value from `least` on: of smaller numbers it is null, and never asked for."""
    return lambda node, arguments, dialect: dialect.real_function(
        function, _doubles(arguments)[0], least
    )


def _cased(function: str) -> Operation:
    return lambda node, arguments, dialect: dialect.changed_case(
        s.cast(arguments[0], "VARCHAR"), function
    )


def _pattern(any_case: bool) -> Operation:
    return lambda node, arguments, dialect: dialect.like(
        s.cast(arguments[0], "VARCHAR"), arguments[1], any_case=any_case
    )


def _balanced(kind: type[exp.Binary], parts: Sequence[Sql]) -> Sql:
    """Halves of halves, so that a thousand parts nest ten deep."""
    if len(parts) == 1:
        return parts[0]
    middle = len(parts) // 2
    return s.binary(kind, _balanced(kind, parts[:middle]), _balanced(kind, parts[middle:]))


def _joined(kind: type[exp.Binary], type_: str) -> Operation:
    return lambda node, arguments, dialect: _balanced(
        kind, [s.cast(argument, type_) for argument in arguments]
    )


def _fitted(value: Sql, type_: Type, wanted: Type, dialect: Dialect) -> Sql:
    """A value among others of one type: an integer among numbers is one, a date among moments one."""
    if (type_, wanted) == ("date", "datetime"):
        return _midnight(value, dialect)
    return s.cast(value, _TYPES.get(wanted, "BIGINT"))


def _midnight(days: Sql, dialect: Dialect) -> Sql:
    wide = s.multiply(s.cast(days, "HUGEINT"), s.whole(MICROSECONDS_PER_DAY))
    return dialect.narrowed(wide)


def _of_several(function: str) -> Operation:
    def operation(node: Call, arguments: list[Sql], dialect: Dialect) -> Sql:
        pairs = zip(node.arguments, arguments, strict=True)
        fitted = [_fitted(value, part.type, node.type, dialect) for part, value in pairs]
        return s.call(function, *fitted)

    return operation


def _case(node: Call, arguments: list[Sql], dialect: Dialect) -> Sql:
    values = [
        _fitted(value, part.type, node.type, dialect)
        for part, value in zip(node.arguments[1::2], arguments[1::2], strict=True)
    ]
    conditions = [s.cast(condition, "BOOLEAN") for condition in arguments[:-1:2]]
    otherwise = _fitted(arguments[-1], node.arguments[-1].type, node.type, dialect)
    return s.choose(list(zip(conditions, values, strict=True)), otherwise)


def _rounded_to(node: Call, arguments: list[Sql], dialect: Dialect) -> Sql:
    """round(x * 10^d) / 10^d, half away from zero."""
    if node.type == "integer":
        return arguments[0]
    digits = node.arguments[1].value if len(node.arguments) > 1 else 0  # type: ignore[union-attr]
    assert isinstance(digits, int)
    scale = s.double(10.0 ** abs(digits))
    there, back = (exp.Mul, exp.Div) if digits >= 0 else (exp.Div, exp.Mul)
    scaled = dialect.calculated(there, s.cast(arguments[0], "DOUBLE"), scale)
    return dialect.calculated(back, dialect.rounded_away(scaled), scale.copy())


def _trimmed(function: str) -> Operation:
    return lambda node, arguments, dialect: dialect.trimmed(
        s.cast(arguments[0], "VARCHAR"), " ", function
    )


def _substring(node: Call, arguments: list[Sql], dialect: Dialect) -> Sql:
    places = [int(one.value) for one in node.arguments[1:]]  # type: ignore[union-attr, arg-type]
    return s.call("substr", s.cast(arguments[0], "VARCHAR"), *map(s.whole, places))


def _converted(node: Call, arguments: list[Sql], dialect: Dialect) -> Sql:
    source, wanted, value = node.arguments[0].type, node.type, arguments[0]
    if source in ("null", wanted):
        return s.cast(value, _TYPES.get(wanted, "BIGINT"))
    if source == "text":
        read = read_text(wanted, value, dialect)
        return s.cast(read, "DOUBLE") if wanted == "number" else dialect.narrowed(read)
    match source, wanted:
        case "date", "datetime":
            return _midnight(value, dialect)
        case "datetime", "date":
            return s.cast(dialect.divided_down(value, MICROSECONDS_PER_DAY), "BIGINT")
        case "date", "text":
            low, high = s.whole(_FIRST_SPELLED), s.whole(_LAST_SPELLED)
            spelled = dialect.text_of_date(dialect.day(s.clamp(value, low, high)))
            inside = s.both(s.at_most(low, value), s.at_most(value, high))
            return s.choose([(inside, spelled)], s.null())
        case "number", "integer":
            return dialect.nearest(value)
        case _, "text":
            return dialect.text_of(value, source)
        case "boolean", _:
            return s.cast(dialect.whole_of_boolean(value), _TYPES.get(wanted, "BIGINT"))
    return s.cast(value, _TYPES.get(wanted, "BIGINT"))


def _is(truth: Sql) -> Operation:
    return lambda node, arguments, dialect: s.binary(
        exp.Is, s.cast(arguments[0], "BOOLEAN"), truth.copy()
    )


def _days(value: Sql, source: Type, dialect: Dialect) -> Sql:
    if source == "date":
        return value
    return s.cast(dialect.divided_down(value, MICROSECONDS_PER_DAY), "BIGINT")


def _same_day(days: Sql, dialect: Dialect) -> Sql:
    """The day of the same date 400 years or more later or earlier, which every database knows."""
    return dialect.day(s.rest(days, _FOUR_CENTURIES))


def _part(node: Call, arguments: list[Sql], dialect: Dialect) -> Sql:
    source = node.arguments[0].type
    value, name = arguments[0], node.name
    if name in _CLOCK:
        if source != "datetime":
            return s.choose([(s.is_null(value), s.null())], s.cast(s.whole(0), "BIGINT"))
        passed = s.cast(dialect.divided_down(value, _CLOCK[name]), "BIGINT")
        return s.rest(passed, 24 if name == "hour" else 60)
    days = _days(value, source, dialect)
    part = s.cast(dialect.part_of_day(name, _same_day(days, dialect)), "BIGINT")
    if name != "year":
        return part
    cycles = s.cast(dialect.divided_down(days, _FOUR_CENTURIES), "BIGINT")
    return s.add(part, s.multiply(cycles, s.whole(400)))


def _truncated(node: Call, arguments: list[Sql], dialect: Dialect) -> Sql:
    source, value = node.arguments[1].type, arguments[1]
    unit = str(node.arguments[0].value)  # type: ignore[union-attr]
    if unit in _CLOCK:
        if source != "datetime":
            return value
        past = s.rest(value, _CLOCK[unit])
        return dialect.narrowed(s.subtract(s.cast(value, "HUGEINT"), past))
    days = _days(value, source, dialect)
    if unit == "day":
        past = s.cast(s.whole(0), "BIGINT")
    elif unit == "week":  # 1970-01-01 was a Thursday
        past = s.rest(s.add(s.rest(days, 7), s.whole(3)), 7)
    else:
        past = dialect.days_into(unit, _same_day(days, dialect))
    first = dialect.narrowed(s.subtract(s.cast(days, "HUGEINT"), past))
    return first if source != "datetime" else _midnight(first, dialect)


_OPERATIONS: dict[str, Operation] = {
    "and": _joined(exp.And, "BOOLEAN"),
    "or": _joined(exp.Or, "BOOLEAN"),
    "not": lambda node, arguments, dialect: exp.Paren(
        this=exp.Not(this=s.cast(arguments[0], "BOOLEAN"))
    ),
    "is null": lambda node, arguments, dialect: s.is_null(arguments[0]),
    "is true": _is(exp.true()),
    "is false": _is(exp.false()),
    "like": _pattern(any_case=False),
    "ilike": _pattern(any_case=True),
    **dict.fromkeys(_ARITHMETIC, _arithmetic),
    "/": lambda node, arguments, dialect: dialect.calculated(exp.Div, *_doubles(arguments)),
    "%": _modulo,
    "negative": _negative,
    "abs": _absolute,
    "sqrt": _real("sqrt", 0.0),
    "ln": _real("ln", SMALLEST_POSITIVE),
    **{name: _rounded(name) for name in ("floor", "ceil")},
    **{name: _cased(name) for name in ("lower", "upper")},
    "length": lambda node, arguments, _: s.call("length", s.cast(arguments[0], "VARCHAR")),
    **{name: _trimmed(name) for name in ("trim", "ltrim", "rtrim")},
    "substr": _substring,
    "concat": _joined(exp.DPipe, "VARCHAR"),
    "round": _rounded_to,
    **{name: _of_several(name) for name in ("coalesce", "greatest", "least")},
    "case": _case,
    "cast": _converted,
    "date_trunc": _truncated,
    **dict.fromkeys(DATE_PARTS, _part),
}
