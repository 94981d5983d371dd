"""Rows whose counts come as near to wanted tables of two columns as whole rows can.

Rows drawn from a model meet its tables up to the chance of drawing only; and the model meets what
was measured up to its own bias. Both are repaired here: single values of single rows are set to
others while that brings the counts of pairs nearer to the wanted ones (`wanted_pairs`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations_with_replacement, pairwise, product
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from discreet.arrays import Floats, Integers, Singles

if TYPE_CHECKING:
    from numpy.random import Generator  # noqa: TID251 - the type only; the generator is public


TINY = 1e-300
LOOKED_AT, LEAST_LOOKED_AT, COMPARED = 4096, 96, 1 << 16
"""Rows that are looked at in one step, at most and at least; and how many of their values are compared."""
FIRST_MOVED = 32
"""Rows that are moved in the first step: all that would gain, at once, would overshoot."""
LEAST_PASSES, MOST_STEPS = 60, 4000
"""Steps for each column at least, and in all at most, unless so little is left to gain."""
WORK, MORE_WORK = 1 << 29, 1 << 30
"""Values that are compared in all, where that is more than `LEAST_PASSES`. The second is for tables that were measured: a model's are
too uncertain to be worth more."""
CHECK_EVERY, WORTH = 10, 0.01
"""After so many steps for each column, and after all rows were looked at, this share of the squared distance must be gone, or it is
near its least."""
LISTED = 8
"""Cells of a column's pairs are listed, not sorted, if they are at most so many times those that are moved."""
SPARSE = 8
"""A pair with more cells than so many times the rows is counted by sorting the rows."""
NARROW = 64
"""A column of so few cells is copied out of the wanted counts before rows look it up: that is faster."""
COUNTED_TOGETHER = 256
"""Combinations of values of columns that are counted at once."""
MOST_COUNTED = 1 << 28
"""Rows times pairs of columns up to which rows are settled; where there are more, what drawing
leaves to chance is far below any noise."""


def tables_side_by_side(wanted: Singles, sizes: Sequence[int]) -> dict[tuple[int, ...], Floats]:
    """The shares of each column and each pair, out of the counts of all pairs of cells."""
    edges = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    parts = [slice(int(a), int(b)) for a, b in pairwise(edges)]
    found: dict[tuple[int, ...], Floats] = {}
    for one, part in enumerate(parts):
        found[(one,)] = _shares(np.diagonal(wanted[part, part]))
        for other in range(one + 1, len(parts)):
            found[one, other] = _shares(wanted[part, parts[other]])
    return found


def _shares(counts: Singles) -> Floats:
    counted = counts.astype(np.float64)
    return np.asarray(counted / max(float(counted.sum()), TINY))


