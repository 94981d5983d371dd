"""Short names for the sqlglot expressions that cells are built from: what every database writes alike.

SQL text is only ever rendered from these: names are always quoted, texts always literals. Types have
DuckDB's names; a dialect renders them in its own. What databases differ in is in `dialect`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from functools import cache, partial

from sqlglot import exp

Sql = exp.Expression
_LARGE_TREE = 60
"""Nodes of an expression from which on it is kept as its text."""


def own(part: Sql) -> Sql:
    """The expression itself where it is free, else a copy: a node has one parent only."""
    return part if part.parent is None else part.copy()


def flattened(part: Sql, render: Callable[[Sql], str]) -> Sql:
    """The expression, or where it is large its text, beside its names: a deep tree would exhaust Python's stack."""
    if sum(1 for _ in part.walk()) <= _LARGE_TREE:
        return part
    names = {one.name: one.copy() for one in part.find_all(exp.Identifier)}
    return exp.Paren(this=exp.Var(this=render(part), names=[*names.values()]))


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
    return exp.Anonymous(this=function, expressions=[own(argument) for argument in arguments])


def cast(value: Sql, to: str) -> Sql:
    """A cast that cannot fail, for the type only widens or the value was clamped before."""
    return exp.Cast(this=own(value), to=_type(to).copy())


def try_cast(value: Sql, to: str) -> Sql:
    """A cast that gives null where it fails, for dialects that have one."""
    return exp.TryCast(this=own(value), to=_type(to).copy())


def binary(kind: type[exp.Binary], left: Sql, right: Sql) -> Sql:
    return exp.Paren(this=kind(this=own(left), expression=own(right)))


add = partial(binary, exp.Add)
subtract = partial(binary, exp.Sub)
multiply = partial(binary, exp.Mul)
divide_whole = partial(binary, exp.IntDiv)
less = partial(binary, exp.LT)
at_most = partial(binary, exp.LTE)
equal = partial(binary, exp.EQ)
both = partial(binary, exp.And)
either = partial(binary, exp.Or)


def is_null(value: Sql) -> Sql:
    return binary(exp.Is, value, exp.null())


def is_in(value: Sql, options: Iterable[Sql]) -> Sql:
    return exp.Paren(this=exp.In(this=own(value), expressions=list(options)))


def clamp(value: Sql, low: Sql, high: Sql) -> Sql:
    """Never null: nulls are told apart before, where the result is used."""
    return call("least", call("greatest", value, low), high)


def clamped_or_null(value: Sql, low: Sql, high: Sql) -> Sql:
    return choose([(is_null(value), null())], clamp(value, low, high))


def with_one_zero(spelled: Sql) -> Sql:
    """The text of a double: -0.0 and 0.0 are equal, so they are one person's."""
    return choose([(equal(spelled, text("-0.0")), text("0.0"))], spelled)


def rest(value: Sql, size: int, type_: str = "BIGINT") -> Sql:
    """value modulo size, from 0 on: SQL's own rest has the sign of the value."""
    by = cast(whole(size), type_)
    return call("mod", add(call("mod", value, by), by), by)


def choose(cases: Sequence[tuple[Sql, Sql]], otherwise: Sql) -> Sql:
    """CASE. Where a branch could fail for a row of another one, the dialect says why it is not evaluated."""
    branches = [exp.If(this=own(when), true=own(then)) for when, then in cases]
    return exp.Paren(this=exp.Case(ifs=branches, default=own(otherwise)))
