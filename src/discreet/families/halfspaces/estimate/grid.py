"""Grids of blocks over a schema's columns: their boxes, and the error to expect of each resolution.

Everything here is a public fact: the schema's cells, and how many of them a block takes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from math import prod

import numpy as np

from discreet.arrays import Floats, Integers
from discreet.errors import BadInput
from discreet.families.halfspaces.estimate.cells import Boxes, Sweep
from discreet.families.halfspaces.estimate.prior import (
    prior_error,
    random_halfspaces,
    uniform_share,
)
from discreet.questions.cells.ordered_pieces import extents
from discreet.schema import OrderedColumn, Schema

CANONICAL = 128
"""Random halfspaces over which expected errors are averaged."""
MOST_BLOCKS = 1 << 17
UNEVENNESS = 0.1
"""How much of the mass of cut boxes is on the wrong side, on average. The guideline for uniform grids,
m = sqrt(n epsilon / 10) blocks a side (Qardaji, Yang, Li 2013), rests on 1 / (4 * 10 / sqrt 2) = .035: boxes
whose errors cancel. Neighbouring boxes of skewed tables err on the same side; benchmarks see .05 to .2."""


def boxes_of(schema: Schema, columns: tuple[str, ...], widths: tuple[int, ...]) -> Boxes:
    """The boxes of blocks of `widths` cells."""
    lows, highs = [], []
    for name, width in zip(columns, widths, strict=True):
        column = schema.column(name)
        if not isinstance(column, OrderedColumn):
            raise BadInput(f"Column {name} has no order.")
        low, high = extents(column)
        last = np.minimum(np.arange(0, len(low), width) + width, len(low)) - 1
        lows.append(np.ascontiguousarray(low[::width]))
        highs.append(np.ascontiguousarray(high[last]))
    return Boxes(tuple(lows), tuple(highs))


@dataclass(frozen=True, slots=True, eq=False)
class Resolution:
    """One way to coarsen the columns, and what random halfspaces do to it."""

    widths: tuple[int, ...]
    blocks: int
    inside: Integers
    """Blocks inside or touched by each halfspace."""
    straddling: Floats
    """The share of evenly spread rows in blocks that each halfspace cuts."""
    prior: float
    """The prior's error on the reference population, as a part of the rows."""

    def draws(self, *, total_known: bool) -> Integers:
        return np.minimum(self.inside, self.blocks - self.inside) if total_known else self.inside

    def expected(self, std: float, rows: float, *, total_known: bool) -> float:
        """The mean absolute error to expect, in rows."""
        noise = math.sqrt(2 / math.pi) * std * np.sqrt(self.draws(total_known=total_known))
        return float(np.mean(noise + UNEVENNESS * rows * self.straddling))


@lru_cache(maxsize=64)
def resolutions(schema: Schema, columns: tuple[str, ...]) -> tuple[Resolution, ...]:
    """Coarser and coarser grids, from the schema's own cells down to one block."""
    cells = [schema.column(name).value_cells for name in columns]
    sides = sorted(
        {step << power for power in range(max(cells).bit_length() + 1) for step in (2, 3)} | {1}
    )
    found: dict[tuple[int, ...], Resolution] = {}
    for side in sides:
        widths = tuple(-(-each // min(side, each)) for each in cells)
        blocks = prod(-(-each // width) for each, width in zip(cells, widths, strict=True))
        if widths not in found and blocks <= MOST_BLOCKS:
            found[widths] = _resolution(schema, columns, widths, blocks)
    return tuple(found.values())


def _resolution(
    schema: Schema, columns: tuple[str, ...], widths: tuple[int, ...], blocks: int
) -> Resolution:
    boxes = boxes_of(schema, columns, widths)
    low, high = boxes.bounds()
    normals, bounds = random_halfspaces(low, high, CANONICAL, seed=0)
    swept = Sweep(boxes, boxes.uniform_shares())(normals, bounds)
    straddling = np.zeros(CANONICAL) if boxes.are_points else swept.outer - swept.inner
    return Resolution(
        widths=widths,
        blocks=blocks,
        inside=(swept.inner_boxes + swept.outer_boxes) // 2,
        straddling=straddling,
        prior=prior_error(uniform_share(normals, bounds, low, high)),
    )
