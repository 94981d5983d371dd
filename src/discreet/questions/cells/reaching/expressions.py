"""Between which values an expression lies while its columns move within given stretches.

A stretch of a column is a `Reach`: a least and a greatest number, or a set of texts or truth values, and
whether null is among them. The reach of an expression holds every value that it can take there; it may
hold more, never less. Of single values it is the single value itself, so this is also what an expression
means for one row (see `expressions`).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple

from discreet.questions.cells.reach import NULL, Operation, Reach, Scalar, joined, one
from discreet.questions.cells.reaching import arithmetic, calendar, casts, choices, comparisons
from discreet.questions.cells.reaching import texts as of_texts
from discreet.questions.cells.reaching.units import fitted
from discreet.questions.expressions import Call, ColumnValue, Constant, Expression


def value_of(expression: Expression, row: Mapping[str, Scalar]) -> Scalar:
    """The value of an expression for one row of values."""
    return reach_of(expression, {name: one(value) for name, value in row.items()}).only


def reach_of(node: Expression, where: Mapping[str, Reach]) -> Reach:
    """The possible values of `node` while its columns are where `where` says."""
    if isinstance(node, Constant):
        return one(node.value)
    if isinstance(node, ColumnValue):
        return where[node.column]
    if node.name == "case":
        return _case(node, where)
    if node.name == "in" and (literals := comparisons.literals_of(node)) is not None:
        return comparisons.among(node, reach_of(node.arguments[0], where), literals)
    return reach_from(node, [reach_of(argument, where) for argument in node.arguments])


def reach_from(node: Call, parts: list[Reach]) -> Reach:
    """What `node`, which is no CASE, may be while its arguments are one of `parts` each."""
    whole = _WHOLE.get(node.name)
    if whole is not None:
        return whole(node, parts)
    # Everything else is null where an argument is, and has a value only where all of them have one.
    null = any(part.null for part in parts)
    if not all(part.has_value for part in parts):
        return NULL
    found = _STRICT[node.name](node, parts)
    return found if found.null or not null else found._replace(null=True)


class _Table(NamedTuple):
    """A CASE that looks the texts of a column up."""

    column: str
    results: dict[str | bool, Reach]
    otherwise: Reach


@lru_cache(maxsize=64)
def _looked_up(node: Call) -> _Table | None:
    """What functions of texts become, on as many cases as their column declares values. Kept, as lists are."""
    *pairs, otherwise = node.arguments
    conditions, values = pairs[::2], pairs[1::2]
    columns = {each.arguments[0] for each in conditions if isinstance(each, Call)}
    column = columns.pop() if len(columns) == 1 else None
    if not isinstance(column, ColumnValue) or column.type != "text":
        return None
    results: dict[str | bool, Reach] = {}
    for condition, value in zip(conditions, values, strict=True):
        if not isinstance(condition, Call) or condition.name != "in":
            return None
        literals = comparisons.literals_of(condition)
        if literals is None or not isinstance(value, Constant):
            return None
        made = fitted(one(value.value), value.type, node.type)
        for text in literals.values:
            results.setdefault(text, made)
    if not isinstance(otherwise, Constant):
        return None
    return _Table(column.column, results, fitted(one(otherwise.value), otherwise.type, node.type))


def _case(node: Call, where: Mapping[str, Reach]) -> Reach:
    found: list[Reach] = []
    if (table := _looked_up(node)) is not None and not where[table.column].any_text:
        own = where[table.column]
        found = [table.results.get(text, table.otherwise) for text in own.options]
        return joined([*found, table.otherwise] if own.null else found)
    pairs = node.arguments[:-1]
    for condition, value in zip(pairs[::2], pairs[1::2], strict=True):
        truth = reach_of(condition, where)
        if True in truth.options:
            found.append(fitted(reach_of(value, where), value.type, node.type))
        if truth.options == {True} and not truth.null:
            return joined(found)
    otherwise = node.arguments[-1]
    return joined([*found, fitted(reach_of(otherwise, where), otherwise.type, node.type)])


_WHOLE: dict[str, Operation] = {**comparisons.SAYING_WHAT_NULLS_DO, **choices.SAYING_WHAT_NULLS_DO}
"""Operations that say for themselves what a null does."""
_STRICT: dict[str, Operation] = {
    **comparisons.STRICT,
    **arithmetic.STRICT,
    **of_texts.STRICT,
    **casts.STRICT,
    **calendar.STRICT,
}
