"""Where an expression equals a value: its value on cells is found once, and looked up for each value.

Every group of a computed key asks where one expression has another value. So the cells are walked through a few
times at most: then the boxes on which the expression has one value are kept by that value. What is kept of
several values on a single cell is compared anew for each.

Only where an equality may hold is said. Nobody asks where it does not: `conditions` writes its negation as `!=`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from typing import Generic, TypeVar

from discreet.errors import NotAnswerable
from discreet.questions.cells.halving import MOST_LOOKS, MOST_LOOKS_INSIDE, boxes, stretches
from discreet.questions.cells.reach import Reach, Scalar, one, truth_of
from discreet.questions.cells.reaching.expressions import reach_from
from discreet.questions.expressions import Call, Constant, Expression, Unit
from discreet.questions.limits.work import TooMuchWork, tried_work
from discreet.schema import Column, OrderedColumn
from discreet.schema.columns.column import Range

FIRST_WALKED = 16
"""Values of an expression that are looked for one by one, before all of them are: most questions name few."""
Where = tuple[tuple[str, Reach], ...]
"""Columns that stay in a cell of undeclared values or of nulls."""
Ranges = tuple[Range, ...]
Place = TypeVar("Place")
TRUE, FALSE = truth_of(True, False), truth_of(False, True)


def equal_boxes(
    atom: Expression, columns: tuple[Column, ...], others: Where = ()
) -> list[tuple[Ranges, Reach]] | None:
    """The boxes of cells on which an equality may hold, with its truths; `None` where it is to be walked."""
    side = _side(atom)
    kept = None if side is None else _kept_boxes(side, columns, others).found()
    if kept is None:
        return None
    return [(kept.places[number], truth) for number, truth in kept.equal(atom)]


def equal_stretches(
    atom: Expression, column: OrderedColumn
) -> list[tuple[Unit, Unit, Reach]] | None:
    """All units of a column's cells, with the truths of an equality; `None` where it is to be walked."""
    side = _side(atom)
    kept = None if side is None else _kept_stretches(side, column).found()
    if kept is None:
        return None
    places, result, after = kept.places, list[tuple[Unit, Unit, Reach]](), 0
    for number, truth in kept.equal(atom):
        if number > after:
            result.append((places[after][0], places[number - 1][1], FALSE))
        result.append((*places[number], truth))
        after = number + 1
    if after < len(places):
        result.append((places[after][0], places[-1][1], FALSE))
    return result


def most_inside(atom: Expression) -> int:
    """Looks inside one cell: for an equality as many as where it is looked up, so that both ways give one answer."""
    return MOST_LOOKS_INSIDE if _side(atom) is None else MOST_LOOKS


def _side(atom: Expression) -> Expression | None:
    """The compared expression, if an atom is an equality with a value of its own type."""
    if not isinstance(atom, Call) or atom.name != "=":
        return None
    side, value = atom.arguments
    if not isinstance(side, Call) or not isinstance(value, Constant) or value.value is None:
        return None
    return side if side.type == value.type else None


class _Found(Generic[Place]):
    """What an expression is, place by place: the places of each value, and those of several values."""

    def __init__(self, found: Iterable[tuple[Place, Reach]]) -> None:
        self.places: list[Place] = []
        self._by_value: dict[Scalar, list[int]] = {}
        self._open: list[tuple[int, Reach]] = []
        for number, (place, reach) in enumerate(found):
            self.places.append(place)
            if not reach.is_one:
                self._open.append((number, reach))
            elif not reach.null:
                self._by_value.setdefault(reach.only, []).append(number)

    def equal(self, atom: Expression) -> list[tuple[int, Reach]]:
        """The numbers of the places where an equality holds or is unsettled, in their order."""
        assert isinstance(atom, Call)
        _, value = atom.arguments
        assert isinstance(value, Constant)
        wanted = one(value.value)
        result = [(number, TRUE) for number in self._by_value.get(value.value, ())]
        for number, reach in self._open:
            truth = reach_from(atom, [reach, wanted])
            if truth.null + len(truth.options) > 1:
                result.append((number, truth))
        return sorted(result, key=lambda each: each[0]) if self._open else result


class _Kept(Generic[Place]):
    """What was found of one expression, once it was asked for often.

    Thread safe: two threads may find the same at the same time, and either is kept.
    """

    def __init__(self, walk: Callable[[], Iterable[tuple[Place, Reach]]]) -> None:
        self._walk, self._asked = walk, 0
        self._is_known, self._found = False, None

    _found: _Found[Place] | None

    def found(self) -> _Found[Place] | None:
        self._asked += 1
        if self._asked > FIRST_WALKED and not self._is_known:
            try:
                with tried_work():
                    self._found = _Found(self._walk())
            except (NotAnswerable, TooMuchWork):
                self._found = None  # more values than can be looked at, of which few are asked for
            self._is_known = True
        return self._found


@lru_cache(maxsize=8)
def _kept_boxes(side: Expression, columns: tuple[Column, ...], others: Where) -> _Kept[Ranges]:
    return _Kept(lambda: boxes(side, columns, _is_one, dict(others)))


@lru_cache(maxsize=8)
def _kept_stretches(side: Expression, column: OrderedColumn) -> _Kept[tuple[Unit, Unit]]:
    def walk() -> Iterator[tuple[tuple[Unit, Unit], Reach]]:
        for first, last, reach in stretches(side, column, _is_one, MOST_LOOKS):
            if not reach.is_one:
                raise NotAnswerable("It changes inside a cell more often than can be followed.")
            yield (first, last), reach

    return _Kept(walk)


def _is_one(reach: Reach) -> bool:
    return reach.is_one
