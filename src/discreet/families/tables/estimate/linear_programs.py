"""The non-negative table nearest to noisy Fourier coefficients: a linear program by column generation.

minimise b over tables w >= 0 with |F w - y| <= b for every measured coefficient (Barak, Chaudhuri,
Dwork, Kale, McSherry, Talwar 2007). It has a variable for each of 2^k cells; only those that can
lower b are added: a cell's reduced cost is one entry of the Walsh-Hadamard transform of the duals,
so all 2^k are priced by one fast transform. When none is negative the optimum of the whole program
has been found. A second program chooses among its optima.

A column with a third cell, for nulls, has residuals in the place of parities: the same part of the table, as whole
numbers (the Fourier coefficients of three cells are complex). Each number then counts in units of its noise.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from math import prod

import numpy as np

from discreet.arrays import Floats, Integers
from discreet.errors import BadInput

MOST_COLUMNS = 18
ADDED = 100
"""Cells that enter the program at a time."""
START = 4
"""Cells to begin with, for each coefficient."""
MOST_LISTED = 8000
MOST_ROUNDS = 400
TOLERANCE = 1e-7


@dataclass(frozen=True, slots=True, eq=False)
class NearestTable:
    """A table over 2^k cells, and how far its coefficients are from those measured, at most."""

    cells: Integers
    """The cells that are not 0, bit i for column i."""
    counts: Floats
    distance: float
    is_optimal: bool

    def rounded(self, cells: int) -> Integers:
        """Whole counts: a change of at most 1/2 in each of the few cells that are not 0."""
        table = np.zeros(cells, dtype=np.int64)
        table[self.cells] = np.rint(self.counts).astype(np.int64)
        return table


def walsh_hadamard(table: Floats) -> Floats:
    """sum over cells of table * (-1)^(bits in common), for every set of bits; k 2^k additions."""
    found = np.asarray(table, dtype=np.float64).reshape(-1).copy()
    half = 1
    while half < len(found):
        pairs = found.reshape(-1, 2, half)
        pairs[:, 0], pairs[:, 1] = pairs[:, 0] + pairs[:, 1], pairs[:, 0] - pairs[:, 1]
        half *= 2
    return found


def nearest_table(sets: Integers, coefficients: Floats, *, columns: int) -> NearestTable:
    """The optimum; `sets` are the measured sets of columns as bits."""
    if columns > MOST_COLUMNS:
        raise BadInput(f"A table of 2^{columns} cells is too large; at most 2^{MOST_COLUMNS}.")
    total = 1 << columns

    def gathered(numbers: Floats) -> Floats:
        spread = np.zeros(total)
        spread[sets] = numbers
        return walsh_hadamard(spread)

    return _nearest(coefficients, lambda cells: _signs(sets, cells), gathered)


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """What was measured of one set of columns: a parity, or the residual of columns of any sizes."""

    axes: tuple[int, ...]
    numbers: Floats
    """The noisy number of a parity; those of a residual, in the order of its cells."""
    std: float
    """The standard deviation of the noise on each number."""

    @property
    def is_parity(self) -> bool:
        return self.numbers.size == 1


def nearest_mixed_table(sizes: Sequence[int], blocks: Sequence[Block]) -> NearestTable:
    """The optimum for columns of two or three cells; the cells are numbered with the last column fastest."""
    total = prod(sizes)
    if total > 1 << MOST_COLUMNS:
        raise BadInput(f"A table of {total:,} cells is too large; at most {1 << MOST_COLUMNS:,}.")
    edges = np.cumsum([0, *(each.numbers.size for each in blocks)])

    def gathered(numbers: Floats) -> Floats:
        price = np.zeros(tuple(sizes))
        for each, start, stop in zip(blocks, edges[:-1], edges[1:], strict=True):
            own = block_prices(sizes, each, numbers[start:stop])
            price += own.reshape([d if axis in each.axes else 1 for axis, d in enumerate(sizes)])
        return price.reshape(-1)

    values = np.concatenate([each.numbers.reshape(-1) / each.std for each in blocks])

    def rows_of(cells: Integers) -> Floats:
        return block_rows(sizes, blocks, np.stack(np.unravel_index(cells, tuple(sizes)), axis=1))

    return _nearest(values, rows_of, gathered)


def block_rows(sizes: Sequence[int], blocks: Sequence[Block], codes: Integers) -> Floats:
    """What each of some cells adds to every measured number, in units of its noise: one row a number.

    `codes` has one row a cell, one column a column.
    """
    many, found = len(codes), []
    for each in blocks:
        own = [_factor(sizes[axis], each)[:, codes[:, axis]] for axis in each.axes]
        rows = reduce(
            lambda left, right: (left[:, None, :] * right[None, :, :]).reshape(-1, many),
            own,
            np.ones((1, many)),
        )
        found.append(rows / each.std)
    return np.vstack(found)


def block_prices(sizes: Sequence[int], block: Block, numbers: Floats) -> Floats:
    """The rows of a block transposed, times numbers: one a cell of the block's own columns."""
    shape = [1 if block.is_parity else sizes[axis] for axis in block.axes]
    own = numbers.reshape(shape) / block.std
    for place, axis in enumerate(block.axes):
        own = np.moveaxis(
            np.tensordot(own, _factor(sizes[axis], block), axes=(place, 0)), -1, place
        )
    return np.asarray(own)


