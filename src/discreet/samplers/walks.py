"""A draw from the exponential mechanism over all small databases of one ordered column, exact.

A database of m rows over k kinds of points in order is a walk P_1 <= P_2 <= ... <= P_k = m: how many of
its rows lie before each boundary. It stands for a table of n rows, floor(n P_j / m) of them before
boundary j. G_j is that number less the C_j rows that the true table has there. The level of a walk is

    prefixes    the largest |G_j|             no prefix is off by more rows
    intervals   max G - min G, with G_0 = 0   no interval is off by more rows

and at most `levels`: walks that are further off count as that far. A changed row moves each C_j by at most 1, all
in the same direction, so it moves a level by at most 1. A walk is drawn with probability proportional to
exp(-unit level).

Theorem (levels, then a uniform walk). Let N_t be the number of walks of level t or less, and x =
exp(-unit). Draw t with weight N_t (x^t - x^(t+1)) below the last level and N x^levels at it, N being all
walks; then draw uniformly among the N_t. A walk of level s is then drawn with weight x^s: the sum telescopes.

N_t is counted by dynamic programming in whole numbers. The weights of levels are polynomials in x with whole
coefficients, so the thresholds between them are transcendental, and `Thresholds` compares a uniform
real with them exactly. For intervals, N_t is W_t - W_(t-1), where W_t adds up the walks inside each window
of width t that holds 0: a walk of level s lies in t - s + 1 of them.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from fractions import Fraction
from itertools import accumulate
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

from discreet.errors import BadInput
from discreet.queries.multisets import multisets, number_of
from discreet.samplers.entropy import EntropySource, current_entropy
from discreet.samplers.exact import Enclosure, Thresholds, ceil_divide, exp_minus
from discreet.samplers.limits import check_unit
from discreet.samplers.uniform import uniform_below

FIRST_BITS: Final = 64
SPARE_BITS: Final = 64


class Walks(Protocol):
    """Which walks there are, and how they are judged: public facts."""

    @property
    def size(self) -> int:
        """m, the rows of a database."""
        ...

    @property
    def rows(self) -> int:
        """n, the rows that it stands for."""
        ...

    @property
    def levels(self) -> int:
        """Walks that are further off count as that far."""
        ...

    @property
    def of_intervals(self) -> bool: ...


def drawn_walk(
    counts: NDArray[np.int64], walks: Walks, unit: Fraction, entropy: EntropySource | None = None
) -> int:
    """The number of a database (see `multisets`), given the rows of each kind in the true table."""
    if counts.ndim != 1 or counts.size == 0 or counts.dtype != np.int64:
        raise BadInput("counts must be one whole number for each kind. Nothing was drawn.")
    return WalkLaw(counts, walks, unit).draw(current_entropy(entropy))


class WalkTable:
    """The walks of one table, counted."""

    def __init__(self, counts: NDArray[np.int64], walks: Walks) -> None:
        self._before = np.cumsum(counts, dtype=np.int64)[:-1]
        self._walks = walks
        self.all = multisets(len(counts), walks.size)

    def within_levels(self) -> list[int]:
        """N_t for each level below the last."""
        if not self._walks.of_intervals:
            return [self._count(-level, level) for level in range(self._walks.levels)]
        found, narrower = [], 0
        for level in range(self._walks.levels):
            wide = sum(self._count(low, low + level) for low in range(-level, 1))
            found.append(wide - narrower)
            narrower = wide
        return found

    def drawn_within(self, level: int, entropy: EntropySource) -> list[int]:
        """The counts of a walk, uniform among those of that level or less."""
        if not self._walks.of_intervals:
            return self._drawn(-level, level, entropy)
        lows = range(-level, 1)
        # Those whose least G is `low`: inside the window, and not inside the one without its lowest step.
        least = [self._count(low, low + level) - self._count(low + 1, low + level) for low in lows]
        low = lows[_drawn_index(least, entropy)]
        while True:
            found = self._drawn(low, low + level, entropy)
            if low == 0 or self._least(found) == low:
                return found

    def _least(self, counts: Sequence[int]) -> int:
        walk = np.cumsum(np.array(counts[:-1], dtype=np.int64))
        stands_for = self._walks.rows * walk // self._walks.size
        return min(0, int((stands_for - self._before).min(initial=0)))

    def _ends(self, low: int, high: int) -> tuple[list[int], list[int]]:
        """Between which P_j lies, for low <= G_j <= high, at each inner boundary."""
        size, rows = self._walks.size, self._walks.rows
        if rows == 0:  # every walk stands for the same empty table
            return [0] * len(self._before), [size] * len(self._before)
        first = -(-size * (self._before + low) // rows)
        last = -(-size * (self._before + high + 1) // rows) - 1
        return np.maximum(first, 0).tolist(), np.minimum(last, size).tolist()

    def _count(self, low: int, high: int) -> int:
        if not low <= 0 <= high:
            return 0
        ((_, ways),) = self._forward(low, high, keep=False)
        return sum(ways)

    def _forward(self, low: int, high: int, *, keep: bool) -> list[tuple[int, list[int]]]:
        """For each boundary, the least P there, and in how many ways each P from it on is reached."""
        at, ways = 0, [1]
        steps = [(at, ways)]
        for first, last in zip(*self._ends(low, high), strict=True):
            up_to = list(accumulate(ways))
            start, end = max(first, at), at + len(ways) - 1
            ways = up_to[start - at : max(last - at + 1, 0)]
            if last > end and up_to:
                ways += up_to[-1:] * (last - max(end, start - 1))
            at = start
            if keep:
                steps.append((at, ways))
            elif not ways:
                break
        return steps if keep else [(at, ways)]

    def _drawn(self, low: int, high: int, entropy: EntropySource) -> list[int]:
        """A walk, uniform among those with low <= G <= high everywhere: backwards, step by step."""
        steps = self._forward(low, high, keep=True)
        position, counts = self._walks.size, []
        for at, ways in reversed(steps):
            before = at + _drawn_index(ways[: position - at + 1], entropy)
            counts.append(position - before)
            position = before
        return counts[::-1]


def _drawn_index(weights: Sequence[int], entropy: EntropySource) -> int:
    """A place, with probability proportional to its whole weight."""
    up_to = list(accumulate(weights))
    drawn = int(uniform_below(up_to[-1], 1, entropy=entropy)[0])
    return bisect_right(up_to, drawn)


class WalkLaw:
    """The law of one draw: walks counted once, thresholds kept."""

    def __init__(self, counts: NDArray[np.int64], walks: Walks, unit: Fraction) -> None:
        check_unit(unit)
        self._table = WalkTable(counts, walks)
        within, every = self._table.within_levels(), self._table.all
        self._last = len(within)
        self._first = next((level for level, many in enumerate(within) if many), self._last)
        found = within[self._first :]
        self._thresholds = Thresholds(lambda bits: level_chances(found, every, unit, bits))

    def draw(self, entropy: EntropySource) -> int:
        """The number of a database."""
        level = self._first
        if level < self._last:
            level += self._thresholds.locate(entropy.bits(FIRST_BITS), FIRST_BITS, entropy)
        if level == self._last:  # further off than levels are told apart, or one of all
            return int(uniform_below(self._table.all, 1, entropy=entropy)[0])
        return number_of(self._table.drawn_within(level, entropy))


def level_chances(
    within: Sequence[int], total: int, unit: Fraction, precision: int
) -> list[Enclosure]:
    """Encloses the chance of the first level, of the first two, ... : all but the last, which makes them 1.

    x^t is enclosed to so many bits that the smallest power still has as many as asked for.
    """
    spread = len(within) * unit
    working = precision + SPARE_BITS + 3 * (spread.numerator // spread.denominator + 1) // 2
    one = 1 << working
    low, high = exp_minus(unit, working)
    low_power, high_power = one, one
    sums: list[Enclosure] = []
    low_sum = high_sum = 0
    for walks in within:
        low_sum += walks * low_power * (one - high) >> working
        high_sum -= -(walks * high_power * (one - low)) >> working
        sums.append((low_sum, high_sum))
        low_power, high_power = low_power * low >> working, -(-high_power * high >> working)
    low_all, high_all = low_sum + total * low_power, high_sum + total * high_power
    return [
        (
            (least << precision) // high_all,
            min(ceil_divide(most << precision, max(low_all, 1)), 1 << precision),
        )
        for least, most in sums
    ]
