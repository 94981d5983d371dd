"""The bound of all ranges at once that a release will claim, foreseen on an invented table.

The claim rests on noisy numbers: how far smoothing moved them, and what stopped leaves hide. A plan has none.
It takes as many rows as the plan says, bell-shaped over each column and independent, releases them with public noise, and
computes the claim by the same function. The draws are always the same, so a plan says the same each time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from statistics import NormalDist
from typing import Any

import numpy as np

from discreet.arrays import Bools, Integers
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


class InventedTable:
    """The verb of a grant that trees are measured with, and whole levels, over a table that nobody is in."""

    def __init__(self, schema: Schema, rows: int) -> None:
        self._schema, self._rows = schema, rows
        self._public = generator(SEED)

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
        part = np.ones(())
        for axis, cells in enumerate(query.value_cells):
            ends = np.append(query.first_cells(axis), cells) / cells
            part = np.multiply.outer(part, np.diff(_before(ends)))
        exact = np.rint(self._rows * part.reshape(-1)).astype(np.int64)
        return np.asarray(exact + drawn_like(law, part.size, self._public))

    def _count(self, columns: tuple[str, ...], shifts: tuple[int, ...], nodes: Nodes) -> Integers:
        part = np.ones(len(nodes))
        for axis, (name, shift) in enumerate(zip(columns, shifts, strict=True)):
            cells = self._schema.column(name).value_cells
            first = nodes[:, axis].astype(np.float64) * 2.0**shift
            ends = [np.minimum(each, cells) / cells for each in (first, first + 2.0**shift)]
            low, high = (_before(each) for each in ends)
            part *= high - low
        return np.rint(self._rows * part).astype(np.int64)


def _before(places: Any) -> Any:
    """The part of rows before places of a column, from 0 to 1."""
    edge = BELL.cdf(-DEVIATIONS)
    below = np.array([BELL.cdf(DEVIATIONS * (2 * float(each) - 1)) for each in places])
    return (below - edge) / (1 - 2 * edge)


__all__ = ["InventedTable"]
