"""A condition as disjoint boxes of cell numbers: what a release of ranges can answer.

Every atom about a column turns into ranges of its cells, those that surely satisfy it and those that
may. The ends of all of them cut each column into a few stretches, on each of which every atom has one
truth; the condition is evaluated on the product of the stretches, once for surely and once for maybe.
Nothing lists the cells, of which there may be 2^64.

Only cells of values are meant: a null satisfies no comparison, and values outside the declared domain
are not in a tree unless the schema clamps them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
import numpy.typing as npt

from discreet.errors import NotAnswerable
from discreet.questions.conditions import (
    Atom,
    Comparison,
    Condition,
    Leaf,
    Membership,
    Node,
    Normal,
    NullTest,
    atoms,
    normal_form,
)
from discreet.schema import Column, Schema
from discreet.schema.columns.column import CodeSelection

Bools = npt.NDArray[np.bool_]
Codes = npt.NDArray[np.uint64]

MOST_STRETCHES = 1 << 20
"""Products of stretches that are evaluated."""
MOST_BOXES = 1 << 16


@dataclass(frozen=True, slots=True, eq=False)
class Boxes:
    """Disjoint boxes: first and last cell (both included) of each box and column."""

    first: Codes
    last: Codes

    def __len__(self) -> int:
        return len(self.first)


@dataclass(frozen=True, slots=True, eq=False)
class BoxCondition:
    """Where a condition surely holds, and where it may."""

    inner: Boxes
    outer: Boxes
    is_exact: bool


def columns_of(condition: Condition) -> set[str]:
    """The columns that a condition names."""
    return {atom.column for atom in atoms(normal_form(condition))}


def asks_for_a_value(condition: Condition, column: str) -> bool:
    """Whether no row without a value in `column` can satisfy the condition."""
    return _without(normal_form(condition), column) is False


def _without(normal: Normal, column: str) -> Normal:
    """What is left of the condition for a row whose `column` is null."""
    if isinstance(normal, Leaf) and normal.atom.column == column:
        return isinstance(normal.atom, NullTest) and normal.positive
    if not isinstance(normal, Node):
        return normal
    parts = [_without(part, column) for part in normal.parts]
    if any(part is (not normal.every) for part in parts):
        return not normal.every
    left = tuple(part for part in parts if part is not normal.every)
    return Node(normal.every, left) if left else normal.every


def boxes_of(condition: Condition, schema: Schema, columns: Sequence[str]) -> BoxCondition:
    """The boxes of `condition` over `columns`, which must include those it names."""
    normal = normal_form(condition)
    if name := _asked_for_nulls(normal):
        raise NotAnswerable(
            f"A release of ranges counts values only, so it cannot tell how many nulls column {name!r} has."
        )
    declared = [schema.column(name) for name in columns]
    chosen = {atom: _cells(atom, schema.column(atom.column)) for atom in atoms(normal)}
    edges = [_edges(column, chosen) for column in declared]
    if prod(len(each) - 1 for each in edges) > MOST_STRETCHES:
        raise NotAnswerable(
            "The condition has too many combinations of ranges; ask about fewer literals at once."
        )
    axes = {column.name: axis for axis, column in enumerate(declared)}
    inner = _evaluated(normal, chosen, edges, axes, surely=True)
    outer = _evaluated(normal, chosen, edges, axes, surely=False)
    is_exact = bool(np.array_equal(inner, outer))
    surely = _boxes(inner, edges)
    return BoxCondition(surely, surely if is_exact else _boxes(outer, edges), is_exact)


def _asked_for_nulls(normal: Normal) -> str | None:
    if isinstance(normal, Leaf):
        asked = isinstance(normal.atom, NullTest) and normal.positive
        return normal.atom.column if asked else None
    if isinstance(normal, Node):
        return next(filter(None, map(_asked_for_nulls, normal.parts)), None)
    return None


def _cells(atom: Atom, column: Column) -> CodeSelection:
    if isinstance(atom, Comparison):
        return column.codes_where(atom.operator, atom.literal)
    if isinstance(atom, Membership):
        return column.codes_where("in", list(atom.literals))
    if isinstance(atom, NullTest):
        return CodeSelection((), ())  # of the value cells, none
    raise NotAnswerable(f"A release of ranges of column {column.name!r} answers comparisons only.")


def _edges(column: Column, chosen: dict[Atom, CodeSelection]) -> list[int]:
    """Where some atom about the column may change its truth, from 0 to the number of value cells."""
    found = {0, column.value_cells}
    for atom, cells in chosen.items():
        if atom.column == column.name:
            found |= {
                edge for ranges in (cells.inner, cells.outer) for pair in ranges for edge in pair
            }
    return sorted(edge for edge in found if edge <= column.value_cells)


def _evaluated(
    normal: Normal,
    chosen: dict[Atom, CodeSelection],
    edges: list[list[int]],
    axes: dict[str, int],
    *,
    surely: bool,
) -> Bools:
    shape = tuple(len(each) - 1 for each in edges)
    if isinstance(normal, bool):
        return np.full(shape, normal)
    if isinstance(normal, Leaf):
        cells, axis = chosen[normal.atom], axes[normal.atom.column]
        if not normal.positive:
            if isinstance(normal.atom, Membership) and normal.atom.has_null:
                return np.zeros(shape, dtype=np.bool_)
            cells = CodeSelection(cells.outer, cells.inner)  # surely not, where not even maybe
        ranges = cells.inner if surely else cells.outer
        starts = np.array([any(a <= edge < b for a, b in ranges) for edge in edges[axis][:-1]])
        found = starts if normal.positive else ~starts
        return np.broadcast_to(
            found.reshape([-1 if place == axis else 1 for place in range(len(shape))]), shape
        )
    parts = [_evaluated(part, chosen, edges, axes, surely=surely) for part in normal.parts]
    return np.asarray((np.logical_and if normal.every else np.logical_or).reduce(parts))


def _boxes(mask: Bools, edges: list[list[int]]) -> Boxes:
    """Runs along the last column, joined over equal runs in the columns before it."""
    found: list[tuple[tuple[int, int], ...]] = _runs(mask)
    if len(found) > MOST_BOXES:
        raise NotAnswerable(f"The condition needs more than {MOST_BOXES:,} boxes.")
    first = np.zeros((len(found), mask.ndim), dtype=np.uint64)
    last = np.zeros((len(found), mask.ndim), dtype=np.uint64)
    for place, box in enumerate(found):
        for axis, (start, stop) in enumerate(box):
            first[place, axis] = edges[axis][start]
            last[place, axis] = edges[axis][stop] - 1
    return Boxes(first, last)


def _runs(mask: Bools) -> list[tuple[tuple[int, int], ...]]:
    if mask.ndim == 1:
        padded = np.concatenate([[False], mask, [False]])
        changes = np.flatnonzero(padded[1:] != padded[:-1])
        return [((int(a), int(b)),) for a, b in zip(changes[::2], changes[1::2], strict=True)]
    found: list[tuple[tuple[int, int], ...]] = []
    start = 0
    for stop in range(1, len(mask) + 1):
        if stop == len(mask) or not np.array_equal(mask[stop], mask[start]):
            found += [((start, stop), *rest) for rest in _runs(mask[start])]
            start = stop
    return found
