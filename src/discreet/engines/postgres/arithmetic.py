"""Arithmetic of doubles in PostgreSQL, which raises an error where a result overflows or underflows.

Each operation looks at its operands first, scaled by powers of two so that the look itself cannot fail: a
result that would not be finite is null, one that would be too small is 0, as everywhere else.
Operands are names: see `bound`.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from sqlglot import exp

from discreet.engines.sql import syntax as s
from discreet.engines.sql.syntax import Sql

_SMALL_TREE = 12
"""An expression of so many nodes is written again wherever it is used; a longer one is given a name."""
_LEAST, _MOST = 1e-150, 1e150
"""Doubles between have products and quotients that are in range."""
_HALF_OF_LARGEST = 8.9884656743115785e307
_LARGEST = 1.7976931348623157e308
_NEARLY_HALF_A_STEP = 9.9e291
"""What can be added to the largest double without leaving it."""


def bound(values: list[Sql], body: Callable[..., Sql]) -> Sql:
    """`body` of the values, each computed once: in a query of its own, which OFFSET 0 keeps apart.

    Nothing is computed when the query is planned either: a name is no constant.
    """
    first = 1 + max(
        (_number(one) for value in values for one in value.find_all(exp.Identifier)), default=0
    )
    names = [f"x{first + place}" for place in range(len(values))]
    columns = [exp.alias_(s.own(value), name) for value, name in zip(values, names, strict=True)]
    inner = exp.select(*columns).offset(0).subquery(f"bound_{names[0]}", copy=False)
    return exp.Paren(this=exp.select(body(*map(s.name, names))).from_(inner, copy=False))


def _number(name: exp.Identifier) -> int:
    """The number of a name that `bound` gave; 0 of any other."""
    found = re.fullmatch(r"x([0-9]+)", name.name)
    return int(found[1]) if found else 0


def used(value: Sql, body: Callable[[Sql], Sql]) -> Sql:
    """The same of one value, which is written again wherever it is used if it is short."""
    if value.find(exp.Var) is None and sum(1 for _ in value.walk()) <= _SMALL_TREE:
        return body(s.own(value))
    return bound([value], body)


def calculated(kind: type[exp.Binary], left: Sql, right: Sql) -> Sql:
    """left + - * / right; null where the divisor is 0 or the result not finite."""
    operation = {exp.Add: _added, exp.Sub: _subtracted, exp.Mul: _multiplied, exp.Div: _divided}
    return bound([left, right], operation[kind])


def _abs(value: Sql) -> Sql:
    return s.call("abs", value)


def _between(value: Sql) -> Sql:
    return s.both(s.at_most(s.double(_LEAST), _abs(value)), s.at_most(_abs(value), s.double(_MOST)))


def _at_least(value: Sql, least: float) -> Sql:
    return s.at_most(s.double(least), _abs(value))


def _times(value: Sql, exponent: int) -> Sql:
    """abs(value) * 2^exponent."""
    return s.multiply(_abs(value), s.double(2.0**exponent))


def _added(left: Sql, right: Sql) -> Sql:
    return _moved(exp.Add, left, right, s.equal(s.call("sign", left), s.call("sign", right)))


def _subtracted(left: Sql, right: Sql) -> Sql:
    opposed = s.binary(exp.NEQ, s.call("sign", left), s.call("sign", right))
    return _moved(exp.Sub, left, right, opposed)


def _moved(kind: type[exp.Binary], left: Sql, right: Sql, farther: Sql) -> Sql:
    half = s.double(_HALF_OF_LARGEST)
    result = s.binary(kind, left, right)
    near = s.both(s.at_most(_abs(left), half), s.at_most(_abs(right), half))
    room = s.add(s.subtract(s.double(_LARGEST), _abs(left)), s.double(_NEARLY_HALF_A_STEP))
    beyond = s.both(s.at_most(room, _abs(right)), farther)
    return s.choose([(near, result), (beyond, s.null())], result)


def _multiplied(left: Sql, right: Sql) -> Sql:
    result = s.multiply(left, right)
    zero = s.either(s.equal(left, s.double(0.0)), s.equal(right, s.double(0.0)))
    large = s.both(_at_least(left, 1.0), _at_least(right, 1.0))
    fits = s.less(s.multiply(_times(left, -512), _times(right, -512)), s.double(1.0))
    mixed = s.either(_at_least(left, 1.0), _at_least(right, 1.0))
    is_seen = s.less(s.double(0.5), s.multiply(_times(left, 537), _times(right, 537)))
    return s.choose(
        [
            (zero, result),
            (s.both(_between(left), _between(right)), result),
            (large, s.choose([(fits, result)], s.null())),
            (mixed, result),
            (is_seen, result),
            (_known(left, right), s.double(0.0)),
        ],
        s.null(),
    )


def _known(left: Sql, right: Sql) -> Sql:
    return exp.Not(this=s.either(s.is_null(left), s.is_null(right)))


def _divided(left: Sql, right: Sql) -> Sql:
    result = s.binary(exp.Div, left, right)
    zero = s.equal(right, s.double(0.0))
    plain = s.either(s.equal(left, s.double(0.0)), s.both(_between(left), _between(right)))
    divisor_from_1 = _at_least(right, 1.0)
    is_seen = s.less(s.double(0.5), s.binary(exp.Div, _times(left, 537), _times(right, -537)))
    small = s.choose([(_at_least(left, 1.0), result), (is_seen, result)], s.double(0.0))
    fits = s.less(s.binary(exp.Div, _times(left, -600), _abs(right)), s.double(2.0**424))
    near = s.choose([(s.less(_abs(left), s.double(2.0**600)), result), (fits, result)], s.null())
    fits = s.less(s.binary(exp.Div, _times(left, -700), _times(right, 374)), s.double(2.0**-50))
    far = s.choose([(s.less(_abs(left), s.double(2.0**-51)), result), (fits, result)], s.null())
    return s.choose(
        [
            (s.either(zero, exp.Not(this=_known(left, right))), s.null()),
            (plain, result),
            (divisor_from_1, small),
            (_at_least(right, 2.0**-400), near),
        ],
        far,
    )


def remainder(left: Sql, right: Sql) -> Sql:
    """left - right * trunc(left / right), exactly: by the integers that doubles are multiples of."""

    def of_bits(value: Sql, other: Sql, bits: Sql, other_bits: Sql) -> Sql:
        exponents = [s.call("greatest", _exponent(one), s.whole(1)) for one in (bits, other_bits)]
        return bound([value, other, _mantissa(bits), _mantissa(other_bits), *exponents], _rest)

    def decoded(value: Sql, other: Sql) -> Sql:
        made = bound([value, other, _bits(value), _bits(other)], of_bits)
        unknown = exp.Not(this=_known(value, other))
        return s.choose([(s.either(unknown, s.equal(other, s.double(0.0))), s.null())], made)

    return bound([left, right], decoded)


def _bits(value: Sql) -> Sql:
    """The 64 bits of abs(value) as an integer."""
    digits = s.call("encode", s.call("float8send", _abs(value)), s.text("hex"))
    bits = exp.Cast(
        this=s.binary(exp.DPipe, s.text("x"), digits),
        to=exp.DataType.build("bit(64)", dialect="postgres"),
    )
    return s.cast(bits, "BIGINT")


def _exponent(bits: Sql) -> Sql:
    return s.binary(exp.BitwiseRightShift, bits, s.whole(52))


def _mantissa(bits: Sql) -> Sql:
    hidden = s.choose([(s.less(bits, s.whole(1 << 52)), s.whole(0))], s.whole(1 << 52))
    fraction = s.call("mod", bits, s.cast(s.whole(1 << 52), "BIGINT"))
    return s.add(fraction, hidden)


def _rest(
    value: Sql, other: Sql, mantissa: Sql, other_mantissa: Sql, exponent: Sql, other_exponent: Sql
) -> Sql:
    least = s.call("least", exponent, other_exponent)

    def scaled(number: Sql, by: Sql) -> Sql:
        raised = s.call(
            "power", s.cast(s.whole(2), "HUGEINT"), s.cast(s.subtract(by, least), "HUGEINT")
        )
        return s.multiply(s.cast(number, "HUGEINT"), s.call("round", raised))

    rest = s.call("mod", scaled(mantissa, exponent), scaled(other_mantissa, other_exponent))
    step = s.call("power", s.double(2.0), s.cast(s.subtract(least, s.whole(1075)), "DOUBLE"))
    size = s.multiply(s.cast(s.cast(rest, "BIGINT"), "DOUBLE"), step)
    negative = s.less(value, s.double(0.0))
    return s.choose([(negative, exp.Neg(this=size.copy()))], size)
