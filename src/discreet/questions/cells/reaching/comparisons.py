"""The reach of comparisons, and of AND, OR, NOT, IN and IS."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from functools import lru_cache
from itertools import product
from typing import NamedTuple

from discreet.questions.cells.reach import NULL, Number, Operation, Reach, one, truth_of
from discreet.questions.cells.reaching.units import alike
from discreet.questions.expressions import COMPARED, MIRRORED, Call, Constant, Type


def compared(node: Call, parts: list[Reach]) -> Reach:
    left, right = alike(node.arguments[0].type, node.arguments[1].type, *parts)
    name = node.name
    if left.low is None or right.low is None:
        return _compared_texts(name, left, right)
    if name in (">", ">="):
        left, right, name = right, left, MIRRORED[name]
    assert left.low is not None and left.high is not None
    assert right.low is not None and right.high is not None
    if name in ("=", "!="):
        may = left.low <= right.high and right.low <= left.high
        must = may and left.low == left.high == right.low == right.high
        return truth_of(may, not must) if name == "=" else truth_of(not must, may)
    if name == "<":
        return truth_of(left.low < right.high, left.high >= right.low)
    return truth_of(left.low <= right.high, left.high > right.low)


def _compared_texts(name: str, left: Reach, right: Reach) -> Reach:
    if left.any_text or right.any_text:
        differ = (left.any_text and not right.any_text and right.options <= left.but) or (
            right.any_text and not left.any_text and left.options <= right.but
        )
        if differ and name in ("=", "!="):
            return truth_of(name == "!=", name == "=")
        return truth_of(True, True)
    found = {_HOLDS[name](*pair) for pair in product(left.options, right.options)}
    return truth_of(True in found, False in found)


_HOLDS: dict[str, Callable[[object, object], bool]] = {
    "=": lambda one, other: one == other,
    "!=": lambda one, other: one != other,
    "<": lambda one, other: str(one) < str(other),
    "<=": lambda one, other: str(one) <= str(other),
    ">": lambda one, other: str(one) > str(other),
    ">=": lambda one, other: str(one) >= str(other),
}


def _listed(node: Call, parts: list[Reach]) -> Reach:
    """`value IN (...)`: an OR of equalities."""
    value = parts[0]
    if not value.has_value:
        return NULL
    true = surely = False
    null = value.null
    for argument, part in zip(node.arguments[1:], parts[1:], strict=True):
        if not part.has_value:
            null = True
            continue
        equal = Call("=", (node.arguments[0], argument), "boolean")
        found = compared(equal, [value, part]).options
        true = true or True in found
        surely = surely or found == {True}
    listed_null = any(part.null for part in parts[1:])
    if surely:
        return truth_of(True, False, null=value.null)
    return truth_of(true, not listed_null, null=null)


class Literals(NamedTuple):
    """The literals of a list, in the units in which they are compared."""

    values: frozenset[str | bool]
    numbers: tuple[tuple[Type, tuple[Number, ...]], ...]
    """Those of each type, in their order."""
    has_null: bool


@lru_cache(maxsize=256)
def literals_of(node: Call) -> Literals | None:
    """What an IN compares with, if that is literals alone. Kept: it is looked at on every cell."""
    known = [part for part in node.arguments[1:] if isinstance(part, Constant)]
    if len(known) < len(node.arguments) - 1:
        return None
    by_type: dict[Type, set[Number]] = {}
    for part in known:
        _, unit = alike(node.arguments[0].type, part.type, NULL, one(part.value))
        if unit.low is not None:
            by_type.setdefault(part.type, set()).add(unit.low)
    return Literals(
        frozenset(part.value for part in known if isinstance(part.value, (str, bool))),
        tuple((type_, tuple(sorted(units))) for type_, units in by_type.items()),
        any(part.value is None for part in known),
    )


def among(node: Call, value: Reach, literals: Literals) -> Reach:
    """`value IN (...)`, as an OR of equalities says it too."""
    if not value.has_value:
        return NULL
    true = not literals.values.isdisjoint(value.options)
    surely = true and len(value.options) == 1
    if value.any_text:
        true, surely = not literals.values <= value.but, False
    for type_, units in literals.numbers if value.low is not None else ():
        own, _ = alike(node.arguments[0].type, type_, value, NULL)
        assert own.low is not None and own.high is not None
        place = bisect_left(units, own.low)
        if place < len(units) and units[place] <= own.high:
            true, surely = True, surely or own.low == own.high
    if surely:
        return truth_of(True, False, null=value.null)
    return truth_of(true, not literals.has_null, null=value.null or literals.has_null)


def _distinct(node: Call, parts: list[Reach]) -> Reach:
    left, right = parts
    true = (left.null and right.has_value) or (right.null and left.has_value)
    false = left.null and right.null
    if left.has_value and right.has_value:
        unequal = compared(Call("!=", node.arguments, "boolean"), parts).options
        true, false = true or True in unequal, false or False in unequal
    return truth_of(true, false)


def _and(node: Call, parts: list[Reach]) -> Reach:
    true = all(True in part.options for part in parts)
    false = any(False in part.options for part in parts)
    null = any(part.null for part in parts) and all(
        part.null or True in part.options for part in parts
    )
    return truth_of(true, false, null=null)


def _or(node: Call, parts: list[Reach]) -> Reach:
    turned = _and(node, [_not(node, [part]) for part in parts])
    return _not(node, [turned])


def _not(node: Call, parts: list[Reach]) -> Reach:
    (part,) = parts
    return truth_of(False in part.options, True in part.options, null=part.null)


def _is(truth: bool) -> Operation:
    def tested(node: Call, parts: list[Reach]) -> Reach:
        (part,) = parts
        return truth_of(truth in part.options, part.null or (not truth) in part.options)

    return tested


SAYING_WHAT_NULLS_DO: dict[str, Operation] = {
    "and": _and,
    "or": _or,
    "not": _not,
    "in": _listed,
    "distinct": _distinct,
    "is null": lambda node, parts: truth_of(parts[0].null, parts[0].has_value),
    "is true": _is(True),
    "is false": _is(False),
}

STRICT: dict[str, Operation] = dict.fromkeys(COMPARED, compared)
