"""Whole counts of at least 0 that agree, for tables of any size: found from the top down.

First the number of rows, then the cells of every column, then the tables over several columns: each is made near what was
measured, and keeps what was found before. So every smaller table is the same however it is summed, and no count is below 0. A table
is found when it is asked for.

A column is halved until its cells are left: each half gets its share of the rows, as measured, but at least none and at most all. So ranges
are hardly biased. The counts that are nearest cell by cell would be, where most cells are empty. A table over two columns, with the sums of its rows
and columns given, is halved both ways: of four quarters with given sums one decides the others, and it lies between bounds that are never empty. A
third column is added to a table over two in the same way, and so on.

What two tables share must be found before both. That goes wherever the shared sets inside a table are nested, as for pairs of columns, which share
columns alone. It does not go for all tables of three columns: three tables over pairs need not fit any table over all three. See
`can_agree`.

Cells that are declared to be empty stay empty. A table over the columns of such a declaration is found before these columns are: what they hold is
then a sum of its cells.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from itertools import pairwise
from types import MappingProxyType
from typing import TypeVar

import numpy as np

from discreet.arrays import Bools, Floats, Integers
from discreet.families.shared.estimate.kept import Kept

Columns = tuple[str, ...]
Numbers = TypeVar("Numbers", Floats, Integers)
MOST_SHARED = 1 << 12
"""Sets that tables have in common, up to which it is seen whether they are nested."""
MOST_KEPT = 64
"""Tables that are kept for further questions."""
SURE = 1e-6
"""Cells that a part of a table counts as where all of its cells are declared empty: it is known to hold nothing."""
SCALINGS, LEAST_SCALINGS, SCALED = 20, 3, 1 << 27
"""How often a table that was not measured is scaled to those that were, at most and at least; and how many cells are scaled in all."""
LEAST = 1e-3
"""Rows that each of their cells has at least there: what noise empties in one table may be open in another."""
Place = tuple[slice, slice]
Sizes = tuple[Place, list[Floats]]
"""Some nodes, and how many cells each of their quarters has."""
EVERYWHERE: Place = (slice(None), slice(None))


def shared_sets(
    sets: Iterable[Columns], empty: Iterable[Columns] = ()
) -> list[frozenset[str]] | None:
    """The tables, and what any of them have in common, of two columns and more; `None` where that is too many.

    `empty`: the columns of tables with cells that are declared empty, which are found whatever else is.
    """
    largest = largest_sets(map(frozenset, sets))
    largest += [each for each in map(frozenset, empty) if each not in largest]
    if all(len(each) <= 2 for each in largest):
        return largest
    found = set(largest)
    waiting = list(largest)
    while waiting:
        one = waiting.pop()
        for other in largest:
            common = one & other
            if len(common) > 1 and common not in found:
                found.add(common)
                waiting.append(common)
        if len(found) > MOST_SHARED:
            return None
    return sorted(found, key=len)


def largest_sets(sets: Iterable[frozenset[str]]) -> list[frozenset[str]]:
    """Those that are not parts of others, without the empty one, in their order."""
    found = dict.fromkeys(each for each in sets if each)
    holding: dict[str, list[frozenset[str]]] = {}
    for each in found:
        for name in each:
            holding.setdefault(name, []).append(each)
    return [each for each in found if not any(each < other for other in holding[next(iter(each))])]


def can_agree(sets: Iterable[Columns], empty: Iterable[Columns] = ()) -> bool:
    """Whether what tables share is nested inside each of them; `empty` are the tables with cells that are declared empty."""
    first = [frozenset(each) for each in empty]
    found = shared_sets(sets, map(tuple, first))
    if found is None:
        return False
    if all(len(each) <= 2 for each in found):
        return True
    for table in found:
        if any(table <= each for each in first):
            continue  # found before all others, which follow from it
        inside = sorted((each for each in found if each < table), key=len)
        if any(not one < other for one, other in pairwise(inside)):
            return False
    return True


class AgreeingCounts:
    """Whole counts over any columns of some tables. Thread safe: see `Kept`."""

    def __init__(
        self,
        sets: Sequence[Columns],
        names: Sequence[str],
        measured: Callable[[Columns], Floats],
        most: int | None = None,
        empty: Mapping[Columns, Bools] = MappingProxyType({}),
        ranges: Mapping[str, Callable[[], list[Floats]]] = MappingProxyType({}),
    ) -> None:
        """`measured` gives a table over columns in the order of `names`: over none, the number of rows. It is at most `most`.

        `empty`: tables with cells that hold no row, no column in two of them. `ranges`: for some columns the noisy rows of all
        their cells, of halves, of halves of halves (see `_halves`), where more is known of these than sums of cells.
        """
        self._sets = [frozenset(each) for each in sets]
        self._empty, self._ranges = dict(empty), ranges
        self._inside = {name: columns for columns in self._empty for name in columns}
        self._shared = shared_sets(sets, self._empty) or []
        self._known = frozenset(self._shared)
        self._names, self._measured = tuple(names), measured
        self.rows = max(0, round(float(measured(()).sum())))
        if most is not None:
            self.rows = min(self.rows, most)
        self._columns: Kept[str, Integers] = Kept()
        self._tables: Kept[Columns, Integers] = Kept(MOST_KEPT)

    def over(self, columns: Columns) -> Floats:
        """The table of some columns, in the order of the names."""
        if len(columns) < 2:
            found = self._column(columns[0]) if columns else np.array(self.rows)
            return found.astype(np.float64)
        wanted = frozenset(columns)
        if wanted not in self._known:
            wanted = min((each for each in self._shared if each > wanted), key=len)
        table = self._in_order(wanted)
        counts = self._table(table)
        axes = tuple(place for place, name in enumerate(table) if name not in columns)
        return np.asarray(counts.sum(axis=axes, dtype=np.int64), dtype=np.float64)

    def _in_order(self, columns: Iterable[str]) -> Columns:
        wanted = set(columns)
        return tuple(name for name in self._names if name in wanted)

    def _column(self, name: str) -> Integers:
        return self._columns.get(name, partial(self._found_column, name))

    def _found_column(self, name: str) -> Integers:
        if name in self._inside:
            return self._found((name,))
        return self._split(name)

    def _split(self, name: str) -> Integers:
        ranges = self._ranges[name]() if name in self._ranges else None
        return split_rows(self._measured((name,)), self.rows, ranges)

    def _table(self, columns: Columns) -> Integers:
        if len(columns) == 1:
            return self._column(columns[0])
        return self._tables.get(columns, partial(self._found, columns))

    def _found(self, columns: Columns) -> Integers:
        """A column at a time is added to the largest table that was found before, or to the first column."""
        if columns in self._empty:
            return self._without_empty_cells(columns, self._empty[columns])
        first = self._inside.get(columns[0])
        if first is not None and set(columns) <= set(first):
            rest = tuple(place for place, name in enumerate(first) if name not in columns)
            return np.asarray(self._table(first).sum(axis=rest, dtype=np.int64))
        found = columns[:1]
        if len(columns) > 2:
            inside = [self._in_order(each) for each in self._shared if each < set(columns)]
            found = max(inside, key=len, default=found)
        counts = self._table(found)
        for name in columns:
            if name in found:
                continue
            ordered = self._in_order((*found, name))
            noisy = np.moveaxis(self._measured(ordered), ordered.index(name), -1)
            cells = noisy.shape[-1]
            table = split_table(noisy.reshape(-1, cells), counts.reshape(-1), self._column(name))
            counts = np.moveaxis(table.reshape(noisy.shape), -1, ordered.index(name))
            found = ordered
        return np.ascontiguousarray(counts)

    def _without_empty_cells(self, columns: Columns, empty: Bools) -> Integers:
        """A table with cells that are declared empty: found from its columns, which then follow from it.

        The columns with fewest cells come first. What a table over the first ones says is then met, and what is rounded in later ones
        adds up over few cells.
        """
        axes = sorted(range(len(columns)), key=lambda axis: empty.shape[axis])
        names, empty = tuple(columns[axis] for axis in axes), empty.transpose(axes)
        fitted: Floats | None = None
        counts = np.array(self.rows)
        for place, name in enumerate(names):
            inside, rest = names[: place + 1], tuple(range(place + 1, len(names)))
            is_open = ~empty.all(axis=rest)
            if self._is_held(inside):
                ordered = self._in_order(inside)
                noisy = self._measured(ordered).transpose([ordered.index(each) for each in inside])
            else:
                fitted = self._most_even(names, ~empty) if fitted is None else fitted
                noisy = fitted.sum(axis=rest)
            cells = is_open.shape[-1]
            noisy = np.where(is_open, noisy, 0.0)
            table, flat = noisy.reshape(-1, cells), is_open.reshape(-1, cells)
            found = split_table(table, counts.reshape(-1), self._split(name), flat)
            counts = moved_out(found, table, flat).reshape(noisy.shape)
        return np.ascontiguousarray(counts.transpose(np.argsort(axes)))

    def _is_held(self, columns: Columns) -> bool:
        """Whether some table is over these columns, and perhaps others."""
        return any(set(columns) <= each for each in self._sets)

    def _most_even(self, columns: Columns, is_open: Bools) -> Floats:
        """The most even table with nothing in closed cells that has, nearly, what is known of fewer columns.

        No table is over all of the columns, so the residuals of what there is do not say which cells have rows. Each of these tables is
        made whole, and the open cells are scaled to them in turn (iterative proportional fitting).
        """
        cells = np.nonzero(is_open)
        found = np.ones(len(cells[0]))
        targets: list[tuple[Integers, Floats]] = []
        for part in largest_sets(each & set(columns) for each in self._sets):
            kept = self._in_order(part)
            axes = [columns.index(name) for name in kept]
            rest = tuple(axis for axis in range(len(columns)) if axis not in axes)
            some = np.asarray(is_open.any(axis=rest))
            closed = ~some.transpose(np.argsort(np.argsort(axes)))
            whole = self._without_empty_cells(kept, closed).ravel()
            own = np.ravel_multi_index([cells[axis] for axis in axes], closed.shape)
            targets.append((np.asarray(own), np.maximum(whole, LEAST)))
        work = max(1, len(found) * len(targets))
        for _ in range(min(SCALINGS, max(LEAST_SCALINGS, SCALED // work))):
            for own, wanted in targets:
                summed = np.bincount(own, found, minlength=len(wanted))
                found *= np.divide(wanted, summed, out=np.zeros(len(wanted)), where=summed > 0)[own]
        table = np.zeros(is_open.shape)
        table[cells] = found
        return table


def split_rows(noisy: Floats, rows: int, sums: list[Floats] | None = None) -> Integers:
    """Whole counts of at least 0 that add up to `rows`: halves of halves, each near its noisy sum."""
    cells = len(noisy)
    is_ranged = sums is not None
    sums, sizes = sums or _halves(_padded(noisy)), _halves(_padded(np.ones(cells)))
    found = np.array([rows], dtype=np.int64)
    for sum_, size in zip(sums[1:], sizes[1:], strict=True):
        left, right = size[0::2], size[1::2]
        # What both halves are off by together is shared by the number of their cells; a tree's two halves have about the same noise.
        if is_ranged:
            left, right = np.minimum(left, 1.0), np.minimum(right, 1.0)
        off = (found - sum_[0::2] - sum_[1::2]) * left / np.maximum(left + right, 1.0)
        half = np.clip(np.rint(sum_[0::2] + off), 0, found)
        half = np.where(right > 0, half, found).astype(np.int64)
        found = np.stack([half, found - half], axis=-1).reshape(-1)
    return found[:cells]


def moved_out(table: Integers, noisy: Floats, is_open: Bools) -> Integers:
    """The table with nothing in cells that are not open: their rows go to open cells beside them, or else to any."""
    if not np.any(table[~is_open]) or not is_open.any():
        return table
    found = np.where(is_open, table, 0)
    lost = table.sum(axis=1) - found.sum(axis=1)
    for row in np.flatnonzero(lost):
        places = np.flatnonzero(is_open[row])
        if len(places):
            found[row, places] += split_rows(noisy[row, places] - found[row, places], int(lost[row]))  # fmt: skip
            lost[row] = 0
    if lost.any():
        found[is_open] += split_rows(noisy[is_open] - found[is_open], int(lost.sum()))
    return found


def split_table(
    noisy: Floats, rows: Integers, columns: Integers, is_open: Bools | None = None
) -> Integers:
    """Whole counts of at least 0 with the given sums of rows and of columns, which have the same total.

    Cells that are not open get nothing, as far as the sums allow.
    """
    # One row here is a node of columns; its numbers are those of all rows of the table.
    sums = _halves_of_rows(noisy.T)
    opened = None if is_open is None else _halves_of_rows(is_open.T.astype(np.float64))
    of_rows, of_columns = (_halves(np.ones(size)) for size in noisy.shape)
    totals = _halves(columns.astype(np.float64))
    found = rows.astype(np.float64)[None, :]  # whole numbers below 2^53: exact
    for level in range(1, len(sums)):
        pairs = len(totals[level]) // 2
        given = _halves(found[:pairs])
        nodes = _both(sums[level], pairs)
        counted = None if opened is None else _both(opened[level], pairs)
        half = totals[level][: 2 * pairs : 2, None]
        for depth in range(1, len(given)):
            if counted is None:
                sizes = _uneven(of_columns[level], of_rows[depth])
            else:
                sizes = [(EVERYWHERE, _four([each[depth] for each in counted]))]
            half = _quarters(half, given[depth], _four([each[depth] for each in nodes]), sizes)
        found = np.concatenate([_alternating(half, found[:pairs] - half, 0), found[pairs:]])
    return np.ascontiguousarray(found.T).astype(np.int64)


def _quarters(half: Floats, given: Floats, noisy: list[Floats], sizes: list[Sizes]) -> Floats:
    """Rows of left halves, shared between upper and lower ones.

    `half` is to be shared; `given` are the sums of upper and lower rows, both halves together. One quarter t decides the
    others: t, upper - t, half - t, lower - half + t. It is the t nearest to all four noisy sums, each weighed by its number of cells, that
    leaves none below 0. Such a t exists: half is at most upper + lower. `sizes` are the numbers of cells where the four have not
    the same. A node without one beside it keeps its rows.
    """
    pairs = given.shape[1] // 2
    half, alone = half[:, :pairs], half[:, pairs:]
    upper, lower = given[:, : 2 * pairs : 2], given[:, 1::2]
    top, beside, bottom, across = noisy
    each = top, upper - beside, half - bottom, half - lower + across
    wanted = (each[0] + each[1] + each[2] + each[3]) / 4
    for place, cells in sizes:
        weights = [1.0 / np.maximum(size, SURE) for size in cells]
        weighted = [weight * one[place] for weight, one in zip(weights, each, strict=True)]
        wanted[place] = sum(weighted) / np.maximum(sum(weights), 1e-12)
    least, most = np.maximum(0, half - lower), np.minimum(upper, half)
    found = np.clip(np.rint(wanted), least, most)
    return np.concatenate([_alternating(found, half - found, 1), alone], axis=1)


def _both(nodes: Floats, pairs: int) -> list[list[Floats]]:
    """Left and right nodes of pairs, by halves of halves of the other axis."""
    return [_halves(nodes[start : 2 * pairs : 2]) for start in (0, 1)]


def _four(halves: list[Floats]) -> list[Floats]:
    """Upper left, upper right, lower left and lower right of what stands in pairs."""
    pairs = halves[0].shape[1] // 2
    return [each[:, start : 2 * pairs : 2] for start in (0, 1) for each in halves]


def _uneven(of_columns: Floats, of_rows: Floats) -> list[Sizes]:
    """The pairs whose two nodes differ in size, which only the last of an axis can, and the sizes of their quarters."""
    (left, right), (upper, lower) = (
        (each[: len(each) // 2 * 2 : 2], each[1::2]) for each in (of_columns, of_rows)
    )
    last: list[Place] = []
    if left[-1] != right[-1]:
        last.append((slice(-1, None), slice(None)))
    if upper[-1] != lower[-1]:
        last.append((slice(None), slice(-1, None)))
    return [
        (
            (one, other),
            [np.outer(side[one], half[other]) for half in (upper, lower) for side in (left, right)],
        )
        for one, other in last
    ]


def _alternating(one: Floats, other: Floats, axis: int) -> Floats:
    """Nodes of two kinds in turn."""
    shape = list(one.shape)
    shape[axis] *= 2
    return np.stack([one, other], axis=axis + 1).reshape(shape)


def _padded(numbers: Numbers) -> Numbers:
    """With zeros behind, up to a power of 2 along the last axis."""
    cells = numbers.shape[-1]
    more = (1 << (cells - 1).bit_length()) - cells
    return np.pad(numbers, [(0, 0)] * (numbers.ndim - 1) + [(0, more)])


def _halves(numbers: Floats) -> list[Floats]:
    """Sums along the last axis: of all, of halves, of quarters, ... of single numbers. What has nothing beside it stands alone."""
    return [each.T for each in _halves_of_rows(numbers.T)]


def _halves_of_rows(numbers: Floats) -> list[Floats]:
    found = [numbers]
    while len(found[-1]) > 1:
        last = found[-1]
        summed = last[0::2].copy()
        summed[: len(last) // 2] += last[1::2]
        found.append(summed)
    return found[::-1]
