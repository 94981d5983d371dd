"""A condition as disjoint boxes of cell numbers: what a release of ranges can answer.

Every atom about a column turns into ranges of its cells, those that surely satisfy it and those that
may. The ends of all of them cut each column into a few stretches, on each of which every atom has one
truth; the condition is evaluated on the product of the stretches, once for surely and once for maybe.
Nothing lists the cells, of which there may be 2^64.

Only cells of values are meant: a null satisfies no comparison, and values outside the declared domain
are not in a tree unless the schema clamps them.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from discreet.arrays import Bools, Codes
from discreet.errors import NotAnswerable
from discreet.questions.cells.truths import FALSE, TRUE, bits_of, selections, truth_boxes
from discreet.questions.conditions import (
    Leaf,
    Normal,
    atoms,
    normal_form,
    simple_of,
)
from discreet.questions.expressions import Expression, columns_of
from discreet.schema import Column, Schema
from discreet.schema.columns.column import CodeSelection, Range

Ranges = tuple[Range, ...]
"""A box: half-open ranges of codes, one for each column of an atom."""

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
    """The boxes in which a condition surely holds, and those in which it may hold."""

    inner: Boxes
    outer: Boxes
    is_exact: bool


@dataclass(frozen=True, slots=True)
class _Truth:
    """Where an atom is true and where it is false: boxes over its columns, surely and perhaps."""

    columns: tuple[str, ...]
    true: tuple[tuple[Ranges, ...], tuple[Ranges, ...]]
    false: tuple[tuple[Ranges, ...], tuple[Ranges, ...]]

    def edges(self, column: str) -> set[int]:
        if column not in self.columns:
            return set()
        axis = self.columns.index(column)
        sides = (*self.true, *self.false)
        return {edge for side in sides for box in side for edge in box[axis]}


def boxes_of(condition: Expression, schema: Schema, columns: Sequence[str]) -> BoxCondition:
    """The boxes of `condition` over `columns`, which must include those it names."""
    normal = normal_form(condition)
    declared = [schema.column(name) for name in columns]
    chosen = {atom: _truth(atom, schema) for atom in atoms(normal)}
    if name := _asked_for_nulls(normal):
        raise NotAnswerable(
            f"A release of ranges counts values only, so it cannot tell how many nulls column {name!r} has."
        )
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
        asked = simple_of(normal.atom)
        wanted = asked is not None and asked.sign == "is null" and normal.positive
        return asked.column if wanted and asked is not None else None
    if isinstance(normal, bool):
        return None
    return next(filter(None, map(_asked_for_nulls, normal.parts)), None)


def _truth(atom: Expression, schema: Schema) -> _Truth:
    names = tuple(dict.fromkeys(columns_of(atom)))
    columns = [schema.column(name) for name in names]
    if len(columns) > 1:
        found = [(ranges, bits_of(truth)) for ranges, truth in truth_boxes(atom, tuple(columns))]

        def where(truth: int) -> tuple[tuple[Ranges, ...], tuple[Ranges, ...]]:
            surely = tuple(ranges for ranges, bits in found if bits == truth)
            return surely, tuple(ranges for ranges, bits in found if bits & truth)

        return _Truth(names, where(TRUE), where(FALSE))
    true, false = _selected(atom, columns[0])
    return _Truth(names, _sides(true), _sides(false))


def _selected(atom: Expression, column: Column) -> tuple[CodeSelection, CodeSelection]:
    """The value cells where an atom of one column is true, and those where it is false."""
    asked = simple_of(atom)
    if asked is None or not column.is_ordered or not asked.literals:
        if asked is None or asked.sign != "is null":
            return selections(atom, column)
        everything = CodeSelection(((0, column.value_cells),), ((0, column.value_cells),))
        return CodeSelection((), ()), everything
    literals = list(asked.literals)
    true = column.codes_where(asked.sign, literals if asked.sign == "in" else literals[0])
    false = true.within(column.value_cells)
    return true, CodeSelection((), ()) if asked.has_null else false


def _sides(chosen: CodeSelection) -> tuple[tuple[Ranges, ...], tuple[Ranges, ...]]:
    return tuple((pair,) for pair in chosen.inner), tuple((pair,) for pair in chosen.outer)


def _edges(column: Column, chosen: dict[Expression, _Truth]) -> list[int]:
    """The cells at which an atom about the column may change its truth, with 0 and the number of value cells."""
    found = {0, column.value_cells}
    for truth in chosen.values():
        found |= truth.edges(column.name)
    return sorted(edge for edge in found if edge <= column.value_cells)


def _evaluated(
    normal: Normal,
    chosen: dict[Expression, _Truth],
    edges: list[list[int]],
    axes: dict[str, int],
    *,
    surely: bool,
) -> Bools:
    shape = tuple(len(each) - 1 for each in edges)
    if isinstance(normal, bool):
        return np.full(shape, normal)
    if isinstance(normal, Leaf):
        truth = chosen[normal.atom]
        side = (truth.true if normal.positive else truth.false)[0 if surely else 1]
        own = [axes[name] for name in truth.columns]
        found = np.zeros([shape[axis] if axis in own else 1 for axis in range(len(shape))], bool)
        for ranges in side:
            place = [slice(None)] * len(shape)
            for axis, (start, stop) in zip(own, ranges, strict=True):
                place[axis] = slice(bisect_left(edges[axis], start), bisect_left(edges[axis], stop))
            found[tuple(place)] = True
        return np.broadcast_to(found, shape)
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
