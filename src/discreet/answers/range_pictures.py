"""A released tree as plain data for charts, and as synthetic values.

May import errors, privacy, schema, queries, artifacts, inference.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from discreet.answers.ranges import RangeSource
from discreet.errors import BadInput
from discreet.inference.public_random import generator
from discreet.queries.tree import bits_of

Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.uint64]


@dataclass(frozen=True, slots=True, eq=False)
class Bars:
    """Bars of a histogram: cells first..last, with the count of each and its interval."""

    first: Codes
    last: Codes
    estimate: Floats
    lower: Floats
    upper: Floats
    shape: tuple[int, ...]
    """Bars along each column; one number for a histogram, two for a heat map."""


def bars(source: RangeSource, *, most: int = 64, confidence: float = 0.95) -> Bars:
    """At most `most` bars along each column, of equally many cells (the last one may have fewer)."""
    if most < 1:
        raise BadInput(f"A chart of {most} bars shows nothing; ask for at least 1.")
    sides: list[tuple[Codes, Codes]] = []
    for name in source.columns:
        cells = source.schema.column(name).value_cells
        step = -(-cells // most)
        step = 1 << bits_of(step)  # along the tree's own nodes, where counts are best known
        starts = list(range(0, cells, step))
        first = np.array(starts, dtype=np.uint64)
        last = np.array([min(start + step, cells) - 1 for start in starts], dtype=np.uint64)
        sides.append((first, last))
    firsts = np.meshgrid(*(first for first, _ in sides), indexing="ij")
    lasts = np.meshgrid(*(last for _, last in sides), indexing="ij")
    first = np.stack([each.reshape(-1) for each in firsts], axis=1)
    last = np.stack([each.reshape(-1) for each in lasts], axis=1)
    found = source.count(first, last, confidence=confidence)
    shape = tuple(len(first) for first, _ in sides)
    return Bars(first, last, found.estimate, found.lower, found.upper, shape)


def synthetic_codes(source: RangeSource, *, rows: int, seed: int | None = None) -> Codes:
    """Cells of synthetic rows, drawn from the smoothed counts: leaf by leaf, evenly inside each.

    Every leaf gets its share of the rows but for rounding, which is random.
    """
    if isinstance(rows, bool) or rows < 0:
        raise BadInput(f"{rows} synthetic rows cannot be drawn; ask for 0 or more.")
    nodes = source.nodes
    leaves = np.flatnonzero(nodes.is_leaf)
    low, high = nodes.low[leaves], nodes.high[leaves]
    weights = np.maximum(nodes.estimate[leaves], 0.0)
    if weights.sum() == 0:
        weights = np.prod((high - low).astype(np.float64) + 1.0, axis=1)
    public = generator(seed)
    # Systematic sampling: no leaf is off by more than one row from its share.
    ends = np.cumsum(weights / weights.sum() * rows)
    marks = np.arange(rows) + public.random()
    place = np.minimum(np.searchsorted(ends, marks, side="right"), len(leaves) - 1)
    low, high = low[place], high[place]
    drawn = public.integers(low, high, endpoint=True, dtype=np.uint64)
    return drawn[public.permutation(rows)]
