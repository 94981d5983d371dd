"""The yardstick of the sampler tests: chi-square against exact probabilities.

Laws are computed here from their definitions, in floats and mpmath, with no code of the
samplers. Every check has a false-positive rate of at most `FALSE_ALARM` = 1e-9, and the
sampler tests make fewer than 500 checks: the family's rate is below 1e-6.

The smallest defect caught: with 1,000,000 draws a scale that is 2% off moves the statistic
by n * sum((p' - p)^2 / p), about 400 for Laplace and 800 for Gaussian laws, while the
limit lies about 80 above its mean; `chance_to_miss` computes the power.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import special, stats

FALSE_ALARM = 1e-9
DRAWS = 1_000_000
LEAST_EXPECTED = 200.0  # so the chi-square law holds far into its tail

Cdf = Callable[[int], float]
"""P(X <= k)."""


@dataclass(frozen=True)
class Fit:
    """A chi-square statistic and what it is judged by."""

    statistic: float
    freedom: int

    @property
    def p_value(self) -> float:
        return 1.0 if self.freedom == 0 else float(stats.chi2.sf(self.statistic, self.freedom))

    @property
    def passes(self) -> bool:
        return self.p_value > FALSE_ALARM


def fit(counts: NDArray[np.int64], probabilities: NDArray[np.float64]) -> Fit:
    """Chi-square of counts against probabilities; rare cells are pooled, an impossible one fails."""
    assert math.isclose(probabilities.sum(), 1.0, abs_tol=1e-9)
    total = counts.sum()
    expected = probabilities * total
    if counts[probabilities <= 0].any():
        return Fit(math.inf, 1)
    often = expected >= LEAST_EXPECTED
    observed = np.append(counts[often], counts[~often].sum())
    expected = np.append(expected[often], expected[~often].sum())
    if expected[-1] < LEAST_EXPECTED:  # the pool is still rare: judge it with the rarest cell
        if observed.size == 2:  # nothing but one cell: only the pool itself can be judged
            return Fit(
                math.inf if stats.poisson.sf(observed[-1] - 1, expected[-1]) < FALSE_ALARM else 0.0,
                0,
            )
        rarest = int(np.argmin(expected[:-1]))
        observed[rarest] += observed[-1]
        expected[rarest] += expected[-1]
        observed, expected = observed[:-1], expected[:-1]
    return Fit(float(((observed - expected) ** 2 / expected).sum()), observed.size - 1)


def edges_of(cdf: Cdf, *, spread: float, bins: int = 40) -> NDArray[np.int64]:
    """Integers that cut the law into cells of about equal probability."""
    reach = int(60 * spread) + 60
    found = set()
    for i in range(1, bins):
        low, high = -reach, reach
        while low < high:
            middle = (low + high) // 2
            if cdf(middle) < i / bins:
                low = middle + 1
            else:
                high = middle
        found.add(low)
    return np.array(sorted(found), np.int64)


def cell_probabilities(cdf: Cdf, edges: NDArray[np.int64]) -> NDArray[np.float64]:
    """Probabilities of the cells (.., e0], (e0, e1], ..., (e_last, ..)."""
    return np.diff([0.0, *(cdf(int(edge)) for edge in edges), 1.0])


def fit_of_draws(draws: NDArray[np.int64], cdf: Cdf, *, spread: float) -> Fit:
    """How well `draws` fit the law with that cdf; small supports are taken value by value."""
    if spread < 5:
        edges = np.arange(-int(12 * spread) - 2, int(12 * spread) + 2)
    else:
        edges = edges_of(cdf, spread=spread)
    cells = np.bincount(np.searchsorted(edges, draws, side="left"), minlength=edges.size + 1)
    return fit(cells, cell_probabilities(cdf, edges))


def chance_to_miss(right: NDArray[np.float64], wrong: NDArray[np.float64], draws: int) -> float:
    """The chance that `draws` of the wrong law pass the test for the right one."""
    moved = draws * float(((wrong - right) ** 2 / right).sum())
    limit = stats.chi2.isf(FALSE_ALARM, right.size - 1)
    return float(stats.ncx2.cdf(limit, right.size - 1, moved))


def laplace_cdf(scale: float) -> Cdf:
    """P(X <= k) of P(x) proportional to exp(-|x|/scale)."""
    total = 1.0 + math.exp(-1.0 / scale)

    def cdf(k: int) -> float:
        if k < 0:
            return math.exp(k / scale) / total
        return 1.0 - math.exp(-(k + 1) / scale) / total

    return cdf


def geometric_cdf(scale: float) -> Cdf:
    """P(G <= g) of P(g) proportional to exp(-g/scale)."""
    return lambda g: 0.0 if g < 0 else -math.expm1(-(g + 1) / scale)


def rounded_gaussian_cdf(sigma: float) -> Cdf:
    """P(round(N) <= k)."""
    return lambda k: float(special.ndtr((k + 0.5) / sigma))


def discrete_gaussian_cdf(sigma: float) -> Cdf:
    """P(X <= k) of P(x) proportional to exp(-x^2/2sigma^2).

    Summed up to sigma 100. Beyond, the normal integral at k + 1/2: by Euler and Maclaurin it
    is off by less than 1/(24 sigma^2) < 5e-6, of which 1,000,000 draws see nothing.
    """
    if sigma > 100:
        return rounded_gaussian_cdf(sigma)
    reach = int(40 * sigma) + 2
    values = np.arange(-reach, reach + 1)
    weights = np.exp(-0.5 * (values / sigma) ** 2)
    below = np.cumsum(weights) / math.fsum(weights)

    def cdf(k: int) -> float:
        if k < -reach:
            return 0.0
        return float(below[min(k + reach, 2 * reach)])

    return cdf


@pytest.mark.parametrize(
    "law", [geometric_cdf, laplace_cdf, discrete_gaussian_cdf, rounded_gaussian_cdf]
)
@pytest.mark.parametrize("scale", [1 / 3, 1.0, 2.5, 10.0, 1000.0, 1e9])
def test_a_million_draws_tell_a_scale_from_one_2_percent_larger(law, scale):
    """No draw is made: the power of the yardstick is computed. A miss has probability < 1e-6."""
    right = law(scale)
    edges = edges_of(right, spread=scale) if scale >= 5 else np.arange(-3, 3)
    right_cells = cell_probabilities(right, edges)
    wrong_cells = cell_probabilities(law(scale * 1.02), edges)
    kept = right_cells * DRAWS >= LEAST_EXPECTED
    right_cells = np.append(right_cells[kept], right_cells[~kept].sum() + 1e-30)
    wrong_cells = np.append(wrong_cells[kept], wrong_cells[~kept].sum() + 1e-30)
    right_cells, wrong_cells = (
        (right_cells, wrong_cells)
        if right_cells[-1] * DRAWS >= LEAST_EXPECTED
        else (right_cells[:-1], wrong_cells[:-1])
    )
    assert chance_to_miss(right_cells, wrong_cells, DRAWS) < 1e-6


def test_the_yardstick_fails_a_draw_that_the_law_forbids():
    assert not fit(np.array([1000, 1]), np.array([1.0, 0.0])).passes


def test_the_yardstick_fails_a_rare_value_seen_too_often():
    assert fit(np.array([10_000, 1]), np.array([1 - 1e-4, 1e-4])).statistic == 0
    assert fit(np.array([10_000, 90]), np.array([1 - 1e-4, 1e-4])).statistic == math.inf
