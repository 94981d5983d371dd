"""How far the literal mechanism of intervals can be off, and the rows that an error needs.

One column, theorem 4.2 of Blum, Ligett and Roth (2008): buckets of half of eps1 = eps/2, counts good to
eps2 = eps^2/8. Solving the union bound of its proof for n (as printed a bracket is missing) gives
n >= 4b/(alpha eps eps2) (ln 2b + ln 1/(eps1 delta)), b bits a value. Two details of the proof:

- A bucket's rows are its noisy count, and a value that fills a bucket stands alone, so that atoms of any
  weight are allowed. Prefixes of the released database are then off by at most eps2 a bucket where
  buckets end; inside one they are off by at most eps1/2 to one side and eps1/2 + eps2 to the other. With
  at most 4/eps buckets, an interval is off by at most (4/eps) eps2 + eps1 = eps.
- Integer noise of scale 1/a exceeds t with probability at most 2/(1 + exp(-a)) exp(-a t).

Rows without a value count as one more value, beyond the last: b bits number the cells and that one.

Several columns: each is cut by the search, on half of alpha, into slabs of w = eps/(4d); the boxes of the
grid are counted, on the other half. A rectangle cuts two slabs a column, of at most 3w + w^2 together
(the last one may have 2w), so it is off by at most d (3w + w^2) and the noise of all boxes, which is a sum
of exponential variables: P(sum of M > M + sqrt(2ML) + L) <= exp(-L).

A union of t ranges is off by at most t times as much: each gets eps/t.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from discreet.queries.tree import bits_of

STEPS = 80
"""Steps of bisection."""
MOST_BOXES = 1 << 22
"""The most boxes of a grid; a smaller error, which would need more of them, is not promised."""
NEARLY = 1e-9
"""So that 4/eps is 16 at eps = 1/4, whatever the rounding."""


@dataclass(frozen=True, slots=True)
class Search:
    """The parameters of one run, as parts of n."""

    wanted: float
    """What a bucket, or a slab, should hold."""
    slack: float
    """The largest error of a count in a search, except with probability delta."""
    searches: int
    """The most searches in a column."""
    count_epsilon: Fraction
    """The epsilon of each count of a search."""
    grid_epsilon: Fraction
    """The epsilon of the counts of the grid's boxes; 0 for one column, which needs none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Promise:
    """What the mechanism promises for a domain, a budget and a probability of failure."""

    cells: tuple[int, ...]
    """Value cells of each column."""
    alpha: Fraction
    delta: float
    pieces: int = 1
    """Ranges in one query."""

    @property
    def bits(self) -> tuple[int, ...]:
        """Counts that one search in each column takes at most."""
        return tuple(bits_of(cells + 1) for cells in self.cells)

    def search(self, error: float) -> Search:
        """How a run goes that is to be off by at most error * n."""
        each, columns = error / self.pieces, len(self.cells)
        wanted = each / 4 if columns == 1 else each / (4 * columns)
        slack = each**2 / 8 if columns == 1 else wanted**2
        searches = max(1, math.floor(1 / wanted + NEARLY))
        part = self.alpha if columns == 1 else self.alpha / 2
        return Search(
            wanted=wanted,
            slack=slack,
            searches=searches,
            count_epsilon=part / (searches * sum(self.bits)),
            grid_epsilon=self.alpha - part,
        )

    def rows_needed(self, error: float) -> float:
        """The n with which every query is off by at most error * n, but for delta."""
        run = self.search(error)
        each = error / self.pieces
        if len(self.cells) == 1:
            (bits,) = self.bits
            alpha = float(self.alpha) * each / (4 * bits)
            whole_numbers = math.log(2 / (1 + math.exp(-alpha)))
            risk = math.log(2 * bits) - math.log(each / 2 * self.delta) + whole_numbers
            return risk / (alpha * run.slack)
        # Half of delta for the searches, half for the boxes.
        alpha = float(run.count_epsilon)
        counts = run.searches * sum(self.bits)
        risk = math.log(counts) - math.log(self.delta / 2) + math.log(2 / (1 + math.exp(-alpha)))
        columns = len(self.cells)
        left = each - columns * (3 * run.wanted + run.wanted**2)
        boxes = self.most_boxes(run)
        if boxes > MOST_BOXES:
            return math.inf
        luck = math.log(2 / self.delta)
        # A changed row moves two boxes; each draw is at most half a row above an exponential one.
        noise = 2 / float(run.grid_epsilon) * (boxes + math.sqrt(2 * boxes * luck) + luck)
        return max(risk / (alpha * run.slack), (noise + boxes / 2) / left)

    def most_boxes(self, run: Search) -> int:
        """Boxes that a grid can have: a slab and a single value for each search, and a rest."""
        return math.prod(min(cells, 2 * run.searches + 1) for cells in self.cells)

    def error_reached(self, rows: int) -> float:
        """The least error that is promised for n rows; 1, which says nothing, where there is none."""
        low, high = 1e-9, 1.0
        if self.rows_needed(high) > rows:
            return 1.0
        for _ in range(STEPS):
            middle = math.sqrt(low * high)
            low, high = (low, middle) if self.rows_needed(middle) <= rows else (middle, high)
        return high
