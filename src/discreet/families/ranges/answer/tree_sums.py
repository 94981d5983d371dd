"""Sums, means and moments of one column from a tree over it.

A row of a leaf adds at least the leaf's least value and at most its greatest, so a sum lies between two weighted sums
of the leaves' true counts. Each of these is known up to noise, of which the fit gives the exact variance.
A row of a leaf that the condition cuts may also add nothing.

A mean m is where the sum of (value - m) is 0. So values t are ruled out below which even the least of that
sum surely stays above 0, and those above which its greatest surely stays below (Fieller's way): nothing is
assumed about the number of rows. As for counts of a tree, the quantile of the noise is nominal.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from discreet.answering.estimates import Estimates
from discreet.answering.regions.region import Region
from discreet.arrays import Bools, Codes, Floats
from discreet.families.ranges.answer.quantiles import OneColumn
from discreet.families.shared.estimate.rounding import plausible_ends
from discreet.privacy.laws.sums import spread_factor
from discreet.questions.cells.boxes import Boxes, boxes_of
from discreet.questions.question import middle_of
from discreet.schema import OrderedColumn
from discreet.schema.columns.numeric import IntegerColumn, NumberColumn

LEAF_NOTE = "It is read off the ranges of the column, and allows for values anywhere inside the leaves of their tree."
HALVINGS = 30
"""The end of a mean's interval is found as nearly as halving so many times would find it."""


def sums_of(source: OneColumn, region: Region, confidence: float) -> Estimates | None:
    """A sum, a mean or a moment of the one column, under a condition about it; `None` of anything else."""
    name = source.columns[0]
    if region.groups or region.column != name or not region.names <= {name}:
        return None
    if region.kind not in ("sum", "avg", "moment") or region.second not in (None, name):
        return None
    column = source.schema.column(name)
    if not isinstance(column, IntegerColumn | NumberColumn):
        return None
    leaves = _Leaves.of(source, region, column)
    if region.kind == "avg":
        return leaves.mean(confidence)
    if region.kind == "sum":
        found = leaves.sum(lambda value: value, confidence)
        least = 0.0 if leaves.low.min(initial=0.0) >= 0 else -math.inf
        most = 0.0 if leaves.high.max(initial=0.0) <= 0 else math.inf
        middle = (found.lower + found.upper) / 2  # the estimate is smoothed, and may lie elsewhere
        _, lower, upper = plausible_ends(middle, found.lower, found.upper, least=least, most=most)
        return replace(
            found, estimate=np.clip(found.estimate, lower, upper), lower=lower, upper=upper
        )
    centre = region.centres[0] if region.centres else middle_of(column)
    if region.second is None:
        return leaves.sum(lambda value: value - centre, confidence)
    return leaves.sum(lambda value: (value - centre) ** 2, confidence, turns_at=centre)


