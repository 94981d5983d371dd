"""Intervals by noisy binary search: the mechanism of Blum, Ligett and Roth (2008), section 4, as a reference.

The line is cut, from the left, into buckets of about half of eps1 of the rows each; every end is found by
binary search with noisy counts; the released database has that many rows in each bucket. The adaptive
tree is better by orders of magnitude; this one comes with a theorem for all intervals at once.

Guarantee:   alpha-DP: at most ceil(2/eps1) searches of b counts, alpha' = alpha / (their product) each.
Adjacency:   change-one only: the number of rows n is public, and everything is a fraction of it.
Sensitivity: one count moves by 1.
Theorem:     4.2, with n >= 4b/(alpha eps eps2) (ln 2b + ln 1/(eps1 delta)), eps1 = eps/2, eps2 = eps^2/8
             (solved for from the union bound: as printed a bracket is missing).
Error:       eps n for every interval at once, but for a probability of delta; t eps n for a union of t.

Two cases that the printed mechanism leaves open: a single value may hold more than a bucket, and then
stands alone with its own noisy count; and buckets may run short, so the searches end with the budget and
the last bucket takes what is left.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from discreet.artifacts.measurement import Measurement
from discreet.artifacts.release import ErrorClaim, Part
from discreet.errors import BadInput
from discreet.kernel.mechanisms import DiscreteLaplace
from discreet.kernel.vault import Grant, Request
from discreet.privacy.adjacency import Adjacency
from discreet.privacy.budget import Budget
from discreet.privacy.cost import Accounting, Cost
from discreet.queries.classes import QueryClass
from discreet.queries.measurable import MOST_CELLS, RangeCount
from discreet.queries.ranges import Intervals
from discreet.queries.tree import bits_of
from discreet.releases.protocol import ClassError
from discreet.releases.ranges_adaptive import pure_epsilon
from discreet.schema import Schema

DELTA = 0.05
THEOREM = "Blum, Ligett, Roth 2008, theorem 4.2, with the size bound solved from its proof"
ASSUMED_ROWS = 1_000_000


def rows_needed(*, bits: int, alpha: float, error: float, delta: float, pieces: int = 1) -> float:
    """The n with which every union of `pieces` intervals is off by at most error * n, but for delta."""
    each = error / pieces
    first, second = each / 2, each**2 / 8
    return 4 * bits / (alpha * each * second) * (math.log(2 * bits) - math.log(first * delta))


def error_reached(*, bits: int, alpha: float, rows: int, delta: float, pieces: int = 1) -> float:
    """The least error that the theorem gives for n rows; 1, which says nothing, where it gives none."""
    low, high = 1e-9, 1.0
    if rows_needed(bits=bits, alpha=alpha, error=high, delta=delta, pieces=pieces) > rows:
        return 1.0
    for _ in range(80):
        middle = math.sqrt(low * high)
        enough = (
            rows_needed(bits=bits, alpha=alpha, error=middle, delta=delta, pieces=pieces) <= rows
        )
        low, high = (low, middle) if enough else (middle, high)
    return high


@dataclass(frozen=True, slots=True)
class NoisySearch:
    """The literal mechanism."""

    name: ClassVar[str] = "noisy-search"
    kind: ClassVar[str] = "buckets"

    def refusal(self, query_class: QueryClass, schema: Schema) -> str | None:
        if schema.adjacency is not Adjacency.CHANGE_ONE or schema.unit.identifier is not None:
            return (
                "noisy-search divides by the number of rows, which is public only under change-one "
                "adjacency with one row a person."
            )
        if not isinstance(query_class, Intervals):
            return "noisy-search releases intervals of one column."
        if schema.column(query_class.columns[0]).cells > MOST_CELLS:
            return "noisy-search lists the cells of its column, and there are too many."
        return None

    def prepare(
        self, query_class: QueryClass, schema: Schema, *, share: Budget, accounting: Accounting
    ) -> PreparedSearch:
        if not isinstance(query_class, Intervals):
            raise BadInput(f"{query_class.text} is no class of intervals.")
        return PreparedSearch(
            query_class=query_class,
            share=share,
            schema=schema,
            alpha=pure_epsilon(share, accounting),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedSearch:
    """The searches, as far as they are known before n is."""

    query_class: Intervals
    share: Budget
    schema: Schema
    alpha: Fraction
    requests: tuple[Request, ...] = ()
    algorithm: ClassVar[str] = NoisySearch.name

    @property
    def column(self) -> str:
        return self.query_class.named(self.schema)[0]

    @property
    def bits(self) -> int:
        return max(1, bits_of(self.schema.column(self.column).value_cells))

    def costs(self) -> tuple[Cost, ...]:
        return (Cost.pure(self.alpha),)

    def noise(self) -> list[dict[str, Any]]:
        return []

    def _fraction(self, rows: int) -> float:
        return error_reached(bits=self.bits, alpha=float(self.alpha), rows=rows, delta=DELTA)

    def error(self, *, rows: int | None, confidence: float) -> ClassError:
        cells = self.schema.column(self.column).value_cells
        assumed = rows if rows is not None else self.schema.people or ASSUMED_ROWS
        bound = self._fraction(assumed) * assumed
        return ClassError(
            queries=cells * (cells + 1) // 2,
            unit="rows",
            expected=bound / 2,
            half_width=bound,
            simultaneous=bound,
            scale=None if rows is None else float(rows),
            note=f"a bound for all intervals at once, at confidence {1 - DELTA:g}",
        )

    def finish(
        self,
        grant: Grant,
        measured: Sequence[Measurement],
        *,
        public_rows: int | None,
        confidence: float,
    ) -> tuple[Part, tuple[ErrorClaim, ...]]:
        if public_rows is None:
            raise BadInput("noisy-search needs the number of rows, which is a secret here.")
        error = self._fraction(public_rows)
        search = _Search(self, grant, public_rows, error)
        starts, counts = search.buckets()
        part = Part(
            kind=NoisySearch.kind,
            query_class=self.query_class,
            algorithm=self.algorithm,
            measurements=tuple(search.measured),
            estimates={
                "starts": np.array(starts, dtype=np.int64),
                "counts": np.array(counts, dtype=np.float64),
            },
            facts={"error": error * public_rows, "delta": DELTA, "theorem": THEOREM},
        )
        claim = ErrorClaim(
            query_class=self.query_class.text,
            bound=error * public_rows,
            confidence=1 - DELTA,
            simultaneous=True,
            theorem=THEOREM,
        )
        return part, (claim,)


class _Search:
    """One run: never more than ceil(2/eps1) searches of `bits` counts."""

    def __init__(self, plan: PreparedSearch, grant: Grant, rows: int, error: float) -> None:
        self._plan, self._grant = plan, grant
        self._rows = rows
        self._searches = math.ceil(2 / (error / 2) - 1e-9)
        self._each = plan.alpha / (self._searches * plan.bits)
        self._wanted = error / 4 * rows  # half of eps1
        self._cells = plan.schema.column(plan.column).value_cells
        self.measured: list[Measurement] = []

    def _count(self, first: int, last: int) -> int:
        request = Request(
            RangeCount(self._plan.column, first, last), DiscreteLaplace(epsilon=self._each)
        )
        (found,) = self._grant.measure([request])
        self.measured.append(found)
        return int(found.values[0])

    def buckets(self) -> tuple[list[int], list[float]]:
        """First cells of the buckets, and the rows that each gets; together n."""
        starts: list[int] = []
        counts: list[float] = []
        start, left = 0, float(self._rows)
        for _ in range(self._searches):
            if start >= self._cells:
                break
            end, seen = self._end(start)
            before, through = seen.get(end - 1, 0), seen.get(end, self._wanted)
            if end > start and through - before > self._wanted:
                # The last value alone is heavier than a bucket: it is released apart.
                pieces = [(start, float(max(before, 0))), (end, float(through - max(before, 0)))]
            elif through > 2 * self._wanted:
                pieces = [(start, float(through))]
            else:
                pieces = [(start, self._wanted)]
            for first, rows in pieces:
                starts.append(first)
                counts.append(min(rows, left))
                left -= counts[-1]
            start = end + 1
        if start < self._cells:
            starts.append(start)
            counts.append(left)
        elif counts:
            counts[-1] += left
        return starts, counts

    def _end(self, start: int) -> tuple[int, dict[int, int]]:
        """The first cell by which the bucket is full, and the noisy counts that were seen on the way."""
        low, high = start, self._cells - 1
        seen: dict[int, int] = {}
        for _ in range(self._plan.bits):
            middle = (low + high) // 2
            seen[middle] = self._count(start, middle)
            if seen[middle] >= self._wanted:
                high = middle
            else:
                low = min(middle + 1, self._cells - 1)
            if low >= high:
                break
        return low, seen
