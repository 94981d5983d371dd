"""Functions, operators and literals of a result's expressions, from their syntax."""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import date, datetime
from typing import Any

from discreet.errors import BadQuestion
from discreet.postprocessing.plan import Call, Case, Expression, Literal
from discreet.postprocessing.reading.scope import Dialect, Scope
from discreet.postprocessing.reading.syntax import nodes_in, spoken
from discreet.questions.dialects.statement import number
from discreet.questions.expressions import DATE_PARTS, TRUNCATED
from discreet.questions.reading.expressions import FUNCTIONS
from discreet.questions.reading.moments import part_named
from discreet.questions.reading.walk import CLOCK_REFUSAL, is_clock
from discreet.schema import Schema


class CallReader:
    """Reads what is the same in every scope."""

    def __init__(self, schema: Schema, dialect: Dialect, text: str) -> None:
        from sqlglot import exp

        self.schema, self.dialect, self.text, self.exp = schema, dialect, text, exp
        self.functions = _functions(exp)
        self.comparisons = {
            exp.EQ: "=", exp.NEQ: "!=", exp.LT: "<", exp.LTE: "<=", exp.GT: ">", exp.GTE: ">=",
        }  # fmt: skip
        self._forms: dict[type[Any], Callable[[Any, Scope], Expression | None]] = {
            **dict.fromkeys(self.comparisons, self._comparison),
            exp.Literal: self._literal,
            exp.Boolean: lambda node, scope: Literal(bool(node.this)),
            exp.Null: lambda node, scope: Literal(None),
            exp.Between: self._between,
            exp.In: self._in,
            exp.Is: self._is,
            exp.NullSafeEQ: self._is_same,
            exp.NullSafeNEQ: lambda node, scope: Call("not", (self._is_same(node, scope),)),
            exp.Pi: lambda node, scope: Literal(math.pi),
            exp.Case: self._case,
            exp.If: self._if,
            exp.Cast: self._cast,
            exp.TryCast: self._cast,
        }
        """How each form is read that is no plain function."""

    def _value(self, node: Any, scope: Scope) -> Expression:
        """Any expression."""
        raise NotImplementedError

    def _call(self, node: Any, scope: Scope) -> Expression:
        """A literal, an operator or a function."""
        kind = type(node)
        form = self._forms.get(kind)
        found = None if form is None else form(node, scope)
        if found is not None:
            return found
        if is_clock(node):
            raise BadQuestion(CLOCK_REFUSAL)
        moment = self._moment(node)
        if moment is not None:
            part, inside = moment
            return Call(part, (self._value(inside, scope),))
        name = self.functions.get(kind)
        if name is None and kind is self.exp.Anonymous and isinstance(node.this, str):
            name = _BY_NAME.get(node.this.lower())
        if name is None:
            raise self._refusal(node, scope)
        parts = [node.args.get(each) for each in _READ]
        if kind is self.exp.Anonymous:
            parts = [node.expressions]
        elif any(value for part, value in node.args.items() if part not in (*_READ, *_MARKS)):
            raise BadQuestion(
                f"{spoken(node)} of a result is read in its plain form only, without further words or arguments."
            )
        made = Call(name, tuple(self._value(each, scope) for each in nodes_in(parts)))
        return Call("not", (made,)) if node.args.get("negate") else made

    def _refusal(self, node: Any, scope: Scope) -> BadQuestion:
        """Why a function is not answered."""
        exp = self.exp
        if scope.rows is not None:
            for each in node.find_all(exp.Column):
                if each.find_ancestor(exp.AggFunc) is None:
                    self._value(
                        each, scope
                    )  # says of a column that is not grouped by that it is not
        if type(node) is exp.Rand:
            return BadQuestion(
                "rand() has nothing to do with the data; draw such numbers yourself."
            )
        return BadQuestion(f"{spoken(node)} is not answered here. {self.dialect.shape}")

    def _literal(self, node: Any, scope: Scope) -> Expression:
        if node.is_string:
            return Literal(str(node.this))
        written = number(str(node.this))
        return Literal(written if isinstance(written, int) else float(written))

    def _comparison(self, node: Any, scope: Scope) -> Expression:
        sides = self._value(node.this, scope), self._value(node.expression, scope)
        return Call(self.comparisons[type(node)], sides)

    def _between(self, node: Any, scope: Scope) -> Expression:
        value = self._value(node.this, scope)
        ends = (
            Call(">=", (value, self._value(node.args["low"], scope))),
            Call("<=", (value, self._value(node.args["high"], scope))),
        )
        return Call("and", ends)

    def _in(self, node: Any, scope: Scope) -> Expression:
        if node.args.get("query"):
            raise BadQuestion("IN takes a list of values, and no subquery.")
        value = self._value(node.this, scope)
        listed = (self._value(each, scope) for each in node.expressions)
        return Call("or", tuple(Call("=", (value, each)) for each in listed))

    def _is(self, node: Any, scope: Scope) -> Expression | None:
        found: Expression | None = None
        if type(node.expression) is self.exp.Null:
            found = Call("is null", (self._value(node.this, scope),))
        elif type(node.expression) is self.exp.Boolean:
            found = Call("not", (self._value(node.this, scope),))
            if node.expression.this:
                found = Call("not", (found,))
            found = Call("coalesce", (found, Literal(False)))
        return Call("not", (found,)) if found is not None and node.args.get("negate") else found

    def _is_same(self, node: Any, scope: Scope) -> Expression:
        """IS NOT DISTINCT FROM, under which nulls are alike."""
        sides = self._value(node.this, scope), self._value(node.expression, scope)
        nulls = Call("and", tuple(Call("is null", (each,)) for each in sides))
        return Call("coalesce", (Call("=", sides), nulls))

    def _moment(self, node: Any) -> tuple[str, Any] | None:
        """Which part of a date a function gives, and of what; `None` for any other function."""
        exp, kind = self.exp, type(node)
        if kind is exp.Extract:
            return part_named(str(node.this.name)), node.expression
        if kind in (exp.DateTrunc, exp.TimestampTrunc) and not node.args.get("zone"):
            unit = str(getattr(node.args.get("unit"), "name", "")).lower()
            if unit in TRUNCATED:
                return f"date_trunc {unit}", node.this
        if kind in (exp.Dayname, exp.Monthname):
            return kind.__name__.lower(), node.this
        part = FUNCTIONS.get(kind.__name__)
        return (part, node.this) if part in DATE_PARTS else None

    def _if(self, node: Any, scope: Scope) -> Expression:
        otherwise = self._otherwise(node.args.get("false"), scope)
        branch = (self._value(node.this, scope), self._value(node.args["true"], scope))
        return Case((branch,), otherwise)

    def _case(self, node: Any, scope: Scope) -> Expression:
        subject = node.args.get("this")
        branches = []
        for each in node.args["ifs"]:
            met = self._value(each.this, scope)
            if subject is not None:
                met = Call("=", (self._value(subject, scope), met))
            branches.append((met, self._value(each.args["true"], scope)))
        return Case(tuple(branches), self._otherwise(node.args.get("default"), scope))

    def _otherwise(self, node: Any, scope: Scope) -> Expression:
        return Literal(None) if node is None else self._value(node, scope)

    def _cast(self, node: Any, scope: Scope) -> Expression:
        exp, to = self.exp, node.args["to"].this
        types = exp.DataType.Type
        value = self._value(node.this, scope)
        if to in (types.DATE, types.TIMESTAMP) and isinstance(value, Literal):
            try:
                read = date if to is types.DATE else datetime
                return Literal(read.fromisoformat(str(value.value)))
            except ValueError:
                raise BadQuestion(f"{value.value!r} is no date.") from None
        if to in exp.DataType.INTEGER_TYPES:
            return Call("round", (value,))
        if to in exp.DataType.NUMERIC_TYPES:
            scale = [int(each.name) for each in node.args["to"].expressions if each.name.isdigit()]
            if not scale:
                return Call("number", (value,))
            return Call("round", (value, Literal(scale[1] if scale[1:] else 0)))
        if to in exp.DataType.TEXT_TYPES and node.args["to"].expressions:
            raise BadQuestion(
                "A result is cast to VARCHAR without a length; cut it with left(..., n)."
            )
        if to in exp.DataType.TEXT_TYPES:
            return Call("text", (value,))
        raise BadQuestion("Results are cast to numbers, texts and dates only.")


