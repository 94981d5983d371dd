"""How expressions are written for Spark, whatever a session's settings are.

A text is written so that no setting changes it: Spark may or may not read a backslash as an escape, and it
replaces `${...}` even between quotes. So a text of anything but plain characters is written as its bytes.
Doubles end in D, because 1e0 may be read as a decimal.

Where a bracket or a keyword begins, Spark's parser looks ahead for what it may be: through all of a long
expression, again at each level, for a minute. So operators are written as calls of functions, whose
names stand in backquotes, and casts with `::`; those say at once what they are.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from sqlglot import exp
from sqlglot.dialects.spark import Spark
from sqlglot.generators.spark import SparkGenerator

from discreet.engines.sql import syntax as s
from discreet.engines.sql.syntax import Sql

_SMALL_TREE = 12
"""An expression of so many nodes is written again wherever it is used; a longer one is given a name."""
_PLAIN = re.compile(r"[A-Za-z0-9 _.,:;+/()\[\]<>=!?*#@&|~^%-]*")
_LONG_TEXT = 60
_FUNCTIONS: dict[type[exp.Expression], str] = {
    exp.Add: "`+`", exp.Sub: "`-`", exp.Mul: "`*`", exp.IntDiv: "`div`", exp.LT: "`<`", exp.LTE: "`<=`",
    exp.GT: "`>`", exp.GTE: "`>=`", exp.EQ: "`=`", exp.And: "`and`", exp.Or: "`or`", exp.DPipe: "concat",
    exp.RegexpLike: "regexp_like",
}  # fmt: skip
_OPPOSITES = {exp.NEQ: "`=`", exp.NullSafeNEQ: "`<=>`"}


class _Generator(SparkGenerator):
    """Renders our types: whole numbers beyond 64 bits are decimals."""

    TYPE_MAPPING = {  # noqa: RUF012 (sqlglot's own way)
        **SparkGenerator.TYPE_MAPPING,
        exp.DataType.Type.UTINYINT: "SMALLINT",
        exp.DataType.Type.USMALLINT: "INT",
        exp.DataType.Type.UINT: "BIGINT",
        exp.DataType.Type.UBIGINT: "DECIMAL(20, 0)",
        exp.DataType.Type.INT128: "DECIMAL(38, 0)",
        exp.DataType.Type.VARCHAR: "STRING",
    }

    def literal_sql(self, expression: exp.Literal) -> str:
        if expression.is_string:
            return written(expression.name)
        text = expression.name
        return f"{float(text)!r}D" if "e" in text else text

    def trycast_sql(self, expression: exp.TryCast) -> str:
        return f"TRY_CAST({self.sql(expression, 'this')} AS {self.sql(expression, 'to')})"

    def cast_sql(self, expression: exp.Cast, safe_prefix: str | None = None) -> str:
        inner, type_ = self.sql(expression, "this"), self.sql(expression, "to")
        is_negative = isinstance(expression.this, exp.Neg)
        return f"CAST({inner} AS {type_})" if is_negative else f"{inner}::{type_}"

    def paren_sql(self, expression: exp.Paren) -> str:
        """Operators as calls of functions. See above for why."""
        inner = expression.this
        if isinstance(inner, exp.Case | exp.Var):
            return self.sql(inner)
        if isinstance(inner, exp.Is) and isinstance(inner.expression, exp.Null):
            return f"isnull({self.sql(inner, 'this')})"
        if type(inner) in (exp.NEQ, exp.NullSafeNEQ):
            return f"`not`({self._called(_OPPOSITES[type(inner)], inner)})"
        function = _FUNCTIONS.get(type(inner))
        if function is not None:
            return self._called(function, inner)
        text: str = super().paren_sql(expression)
        return text

    def _called(self, function: str, operation: exp.Binary) -> str:
        return f"{function}({self.sql(operation, 'this')}, {self.sql(operation, 'expression')})"

    def sum_sql(self, expression: exp.Sum) -> str:
        """In decimals, for a sum of 64-bit numbers wraps around, or fails."""
        return f"SUM(CAST({self.sql(expression, 'this')} AS DECIMAL(38, 0)))"

    def anonymous_sql(self, expression: exp.Anonymous) -> str:
        name, values = expression.name.lower(), [self.sql(one) for one in expression.expressions]
        if name in ("floor", "ceil"):
            return self._whole_double(name, values[0])
        return f"`{name}`({', '.join(values)})"

    def _whole_double(self, function: str, value: str) -> str:
        """The double below, or above: Spark's own are 64-bit integers, which larger doubles do not fit."""
        sign, step = (">", "- 1D") if function == "floor" else ("<", "+ 1D")

        def moved(x: str) -> str:
            return f"CASE WHEN rint({x}) {sign} {x} THEN rint({x}) {step} ELSE rint({x}) END"

        if len(value) <= _LONG_TEXT:
            return moved(value)
        name = f"x{_next_number(value)}"
        return f"element_at(transform(array({value}), {name} -> {moved(name)}), 1)"


_Generator.TRANSFORMS = {
    kind: way
    for kind, way in SparkGenerator.TRANSFORMS.items()
    if kind not in (exp.TryCast, exp.Cast, exp.Sum, exp.Literal, exp.Anonymous)
}


def render(query: Sql) -> str:
    """The text of a query."""
    text: str = _Generator(dialect=Spark()).generate(query, copy=False)
    return text


def written(text: str) -> str:
    """A text as Spark reads it. One that no row can hold becomes another that none does."""
    if _PLAIN.fullmatch(text):
        return f"'{text}'"
    return f"CAST(X'{text.encode('utf-8', 'replace').hex()}' AS STRING)"


def used(value: Sql, body: Callable[[Sql], Sql]) -> Sql:
    """`body` of a value that is computed once: named, unless it is short."""
    if value.find(exp.Var) is None and sum(1 for _ in value.walk()) <= _SMALL_TREE:
        return body(s.own(value))
    numbers = (_number(one.name) for one in value.find_all(exp.Identifier))
    name = f"x{1 + max(numbers, default=0)}"
    made = exp.Lambda(this=body(s.name(name)), expressions=[exp.to_identifier(name)])
    listed = s.call("transform", s.call("array", value), made)
    return s.call("element_at", listed, s.whole(1))


def _number(name: str) -> int:
    """The number of a name that `used` gave; 0 of any other."""
    found = re.fullmatch(r"x([0-9]+)", name)
    return int(found[1]) if found else 0


def _next_number(text: str) -> int:
    return 1 + max(map(int, re.findall(r"\bx([0-9]+)\b", text)), default=0)


def type_named(name: str) -> Any:
    """A type of Spark's own, as `ARRAY<DOUBLE>`."""
    return exp.DataType.build(name, dialect="spark")
