"""A whole table: a count for every combination of cells of some columns, each a whole number of at least 0.

Noisy tables contradict one another, and some of their cells are below 0. To cut off each cell by itself brings the
contradictions back: sums over the cut cells no longer agree. So a whole table is found once, near to all the noisy
numbers, and every smaller table is a sum of its cells. All of them agree, however they are computed.

It is post-processing, and biased. Intervals therefore come from the noisy numbers: see `families.tables.answer.agreeing`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from discreet.arrays import Floats, Integers
from discreet.families.shared.estimate.simplex import nearest_counts
from discreet.families.tables.estimate.consistent import ConsistentTables
from discreet.families.tables.estimate.linear_programs import (
    Block,
    block_rows,
    nearest_mixed_table,
)
from discreet.families.tables.queries.residuals import subsets

if TYPE_CHECKING:
    from numpy.random import Generator  # noqa: TID251 - the type only; the generator is public

Columns = tuple[str, ...]
STEPS = 30
"""Of least squares, for each combination of cells."""


@dataclass(frozen=True, slots=True, eq=False)
class WholeTable:
    """Whole counts of at least 0, one axis a column. Thread safe: it never changes."""

    columns: Columns
    counts: Integers

    @classmethod
    def near(cls, columns: Columns, noisy: Floats, rows: int | None) -> WholeTable:
        """The table nearest to noisy cells, in squares: of `rows` rows, or of as many as the noisy cells add up to."""
        total = max(0, round(float(noisy.sum()))) if rows is None else rows
        return cls(columns, apportioned(nearest_counts(noisy, float(total)), total))

    def of_rows(self, rows: int) -> WholeTable:
        """The same table for another number of rows: the counts in proportion, whole again."""
        if int(self.counts.sum()) == rows:
            return self
        return replace(self, counts=apportioned(self.counts.astype(np.float64), rows))

    def over(self, columns: Columns) -> Floats:
        """The table of some of the columns, in the order in which they are given."""
        places = [self.columns.index(name) for name in columns]
        rest = tuple(axis for axis in range(self.counts.ndim) if axis not in places)
        summed = np.asarray(self.counts.sum(axis=rest, dtype=np.int64))
        kept = sorted(places)
        ordered = np.transpose(summed, [kept.index(place) for place in places])
        return np.asarray(ordered, dtype=np.float64)

    def moved(self, measured: Callable[[Columns], Floats], sets: Iterable[Columns]) -> float:
        """How far the cells of some tables lie from the measured ones, at most."""
        return max(
            (float(np.abs(self.over(each) - measured(each)).max()) for each in sets), default=0.0
        )

    def drawn(self, many: int, public: Generator) -> Integers:
        """Cells of `many` rows in random order: the table's own rows where it has so many, else in proportion."""
        flat = self.counts.reshape(-1)
        total = int(flat.sum())
        if total == 0:
            cells = public.integers(0, len(flat), many)
        else:
            exact = flat.astype(np.float64) * (many / total)
            times = np.floor(exact + 1e-9).astype(np.int64)
            left = many - int(times.sum())
            if left > 0:
                parts = np.maximum(exact - times, 0.0)
                more = public.choice(len(flat), left, replace=False, p=parts / parts.sum())
                times[more] += 1
            cells = public.permutation(np.repeat(np.arange(len(flat)), times))
        return np.stack(np.unravel_index(cells, self.counts.shape), axis=1).astype(np.int64)


def nearest_to_tables(
    tables: ConsistentTables, names: Columns, sets: Iterable[Columns]
) -> Integers:
    """Whole counts near all of some tables: one number a combination of cells.

    Of all tables without negative counts, the one whose residuals are nearest to those of the tables, in squares, each in units of its noise. The true
    table is one of them, and they form a convex set, so the nearest one is no farther from the truth than the noisy residuals are; then it is rounded.
    """
    from scipy.optimize import nnls  # slow to import, and few need it

    sizes = tables.sizes(names)
    wanted = dict.fromkeys(own for columns in sets for own in subsets(columns))
    blocks = [
        Block(
            tuple(names.index(name) for name in own),
            np.asarray(table, dtype=np.float64).reshape(-1) * prod(table.shape),
            std * prod(table.shape),
        )
        for own, table, std in ((own, *tables.residual(own)) for own in wanted)
    ]
    values = np.concatenate([each.numbers / each.std for each in blocks])
    cells = prod(sizes)
    try:
        found, _ = nnls(block_rows(sizes, blocks, np.arange(cells)), values, maxiter=STEPS * cells)
    except RuntimeError:  # it went round in circles: a program that does not
        return nearest_mixed_table(sizes, blocks).rounded(cells)
    return apportioned(found, round(float(found.sum())))


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
