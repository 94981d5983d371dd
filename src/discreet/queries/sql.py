"""SQL to a `Question`: one SELECT of counts, sums and averages, against an allow-list.

Only what is named here passes; every other construct is refused by its name. The text is never
executed by a database: it is read into plain data, and the data is answered.

May import errors, privacy, schema.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from typing import Any, Literal

from discreet.errors import BadInput, BadQuestion
from discreet.queries.conditions import (
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
from discreet.queries.linear_sql import is_arithmetic, read_inequality
from discreet.queries.question import Aggregate, Question
from discreet.schema import Schema
from discreet.schema.column import folded

LONGEST_TEXT = 1_000_000
"""Characters of SQL that are read."""
LONGEST_NUMBER = 60
MOST_LITERALS = 100_000
"""Literals that one question may compare with."""

SHAPE = (
    "Ask SELECT count(*), count(col), sum(col), avg(col), median(col) or quantile(col, 0.9) "
    "FROM the dataset, with WHERE and GROUP BY."
)


def parse_question(text: str, schema: Schema) -> Question:
    """The question that `text` asks, or a `BadQuestion` with one clear sentence."""
    if not isinstance(text, str) or not text.strip():
        raise BadQuestion(f"The question is empty. {SHAPE}")
    if len(text) > LONGEST_TEXT:
        raise BadQuestion(
            f"The question has {len(text):,} characters; at most {LONGEST_TEXT:,} are read."
        )
    try:
        return _Reader(schema, text).question(_parsed(text))
    except RecursionError:
        raise BadQuestion("The question is nested too deeply to be read; flatten it.") from None


def _parsed(text: str) -> Any:
    from sqlglot import Dialect, TokenType, errors

    dialect = Dialect.get_or_raise(None)
    try:
        tokens = dialect.tokenize(text)
        while tokens and tokens[-1].token_type is TokenType.SEMICOLON:
            tokens.pop()
        if any(token.token_type is TokenType.SEMICOLON for token in tokens):
            raise BadQuestion("Only one statement is answered at a time; take out the semicolon.")
        if not tokens or tokens[0].token_type is not TokenType.SELECT:
            raise BadQuestion(f"Only SELECT is answered. {SHAPE}")
        (statement,) = dialect.parser(error_message_context=0).parse(tokens, text)
    except errors.ParseError as error:
        place = (error.errors or [{}])[0]
        where = f"line {place['line']}, column {place['col']}" if place.get("line") else "its end"
        raise BadQuestion(f"The SQL is not understood near {where}. {SHAPE}") from None
    except errors.SqlglotError:
        raise BadQuestion(f"The SQL is not understood. {SHAPE}") from None
    return statement


_CLAUSES = {
    "with_": "WITH", "joins": "JOIN", "laterals": "LATERAL", "having": "HAVING", "order": "ORDER BY",
    "limit": "LIMIT", "offset": "OFFSET", "distinct": "DISTINCT", "windows": "WINDOW",
    "qualify": "QUALIFY", "sample": "TABLESAMPLE", "into": "INTO", "hint": "a hint",
    "match": "MATCH_RECOGNIZE", "pivots": "PIVOT", "locks": "FOR UPDATE", "kind": "SELECT AS",
}  # fmt: skip


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


class _Reader:
    """Walks one parsed statement. Everything unexpected is refused by name."""

    def __init__(self, schema: Schema, text: str) -> None:
        from sqlglot import exp

        self.schema, self.text, self.exp = schema, text, exp
        self.table_names: tuple[str, ...] = ()
        self.literals = 0
        comparisons = {
            exp.EQ: "=", exp.NEQ: "!=", exp.LT: "<", exp.LTE: "<=", exp.GT: ">", exp.GTE: ">=",
        }  # fmt: skip
        self.comparisons: dict[type[Any], str] = comparisons
        self.readers: dict[type[Any], Callable[[Any], Condition]] = {
            exp.Paren: lambda node: self.condition(node.this),
            exp.Not: lambda node: Opposite(self.condition(node.this)),
            exp.And: lambda node: Every(self._chain(node, exp.And)),
            exp.Or: lambda node: Either(self._chain(node, exp.Or)),
            exp.Boolean: lambda node: Constant(bool(node.this)),
            exp.Null: lambda node: Constant(None),
            exp.Column: lambda node: Comparison(self._column(node), "=", True),
            exp.Between: self._between,
            exp.In: self._membership,
            exp.Is: self._is,
            exp.Like: lambda node: self._pattern(node, False),
            exp.ILike: lambda node: self._pattern(node, True),
            **dict.fromkeys(comparisons, self._comparison),
        }

    def question(self, select: Any) -> Question:
        exp = self.exp
        if type(select) is not exp.Select:
            raise BadQuestion(f"Only a plain SELECT is answered, without {_named(select)}. {SHAPE}")
        allowed = {"expressions", "from_", "where", "group"}
        for clause, value in select.args.items():
            if value and clause not in allowed:
                named = _CLAUSES.get(clause, clause.strip("_").upper())
                raise BadQuestion(f"{named} is not supported. {SHAPE}")
        self._table(select.args.get("from_"))
        groups = self._groups(select.args.get("group"))
        where = select.args.get("where")
        condition = self.condition(where.this) if where else ALWAYS
        aggregates = tuple(
            made for one in select.expressions if (made := self._aggregate(one, groups)) is not None
        )
        if not aggregates:
            raise BadQuestion(f"The question has no count, sum, avg or quantile. {SHAPE}")
        return Question(_distinctly_named(aggregates, groups), condition, groups, self.text)

    def _table(self, source: Any) -> None:
        exp = self.exp
        dataset = self.schema.dataset
        if source is None:
            raise BadQuestion(f"The question has no FROM; write FROM {_sql_name(dataset)}.")
        table = source.this
        if type(table) is not exp.Table or type(table.this) is not exp.Identifier:
            raise BadQuestion(
                f"FROM takes the dataset's name, {_sql_name(dataset)}, and no {_named(table)}."
            )
        extra = [key for key, value in table.args.items() if value and key not in ("this", "alias")]
        if extra:
            raise BadQuestion(f"FROM takes the plain name {_sql_name(dataset)} and nothing more.")
        name, alias = table.name, table.args.get("alias")
        if folded(name) not in (folded(dataset), "release"):
            raise BadQuestion(
                f"There is no table {name!r} here; the release is of {dataset!r}: "
                f"write FROM {_sql_name(dataset)}, or FROM release."
            )
        if alias is not None and alias.args.get("columns"):
            raise BadQuestion("Columns cannot be renamed in FROM.")
        self.table_names = (folded(name), *([folded(alias.name)] if alias is not None else []))

    def _groups(self, group: Any) -> tuple[str, ...]:
        if group is None:
            return ()
        if any(value for key, value in group.args.items() if key != "expressions"):
            raise BadQuestion(
                "GROUP BY takes plain columns: no ROLLUP, CUBE, GROUPING SETS or ALL."
            )
        found: list[str] = []
        for one in group.expressions:
            if type(one) is not self.exp.Column:
                raise BadQuestion(f"GROUP BY takes plain columns, and no {_named(one)}.")
            name = self._column(one)
            if name not in found:
                found.append(name)
        return tuple(found)

    def _aggregate(self, node: Any, groups: tuple[str, ...]) -> Aggregate | None:
        exp = self.exp
        alias = None
        if type(node) is exp.Alias:
            alias, node = node.alias, node.this
        if type(node) is exp.Column and type(node.this) is not exp.Star:
            name = self._column(node)
            if name not in groups:
                raise BadQuestion(
                    f"Column {name!r} is selected outside of an aggregate; add it to GROUP BY."
                )
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
            raise BadQuestion(f"SELECT takes no {_named(node)} here. {SHAPE}")
        if any(value for key, value in node.args.items() if key not in ("this", "big_int")):
            raise BadQuestion(f"{kind}() takes one column. {SHAPE}")
        inside = node.this
        if kind == "count" and type(inside) is exp.Star and not any(inside.args.values()):
            return Aggregate("count", None, alias or "count")
        if type(inside) is exp.Distinct:
            raise BadQuestion(f"{kind}(DISTINCT ...) is not supported. {SHAPE}")
        if type(inside) is not exp.Column:
            raise BadQuestion(f"{kind}() takes a plain column, and no {_named(inside)}.")
        column = self._column(inside)
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
            raise BadQuestion(f"A quantile is of a plain column, and of no {_named(node.this)}.")
        column = self._column(node.this)
        if not self.schema.column(column).is_ordered:
            raise BadQuestion(f"Column {column!r} has no order, so it has no quantiles.")
        if type(node) is exp.Median:
            return Aggregate("quantile", column, alias or f"median({column})", Fraction(1, 2))
        level = self._literal(_bare(node.args["quantile"]))
        if isinstance(level, bool) or not isinstance(level, (int, Decimal)) or not 0 < level < 1:
            raise BadQuestion("The level of a quantile is a number between 0 and 1, such as 0.9.")
        name = alias or f"quantile({column}, {level})"
        return Aggregate("quantile", column, name, Fraction(level))

    def condition(self, node: Any) -> Condition:
        reader = self.readers.get(type(node))
        if reader is None:
            raise BadQuestion(
                f"WHERE takes no {_named(node)}; use =, <>, <, <=, >, >=, BETWEEN, IN, LIKE, "
                "IS NULL, AND, OR, NOT on a column and literals."
            )
        # A parser may hang a modifier on a node it has always had: one that is not known here
        # would be dropped in silence, so it is refused.
        if any(value for key, value in node.args.items() if key not in _KNOWN_PARTS):
            raise BadQuestion(f"WHERE takes {_named(node)} in its plain form only.")
        read = reader(node)
        return Opposite(read) if node.args.get("negate") else read

    def _chain(self, node: Any, kind: type[Any]) -> tuple[Condition, ...]:
        """`a AND b AND c` parses to the left, thousands deep; it is unrolled, not recursed into."""
        parts: list[Any] = []
        while type(node) is kind:
            parts.append(node.expression)
            node = node.this
        parts.append(node)
        return tuple(self.condition(part) for part in reversed(parts))

    def _comparison(self, node: Any) -> Condition:
        exp = self.exp
        sign, left, right = self.comparisons[type(node)], _bare(node.this), _bare(node.expression)
        if is_arithmetic(left) or is_arithmetic(right):
            return read_inequality(
                left, sign, right, column=self._column, literal=self._literal, schema=self.schema
            )
        if type(left) is exp.Column and type(right) is exp.Column:
            raise BadQuestion(
                "Two columns cannot be compared with each other; compare a column with a literal."
            )
        if type(left) is not exp.Column:
            left, right = right, left
            sign = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}.get(sign, sign)
        if type(left) is not exp.Column:
            raise BadQuestion("A comparison in WHERE needs a column on one side.")
        column, literal = self._column(left), self._literal(right)
        return Constant(None) if literal is None else Comparison(column, sign, literal)

    def _between(self, node: Any) -> Condition:
        column = self._tested(node.this, "BETWEEN")
        parts: list[Condition] = []
        for sign, end in ((">=", node.args["low"]), ("<=", node.args["high"])):
            literal = self._literal(_bare(end))
            parts.append(Constant(None) if literal is None else Comparison(column, sign, literal))
        return Every(tuple(parts))

    def _membership(self, node: Any) -> Condition:
        column = self._tested(node.this, "IN")
        if node.args.get("query") or not node.expressions:
            raise BadQuestion("IN takes a list of literals, and no subquery.")
        literals = [self._literal(_bare(one)) for one in node.expressions]
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
        text = self._literal(_bare(node.expression))
        if text is None:
            return Constant(None)
        if not isinstance(text, str):
            raise BadQuestion("LIKE takes a text such as 'a%'.")
        return Pattern(column, text, ignores_case)

    def _tested(self, node: Any, what: str) -> str:
        node = _bare(node)
        if type(node) is not self.exp.Column:
            raise BadQuestion(f"{what} takes a plain column on its left, and no {_named(node)}.")
        return self._column(node)

    def _column(self, node: Any) -> str:
        if type(node.this) is not self.exp.Identifier or node.args.get("db"):
            raise BadQuestion("A column is written as its plain name, quoted if it is an odd one.")
        table = node.args.get("table")
        if table is not None and folded(table.name) not in self.table_names:
            raise BadQuestion(f"There is no table {table.name!r} in FROM.")
        try:
            return self.schema.column(node.name).name
        except BadInput as error:
            raise BadQuestion(str(error)) from None

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
            value = self._literal(_bare(node.this))
            if isinstance(value, (int, Decimal)) and not isinstance(value, bool):
                return -value
            raise BadQuestion("A minus sign stands before a number only.")
        if kind is exp.Cast:
            to = node.args["to"].this
            names = (exp.DataType.Type.DATE, exp.DataType.Type.TIMESTAMP)
            if to in names and type(node.this) is exp.Literal and node.this.is_string:
                return str(node.this.this)
        if kind is exp.Literal:
            return str(node.this) if node.is_string else _number(str(node.this))
        raise BadQuestion(
            f"A condition compares with literals such as 7, 'text' or DATE '2020-01-31', and no {_named(node)}."
        )


SUMMED_KINDS = ("integer", "number", "boolean")


def _bare(node: Any) -> Any:
    """Without parentheses around a column or a literal."""
    while type(node).__name__ == "Paren":
        node = node.this
    return node


def _number(text: str) -> int | Decimal:
    try:
        if len(text) > LONGEST_NUMBER:
            raise InvalidOperation
        value = Decimal(text)
        if not value.is_finite() or abs(value.adjusted()) > 400:
            raise InvalidOperation
    except InvalidOperation:
        raise BadQuestion("A number in the question is not readable, or too long.") from None
    return int(value) if value == value.to_integral_value() and abs(value) < 10**30 else value


def _distinctly_named(
    aggregates: tuple[Aggregate, ...], groups: tuple[str, ...]
) -> tuple[Aggregate, ...]:
    taken = set(groups)
    named: list[Aggregate] = []
    for one in aggregates:
        name, again = one.name, 2
        while name in taken:
            name, again = f"{one.name} {again}", again + 1
        taken.add(name)
        named.append(Aggregate(one.kind, one.column, name, one.level))
    return tuple(named)


def _named(node: Any) -> str:
    """A construct as a person would call it, never its content."""
    names = {
        "Subquery": "subquery", "Select": "subquery", "Exists": "EXISTS", "Star": "*",
        "Literal": "literal", "Column": "column", "Anonymous": "function", "Placeholder": "parameter",
        "Parameter": "parameter", "Union": "UNION", "Values": "VALUES",
    }  # fmt: skip
    kind = type(node).__name__
    return names.get(kind, kind)


def _sql_name(name: str) -> str:
    if name.isidentifier() and name.isascii():
        return name
    return '"' + name.replace('"', '""') + '"'


__all__ = ["SUMMED_KINDS", "Aggregate", "Question", "parse_question"]
