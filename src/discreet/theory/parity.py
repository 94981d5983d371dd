"""What a published table cannot do and a curator can: parities, appendix A of Blum, Ligett and Roth (2008).

A parity asks which part of the rows have an even number of minus ones among some columns. A curator answers one
parity with noise of 1/(alpha n). A published table that is private must differ from the true one in half of its
rows (claim A.2), and then errs by at least 1/(2 sqrt n) on some parity (lemma A.5), which is more.

Constants, corrected: for tables f and g as counts over {-1, 1}^d, of n and m rows,

    max over S of |PQ_S(f) - PQ_S(g)|  >=  1/2 ||f/n - g/m||_2,

by Parseval's identity, for multisets and unequal sizes too. For sets of n rows that share at most half of them it is
at least 1/(2 sqrt n); the proof as printed loses a factor of sqrt 2.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from discreet.arrays import Floats
from discreet.errors import BadInput


def walsh_hadamard(values: Floats) -> Floats:
    """The sum of values(x) (-1)^(x . s) for every s, in d 2^d additions."""
    found = np.array(values, dtype=np.float64)
    size = len(found)
    if found.ndim != 1 or size < 1 or size & (size - 1):
        raise BadInput(f"A transform takes 2^d numbers, not {size}.")
    half = 1
    while half < size:
        pairs = found.reshape(-1, 2, half)
        found = np.stack([pairs[:, 0] + pairs[:, 1], pairs[:, 0] - pairs[:, 1]], axis=1).reshape(-1)
        half *= 2
    return found


def parity_gap(one: Floats, other: Floats) -> float:
    """The largest difference of any parity between two tables, given as counts over all 2^d points."""
    return float(0.5 * np.abs(walsh_hadamard(_shares(one) - _shares(other))).max())


def least_gap(one: Floats, other: Floats) -> float:
    """Lemma A.5 with the constant that holds: half of the Euclidean distance of the two tables' shares."""
    return float(0.5 * np.linalg.norm(_shares(one) - _shares(other)))


def _shares(table: Floats) -> Floats:
    counts = np.asarray(table, dtype=np.float64)
    if counts.ndim != 1 or counts.min() < 0 or counts.sum() <= 0:
        raise BadInput("A table is a list of counts with at least one row.")
    return np.asarray(counts / counts.sum())


@dataclass(frozen=True, slots=True, kw_only=True)
class Separation:
    """What a curator and a published table can do for one parity, at n rows."""

    rows: int
    alpha: float
    curator: float
    """The mean error of a curator that answers one parity."""
    published: float
    """The error that some parity of any private table has, with probability 1/2 at least."""

    @property
    def is_separated(self) -> bool:
        """Whether the curator errs less than some parity of every private table."""
        return self.curator < self.published


def separation(rows: int, *, alpha: float) -> Separation:
    """Theorem A.6: they are apart once alpha sqrt(n) > 2."""
    if rows < 1 or not alpha > 0:
        raise BadInput("The separation needs at least one row and a positive alpha.")
    return Separation(
        rows=rows, alpha=alpha, curator=1 / (alpha * rows), published=0.5 / math.sqrt(rows)
    )


def overlap_chance(points: int, rows: int) -> float:
    """P(a uniform set of `rows` of the points shares at least half of its rows with a given one).

    Claim A.2 says that a private table shares half of the rows with probability below 1/2. It assumes d = Omega(log n):
    with few points even a table that looks at nothing shares many rows, and this says how many.
    """
    from scipy.stats import hypergeom

    return float(hypergeom.sf(math.ceil(rows / 2) - 1, points, rows, rows))


def most_overlap(points: int, rows: int, epsilon: float) -> float:
    """An upper bound on P(an epsilon-DP table shares half of the rows), averaged over the true table.

    Two sets of rows differ in n rows at most, so by group privacy their tables' laws differ by a factor of
    exp(n epsilon); of the sets that a table shares half of its rows with there are few. At most 1.
    """
    return min(1.0, math.exp(min(700.0, rows * epsilon)) * overlap_chance(points, rows))


def claim_a2_points(rows: int, epsilon: float) -> int:
    """The least number of columns d for which claim A.2 follows: `most_overlap` is below 1/2."""
    for columns in range(max(1, math.ceil(math.log2(rows))), 4096):
        spread = _log_overlap(columns, rows)
        if rows * epsilon + spread < math.log(0.5):
            return columns
    raise BadInput("Fewer than 4,096 columns are not enough; take a smaller epsilon.")


def _log_overlap(columns: int, rows: int) -> float:
    """ln of a bound on the chance of sharing half: C(n, n/2) (n / 2^d)^(n/2)."""
    half = math.ceil(rows / 2)
    several = math.lgamma(rows + 1) - math.lgamma(half + 1) - math.lgamma(rows - half + 1)
    return several + half * (math.log(rows) - columns * math.log(2))


def response_parity_std(rows: int, width: int, *, epsilon: Fraction | float) -> float:
    """The standard error of a parity of `width` columns from randomised response of every bit.

    Each of the bits is answered truthfully with probability p = e^e / (1 + e^e), the row's epsilon split evenly over its
    `width` bits. The product of w bits then keeps its sign with a bias of (2p - 1)^w, by which the estimate is divided:
    it grows exponentially in w, where a curator's noise does not (Dwork et al. 2006).
    """
    if rows < 1 or width < 1 or not epsilon > 0:
        raise BadInput("Rows, columns and epsilon must be positive.")
    bias = math.tanh(float(epsilon) / (2 * width))
    return 1 / (2 * math.sqrt(rows) * bias**width)
