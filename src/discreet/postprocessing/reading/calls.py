"""Functions, operators and literals of a result's expressions, from their syntax."""

from __future__ import annotations

import math
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

    def _value(self, node: Any, scope: Scope) -> Expression:
        """Any expression."""
        raise NotImplementedError

    def _call(self, node: Any, scope: Scope) -> Expression:
        exp = self.exp

        def read(each: Any) -> Expression:
            return self._value(each, scope)

        kind = type(node)
        if kind is exp.Literal:
            if node.is_string:
                return Literal(str(node.this))
            written = number(str(node.this))
            return Literal(written if isinstance(written, int) else float(written))
        if kind is exp.Boolean:
            return Literal(bool(node.this))
        if kind is exp.Null:
            return Literal(None)
        if kind in self.comparisons:
            return Call(self.comparisons[kind], (read(node.this), read(node.expression)))
        if kind is exp.Between:
            value = read(node.this)
            ends = (
                Call(">=", (value, read(node.args["low"]))),
                Call("<=", (value, read(node.args["high"]))),
            )
            return Call("and", ends)
        if kind is exp.In:
            if node.args.get("query"):
                raise BadQuestion("IN takes a list of values, and no subquery.")
            value = read(node.this)
            equal = tuple(Call("=", (value, read(each))) for each in node.expressions)
            return Call("or", equal)
        if kind is exp.Is:
            if type(node.expression) is exp.Null:
                return Call("is null", (read(node.this),))
            if type(node.expression) is exp.Boolean:
                truth = bool(node.expression.this)
                return Call("=", (read(node.this), Literal(truth)))
        if kind is exp.Pi:
            return Literal(math.pi)
        if kind in (exp.Case, exp.If):
            return self._case(node, scope)
        if kind in (exp.Cast, exp.TryCast):
            return self._cast(node, scope)
        if is_clock(node):
            raise BadQuestion(CLOCK_REFUSAL)
        moment = self._moment(node)
        if moment is not None:
            part, inside = moment
            return Call(part, (read(inside),))
        name = self.functions.get(kind)
        if name is None and kind is exp.Anonymous and isinstance(node.this, str):
            name = _BY_NAME.get(node.this.lower())
        if name is None:
            if kind is exp.Exists:
                raise BadQuestion("EXISTS is not answered.")
            if scope.rows is not None:
                for each in node.find_all(exp.Column):
                    if each.find_ancestor(exp.AggFunc) is None:
                        self._value(
                            each, scope
                        )  # says of a column that is not grouped by that it is not
            if kind is exp.Rand:
                raise BadQuestion(
                    "rand() has nothing to do with the data; draw such numbers yourself."
                )
            raise BadQuestion(f"{spoken(node)} is not answered here. {self.dialect.shape}")
        parts = [
            node.args.get(each)
            for each in ("this", "expression", "expressions", "start", "length", "decimals", *_MORE)
        ]
        if kind is exp.Anonymous:
            parts = [node.expressions]
        return Call(name, tuple(read(each) for each in nodes_in(parts)))

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

    def _case(self, node: Any, scope: Scope) -> Expression:
        exp = self.exp
        if type(node) is exp.If:
            no = node.args.get("false")
            otherwise = Literal(None) if no is None else self._value(no, scope)
            branch = (self._value(node.this, scope), self._value(node.args["true"], scope))
            return Case((branch,), otherwise)
        subject = node.args.get("this")
        branches = []
        for each in node.args["ifs"]:
            met = self._value(each.this, scope)
            if subject is not None:
                met = Call("=", (self._value(subject, scope), met))
            branches.append((met, self._value(each.args["true"], scope)))
        default = node.args.get("default")
        return Case(
            tuple(branches), Literal(None) if default is None else self._value(default, scope)
        )

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
            return (
                Call("round", (value, Literal(scale[1])))
                if len(scale) == 2
                else Call("number", (value,))
            )
        if to in exp.DataType.TEXT_TYPES:
            return Call("text", (value,))
        raise BadQuestion("Results are cast to numbers, texts and dates only.")


_MORE = ("substr", "replacement")
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
        exp.Trim: "trim", exp.Length: "length", exp.Concat: "concat", exp.DPipe: "concat",
        exp.Substring: "substring", exp.Like: "like", exp.ILike: "ilike", exp.And: "and", exp.Or: "or",
        exp.Not: "not", exp.Sin: "sin", exp.Cos: "cos", exp.Tan: "tan", exp.Asin: "asin",
        exp.Acos: "acos", exp.Atan: "atan", exp.Sinh: "sinh", exp.Tanh: "tanh", exp.Atanh: "atanh",
        exp.Degrees: "degrees", exp.Radians: "radians", exp.Cbrt: "cbrt", exp.Left: "left",
        exp.Right: "right", exp.Replace: "replace", exp.StrPosition: "position",
    }  # fmt: skip
