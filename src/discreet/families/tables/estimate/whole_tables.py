"""A whole table: a count for every combination of cells of some columns, each a whole number of at least 0.

Noisy tables contradict one another, and some of their cells are below 0. To cut off each cell by itself brings the
contradictions back: sums over the cut cells no longer agree. So a whole table is found once, near to all the noisy
numbers, and every smaller table is a sum of its cells. All of them agree, however they are computed.

It is post-processing, and biased. Intervals therefore come from the noisy numbers: see `around` in `families.tables.answer.counting`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from math import prod
from typing import TYPE_CHECKING, Self

import numpy as np

from discreet.arrays import Bools, Floats, Integers
from discreet.families.shared.estimate.simplex import nearest_counts
from discreet.families.tables.estimate.consistent import ConsistentTables
from discreet.families.tables.estimate.linear_programs import Block, block_rows
from discreet.families.tables.estimate.nearest_rows import nearest_rows
from discreet.families.tables.queries.parities import signs
from discreet.families.tables.queries.residuals import subsets
from discreet.questions.cells.impossible import declares_empty_cells, impossible_rows
from discreet.schema import Schema

if TYPE_CHECKING:
    from numpy.random import Generator  # noqa: TID251 - the type only; the generator is public

Columns = tuple[str, ...]
MOST_NUMBERS = 2000
"""Measured numbers that least squares fits: those of all pairs of 62 columns of two cells, or of 21 with a third one for nulls."""
TOTAL = 0.1
"""The deviation that least squares gives the number of rows, in parts of its own. Cells that noise took below 0 are raised to 0; if others were not
lowered in turn there would be too many rows: nearly a half too many, where noise is larger than counts."""
LISTED = 1 << 10
"""Combinations of cells up to which least squares looks at all of them at once."""
STEPS = 30
"""Steps of least squares for each combination of cells."""


class WholeCounts(ABC):
    """Whole counts of at least 0 for combinations of cells of some columns. Thread safe: it never changes."""

    columns: Columns
    counts: Integers

    @property
    def total(self) -> int:
        return int(self.counts.sum())

    @abstractmethod
    def over(self, columns: Columns) -> Floats:
        """The table of some of the columns, in the order in which they are given."""

    @abstractmethod
    def cells_of(self, times: Integers) -> Integers:
        """Rows of cells, one column a column: each counted combination as often as `times` says."""

    @abstractmethod
    def with_counts(self, counts: Integers) -> Self:
        """The same combinations with other counts."""

    @abstractmethod
    def stored(self) -> dict[str, Integers]:
        """Its arrays as a release file keeps them."""

    def of_rows(self, rows: int) -> Self:
        """The same table for another number of rows: the counts in proportion, whole again."""
        if self.total == rows:
            return self
        return self.with_counts(apportioned(self.counts.astype(np.float64), rows))

    def drawn(self, many: int, public: Generator) -> Integers:
        """Cells of `many` rows in random order: the table's own rows where it has so many, else in proportion."""
        flat = self.counts.reshape(-1)
        total = self.total
        if total == 0:
            times = np.bincount(public.integers(0, len(flat), many), minlength=len(flat))
        else:
            exact = flat.astype(np.float64) * (many / total)
            times = np.floor(exact + 1e-9).astype(np.int64)
            left = many - int(times.sum())
            if left > 0:
                parts = np.maximum(exact - times, 0.0)
                more = public.choice(len(flat), left, replace=False, p=parts / parts.sum())
                times[more] += 1
        return np.asarray(public.permutation(self.cells_of(times.astype(np.int64))))


