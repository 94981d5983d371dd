"""SQL to a `Question`: one SELECT of counts, sums and averages, against an allow-list.

Only what is named here passes; every other construct is refused by its name. The text is never
executed by a database: it is read into plain data, and the data is answered.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any, ClassVar, Literal

from discreet.errors import BadQuestion
from discreet.questions.conditions import (
    ALWAYS,
    Comparison,
    Condition,
    Constant,
    Either,
    Every,
    Membership,
    NullTest,
    Opposite,
    Pattern,
    TruthTest,
)
from discreet.questions.linear_sql import is_arithmetic, read_inequality
from discreet.questions.question import Aggregate, Question
from discreet.questions.statement import (
    SUMMED_KINDS,
    StatementReader,
    bare,
    construct,
    distinctly_named,
    number,
    parsed,
    unrolled,
)
from discreet.schema import Schema

MOST_LITERALS = 100_000
"""Literals that one question may compare with."""

SHAPE = (
    "Ask SELECT count(*), count(col), sum(col), avg(col), median(col) or quantile(col, 0.9) "
    "FROM the dataset, with WHERE and GROUP BY."
)


def parse_question(text: str, schema: Schema) -> Question:
    """The question that `text` asks, or a `BadQuestion` with one clear sentence."""
    try:
        return _Reader(schema, text).question(parsed(text, shape=SHAPE))
    except RecursionError:
        raise BadQuestion("The question is nested too deeply to be read; flatten it.") from None


class ReleaseDialect:
    """How questions are put to a release, for whoever splits a statement into questions."""

    shape: ClassVar[str] = SHAPE
    functions: ClassVar[tuple[str, ...]] = ()
    is_free: ClassVar[bool] = True
    splits_sums: ClassVar[bool] = True

    def __init__(self, schema: Schema, text: str) -> None:
        self._schema, self._text = schema, text
        self.names = (schema.dataset, *_Reader.other_names)

    def question(self, select: Any) -> Question:
        """The question that a plain SELECT asks."""
        return _Reader(self._schema, self._text).question(select)

    def names_of(self, question: Question) -> Sequence[str]:
        """What its aggregates are called."""
        return [each.name for each in question.aggregates]


_KNOWN_PARTS = (
    "this",
    "expression",
    "expressions",
    "low",
    "high",
    "negate",
    "query",
    "table",
    "db",
)


class _Reader(StatementReader):
    """A question to a release."""

    shape: ClassVar[str] = SHAPE
    functions: tuple[str, ...] = ("count", "sum", "avg", "median", "quantile")
    other_names: ClassVar[tuple[str, ...]] = ("release",)

    def __init__(self, schema: Schema, text: str) -> None:
        super().__init__(schema, text)
        exp = self.exp
        self.literals = 0
        comparisons = {
            exp.EQ: "=", exp.NEQ: "!=", exp.LT: "<", exp.LTE: "<=", exp.GT: ">", exp.GTE: ">=",
        }  # fmt: skip
        self.comparisons: dict[type[Any], str] = comparisons
        self.readers: dict[type[Any], Callable[[Any], Condition]] = {
            exp.Paren: lambda node: self.condition(node.this),
            exp.Not: lambda node: Opposite(self.condition(node.this)),
            exp.And: lambda node: Every(self._chain(node)),
            exp.Or: lambda node: Either(self._chain(node)),
            exp.Boolean: lambda node: Constant(bool(node.this)),
            exp.Null: lambda node: Constant(None),
            exp.Column: lambda node: Comparison(self.column(node), "=", True),
            exp.Between: self._between,
            exp.In: self._membership,
            exp.Is: self._is,
            exp.Like: lambda node: self._pattern(node, False),
            exp.ILike: lambda node: self._pattern(node, True),
            **dict.fromkeys(comparisons, self._comparison),
        }

    def question(self, select: Any) -> Question:
        groups = self.read_frame(select)
        where = select.args.get("where")
        condition = self.condition(where.this) if where else ALWAYS
        aggregates = tuple(
            made for one in select.expressions if (made := self._aggregate(one, groups)) is not None
        )
        if not aggregates:
            raise BadQuestion(f"The question has no count, sum, avg or quantile. {SHAPE}")
        return Question(distinctly_named(aggregates, groups), condition, groups, self.text)

    def _aggregate(self, node: Any, groups: tuple[str, ...]) -> Aggregate | None:
        exp = self.exp
        node, alias = self.unaliased(node, groups)
        if node is None:
            return None
        if type(node) in (exp.Median, exp.Quantile):
            return self._quantile(node, alias)
        kinds: dict[type[Any], Literal["count", "sum", "avg"]] = {
            exp.Count: "count",
            exp.Sum: "sum",
            exp.Avg: "avg",
        }
        kind = kinds.get(type(node))
        if kind is None:
            raise self.unknown(node)
        if any(value for key, value in node.args.items() if key not in ("this", "big_int")):
            raise BadQuestion(f"{kind}() takes one column. {SHAPE}")
        inside = node.this
        if kind == "count" and type(inside) is exp.Star and not any(inside.args.values()):
            return Aggregate("count", None, alias or "count")
        if type(inside) is exp.Distinct:
            raise BadQuestion(f"{kind}(DISTINCT ...) is not supported. {SHAPE}")
        if type(inside) is not exp.Column:
            raise BadQuestion(f"{kind}() takes a plain column, and no {construct(inside)}.")
        column = self.column(inside)
        if kind != "count" and self.schema.column(column).kind not in SUMMED_KINDS:
            raise BadQuestion(
                f"Column {column!r} is of kind {self.schema.column(column).kind}; "
                f"{kind}() takes columns of kind {', '.join(SUMMED_KINDS)}."
            )
        return Aggregate(kind, column, alias or f"{kind}({column})")

    def _quantile(self, node: Any, alias: str | None) -> Aggregate:
        exp = self.exp
        known = ("this", "quantile") if type(node) is exp.Quantile else ("this",)
        if any(value for key, value in node.args.items() if key not in known):
            raise BadQuestion("A quantile is written quantile(col, 0.9), and a median median(col).")
        if type(node.this) is not exp.Column:
            raise BadQuestion(f"A quantile is of a plain column, and of no {construct(node.this)}.")
        column = self.column(node.this)
        if not self.schema.column(column).is_ordered:
            raise BadQuestion(f"Column {column!r} has no order, so it has no quantiles.")
        if type(node) is exp.Median:
            return Aggregate("quantile", column, alias or f"median({column})", Fraction(1, 2))
        level = self._literal(bare(node.args["quantile"]))
        if isinstance(level, bool) or not isinstance(level, (int, Decimal)) or not 0 < level < 1:
            raise BadQuestion("The level of a quantile is a number between 0 and 1, such as 0.9.")
        name = alias or f"quantile({column}, {level})"
        return Aggregate("quantile", column, name, Fraction(level))

    def condition(self, node: Any) -> Condition:
        reader = self.readers.get(type(node))
        if reader is None:
            raise BadQuestion(
                f"WHERE takes no {construct(node)}; use =, <>, <, <=, >, >=, BETWEEN, IN, LIKE, "
                "IS NULL, AND, OR, NOT on a column and literals."
            )
        # A parser may hang a modifier on a node it has always had: one that is not known here
        # would be dropped in silence, so it is refused.
        if any(value for key, value in node.args.items() if key not in _KNOWN_PARTS):
            raise BadQuestion(f"WHERE takes {construct(node)} in its plain form only.")
        read = reader(node)
        return Opposite(read) if node.args.get("negate") else read

    def _chain(self, node: Any) -> tuple[Condition, ...]:
        return tuple(self.condition(part) for part in unrolled(node))

    def _comparison(self, node: Any) -> Condition:
        exp = self.exp
        sign, left, right = self.comparisons[type(node)], bare(node.this), bare(node.expression)
        if is_arithmetic(left) or is_arithmetic(right):
            return read_inequality(
                left, sign, right, column=self.column, literal=self._literal, schema=self.schema
            )
        if type(left) is exp.Column and type(right) is exp.Column:
            raise BadQuestion(
                "Two columns cannot be compared with each other; compare a column with a literal."
            )
        if type(left) is not exp.Column:
            left, right = right, left
            sign = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}.get(sign, sign)
        if type(left) is not exp.Column:
            raise BadQuestion(
                "A comparison in WHERE has a plain column on one side, and a literal on the other: no function "
                "of a column."
            )
        column, literal = self.column(left), self._literal(right)
        return Constant(None) if literal is None else Comparison(column, sign, literal)

    def _between(self, node: Any) -> Condition:
        column = self._tested(node.this, "BETWEEN")
        parts: list[Condition] = []
        for sign, end in ((">=", node.args["low"]), ("<=", node.args["high"])):
            literal = self._literal(bare(end))
            parts.append(Constant(None) if literal is None else Comparison(column, sign, literal))
        return Every(tuple(parts))

    def _membership(self, node: Any) -> Condition:
        column = self._tested(node.this, "IN")
        if node.args.get("query") or not node.expressions:
            raise BadQuestion("IN takes a list of literals, and no subquery.")
        literals = [self._literal(bare(one)) for one in node.expressions]
        known = tuple(dict.fromkeys(one for one in literals if one is not None))
        return Membership(column, known, has_null=None in literals)

    def _is(self, node: Any) -> Condition:
        exp = self.exp
        column = self._tested(node.this, "IS")
        if type(node.expression) is exp.Null:
            return NullTest(column)
        if type(node.expression) is exp.Boolean:
            return TruthTest(column, bool(node.expression.this))
        raise BadQuestion("IS takes NULL, NOT NULL, TRUE or FALSE.")

    def _pattern(self, node: Any, ignores_case: bool) -> Condition:
        column = self._tested(node.this, "LIKE")
        text = self._literal(bare(node.expression))
        if text is None:
            return Constant(None)
        if not isinstance(text, str):
            raise BadQuestion("LIKE takes a text such as 'a%'.")
        return Pattern(column, text, ignores_case)

    def _tested(self, node: Any, what: str) -> str:
        node = bare(node)
        if type(node) is not self.exp.Column:
            raise BadQuestion(f"{what} takes a plain column on its left, and no {construct(node)}.")
        return self.column(node)

    def _literal(self, node: Any) -> object:
        exp = self.exp
        self.literals += 1
        if self.literals > MOST_LITERALS:
            raise BadQuestion(f"The question has more than {MOST_LITERALS:,} literals.")
        kind = type(node)
        if kind is exp.Null:
            return None
        if kind is exp.Boolean:
            return bool(node.this)
        if kind is exp.Neg:
            value = self._literal(bare(node.this))
            if isinstance(value, (int, Decimal)) and not isinstance(value, bool):
                return -value
            raise BadQuestion("A minus sign stands before a number only.")
        if kind is exp.Cast:
            to = node.args["to"].this
            names = (exp.DataType.Type.DATE, exp.DataType.Type.TIMESTAMP)
            if to in names and type(node.this) is exp.Literal and node.this.is_string:
                return str(node.this.this)
        if kind is exp.Literal:
            return str(node.this) if node.is_string else number(str(node.this))
        raise BadQuestion(
            f"A condition compares with literals such as 7, 'text' or DATE '2020-01-31', and no {construct(node)}."
        )


__all__ = ["Aggregate", "Question", "parse_question"]
