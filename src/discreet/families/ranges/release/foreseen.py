"""The bound of all ranges at once that a release will claim, foreseen on an invented table.

The claim rests on noisy numbers: how far smoothing moved them, and what stopped leaves hide. A plan has none.
It takes as many rows as the plan says, bell-shaped over each column and independent, releases them with public noise, and
computes the claim by the same function. The draws are always the same, so a plan says the same each time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import lru_cache
from statistics import NormalDist

import numpy as np

from discreet.arrays import Bools, Floats, Integers
from discreet.artifacts.measurement import TreeMeasurement
from discreet.core.refining import LevelView, Schedule, refine
from discreet.families.shared.estimate.public_random import drawn_like, generator
from discreet.privacy.laws import DiscreteLaplaceLaw, NoiseLaw
from discreet.queries.blocks import BlockCounts
from discreet.queries.tree import Nodes, Tree
from discreet.schema import Schema

SEED = 20_260_102
DEVIATIONS = 3.0
"""A column reaches so many standard deviations to each side of its middle."""
BELL = NormalDist()
MOST_ROWS = 10**12
"""Rows of an invented table. With more of them the noise is lost beside the counts, and no bound is another one."""


class InventedTable:
    """The verb of a grant that trees are measured with, and whole levels, over a table that nobody is in."""

    def __init__(self, schema: Schema, rows: int) -> None:
        self._schema, self._rows = schema, min(rows, MOST_ROWS)
        self._public = generator(SEED)
        self._cells: dict[tuple[str, ...], Integers] = {}

    def refine(
        self,
        tree: Tree,
        *,
        epsilon: Fraction,
        schedule: Schedule,
        stop: Callable[[LevelView], Bools],
    ) -> TreeMeasurement:
        return refine(
            tree,
            epsilon=epsilon,
            schedule=schedule,
            stop=stop,
            schema=self._schema,
            count=self._count,
            noise=self,
            next_step=lambda step: step,
        )

    def chain(self, exact: Integers, laws: Sequence[DiscreteLaplaceLaw], *, step: str) -> Integers:
        """The finest noise first, and what makes it coarser: nothing, or a draw of the coarser law."""
        noise, found, before = np.zeros(len(exact)), [], 0.0
        for law in laws:
            scale = float(law.scale)
            more = self._public.laplace(scale=scale, size=len(exact))
            kept = self._public.random(len(exact)) < (before / scale) ** 2
            noise, before = noise + np.where(kept, 0.0, more), scale
            found.append(exact + np.rint(noise).astype(np.int64))
        return np.stack(found)

    def level(self, query: BlockCounts, law: NoiseLaw) -> Integers:
        """Noisy counts of one whole level."""
        firsts = [query.first_cells(axis) for axis in range(len(query.columns))]
        exact = self._summed(query.columns, firsts).reshape(-1)
        return np.asarray(exact + drawn_like(law, exact.size, self._public))

    def _count(self, columns: tuple[str, ...], shifts: tuple[int, ...], nodes: Nodes) -> Integers:
        cells = [self._schema.column(name).value_cells for name in columns]
        firsts = [
            np.arange(0, each, min(1 << shift, each))
            for each, shift in zip(cells, shifts, strict=True)
        ]
        return np.asarray(self._summed(columns, firsts)[tuple(nodes.T.astype(np.int64))])

    def _summed(self, columns: tuple[str, ...], firsts: Sequence[Integers]) -> Integers:
        """Rows in each block of cells, given the first cell of each along each column.

        Sums of the same cells at every level: counts that were rounded level by level would contradict each other,
        and that would count as error where there is next to no noise.
        """
        table = self._cells.get(columns)
        if table is None:
            expected = np.array(float(self._rows))
            for name in columns:
                expected = np.multiply.outer(
                    expected, _parts(self._schema.column(name).value_cells)
                )
            table = self._cells[columns] = self._public.poisson(expected)
        for axis, first in enumerate(firsts):
            table = np.add.reduceat(table, first, axis=axis)
        return table


@lru_cache(maxsize=16)
def _parts(cells: int) -> Floats:
    """The part of the rows that lies in each cell of a column."""
    places = [BELL.cdf(DEVIATIONS * (2 * each / cells - 1)) for each in range(cells + 1)]
    return np.diff(places) / (places[-1] - places[0])


__all__ = ["InventedTable"]
