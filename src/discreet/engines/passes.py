"""Which marginals to count together: decided by the numbers of cells, which are public.

Grouping once by several sets' columns and summing out afterwards costs one grouping instead of
several, and pays as long as the joint cells stay few enough for a processor's cache. A row that
one column excludes still counts in the marginals of the others, so in a joint grouping an
excluding column has one more slot, last, which is cut off at the end.

Many marginals at once are counted by numpy from the rows' codes in memory, in bytes. A database groups by a few sets of columns in one scan; thousands of sets would be thousands of hash
tables. Here each column is encoded once, and a marginal costs one pass over a few bytes of each row, in
blocks that stay in a processor's cache.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.engines.protocol import Counts
from discreet.schema.columns.column import Column, keeps_every_row
from discreet.schema.schema import Schema

MOST_JOINT_CELLS = 2**16
"""Sets are joined up to so many cells; a set that has more stays alone, or takes in its subsets."""
MOST_CELLS_PER_PASS = 2**24
"""Sets beyond are counted in a further pass, so that their hash tables fit the memory."""


@dataclass(frozen=True, slots=True)
class Grouping:
    """Columns to group by together, each with its number of slots."""

    columns: tuple[str, ...]
    slots: tuple[int, ...]

    @property
    def cells(self) -> int:
        return prod(self.slots)

    def marginal(self, counts: Counts, shape: Sequence[int], columns: Sequence[str]) -> Counts:
        """The marginal of some of the columns, from the counts of this grouping."""
        joint = counts.reshape(self.slots)
        others = tuple(axis for axis, name in enumerate(self.columns) if name not in columns)
        kept = [name for name in self.columns if name in columns]
        summed = joint.sum(axis=others, dtype=np.int64) if others else joint
        ordered = summed.transpose([kept.index(name) for name in columns])
        return np.ascontiguousarray(ordered[tuple(slice(0, cells) for cells in shape)])


def slots(column: Column) -> int:
    """The column's cells, and one more slot if it excludes rows."""
    return column.cells + (not keeps_every_row(column))


def groupings(schema: Schema, sets: Sequence[tuple[str, ...]]) -> tuple[list[Grouping], list[int]]:
    """Groupings that cover every set, and for each set the place of the one that covers it."""
    found: list[tuple[str, ...]] = []
    place = [0] * len(sets)
    sizes = {column.name: slots(column) for column in schema.columns}

    def cells(names: Sequence[str]) -> int:
        return prod(sizes[name] for name in names)

    for index in sorted(range(len(sets)), key=lambda index: -cells(sets[index])):
        names = sets[index]
        best: tuple[int, int] | None = None
        for number, columns in enumerate(found):
            further = [name for name in names if name not in columns]
            joint = cells(columns) * cells(further)
            if (not further or joint <= MOST_JOINT_CELLS) and (best is None or joint < best[0]):
                best = (joint, number)
        if best is None:
            found.append(names)
            place[index] = len(found) - 1
        else:
            place[index] = best[1]
            columns = found[best[1]]
            found[best[1]] = (*columns, *(name for name in names if name not in columns))
    return [Grouping(names, tuple(sizes[name] for name in names)) for names in found], place


def alone(schema: Schema, sets: Sequence[tuple[str, ...]]) -> tuple[list[Grouping], list[int]]:
    """Like `groupings`, but each set by itself; sets of the same columns share one."""
    sizes = {column.name: slots(column) for column in schema.columns}
    found: dict[frozenset[str], int] = {}
    made: list[Grouping] = []
    for names in sets:
        if found.setdefault(frozenset(names), len(made)) == len(made):
            made.append(Grouping(names, tuple(sizes[name] for name in names)))
    return made, [found[frozenset(names)] for names in sets]


def passes(found: Sequence[Grouping]) -> list[list[int]]:
    """The groupings, by place, that one scan counts together."""
    result: list[list[int]] = []
    room = 0
    for place, grouping in enumerate(found):
        if not result or grouping.cells > room:
            result.append([])
            room = MOST_CELLS_PER_PASS
        result[-1].append(place)
        room -= grouping.cells
    return result


_LEAST_BLOCK, _LARGEST_BLOCK = 1 << 15, 1 << 20
_KEY_TYPES = (np.uint8, np.uint16, np.uint32)


class Counting:
    """The counts of each grouping, flat, over batches of rows."""

    def __init__(self, groupings: Sequence[Grouping]) -> None:
        self._groupings = groupings
        self.totals: list[Counts] = [np.zeros(each.cells, dtype=np.int64) for each in groupings]

    def add(self, codes: Mapping[str, NDArray[Any]]) -> None:
        """A batch: by column, each row's slot."""
        for grouping, total in zip(self._groupings, self.totals, strict=True):
            _add(total, grouping, [codes[name] for name in grouping.columns])


def _add(total: Counts, grouping: Grouping, codes: Sequence[NDArray[Any]]) -> None:
    type_ = next((one for one in _KEY_TYPES if grouping.cells <= np.iinfo(one).max), np.int64)
    block = min(max(_LEAST_BLOCK, grouping.cells), _LARGEST_BLOCK)
    for start in range(0, len(codes[0]), block):
        key = codes[0][start : start + block].astype(type_, copy=False)
        for code, slots in zip(codes[1:], grouping.slots[1:], strict=True):
            key = np.multiply(key, type_(slots), dtype=type_)
            key += code[start : start + block].astype(type_, copy=False)
        total += np.bincount(key, minlength=len(total))