_READ = (
    "this", "expression", "expressions", "start", "length", "decimals", "substr", "replacement",
)  # fmt: skip
"""The parts of a function that are its arguments."""
_MARKS = ("negate", "typed", "safe", "coalesce", "is_nvl", "is_null", "ignore_nulls")
"""Parts by which the parser marks how a spelling is meant. `negate` is NOT; the others change nothing that is answered."""
_BY_NAME = {
    "square": "square",
    "isnull": "coalesce",
    "ceiling": "ceil",
    "pow": "power",
    "truncate": "trunc",
    "log10": "log10",
    "log2": "log2",
}


def _functions(exp: Any) -> dict[type[Any], str]:
    return {
        exp.Add: "+", exp.Sub: "-", exp.Mul: "*", exp.Div: "/", exp.IntDiv: "//", exp.Mod: "%",
        exp.Pow: "power", exp.Neg: "negative", exp.Abs: "abs", exp.Floor: "floor", exp.Ceil: "ceil",
        exp.Round: "round", exp.Sqrt: "sqrt", exp.Exp: "exp", exp.Ln: "ln", exp.Log: "log10",
        exp.Sign: "sign", exp.Trunc: "trunc", exp.Coalesce: "coalesce", exp.Nullif: "nullif",
        exp.Greatest: "greatest", exp.Least: "least", exp.Upper: "upper", exp.Lower: "lower",
        exp.Trim: "trim", exp.Length: "length", exp.Concat: "concat", exp.DPipe: "||",
        exp.Substring: "substring", exp.Like: "like", exp.ILike: "ilike", exp.And: "and", exp.Or: "or",
        exp.Not: "not", exp.Sin: "sin", exp.Cos: "cos", exp.Tan: "tan", exp.Asin: "asin",
        exp.Acos: "acos", exp.Atan: "atan", exp.Sinh: "sinh", exp.Tanh: "tanh", exp.Atanh: "atanh",
        exp.Degrees: "degrees", exp.Radians: "radians", exp.Cbrt: "cbrt", exp.Left: "left",
        exp.Right: "right", exp.Replace: "replace", exp.StrPosition: "position",
    }  # fmt: skip
