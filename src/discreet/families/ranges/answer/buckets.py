"""Ranges from a sanitised database: rows in boxes, spread evenly, off by at most a known number."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import product
from typing import ClassVar

import numpy as np

from discreet.arrays import Codes, Floats
from discreet.artifacts.release import Part, Release
from discreet.errors import BadRelease
from discreet.families.ranges.answer.ranges import CountsRanges, RangeSource
from discreet.families.ranges.estimate.tree_intervals import RangeEstimates
from discreet.families.ranges.queries.ranges import Ranges
from discreet.families.shared.answer.evidence import Evidence
from discreet.schema import Schema

BUCKET_NOTE = (
    "The interval holds for all ranges at once, by the theorem of the release. Its confidence is "
    "at most the theorem's."
)


@dataclass(eq=False)
class BucketSource(CountsRanges):
    """What noisy searches released: first cells along each column, and the rows of each box."""

    part: Part
    schema: Schema
    columns: tuple[str, ...] = field(init=False)
    kurtosis: float = 0.0
    note: str = BUCKET_NOTE
    trees: ClassVar[tuple[RangeSource, ...]] = ()
    table: ClassVar[None] = None
    present: ClassVar[tuple[()]] = ()
    is_lone: ClassVar[bool] = True

    def __post_init__(self) -> None:
        assert isinstance(self.part.query_class, Ranges)
        self.columns = self.part.query_class.named(self.schema)

    @cached_property
    def _table(self) -> tuple[list[Floats], Floats]:
        """The lines of the grid in each column, and the rows before each of its corners."""
        try:
            starts = [
                self.part.estimates[f"starts {axis}"].astype(np.float64)
                for axis in range(len(self.columns))
            ]
            counts = self.part.estimates["counts"].astype(np.float64)
            counts = counts.reshape([len(each) for each in starts])
        except (KeyError, TypeError, ValueError):
            raise BadRelease("its buckets are not readable.") from None
        if not np.isfinite(counts).all():
            raise BadRelease("its buckets hold no numbers of rows.")
        edges = []
        for name, each in zip(self.columns, starts, strict=True):
            lines = np.append(each, float(self.schema.column(name).value_cells))
            if each.ndim != 1 or lines[0] != 0 or (np.diff(lines) <= 0).any():
                raise BadRelease("its buckets are not in order.")
            edges.append(lines)
        rows = np.zeros([len(each) for each in edges])
        for axis in range(counts.ndim):
            counts = counts.cumsum(axis=axis)
        rows[(slice(1, None),) * counts.ndim] = counts
        return edges, rows

    def error_at(self, confidence: float) -> float:
        """By how much no range is off; unbounded beyond the confidence of the theorem's claim."""
        try:
            error, delta = float(self.part.facts["error"]), float(self.part.facts["delta"])
        except (KeyError, TypeError, ValueError):
            raise BadRelease("its buckets do not say how far off they are.") from None
        return error if confidence <= 1 - delta + 1e-12 else np.inf

    def published_boxes(self) -> tuple[Codes, Codes, Floats]:
        """First and last cells of the boxes, and the rows of each."""
        edges, _ = self._table
        starts = np.meshgrid(*(lines[:-1] for lines in edges), indexing="ij")
        ends = np.meshgrid(*(lines[1:] - 1 for lines in edges), indexing="ij")
        low, high = (
            np.stack([each.reshape(-1) for each in side], axis=1).astype(np.uint64)
            for side in (starts, ends)
        )
        counts = self.part.estimates["counts"].astype(np.float64).reshape(-1)
        return low, high, np.maximum(counts, 0.0)

    def fitted(self, first: Codes, last: Codes) -> RangeEstimates:
        """Rows in boxes first..last (both included), spread evenly; inner and outer are the same."""
        low, high = first.astype(np.float64), last.astype(np.float64) + 1
        estimate = np.zeros(len(first))
        for corner in product((0, 1), repeat=len(self.columns)):
            at = np.where(np.array(corner, dtype=np.bool_), low, high)
            estimate += (-1) ** sum(corner) * self._before(at)
        nothing = np.zeros(len(estimate))
        return RangeEstimates(estimate, estimate, estimate, nothing, nothing)

    def _before(self, corner: Floats) -> Floats:
        """Rows below each corner in all columns: linear between the lines of the grid."""
        edges, rows = self._table
        places, parts = [], []
        for axis, lines in enumerate(edges):
            place = np.clip(
                np.searchsorted(lines, corner[:, axis], side="right") - 1, 0, len(lines) - 2
            )
            places.append(place)
            parts.append((corner[:, axis] - lines[place]) / (lines[place + 1] - lines[place]))
        total = np.zeros(len(corner))
        for side in product((0, 1), repeat=len(edges)):
            weight = np.prod(
                [part if up else 1 - part for part, up in zip(parts, side, strict=True)], axis=0
            )
            total += weight * rows[tuple(p + up for p, up in zip(places, side, strict=True))]
        return total

    def estimates(self, first: Codes, last: Codes, confidence: float) -> RangeEstimates:
        """The same with the theorem's error on both sides."""
        found, error = self.fitted(first, last), self.error_at(confidence)
        return replace(found, inner=found.inner - error, outer=found.outer + error)


def buckets_of(part: Part, place: int, release: Release) -> Evidence:
    """The contribution of a part of buckets."""
    return Evidence(ranges=[BucketSource(part, release.schema)])
