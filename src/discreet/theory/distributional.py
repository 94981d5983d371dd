"""Distributional privacy: what a mechanism tells about the sample, beyond what it tells about its source.

Section 7 of Blum, Ligett and Roth (2008). A mechanism is (alpha, beta)-distributionally private if, for every
distribution, two tables of n elements drawn from it WITHOUT replacement make every output at most e^alpha
times likelier than each other, but for a probability beta of the draw.

- `loss_of_counts` evaluates a mechanism that adds Laplace noise to a function of a count, exactly.
- `sampled_loss` evaluates any mechanism whose loss between two tables can be computed, by drawing pairs; it
  gives a Clopper-Pearson lower bound on beta for this one distribution. It can refute a claim, never prove it.
- `mirrored_mod` separates the two notions (theorem 7.3). It needs m = 2/alpha whole, and sqrt(n) much larger
  than m: at alpha .1 the loss reaches 1 with probability .275 at n = 10^4, and with .0022 at n = 20.
- `chance_of_neighbours` is the probability in theorem 7.1: 2/(n+1)^2, for distinct elements. (As printed 2/n^2.)
- `leaky_mechanism` is the counterexample with replacement: it gives one table away, which is hardly ever drawn.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from typing import TypeVar

import numpy as np

from discreet.arrays import Floats, Integers
from discreet.errors import BadInput
from discreet.theory.sample_sizes import log_binomial

Table = TypeVar("Table")


def mirrored_mod(values: Integers, period: int) -> Integers:
    """F_m: 0, 1, ..., m-1, m-1, ..., 1, 0, 0, 1, ... Neighbouring whole numbers differ by at most 1."""
    if period < 1:
        raise BadInput(f"The period is {period}; it must be at least 1.")
    numbers = np.asarray(values, dtype=np.int64)
    rising = numbers % (2 * period) < period
    return np.where(rising, numbers % period, (-numbers - 1) % period)


def period_of(alpha: float) -> int:
    """m = 2/alpha of theorem 7.3, which must be whole."""
    if not alpha > 0:
        raise BadInput(f"alpha is {alpha:g}; it must be positive.")
    period = round(2 / alpha)
    if period < 1 or abs(period * alpha - 2) > 1e-9:
        raise BadInput(
            f"Theorem 7.3 needs 2/alpha to be whole, and 2/{alpha:g} is not: take an alpha (epsilon) such as 0.1, 0.25 or 0.5."
        )
    return period


def count_chances(rows: int, share: float) -> Floats:
    """P(k of `rows` independent elements have the property), k = 0..rows: the distribution of a count."""
    if rows < 0 or not 0 <= share <= 1:
        raise BadInput("A count needs a number of rows and a share between 0 and 1.")
    if share in (0.0, 1.0):
        return np.asarray(np.eye(1, rows + 1, rows if share else 0)[0], dtype=np.float64)
    steps = np.log(np.arange(rows, 0, -1)) - np.log(np.arange(1, rows + 1))
    logs = np.concatenate([[0.0], np.cumsum(steps + math.log(share) - math.log1p(-share))])
    weights = np.exp(logs - logs.max())
    return np.asarray(weights / weights.sum())


def count_chances_without_replacement(population: int, having: int, rows: int) -> Floats:
    """P(k of `rows` elements drawn without replacement have the property): hypergeometric."""
    if not 0 <= having <= population or not 0 <= rows <= population:
        raise BadInput("A draw without replacement takes at most the whole population.")
    first, last = max(0, rows - (population - having)), min(rows, having)
    logs = np.full(rows + 1, -np.inf)
    for k in range(first, last + 1):
        logs[k] = (
            log_binomial(having, k)
            + log_binomial(population - having, rows - k)
            - log_binomial(population, rows)
        )
    chances = np.exp(logs)
    return np.asarray(chances / chances.sum())


def loss_of_counts(
    chances: Floats, answers: Integers, *, noise_scale: float, threshold: float
) -> float:
    """beta, exactly: the probability that two drawn tables have a loss of `threshold` or more.

    The mechanism answers a table in which k elements have the property with answers[k] + Laplace noise. Its loss
    between two tables is |difference of their answers| / noise_scale, which is reached.
    """
    if noise_scale <= 0:
        raise BadInput("The scale of the noise must be positive.")
    low = int(np.min(answers))
    law = np.bincount(np.asarray(answers) - low, weights=chances)
    apart = np.arange(len(law)) / noise_scale >= threshold - 1e-12
    if not apart.any():
        return 0.0
    gap = int(np.argmax(apart))  # the least difference of answers that counts
    if gap == 0:
        return float(law.sum() ** 2)
    return 2 * float(law[gap:] @ np.cumsum(law)[: len(law) - gap])


def mirrored_mod_loss(alpha: float, rows: int, *, threshold: float = 1.0) -> float:
    """P(loss >= threshold) of the mirrored-mod mechanism at `alpha`, for n fair bits (theorem 7.3), exactly."""
    period = period_of(alpha)
    answers = mirrored_mod(np.arange(rows + 1), period)
    chances = count_chances(rows, 0.5)
    return loss_of_counts(chances, answers, noise_scale=1 / alpha, threshold=threshold)


def plain_count_loss(
    alpha: float, rows: int, *, share: float = 0.5, threshold: float = 1.0
) -> float:
    """The same for a plain count with the same noise: it is not distributionally private either."""
    chances = count_chances(rows, share)
    return loss_of_counts(chances, np.arange(rows + 1), noise_scale=1 / alpha, threshold=threshold)


def hospital_noise(population: int, having: int, rows: int, *, alpha: float, beta: float) -> float:
    """The hospital example: Laplace noise with which a hospital's count does not reveal the hospital.

    Hospitals treat random samples of one population. The least noise scale with which two hospitals' counts are
    alpha-close but for probability beta is the (1 - beta)-quantile of |difference of counts| / alpha.
    For alpha-DP, which protects a patient and not the hospital, 1/alpha is enough.
    """
    if not alpha > 0 or not 0 < beta < 1:
        raise BadInput("alpha must be positive, and beta lie between 0 and 1.")
    law = count_chances_without_replacement(population, having, rows)
    gaps = np.correlate(law, law, "full")[rows:]
    gaps[1:] *= 2  # either count may be the larger one
    beyond = 1 - np.cumsum(gaps)
    reached = int(np.argmax(beyond <= beta + 1e-12))
    return max(1, reached) / alpha


@dataclass(frozen=True, slots=True, kw_only=True)
class SampledLoss:
    """How often pairs of drawn tables had a loss above a threshold. It bounds beta from below, for one distribution."""

    threshold: float
    exceeded: int
    pairs: int
    lower: float
    """A Clopper-Pearson lower bound on beta at the confidence asked for."""

    @property
    def share(self) -> float:
        """The part of the drawn pairs whose loss was larger."""
        return self.exceeded / self.pairs


def sampled_loss(
    draw: Callable[[], Table],
    loss: Callable[[Table, Table], float],
    *,
    pairs: int,
    threshold: float,
    confidence: float = 0.95,
) -> SampledLoss:
    """beta for any mechanism, from below: `draw` gives a table, `loss` the mechanism's loss between two."""
    from scipy.stats import beta

    if pairs < 1 or not 0 < confidence < 1:
        raise BadInput("At least one pair is needed, and a confidence between 0 and 1.")
    exceeded = sum(loss(draw(), draw()) > threshold for _ in range(pairs))
    lower = 0.0
    if exceeded:
        lower = float(beta.ppf(1 - confidence, exceeded, pairs - exceeded + 1))
    return SampledLoss(threshold=threshold, exceeded=exceeded, pairs=pairs, lower=lower)


