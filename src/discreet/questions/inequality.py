"""Linear inequalities over numeric columns: `0.3*age + 1.2*hours >= 40`, with exact coefficients.

A row with a null in one of the columns satisfies no inequality, as in SQL. A value that the schema
clamps counts as the bound that it is clamped to. A row exactly on the plane satisfies `>=` and `<=`,
and neither `>` nor `<`; where all coefficients are 0, the sign alone decides.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from discreet.errors import BadInput
from discreet.questions.conditions import (
    Leaf,
    asks_for_a_value,
    atoms,
    columns_named,
    normal_form,
    simple_of,
)
from discreet.questions.expressions import (
    COMPLEMENTS,
    NUMERIC,
    Call,
    ColumnValue,
    Constant,
    Expression,
    columns_of,
)
from discreet.questions.spelling import quoted
from discreet.schema import Schema

SIGNS = (">=", ">", "<=", "<")
NUMERIC_KINDS = ("integer", "number")


@dataclass(frozen=True, slots=True)
class Inequality:
    """`coefficients . columns  sign  bound`, in the units of the columns."""

    columns: tuple[str, ...]
    coefficients: tuple[Fraction, ...]
    sign: str
    bound: Fraction

    def __post_init__(self) -> None:
        if self.sign not in SIGNS:
            raise BadInput(f"A linear inequality has one of the signs {', '.join(SIGNS)}.")
        if len(self.columns) != len(self.coefficients) or not self.columns:
            raise BadInput("A linear inequality has one coefficient for each of its columns.")
        if len(set(self.columns)) != len(self.columns):
            raise BadInput("A linear inequality names each column once.")

    @property
    def text(self) -> str:
        terms = " + ".join(
            f"{_plain(coefficient)}*{quoted(column)}"
            for column, coefficient in zip(self.columns, self.coefficients, strict=True)
        )
        return f"{terms} {self.sign} {_plain(self.bound)}"

    def as_at_least(self) -> tuple[tuple[Fraction, ...], Fraction, bool]:
        """The same halfspace as (coefficients, bound, strict), with `>=`, or `>` where strict."""
        if self.sign in (">=", ">"):
            return self.coefficients, self.bound, self.sign == ">"
        return tuple(-each for each in self.coefficients), -self.bound, self.sign == "<"

    def negated(self) -> Inequality:
        """True where this one is false: a null satisfies neither."""
        return Inequality(self.columns, self.coefficients, COMPLEMENTS[self.sign], self.bound)

    def check(self, schema: Schema) -> None:
        for name in self.columns:
            check_numeric(name, schema, what="a linear inequality")


def check_numeric(name: str, schema: Schema, *, what: str) -> None:
    column = schema.column(name)
    if column.kind not in NUMERIC_KINDS:
        raise BadInput(
            f"Column {name!r} is of kind {column.kind}; {what} takes columns of kind "
            f"{' and '.join(NUMERIC_KINDS)}."
        )


def _plain(value: Fraction) -> str:
    return str(value.numerator) if value.denominator == 1 else f"{float(value):g}"


Linear = tuple[dict[str, Fraction], Fraction]
"""Coefficients by column, and a constant."""


def inequality_of(atom: Expression, schema: Schema) -> Inequality | None:
    """The linear inequality that a comparison spells, exactly; `None` where it spells none.

    A plain column beside a literal is a comparison, and no inequality.
    """
    if not isinstance(atom, Call) or atom.name not in SIGNS:
        return None
    left, right = atom.arguments
    if not any(_is_arithmetic(side) for side in (left, right)) and len(set(columns_of(atom))) < 2:
        return None
    one, other = _linear(left), _linear(right)
    if one is None or other is None:
        return None
    terms, constant = _sum(one, _scaled(other, Fraction(-1)))
    names = tuple(each.name for each in schema.columns if each.name in terms)
    if not names:
        return None
    return Inequality(names, tuple(terms[name] for name in names), atom.name, -constant)


def is_inequality(atom: Expression) -> bool:
    """Whether an atom is a linear inequality over several columns."""
    if not isinstance(atom, Call) or atom.name not in SIGNS or len(set(columns_of(atom))) < 2:
        return False
    return all(_linear(side) is not None for side in atom.arguments)


def has_inequality(condition: Expression) -> bool:
    """Whether a condition has a linear inequality over several columns in it."""
    return any(is_inequality(atom) for atom in atoms(normal_form(condition)))


def is_of_halfspaces(condition: Expression, groups: Sequence[str], schema: Schema) -> bool:
    """Whether cells of numeric columns, which hold no nulls, can tell who satisfies the condition.

    Its atoms over several columns are linear inequalities, and no row with a null in one of its columns
    satisfies it.
    """
    normal = normal_form(condition)
    names = columns_named(condition) | set(groups)
    if any(schema.column(name).kind not in NUMERIC_KINDS for name in names):
        return False
    for atom in atoms(normal):
        asked = simple_of(atom)
        if asked is not None and asked.sign == "is null" and schema.column(asked.column).has_other:
            return False
        if len(set(columns_of(atom))) > 1 and inequality_of(atom, schema) is None:
            return False
    return normal is False or all(
        name in groups or schema.column(name).nulls != "cell" or asks_for_a_value(condition, name)
        for name in names
    )


def lone_inequality(condition: Expression, schema: Schema) -> Inequality | None:
    """The inequality that a condition is, negations taken in: a null satisfies it neither way."""
    normal = normal_form(condition)
    return inequality_of(normal.atom, schema) if isinstance(normal, Leaf) else None


def _is_arithmetic(side: Expression) -> bool:
    return isinstance(side, Call) and side.name in ("+", "-", "*", "/", "negative")


def _linear(node: Expression) -> Linear | None:
    if isinstance(node, ColumnValue):
        return ({node.column: Fraction(1)}, Fraction(0)) if node.type in NUMERIC else None
    if isinstance(node, Constant):
        if node.type not in NUMERIC or node.value is None:
            return None
        return {}, Fraction(str(node.value))  # the decimal that was written, not its double
    parts = [_linear(argument) for argument in node.arguments] if _is_arithmetic(node) else [None]
    known = [part for part in parts if part is not None]
    if len(known) < len(parts):
        return None
    match node.name, known:
        case "negative", [one]:
            return _scaled(one, Fraction(-1))
        case "+", [one, other]:
            return _sum(one, other)
        case "-", [one, other]:
            return _sum(one, _scaled(other, Fraction(-1)))
        case "*", [one, other] if not (one[0] and other[0]):
            return _scaled(one, other[1]) if one[0] else _scaled(other, one[1])
        case "/", [one, other] if not other[0] and other[1] != 0:
            return _scaled(one, 1 / other[1])
    return None


def _sum(one: Linear, other: Linear) -> Linear:
    terms = dict(one[0])
    for name, coefficient in other[0].items():
        terms[name] = terms.get(name, Fraction(0)) + coefficient
    return terms, one[1] + other[1]


def _scaled(one: Linear, factor: Fraction) -> Linear:
    return {name: coefficient * factor for name, coefficient in one[0].items()}, one[1] * factor
