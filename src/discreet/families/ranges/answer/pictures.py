"""A release of ranges as plain data for charts, and as synthetic values."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from discreet.arrays import Codes, Floats
from discreet.artifacts.answer import Answer
from discreet.errors import BadInput, NotAnswerable
from discreet.families.ranges.answer.buckets import BucketSource
from discreet.families.ranges.answer.ranges import RangeSource
from discreet.families.ranges.estimate.tree_intervals import RangeEstimates
from discreet.queries.tree import bits_of

if TYPE_CHECKING:
    from numpy.random import Generator  # noqa: TID251 - the type only; the generator is public


MOST_BARS = 1 << 16
PLAIN = 2.0
"""Standard deviations beyond which rows are missing, and not noise."""


@dataclass(frozen=True, slots=True, eq=False)
class Bars:
    """Bars of a histogram: cells first..last, with the count of each and its interval.

    Thread safe: it never changes.
    """

    first: Codes
    last: Codes
    estimate: Floats
    lower: Floats
    upper: Floats
    shape: tuple[int, ...]
    """Bars along each column; one number for a histogram, two for a heat map."""
    running: tuple[Floats, Floats, Floats] | None = None
    """For one column: rows up to the end of each bar, with their intervals."""


def bars(
    source: RangeSource | BucketSource,
    *,
    most: int = 64,
    confidence: float = 0.95,
    columns: tuple[str, ...] | None = None,
    public_rows: int | None = None,
) -> Bars:
    """At most `most` bars along each of `columns`, of equally many cells (the last one may have fewer)."""
    shown = source.columns if columns is None else columns
    if most < 1 or most ** len(shown) > MOST_BARS:
        raise BadInput(
            f"A chart has 1 to {MOST_BARS:,} bars in all; {most} for each column make another number."
        )
    sides: list[tuple[Codes, Codes]] = []
    for name in shown:
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
    # Columns that are not shown are taken whole.
    low = np.zeros((len(first), len(source.columns)), dtype=np.uint64)
    high = np.array(
        [[source.schema.column(name).value_cells - 1 for name in source.columns]], dtype=np.uint64
    ).repeat(len(first), axis=0)
    places = [source.columns.index(name) for name in shown]
    low[:, places], high[:, places] = first, last
    found = source.count(low, high, confidence=confidence, public_rows=public_rows)
    running = None
    if len(shown) == 1:
        low[:, places] = 0
        total = source.count(low, high, confidence=confidence, public_rows=public_rows)
        running = total.estimate, total.lower, total.upper
    shape = tuple(len(each) for each, _ in sides)
    return Bars(first, last, found.estimate, found.lower, found.upper, shape, running)


def distribution(
    sources: list[RangeSource | BucketSource],
    columns: tuple[str, ...],
    *,
    most: int,
    confidence: float,
    public_rows: int | None,
) -> Bars:
    """Bars of some columns, from the release over the fewest columns that has them all."""
    fitting = [source for source in sources if set(columns) <= set(source.columns)]
    if not fitting or not columns:
        raise NotAnswerable(f"No ranges over {', '.join(columns) or 'no column'} were released.")
    source = min(fitting, key=lambda each: len(each.columns))
    return bars(source, most=most, confidence=confidence, columns=columns, public_rows=public_rows)


def rows_with_values(source: RangeSource | BucketSource) -> int:
    """The rows that a release of ranges counts, as it would answer."""
    return max(0, round(float(_whole(source).estimate[0])))


def _whole(source: RangeSource | BucketSource) -> RangeEstimates:
    last = [source.schema.column(name).value_cells - 1 for name in source.columns]
    first = np.zeros((1, len(last)), dtype=np.uint64)
    return source.fitted(first, np.array([last], dtype=np.uint64))


def share_of_nulls(source: RangeSource | BucketSource, counted: Answer | None) -> float:
    """The share of all `counted` rows that have no value in the one column, if nulls have a cell there.

    Of several columns nobody knows in which of them a row has none. What noise alone would often
    make is taken for none.
    """
    null = source.schema.column(source.columns[0]).null_cell
    if len(source.columns) > 1 or null is None or null >= 1 << 64:
        return 0.0
    if counted is None or not counted.estimate:
        return 0.0
    whole = _whole(source)
    missing = counted.estimate - float(whole.estimate[0])
    noise = math.hypot(counted.std, float(whole.outer_std[0]))
    return min(missing / counted.estimate, 1.0) if missing > PLAIN * noise else 0.0


def drawn_codes(
    source: RangeSource | BucketSource, rows: int, public: Generator, *, nulls: int = 0
) -> Codes:
    """Cells of rows drawn from the published counts: box by box, evenly inside each, in random order.

    Every box gets its share of the rows but for rounding, which is random. `nulls` of the rows have no
    value, of a release over one column.
    """
    low, high, weights = source.published_boxes()
    if weights.sum() == 0:
        weights = np.prod((high - low).astype(np.float64) + 1.0, axis=1)
    # Systematic sampling: no box is off by more than one row from its share.
    ends = np.cumsum(weights / weights.sum() * (rows - nulls))
    marks = np.arange(rows - nulls) + public.random()
    place = np.minimum(np.searchsorted(ends, marks, side="right"), len(weights) - 1)
    drawn = public.integers(low[place], high[place], endpoint=True, dtype=np.uint64)
    if nulls:
        null = source.schema.column(source.columns[0]).null_cell
        assert null is not None
        drawn = np.concatenate([drawn, np.full((nulls, 1), null, dtype=np.uint64)])
    return np.asarray(drawn[public.permutation(rows)])
