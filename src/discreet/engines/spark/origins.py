"""Which columns of files stand behind those of a data frame: also where these have another name, were cast, or only
decide which rows are chosen. What a column is called in the frame, and its type there, say nothing of its files.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from discreet.engines.sources import SourceColumn

_KEPT = re.compile(
    r"(tinyint|smallint|int|bigint|boolean|date|(var)?char\(\d+\)) string"
    r"|tinyint (smallint|int|bigint)|smallint (int|bigint)|int bigint|float double"
)
"""Casts after which different values still differ, and equal ones are spelled alike: two zeros are two texts, an hour that a
time zone has twice is one."""
_IN_MEMORY = {"LocalRelation", "LogicalRDD", "Range"}
CHOOSING = -1
"""The place of a column by which rows are chosen."""


def parts(sequence: Any) -> Iterator[Any]:
    """The elements of a sequence of Java's."""
    return (sequence.apply(place) for place in range(sequence.size()))


class Origins:
    """The columns of the places that a plan reads, and what the plan makes of them."""

    def __init__(self, plan: Any) -> None:
        self._stored: dict[int, tuple[str, str]] = {}
        """By its number, a column's name and type where it is read from."""
        self._made: dict[int, set[int]] = {}
        """By its number, what a column is made of."""
        self._anew: set[int] = set()
        """Columns that tell people apart in another way than what they are made of."""
        self._choosing: set[int] = set()
        self._walk(plan)
        self._shown = [_number(one) for one in parts(plan.output())]

    def behind(self, columns: Sequence[SourceColumn]) -> list[SourceColumn]:
        """What stands behind some columns of the frame, and behind the choice of its rows, with names and types of its own."""
        asked = [(one.place, {self._shown[one.place]}) for one in columns]
        return [
            SourceColumn(place, *self._stored[number])
            for place, numbers in [*asked, (CHOOSING, self._choosing)]
            for number in self._all_behind(numbers)
        ]

    def spelled_anew(self, columns: Sequence[SourceColumn]) -> frozenset[int]:
        """The places of columns that are computed, or cast in a way that takes people for one or one for several."""
        shown = {one.place: self._shown[one.place] for one in columns}
        return frozenset(one for one, own in shown.items() if self._anew & {*self._below([own])})

    def types(self, expression: Any) -> set[str]:
        """The types of all columns that an expression looks at, and of what stands behind them."""
        own = {one.dataType().simpleString() for one in _columns(expression)}
        return own | {self._stored[one][1] for one in self._all_behind(_numbers(expression))}

    def _all_behind(self, numbers: Iterable[int]) -> list[int]:
        return [number for number in self._below(numbers) if number in self._stored]

    def _below(self, numbers: Iterable[int]) -> list[int]:
        seen: dict[int, None] = {}
        waiting = list(numbers)
        while waiting:
            number = waiting.pop()
            if number not in seen:
                seen[number] = None
                waiting += self._made.get(number, ())
        return list(seen)

    def _walk(self, node: Any) -> None:
        kind = node.getClass().getSimpleName()
        below = list(parts(node.children()))
        if not below and kind not in _IN_MEMORY:
            for one in parts(node.output()):
                self._stored[_number(one)] = str(one.name()), one.dataType().simpleString()
        for one in parts(node.expressions()) if kind in ("Project", "Filter") else ():
            if kind == "Filter":
                self._choosing |= _numbers(one)
            elif one.getClass().getSimpleName() == "Alias":
                self._made[_number(one)] = _numbers(one)
                self._anew |= {_number(one)} if _is_anew(one.child()) else set()
        for child in below:
            if kind == "Union":
                for own, one in zip(parts(node.output()), parts(child.output()), strict=True):
                    self._made.setdefault(_number(own), set()).add(_number(one))
            self._walk(child)


def _is_anew(node: Any) -> bool:
    """Whether an expression is more than a column, cast so that no two values become one, nor one value several."""
    while node.getClass().getSimpleName() == "Cast":
        kinds = [one.dataType().simpleString() for one in (node.child(), node)]
        if kinds[0] != kinds[1] and not _KEPT.fullmatch(" ".join(kinds)):
            return True
        node = node.child()
    return str(node.getClass().getSimpleName()) != "AttributeReference"


def _number(column: Any) -> int:
    return int(column.exprId().id())


def _columns(expression: Any) -> list[Any]:
    leaves = parts(expression.collectLeaves())
    return [one for one in leaves if one.getClass().getSimpleName() == "AttributeReference"]


def _numbers(expression: Any) -> set[int]:
    return {_number(one) for one in _columns(expression)}
