"""Short names for the sqlglot expressions that cells are built from.

SQL text is only ever rendered from these: names are always quoted, texts always literals.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from functools import cache

from sqlglot import exp

Sql = exp.Expression


def _own(part: Sql) -> Sql:
    """The expression itself where it is free, else a copy: a node has one parent only."""
    return part if part.parent is None else part.copy()


@cache
def _type(name: str) -> exp.DataType:
    return exp.DataType.build(name, dialect="duckdb", udt=True)


def name(*parts: str) -> Sql:
    """A column, or with two parts a table's column."""
    return exp.column(parts[-1], table=parts[0] if len(parts) > 1 else None, quoted=True)


def text(value: str) -> Sql:
    return exp.Literal.string(value)


def whole(value: int) -> Sql:
    number = exp.Literal.number(abs(value))
    return exp.Neg(this=number) if value < 0 else number


def double(value: float) -> Sql:
    """A double, digit for digit: 18 digits and an exponent, which no dialect reads as a decimal."""
    if math.isinf(value):
        return cast(text("infinity" if value > 0 else "-infinity"), "DOUBLE")
    number = exp.Literal.number(f"{abs(value):.17e}")
    return exp.Neg(this=number) if math.copysign(1, value) < 0 else number


def null() -> Sql:
    return exp.null()


def call(function: str, *arguments: Sql) -> Sql:
    return exp.Anonymous(this=function, expressions=[_own(argument) for argument in arguments])


def cast(value: Sql, to: str) -> Sql:
    """A cast that cannot fail, for the type only widens or the value was clamped before."""
    return exp.Cast(this=_own(value), to=_type(to).copy())


def try_cast(value: Sql, to: str) -> Sql:
    """A cast that gives null where it fails."""
    return exp.TryCast(this=_own(value), to=_type(to).copy())


def by_bytes(text: Sql) -> Sql:
    """The text without the collation of its column, which would make `a` and `A` one group.

    A cast, a trim or a concatenation would pass the collation on, so this comes first of all.
    """
    rule = exp.to_identifier("binary", quoted=True)
    return exp.Paren(this=exp.Collate(this=_own(text), expression=rule))


def binary(kind: type[exp.Binary], left: Sql, right: Sql) -> Sql:
    return exp.Paren(this=kind(this=_own(left), expression=_own(right)))


def add(left: Sql, right: Sql) -> Sql:
    return binary(exp.Add, left, right)


def subtract(left: Sql, right: Sql) -> Sql:
    return binary(exp.Sub, left, right)


def multiply(left: Sql, right: Sql) -> Sql:
    return binary(exp.Mul, left, right)


def divide_whole(left: Sql, right: Sql) -> Sql:
    return binary(exp.IntDiv, left, right)


def less(left: Sql, right: Sql) -> Sql:
    return binary(exp.LT, left, right)


def at_most(left: Sql, right: Sql) -> Sql:
    return binary(exp.LTE, left, right)


def equal(left: Sql, right: Sql) -> Sql:
    return binary(exp.EQ, left, right)


def both(left: Sql, right: Sql) -> Sql:
    return binary(exp.And, left, right)


def either(left: Sql, right: Sql) -> Sql:
    return binary(exp.Or, left, right)


def is_null(value: Sql) -> Sql:
    return binary(exp.Is, value, exp.null())


def is_in(value: Sql, options: Iterable[Sql]) -> Sql:
    return exp.Paren(this=exp.In(this=_own(value), expressions=list(options)))


def matches(value: Sql, pattern: str) -> Sql:
    return call("regexp_full_match", value, text(pattern))


def clamp(value: Sql, low: Sql, high: Sql) -> Sql:
    """Never null: nulls are told apart before, where the result is used."""
    return call("least", call("greatest", value, low), high)


def choose(cases: Sequence[tuple[Sql, Sql]], otherwise: Sql) -> Sql:
    """CASE. Each branch is total on its own: nothing relies on which ones are evaluated."""
    branches = [exp.If(this=_own(when), true=_own(then)) for when, then in cases]
    return exp.Paren(this=exp.Case(ifs=branches, default=_own(otherwise)))


def kept_if(value: Sql, condition: Callable[[Sql], Sql]) -> Sql:
    """The value where it meets a condition, else null. It is written once: CASE would repeat it, and
    expressions that nest would double their text at each level."""
    parameter = exp.Identifier(this="value", quoted=False)
    test = exp.Lambda(this=condition(exp.Column(this=parameter.copy())), expressions=[parameter])
    listed = call("list_filter", exp.Array(expressions=[_own(value)]), test)
    return call("list_extract", listed, whole(1))


def one_of(values: Iterable[Sql]) -> Sql:
    """A constant list."""
    return exp.Array(expressions=list(values))


def render(query: Sql) -> str:
    return query.sql(dialect="duckdb")
