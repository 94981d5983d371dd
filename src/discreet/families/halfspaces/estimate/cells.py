"""Halfspaces over a grid of boxes: which boxes lie inside, which are cut, and sums over them.

A box is a product of closed intervals, so the least and the greatest value of a linear form over
it are sums of one number a column. For many halfspaces at once the boxes are swept row by row: in a
row along the last column, the boxes inside a halfspace are all those from some place on, and their
sum is a difference of prefix sums. A comparison that rounding could decide wrongly counts the box
as cut: the interval then grows, it never misses.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from discreet.arrays import Floats, Integers

ROUNDING = 1e-12
"""More than the float evaluation of a linear form can be off, as a part of its largest term."""
FAR = 1e100
"""Beyond every coefficient, bound and value."""
MOST_AT_ONCE = 1 << 16
"""(halfspace, row of boxes) pairs that are swept together: what stays in a processor's cache."""
QUADRATURE = {1: (0.5,), 2: (0.2113248654051871, 0.7886751345948129)}
"""Gauss's points in a box, where it has an extent; in a point, its middle."""
MOST_QUADRATURE = 2
"""Columns across a row up to which there are two points in each; beyond, its middle must do."""


@dataclass(frozen=True, slots=True, eq=False)
class Boxes:
    """A grid of boxes: for each column, the first and last value of each block."""

    low: tuple[Floats, ...]
    high: tuple[Floats, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(len(each) for each in self.low)

    @property
    def are_points(self) -> bool:
        return all(np.array_equal(a, b) for a, b in zip(self.low, self.high, strict=True))

    def bounds(self) -> tuple[Floats, Floats]:
        """The corner boxes: the public bounds by which columns are scaled."""
        return (
            np.array([each[0] for each in self.low]),
            np.array([each[-1] for each in self.high]),
        )

    def uniform_shares(self) -> Floats:
        """The share of the scaled box that belongs to each block, gaps between blocks halved."""
        shares: Floats = np.ones(())
        for low, high in zip(self.low, self.high, strict=True):
            middle = (high[:-1] + low[1:]) / 2
            edges = np.concatenate([[low[0]], middle, [high[-1]]])
            if len(low) > 1 and low[0] == high[0]:  # points: a cell reaches half-way to the next
                edges[0] -= middle[0] - low[0]
                edges[-1] += high[-1] - middle[-1]
            widths = np.diff(edges)
            total = widths.sum()
            share = widths / total if total > 0 else np.full(len(low), 1 / len(low))
            shares = np.multiply.outer(shares, share)
        return shares


@dataclass(frozen=True, slots=True, eq=False)
class Swept:
    """For each halfspace: sums over the boxes inside and touched, how many those are, and an estimate."""

    inner: Floats
    outer: Floats
    inner_boxes: Integers
    outer_boxes: Integers
    smooth: tuple[Floats, ...]
    """For each table of smooth counts, the sum with cut boxes counted in proportion."""


class Sweep:
    """A grid of noisy counts, ready for any number of halfspaces `normals . x >= bounds`."""

    def __init__(self, boxes: Boxes, counts: Floats, smooth: Sequence[Floats] = ()) -> None:
        shape = boxes.shape
        last = int(np.argmax(shape))
        self._order = [axis for axis in range(len(shape)) if axis != last] + [last]
        self._low = [boxes.low[axis] for axis in self._order]
        self._high = [boxes.high[axis] for axis in self._order]
        self._are_points = boxes.are_points
        self._tables = [
            np.ascontiguousarray(np.transpose(table, self._order).reshape(-1, shape[last]))
            for table in (counts, *smooth)
        ]
        self._forward = [_suffix_sums(table) for table in self._tables]
        self._backward = [_suffix_sums(table[:, ::-1]) for table in self._tables]
        self._points = _sub_rows(self._low[:-1], self._high[:-1])
        self._corners = _corner_rows(self._low[:-1], self._high[:-1])

    def __call__(self, normals: Floats, bounds: Floats) -> Swept:
        rows = len(self._tables[0])
        step = max(1, MOST_AT_ONCE // max(1, rows))
        parts = [
            self._signed(normals[at : at + step], bounds[at : at + step])
            for at in range(0, len(normals), step)
        ] or [self._signed(normals, bounds)]
        return Swept(
            inner=np.concatenate([part.inner for part in parts]),
            outer=np.concatenate([part.outer for part in parts]),
            inner_boxes=np.concatenate([part.inner_boxes for part in parts]),
            outer_boxes=np.concatenate([part.outer_boxes for part in parts]),
            smooth=tuple(
                np.concatenate([part.smooth[place] for part in parts])
                for place in range(len(self._tables) - 1)
            ),
        )

    def _signed(self, normals: Floats, bounds: Floats) -> Swept:
        """Rows are swept upwards; where the last coefficient is negative, in mirror image."""
        normals = np.ascontiguousarray(normals[:, self._order])
        many = len(normals)
        found = Swept(
            np.empty(many),
            np.empty(many),
            np.empty(many, dtype=np.int64),
            np.empty(many, dtype=np.int64),
            tuple(np.empty(many) for _ in self._tables[1:]),
        )
        down = normals[:, -1] < 0
        for mirrored, chosen in ((False, np.flatnonzero(~down)), (True, np.flatnonzero(down))):
            if not len(chosen):
                continue
            part = self._swept(normals[chosen], bounds[chosen], mirrored)
            for whole, own in (
                (found.inner, part.inner),
                (found.outer, part.outer),
                (found.inner_boxes, part.inner_boxes),
                (found.outer_boxes, part.outer_boxes),
                *zip(found.smooth, part.smooth, strict=True),
            ):
                whole[chosen] = own
        return found

    def _swept(self, normals: Floats, bounds: Floats, mirrored: bool) -> Swept:
        low, high, slope = self._low[-1], self._high[-1], normals[:, -1:]
        sums = self._backward if mirrored else self._forward
        if mirrored:
            low, high, slope = -high[::-1], -low[::-1], -slope
        others = normals[:, :-1]
        reach = self._reach()
        slack = (ROUNDING * (np.abs(others) @ reach[:-1] + slope[:, 0] * reach[-1]))[:, None]
        slack += ROUNDING * np.abs(bounds)[:, None]
        wanted = bounds[:, None]
        least, greatest = self._row_ends(others)
        from_low, from_high = _Places(low), _Places(high)
        first_in = from_low.first(_reached(wanted + slack - least, slope))
        first_out = from_high.first(_reached(wanted - slack - greatest, slope))
        boxes = len(low)
        start = (np.arange(first_in.shape[1]) * (boxes + 1))[None, :]
        inside = first_in + start
        if self._are_points:
            smooth = tuple(table.take(inside).sum(axis=1) for table in sums[1:])
        else:
            smooth = self._smooth(others, slope, wanted, low, high, sums[1:])
        inner = sums[0].take(inside).sum(axis=1)
        same = self._are_points and np.array_equal(first_in, first_out)
        return Swept(
            inner=inner,
            outer=inner.copy() if same else sums[0].take(first_out + start).sum(axis=1),
            inner_boxes=boxes * first_in.shape[1] - first_in.sum(axis=1),
            outer_boxes=boxes * first_in.shape[1] - first_out.sum(axis=1),
            smooth=smooth,
        )

    def _smooth(
        self,
        others: Floats,
        slope: Floats,
        wanted: Floats,
        low: Floats,
        high: Floats,
        sums: list[Floats],
    ) -> tuple[Floats, ...]:
        """Values spread evenly in a box: exact along the row, by Gauss's rule across it."""
        if not sums:
            return ()
        found = [np.zeros(len(others)) for _ in sums]
        width = np.append(high - low, 1.0)
        flat = width <= 0
        share = 1 / np.where(flat, 1.0, width)
        top = np.append(high, np.inf)
        places = _Places(high)
        start = (np.arange(len(self._tables[0])) * (len(low) + 1))[None, :]
        for place in self._points:
            cut = _reached(wanted - others @ place.T, slope)
            first = places.first(cut)
            part = np.minimum((top.take(first) - cut) * share.take(first), 1.0)
            if flat.any():
                part[flat.take(first)] = 1.0
            here = first + start
            next_one = np.minimum(first + 1, len(low)) + start
            for total, table in zip(found, sums, strict=True):
                beyond = table.take(next_one)
                total += (beyond + part * (table.take(here) - beyond)).sum(axis=1)
        return tuple(total / len(self._points) for total in found)

    def _row_ends(self, others: Floats) -> tuple[Floats, Floats]:
        """The least and greatest value of the form over each row's box in the other columns."""
        low, high = self._corners
        up, down = np.maximum(others, 0), np.minimum(others, 0)
        return up @ low.T + down @ high.T, up @ high.T + down @ low.T

    def _reach(self) -> Floats:
        return np.array(
            [max(abs(a[0]), abs(b[-1])) for a, b in zip(self._low, self._high, strict=True)]
        )


class _Places:
    """Finds, in ascending numbers, the first that is at least a given one: by arithmetic if it can.

    Evenly spaced numbers need no search; what rounding could move is less than the slack that
    every comparison has (see `ROUNDING`).
    """

    def __init__(self, numbers: Floats) -> None:
        self._numbers = numbers
        step = (numbers[-1] - numbers[0]) / max(1, len(numbers) - 1)
        even = numbers[0] + step * np.arange(len(numbers))
        size = np.abs(numbers).max() + step
        self._even = bool(step > 0 and np.abs(even - numbers).max() <= 1e-14 * size)
        self._step = step

    def first(self, wanted: Floats) -> Integers:
        if not self._even:
            return np.searchsorted(self._numbers, wanted, side="left").astype(np.int64, copy=False)
        place = (wanted - self._numbers[0]) * (1 / self._step)
        np.ceil(place, out=place)
        np.clip(place, 0, len(self._numbers), out=place)
        found: Integers = place.astype(np.int64)
        return found


def _reached(rest: Floats, slope: Floats) -> Floats:
    """From where on `slope * x >= rest`: everywhere or nowhere if the slope is 0."""
    if slope.min(initial=np.inf) > 1 / FAR:
        return np.asarray(rest * (1 / slope))
    start = rest / np.where(slope > 1 / FAR, slope, 1.0)
    return np.where(slope > 1 / FAR, start, np.where(rest <= 0, -FAR, FAR))


def _suffix_sums(table: Floats) -> Floats:
    """Entry k of a row is the sum of the row from k on."""
    sums = np.zeros((len(table), table.shape[1] + 1))
    sums[:, :-1] = np.cumsum(table[:, ::-1], axis=1)[:, ::-1]
    return sums


def _rows(columns: Sequence[Floats]) -> Floats:
    """All combinations, one a row, the last column fastest."""
    if not columns:
        return np.zeros((1, 0))
    grid = np.meshgrid(*columns, indexing="ij")
    return np.stack([each.reshape(-1) for each in grid], axis=1)


def _corner_rows(low: Sequence[Floats], high: Sequence[Floats]) -> tuple[Floats, Floats]:
    return _rows(low), _rows(high)


def _sub_rows(low: Sequence[Floats], high: Sequence[Floats]) -> list[Floats]:
    """Places across each row at which its cut boxes are looked at."""
    found: list[list[Floats]] = [[]]
    for a, b in zip(low, high, strict=True):
        places = QUADRATURE[1 if np.array_equal(a, b) or len(low) > MOST_QUADRATURE else 2]
        found = [[*before, a + place * (b - a)] for before in found for place in places]
    return [_rows(each) for each in found]
