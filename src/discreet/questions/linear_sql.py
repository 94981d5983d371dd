"""Linear expressions in WHERE: `0.3*age + 1.2*hours >= 40` to an `Inequality`, exactly."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

from discreet.errors import BadQuestion
from discreet.questions.conditions import Condition, Constant
from discreet.questions.inequality import NUMERIC_KINDS, SIGNS, Inequality
from discreet.schema import Schema

ARITHMETIC = ("Add", "Sub", "Mul", "Div")
SHAPE = "Write a linear inequality such as 0.3*age + 1.2*hours >= 40."

Linear = tuple[dict[str, Fraction], Fraction]
"""Coefficients by column, and a constant."""


def is_arithmetic(node: Any) -> bool:
    """Whether a side of a comparison is an expression, and no plain column or literal."""
    while type(node).__name__ in ("Paren", "Neg"):
        if type(node).__name__ == "Neg" and type(node.this).__name__ in ("Column", "Paren"):
            return True
        node = node.this
    return type(node).__name__ in ARITHMETIC


def read_inequality(
    left: Any,
    sign: str,
    right: Any,
    *,
    column: Callable[[Any], str],
    literal: Callable[[Any], object],
    schema: Schema,
) -> Condition:
    """The inequality that two sides and a sign spell."""
    if sign not in SIGNS:
        raise BadQuestion(
            f"A comparison by {sign} in WHERE needs a plain column on one side; an expression of columns "
            f"takes {', '.join(SIGNS)}."
        )

    def read(node: Any) -> Linear:
        match type(node).__name__:
            case "Paren":
                return read(node.this)
            case "Neg":
                return _scaled(read(node.this), Fraction(-1))
            case "Column":
                name = column(node)
                if schema.column(name).kind not in NUMERIC_KINDS:
                    raise BadQuestion(
                        f"Column {name!r} is of kind {schema.column(name).kind}; an expression takes "
                        f"columns of kind {' and '.join(NUMERIC_KINDS)}."
                    )
                return {name: Fraction(1)}, Fraction(0)
            case "Add":
                return _sum(read(node.this), read(node.expression))
            case "Sub":
                return _sum(read(node.this), _scaled(read(node.expression), Fraction(-1)))
            case "Mul":
                one, other = read(node.this), read(node.expression)
                if one[0] and other[0]:
                    raise BadQuestion(f"Columns cannot be multiplied with each other. {SHAPE}")
                return _scaled(one, other[1]) if one[0] else _scaled(other, one[1])
            case "Div":
                one, other = read(node.this), read(node.expression)
                if other[0] or other[1] == 0:
                    raise BadQuestion(
                        f"An expression is divided by a number other than 0 only. {SHAPE}"
                    )
                return _scaled(one, 1 / other[1])
        value = literal(node)
        if isinstance(value, bool) or not isinstance(value, (int, Decimal)):
            raise BadQuestion(f"An expression takes columns and numbers only. {SHAPE}")
        return {}, Fraction(value)

    terms, constant = _sum(read(left), _scaled(read(right), Fraction(-1)))
    names = tuple(each.name for each in schema.columns if each.name in terms)
    if not names:
        return Constant(_holds(constant, sign))
    return Inequality(names, tuple(terms[name] for name in names), sign, -constant)


def _holds(constant: Fraction, sign: str) -> bool:
    if constant == 0:
        return sign in (">=", "<=")
    return (constant > 0) == (sign in (">=", ">"))


def _sum(one: Linear, other: Linear) -> Linear:
    terms = dict(one[0])
    for name, coefficient in other[0].items():
        terms[name] = terms.get(name, Fraction(0)) + coefficient
    return terms, one[1] + other[1]


def _scaled(one: Linear, factor: Fraction) -> Linear:
    return {name: coefficient * factor for name, coefficient in one[0].items()}, one[1] * factor
