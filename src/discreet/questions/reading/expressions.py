"""SQL to an `Expression`: for WHERE and for the keys of GROUP BY, of releases and of the curator.

Types are checked here, so that an engine never meets a misfit. What has no column in it is worked out
here too.
"""

from __future__ import annotations

from typing import Any

from discreet.errors import BadQuestion
from discreet.questions.calendar_texts import day_name, month_name
from discreet.questions.expressions import DATE_PARTS, NUMERIC, Call, Constant, Expression, Type
from discreet.questions.literals import negated, text_of
from discreet.questions.reading.comparisons import COMPARISONS, ComparisonReader
from discreet.questions.reading.moments import FROM_YEARS
from discreet.questions.reading.numbers import ARITHMETIC, NumberReader
from discreet.questions.reading.texts import TextReader
from discreet.questions.reading.walk import Reader


class ChoiceReader(ComparisonReader):
    """Reads what is one of several values."""

    def _several(self, node: Any, name: str, depth: int) -> Expression:
        parts = [self.read(one, depth) for one in (node.this, *node.expressions)]
        alike, type_ = self._of_one_type(parts, f"{name}()")
        if name != "coalesce" and type_ == "boolean":
            raise BadQuestion("True and false have no order, so none of them is the greatest.")
        return Call(name, tuple(alike), type_)

    def _nullif(self, node: Any, depth: int) -> Expression:
        parts = self._alike([self.read(node.this, depth), self.read(node.expression, depth)])
        return Call("nullif", tuple(parts), parts[0].type)

    def _case(self, node: Any, depth: int) -> Expression:
        self._plain(node, "this", "ifs", "default")
        subject = node.args.get("this")
        conditions: list[Expression] = []
        values: list[Expression] = []
        for each in node.args["ifs"]:
            if subject is None:
                conditions.append(self._truth(each.this, depth))
            else:
                sides = [self.read(subject, depth), self.read(each.this, depth)]
                conditions.append(self._compared("=", sides))
            values.append(self.read(each.args["true"], depth))
        default = node.args.get("default")
        values.append(self.read(default, depth) if default is not None else Constant(None, "null"))
        return self._chosen(conditions, values)

    def _if(self, node: Any, depth: int) -> Expression:
        self._plain(node, "this", "true", "false")
        otherwise = node.args.get("false")
        values = [
            self.read(node.args["true"], depth),
            self.read(otherwise, depth) if otherwise is not None else Constant(None, "null"),
        ]
        return self._chosen([self._truth(node.this, depth)], values)

    def _chosen(self, conditions: list[Expression], values: list[Expression]) -> Expression:
        alike, type_ = self._of_one_type(values, "CASE")
        pairs = [part for pair in zip(conditions, alike, strict=False) for part in pair]
        return Call("case", (*pairs, alike[-1]), type_)

    def _of_one_type(self, parts: list[Expression], what: str) -> tuple[list[Expression], Type]:
        alike = self._alike(parts)
        types = {part.type for part in alike} - {"null"}
        if types == {"integer", "number"}:
            return alike, "number"
        if types == {"date", "datetime"}:
            return alike, "datetime"
        if len(types) != 1:
            raise BadQuestion(f"{what} takes values of one type, at least one of them not NULL.")
        return alike, types.pop()


FUNCTIONS = {
    "Abs": "abs", "Floor": "floor", "Ceil": "ceil", "Lower": "lower", "Upper": "upper",
    "Length": "length", "Neg": "negative", "Year": "year", "Quarter": "quarter", "Month": "month",
    "Week": "week", "WeekOfYear": "week", "Day": "day", "DayOfMonth": "day",
    "DayOfWeek": "dayofweek", "DayOfWeekIso": "isodow", "DayOfYear": "dayofyear", "Hour": "hour",
    "Minute": "minute", "Second": "second",
}  # fmt: skip
"""Functions of one argument, by the parser's names of them."""


