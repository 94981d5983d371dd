"""SQL to an `Expression`: for WHERE and for the keys of GROUP BY, of releases and of the curator.

Types are checked here, so that an engine never meets a misfit. What has no column in it is worked out
here too.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from discreet.errors import BadQuestion
from discreet.questions.calendar_texts import day_name, formatted, month_name
from discreet.questions.dialects.statement import bare, column_name, construct, number, unrolled
from discreet.questions.expressions import (
    DATE_PARTS,
    LARGEST_INTEGER,
    MIRRORED,
    NUMERIC,
    SMALLEST_INTEGER,
    TEMPORAL,
    TRUNCATED,
    TYPE_OF_KIND,
    Call,
    ColumnValue,
    Constant,
    Expression,
    Type,
)
from discreet.questions.literals import (
    as_moment,
    converted,
    described,
    double,
    family,
    folded_constant,
    months_later,
    negated,
    temporal,
    text_of,
    type_named,
)
from discreet.questions.text_functions import of_declared_values
from discreet.questions.written_size import MOST_LEVELS, MOST_WRITTEN, written_size
from discreet.schema import CategoryColumn, Schema
from discreet.schema.columns.values import (
    MICROSECONDS_PER_DAY,
    boolean_of,
    category_text_of,
    day_of,
    double_of,
)

MOST_TERMS = 1_000
"""Operations in one condition of a live question, each of which an engine works out for every row."""
MOST_LISTED = 10_000
"""Literals in all its lists."""
DEEPEST = 40
POWERS = range(1, 9)
"""Whole powers that are written out as products."""
LONGEST_PATTERN, MOST_WILDCARDS = 1_000, 20
"""Characters behind LIKE, and how many of them may be %: databases match by recursion, whose depth hangs on the text."""
MOST_JOINED, LEAST_JOINED = 1 << 13, 64
"""Letters of a joined text, shared out among its parts, and of each part at least: without an end, a thousand
copies of one person's long text would fill an engine's memory."""
LONGEST_ROUNDING = 15
"""Digits after the point that `round` keeps, or before it."""

_KNOWN_PARTS = {
    "this", "expression", "expressions", "low", "high", "negate", "query", "typed", "safe",
}  # fmt: skip
_CLOCKS = ("CurrentDate", "CurrentTimestamp", "CurrentTime", "CurrentDatetime", "Localtimestamp")
_CLOCK_NAMES = ("now", "today", "getdate", "sysdate")
_USED = (
    "Use comparisons, BETWEEN, IN, LIKE, IS NULL, AND, OR, NOT, CASE, + - * / %, abs, floor, ceil, round, "
    "sqrt, ln, log, power, lower, upper, trim, substr, left, right, replace, split_part, starts_with, ends_with, contains, strpos, length, concat, coalesce, nullif, greatest, least, CAST, extract, "
    "date_trunc, strftime, dayname and monthname."
)
_PART_NAMES = {"dow": "dayofweek", "doy": "dayofyear", "dayofmonth": "day", "weekofyear": "week"}
_MONTHS = {"month": 1, "quarter": 3, "year": 12}
_CLOCK_SIZES = {"second": 10**6, "minute": 60 * 10**6, "hour": 3600 * 10**6}
_DAY_SIZES = {"day": 1, "week": 7}


class ExpressionReader:
    """Reads the expressions of one question."""

    def __init__(
        self,
        schema: Schema,
        tables: tuple[str, ...],
        *,
        clause: str = "WHERE",
        most_terms: int = MOST_TERMS,
        most_listed: int = MOST_LISTED,
        deepest: int = DEEPEST,
        is_written: bool = True,
    ) -> None:
        from sqlglot import exp

        self.schema, self.tables, self.exp, self.clause = schema, tables, exp, clause
        self.most_terms, self.most_listed, self.deepest = most_terms, most_listed, deepest
        self.is_written = is_written  # for a database; else it is worked out on cells
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
            exp.Quarter: "quarter", exp.Month: "month", exp.Week: "week", exp.WeekOfYear: "week",
            exp.Day: "day", exp.DayOfMonth: "day", exp.DayOfWeek: "dayofweek",
            exp.DayOfWeekIso: "isodow", exp.DayOfYear: "dayofyear", exp.Hour: "hour",
            exp.Minute: "minute", exp.Second: "second",
        }  # fmt: skip
        self.readers: dict[type[Any], Callable[[Any, int], Expression]] = {
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
            exp.Sqrt: lambda node, depth: self._real("sqrt", node.this, depth),
            exp.Ln: lambda node, depth: self._real("ln", node.this, depth),
            exp.Log: self._logarithm,
            exp.Pow: self._power,
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
            exp.DPipe: self._joined,
            exp.Extract: self._extract,
            exp.DateTrunc: self._truncated,
            exp.TimestampTrunc: self._truncated,
            exp.Dayname: lambda node, depth: day_name(self._moment("dayname", node.this, depth)),
            exp.Monthname: lambda node, depth: month_name(
                self._moment("monthname", node.this, depth)
            ),
            exp.Anonymous: self._named,
            **dict.fromkeys(self.comparisons, self._comparison),
            **dict.fromkeys(self.arithmetic, self._arithmetic),
            **dict.fromkeys(self.functions, self._function),
        }
        self.own_parts = {
            exp.Cast, exp.TryCast, exp.Column, exp.Literal, exp.Case, exp.If, exp.Round, exp.Trim,
            exp.Substring, exp.Concat, exp.DateTrunc, exp.TimestampTrunc, exp.Greatest, exp.Least,
            exp.Anonymous, exp.Date, exp.WidthBucket, exp.SplitPart, exp.Replace, exp.StrPosition, exp.Pad,
        }  # fmt: skip

    def condition(self, node: Any) -> Expression:
        """What stands behind WHERE."""
        return self._truth(node, 0)

    def key(self, node: Any) -> Expression:
        """What stands behind GROUP BY."""
        return self.read(node, 0)

    def read(self, node: Any, depth: int) -> Expression:
        reader = self.readers.get(type(node))
        if reader is None:
            self._refuse(node)
        # A modifier that is not known here would be dropped in silence, so it is refused.
        if type(node) not in self.own_parts and any(
            value for key, value in node.args.items() if key not in _KNOWN_PARTS
        ):
            raise BadQuestion(f"{self.clause} takes {construct(node)} in its plain form only.")
        self.terms += 1
        if self.terms > 4 * self.most_terms:
            raise BadQuestion(
                f"{self.clause} has more than {self.most_terms:,} terms; ask something shorter."
            )
        if depth > self.deepest:
            raise BadQuestion(f"{self.clause} is nested more than {self.deepest} deep; flatten it.")
        made = folded_constant(reader(node, depth + 1))
        if depth == 0 and self.is_written:
            self._check_written(made)
        return Call("not", (made,), "boolean") if node.args.get("negate") else made

    def _check_written(self, made: Expression) -> None:
        many, levels = written_size(made)
        if many > MOST_WRITTEN or levels > MOST_LEVELS:
            raise BadQuestion(
                f"{self.clause} is too long once it is written out for a database: {many:,} operations, {levels} of them one "
                f"inside another, and at most {MOST_WRITTEN:,} and {MOST_LEVELS} are. Nest fewer casts and functions."
            )

    def _refuse(self, node: Any) -> NoReturn:
        name = type(node).__name__
        asked = str(node.this).lower() if name == "Anonymous" else ""
        if name in _CLOCKS or asked in _CLOCK_NAMES:
            raise BadQuestion(
                "CURRENT_DATE, now() and the like change while a question stays the same; write the date, "
                "as in DATE '2020-01-31'."
            )
        if name == "Interval":
            raise BadQuestion(
                "An INTERVAL is added to a literal date only, as in DATE '2020-01-31' + INTERVAL '1 month'. "
                "Move it to that side of the comparison."
            )
        if name == "ToChar" or asked in ("date_format", "format_date"):
            raise BadQuestion(
                f"{self.clause} takes no {asked or 'to_char'}(). Write a date as a text with strftime(d, '%Y-%m'), or "
                "group by date_trunc('month', d)."
            )
        if name.endswith("Diff") or asked == "age":
            raise BadQuestion(
                f"{self.clause} takes no {construct(node)}. Write a difference of years as year(DATE '2023-12-31') - year(d), "
                "and of days as DATE '2023-12-31' - d."
            )
        if isinstance(node, self.exp.AggFunc):
            raise BadQuestion(f"{self.clause} takes no aggregate; compare aggregates in HAVING.")
        raise BadQuestion(f"{self.clause} takes no {construct(node)}. {_USED}")

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
        if name in ("weekday", "isodow") and len(inside) == 1:
            part = "dayofweek" if name == "weekday" else name
            return self._dated(part, self.read(inside[0], depth))
        return self._refuse(node)

    def _truth(self, node: Any, depth: int) -> Expression:
        made = self.read(node, depth)
        if made.type not in ("boolean", "null"):
            raise BadQuestion(f"A condition is true or false, and {described(made)} is neither.")
        return made

    def _chain(self, node: Any, name: str, depth: int) -> Expression:
        parts = unrolled(node)
        if len(parts) > self.most_terms:
            raise BadQuestion(
                f"{self.clause} has more than {self.most_terms:,} terms; ask something shorter."
            )
        return Call(name, tuple(self._truth(one, depth) for one in parts), "boolean")

    def _comparison(self, node: Any, depth: int) -> Expression:
        return self._compared(
            self.comparisons[type(node)],
            [self.read(node.this, depth), self.read(node.expression, depth)],
        )

    def _compared(self, name: str, parts: list[Expression]) -> Expression:
        alike = self._alike(self._as_numerals(name, parts))
        if alike[0].type == "boolean" and name not in ("=", "!=", "in", "distinct"):
            raise BadQuestion("True and false have no order; compare them by = or <>.")
        return Call(name, tuple(alike), "boolean")

    def _as_numerals(self, name: str, parts: list[Expression]) -> list[Expression]:
        """A category of numerals has the order of its numbers where it is compared with one: '10' > 9."""
        if name not in MIRRORED or not any(
            isinstance(each, Constant) and each.type in NUMERIC for each in parts
        ):
            return parts
        return [
            Call("cast", (each,), "number")
            if isinstance(each, ColumnValue) and self._has_numerals(each.column)
            else each
            for each in parts
        ]

    def _has_numerals(self, name: str) -> bool:
        column = self.schema.column(name)
        return (
            isinstance(column, CategoryColumn)
            and bool(column.values)
            and all(double_of(value) is not None for value in column.values)
        )

    def _distinct(self, node: Any, depth: int) -> Expression:
        left, right = self.read(node.this, depth), self.read(node.expression, depth)
        if isinstance(left, Constant):
            left, right = right, left
        return self._compared("distinct", [left, right])

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
        if self.listed > self.most_listed:
            raise BadQuestion(f"The lists of IN have more than {self.most_listed:,} literals.")
        listed: list[Expression] = []
        for one in node.expressions:
            before = self.terms
            made = self.read(one, depth)
            self.terms = before  # counted as a listed literal instead
            if not isinstance(made, Constant):
                raise BadQuestion(f"IN takes a list of literals, and no {construct(one)}.")
            listed.append(made)
        return self._compared("in", [value, *dict.fromkeys(listed)])

    def _is(self, node: Any, depth: int) -> Expression:
        value = self.read(node.this, depth)
        right = node.expression
        if type(right) is self.exp.Null:
            return Call("is null", (value,), "boolean")
        if type(right) is not self.exp.Boolean:
            raise BadQuestion("IS takes NULL or NOT NULL, and of a boolean TRUE or FALSE.")
        if value.type not in ("boolean", "null"):
            raise BadQuestion(
                f"IS takes NULL or NOT NULL here: {described(value)} is not boolean, so it is never TRUE "
                "or FALSE."
            )
        return Call("is true" if right.this else "is false", (value,), "boolean")

    def _pattern(self, node: Any, name: str, depth: int) -> Expression:
        value, pattern = self.read(node.this, depth), self.read(node.expression, depth)
        if pattern == Constant(None, "null"):
            return pattern
        if value.type != "text" or not isinstance(pattern, Constant) or pattern.type != "text":
            raise BadQuestion("LIKE compares a text column with a text such as 'a%'.")
        text = str(pattern.value)
        if len(text) > LONGEST_PATTERN or text.count("%") > MOST_WILDCARDS:
            raise BadQuestion(
                f"A pattern of LIKE has {len(text):,} characters, {text.count('%'):,} of them %; at most "
                f"{LONGEST_PATTERN:,} and {MOST_WILDCARDS} are matched. Write several conditions, joined by AND or OR."
            )
        return Call(name, (value, pattern), "boolean")

    def _arithmetic(self, node: Any, depth: int) -> Expression:
        name = self.arithmetic[type(node)]
        if type(bare(node.expression)) is self.exp.Interval and name in ("+", "-"):
            return self._moved(self.read(node.this, depth), bare(node.expression), name)
        left, right = self.read(node.this, depth), self.read(node.expression, depth)
        types = left.type, right.type
        if name in ("+", "-") and types == ("date", "integer"):
            return Call(name, (left, right), "date")
        if name == "-" and types == ("date", "date"):
            return Call(name, (left, right), "integer")
        for part in (left, right):
            if part.type not in (*NUMERIC, "null"):
                raise BadQuestion(f"{name} takes numbers, and {described(part)} is not one.")
        whole = types == ("integer", "integer") and name != "/"
        return Call(name, (left, right), "integer" if whole else "number")

    def _moved(self, start: Expression, interval: Any, name: str) -> Expression:
        """A literal date plus or minus an INTERVAL."""
        if isinstance(start, Constant) and start.type == "text":
            start = temporal(str(start.value), "date")
        if not isinstance(start, Constant) or start.type not in TEMPORAL:
            self._refuse(interval)
        unit = str(getattr(interval.args.get("unit"), "name", "")).lower().rstrip("s")
        amount = number(text_of(interval.this)) if interval.this is not None else None
        if not isinstance(amount, int) or abs(amount) > 10**6:
            raise BadQuestion("An INTERVAL is written as INTERVAL '3 days', with a whole number.")
        steps = amount if name == "+" else -amount
        assert isinstance(start.value, int)
        is_date = start.type == "date"
        try:
            if unit in _MONTHS:
                return months_later(start, steps * _MONTHS[unit])
            if unit in _DAY_SIZES:
                size = 1 if is_date else MICROSECONDS_PER_DAY
                return Constant(start.value + steps * _DAY_SIZES[unit] * size, start.type)
            if unit in _CLOCK_SIZES:
                moment = start.value * (MICROSECONDS_PER_DAY if is_date else 1)
                return Constant(moment + steps * _CLOCK_SIZES[unit], "datetime")
        except (ValueError, OverflowError):
            raise BadQuestion("A date in the question lies outside the years 1 to 9999.") from None
        known = ", ".join((*_CLOCK_SIZES, *_DAY_SIZES, *_MONTHS))
        raise BadQuestion(f"An INTERVAL is of one of {known}.")

    def _function(self, node: Any, depth: int) -> Expression:
        name = self.functions[type(node)]
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

    def _check(self, name: str, value: Expression, wanted: tuple[Type, ...]) -> None:
        if value.type not in (*wanted, "null"):
            raise BadQuestion(
                f"{name}() takes a {' or '.join(wanted)}, and {described(value)} is not one."
            )

    def _round(self, node: Any, depth: int) -> Expression:
        value = self.read(node.this, depth)
        self._check("round", value, NUMERIC)
        self._plain(node, "this", "decimals")
        if node.args.get("decimals") is None:
            return Call("round", (value,), value.type)
        digits = self.read(node.args["decimals"], depth)
        if (
            not isinstance(digits, Constant)
            or not isinstance(digits.value, int)
            or abs(digits.value) > LONGEST_ROUNDING
        ):
            raise BadQuestion("round(x, d) takes a whole number d from -15 to 15.")
        if value.type == "integer":
            if digits.value >= 0:
                return value
            value = Call("cast", (value,), "number")
        return Call("round", (value, digits), "number")

    def _real(self, name: str, inside: Any, depth: int) -> Expression:
        value = self.read(inside, depth)
        self._check(name, value, NUMERIC)
        return folded_constant(Call(name, (value,), "number"))

    def _logarithm(self, node: Any, depth: int) -> Expression:
        """log(x) is to base 10, as in most databases; log(b, x) to base b."""
        base: Expression = Constant(10, "integer")
        inside = node.this
        if node.expression is not None:
            base, inside = self.read(node.this, depth), node.expression
        if (
            not isinstance(base, Constant)
            or base.type not in NUMERIC
            or float(base.value or 0) <= 1
        ):
            raise BadQuestion("log(base, x) takes a base above 1, which is a number.")
        divisor = Constant(math.log(float(base.value or 0)), "number")
        return Call("/", (self._real("ln", inside, depth), divisor), "number")

    def _power(self, node: Any, depth: int) -> Expression:
        """A whole power is a product; a power of one half is a root."""
        raised, before = self.read(node.expression, depth), self.terms
        value = self.read(node.this, depth)
        self._check("power", value, NUMERIC)
        known = raised.value if isinstance(raised, Constant) else None
        if known == 0.5:
            return self._real("sqrt", node.this, depth)
        if isinstance(known, bool) or not isinstance(known, (int, float)) or known not in POWERS:
            raise BadQuestion(
                f"{self.clause} takes power(x, p) with p of 0.5 or a whole number from 1 to {POWERS[-1]}."
            )
        self.terms += (int(known) - 1) * (self.terms - before)  # it is written out so often
        made = value
        for _ in range(int(known) - 1):
            made = Call("*", (made, value), value.type)
        return made

    def _bucket(self, node: Any, depth: int) -> Expression:
        """width_bucket(x, low, high, n): 1 to n, 0 below `low`, and n + 1 from `high` on."""
        self._plain(node, "this", "min_value", "max_value", "num_buckets")
        parts = [
            self.read(node.args[each], depth) for each in ("min_value", "max_value", "num_buckets")
        ]
        before = self.terms
        value = self.read(node.this, depth)
        self.terms += 3 * (self.terms - before)  # it is written out so often
        self._check("width_bucket", value, NUMERIC)
        low, high, many = parts
        ends = [_number_in(each) for each in parts]
        if not (
            ends[0] < ends[1] and ends[2] >= 1 and isinstance(getattr(many, "value", 0.5), int)
        ):
            raise BadQuestion(
                "width_bucket(x, low, high, n) takes two numbers, low below high, and a whole number n."
            )
        width = Constant((ends[1] - ends[0]) / ends[2], "number")
        steps = Call("/", (Call("-", (value, low), "number"), width), "number")
        place = Call("cast", (Call("floor", (steps,), "number"),), "integer")
        one, beyond = Constant(1, "integer"), Constant(int(ends[2]) + 1, "integer")
        inside = Call("least", (Call("+", (place, one), "integer"), many), "integer")
        below, above = (
            self._compared("<", [value, low]),
            self._compared(">=", [value, high]),
        )
        unknown = Call("is null", (value,), "boolean")
        nothing = Constant(None, "null")
        return Call(
            "case",
            (unknown, nothing, below, Constant(0, "integer"), above, beyond, inside),
            "integer",
        )

    def _trim(self, node: Any, depth: int) -> Expression:
        self._plain(node, "this", "position")
        value = self.read(node.this, depth)
        position = str(node.args.get("position") or "BOTH").upper()
        name = {"LEADING": "ltrim", "TRAILING": "rtrim"}.get(position, "trim")
        self._check(name, value, ("text",))
        return Call(name, (value,), "text")

    def _substring(self, node: Any, depth: int) -> Expression:
        self._plain(node, "this", "start", "length")
        value = self.read(node.this, depth)
        start = node.args.get("start")
        length = node.args.get("length")
        return self._cut_text(
            value,
            self.read(start, depth) if start is not None else Constant(1, "integer"),
            self.read(length, depth) if length is not None else Constant(2**31 - 1, "integer"),
        )

    def _left(self, node: Any, depth: int) -> Expression:
        first = Constant(1, "integer")
        return self._cut_text(self.read(node.this, depth), first, self.read(node.expression, depth))

    def _declared(self, name: str, node: Any, depth: int) -> Expression:
        """A function that is worked out on declared values."""
        places = ("expression", "substr", "delimiter", "part_index", "replacement")
        self._plain(node, "this", *places)
        more = [self.read(node.args[each], depth) for each in places if node.args.get(each)]
        return self._of_declared(name, self.read(node.this, depth), more)

    def _padded(self, node: Any, depth: int) -> Expression:
        self._plain(node, "this", "expression", "fill_pattern", "is_left")
        fill = node.args.get("fill_pattern")
        more = [
            self.read(node.expression, depth),
            Constant(" ", "text") if fill is None else self.read(fill, depth),
        ]
        name = "lpad" if node.args.get("is_left") else "rpad"
        return self._of_declared(name, self.read(node.this, depth), more)

    def _of_declared(self, name: str, value: Expression, more: list[Expression]) -> Expression:
        made = of_declared_values(name, value, more, self.schema)
        if isinstance(made, Call):  # every declared value is listed in it
            self.terms += sum(len(getattr(each, "arguments", ())) for each in made.arguments)
        return made

    def _cut_text(self, value: Expression, start: Expression, length: Expression) -> Expression:
        self._check("substr", value, ("text",))
        for part, least in ((start, 1), (length, 0)):
            known = isinstance(part, Constant) and isinstance(part.value, int)
            if not known or not least <= int(getattr(part, "value", 0) or 0) < 2**31:
                raise BadQuestion(
                    "substr(text, start, length) takes whole numbers: a start from 1 and a length from 0."
                )
        return Call("substr", (value, start, length), "text")

    def _concat(self, node: Any, depth: int) -> Expression:
        """CONCAT leaves nulls out."""
        self._plain(node, "expressions", "safe", "coalesce")
        parts = [self.read(one, depth) for one in node.expressions]
        empty = Constant("", "text")
        filled = [Call("coalesce", (self._as_text(one), empty), "text") for one in parts]
        return _concatenated([folded_constant(one) for one in filled])

    def _joined(self, node: Any, depth: int) -> Expression:
        return _concatenated([self._as_text(self.read(one, depth)) for one in unrolled(node)])

    def _as_text(self, value: Expression) -> Expression:
        if value.type in ("integer", "boolean", "date"):
            return folded_constant(Call("cast", (value,), "text"))
        self._check("concat", value, ("text",))
        return value

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

    def _extract(self, node: Any, depth: int) -> Expression:
        return self._dated(str(node.this.name), self.read(node.expression, depth))

    def _dated(self, asked: str, value: Expression) -> Expression:
        name = asked.lower()
        name = _PART_NAMES.get(name, name)
        if name not in DATE_PARTS:
            raise BadQuestion(f"extract() takes one of {', '.join(DATE_PARTS)}.")
        value = as_moment(value)
        if value.type not in (*TEMPORAL, "null"):
            raise BadQuestion(f"{name}() takes a date, and {described(value)} is not one.")
        return Call(name, (value,), "integer")

    def _truncated(self, node: Any, depth: int) -> Expression:
        self._plain(node, "this", "unit", "zone", "input_type_preserved")
        unit = str(getattr(node.args.get("unit"), "name", "")).lower()
        if unit not in TRUNCATED or node.args.get("zone"):
            raise BadQuestion(f"date_trunc() takes one of {', '.join(TRUNCATED)} in quotes, first.")
        value = self._moment("date_trunc", node.this, depth)
        return Call("date_trunc", (Constant(unit, "text"), value), value.type)

    def _formatted(self, inside: Sequence[Any], depth: int) -> Expression:
        """strftime(d, '%Y-%m'), or the other way round, as in SQLite."""
        patterns = [each for each in inside if type(each) is self.exp.Literal and each.is_string]
        moments = [each for each in inside if each not in patterns]
        if len(patterns) != 1 or len(moments) != 1:
            raise BadQuestion("strftime() takes a date and a pattern in quotes, such as '%Y-%m'.")
        moment = self._moment("strftime", moments[0], depth)
        return formatted(str(patterns[0].this), moment)

    def _moment(self, name: str, node: Any, depth: int) -> Expression:
        value = as_moment(self.read(node, depth))
        if value.type not in (*TEMPORAL, "null"):
            raise BadQuestion(f"{name}() takes a date, and {described(value)} is not one.")
        return value

    def _dated_cast(self, node: Any, depth: int) -> Expression:
        self._plain(node, "this")
        return converted(self.read(node.this, depth), "date")

    def _cast(self, node: Any, depth: int) -> Expression:
        """CAST(x AS ...), x::..., DATE '2020-01-31'."""
        to = node.args["to"]
        self._plain(node, "this", "to", "safe")
        wanted = type_named(str(getattr(to.this, "name", "")))
        if wanted is None or to.expressions:
            raise BadQuestion(
                "CAST takes INTEGER, DOUBLE, VARCHAR, DATE and TIMESTAMP, without a length."
            )
        inside = self.read(node.this, depth)
        if isinstance(inside, Constant) and inside.type == "text" and wanted in TEMPORAL:
            return temporal(str(inside.value), wanted)
        return converted(inside, wanted)

    def _plain(self, node: Any, *known: str) -> None:
        if any(value for key, value in node.args.items() if key not in known):
            raise BadQuestion(f"{self.clause} takes {construct(node)} in its plain form only.")

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
        if isinstance(value, int) and SMALLEST_INTEGER <= value <= LARGEST_INTEGER:
            return Constant(value, "integer")
        return double(value)

    def _alike(self, parts: Sequence[Expression]) -> list[Expression]:
        """Parts that can be compared: literals take the type of what they stand beside."""
        leading = next(
            (one for one in parts if not isinstance(one, Constant) and one.type != "null"),
            next((one for one in parts if one.type != "null"), parts[0]),
        )
        fitted = [self._fitted(one, leading) for one in parts]
        families: dict[str, Expression] = {}
        for one in fitted:
            if one.type != "null":
                families.setdefault(family(one.type), one)
        if len(families) > 1:
            one, other = list(families.values())[:2]
            hint = ""
            if isinstance(leading, ColumnValue):
                hint = self._example(leading.column)
            left = described(one)
            raise BadQuestion(
                f"{left[0].upper()}{left[1:]} cannot be compared with {described(other)}.{hint}"
            )
        return fitted

    def _example(self, name: str) -> str:
        column = self.schema.column(name)
        if isinstance(column, CategoryColumn):
            return f" Compare it with a text such as {column.values[0]!r}." if column.values else ""
        if column.kind == "boolean":
            return " Compare it with true or false."
        return f" Compare it with {getattr(column, 'example', 'a value of its kind')}."

    def _fitted(self, part: Expression, leading: Expression) -> Expression:
        if not isinstance(part, Constant) or part.value is None:
            return part
        if leading.type in TEMPORAL and part.type == "text":
            return temporal(str(part.value), leading.type)
        if leading.type == "boolean" and part.type != "boolean":
            truth = boolean_of(part.value)
            return part if truth is None else Constant(truth, "boolean")
        if leading.type == "text" and part.type in ("integer", "boolean"):
            return Constant(str(category_text_of(part.value)), "text")
        if leading.type == "text" and part.type == "date" and isinstance(part.value, int):
            return Constant(day_of(part.value).isoformat(), "text")
        if leading.type == "text" and part.type == "number":
            return Constant(self._spelling(part.value, leading), "text")
        return part

    def _spelling(self, value: object, beside: Expression) -> str:
        """A number compared with a category: as the declared value that spells it, else its digits."""
        if isinstance(beside, ColumnValue):
            column = self.schema.column(beside.column)
            code = column.code_of(value) if isinstance(column, CategoryColumn) else None
            if (
                isinstance(column, CategoryColumn)
                and code is not None
                and code < len(column.values)
            ):
                return column.values[code]
        return f"{value:g}"


def _concatenated(parts: Sequence[Expression]) -> Expression:
    """The texts as one: of each as many letters as leave room for the others."""
    ends = Constant(1, "integer"), Constant(longest_part(len(parts)), "integer")
    cut = (folded_constant(Call("substr", (part, *ends), "text")) for part in parts)
    return Call("concat", tuple(cut), "text")


def longest_part(parts: int) -> int:
    """How many letters of each of so many texts are joined."""
    return max(LEAST_JOINED, MOST_JOINED // parts)


def _number_in(part: Expression) -> float:
    """The number that a part is; NaN, which is neither below nor above any, of any other part."""
    if isinstance(part, Constant) and part.type in NUMERIC and isinstance(part.value, (int, float)):
        return float(part.value)
    return math.nan
