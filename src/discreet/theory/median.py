"""Why a domain must be finite: the median argument, run on any mechanism over a continuum.

Theorem 5.1 of Blum, Ligett and Roth (2008): no mechanism answers median queries over the reals within the
middle percentiles and is alpha-DP, whatever alpha. The proof walks from the table of n zeros to the table of n
copies of a value v that the mechanism never gives for the first, one row at a time. A useful mechanism must
give v for the last table. So somewhere on the walk two neighbours stand side by side of which one can give v
and the other cannot. `median_counterexample` finds that pair for any proposed mechanism.

Corollary 5.2: interval queries find medians, so the same holds for intervals, and for boxes, halfspaces and
spheres, each of which cuts a line into intervals. `sphere_counterexample` finds the pair for spheres.

On a finite domain the argument fails, for there is no value that a mechanism never gives: then how likely v
must be along the walk says how much privacy the usefulness costs (`least_epsilon`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import count

from discreet.errors import BadInput

Table = tuple[Fraction, ...]
Chance = Callable[[Sequence[Fraction], Fraction], float]
"""For a table and a value: the probability that a mechanism answers the median with just that value."""
Counts = Callable[[Sequence[Fraction]], Callable[[Fraction, Fraction], float]]
"""For a table: one draw of a release that answers every interval [a, b] with a part of the rows."""
MOST_CANDIDATES = 10_000
"""Values tried for one that the mechanism never gives; a mechanism with so many atoms is not refuted."""


@dataclass(frozen=True, slots=True)
class Neighbours:
    """Two tables that differ in one row, and a value that only one of them can be answered with."""

    without: Table
    having: Table
    value: Fraction
    chance: float
    """The probability of the value on the second table; on the first it is 0."""


def median_counterexample(
    chance: Chance, rows: int, *, candidates: Iterable[Fraction] | None = None
) -> Neighbours | None:
    """The neighbours that break a mechanism which answers medians over [0, 1].

    `None` where there are none on the walk: then the mechanism is not useful, for on the table of n copies
    of the value it never gives that value, although every percentile of that table is it.
    """
    if rows < 1:
        raise BadInput("The argument needs at least one row.")
    zeros = (Fraction(0),) * rows
    value = _never_given(chance, zeros, candidates)
    before = zeros
    for moved in range(1, rows + 1):
        after = (Fraction(0),) * (rows - moved) + (value,) * moved
        given = chance(after, value)
        if given > 0:
            return Neighbours(before, after, value, given)
        before = after
    return None


def _never_given(chance: Chance, table: Table, candidates: Iterable[Fraction] | None) -> Fraction:
    """A value of (0, 1] that the mechanism never answers the table with."""
    listed = _dyadic() if candidates is None else iter(candidates)
    for tried, value in zip(range(MOST_CANDIDATES), listed, strict=False):
        del tried
        if chance(table, value) == 0:
            return value
    raise BadInput(
        "Every value that was tried has a positive probability. Over a continuum all but countably many have "
        "none: give `candidates`. Over a finite domain the theorem does not hold: see least_epsilon."
    )


def _dyadic() -> Iterable[Fraction]:
    """1, 1/2, 1/4, 3/4, 1/8, ...: dense in (0, 1]."""
    yield Fraction(1)
    for bits in count(1):
        yield from (Fraction(odd, 1 << bits) for odd in range(1, 1 << bits, 2))


def sphere_counterexample(
    chance: Chance, rows: int, *, centre: Sequence[Fraction]
) -> tuple[tuple[tuple[Fraction, ...], ...], tuple[tuple[Fraction, ...], ...]] | None:
    """Corollary 5.2 for spheres: the same pair, as points of space.

    Points are laid along the first axis from `centre`, at distances in [0, 1]: a sphere around the centre then
    holds those up to its radius, so the spheres around one point are the prefixes of a line. `chance` is that of
    the median distance which a binary search over radii finds.
    """
    found = median_counterexample(chance, rows)
    if found is None:
        return None
    first, *others = centre

    def laid(table: Table) -> tuple[tuple[Fraction, ...], ...]:
        return tuple((first + distance, *others) for distance in table)

    return laid(found.without), laid(found.having)


def median_by_intervals(release: Callable[[Fraction, Fraction], float], bits: int) -> Fraction:
    """Corollary 5.2's reduction: a binary search over intervals [0, a] for one that holds half of the rows.

    It looks only at answers of the release, so it is post-processing.
    """
    low, high = 0, 1 << bits
    while high - low > 1:
        middle = (low + high) // 2
        holds = release(Fraction(0), Fraction(middle, 1 << bits))
        low, high = (low, middle) if holds >= 0.5 else (middle, high)
    zero = release(Fraction(0), Fraction(0))
    return Fraction(0) if low == 0 and zero >= 0.5 else Fraction(high, 1 << bits)


def least_epsilon(values: int, rows: int, *, success: float) -> float:
    """What a useful median costs on a finite domain of so many values.

    On each of the `values` tables of n equal rows, the mechanism gives that row's value with probability
    `success` at least. Some value is given for the first table with probability at most
    (1 - success) / (values - 1); n changed rows multiply that by exp(n epsilon) at most.
    """
    if values < 2 or rows < 1 or not 0 < success < 1:
        raise BadInput("The bound needs two values, one row, and a success between 0 and 1.")
    return max(0.0, math.log(success * (values - 1) / (1 - success)) / rows)


def rows_for_median(values: int, epsilon: float, *, success: float) -> int:
    """The fewest rows with which `least_epsilon` allows such a median: it grows with the number of bits."""
    if epsilon <= 0:
        raise BadInput(f"epsilon is {epsilon:g}; it must be positive.")
    return max(1, math.ceil(least_epsilon(values, 1, success=success) / epsilon))
