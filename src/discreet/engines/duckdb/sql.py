"""Short names for the sqlglot expressions that cells are built from.

SQL text is only ever rendered from these: names are always quoted, texts always literals.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from functools import cache, partial

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
    return exp.Paren(this=exp.In(this=_own(value), expressions=list(options)))


def matches(value: Sql, pattern: str) -> Sql:
    return call("regexp_full_match", value, text(pattern))


def clamp(value: Sql, low: Sql, high: Sql) -> Sql:
    """Never null: nulls are told apart before, where the result is used."""
    return call("least", call("greatest", value, low), high)


def finite(value: Sql) -> Sql:
    """The value, or null where it is not a number or infinite."""
    return choose([(call("isfinite", value), value)], null())


def rest(value: Sql, size: int, type_: str = "BIGINT") -> Sql:
    """value modulo size, from 0 on: SQL's own rest has the sign of the value."""
    by = cast(whole(size), type_)
    return call("mod", add(call("mod", value, by), by), by)


def divided_down(value: Sql, size: int) -> Sql:
    """floor(value / size): SQL divides toward zero. In 128 bits, so that nothing overflows."""
    wide = cast(value, "HUGEINT")
    below = subtract(wide, rest(wide, size, "HUGEINT"))
    return divide_whole(below, cast(whole(size), "HUGEINT"))


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