class ExpressionReader(NumberReader, TextReader, ChoiceReader):
    """Reads the expressions of one question."""

    def _readers(self) -> dict[type[Any], Reader]:
        exp = self.exp
        return {
            exp.Paren: lambda node, depth: self.read(node.this, depth),
            exp.Column: lambda node, depth: self._column(node),
            exp.Literal: lambda node, depth: self._literal(node),
            exp.Boolean: lambda node, depth: Constant(bool(node.this), "boolean"),
            exp.Null: lambda node, depth: Constant(None, "null"),
            exp.Cast: self._cast,
            exp.TryCast: self._cast,
            exp.Date: self._dated_cast,
            exp.Not: lambda node, depth: Call("not", (self._truth(node.this, depth),), "boolean"),
            exp.And: lambda node, depth: self._chain(node, "and", depth),
            exp.Or: lambda node, depth: self._chain(node, "or", depth),
            exp.Between: self._between,
            exp.In: self._membership,
            exp.Is: self._is,
            exp.NullSafeNEQ: self._distinct,
            exp.NullSafeEQ: lambda node, depth: Call(
                "not", (self._distinct(node, depth),), "boolean"
            ),
            exp.Like: lambda node, depth: self._pattern(node, "like", depth),
            exp.ILike: lambda node, depth: self._pattern(node, "ilike", depth),
            exp.Coalesce: lambda node, depth: self._several(node, "coalesce", depth),
            exp.Greatest: lambda node, depth: self._several(node, "greatest", depth),
            exp.Least: lambda node, depth: self._several(node, "least", depth),
            exp.Nullif: self._nullif,
            exp.Case: self._case,
            exp.If: self._if,
            exp.Round: self._round,
            exp.Trunc: self._truncate,
            exp.Sign: self._sign,
            exp.Sqrt: lambda node, depth: self._real("sqrt", node.this, depth),
            exp.Ln: lambda node, depth: self._real("ln", node.this, depth),
            exp.Log: self._logarithm,
            exp.Pow: self._power,
            exp.IntDiv: self._whole_quotient,
            exp.WidthBucket: self._bucket,
            exp.Trim: self._trim,
            exp.Substring: self._substring,
            exp.Left: self._left,
            exp.SplitPart: lambda node, depth: self._declared("split_part", node, depth),
            exp.Right: lambda node, depth: self._declared("right", node, depth),
            exp.Replace: lambda node, depth: self._declared("replace", node, depth),
            exp.Reverse: lambda node, depth: self._declared("reverse", node, depth),
            exp.StartsWith: lambda node, depth: self._declared("starts_with", node, depth),
            exp.EndsWith: lambda node, depth: self._declared("ends_with", node, depth),
            exp.Contains: lambda node, depth: self._declared("contains", node, depth),
            exp.StrPosition: lambda node, depth: self._declared("strpos", node, depth),
            exp.Pad: self._padded,
            exp.Concat: self._concat,
            exp.ConcatWs: self._concat_with,
            exp.DPipe: self._joined,
            exp.Extract: self._extract,
            exp.DateTrunc: self._truncated,
            exp.TimestampTrunc: self._truncated,
            exp.DateDiff: self._difference,
            exp.LastDay: self._last_day,
            exp.ToChar: self._to_char,
            exp.Dayname: lambda node, depth: day_name(self._moment("dayname", node.this, depth)),
            exp.Monthname: lambda node, depth: month_name(
                self._moment("monthname", node.this, depth)
            ),
            exp.Anonymous: self._named,
            **{getattr(exp, name): self._comparison for name in COMPARISONS},
            **{getattr(exp, name): self._arithmetic for name in ARITHMETIC},
            **{getattr(exp, name): self._function for name in FUNCTIONS},
        }

    def _function(self, node: Any, depth: int) -> Expression:
        name = FUNCTIONS[type(node).__name__]
        if node.args.get("expression") or node.expressions:
            raise BadQuestion(f"{name}() takes one argument.")
        value = self.read(node.this, depth)
        if name in DATE_PARTS:
            return self._dated(name, value)
        wanted: tuple[Type, ...] = ("text",) if name in ("lower", "upper", "length") else NUMERIC
        self._check(name, value, wanted)
        if name == "negative" and isinstance(value, Constant) and value.value is not None:
            return negated(value)
        result: Type = "integer" if name == "length" else value.type
        return Call(name, (value,), result)

    def _named(self, node: Any, depth: int) -> Expression:
        """Functions that the parser does not know by name."""
        name, inside = str(node.this).lower(), node.expressions
        if name in ("date_part", "datepart") and len(inside) == 2:
            return self._dated(text_of(inside[0]), self.read(inside[1], depth))
        if name in ("prefix", "suffix") and len(inside) == 2:
            text, *more = (self.read(each, depth) for each in inside)
            known = "starts_with" if name == "prefix" else "ends_with"
            return self._of_declared(known, text, more)
        if name == "strftime":
            return self._formatted(inside, depth)
        if name == "time_bucket":
            return self._time_bucket(inside, depth)
        if name in ("weekday", "isodow", *FROM_YEARS) and len(inside) == 1:
            part = "dayofweek" if name == "weekday" else name
            return self._dated(part, self.read(inside[0], depth))
        return self._refuse(node)
