"""What the general mechanism promises, and the size of its databases: from public facts alone.

Both sizes of section 3 are chosen here: m, the rows of a database, so that the promised error is least among
those that can be drawn in a few seconds; and, for ordered columns, how many levels of error are told apart.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

from discreet.queries.multisets import multisets
from discreet.theory.sample_sizes import (
    MOST_ROWS,
    QueryShape,
    best_size,
    error_reached,
    log_multisets,
    rows_needed,
    sizes,
)

MOST_LISTED = 1 << 21
"""Databases that are listed, each with its error."""
MOST_JUDGED = 1 << 27
"""Errors of single predicates on single databases: about a second."""
MOST_STEPS = 60_000_000
"""Additions of whole numbers for counting walks: about three seconds."""
STEP_OVERHEAD = 10
"""What a step of a walk costs beside its additions."""
THEOREM = "Blum, Ligett, Roth 2008, theorem 3.1, for multisets, with explicit constants"


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedPromise:
    """Databases that are listed one by one."""

    shape: QueryShape
    alpha: float
    delta: float

    def size(self, rows: int) -> int:
        """m: the least promised error among the sizes that can be listed."""
        return best_size(
            self.shape, rows=max(1, rows), alpha=self.alpha, delta=self.delta, most=self.can_list
        )

    def can_list(self, size: int) -> bool:
        many = multisets(self.shape.kinds, size)
        return many <= MOST_LISTED and many * self.shape.queries <= MOST_JUDGED

    def error(self, rows: int) -> float:
        """The largest error of a predicate in rows, except with probability delta."""
        if rows == 0:
            return 0.0
        size = self.size(rows)
        reached = error_reached(
            self.shape, rows=rows, alpha=self.alpha, delta=self.delta, size=size
        )
        return reached * rows

    def rows_needed(self, error: float, delta: float) -> float:
        """n for an error that is a part of n, with the sizes that can be listed."""
        found = [
            rows_needed(self.shape, error=error, alpha=self.alpha, delta=delta, size=size)
            for size in sizes()
            if self.can_list(size)
        ]
        least = min(found, default=MOST_ROWS)
        return math.inf if least >= MOST_ROWS else least


@dataclass(frozen=True, slots=True, kw_only=True)
class WalkPlan:
    """One choice of sizes for an ordered column, and what it promises."""

    size: int
    levels: int
    of_intervals: bool
    error: float
    """The largest error of an interval, in rows."""


@lru_cache(maxsize=256)
def walk_plan(*, kinds: int, rows: int, alpha: float, delta: float) -> WalkPlan:
    """The sizes with the least promised error among those whose walks can be counted.

    Some database has a level of at most `best`: walks that follow the table to the nearest multiple of n/m, or
    to the next one below it. All that are off by 2/alpha ln(N/delta) more are drawn with probability
    delta at most, together (theorem 3.1).
    """
    chosen = WalkPlan(size=1, levels=1, of_intervals=False, error=float(rows))
    for size in sizes():
        if size > max(1, rows):
            break
        spread = math.ceil(2 / alpha * (log_multisets(kinds, size) - math.log(delta)))
        for of_intervals in (True, False):
            best = math.ceil(rows / size) if of_intervals else rows // (2 * size) + 1
            level = best + spread
            error = float(level if of_intervals else 2 * level)
            if error >= chosen.error:
                continue
            found = WalkPlan(size=size, levels=level + 1, of_intervals=of_intervals, error=error)
            if _steps(found, kinds, rows) <= MOST_STEPS:
                chosen = found
    return chosen


def _steps(plan: WalkPlan, kinds: int, rows: int) -> float:
    """What counting the walks of all levels costs, about."""
    levels, size = plan.levels, plan.size
    width = min(size + 1.0, (1 if plan.of_intervals else 2) * levels * size / max(1, rows) + 2)
    windows = levels * (levels + 1) / 2 if plan.of_intervals else levels
    return windows * kinds * (STEP_OVERHEAD + width)


def walk_rows_needed(*, kinds: int, error: float, alpha: float, delta: float) -> float:
    """The least n, of a few digits, for which intervals are off by at most `error` times n."""
    low, high = 1, 1
    while _reached(kinds, high, alpha, delta) > error:
        low, high = high, 2 * high
        if high > 1 << 40:
            return math.inf
    while high - low > max(1, low // 64):
        middle = (low + high) // 2
        met = _reached(kinds, middle, alpha, delta) <= error
        low, high = (low, middle) if met else (middle, high)
    return high


def _reached(kinds: int, rows: int, alpha: float, delta: float) -> float:
    return walk_plan(kinds=kinds, rows=rows, alpha=alpha, delta=delta).error / rows
