"""Functions of texts that are worked out on the declared values of a category: split_part, replace, right and the like.

No engine is told of them. A database would differ in letters and in rules, and the values are public: so such a function
becomes a list of cases, one for each result. A value that is not declared has no result, which is null.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from discreet.errors import BadQuestion
from discreet.questions.expressions import (
    NUMERIC,
    Call,
    ColumnValue,
    Constant,
    Expression,
    Type,
    columns_of,
)
from discreet.questions.literals import folded_constant
from discreet.schema import CategoryColumn, Schema

MOST_VALUES = 1_000
"""Declared values that such a function is worked out on."""
LONGEST_RESULT = 1 << 12


def _split(text: str, delimiter: str, place: int) -> str:
    parts = text.split(delimiter) if delimiter else [text]
    if place < 0:
        place += len(parts) + 1
    return parts[place - 1] if 1 <= place <= len(parts) else ""


def _right(text: str, many: int) -> str:
    return text[max(len(text) - many, 0) :] if many >= 0 else text[-many:]


def _padded(text: str, many: int, fill: str, *, is_left: bool) -> str:
    many = min(many, LONGEST_RESULT + 1)
    rest = (fill * many)[: max(many - len(text), 0)] if fill else ""
    return (rest + text if is_left else text + rest)[: max(many, 0)]


def _substr(text: str, start: int, length: int) -> str:
    if start < 1 or length < 0:
        raise BadQuestion(
            "substr(text, start, length) takes whole numbers: a start from 1 and a length from 0. Letters at the end are "
            "right(text, n)."
        )
    return text[start - 1 : start - 1 + length]


FUNCTIONS: dict[str, tuple[Callable[..., Any], tuple[type, ...], Type]] = {
    "split_part": (_split, (str, int), "text"),
    "left": (lambda text, many: text[:many], (int,), "text"),
    "right": (_right, (int,), "text"),
    "substr": (_substr, (int, int), "text"),
    "trim": (lambda text, signs: text.strip(signs) if signs else text, (str,), "text"),
    "ltrim": (lambda text, signs: text.lstrip(signs) if signs else text, (str,), "text"),
    "rtrim": (lambda text, signs: text.rstrip(signs) if signs else text, (str,), "text"),
    "replace": (lambda text, old, new: text.replace(old, new) if old else text, (str, str), "text"),
    "reverse": (lambda text: text[::-1], (), "text"),
    "lpad": (lambda text, n, fill: _padded(text, n, fill, is_left=True), (int, str), "text"),
    "rpad": (lambda text, n, fill: _padded(text, n, fill, is_left=False), (int, str), "text"),
    "starts_with": (lambda text, part: text.startswith(part), (str,), "boolean"),
    "ends_with": (lambda text, part: text.endswith(part), (str,), "boolean"),
    "contains": (lambda text, part: part in text, (str,), "boolean"),
    "strpos": (lambda text, part: text.find(part) + 1, (str,), "integer"),
}
"""What each does, the types of its further arguments, and what it gives."""


def of_declared_values(
    name: str, value: Expression, more: Sequence[Expression], schema: Schema
) -> Expression:
    """A function of a text, and of literals or what follows from it, as cases of the values that its column declares."""
    function, wanted, type_ = FUNCTIONS[name]
    if len(more) != len(wanted) or any(
        each.type != ("text" if kind is str else "integer")
        for each, kind in zip(more, wanted, strict=True)
    ):
        spelled = {str: "a text", int: "a whole number"}
        needs = ", ".join(["a column of texts", *(spelled[kind] for kind in wanted)])
        raise BadQuestion(f"{name}() takes {needs}, all literals except the column.")
    if value.type not in ("text", "null"):
        raise BadQuestion(f"{name}() takes a text, and its argument is not one.")

    def result(parts: Sequence[Expression]) -> Constant:
        given = [each.value for each in parts if isinstance(each, Constant)]
        assert len(given) == len(parts)
        found = None if None in given else function(*given)
        if isinstance(found, str) and len(found) > LONGEST_RESULT:
            raise BadQuestion(f"{name}() makes a text of more than {LONGEST_RESULT:,} letters.")
        return Constant(found, "null" if found is None else type_)

    parts = (value, *more)
    names = {each for part in parts for each in columns_of(part)}
    if not names:
        return result(parts)
    column = schema.column(names.pop()) if len(names) == 1 else None
    if not isinstance(column, CategoryColumn) or not column.values:
        raise BadQuestion(
            f"{name}() takes a text of one column of kind category that declares its values."
        )
    return _by_declared_value(
        name, column, lambda text: result([_substituted(part, text) for part in parts]), type_
    )


def with_declared_numbers(expression: Expression, schema: Schema) -> Expression:
    """What an aggregate adds up, where a category that is cast to a number has those of its declared values.

    An undeclared value gives null: it has no bounds. Conditions stay as they are.
    """
    if not isinstance(expression, Call) or expression.type == "boolean":
        return expression
    if expression.name == "cast" and expression.type in NUMERIC:
        (inside,) = expression.arguments
        names = set(columns_of(inside))
        column = schema.column(names.pop()) if inside.type == "text" and len(names) == 1 else None
        if isinstance(column, CategoryColumn) and column.values:

            def number(text: Constant) -> Constant:
                made = _substituted(expression, text)
                assert isinstance(made, Constant)
                return made

            made = _by_declared_value("CAST", column, number, expression.type)
            if isinstance(made, Call) and made.arguments[1:-1:2] == (Constant(None, "null"),):
                raise BadQuestion(f"No declared value of column {column.name!r} is a number.")
            return made
    inside_too = tuple(with_declared_numbers(each, schema) for each in expression.arguments)
    return Call(expression.name, inside_too, expression.type)


def _by_declared_value(
    name: str, column: CategoryColumn, result: Callable[[Constant], Constant], type_: Type
) -> Expression:
    """A function of the texts of a category as cases of the values that it declares; null for all others."""
    if len(column.values) > MOST_VALUES:
        raise BadQuestion(
            f"{name}() is computed on up to {MOST_VALUES:,} declared values, and column {column.name!r} has "
            f"{len(column.values):,}."
        )
    found: dict[Constant, list[Constant]] = {}
    for each in column.values:
        text = Constant(each, "text")
        made = result(text)
        found.setdefault(made, []).append(text)
    own = ColumnValue(column.name, "text")
    cases: list[Expression] = []
    for made, texts in found.items():
        cases += [Call("in", (own, *texts), "boolean"), made]
    return Call("case", (*cases, Constant(None, "null")), type_)


def _substituted(node: Expression, text: Constant) -> Expression:
    """An expression with a text in the place of its column, worked out."""
    if isinstance(node, ColumnValue):
        return text
    if isinstance(node, Constant):
        return node
    inside = tuple(_substituted(each, text) for each in node.arguments)
    return folded_constant(Call(node.name, inside, node.type))