def chance_of_neighbours(rows: int) -> Fraction:
    """P(two tables of n of n + 1 distinct elements, drawn without replacement, are one given pair of neighbours)."""
    if rows < 1:
        raise BadInput("There must be at least one row.")
    return Fraction(2, (rows + 1) ** 2)


def implied_epsilon(
    mechanism: Callable[[Sequence[int]], Sequence[float]],
    elements: Sequence[int],
    *,
    beta: Fraction,
) -> float:
    """Theorem 7.1, run: the largest loss between neighbours among tables of all but one of the elements.

    `mechanism` gives the probability of each output on a table. If it is (alpha, beta)-distributionally private
    for the uniform distribution over these n + 1 distinct elements, and beta is below `chance_of_neighbours`, then
    the result is at most alpha: a pair of neighbours is drawn too often to be excused.
    """
    if len(set(elements)) != len(elements) or len(elements) < 2:
        raise BadInput("The theorem needs at least two elements, all different.")
    if beta >= chance_of_neighbours(len(elements) - 1):
        raise BadInput("beta is not below the chance of a pair of neighbours: nothing follows.")
    tables = list(combinations(elements, len(elements) - 1))
    laws = [np.asarray(mechanism(table), dtype=np.float64) for table in tables]
    return max(_loss(one, two) for one in laws for two in laws)


def leaky_mechanism(
    secret: Sequence[int], otherwise: Sequence[float]
) -> Callable[[Sequence[int]], Sequence[float]]:
    """The counterexample with replacement: one table is answered with itself, all others as before.

    Drawn with replacement, that table turns up with probability 2^-n at most, so distributional privacy as defined
    with replacement forgives it; differential privacy does not.
    """

    def law(table: Sequence[int]) -> Sequence[float]:
        given_away = sorted(table) == sorted(secret)
        return [*(0.0 if given_away else each for each in otherwise), float(given_away)]

    return law


def _loss(one: Floats, two: Floats) -> float:
    possible = one > 0
    if (two[possible] == 0).any():
        return math.inf
    return float(np.max(np.log(one[possible] / two[possible]), initial=0.0))
