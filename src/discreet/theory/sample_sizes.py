"""How many rows a class of queries needs: lemma 3.2 and theorem 3.1 with explicit constants.

**Lemma 3.2**: every table has a small one, of m rows, on which no query of the class differs by more than
e. Three proofs give three sizes; each is valid, and the least is taken:

- `by_count`: m rows are drawn from the table. By Hoeffding's inequality and the union bound over the
  distinct queries, all are within e with positive probability if m > ln(2 |C|) / (2 e^2).
- `by_dimension`: the same by Vapnik and Chervonenkis: 4 P(2m) exp(-m e^2 / 8) < 1, where P(2m) is at most
  the sum of the binomials (2m over i) for i up to the dimension (Sauer's lemma).
- `by_rounding`: no drawing. The rows in each of K kinds of points are rounded to multiples of n/m, those with
  the largest remainders up. What is rounded up and what is rounded down then differ by at most K/4
  multiples, so e = K / (4m). In one ordered column the rows before each boundary are rounded instead: e = 1 / (2m)
  for prefixes, and 1 / m for intervals, however many values there are.

**Theorem 3.1**: the exponential mechanism over all N tables of m rows, at alpha-DP, is off by at most
e(m) + 2 / (alpha n) ln(N / delta) for all queries at once, but for probability delta. As printed, N is
2^(dm), the sequences; a mechanism over multisets has N = (m + K - 1 over m), which is less. And as printed the
weight can be read as exp(q / (alpha n / 2)); it is exp(alpha n q / 2).

**The price of privacy**: without privacy, a sample of n rows is within e of its population for all queries but
for probability delta once 4 P(2n) exp(-n e^2 / 8) <= delta, or once 2 |C| exp(-2 n e^2) <= delta. As printed,
theorem 3.1 needs about d / (alpha e) times as many.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from discreet.errors import BadInput

MOST_ROWS = 10**15


def by_count(error: float, *, queries: int) -> int:
    """A size m for which some table of m rows is within `error`: Hoeffding and the union bound."""
    _check_share(error, "error")
    return math.floor(math.log(2 * max(1, queries)) / (2 * error * error)) + 1


def by_dimension(error: float, *, dimension: int) -> int:
    """The same by the VC dimension alone, however many queries there are."""
    _check_share(error, "error")
    return _least(lambda m: log_deviation(m, error, dimension=dimension) < 0)


def by_rounding(error: float, *, reach: float) -> int:
    """The same by rounding: `reach` multiples of n/m are the most that a query is then off by."""
    _check_share(error, "error")
    return max(1, math.ceil(reach / error))


def log_deviation(rows: int, error: float, *, dimension: int) -> float:
    """ln of Vapnik and Chervonenkis' bound on P(a sample of `rows` is off by more than `error` on some query)."""
    return math.log(4) + log_growth(2 * rows, dimension) - rows * error * error / 8


def log_growth(points: int, dimension: int) -> float:
    """ln of Sauer's bound on the number of subsets of `points` points that a class of that dimension makes."""
    if dimension >= points:
        return points * math.log(2)
    terms = [log_binomial(points, each) for each in range(dimension + 1)]
    highest = max(terms)
    return highest + math.log(math.fsum(math.exp(each - highest) for each in terms))


def log_binomial(total: int, chosen: int) -> float:
    """ln of (total over chosen)."""
    return math.lgamma(total + 1) - math.lgamma(chosen + 1) - math.lgamma(total - chosen + 1)


def log_multisets(kinds: int, size: int) -> float:
    """ln of the number of multisets of `size` rows of `kinds` kinds."""
    return log_binomial(size + kinds - 1, size)


PREFIXES_REACH, INTERVALS_REACH = 0.5, 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryShape:
    """What the bounds need to know about a class over a finite domain."""

    kinds: int
    """Kinds of points that the class can tell apart."""
    queries: int
    """Distinct queries."""
    dimension: int
    """Its VC dimension."""
    reach: float | None = None
    """How many multiples of n/m a query is off by where rows are rounded to them; a quarter of the kinds if not given."""

    @property
    def rounding(self) -> float:
        """How far rounding a database to m rows can move a query, in rows of m."""
        return self.kinds / 4 if self.reach is None else self.reach

    def __post_init__(self) -> None:
        if self.kinds < 1 or self.queries < 1 or self.dimension < 0:
            raise BadInput("A class has at least one kind of point and one query.")

    def cover_size(self, error: float) -> int:
        """Lemma 3.2: a size m that covers every table within `error`, the least of three."""
        return min(
            by_count(error, queries=self.queries),
            by_dimension(error, dimension=self.dimension),
            by_rounding(error, reach=self.rounding),
        )

    def sample_size(self, error: float, delta: float) -> int:
        """Rows of a sample that is within `error` of its population on every query, but for `delta`."""
        counted = math.ceil(math.log(2 * self.queries / delta) / (2 * error * error))
        by_vc = rows_without_privacy(error=error, delta=delta, dimension=self.dimension)
        return min(counted, by_vc)

    def cover_error(self, size: int) -> float:
        """Lemma 3.2 the other way round: every table has one of `size` rows within this error."""
        counted = math.sqrt(math.log(2 * self.queries) / (2 * size)) * (1 + 1e-12)
        return min(1.0, counted, self.rounding / size, _deviating(size, self.dimension))


