"""Intervals from a sanitised database: rows in buckets, spread evenly, off by at most a known fraction.

May import errors, privacy, schema, queries, artifacts, inference.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt

from discreet.answers.ranges import CountedRanges, bounded
from discreet.artifacts.release import Part
from discreet.errors import BadRelease
from discreet.inference.tree_intervals import RangeEstimates
from discreet.queries.ranges import Ranges
from discreet.schema import Schema

Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.uint64]


@dataclass(eq=False)
class BucketSource:
    """What a noisy search over one column released."""

    part: Part
    schema: Schema
    columns: tuple[str, ...] = field(init=False)
    kurtosis: float = 0.0

    def __post_init__(self) -> None:
        assert isinstance(self.part.query_class, Ranges)
        self.columns = self.part.query_class.named(self.schema)

    @cached_property
    def _table(self) -> tuple[Floats, Floats, float]:
        """First cell of each bucket (and the end), rows before it, and the error of any interval."""
        try:
            starts = self.part.estimates["starts"].astype(np.float64)
            counts = self.part.estimates["counts"].astype(np.float64)
            error = float(self.part.facts["error"])
        except (KeyError, TypeError, ValueError):
            raise BadRelease("its buckets are not readable.") from None
        cells = float(self.schema.column(self.columns[0]).value_cells)
        edges = np.append(starts, cells)
        if starts.ndim != 1 or len(starts) != len(counts) or (np.diff(edges) <= 0).any():
            raise BadRelease("its buckets are not in order.")
        return edges, np.concatenate([[0.0], np.cumsum(counts)]), error

    def fitted(self, first: Codes, last: Codes) -> RangeEstimates:
        edges, rows, error = self._table
        ends = [first[:, 0].astype(np.float64), last[:, 0].astype(np.float64) + 1]
        before, through = (np.interp(end, edges, rows) for end in ends)
        estimate = through - before
        nothing = np.zeros(len(estimate))
        return RangeEstimates(estimate, estimate - error, estimate + error, nothing, nothing)

    def count(
        self,
        first: Codes,
        last: Codes,
        *,
        confidence: float,
        public_rows: int | None = None,
        whole: bool = True,
    ) -> CountedRanges:
        """Rows in each interval, off by at most the theorem's error, whatever `confidence` is asked."""
        empty: npt.NDArray[np.bool_] = np.any(first > last, axis=1)
        found = self.fitted(np.where(empty[:, None], 0, first), np.where(empty[:, None], 0, last))
        return bounded(
            found.estimate, found, empty=empty, factor=0.0, public_rows=public_rows, whole=whole
        )
