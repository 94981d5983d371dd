"""Comparisons, AND, OR, IN, IS and LIKE. What is compared is of one kind: literals take the type of what they stand beside."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from unicodedata import normalize

from discreet.errors import BadQuestion
from discreet.questions.dialects.statement import unrolled
from discreet.questions.expressions import (
    MIRRORED,
    NUMERIC,
    TEMPORAL,
    Call,
    ColumnValue,
    Constant,
    Expression,
)
from discreet.questions.literals import described, family, temporal
from discreet.questions.reading.walk import TreeReader
from discreet.schema import CategoryColumn
from discreet.schema.columns.values import boolean_of, category_text_of, day_of, double_of

COMPARISONS = {"EQ": "=", "NEQ": "!=", "LT": "<", "LTE": "<=", "GT": ">", "GTE": ">="}
"""By the parser's names of them."""
LONGEST_PATTERN, MOST_WILDCARDS = 1_000, 20
"""Characters behind LIKE, and how many of them may be %: databases match by recursion, whose depth hangs on the text."""


class ComparisonReader(TreeReader):
    """Reads what is true or false."""

    def _chain(self, node: Any, name: str, depth: int) -> Expression:
        parts = unrolled(node)
        if len(parts) > self.most_terms:
            raise BadQuestion(
                f"{self.clause} has more than {self.most_terms:,} terms; ask something shorter."
            )
        return Call(name, tuple(self._truth(one, depth) for one in parts), "boolean")

    def _comparison(self, node: Any, depth: int) -> Expression:
        if type(node.this) is self.exp.Tuple or type(node.expression) is self.exp.Tuple:
            return self._of_lists(node, depth)
        return self._compared(
            COMPARISONS[type(node).__name__],
            [self.read(node.this, depth), self.read(node.expression, depth)],
        )

    def _of_lists(self, node: Any, depth: int) -> Expression:
        """(a, b) = (1, 2), and <>: each with each. In a list null equals null and nothing else, as in DuckDB."""
        sides = [getattr(each, "expressions", None) for each in (node.this, node.expression)]
        name, (left, right) = COMPARISONS[type(node).__name__], sides
        if name not in ("=", "!=") or not left or not right or len(left) != len(right):
            raise BadQuestion(
                "Lists in brackets are compared by =, <> or IN with lists that are as long, as in (a, b) IN ((1, 2), (3, 4))."
            )
        differ = [
            self._distinct(self.exp.NullSafeNEQ(this=one, expression=other), depth)
            for one, other in zip(left, right, strict=True)
        ]
        other = Call("or", tuple(differ), "boolean") if differ[1:] else differ[0]
        return other if name == "!=" else Call("not", (other,), "boolean")

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
        if type(node.this) is self.exp.Tuple:
            same = [self.exp.EQ(this=node.this, expression=one) for one in node.expressions]
            met = tuple(self._of_lists(each, depth) for each in same)
            return Call("or", met, "boolean") if met[1:] else met[0]
        value = self.read(node.this, depth)
        self.listed += len(node.expressions)
        if self.listed > self.most_listed:
            raise BadQuestion(f"The lists of IN have more than {self.most_listed:,} literals.")
        listed: list[Expression] = []
        others: list[Expression] = []
        for one in node.expressions:
            before = self.terms
            made = self.read(one, depth)
            if isinstance(made, Constant):
                self.terms = before  # counted as a listed literal instead
                listed.append(made)
            else:
                others.append(self._compared("=", [value, made]))
        if listed:
            others.append(self._compared("in", [value, *dict.fromkeys(listed)]))
        return Call("or", tuple(others), "boolean") if others[1:] else others[0]

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
            return temporal(str(part.value), leading.type, described(leading))
        if leading.type == "boolean" and part.type != "boolean":
            truth = boolean_of(part.value)
            return part if truth is None else Constant(truth, "boolean")
        return self._beside_text(part, leading) if leading.type == "text" else part

    def _beside_text(self, part: Constant, beside: Expression) -> Expression:
        """A literal that is compared with a text, as a text."""
        match part.type, part.value:
            case "boolean", truth:
                return self._truth_as_text(bool(truth), beside) or part
            case "integer", number:
                return Constant(str(category_text_of(number)), "text")
            case "date", int(day):
                return Constant(day_of(day).isoformat(), "text")
            case "number", number:
                return Constant(self._spelling(number, beside), "text")
            case "text", text:
                return Constant(self._declared_as(str(text), beside), "text")
        return part

    def _declared_as(self, text: str, beside: Expression) -> str:
        """The declared value that a text of the question means: it may be typed in other code points, as a letter and its accent."""
        column = self.schema.column(beside.column) if isinstance(beside, ColumnValue) else None
        if not isinstance(column, CategoryColumn) or text.isascii() or column.declares(text):
            return text
        whole = normalize("NFC", text)
        alike = [each for each in column.values if normalize("NFC", each) == whole]
        return alike[0] if len(alike) == 1 else text

    def _truth_as_text(self, truth: bool, beside: Expression) -> Constant | None:
        """TRUE or FALSE compared with a category: as the declared value that spells it; `None` where none does."""
        word = str(category_text_of(truth))
        column = self.schema.column(beside.column) if isinstance(beside, ColumnValue) else None
        if not isinstance(column, CategoryColumn) or column.undeclared or word in column.values:
            return Constant(word, "text")
        spelled = {boolean_of(value): value for value in column.values}
        is_boolean = len(column.values) == 2 and set(spelled) == {True, False}
        return Constant(spelled[truth], "text") if is_boolean else None

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