def settle(
    drawn: Integers,
    sizes: Sequence[int],
    wanted: Singles,
    generator: Generator,
    *,
    work: int = WORK,
) -> None:
    """Move values of single rows, in place, so that counts of pairs come nearer to `wanted`, which is used up.

    Setting a value to another lowers the squared distance by the difference of the missing counts
    that the row would meet, less one for each column. Of some rows those that gain most are moved,
    more at a time while that works and fewer whenever it overshoots.
    """
    columns, rows = len(sizes), len(drawn)
    if rows == 0 or columns < 2 or rows * columns**2 > 2 * MOST_COUNTED:
        return
    edges = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    places = drawn + edges[:-1]
    missing = np.asarray(wanted, dtype=np.float32)
    _take_off(missing, drawn, edges)
    batch = np.full(columns, FIRST_MOVED)
    distance = np.inf
    most = [max(LEAST_LOOKED_AT, min(LOOKED_AT, COMPARED // size)) for size in sizes]
    compared = sum(min(rows, many) * size for many, size in zip(most, sizes, strict=True))
    passes = max(work // (compared * (columns - 1)), LEAST_PASSES)
    check_every = max(CHECK_EVERY, math.ceil(rows / min(most)))
    for sweep in range(min(passes, math.ceil(MOST_STEPS / columns))):
        if sweep % check_every == 0:
            before, distance = distance, float(np.vdot(missing, missing))
            if distance > (1 - WORTH) * before:
                break
        for column in range(columns):
            if sizes[column] < 2:
                continue
            own = slice(int(edges[column]), int(edges[column + 1]))
            looked = _some(rows, most[column], generator)
            others = np.delete(places[looked], column, axis=1)
            here, every = places[looked, column], np.arange(len(looked))
            meets = _met(missing[:, own], others)
            meets += np.diagonal(missing)[own]
            there = own.start + meets.argmax(axis=1)
            gain = meets[every, there - own.start] - meets[every, here - own.start] - columns
            better = np.flatnonzero(gain + 0.5 * generator.random(len(gain)) > 0.5)
            many = min(int(batch[column]), len(better))
            if not many:
                continue
            chosen = better[np.argpartition(-gain[better], many - 1)[:many]]
            cells, steps = _moves(others[chosen], here[chosen], there[chosen], own, len(missing))
            row = cells // len(missing)
            mirrored = (cells - row * len(missing)) * len(missing) + row
            if _change(missing, cells, mirrored, steps) < 0:
                _add(missing, cells, mirrored, steps)
                places[looked[chosen], column] = there[chosen]
                batch[column] = min(2 * batch[column], most[column])  # no more are looked at
            else:
                batch[column] = max(1, batch[column] // 4)
    drawn[:] = places - edges[:-1]


def _some(rows: int, most: int, generator: Generator) -> Integers:
    """Some rows, each at most once: neighbours will do, for the rows are in no order."""
    if rows <= most:
        return np.arange(rows)
    start = int(generator.integers(rows))
    return (start + np.arange(most)) % rows


def _met(missing: Singles, others: Integers) -> Singles:
    """For each row and each value of a column, the missing counts of its other values with it."""
    if missing.shape[1] <= NARROW:
        missing = np.ascontiguousarray(missing)
        found = missing.take(others[:, 0], axis=0)
        for column in range(1, others.shape[1]):
            found += missing.take(others[:, column], axis=0)
        return found
    found = missing[others[:, 0]]
    for column in range(1, others.shape[1]):
        found += missing[others[:, column]]
    return found


def _moves(
    others: Integers, here: Integers, there: Integers, own: slice, width: int
) -> tuple[Integers, Integers]:
    """The cells of `missing` that rows leave and reach, and by how much each changes.

    A pair of columns stands in two cells; here is the one in the moved column's own row. What a value
    has with itself is its own count, which stands once.
    """
    left = np.concatenate([others, here[:, None]], axis=1) + width * here[:, None]
    reached = np.concatenate([others, there[:, None]], axis=1) + width * there[:, None]
    first, cells = width * own.start, width * (own.stop - own.start)
    if cells <= LISTED * left.size:  # so few that a list of all of them is quickly gone through
        gone, come = (
            np.bincount(each.ravel() - first, minlength=cells) for each in (left, reached)
        )
        gone -= come
        changed = np.flatnonzero(gone)
        return changed + first, gone[changed]
    # The last bit says whether a cell is left or reached: one sort, which is fast, and no search.
    keys = np.empty(2 * left.size, dtype=np.int32)  # twice the cells of the largest table fit
    np.multiply(left.ravel(), 2, out=keys[: left.size], casting="same_kind")
    keys[: left.size] += 1
    np.multiply(reached.ravel(), 2, out=keys[left.size :], casting="same_kind")
    keys.sort()
    sorted_cells, sign = keys >> 1, 2 * (keys & 1) - 1
    starts = np.flatnonzero(sorted_cells[1:] != sorted_cells[:-1]) + 1
    starts = np.concatenate([[0], starts])
    return sorted_cells[starts].astype(np.int64), np.add.reduceat(sign, starts)


def _change(missing: Singles, cells: Integers, mirrored: Integers, steps: Integers) -> float:
    """By how much the squared distance changes: pairs count twice, a value with itself once."""
    gained = 2.0 * missing.ravel()[cells] * steps + steps * steps
    return float(gained @ np.where(cells == mirrored, 1.0, 2.0))


def _add(missing: Singles, cells: Integers, mirrored: Integers, steps: Integers) -> None:
    flat, apart = missing.ravel(), cells != mirrored
    flat[cells] += steps
    flat[mirrored[apart]] += steps[apart]


def _take_off(missing: Singles, drawn: Integers, edges: Integers) -> None:
    """The counts of all pairs of cells among rows, taken off side by side.

    Columns of few values are counted several at once, and pairs of them summed from that.
    """
    sizes = np.diff(edges).tolist()
    parts = [slice(int(a), int(b)) for a, b in pairwise(edges)]
    groups = _together(sizes)
    codes = []
    for group in groups:
        code = drawn[:, group[0]].copy()
        for column in group[1:]:
            code *= sizes[column]
            code += drawn[:, column]
        codes.append(code)
    for (first, ones), (second, others) in combinations_with_replacement(enumerate(groups), 2):
        columns = ones if first == second else [*ones, *others]
        shape = [sizes[column] for column in columns]
        keys = codes[first]
        if first != second:
            keys = keys * prod(sizes[column] for column in others) + codes[second]
            if len(columns) == 2 and prod(shape) > SPARSE * len(drawn):
                found, many = np.unique(keys, return_counts=True)
                row, beside = (
                    edges[ones[0]] + found // shape[1],
                    edges[others[0]] + found % shape[1],
                )
                missing[row, beside] -= many.astype(np.float32)
                missing[beside, row] -= many.astype(np.float32)
                continue
        counted = np.bincount(keys, minlength=prod(shape)).reshape(shape)
        pairs = combinations_with_replacement(ones, 2) if first == second else product(ones, others)
        for one, other in pairs:
            gone = tuple(a for a, column in enumerate(columns) if column not in (one, other))
            table = (counted.sum(axis=gone) if gone else counted).astype(np.float32)
            if one == other:
                place = np.arange(edges[one], edges[one + 1])
                missing[place, place] -= table
            else:
                missing[parts[one], parts[other]] -= table
                missing[parts[other], parts[one]] -= table.T


def _together(sizes: Sequence[int]) -> list[list[int]]:
    """Neighbouring columns in groups of at most `COUNTED_TOGETHER` combinations; wider ones alone."""
    groups: list[list[int]] = []
    for column, size in enumerate(sizes):
        if groups and size * prod(sizes[each] for each in groups[-1]) <= COUNTED_TOGETHER:
            groups[-1].append(column)
        else:
            groups.append([column])
    return groups
