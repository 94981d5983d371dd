"""Conditions on rows, with SQL's three truth values, in negation normal form.

An atom is a condition that is no AND, OR or NOT of others. In SQL a comparison with a null is neither
true nor false, so `NOT` is not the complement of what it stands before: it is pushed down to the atoms
(De Morgan holds in Kleene's logic), and there a negated atom is true where the atom is false, which a
null never is.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from discreet.questions.cells.reach import GREATEST, NULL, Reach, numbers
from discreet.questions.cells.reaching.expressions import reach_of
from discreet.questions.expressions import (
    COMPARED,
    COMPLEMENTS,
    LARGEST_INTEGER,
    MIRRORED,
    SMALLEST_INTEGER,
    TRUE,
    Call,
    ColumnValue,
    Constant,
    Expression,
    Type,
    columns_of,
)
from discreet.schema.columns.values import Instant, day_of


def both(*parts: Expression) -> Expression:
    """AND of the parts that are not simply true."""
    kept = tuple(part for part in parts if part != TRUE)
    return Call("and", kept, "boolean") if len(kept) > 1 else kept[0] if kept else TRUE


def opposite(part: Expression) -> Expression:
    """NOT."""
    return Call("not", (part,), "boolean")


def null_test(column: str) -> Expression:
    """`column IS NULL`. What the test is of does not matter to its meaning, so the type is left open."""
    return Call("is null", (ColumnValue(column, "null"),), "boolean")


@dataclass(frozen=True, slots=True)
class Leaf:
    """An atom as it stands, or negated: true where the atom is false."""

    atom: Expression
    positive: bool


@dataclass(frozen=True, slots=True)
class Node:
    """AND or OR over a normal form."""

    every: bool
    parts: tuple[Normal, ...]


Normal = Leaf | Node | bool
"""Negation normal form: where it is true. Unknown and false are not told apart any more."""


def normal_form(condition: Expression, *, positive: bool = True) -> Normal:
    """`condition` (or its negation) with every NOT at an atom."""
    if isinstance(condition, Constant):
        return condition.value is positive
    if isinstance(condition, ColumnValue):
        return Leaf(condition, positive)
    match condition.name:
        case "not":
            return normal_form(condition.arguments[0], positive=not positive)
        case "and" | "or":
            every = (condition.name == "and") is positive
            return _chain(condition.arguments, every, positive)
        case "is true" | "is false" if positive:
            return normal_form(condition.arguments[0], positive=condition.name == "is true")
        case "distinct" if columns_of(condition) and isinstance(condition.arguments[1], Constant):
            return _distinct(condition, positive)
    if not columns_of(condition):
        truth = reach_of(condition, {})
        return truth.options == {positive}
    return _leaf(condition, positive)


def _chain(parts: tuple[Expression, ...], every: bool, positive: bool) -> Normal:
    flat: list[Normal] = []
    for part in parts:
        inside = normal_form(part, positive=positive)
        if inside is (not every):
            return inside
        if isinstance(inside, Node) and inside.every is every:
            flat.extend(inside.parts)
        elif inside is not every:
            flat.append(inside)
    if not flat:
        return every
    return flat[0] if len(flat) == 1 else Node(every, tuple(flat))


def _distinct(asked: Call, positive: bool) -> Normal:
    value, constant = asked.arguments
    if constant == Constant(None, constant.type):
        return normal_form(Call("is null", (value,), "boolean"), positive=not positive)
    if positive:
        return Leaf(asked, True)
    return normal_form(Call("=", (value, constant), "boolean"))


def _leaf(atom: Call, positive: bool) -> Normal:
    if atom.name not in COMPARED:
        return Leaf(atom, positive)
    left, right = atom.arguments
    if any(isinstance(side, Constant) and side.value is None for side in (left, right)):
        return False
    sign = atom.name if positive else COMPLEMENTS[atom.name]
    if isinstance(left, Constant):
        left, right, sign = right, left, MIRRORED.get(sign, sign)
    return Leaf(Call(sign, (left, right), "boolean"), True)


def atoms(normal: Normal) -> Iterator[Expression]:
    """Every atom in a normal form."""
    if isinstance(normal, Leaf):
        yield normal.atom
    elif isinstance(normal, Node):
        for part in normal.parts:
            yield from atoms(part)


def columns_named(condition: Expression) -> frozenset[str]:
    """The columns that a condition looks at: what its normal form leaves out does not matter."""
    return frozenset(name for atom in atoms(normal_form(condition)) for name in columns_of(atom))


def asks_for_a_value(condition: Expression, column: str) -> bool:
    """Whether no row with a null in `column` can satisfy the condition."""
    return _without(normal_form(condition), column) is False


def _without(normal: Normal, column: str) -> Normal:
    """What is left of the condition for a row whose `column` is null."""
    if isinstance(normal, Leaf) and column in (names := columns_of(normal.atom)):
        if normal.positive not in _truth_of_null(normal.atom, column).options:
            return False
        return True if len(names) == 1 else normal
    if not isinstance(normal, Node):
        return normal
    parts = [_without(part, column) for part in normal.parts]
    if any(part is (not normal.every) for part in parts):
        return not normal.every
    left = tuple(part for part in parts if part is not normal.every)
    return Node(normal.every, left) if left else normal.every


@lru_cache(maxsize=256)
def _truth_of_null(atom: Expression, column: str) -> Reach:
    """What an atom may be for a row whose `column` is null."""
    return reach_of(atom, anywhere(atom) | {column: NULL})


def anywhere(expression: Expression) -> dict[str, Reach]:
    """Every column of an expression, with all that it may hold."""
    return {name: anything(type_) for name, type_ in _types(expression).items()}


def _types(expression: Expression) -> dict[str, Type]:
    """The type of every column of an expression. A test for null leaves it open, so what else is said of the column counts."""
    if isinstance(expression, ColumnValue):
        return {expression.column: expression.type}
    found: dict[str, Type] = {}
    if isinstance(expression, Call):
        for argument in expression.arguments:
            for name, type_ in _types(argument).items():
                if type_ != "null" or name not in found:
                    found[name] = type_
    return found


def anything(type_: Type, *, null: bool = True) -> Reach:
    """Every value of a type."""
    if type_ in ("text", "null"):
        return Reach(null, any_text=True)
    if type_ == "boolean":
        return Reach(null, options=frozenset([True, False]))
    if type_ == "number":
        return numbers(-GREATEST, GREATEST, null=null)
    return numbers(SMALLEST_INTEGER, LARGEST_INTEGER, null=null)


@dataclass(frozen=True, slots=True)
class Simple:
    """An atom that compares one plain column with literals: `column sign literals`.

    The sign is a comparison, `in`, `is null`, `is true`, `is false`, `like` or `ilike`.
    """

    column: str
    sign: str
    literals: tuple[object, ...] = ()
    has_null: bool = False
    """Whether a list holds a NULL, which makes every value that is not listed unknown."""


@lru_cache(maxsize=256)
def simple_of(atom: Expression) -> Simple | None:
    """The plain comparison that an atom is, or `None`."""
    if isinstance(atom, ColumnValue):
        return Simple(atom.column, "=", (True,))
    if isinstance(atom, Constant) or not isinstance(atom.arguments[0], ColumnValue):
        return None
    column, rest, sign = atom.arguments[0], atom.arguments[1:], atom.name
    if sign in ("is null", "is true", "is false"):
        return Simple(column.column, sign)
    if sign not in (*COMPARED, "in", "like", "ilike"):
        return None
    constants = [part for part in rest if isinstance(part, Constant)]
    if len(constants) < len(rest) or (column.type == "text" and sign in MIRRORED):
        return None
    known = tuple(literal(part) for part in constants if part.value is not None)
    return Simple(column.column, sign, known, len(known) < len(constants))


def literal(constant: Constant) -> object:
    """A constant as a value of the table."""
    value = constant.value
    if constant.type == "date" and isinstance(value, int):
        return day_of(value)
    return Instant(value) if constant.type == "datetime" and isinstance(value, int) else value
