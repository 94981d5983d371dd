"""Ranges by noisy binary search: the mechanism of Blum, Ligett and Roth (2008), section 4, as a reference.

A column is cut, from the left, into buckets of about as many rows each; every end is found by binary
search with noisy counts. For one column the released database has each bucket's rows in it; for several,
the boxes of the grid that the cuts make are counted once more. The adaptive tree is better by orders of
magnitude; this one comes with a theorem for all queries at once.

Guarantee:   alpha-DP: at most `searches` searches of `bits` counts a column, alpha' = alpha / (their
             product) each; with several columns that on half of alpha, the grid on the other.
Adjacency:   change-one only: the number of rows n is public, and everything is a fraction of it.
Sensitivity: one count moves by 1, the boxes of a grid by 2 together.
Theorem:     4.2, see `ranges_theorem`.
Error:       eps n for every range at once, but for a probability of delta; t eps n for a union of t.

Two cases that the printed mechanism leaves open: a single value may hold more than a bucket, so each
bucket's last value stands apart with its own noisy count; and the searches end with the budget, so the
last bucket takes what is left.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from discreet.arrays import Floats
from discreet.artifacts.measurement import Measurement
from discreet.artifacts.release import ErrorClaim, Part
from discreet.core.mechanisms import DiscreteLaplace
from discreet.core.vault import Request
from discreet.errors import BadInput
from discreet.families.ranges.queries.ranges import Ranges
from discreet.families.ranges.release.error import range_queries
from discreet.families.shared.release.protocol import (
    USUAL_ROWS,
    ClassError,
    PreparedClass,
    Verbs,
    of_type,
)
from discreet.privacy.adjacency import Adjacency
from discreet.privacy.budget import Budget
from discreet.privacy.cost import Accounting, Cost
from discreet.privacy.shares import pure_epsilon
from discreet.queries.blocks import CutCounts
from discreet.queries.classes import QueryClass
from discreet.reference.intervals.range_count import RangeCount
from discreet.reference.intervals.theorem import Promise, Search
from discreet.schema import Schema
from discreet.schema.limits import MOST_CELLS

THEOREM = "Blum, Ligett, Roth 2008, theorem 4.2, with the size bound solved from its proof"
GRID_THEOREM = (
    "the searches of Blum, Ligett, Roth 2008, theorem 4.2, and the sum of the grid's noise"
)
MOST_SEARCHED = 3
"""Columns: the rows that an error needs grow with a power of it that grows with them."""
SHOWN_ERRORS = (0.1, 0.01)


@dataclass(frozen=True, slots=True)
class NoisySearch:
    """The literal mechanism."""

    name: ClassVar[str] = "noisy-search"
    kind: ClassVar[str] = "buckets"

    def refusal(self, query_class: QueryClass, schema: Schema) -> str | None:
        if schema.adjacency is not Adjacency.CHANGE_ONE or schema.unit.identifier is not None:
            return (
                "noisy-search divides by the number of rows, which is public only under "
                "change-one adjacency with one row for each person."
            )
        columns = of_type(query_class, Ranges).columns
        if len(columns) > MOST_SEARCHED:
            return f"noisy-search releases ranges of at most {MOST_SEARCHED} columns."
        if math.prod(schema.column(name).cells for name in columns) > MOST_CELLS:
            return "noisy-search lists the cells of its columns, and there are too many."
        return None

    def prepare(
        self, query_class: QueryClass, schema: Schema, *, share: Budget, accounting: Accounting
    ) -> PreparedSearch:
        asked, alpha = of_type(query_class, Ranges), pure_epsilon(share)
        return PreparedSearch.of(self, asked, schema, share, alpha=alpha)


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedSearch(PreparedClass):
    """The searches, as far as they are known before n is."""

    query_class: Ranges
    alpha: Fraction

    @property
    def columns(self) -> tuple[str, ...]:
        return self.query_class.named(self.schema)

    def costs(self) -> tuple[Cost, ...]:
        return (Cost.pure(self.alpha),)

    def noise(self) -> list[dict[str, Any]]:
        return []

    def promise(self, confidence: float) -> Promise:
        """What is promised for queries of the class, with that probability."""
        return Promise(
            cells=tuple(self.schema.column(name).value_cells for name in self.columns),
            alpha=self.alpha,
            delta=1 - confidence,
            pieces=self.query_class.pieces,
        )

    def error(self, *, rows: int | None, confidence: float) -> ClassError:
        promise = self.promise(confidence)
        assumed = rows if rows is not None else self.schema.people or USUAL_ROWS
        reached = promise.error_reached(assumed)
        bound = reached * assumed
        needs = " and ".join(
            f"{error:.0%} of the rows needs n = {math.ceil(needed):,}"
            for error in SHOWN_ERRORS
            if (needed := promise.rows_needed(error)) < math.inf
        )
        promised = "nothing" if reached == 1 else f"{reached:.3g} n"
        return ClassError.in_rows(
            rows,
            queries=range_queries(self.query_class, self.schema),
            expected=bound,
            half_width=bound,
            simultaneous=bound,
            note=(
                f"theorem 4.2 bounds all queries at once, at confidence {confidence:g}: {promised} for n = "
                f"{assumed:,}; {needs}; it says nothing smaller of the mean error"
            ),
        )

    def finish(
        self,
        grant: Verbs,
        measured: Sequence[Measurement],
        *,
        public_rows: int | None,
        confidence: float,
    ) -> tuple[Part, tuple[ErrorClaim, ...]]:
        if public_rows is None:
            raise BadInput("noisy-search needs the number of rows, which is a secret here.")
        promise = self.promise(confidence)
        error = promise.error_reached(public_rows)
        run = _Run(self, grant, public_rows, promise.search(error))
        starts, counts = run.one_column() if len(self.columns) == 1 else run.grid()
        theorem = THEOREM if len(self.columns) == 1 else GRID_THEOREM
        part = self.part(
            run.measured,
            estimates={
                **{
                    f"starts {axis}": np.array(each, dtype=np.int64)
                    for axis, each in enumerate(starts)
                },
                "counts": counts,
            },
            facts={
                "error": error / promise.pieces * public_rows,
                "delta": 1 - confidence,
                "theorem": theorem,
            },
        )
        claim = ErrorClaim(
            query_class=self.query_class.text,
            bound=error * public_rows,
            confidence=confidence,
            simultaneous=True,
            theorem=theorem,
        )
        return part, (claim,)


class _Run:
    """One run: in no column more searches, and in no search more counts, than were paid for."""

    def __init__(self, plan: PreparedSearch, grant: Verbs, rows: int, search: Search) -> None:
        self._plan, self._grant, self._rows, self._search = plan, grant, rows, search
        self._wanted = search.wanted * rows
        self.measured: list[Measurement] = []

    def one_column(self) -> tuple[list[list[int]], Floats]:
        """First cells of the buckets, and the rows of each, together at most n."""
        (column,) = self._plan.columns
        starts, counts = self._buckets(column)
        return [starts], np.array(counts, dtype=np.float64)

    def grid(self) -> tuple[list[list[int]], Floats]:
        """First cells of the slabs of each column, and the rows of each box."""
        columns = self._plan.columns
        starts = [self._buckets(column)[0] for column in columns]
        query = CutCounts(
            columns,
            tuple(map(tuple, starts)),
            tuple(self._plan.schema.column(name).value_cells for name in columns),
        )
        (found,) = self._grant.measure(
            [Request(query, DiscreteLaplace(epsilon=self._search.grid_epsilon))]
        )
        self.measured.append(found)
        return starts, np.maximum(found.values, 0).astype(np.float64)

    def _count(self, column: str, first: int, last: int) -> int:
        query = RangeCount(column, first, last)
        mechanism = DiscreteLaplace(epsilon=self._search.count_epsilon)
        (found,) = self._grant.measure([Request(query, mechanism)])
        self.measured.append(found)
        return int(found.values[0])

    def _buckets(self, column: str) -> tuple[list[int], list[float]]:
        """First cells and rows: of each search the cells that fill no bucket, then the one that does."""
        cells = self._plan.schema.column(column).value_cells
        starts: list[int] = []
        counts: list[float] = []
        start, left = 0, float(self._rows)
        for _ in range(self._search.searches):
            if start >= cells:
                break
            end, seen = self._end(column, start, cells)
            before = float(max(seen[end - 1], 0)) if end > start else 0.0
            pieces = [(start, before)] if end > start else []
            if end < cells:
                pieces.append((end, seen[end] - before))
            for first, rows in pieces:
                starts.append(first)
                counts.append(min(rows, left))
                left -= counts[-1]
            start = end + 1
        if start < cells:
            starts.append(start)
            counts.append(left)
        return starts, counts

    def _end(self, column: str, start: int, cells: int) -> tuple[int, dict[int, int]]:
        """The cell by which the bucket is full (`cells`, if it never is), and the counts that were seen."""
        low, high = start, cells
        seen: dict[int, int] = {}
        while low < high:
            middle = (low + high) // 2
            seen[middle] = self._count(column, start, middle)
            if seen[middle] >= self._wanted:
                high = middle
            else:
                low = middle + 1
        return low, seen