def _deviating(size: int, dimension: int) -> float:
    return math.sqrt(8 * (math.log(4) + log_growth(2 * size, dimension)) / size) * (1 + 1e-12)


def error_reached(shape: QueryShape, *, rows: int, alpha: float, delta: float, size: int) -> float:
    """Theorem 3.1: the error of the mechanism over multisets of `size` rows, as a part of the rows."""
    _check(alpha, delta)
    spread = log_multisets(shape.kinds, size) + math.log(1 / delta)
    return min(1.0, shape.cover_error(size) + 2 * spread / (alpha * rows))


def best_size(
    shape: QueryShape,
    *,
    rows: int,
    alpha: float,
    delta: float,
    most: Callable[[int], bool] = lambda size: True,
) -> int:
    """The m whose error is least, among those that `most` allows. It is searched on a fine scale.

    `most` must allow every size below one that it allows.
    """
    best, least = 1, math.inf
    for size in sizes():
        if size > 4 * rows + 1 or not most(size):
            break
        error = error_reached(shape, rows=rows, alpha=alpha, delta=delta, size=size)
        if error < least:
            best, least = size, error
    return best


def sizes() -> list[int]:
    """1, 2, ..., 64, then steps of a 32nd, up to a million."""
    found = list(range(1, 65))
    while found[-1] < 10**6:
        found.append(found[-1] + max(1, found[-1] // 32))
    return found


def rows_needed(
    shape: QueryShape, *, error: float, alpha: float, delta: float, size: int | None = None
) -> int:
    """Theorem 3.1 solved for n: the least over m, or for the given `size`."""
    _check(alpha, delta)
    _check_share(error, "error")
    found = MOST_ROWS
    for each in sizes() if size is None else [size]:
        left = error - shape.cover_error(each)
        if left <= 0:
            continue
        spread = log_multisets(shape.kinds, each) + math.log(1 / delta)
        found = min(found, math.ceil(2 * spread / (alpha * left)))
    return found


def alpha_needed(shape: QueryShape, *, error: float, rows: int, delta: float) -> float:
    """Theorem 3.1 solved for alpha; infinite where the sizes tried cannot reach the error."""
    _check(1.0, delta)
    _check_share(error, "error")
    found = math.inf
    for each in sizes():
        left = error - shape.cover_error(each)
        if left > 0:
            spread = log_multisets(shape.kinds, each) + math.log(1 / delta)
            found = min(found, 2 * spread / (left * rows))
    return found


def rows_as_printed(
    *, bits: int, dimension: int, error: float, alpha: float, delta: float
) -> tuple[int, int]:
    """(m, n) as in the proof of theorem 3.1: m for error/2 by the VC dimension, N = 2^(bits m) sequences.

    n >= 4 / (error alpha) (bits m ln 2 + ln 1/delta). (As printed the ln 2 is left out, which only asks for more.)
    """
    _check(alpha, delta)
    size = by_dimension(error / 2, dimension=dimension)
    spread = bits * size * math.log(2) + math.log(1 / delta)
    return size, math.ceil(4 / (error * alpha) * spread)


def rows_without_privacy(*, error: float, delta: float, dimension: int) -> int:
    """Rows of a sample that is within `error` of its population, by the VC dimension alone."""
    _check(1.0, delta)
    _check_share(error, "error")
    return _least(lambda n: log_deviation(n, error, dimension=dimension) <= math.log(delta))


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """Rows that an error needs with privacy and without it."""

    error: float
    alpha: float
    delta: float
    with_privacy: float
    """Infinite where no size that was tried reaches the error."""
    without_privacy: int

    @property
    def factor(self) -> float:
        """How many times as many rows privacy takes."""
        return self.with_privacy / self.without_privacy


def price_of_privacy(
    shape: QueryShape,
    *,
    error: float,
    alpha: float,
    delta: float,
    needed: Callable[[float, float], float] | None = None,
) -> Price:
    """Rows for one error about the population: of the sample alone, and of the sample with the mechanism's.

    With privacy, half of the error and of delta go to the sample and half to the mechanism, and the larger of
    the two numbers of rows is needed. `needed` says how many the mechanism needs for an error and a delta; by
    default theorem 3.1 does.
    """

    def theorem(of_table: float, failing: float) -> float:
        return rows_needed(shape, error=of_table, alpha=alpha, delta=failing)

    mechanism = (needed or theorem)(error / 2, delta / 2)
    return Price(
        error=error,
        alpha=alpha,
        delta=delta,
        with_privacy=max(shape.sample_size(error / 2, delta / 2), mechanism),
        without_privacy=shape.sample_size(error, delta),
    )


def _least(holds: Callable[[int], bool]) -> int:
    """The least whole number from which on it holds; it must fail below that."""
    high = 1
    while not holds(high):
        high *= 2
        if high > MOST_ROWS:
            raise BadInput(f"More than {MOST_ROWS:,} rows would be needed; ask for a larger error.")
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def _check(alpha: float, delta: float) -> None:
    if not 0 < alpha < math.inf:
        raise BadInput(f"alpha is {alpha:g}; it must be positive and finite.")
    _check_share(delta, "delta")


def _check_share(value: float, name: str) -> None:
    if not 0 < value < 1:
        raise BadInput(f"{name} is {value:g}; it must lie between 0 and 1.")
