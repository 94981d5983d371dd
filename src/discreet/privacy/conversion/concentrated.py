"""zCDP: from and to rho. Results are rounded against us."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from discreet.errors import BadBudget
from discreet.privacy.conversion.rounding import (
    context,
    non_negative,
    number,
    open_unit,
    positive,
    round_down,
    round_up,
    slack_of,
    upper,
)
from discreet.privacy.exact import Exactable


def rho_from_pure(epsilon: Exactable) -> Fraction:
    """epsilon-DP is (epsilon^2 / 2)-zCDP (Bun and Steinke 2016, prop. 1.4). Exact."""
    return non_negative(epsilon, "epsilon") ** 2 / 2


def half_range_from_rho(rho: Fraction) -> Fraction:
    """Half the length of an interval that privacy losses may spread over at a cost of `rho`, rounded down.

    Theorem: losses within an interval of length 2h make h^2/2-zCDP (Cesar and Rogers 2021, lemma 3.4).
    """
    scale = 1 << 40
    return Fraction(math.isqrt(int(2 * rho * scale * scale)), scale)


def epsilon_from_rho(rho: Exactable, *, delta: Exactable) -> Fraction:
    """The epsilon that rho-zCDP gives at `delta`, rounded up.

    Theorem: Canonne, Kamath, Steinke 2020, cor. 13: for every alpha > 1,
    epsilon = alpha rho + (ln(1/delta) + (alpha-1) ln(1-1/alpha) - ln alpha) / (alpha-1).
    Any alpha gives a valid bound, so only the last evaluation has to be careful.
    """
    loss, slack = non_negative(rho, "rho"), open_unit(delta, "delta")
    if loss == 0:
        return Fraction(0)
    ctx = context()
    ln_delta = ctx.log(number(slack))
    alpha = 1 + _best_order_for_epsilon(float(loss), -float(ln_delta))
    terms = [number(alpha * loss), *_order_terms(alpha, ln_delta)]
    value = sum(terms) + slack_of(sum(abs(term) for term in terms))
    return round_up(value) if value > 0 else Fraction(0)


def _order_terms(alpha: Fraction, ln_delta: Any) -> list[Any]:
    """The two parts of epsilon(alpha) - alpha rho."""
    ctx = context()
    order = number(alpha - 1)
    return [-(ln_delta + ctx.log(number(alpha))) / order, ctx.log(order) - ctx.log(number(alpha))]


def _best_order_for_epsilon(rho: float, ln_inverse_delta: float) -> Fraction:
    """alpha - 1 where the derivative of epsilon(alpha) vanishes: rho (alpha-1)^2 = ln(1/(delta alpha))."""
    return _root(lambda order: rho * order**2 + math.log1p(order) - ln_inverse_delta)


def _root(increasing: Callable[[float], float]) -> Fraction:
    """Where an increasing function of a positive number crosses 0, roughly, as a rational."""
    low, high = -200.0, 200.0  # of ln(order)
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (low, middle) if increasing(math.exp(middle)) > 0 else (middle, high)
    return Fraction(math.exp(high))


def delta_from_rho(rho: Exactable, *, epsilon: Exactable) -> Fraction:
    """The delta that rho-zCDP gives at `epsilon`, rounded up, at most 1.

    Theorem: Canonne, Kamath, Steinke 2020, cor. 13: for every alpha > 1,
    delta = exp((alpha-1)(alpha rho - epsilon)) / (alpha-1) * (1 - 1/alpha)^alpha.
    """
    loss, limit = non_negative(rho, "rho"), non_negative(epsilon, "epsilon")
    if loss == 0:
        return Fraction(0)
    rate, bound = float(loss), float(limit)
    order = _root(
        lambda order: (2 * order + 1) * rate - bound + math.log(order) - math.log1p(order)
    )
    alpha, ctx = 1 + order, context()
    terms = [
        number(order * (alpha * loss - limit)),
        -ctx.log(number(order)),
        number(alpha) * (ctx.log(number(order)) - ctx.log(number(alpha))),
    ]
    exponent = sum(terms) + slack_of(sum(abs(term) for term in terms))
    return min(Fraction(1), round_up(upper(ctx.exp(exponent)))) if exponent < 0 else Fraction(1)


def rho_from_budget(*, epsilon: Exactable, delta: Exactable) -> Fraction:
    """The largest rho whose `epsilon_from_rho` at `delta` is within epsilon, rounded down."""
    limit, slack = positive(epsilon, "epsilon"), open_unit(delta, "delta")
    ctx = context()
    ln_delta = ctx.log(number(slack))

    def allowance(order: Fraction) -> Any:
        return (number(limit) - sum(_order_terms(1 + order, ln_delta))) / number(1 + order)

    guess = _largest_allowance(float(limit), -float(ln_delta), allowance)
    shrink = Fraction(1, 10**14)
    while True:
        rho = round_down(guess * number(1 - shrink))
        if epsilon_from_rho(rho, delta=slack) <= limit:
            return rho
        shrink *= 4
        if shrink > Fraction(1, 10**4):  # pragma: no cover
            raise BadBudget("No rho fits this epsilon and delta.")


def _largest_allowance(
    epsilon: float, ln_inverse_delta: float, allowance: Callable[[Fraction], Any]
) -> Any:
    """The best rho over alpha: where rho(alpha)'s own optimal order is alpha."""

    def excess(ln_order: float) -> float:
        # rho (alpha-1)^2 - ln(1/(delta alpha)) at rho = allowance(alpha): its sign says on
        # which side of the best alpha we are.
        order = math.exp(ln_order)
        gain = (ln_inverse_delta - math.log1p(order)) / order + ln_order - math.log1p(order)
        rho = (epsilon - gain) / (1 + order)
        return rho * order**2 - (ln_inverse_delta - math.log1p(order))

    low, high = -200.0, 200.0
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (low, middle) if excess(middle) > 0 else (middle, high)
    return allowance(Fraction(math.exp(high)))
