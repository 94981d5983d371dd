"""Variances and covariances as expressions of sums: of values less the middle of their bounds, so that little is subtracted from much."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product

from discreet.postprocessing.plan import Call, Expression, Literal
from discreet.schema import Column

CENTRES = 5
"""Numbers, evenly over the bounds of a column with wide cells, that its spread is worked out around; one is the middle."""


@dataclass(frozen=True, slots=True)
class Moments:
    """Sums of values less their middles, and of products of them, over the same rows."""

    moment: Callable[..., Expression]
    rows: Expression
    bounds: Sequence[tuple[float, float] | None]
    """The bounds of each column with cells of several values."""
    is_one_column: bool = False
    """Whether both columns are the same."""

    def mean(self, place: int) -> Expression:
        """The mean, less the middle."""
        return Call("/", (self.moment(place), self.rows))

    def joint(self, one: int, other: int) -> Expression:
        """The covariance of the rows themselves: the mean of the products less the product of the means.

        It is the same whatever is taken from the values first. But where values lie anywhere in wide cells, it is known
        the better the nearer this is to the mean. That is not known beforehand: it is worked out for
        several centres, and lies in all their intervals.
        """
        if self.is_one_column:  # a product of one value with itself is a square
            one = other = 0
        places = [_centres(self.bounds[place]) for place in (one, other)]
        pairs = zip(*places, strict=True) if one == other else product(*places)
        found = tuple(self._around(one, other, pair) for pair in pairs)
        return found[0] if len(found) == 1 else Call("meeting", found)

    def _around(self, one: int, other: int, centres: Sequence[float | None]) -> Expression:
        means = []
        for place, centre in zip((one, other), centres, strict=True):
            mean, bounds = self.mean(place), self.bounds[place]
            if centre is not None and bounds is not None:
                mean = Call("+", (mean, Literal((bounds[0] + bounds[1]) / 2 - centre)))
            means.append(mean)
        square = Call("power", (means[0], Literal(2)))
        taken = square if one == other else Call("*", tuple(means))
        mean = Call("/", (self.moment(one, other, centres=centres), self.rows))
        return Call("-", (mean, taken))

    def of_sample(self, joint: Expression) -> Expression:
        """The unbiased form: divided by n - 1."""
        fewer = Call("-", (self.rows, Literal(1)))
        return Call("*", (joint, Call("/", (self.rows, fewer))))


def bounds_of_wide(column: Column) -> tuple[float, float] | None:
    """The bounds of a column that has several values in a cell."""
    bounds = column.value_bounds
    if bounds is None or (
        column.kind != "number" and column.value_cells >= bounds[1] - bounds[0] + 1
    ):
        return None
    return float(bounds[0]), float(bounds[1])


def _centres(bounds: tuple[float, float] | None) -> list[float | None]:
    """What a column's values may be taken around; None is its middle."""
    if bounds is None:
        return [None]
    low, high = bounds
    middle = CENTRES // 2
    parts = [(2 * each + 1) / (2 * CENTRES) for each in range(CENTRES)]
    return [
        None if place == middle else low + (high - low) * part for place, part in enumerate(parts)
    ]