@dataclass(frozen=True, slots=True, eq=False)
class _Leaves:
    """What the condition leaves of each leaf, and the leaves' counts."""

    source: OneColumn
    low: Floats
    high: Floats
    """Between which values the rows lie that the condition leaves; of no row, 0."""
    share: Floats
    """The part of the leaf's cells in which the condition may hold."""
    surely: Bools
    """Whether it holds for every row of the leaf."""

    @classmethod
    def of(cls, source: OneColumn, region: Region, column: IntegerColumn | NumberColumn) -> _Leaves:
        index = source.intervals
        asked = boxes_of(region.counted, source.schema, source.columns)
        many = len(index.leaves)
        low, high, cells = np.full(many, np.inf), np.full(many, -np.inf), np.zeros(many)
        for first, last, there in _overlaps(asked.outer, index.starts, index.ends):
            low[there] = np.minimum(low[there], _value(column, first, 0))
            high[there] = np.maximum(high[there], _value(column, last, 1))
            cells[there] += (last - first).astype(np.float64) + 1.0
        inside = np.zeros(many)
        for first, last, there in _overlaps(asked.inner, index.starts, index.ends):
            inside[there] += (last - first).astype(np.float64) + 1.0
        some = cells > 0
        return cls(
            source,
            np.where(some, low, 0.0),
            np.where(some, high, 0.0),
            cells / index.widths,
            inside == index.widths,
        )

    def sum(
        self, added: Callable[[Floats], Floats], confidence: float, turns_at: float | None = None
    ) -> Estimates:
        """The sum of a function of the value, which only rises; or only falls, and rises from `turns_at` on."""
        least, greatest = self._reach(added, turns_at)
        z = float(spread_factor(1 - confidence, self.source.kurtosis))
        ends = [
            self._total(weights) + sign * z * self._deviation(weights)
            for weights, sign in ((least, -1), (greatest, 1))
        ]
        lower, upper = min(ends), max(ends)
        middle = self._expected(added)
        estimate = float(np.diff(self.source.intervals.prefix) @ middle)
        return self._estimates(
            min(max(estimate, lower), upper), (lower, upper), self._deviation(middle)
        )

    def mean(self, confidence: float) -> Estimates:
        z = float(spread_factor(1 - confidence, self.source.kurtosis))
        some = self.share > 0
        if not some.any():
            return self._estimates(math.nan, (math.nan, math.nan), math.inf)
        lowest, highest = float(self.low[some].min()), float(self.high[some].max())
        counts = np.diff(self.source.intervals.prefix)
        rows = float(counts @ self.share)
        total = float(counts @ self._expected(lambda value: value))
        best = min(max(total / rows, lowest), highest) if rows > 0 else (lowest + highest) / 2

        def too_low(t: float) -> float:
            least, _ = self._reach(lambda value: value - t)
            return self._total(least) - z * self._deviation(least)

        def too_high(t: float) -> float:
            _, greatest = self._reach(lambda value: value - t)
            return -self._total(greatest) - z * self._deviation(greatest)

        lower, upper = _edge(lowest, best, too_low), _edge(highest, best, too_high)
        deviation = self._deviation(self._expected(lambda value: value - best))
        return self._estimates(best, (lower, upper), deviation / max(rows, 1.0))

    def _reach(
        self, added: Callable[[Floats], Floats], turns_at: float | None = None
    ) -> tuple[Floats, Floats]:
        """What a row of each leaf adds at least and at most."""
        one, other = added(self.low), added(self.high)
        least, greatest = np.minimum(one, other), np.maximum(one, other)
        if turns_at is not None:
            around = (self.low <= turns_at) & (turns_at <= self.high)
            least = np.where(around, added(np.array(turns_at)), least)
        maybe = ~self.surely
        least = np.where(maybe, np.minimum(least, 0.0), least)
        greatest = np.where(maybe, np.maximum(greatest, 0.0), greatest)
        some = self.share > 0
        return np.where(some, least, 0.0), np.where(some, greatest, 0.0)

    def _expected(self, added: Callable[[Floats], Floats]) -> Floats:
        """What a row of each leaf adds if values are spread evenly: Simpson's rule."""
        middle = (added(self.low) + 4 * added((self.low + self.high) / 2) + added(self.high)) / 6
        return np.asarray(middle * self.share)

    def _total(self, weights: Floats) -> float:
        return float(np.diff(self.source.intervals.fitted_prefix) @ weights)

    def _deviation(self, weights: Floats) -> float:
        return self.source.intervals.weighted_deviation(weights)

    def _estimates(self, estimate: float, ends: tuple[float, float], std: float) -> Estimates:
        is_exact = bool(self.surely[self.share > 0].all()) and bool((self.low == self.high).all())
        notes = (self.source.note,) if is_exact else (self.source.note, LEAF_NOTE)
        return Estimates.single(
            estimate, *ends, std, is_exact=is_exact, is_count=False, notes=notes
        )


def _overlaps(boxes: Boxes, starts: Codes, ends: Codes) -> list[tuple[Codes, Codes, Bools]]:
    """For each box: the first and the last cell of the leaves that it meets, and which leaves these are."""
    found = []
    for low, high in zip(boxes.first[:, 0], boxes.last[:, 0], strict=True):
        there = (starts <= high) & (ends >= low)
        found.append((np.maximum(starts[there], low), np.minimum(ends[there], high), there))
    return found


def _value(column: OrderedColumn, codes: Codes, end: int) -> Floats:
    """The least (`end` 0) or the greatest value of some cells."""
    if isinstance(column, IntegerColumn):
        first = column.low + codes.astype(np.float64) * column.width
        return first + end * (column.width - 1)
    assert isinstance(column, NumberColumn)
    places = codes.astype(np.float64) + end
    if column.cuts is not None:
        return np.array([column.low, *column.cuts, column.high])[places.astype(np.int64)]
    return column.low + (column.high - column.low) * (places / column.value_cells)


def _edge(far: float, best: float, surplus: Callable[[float], float]) -> float:
    """Where values begin to be possible, on the way from `far` to `best`; on the safe side.

    A value is ruled out while its surplus, which falls on that way, is above 0. The end is found by false position
    (the Illinois rule); every third step halves, so that no shape of the surplus makes it slow.
    """
    out, possible = far, best
    above = surplus(far)
    if far == best or above <= 0:
        return far
    below = surplus(best)
    if below > 0:
        return best
    for step in range(3 * HALVINGS):
        if abs(out - possible) <= abs(far - best) / 2**HALVINGS:
            break
        share = 0.5 if step % 3 == 2 else above / (above - below)
        middle = out + share * (possible - out)
        found = surplus(middle)
        if found > 0:
            out, above, below = middle, found, below / 2
        else:
            possible, below, above = middle, found, above / 2
    return out
