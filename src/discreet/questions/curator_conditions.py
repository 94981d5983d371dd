"""WHERE to an `Expression`: types are checked here, so that an engine never meets a misfit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from discreet.errors import BadQuestion
from discreet.questions.expressions import (
    DATE_PARTS,
    NUMERIC,
    TEMPORAL,
    TYPE_OF_KIND,
    Call,
    ColumnValue,
    Constant,
    Expression,
    Type,
)
from discreet.questions.statement import column_name, construct, number, unrolled
from discreet.schema import Schema
from discreet.schema.columns.values import MICROSECONDS_PER_DAY, microseconds_of

MOST_TERMS = 1_000
"""Operations in one condition."""
MOST_LISTED = 10_000
"""Literals in all its lists."""
DEEPEST = 40
_SMALLEST, _LARGEST = -(2**63), 2**63 - 1

_KNOWN_PARTS = {
    "this", "expression", "expressions", "low", "high", "negate", "query", "typed", "safe", "ifs", "default",
    "decimals", "ignore_nulls",
}  # fmt: skip


class ConditionReader:
    """Reads one condition of one question."""

    def __init__(self, schema: Schema, tables: tuple[str, ...]) -> None:
        from sqlglot import exp

        self.schema, self.tables, self.exp = schema, tables, exp
        self.terms = self.listed = 0
        self.comparisons: dict[type[Any], str] = {
            exp.EQ: "=", exp.NEQ: "!=", exp.LT: "<", exp.LTE: "<=", exp.GT: ">", exp.GTE: ">=",
        }  # fmt: skip
        self.arithmetic: dict[type[Any], str] = {
            exp.Add: "+", exp.Sub: "-", exp.Mul: "*", exp.Div: "/", exp.Mod: "%",
        }  # fmt: skip
        self.functions: dict[type[Any], str] = {
            exp.Abs: "abs", exp.Floor: "floor", exp.Ceil: "ceil", exp.Lower: "lower",
            exp.Upper: "upper", exp.Length: "length", exp.Neg: "negative", exp.Year: "year",
            exp.Quarter: "quarter", exp.Month: "month", exp.Day: "day",
        }  # fmt: skip
        self.readers: dict[type[Any], Callable[[Any, int], Expression]] = {
            exp.Paren: lambda node, depth: self.read(node.this, depth),
            exp.Column: lambda node, depth: self._column(node),
            exp.Literal: lambda node, depth: self._literal(node),
            exp.Boolean: lambda node, depth: Constant(bool(node.this), "boolean"),
            exp.Null: lambda node, depth: Constant(None, "null"),
            exp.Cast: lambda node, depth: self._moment(node),
            exp.Not: lambda node, depth: Call("not", (self._truth(node.this, depth),), "boolean"),
            exp.And: lambda node, depth: self._chain(node, "and", depth),
            exp.Or: lambda node, depth: self._chain(node, "or", depth),
            exp.Between: self._between,
            exp.In: self._membership,
            exp.Is: self._is,
            exp.Like: lambda node, depth: self._pattern(node, "like", depth),
            exp.ILike: lambda node, depth: self._pattern(node, "ilike", depth),
            exp.Coalesce: self._coalesce,
            exp.Case: self._case,
            exp.Round: self._round,
            exp.Least: lambda node, depth: self._extreme(node, "least", depth),
            exp.Greatest: lambda node, depth: self._extreme(node, "greatest", depth),
            exp.Extract: self._extract,
            **dict.fromkeys(self.comparisons, self._comparison),
            **dict.fromkeys(self.arithmetic, self._arithmetic),
            **dict.fromkeys(self.functions, self._function),
        }

    def condition(self, node: Any) -> Expression:
        return self._truth(node, 0)

    def read(self, node: Any, depth: int) -> Expression:
        reader = self.readers.get(type(node))
        if reader is None:
            raise BadQuestion(
                f"WHERE takes no {construct(node)}. Use comparisons, BETWEEN, IN, LIKE, IS NULL, AND, OR, "
                "NOT, CASE, + - * / %, abs, floor, ceil, round, least, greatest, lower, upper, length, coalesce and "
                "extract."
            )
        # A modifier that is not known here would be dropped in silence, so it is refused.
        if any(v for k, v in node.args.items() if k not in _KNOWN_PARTS) and type(node) not in (
            self.exp.Column,
            self.exp.Literal,
            self.exp.Cast,
        ):
            raise BadQuestion(f"WHERE takes {construct(node)} in its plain form only.")
        self.terms += 1
        if self.terms > 4 * MOST_TERMS:
            raise BadQuestion(f"WHERE has more than {MOST_TERMS:,} terms; ask something shorter.")
        if depth > DEEPEST:
            raise BadQuestion(f"WHERE is nested more than {DEEPEST} deep; flatten it.")
        made = reader(node, depth + 1)
        return Call("not", (made,), "boolean") if node.args.get("negate") else made

    def _truth(self, node: Any, depth: int) -> Expression:
        made = self.read(node, depth)
        if made.type not in ("boolean", "null"):
            raise BadQuestion(f"A condition is true or false, and {_described(made)} is neither.")
        return made

    def _chain(self, node: Any, name: str, depth: int) -> Expression:
        parts = unrolled(node)
        if len(parts) > MOST_TERMS:
            raise BadQuestion(f"WHERE has more than {MOST_TERMS:,} terms; ask something shorter.")
        return Call(name, tuple(self._truth(one, depth) for one in parts), "boolean")

    def _comparison(self, node: Any, depth: int) -> Expression:
        return self._compared(
            self.comparisons[type(node)],
            [self.read(node.this, depth), self.read(node.expression, depth)],
        )

    def _compared(self, name: str, parts: list[Expression]) -> Expression:
        alike = self._alike(parts)
        if alike[0].type == "boolean" and name not in ("=", "!=", "in"):
            raise BadQuestion("True and false have no order; compare them by = or <>.")
        return Call(name, tuple(alike), "boolean")

    def _between(self, node: Any, depth: int) -> Expression:
        value = self.read(node.this, depth)
        ends = [self.read(node.args[end], depth) for end in ("low", "high")]
        return Call(
            "and",
            (self._compared(">=", [value, ends[0]]), self._compared("<=", [value, ends[1]])),
            "boolean",
        )

    def _membership(self, node: Any, depth: int) -> Expression:
        if node.args.get("query") or not node.expressions:
            raise BadQuestion("IN takes a list of literals, and no subquery.")
        value = self.read(node.this, depth)
        self.listed += len(node.expressions)
        if self.listed > MOST_LISTED:
            raise BadQuestion(f"The lists of IN have more than {MOST_LISTED:,} literals.")
        listed: list[Expression] = []
        for one in node.expressions:
            self.terms -= 1  # counted as a listed literal instead
            made = self.read(one, depth)
            if type(made) is Call and made.name == "negative":
                made = _negated(made.arguments[0])
            if not isinstance(made, Constant):
                raise BadQuestion(f"IN takes a list of literals, and no {construct(one)}.")
            listed.append(made)
        return self._compared("in", [value, *listed])

    def _is(self, node: Any, depth: int) -> Expression:
        value = self.read(node.this, depth)
        right = node.expression
        if type(right) is self.exp.Null:
            return Call("is null", (value,), "boolean")
        if type(right) is self.exp.Boolean and value.type in ("boolean", "null"):
            return Call("is true" if right.this else "is false", (value,), "boolean")
        raise BadQuestion("IS takes NULL or NOT NULL, and of a boolean TRUE or FALSE.")

    def _pattern(self, node: Any, name: str, depth: int) -> Expression:
        value, pattern = self.read(node.this, depth), self.read(node.expression, depth)
        if value.type != "text" or not isinstance(pattern, Constant) or pattern.type != "text":
            raise BadQuestion("LIKE compares a text column with a text such as 'a%'.")
        return Call(name, (value, pattern), "boolean")

    def _arithmetic(self, node: Any, depth: int) -> Expression:
        name = self.arithmetic[type(node)]
        left, right = self.read(node.this, depth), self.read(node.expression, depth)
        for part in (left, right):
            if part.type not in (*NUMERIC, "null"):
                raise BadQuestion(f"{name} takes numbers, and {_described(part)} is not one.")
        whole = left.type == right.type == "integer" and name != "/"
        return Call(name, (left, right), "integer" if whole else "number")

    def _function(self, node: Any, depth: int) -> Expression:
        name = self.functions[type(node)]
        if node.args.get("expression") or node.expressions:
            raise BadQuestion(f"{name}() takes one argument.")
        value = self.read(node.this, depth)
        if name in DATE_PARTS:
            return self._dated(name, value)
        wanted: tuple[Type, ...] = ("text",) if name in ("lower", "upper", "length") else NUMERIC
        if value.type not in wanted:
            raise BadQuestion(
                f"{name}() takes a {' or '.join(wanted)}, and {_described(value)} is not one."
            )
        if name == "negative" and isinstance(value, Constant):
            return _negated(value)
        result: Type = "integer" if name == "length" else value.type
        return Call(name, (value,), result)

    def _coalesce(self, node: Any, depth: int) -> Expression:
        parts = [self.read(one, depth) for one in (node.this, *node.expressions)]
        alike, type_ = self._of_one_type(parts, "coalesce()")
        return Call("coalesce", tuple(alike), type_)

    def _of_one_type(self, parts: list[Expression], where: str) -> tuple[list[Expression], Type]:
        """Values that one result is taken from; integers beside numbers are numbers."""
        alike = self._alike(parts)
        types = {part.type for part in alike} - {"null"}
        if types == {"integer", "number"}:
            return alike, "number"
        if len(types) != 1:
            raise BadQuestion(f"{where} takes values of one type, at least one of them not NULL.")
        return alike, types.pop()

    def _extreme(self, node: Any, name: str, depth: int) -> Expression:
        parts = [self.read(one, depth) for one in (node.this, *node.expressions)]
        alike, type_ = self._of_one_type(parts, f"{name}()")
        if type_ not in NUMERIC:
            raise BadQuestion(f"{name}() takes numbers, and {_described(parts[0])} is not one.")
        return Call(name, tuple(alike), type_)

    def _case(self, node: Any, depth: int) -> Expression:
        """CASE WHEN a THEN x ... ELSE y END as (a, x, ..., y); CASE v WHEN w compares v with w."""
        conditions: list[Expression] = []
        for one in node.args["ifs"]:
            if node.this is None:
                conditions.append(self._truth(one.this, depth))
            else:
                pair = [self.read(node.this, depth), self.read(one.this, depth)]
                conditions.append(self._compared("=", pair))
        default = node.args.get("default")
        values = [self.read(one.args["true"], depth) for one in node.args["ifs"]]
        values.append(Constant(None, "null") if default is None else self.read(default, depth))
        alike, type_ = self._of_one_type(values, "CASE")
        pairs = zip(conditions, alike[:-1], strict=True)
        return Call("case", (*(part for pair in pairs for part in pair), alike[-1]), type_)

    def _round(self, node: Any, depth: int) -> Expression:
        """round(x, 2) is round(x * 100) / 100."""
        value = self.read(node.this, depth)
        if value.type not in NUMERIC:
            raise BadQuestion(f"round() takes a number, and {_described(value)} is not one.")
        digits = node.args.get("decimals")
        places = Constant(0, "integer") if digits is None else self.read(digits, depth)
        if not (
            isinstance(places, Constant)
            and places.type == "integer"
            and abs(int(places.value or 0)) <= 15
        ):
            raise BadQuestion(
                "round(value, digits) takes a whole number of digits, from -15 to 15."
            )
        wanted = int(places.value or 0)
        if wanted == 0 or (wanted > 0 and value.type == "integer"):
            return Call("round", (value,), value.type)
        scale = Constant(float(10 ** abs(wanted)), "number")
        there, back = ("*", "/") if wanted > 0 else ("/", "*")
        moved = Call("round", (Call(there, (value, scale), "number"),), "number")
        return Call(back, (moved, scale), "number")

    def _extract(self, node: Any, depth: int) -> Expression:
        name = str(node.this.name).lower()
        name = {"dow": "dayofweek"}.get(name, name)
        if name not in DATE_PARTS:
            raise BadQuestion(f"extract() takes one of {', '.join(DATE_PARTS)}.")
        return self._dated(name, self.read(node.expression, depth))

    def _dated(self, name: str, value: Expression) -> Expression:
        if value.type not in TEMPORAL:
            raise BadQuestion(f"{name}() takes a date, and {_described(value)} is not one.")
        return Call(name, (value,), "integer")

    def _column(self, node: Any) -> Expression:
        column = self.schema.column(column_name(node, self.schema, self.tables))
        return ColumnValue(column.name, TYPE_OF_KIND[column.kind])

    def _literal(self, node: Any) -> Constant:
        if node.is_string:
            text = str(node.this)
            if "\x00" in text or any("\ud800" <= letter <= "\udfff" for letter in text):
                raise BadQuestion("A text in the question holds a NUL or half a surrogate pair.")
            return Constant(text, "text")
        value = number(str(node.this))
        if isinstance(value, int) and _SMALLEST <= value <= _LARGEST:
            return Constant(value, "integer")
        return _double(value)

    def _moment(self, node: Any) -> Expression:
        """DATE '2020-01-31' or TIMESTAMP '...': the only casts."""
        types = self.exp.DataType.Type
        to = node.args["to"].this
        inside = node.this
        if to in (types.DATE, types.TIMESTAMP) and type(inside) is self.exp.Literal:
            return _temporal(str(inside.this), "date" if to == types.DATE else "datetime")
        raise BadQuestion("WHERE takes no CAST; write dates as DATE '2020-01-31'.")

    def _alike(self, parts: list[Expression]) -> list[Expression]:
        """Parts that can be compared: literals take the type of what they stand beside."""
        leading: Type = next(
            (one.type for one in parts if not isinstance(one, Constant) and one.type != "null"),
            next((one.type for one in parts if one.type != "null"), "null"),
        )
        fitted = [_fitted(one, leading) for one in parts]
        families = {_family(one.type) for one in fitted} - {"null"}
        if len(families) > 1:
            raise BadQuestion(
                f"{_described(parts[0]).capitalize()} cannot be compared with {_described(parts[1])}."
            )
        return fitted


def _fitted(part: Expression, leading: Type) -> Expression:
    if not isinstance(part, Constant):
        return part
    if leading in TEMPORAL and part.type == "text":
        assert isinstance(part.value, str)
        return _temporal(part.value, leading)
    if leading == "text" and part.type == "integer":
        return Constant(str(part.value), "text")
    return part


def _temporal(text: str, wanted: Type) -> Constant:
    moment = microseconds_of(text)
    if moment is None:
        raise BadQuestion("A date in the question is not readable; write DATE '2020-01-31'.")
    if wanted == "date" and moment % MICROSECONDS_PER_DAY == 0:
        return Constant(moment // MICROSECONDS_PER_DAY, "date")
    return Constant(moment, "datetime")


def _double(value: Any) -> Constant:
    number = float(value)
    if number in (float("inf"), float("-inf")):
        raise BadQuestion("A number in the question is too large.")
    return Constant(number, "number")


def _negated(value: Expression) -> Expression:
    assert isinstance(value, Constant) and isinstance(value.value, (int, float))
    return Constant(-value.value, value.type)


def _family(type_: Type) -> str:
    return "numeric" if type_ in NUMERIC else "temporal" if type_ in TEMPORAL else type_


def _described(part: Expression) -> str:
    if isinstance(part, ColumnValue):
        return f"column {part.column!r} ({part.type})"
    if isinstance(part, Constant):
        return f"a {part.type} literal" if part.type != "null" else "NULL"
    return f"{part.name}(...) ({part.type})"
