"""Arithmetic on numbers with intervals: whatever the noisy numbers are within their intervals, the result
is within its own (interval arithmetic).

Weighted sums of numbers whose noise is known keep it: their interval comes from the law of the sum. All
other results hold if the intervals that they are made of hold together, which `Levels` sees to.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from discreet.arrays import Bools, Floats
from discreet.artifacts.answer import Unit
from discreet.errors import BadQuestion
from discreet.postprocessing.joint_noise import JointNoise
from discreet.postprocessing.ratios import ratio_ends
from discreet.postprocessing.values import (
    Labels,
    Levels,
    Noise,
    Numbers,
    Value,
    choice_tag,
    joined_origins,
)
from discreet.questions.cells.values import Span
from discreet.schema.columns.column import OTHER_LABEL
from discreet.schema.columns.values import double_of

Function = Callable[[Floats], Floats]


def numbers_of(value: Value, levels: Levels, what: str = "Arithmetic") -> Numbers:
    """Values as numbers; a cell of several numbers is all of them at once."""
    if isinstance(value, Numbers):
        return value
    rows = len(value)
    found, low, high = np.empty(rows), np.empty(rows), np.empty(rows)
    for place, each in enumerate(value.values):
        ends = (each.first, each.last) if isinstance(each, Span) else (each, each)
        if each is None or each == OTHER_LABEL:
            ends = (np.nan, np.nan)
        elif isinstance(each, str) and (numeral := double_of(each)) is not None:
            ends = (numeral, numeral)
        if not all(isinstance(end, (int, float)) for end in ends):
            raise BadQuestion(f"{what} takes numbers, and a value here is {str(each)!r}.")
        low[place], high[place] = map(float, ends)
        found[place] = (low[place] + high[place]) / 2
    shape = (len(levels), rows)
    return Numbers(found, np.broadcast_to(low, shape), np.broadcast_to(high, shape), np.zeros(rows))


def add(left: Numbers, right: Numbers, levels: Levels) -> Numbers:
    for one, other in ((left, right), (right, left)):
        if one.noise is not None and other.is_exact and not other.is_null.any():
            return _shifted(one, other)
    noise = _sum_of_noise(left, right)
    if noise is not None:
        return of_noise(noise, left, right, levels, are_counts=are_counts(left, right))
    return _of_all(
        left.estimate + right.estimate,
        _defined(left.lower + right.lower, -np.inf),
        _defined(left.upper + right.upper, np.inf),
        left.std + right.std,
        left,
        right,
    )


def negative(value: Numbers) -> Numbers:
    return replace(
        value,
        estimate=-value.estimate,
        lower=-value.upper,
        upper=-value.lower,
        unit=Unit.NUMBER,
        noise=value.noise and value.noise.times(-1.0),
    )


def subtract(left: Numbers, right: Numbers, levels: Levels) -> Numbers:
    return add(left, negative(right), levels)


def multiply(left: Numbers, right: Numbers, levels: Levels) -> Numbers:
    for one, other in ((left, right), (right, left)):
        factor = constant_of(one)
        if factor is not None and other.noise is not None and _is_moderate(factor):
            return _scaled(other, factor)
    corners = [_product(a, b) for a in (left.lower, left.upper) for b in (right.lower, right.upper)]
    return _of_all(
        left.estimate * right.estimate,
        np.min(corners, axis=0),
        np.max(corners, axis=0),
        np.abs(left.estimate) * right.std + np.abs(right.estimate) * left.std,
        left,
        right,
    )


def divide(left: Numbers, right: Numbers, levels: Levels) -> Numbers:
    """Null where the divisor is 0. Where it may be 0, the quotient may be anything that signs allow."""
    factor = constant_of(right)
    if factor and left.noise is not None and _is_moderate(factor):
        return _scaled(left, 1 / factor)
    with np.errstate(all="ignore"):
        estimate = np.where(right.estimate == 0, np.nan, left.estimate / right.estimate)
        corners = [
            _defined(a / b, 0.0)
            for a in (left.lower, left.upper)
            for b in (right.lower, right.upper)
        ]
        std = left.std / np.abs(right.estimate) + np.abs(estimate) * right.std / np.abs(
            right.estimate
        )
    lower, upper = np.min(corners, axis=0), np.max(corners, axis=0)
    may_be_zero = (right.lower <= 0) & (right.upper >= 0)
    never_below = may_be_zero & (right.lower >= 0) & (left.lower >= 0)
    with np.errstate(all="ignore"):
        least = _defined(left.lower / right.upper, 0.0)
    lower = np.where(never_below, least, np.where(may_be_zero, -np.inf, lower))
    upper = np.where(may_be_zero, np.inf, upper)
    by_zero = (right.lower == 0) & (right.upper == 0)
    lower, upper = (np.where(by_zero, np.nan, each) for each in (lower, upper))
    ends = ratio_ends(left, right, levels)
    if ends is not None:
        nothing = by_zero | np.isnan(left.lower) | np.isnan(right.lower)
        lower, upper = (np.where(nothing, np.nan, each) for each in ends)
        return Numbers(
            np.clip(estimate, lower[0], upper[0]),
            lower,
            upper,
            np.where(np.isnan(std), np.inf, std),
            left.covers.joined(right.covers),
            origins={
                (
                    -1,
                    hash((left.noise and left.noise.known, right.noise and right.noise.known)),
                    choice_tag(left, right),
                ): 1
            },
        )
    return _of_all(estimate, lower, upper, np.where(np.isnan(std), np.inf, std), left, right)


def remainder(left: Numbers, right: Numbers, levels: Levels) -> Numbers:
    with np.errstate(all="ignore"):
        estimate = np.where(right.estimate == 0, np.nan, np.fmod(left.estimate, right.estimate))
    if left.is_exact and right.is_exact:
        return Numbers.exact(estimate, len(levels))
    furthest = np.maximum(np.abs(right.lower), np.abs(right.upper))
    furthest = np.minimum(furthest, np.maximum(np.abs(left.lower), np.abs(left.upper)))
    lower = np.where(left.lower >= 0, 0.0, -furthest)
    upper = np.where(left.upper <= 0, 0.0, furthest)
    return _of_all(estimate, lower, upper, left.std + right.std, left, right)


def increasing(value: Numbers, function: Function, slope: Function | None = None) -> Numbers:
    """A function that never falls, so the ends of the interval go to the ends of the result."""
    with np.errstate(all="ignore"):
        estimate, lower, upper = map(function, (value.estimate, value.lower, value.upper))
        std = value.std if slope is None else value.std * np.abs(slope(value.estimate))
    std = np.where(np.isfinite(std), std, np.inf)
    return _of_all(estimate, lower, upper, std, value)


def absolute(value: Numbers) -> Numbers:
    crosses = (value.lower <= 0) & (value.upper >= 0)
    ends = np.abs(value.lower), np.abs(value.upper)
    lower = np.where(crosses, 0.0, np.minimum(*ends))
    return _of_all(np.abs(value.estimate), lower, np.maximum(*ends), value.std, value)


def power(base: Numbers, exponent: Numbers, levels: Levels) -> Numbers:
    raised = constant_of(exponent)
    if raised is None:
        raise BadQuestion("The exponent of a power is a number, such as power(x, 2).")
    if raised == int(raised) and int(raised) % 2 == 0 and raised >= 0:
        base = absolute(base)
    elif raised < 0:
        one = Numbers.exact(np.ones(len(base)), len(levels))
        opposite = Numbers.exact(np.full(len(base), -raised), len(levels))
        return divide(one, power(base, opposite, levels), levels)
    elif raised != int(raised):
        base = replace(base, lower=np.maximum(base.lower, 0.0))
    return increasing(base, lambda x: np.power(x, raised), lambda x: raised * x ** (raised - 1))


def extreme(values: list[Numbers], *, greatest: bool, levels: Levels) -> Numbers:
    """GREATEST and LEAST of each row; nulls are passed over."""
    choose = np.fmax if greatest else np.fmin
    first, *others = values
    for other in others:
        first = _result(
            choose(first.estimate, other.estimate),
            choose(first.lower, other.lower),
            choose(first.upper, other.upper),
            np.maximum(first.std, other.std),
            first,
            other,
        )
    return first


def chosen(
    take: Bools, unsure: npt.NDArray[np.bool_] | None, yes: Value, no: Value, levels: Levels
) -> Value:
    """`yes` where `take`, else `no`; where the choice is not sure, the interval covers both."""
    if isinstance(yes, Labels) and isinstance(no, Labels):
        values = np.where(take, yes.values, no.values)
        return Labels(values, _unsure_choice(take, unsure, yes, no), joined_origins(yes, no))
    yes, no = _alike(yes, no, levels)
    lower = np.where(take, yes.lower, no.lower)
    upper = np.where(take, yes.upper, no.upper)
    if unsure is not None:
        lower = np.where(unsure, np.fmin(yes.lower, no.lower), lower)
        upper = np.where(unsure, np.fmax(yes.upper, no.upper), upper)
    return _result(
        np.where(take, yes.estimate, no.estimate),
        lower,
        upper,
        np.where(take, yes.std, no.std),
        yes,
        no,
    )


def _alike(yes: Value, no: Value, levels: Levels) -> tuple[Numbers, Numbers]:
    try:
        return numbers_of(yes, levels), numbers_of(no, levels)
    except BadQuestion:
        raise BadQuestion(
            "The branches of a CASE or COALESCE are all numbers, or all texts."
        ) from None


def _unsure_choice(
    take: Bools, unsure: npt.NDArray[np.bool_] | None, yes: Labels, no: Labels
) -> npt.NDArray[np.bool_] | None:
    parts = [each for each in (yes.unsure, no.unsure, unsure) if each is not None]
    if not parts:
        return None
    found = np.zeros_like(parts[0])
    if yes.unsure is not None:
        found = found | (yes.unsure & take)
    if no.unsure is not None:
        found = found | (no.unsure & ~take)
    if unsure is not None:
        differs = np.array([a != b for a, b in zip(yes.values, no.values, strict=True)], dtype=bool)
        found = found | (unsure & differs)
    return found


OF_NO_ROWS = 2.0
"""An exponent, a base and a number of digits: what is worked out for no rows is nothing."""


def constant_of(value: Numbers) -> float | None:
    """The number that stands in every row, exactly; `None` where there is none. Without rows any number does."""
    if not value.is_exact:
        return None
    if not len(value):
        return OF_NO_ROWS
    if np.isnan(value.estimate[0]):
        return None
    first = value.estimate[0]
    return float(first) if bool((value.estimate == first).all()) else None


def _is_moderate(factor: float) -> bool:
    """Whether laws of noise can be computed with it; beyond, interval arithmetic does."""
    return factor == 0 or 1e-100 < abs(factor) < 1e100


def _scaled(value: Numbers, factor: float) -> Numbers:
    """A multiple of a noisy number: its interval is the same multiple, so a count stays above 0."""
    ends = value.lower * factor, value.upper * factor
    return replace(
        value,
        estimate=value.estimate * factor,
        lower=np.minimum(*ends),
        upper=np.maximum(*ends),
        std=value.std * abs(factor),
        unit=Unit.NUMBER,
        noise=value.noise and value.noise.times(factor),
    )


def _shifted(value: Numbers, by: Numbers) -> Numbers:
    """A noisy number and an exact one: its interval moves along, so 100 less a count is never above 100."""
    return replace(
        value,
        estimate=value.estimate + by.estimate,
        lower=value.lower + by.estimate,
        upper=value.upper + by.estimate,
        covers=value.covers.joined(by.covers),
        unit=Unit.NUMBER,
        origins=joined_origins(value, by),
        noise=value.noise and value.noise.shifted(by.estimate),
    )


def of_noise(
    noise: Noise | JointNoise,
    left: Numbers,
    right: Numbers,
    levels: Levels,
    *,
    are_counts: bool = False,
) -> Numbers:
    """The interval of a weighted sum, from the law of its noise; wide enough to hold the sum of what was answered.

    A sum of counts is not below 0. Where the noise pushed it there, its interval keeps its width above 0.
    """
    widths = np.array([noise.widths(levels.at(level)) for level in range(len(levels))])
    known = (-1, noise.known, choice_tag(left, right))
    middle, estimate, least = noise.value, noise.estimate, -np.inf
    if are_counts:
        middle, estimate, least = np.maximum(middle, 0.0), np.maximum(estimate, 0.0), 0.0
    return Numbers(
        estimate,
        np.minimum(np.maximum(noise.value - widths, least), estimate),
        np.maximum(middle + widths, estimate),
        np.broadcast_to(noise.std, len(noise.value)),
        left.covers.joined(right.covers),
        Unit.COUNT if are_counts else Unit.NUMBER,
        origins={known: 1},
        noise=noise,
    )


def are_counts(*values: Numbers) -> bool:
    """Counts that were cut off at 0; where they are shown as they were measured, so are their sums."""
    return all(each.unit is Unit.COUNT and not bool((each.lower < 0).any()) for each in values)


def _sum_of_noise(left: Numbers, right: Numbers) -> Noise | JointNoise | None:
    some, more = left.noise, right.noise
    if isinstance(some, Noise) and isinstance(more, Noise):
        return some.plus(more)
    if isinstance(some, JointNoise) and isinstance(more, JointNoise):
        return some.plus(more)
    return None


def _product(left: Floats, right: Floats) -> Floats:
    """0 times infinity is 0: the ends stand for all numbers between them."""
    with np.errstate(all="ignore"):
        found = left * right
    zero = (left == 0) | (right == 0)
    return np.where(zero & ~np.isnan(left) & ~np.isnan(right), 0.0, found)


def _defined(found: Floats, otherwise: float) -> Floats:
    return np.where(np.isnan(found), otherwise, found)


def _result(
    estimate: Floats, lower: Floats, upper: Floats, std: Floats, *parts: Numbers
) -> Numbers:
    """A number made of others. Without an estimate it may still have an interval: it is null by the estimates alone."""
    covers = parts[0].covers
    for each in parts[1:]:
        covers = covers.joined(each.covers)
    return Numbers(
        estimate,
        lower,
        upper,
        np.where(np.isnan(estimate), np.nan, std),
        covers,
        origins=joined_origins(*parts),
    )


def _of_all(
    estimate: Floats, lower: Floats, upper: Floats, std: Floats, *parts: Numbers
) -> Numbers:
    """As `_result`, for a function that is null where one of its arguments is."""
    null = np.any([np.isnan(each.lower) for each in parts], axis=0)
    return _result(
        estimate, np.where(null, np.nan, lower), np.where(null, np.nan, upper), std, *parts
    )