@dataclass(frozen=True, slots=True, eq=False)
class WholeTable(WholeCounts):
    """A count for every combination of cells: one axis a column."""

    columns: Columns
    counts: Integers

    @classmethod
    def near(
        cls, columns: Columns, noisy: Floats, rows: int | None, empty: Bools | None = None
    ) -> WholeTable:
        """The table nearest to noisy cells, in squares: of `rows` rows, or of as many as the noisy cells add up to.

        None of them in cells that are `empty` by declaration.
        """
        is_open = np.ones(noisy.shape, dtype=np.bool_) if empty is None or empty.all() else ~empty
        cells = noisy[is_open]
        total = max(0, round(float(cells.sum()))) if rows is None else rows
        found = np.zeros(noisy.shape, dtype=np.int64)
        found[is_open] = apportioned(nearest_counts(cells, float(total)), total)
        return cls(columns, found)

    @classmethod
    def read(cls, columns: Columns, sizes: tuple[int, ...], flat: Integers) -> WholeTable:
        """Out of a file: the last column fastest, but of columns of two cells the first."""
        shaped = flat.reshape(sizes)
        if all(size == 2 for size in sizes):
            shaped = shaped.transpose(range(len(sizes))[::-1])
        return cls(columns, np.ascontiguousarray(shaped))

    def stored(self) -> dict[str, Integers]:
        counts = self.counts
        if all(size == 2 for size in counts.shape):
            counts = counts.transpose(range(counts.ndim)[::-1])
        return {"table": np.ascontiguousarray(counts).reshape(-1)}

    def with_counts(self, counts: Integers) -> WholeTable:
        return replace(self, counts=counts)

    def over(self, columns: Columns) -> Floats:
        places = [self.columns.index(name) for name in columns]
        rest = tuple(axis for axis in range(self.counts.ndim) if axis not in places)
        summed = np.asarray(self.counts.sum(axis=rest, dtype=np.int64))
        kept = sorted(places)
        ordered = np.transpose(summed, [kept.index(place) for place in places])
        return np.asarray(ordered, dtype=np.float64)

    def cells_of(self, times: Integers) -> Integers:
        cells = np.repeat(np.arange(len(times)), times)
        return np.stack(np.unravel_index(cells, self.counts.shape), axis=1).astype(np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class WholeRows(WholeCounts):
    """The combinations that are not empty, of too many to list: one row a combination, with its count."""

    columns: Columns
    sizes: tuple[int, ...]
    codes: Integers
    counts: Integers

    def stored(self) -> dict[str, Integers]:
        return {"cells": self.codes, "counts": self.counts}

    def with_counts(self, counts: Integers) -> WholeRows:
        return replace(self, counts=counts)

    def over(self, columns: Columns) -> Floats:
        places = [self.columns.index(name) for name in columns]
        shape = tuple(self.sizes[place] for place in places)
        found = np.zeros(prod(shape), dtype=np.int64)
        cells = np.zeros(len(self.codes), dtype=np.int64)
        for place, size in zip(places, shape, strict=True):
            cells = cells * size + self.codes[:, place]
        np.add.at(found, cells, self.counts)
        return found.reshape(shape).astype(np.float64)

    def cells_of(self, times: Integers) -> Integers:
        return np.repeat(self.codes, times, axis=0)


def can_be_whole(sets: Iterable[Columns], schema: Schema, most: int = MOST_NUMBERS) -> bool:
    """Whether whole counts near all of some tables are found in a few minutes at most."""
    sets = list(sets)
    if any(2 ** len(columns) > most for columns in sets):
        return False
    wanted = {own for columns in sets for own in subsets(columns)}
    shapes = map(schema.sizes, wanted)
    numbers = sum(1 if all(d == 2 for d in shape) else prod(shape) for shape in shapes)
    return numbers <= most


def nearest_to_tables(
    tables: ConsistentTables, names: Columns, sets: Iterable[Columns], schema: Schema
) -> WholeCounts:
    """Whole counts near all of some tables; none in combinations that the schema declares impossible.

    Of all tables without negative counts, and with the measured number of rows, nearly, the one whose residuals are nearest to those of the tables, in
    squares, each in units of its noise; then it is rounded. Of too many combinations to list, only those are looked at that a search finds: the result is then near, and perhaps not the nearest.
    """
    sizes = tables.sizes(names)
    wanted = dict.fromkeys(own for columns in sets for own in subsets(columns))
    blocks = [
        _block(tuple(names.index(name) for name in own), *tables.residual(own))
        for own in wanted
        if 1 not in tables.sizes(own)
    ]
    return nearest_to_blocks(names, sizes, blocks, schema)


def nearest_to_blocks(
    names: Columns, sizes: tuple[int, ...], blocks: list[Block], schema: Schema
) -> WholeCounts:
    """The same for measured numbers: parities and residuals of some of the columns."""
    cells = prod(sizes)
    blocks = [each if each.axes else _held(each, blocks) for each in blocks]
    is_open: Callable[[Integers], Bools] | None = None
    if declares_empty_cells(schema):
        is_open = lambda codes: ~impossible_rows(schema, names, codes)  # noqa: E731
    if cells > LISTED:
        codes, weights = nearest_rows(sizes, blocks, is_open)
        whole = apportioned(weights, round(float(weights.sum())))
        kept = whole > 0
        kept[0] |= not kept.any()
        return WholeRows(names, sizes, codes[kept], whole[kept])
    from scipy.optimize import nnls  # slow to import, and few need it

    values = np.concatenate([each.numbers / each.std for each in blocks])
    codes = np.stack(np.unravel_index(np.arange(cells), sizes), axis=1)
    places = np.arange(cells)
    if is_open is not None and is_open(codes).any():
        places = np.flatnonzero(is_open(codes))
    counts = np.zeros(cells, dtype=np.int64)
    try:
        found, _ = nnls(block_rows(sizes, blocks, codes[places]), values, maxiter=STEPS * cells)
        counts[places] = apportioned(found, round(float(found.sum())))
    except RuntimeError:  # it went round in circles: another way, which does not
        own, weights = nearest_rows(sizes, blocks, is_open)
        at = np.ravel_multi_index(tuple(own.T), sizes)
        counts[at] = apportioned(weights, round(float(weights.sum())))
    return WholeTable(names, counts.reshape(sizes))


def _held(total: Block, blocks: list[Block]) -> Block:
    """The number of rows, held nearly as it is. A public one has no noise; it is not made so strict that least squares loses sight of the rest."""
    others = [each.std / each.numbers.size for each in blocks if each.axes]
    return replace(total, std=TOTAL * max(total.std, min(others, default=total.std)))


def _block(axes: tuple[int, ...], table: Floats, std: float) -> Block:
    """The residual of one set as it would have been measured: for columns of two cells, as a parity."""
    cells = prod(table.shape)
    if all(d == 2 for d in table.shape):
        number = float((table * signs(table.ndim)).sum())
        return Block(axes, np.array([number]), std * cells**0.5)
    return Block(axes, np.asarray(table, dtype=np.float64).reshape(-1) * cells, std * cells)


def apportioned(numbers: Floats, total: int) -> Integers:
    """Whole counts in proportion to `numbers` that add up to `total`: the largest remainders are rounded up."""
    flat = np.maximum(numbers.reshape(-1), 0.0)
    largest = float(flat.max())
    # Parts of the largest: a sum of tiny numbers would be too small to divide by.
    parts = flat / largest if largest > 0 else np.ones_like(flat)
    shares = parts * (total / float(parts.sum()))
    found = np.floor(shares + 1e-9).astype(np.int64)
    left = total - int(found.sum())
    if left > 0:
        found[np.argsort(found - shares, kind="stable")[:left]] += 1
    elif left < 0:  # a float sum that was a little too large
        full = np.flatnonzero(found > 0)
        found[full[np.argsort((shares - found)[full], kind="stable")[:-left]]] -= 1
    return found.reshape(numbers.shape)