def _factor(cells: int, block: Block) -> Floats:
    """What each cell of a column adds to the numbers of a block, along that column."""
    if block.is_parity:
        return np.array([[1.0, -1.0]])
    return cells * np.eye(cells) - 1.0


def _nearest(
    values: Floats, rows_of: Callable[[Integers], Floats], gathered: Callable[[Floats], Floats]
) -> NearestTable:
    """First the least largest distance b; then, of all tables within b, one with the least sum of distances.

    Many tables have the least largest distance, and most of them are as far as that from many numbers at once.
    """
    full = gathered(values)
    # Any start will do, for what is missing is found by price; the cells that look full are a good one.
    cells = np.sort(np.argsort(-full)[: min(len(full), START * len(values))])
    many = len(values)
    largest = _optimum(values, rows_of, gathered, cells, np.ones((many, 1)), (0.0, None))
    most = float(largest.slack[0]) * (1 + TOLERANCE) + TOLERANCE
    summed = _optimum(values, rows_of, gathered, largest.cells, np.eye(many), (0.0, most))
    kept = summed.counts > 0
    return NearestTable(
        summed.cells[kept],
        summed.counts[kept],
        float(largest.slack[0]),
        largest.is_optimal and summed.is_optimal,
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Solved:
    """A program's optimum over the cells that entered it."""

    cells: Integers
    counts: Floats
    slack: Floats
    is_optimal: bool


def _optimum(
    values: Floats,
    rows_of: Callable[[Integers], Floats],
    gathered: Callable[[Floats], Floats],
    cells: Integers,
    slack: Floats,
    reach: tuple[float, float | None],
) -> _Solved:
    """minimise the sum of s >= 0 with |F w - y| <= `slack` s, by column generation.

    `rows_of` gives the matrix F for some cells, `gathered` is F transposed, for all cells.
    """
    from scipy.optimize import linprog  # slow to import, and few need it

    many, free = slack.shape
    for _ in range(MOST_ROUNDS):
        rows = rows_of(cells)
        solved = linprog(
            np.r_[np.zeros(len(cells)), np.ones(free)],
            A_ub=np.vstack([np.hstack([rows, -slack]), np.hstack([-rows, -slack])]),
            b_ub=np.r_[values, -values],
            bounds=[(0.0, None)] * len(cells) + [reach] * free,
            method="highs",
        )
        if solved.x is None:
            raise BadInput("The linear program for a non-negative table could not be solved.")
        duals = solved.ineqlin.marginals[:many] - solved.ineqlin.marginals[many:]
        price = -gathered(duals)
        counts = solved.x[: len(cells)]
        best = np.argsort(price)[:ADDED]
        best = best[price[best] < -TOLERANCE]
        if not len(best):
            return _Solved(cells, counts, solved.x[len(cells) :], True)
        found = _Solved(cells, counts, solved.x[len(cells) :], False)
        if len(cells) > MOST_LISTED:
            cells = cells[(counts > 0) | (price[cells] < 0)]
        cells = np.unique(np.concatenate([cells, best]))
    return found


def _signs(sets: Integers, cells: Integers) -> Floats:
    common = np.bitwise_and(sets[:, None], cells[None, :])
    odd = np.zeros(common.shape, dtype=bool)
    while common.any():
        odd ^= (common & 1).astype(bool)
        common >>= 1
    return np.where(odd, -1.0, 1.0)
