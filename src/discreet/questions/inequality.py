"""Linear inequalities over numeric columns: `0.3*age + 1.2*hours >= 40`, with exact coefficients.

A row with a null in one of the columns satisfies no inequality, as in SQL. A value that the schema
clamps counts as the bound that it is clamped to. A row exactly on the plane satisfies `>=` and `<=`,
and neither `>` nor `<`; where all coefficients are 0, the sign alone decides.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from discreet.errors import BadInput
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
