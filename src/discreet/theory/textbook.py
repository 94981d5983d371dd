"""Mechanisms as the textbooks teach them: noise, its accuracy, and how both grow with the dimension. For teaching.

Releases draw integer noise from exact samplers and take the analytic calibration; these formulas are for continuous noise, and say what to
expect. n is public here, so neighbours differ in one changed row (under add-remove a mean has no fixed sensitivity).

| | Laplace | Gaussian |
|---|---|---|
| mean vector of d columns in [0, 1] | L1 sensitivity d/n | L2 sensitivity sqrt(d)/n (as printed in one textbook: sqrt(d/n)) |
| expected Euclidean error, about | sqrt(2) d^(3/2) / (n epsilon) | d c(epsilon, delta) / n |
| guarantee | epsilon-DP | (epsilon, delta)-DP |

Their tails: P(|Laplace| > t) = exp(-t/b), and half of it on one side.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from discreet.errors import BadInput
from discreet.privacy.conversion import gaussian_sigma_squared

LARGEST_CLASSIC = 1.0
"""The classic calibration of the Gaussian mechanism is proved for epsilons up to here."""


def laplace_scale(sensitivity: float, epsilon: float) -> float:
    """b for an L1 sensitivity."""
    checked_positive(sensitivity=sensitivity, epsilon=epsilon)
    return sensitivity / epsilon


def laplace_accuracy(scale: float, *, beta: float, queries: int = 1) -> float:
    """A bound on the errors of all `queries` noisy numbers, with probability 1 - beta: b ln(k / beta)."""
    checked_positive(scale=scale)
    checked_beta(beta)
    return scale * math.log(checked_many(queries) / beta)


def classic_gaussian_sigma(l2: float, *, epsilon: float, delta: float) -> float:
    """sqrt(2 ln(1.25/delta)) D / epsilon, refused where it is not proved."""
    checked_positive(l2=l2, epsilon=epsilon)
    checked_beta(delta)
    if epsilon > LARGEST_CLASSIC:
        raise BadInput(
            f"The classic calibration holds for epsilon up to {LARGEST_CLASSIC:g}, not {epsilon:g}. Take the analytic one."
        )
    return math.sqrt(2 * math.log(1.25 / delta)) * l2 / epsilon


def analytic_gaussian_sigma(l2: float, *, epsilon: float, delta: float) -> float:
    """The least sigma, for every epsilon (Balle and Wang 2018)."""
    checked_positive(l2=l2, epsilon=epsilon)
    found = gaussian_sigma_squared(epsilon=epsilon, delta=delta, l2_squared=1)
    return l2 * math.sqrt(float(found))


def gaussian_accuracy(sigma: float, *, beta: float, queries: int = 1) -> float:
    """A bound on the errors of all `queries` noisy numbers, with probability 1 - beta (union bound, exact tails)."""
    from scipy.special import ndtri

    checked_positive(sigma=sigma)
    checked_beta(beta)
    return float(-sigma * ndtri(beta / (2 * checked_many(queries))))


def exponential_accuracy(
    sensitivity: float, *, epsilon: float, candidates: int, beta: float
) -> float:
    """How far the chosen score is below the best, at most, with probability 1 - beta: (2 s / epsilon) ln(N / beta)."""
    checked_positive(sensitivity=sensitivity, epsilon=epsilon)
    checked_beta(beta)
    return 2 * sensitivity / epsilon * math.log(checked_many(candidates) / beta)


def randomised_response_std(rows: int, epsilon: float) -> float:
    """The standard error of a share, from people who answer truthfully with probability e^eps / (1 + e^eps), at most."""
    checked_positive(rows=rows, epsilon=epsilon)
    return 1 / (2 * math.sqrt(rows) * math.tanh(epsilon / 2))


@dataclass(frozen=True, slots=True, kw_only=True)
class MeanVector:
    """The noise of a mean vector of d columns in [0, 1], by both mechanisms."""

    columns: int
    laplace: float
    """Expected Euclidean error, of the root mean square."""
    gaussian: float

    @property
    def better(self) -> str:
        """The mechanism with the smaller error."""
        return "Laplace" if self.laplace <= self.gaussian else "Gaussian"


def mean_vector(columns: int, rows: int, *, epsilon: float, delta: float) -> MeanVector:
    """Laplace grows with d^(3/2), Gaussian with d."""
    checked_positive(columns=columns, rows=rows)
    scale = laplace_scale(columns / rows, epsilon)
    sigma = analytic_gaussian_sigma(math.sqrt(columns) / rows, epsilon=epsilon, delta=delta)
    return MeanVector(
        columns=columns,
        laplace=math.sqrt(2 * columns) * scale,
        gaussian=math.sqrt(columns) * sigma,
    )


def crossing(*, epsilon: float, delta: float, most: int = 1 << 20) -> int:
    """The fewest columns for which Gaussian noise is better; it does not depend on the number of rows."""
    low, high = 0, 1
    while mean_vector(high, 1, epsilon=epsilon, delta=delta).better == "Laplace":
        low, high = high, 2 * high
        if high > most:
            raise BadInput(f"Laplace noise is better for up to {most:,} columns.")
    while high - low > 1:
        middle = (low + high) // 2
        is_laplace = mean_vector(middle, 1, epsilon=epsilon, delta=delta).better == "Laplace"
        low, high = (middle, high) if is_laplace else (low, middle)
    return high


def checked_many(number: int) -> int:
    """A number of queries, candidates or values: at least one."""
    if isinstance(number, bool) or not isinstance(number, int) or number < 1:
        raise BadInput(f"At least one is needed, not {number}.")
    return number


def checked_positive(**values: float) -> None:
    """Refuse what is not positive and finite, by its name."""
    for name, value in values.items():
        if not 0 < value < math.inf:
            raise BadInput(f"{name} is {value:g}; it must be positive and finite.")


def checked_beta(value: float) -> None:
    """Refuse what is no probability between 0 and 1."""
    if not 0 < value < 1:
        raise BadInput(f"A probability of {value:g} is not between 0 and 1.")
