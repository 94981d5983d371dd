"""The discrete Gaussian's own (epsilon, delta) curve when one coordinate changes.

The analytic calibration is proved for the continuous Gaussian only. For one changed
coordinate the discrete law's own hockey-stick divergence is a sum over the integers,
computed here as an upper bound: term by term where that is short, otherwise from two
Gaussian tail sums by Euler-Maclaurin with its remainder bounded.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.errors import BadInput
from discreet.privacy.conversion.rounding import (
    context,
    non_negative,
    number,
    open_unit,
    positive,
    round_up,
    slack_of,
    smallest_passing,
    upper,
)
from discreet.privacy.exact import Exactable

ENUMERATED = 100_000
"""Up to so many terms are summed one by one."""

FLOAT_SLACK = 1e-9
"""More than the relative error of the float64 sum: below 1e-11, for all its terms are positive."""

ORDER = 16
"""Derivative at which the Euler-Maclaurin series stops and its remainder is bounded."""

LARGEST_ROOT = 7.0
"""Beyond it He_16 has no roots (the largest is 6.63), so its derivatives keep their signs."""


def gaussian_normaliser(square: float) -> float:
    """The sum over all integers of exp(-k^2 / (2 square)): a theta function.

    Poisson summation turns a slow sum into a fast one when sigma is large.
    """
    if square < 1:
        return 1 + 2 * math.fsum(math.exp(-k * k / (2 * square)) for k in range(1, 41))
    waves = math.fsum(math.exp(-2 * (math.pi * j) ** 2 * square) for j in (1, 2, 3))
    return math.sqrt(2 * math.pi * square) * (1 + 2 * waves)


def discrete_gaussian_delta_one_coordinate(
    *, sigma_squared: Exactable, shift: int, epsilon: Exactable
) -> Fraction:
    """The delta of discrete Gaussian noise at `epsilon` when one integer moves by up to `shift`, rounded up.

    Theorem: Canonne, Kamath, Steinke 2020, thm 7. The likelihood ratio is monotone, so the worst
    event is a half-line {x < c} with c = D/2 - epsilon sigma^2 / D, the worst shift is
    the largest, and reflection makes both directions equal:
    delta = P(X < c) - e^epsilon P(X < c - D).
    """
    square, loss = positive(sigma_squared, "sigma_squared"), non_negative(epsilon, "epsilon")
    return min(Fraction(1), round_up(_delta(square, _whole_shift(shift), loss)))


def _whole_shift(shift: int) -> int:
    if isinstance(shift, bool) or not isinstance(shift, int) or shift < 1:
        raise BadInput(f"shift is {shift!r}; it must be a whole number of at least 1.")
    return shift


def discrete_gaussian_sigma_squared_one_coordinate(
    *, epsilon: Exactable, delta: Exactable, shift: int
) -> Fraction:
    """A variance parameter for which discrete Gaussian noise is (epsilon, delta)-DP.

    Guarantee:   (epsilon, delta)-DP, when ONE coordinate moves by at most `shift`.
    Theorem:     its own hockey-stick divergence, evaluated at the very value returned.

    The delta of a discrete law need not fall steadily with sigma, so this is a value that
    passes next to one that does not, not provably the least of all.
    """
    loss, slack = positive(epsilon, "epsilon"), open_unit(delta, "delta")
    moved = _whole_shift(shift)

    def keeps_the_promise(square: Fraction) -> bool:
        # The delta as published, so that whoever recomputes it agrees.
        return round_up(_delta(square, moved, loss)) <= slack

    return smallest_passing(keeps_the_promise, Fraction(moved * moved))


def _delta(square: Fraction, shift: int, epsilon: Fraction) -> Any:
    """An upper bound on delta, as an mpmath number."""
    cut = Fraction(shift, 2) - epsilon * square / shift
    last = math.ceil(cut) - 1  # the largest integer below the cut
    sigma = math.sqrt(square)
    # From `last` downwards the mass falls to 1e-20 of its peak within so many terms:
    reach = 10 * sigma if last > 0 else min(10 * sigma, 47 * sigma * sigma / max(-last, 1))
    terms = math.ceil(reach) + max(last, 0) + 2
    if terms <= ENUMERATED:
        return _delta_by_terms(square, shift, cut, last, terms)
    kept = _tail(square, -last, above=True)
    taken = _tail(square, shift - last, above=False)
    ctx = context()
    value = (kept - ctx.exp(number(epsilon)) * taken) / ctx.sqrt(2 * ctx.pi * number(square))
    # The normaliser is at least sqrt(2 pi sigma^2), and 1 + e^(-2 pi^2 sigma^2) times it at most.
    return upper(max(value, ctx.mpf(0))) + slack_of(kept)


def _delta_by_terms(square: Fraction, shift: int, cut: Fraction, last: int, terms: int) -> Any:
    """The sum over x < c of p(x) (1 - exp(-(c - x) D / sigma^2)): no two terms cancel."""
    ctx = context()
    below = np.arange(terms, dtype=np.float64)
    x = float(last) - below
    variance = float(square)
    peak = float(min(last, 0))
    # Relative to the largest mass, so that nothing underflows.
    mass = np.exp(-(x - peak) * (x + peak) / (2 * variance))
    gap = (float(cut - last) + below) * float(shift / square)
    total = float(np.sum((mass * -np.expm1(-gap))[::-1]))
    # What was left out lies below first = last - terms + 1 and falls at least geometrically.
    first = float(x[-1])
    ratio = math.exp(min(0.0, first / variance))
    rest = float(mass[-1]) / (1 - ratio)
    scale = ctx.exp(-number(Fraction(min(last, 0)) ** 2 / (2 * square)))
    bound = (total + rest) * (1 + FLOAT_SLACK) / gaussian_normaliser(variance)
    return ctx.mpf(bound) * scale


def _tail(square: Fraction, start: int, *, above: bool) -> Any:
    """A bound on the sum over k >= start of exp(-k^2 / (2 square)), from above or from below.

    Euler-Maclaurin at the midpoint a = start - 1/2: the integral, plus for n = 1, 3, ..., 15
    the constant c_n = -B_{n+1}(1/2) / (n+1)! times the n-th derivative at a. The remainder is at most
    2 |B_16| / 16! times the integral of the 16-th derivative's absolute value.
    """
    ctx = context()
    if start <= 0:  # by symmetry, all the integers but those above -start
        whole = ctx.sqrt(2 * ctx.pi * number(square))
        whole *= 1 + (3 * ctx.exp(-2 * ctx.pi**2 * number(square)) if above else 0)
        return whole - _tail(square, 1 - start, above=not above)
    sigma = ctx.sqrt(number(square))
    u = number(Fraction(2 * start - 1, 2)) / sigma
    bell = ctx.exp(-u * u / 2)
    total = sigma * ctx.sqrt(ctx.pi / 2) * ctx.erfc(u / ctx.sqrt(ctx.mpf(2)))
    hermite = _hermite(u)
    for n in range(1, ORDER, 2):
        derivative = -hermite[n] * bell / sigma**n  # odd n: (-1)^n He_n
        total -= ctx.bernpoly(n + 1, ctx.mpf(1) / 2) / ctx.factorial(n + 1) * derivative
    if u >= LARGEST_ROOT:
        rough = abs(hermite[ORDER - 1]) * bell
    else:  # Cramer's inequality: |He_n(u)| <= 1.09 sqrt(n!) e^(u^2/4)
        rough = 1.09 * ctx.sqrt(ctx.factorial(ORDER) * ctx.pi) * ctx.erfc(u / 2)
    rest = 2 * abs(ctx.bernoulli(ORDER)) / ctx.factorial(ORDER) * rough / sigma ** (ORDER - 1)
    rest += slack_of(total)
    return total + rest if above else max(total - rest, ctx.mpf(0))


def _hermite(u: Any) -> list[Any]:
    values = [u * 0 + 1, u]
    for n in range(1, ORDER):
        values.append(u * values[n] - n * values[n - 1])
    return values
