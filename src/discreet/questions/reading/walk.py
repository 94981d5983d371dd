"""The walk through a syntax tree: each node becomes an `Expression`, and how many and how deep is limited.

Which node is read by which method is said in `expressions.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from discreet.errors import BadQuestion
from discreet.questions.dialects.statement import column_name, construct, number
from discreet.questions.expressions import (
    LARGEST_INTEGER,
    NUMERIC,
    SMALLEST_INTEGER,
    TYPE_OF_KIND,
    Call,
    ColumnValue,
    Constant,
    Expression,
    Type,
)
from discreet.questions.limits.work import MOST_LEVELS, MOST_WRITTEN, written_size
from discreet.questions.literals import described, double, folded_constant
from discreet.questions.spelling import readable_name
from discreet.schema import Schema
from discreet.schema.columns.column import folded

Reader = Callable[[Any, int], Expression]
"""Takes a node and its depth."""

MOST_TERMS = 1_000
"""Operations in one condition of a live question, each of which an engine works out for every row."""
MOST_LISTED = 10_000
"""Literals in all its lists."""
DEEPEST = 40

_KNOWN_PARTS = {
    "this", "expression", "expressions", "low", "high", "negate", "query", "typed", "safe",
}  # fmt: skip
_OWN_PARTS = {
    "Cast", "TryCast", "Column", "Literal", "Case", "If", "Round", "Trunc", "Trim", "Substring", "Concat",
    "DateTrunc", "TimestampTrunc", "Greatest", "Least", "Anonymous", "Date", "WidthBucket", "SplitPart",
    "Replace", "StrPosition", "Pad", "DateDiff", "ToChar",
}  # fmt: skip
"""Nodes whose readers look at their other parts themselves."""
_CLOCKS = ("CurrentDate", "CurrentTimestamp", "CurrentTime", "CurrentDatetime", "Localtimestamp")
_CLOCK_NAMES = ("now", "today", "getdate", "sysdate")
CLOCK_REFUSAL = (
    "CURRENT_DATE, now() and the like change while a question stays the same; write the date, as in "
    "DATE '2020-01-31'."
)
_USED = (
    "Use comparisons, BETWEEN, IN, LIKE, IS NULL, AND, OR, NOT, CASE, + - * / %, abs, floor, ceil, round, trunc, "
    "sqrt, ln, log, power, lower, upper, trim, substr, left, right, replace, split_part, starts_with, ends_with, contains, strpos, length, concat, coalesce, nullif, greatest, least, CAST, extract, "
    "date_trunc, datediff, strftime, to_char, dayname and monthname."
)


class TreeReader:
    """Reads nodes, columns and literals; refuses by name what no reader is known for."""

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
        self.readers = self._readers()

    def _readers(self) -> dict[type[Any], Reader]:
        """Which node is read by what."""
        raise NotImplementedError

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
        if type(node).__name__ not in _OWN_PARTS and any(
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
        if is_clock(node):
            raise BadQuestion(CLOCK_REFUSAL)
        if name == "Interval":
            raise BadQuestion(
                "An INTERVAL of months or hours is added to a literal date only, as in DATE '2020-01-31' + INTERVAL "
                "'1 month'. Move it to that side of the comparison; days are added to a date column, as in d + 7."
            )
        if asked in ("date_format", "format_date"):
            raise BadQuestion(
                f"{self.clause} takes no {asked}(). Write a date as a text with strftime(d, '%Y-%m'), or "
                "group by date_trunc('month', d)."
            )
        if name.endswith("Diff") or asked == "age":
            raise BadQuestion(
                f"{self.clause} takes no {construct(node)}. Write a difference of years as year(DATE '2023-12-31') - year(d), "
                "and of days as DATE '2023-12-31' - d, or datediff('day', d1, d2) of two columns."
            )
        if name == "Window":
            raise BadQuestion(
                f"{self.clause} takes no OVER: a window function would number single rows. For groups of about as many "
                "rows each, ask for quantile(x, 0.25), quantile(x, 0.5) and so on, and compare with these; for groups of equal "
                "width, use width_bucket(x, low, high, n)."
            )
        if name == "Star":
            raise BadQuestion("Only count(*) takes a *; name the column that is meant.")
        if isinstance(node, self.exp.AggFunc):
            raise BadQuestion(f"{self.clause} takes no aggregate; compare aggregates in HAVING.")
        names = [each.name for each in self.schema.columns]
        meant = [each for each in names if folded(each.split("(")[0].strip()) == folded(asked)]
        if asked and meant:
            raise BadQuestion(
                f"{self.clause} takes no {construct(node)}. If the column is meant, put its name in double quotes: "
                f"{readable_name(meant[0])}."
            )
        raise BadQuestion(f"{self.clause} takes no {construct(node)}. {_USED}")

    def _truth(self, node: Any, depth: int) -> Expression:
        made = self.read(node, depth)
        if made.type in NUMERIC:  # a number that is not 0 is true
            return folded_constant(Call("!=", (made, Constant(0, "integer")), "boolean"))
        if made.type not in ("boolean", "null"):
            raise BadQuestion(f"A condition is true or false, and {described(made)} is neither.")
        return made

    def _check(self, name: str, value: Expression, wanted: tuple[Type, ...]) -> None:
        if value.type not in (*wanted, "null"):
            raise BadQuestion(
                f"{name}() takes a {' or '.join(wanted)}, and {described(value)} is not one."
            )

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


def is_clock(node: Any) -> bool:
    """Whether a node asks what the time is."""
    name = type(node).__name__
    return name in _CLOCKS or (name == "Anonymous" and str(node.this).lower() in _CLOCK_NAMES)
