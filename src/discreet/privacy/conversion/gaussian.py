"""Gaussian differential privacy: from and to mu, which counts in squares.

A mechanism is mu-GDP if two neighbouring tables are no easier to tell apart by its output than
N(0, 1) and N(mu, 1) by one draw (Dong, Roth, Su 2022). Results are rounded against us.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from typing import Any

from discreet.privacy.conversion.rounding import (
    context,
    non_negative,
    number,
    open_unit,
    positive,
    round_down,
    round_up,
    slack_of,
    smallest_passing,
    upper,
)
from discreet.privacy.exact import Exactable

LARGEST_HALF_RANGE = 100
"""Beyond it a simple bound takes the place of the quantile: nobody is protected there anyway."""


def gaussian_delta(
    *, sigma_squared: Exactable, l2_squared: Exactable, epsilon: Exactable
) -> Fraction:
    """The exact delta of Gaussian noise at `epsilon`, rounded up. Holds for rounded noise too.

    Theorem: Balle and Wang 2018, thm 8, with D the L2 sensitivity:
    delta = Phi(D/2s - eps s/D) - e^eps Phi(-D/2s - eps s/D).
    """
    ratio = positive(l2_squared, "l2_squared") / positive(sigma_squared, "sigma_squared")
    return delta_from_mu(ratio, epsilon=epsilon)


def delta_from_mu(mu_squared: Exactable, *, epsilon: Exactable) -> Fraction:
    """The delta that mu-GDP gives at `epsilon`, rounded up.

    Theorem: Dong, Roth, Su 2022, corollary 2.13: that of Gaussian noise of D / sigma = mu.
    """
    loss = non_negative(mu_squared, "mu_squared")
    if loss == 0:
        return Fraction(0)
    return round_up(_gaussian_delta(loss, non_negative(epsilon, "epsilon")))


def _gaussian_delta(mu_squared: Fraction, epsilon: Fraction) -> Any:
    """An upper bound, as an mpmath number."""
    ctx = context()
    mu, loss = ctx.sqrt(number(mu_squared)), number(epsilon)
    root = ctx.sqrt(ctx.mpf(2))
    kept = ctx.erfc((loss / mu - mu / 2) / root) / 2
    taken = ctx.exp(loss) * ctx.erfc((loss / mu + mu / 2) / root) / 2
    # The two nearly cancel when mu is small; the slack is relative to the larger one.
    return upper(kept - taken) + slack_of(kept)


def gaussian_sigma_squared(
    *, epsilon: Exactable, delta: Exactable, l2_squared: Exactable
) -> Fraction:
    """The smallest variance of (continuous or rounded) Gaussian noise for (epsilon, delta), rounded up.

    Guarantee:   (epsilon, delta)-DP, for every epsilon > 0, not only below 1.
    Sensitivity: L2, squared; any number of coordinates may change.
    Theorem:     Balle and Wang 2018, thm 8 (necessary and sufficient).
    """
    loss, slack = positive(epsilon, "epsilon"), open_unit(delta, "delta")
    square = positive(l2_squared, "l2_squared")

    def keeps_the_promise(variance: Fraction) -> bool:
        # The delta as published, so that whoever recomputes it agrees.
        return delta_from_mu(square / variance, epsilon=loss) <= slack

    return smallest_passing(keeps_the_promise, square)


@lru_cache(maxsize=4096, typed=True)  # every charge under a cap asks for the same
def mu_squared_from_budget(*, epsilon: Exactable, delta: Exactable) -> Fraction:
    """The largest mu squared whose delta at `epsilon` is within `delta`, rounded down."""
    return round_down(
        number(1 / gaussian_sigma_squared(epsilon=epsilon, delta=delta, l2_squared=1))
    )


def epsilon_from_mu(mu_squared: Exactable, *, delta: Exactable) -> Fraction:
    """The epsilon that mu-GDP gives at `delta`, rounded up."""
    loss, slack = non_negative(mu_squared, "mu_squared"), open_unit(delta, "delta")
    if delta_from_mu(loss, epsilon=0) <= slack:
        return Fraction(0)
    return smallest_passing(
        lambda epsilon: delta_from_mu(loss, epsilon=epsilon) <= slack, Fraction(1)
    )


@lru_cache(maxsize=4096)
def mu_squared_from_range(half_range: Fraction) -> Fraction:
    """The square of the mu of a mechanism whose privacy losses lie in an interval of length 2 `half_range`.

    epsilon-DP has a half range of epsilon, the exponential mechanism one of epsilon/2.

    Theorem: likelihood ratios within [e^(t-2h), e^t] leave a trade-off curve that is at least the two
    lines of these slopes through (0, 1) and (1, 0). A Gaussian curve is convex, so it lies below them if
    it does where they meet. There the logits of the two error probabilities differ by 2h, and the
    difference of their normal quantiles is largest where they lie evenly about 0, because the quantile
    of a logit is concave above 0: mu = 2 Phi^-1(1 / (1 + e^-h)). It is tight: randomised response
    attains it. Rounded up; beyond `LARGEST_HALF_RANGE`, 1 - Phi(z) <= e^(-z^2/2)/2 gives mu^2 <= 8h.
    """
    half = non_negative(half_range, "half_range")
    if half == 0:
        return Fraction(0)
    if half > LARGEST_HALF_RANGE:
        return 8 * half
    ctx = context()
    wanted = 1 / (1 + ctx.exp(number(half)))

    def far_enough(mu_squared: Fraction) -> bool:
        beyond = ctx.erfc(ctx.sqrt(number(mu_squared) / 8)) / 2
        return bool(upper(beyond) <= wanted - slack_of(wanted))

    return smallest_passing(far_enough, half * half)


@lru_cache(maxsize=4096)
def half_range_from_mu(mu_squared: Fraction) -> Fraction:
    """The inverse of `mu_squared_from_range`, rounded down: half the length that the losses may spread over."""
    loss = positive(mu_squared, "mu_squared")
    if loss >= 8 * LARGEST_HALF_RANGE:
        return loss / 8
    ctx = context()
    beyond = ctx.erfc(ctx.sqrt(number(loss) / 8)) / 2
    guess, shrink = ctx.log((1 - beyond) / beyond), Fraction(1, 10**12)
    while True:
        half = round_down(guess * number(1 - shrink))
        if mu_squared_from_range(half) <= loss:
            return half
        shrink *= 4
