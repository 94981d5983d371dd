"""Aggregates over the rows of a result: sums, means, extremes and quantiles of noisy numbers.

All of them are monotone in every number, so the aggregate of the lower ends is a lower end of the
aggregate; only the standard deviation is not. It moves by no more than the root mean square of the
numbers' own moves (the triangle inequality of the Euclidean norm).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from discreet.arrays import Floats
from discreet.artifacts.answer import Unit
from discreet.errors import BadQuestion
from discreet.families.shared.estimate.rounding import plausible_counts
from discreet.postprocessing.arithmetic import are_counts, numbers_of, of_noise
from discreet.postprocessing.joint_noise import JointNoise
from discreet.postprocessing.values import (
    Labels,
    Levels,
    Noise,
    Numbers,
    Origin,
    Value,
    chosen_from,
)

Groups = list[npt.NDArray[np.int64]]
"""The places of the rows of each group."""


def across(
    function: str, value: Value | None, groups: Groups, levels: Levels, *, level: float, tag: str
) -> Value:
    """One number for each group of rows; `value` is `None` where rows are counted."""
    if value is None:
        return Numbers.exact([len(each) for each in groups], len(levels))
    if function in _OF_PRESENCE:
        return _OF_PRESENCE[function](numbers_of(value, levels), groups, levels, tag)
    if function == "count":
        present = ~value.is_null
        return Numbers.exact([int(present[each].sum()) for each in groups], len(levels))
    if isinstance(value, Labels):
        return _of_labels(function, value, groups)
    kept = [each[~np.isnan(value.estimate[each])] for each in groups]
    if function in ("sum", "avg") and value.noise is not None and chosen_from(value) == 1:
        found = _of_draws(value, kept, levels, tag, is_mean=function == "avg")
        if found is not None and function == "avg" and are_counts(value):
            return _mean_not_below_zero(found)
        if found is not None:
            return found
    if function == "stddev":
        return _deviation(value, kept, levels, tag)
    reduce = {
        "sum": lambda x: x.sum(axis=-1),
        "avg": lambda x: x.mean(axis=-1),
        "min": lambda x: x.min(axis=-1),
        "max": lambda x: x.max(axis=-1),
        "quantile": lambda x: np.quantile(x, level, axis=-1),
    }.get(function)
    if reduce is None:
        raise BadQuestion(f"{function}() cannot be taken over the rows of a result.")
    return _reduced(value, kept, reduce, levels, tag)


def mode_of(value: Labels, weight: Numbers, groups: Groups) -> Labels:
    """The value of the row with the largest number, and whether another row's may be larger."""
    found: list[object] = []
    unsure = np.zeros((len(weight.lower), len(groups)), dtype=np.bool_)
    for place, rows in enumerate(groups):
        if not len(rows):
            found.append(None)
            continue
        best = int(np.argmax(weight.estimate[rows]))
        found.append(value.values[rows[best]])
        others = np.delete(rows, best)
        if len(others):
            most = weight.upper[:, others].max(axis=1)
            unsure[:, place] = most >= weight.lower[:, rows[best]]
    made = Labels.of(found)
    return Labels(made.values, unsure if unsure.any() else None, weight.origins)


def _present(value: Numbers, groups: Groups, levels: Levels, tag: str) -> Numbers:
    """How many numbers are above 0: at least those that surely are, at most those that may be.

    The estimate counts those that are above 0 by more than a standard deviation of their noise.
    """
    sure, maybe = value.lower > 0, value.upper > 0
    likely = value.estimate > np.where(np.isfinite(value.std), value.std, 0.0)
    lower = np.array([sure[:, rows].sum(axis=1) for rows in groups], dtype=np.float64).T
    upper = np.array([maybe[:, rows].sum(axis=1) for rows in groups], dtype=np.float64).T
    shape = (len(levels), len(groups))
    lower, upper = lower.reshape(shape), upper.reshape(shape)
    estimate = np.array([float(likely[rows].sum()) for rows in groups])
    most = max((len(each) for each in groups), default=0)
    return Numbers(
        np.clip(estimate, lower[0], upper[0]),
        lower,
        upper,
        (upper[0] - lower[0]) / 4,
        value.covers,
        origins=retagged(value, tag, most),
    )


def _present_or_more(value: Numbers, groups: Groups, levels: Levels, tag: str) -> Numbers:
    """The same, where there may be numbers that nobody asked for."""
    known = _present(value, groups, levels, tag)
    unbounded = np.full_like(known.upper, np.inf)
    return replace(known, upper=unbounded, std=np.full_like(known.std, np.inf))


_OF_PRESENCE = {"present": _present, "present or more": _present_or_more}


def retagged(value: Value, tag: str, rows: int) -> dict[Origin, int]:
    """The origins of a number that rests on `rows` other rows, and on all that these were chosen among."""
    rows = max(rows, chosen_from(value)) if rows > 1 else 1
    return {
        (question, place, f"{own}>{tag}"): many * rows
        for (question, place, own), many in value.origins.items()
    }


def _reduced(
    value: Numbers, groups: Groups, reduce: Callable[[Floats], Floats], levels: Levels, tag: str
) -> Numbers:
    shape = (len(levels), len(groups))
    estimate, std = np.full(len(groups), np.nan), np.full(len(groups), np.nan)
    lower, upper = np.full(shape, np.nan), np.full(shape, np.nan)
    for place, rows in enumerate(groups):
        if len(rows):
            estimate[place] = reduce(value.estimate[rows])
            lower[:, place] = reduce(value.lower[:, rows])
            upper[:, place] = reduce(value.upper[:, rows])
            std[place] = reduce(value.std[rows]) if np.isfinite(value.std[rows]).all() else np.inf
    most = max((len(each) for each in groups), default=0)
    return Numbers(
        estimate,
        lower,
        upper,
        std,
        value.covers,
        value.unit,
        origins=retagged(value, tag, most),
    )


def _of_draws(
    value: Numbers, groups: Groups, levels: Levels, tag: str, *, is_mean: bool
) -> Numbers | None:
    """Sums or means of numbers whose draws are known, or of independent ones: the noise of each has one law."""
    if isinstance(value.noise, JointNoise):
        if not all(len(each) for each in groups):
            return None  # a sum of nothing is null
        summed = value.noise.summed(groups, is_mean=is_mean)
        counts = not is_mean and are_counts(value)
        return of_noise(summed, value, value, levels, are_counts=counts)
    assert value.noise is not None
    if any(place[2] for place in value.noise.terms):
        return None
    by_size: dict[int, list[int]] = {}
    for place, each in enumerate(groups):
        by_size.setdefault(len(each), []).append(place)
    parts = {
        size: of_noise(
            _summed(value.noise, [groups[each] for each in places], size, tag, is_mean=is_mean),
            value,
            value,
            levels,
        )
        for size, places in by_size.items()
        if size
    }
    if len(by_size) == 1 and parts:
        (made,) = parts.values()
    else:
        made = _put_together(parts, by_size, len(groups), levels, value)
    return _not_below_zero(made) if value.unit is Unit.COUNT and not is_mean else made


def _summed(noise: Noise, groups: Groups, size: int, tag: str, *, is_mean: bool) -> Noise:
    """The sums, or the means, of groups that all have the same size."""
    terms = {
        (question, place, tag): (weight, law, n * size)
        for (question, place, _), (weight, law, n) in noise.terms.items()
    }
    sums = np.array([noise.value[each].sum() for each in groups])
    found = Noise(sums, terms, noise.slack * size)
    return found.times(1 / size) if is_mean else found


def _put_together(
    parts: dict[int, Numbers],
    by_size: dict[int, list[int]],
    rows: int,
    levels: Levels,
    value: Numbers,
) -> Numbers:
    """The numbers of groups of several sizes; of a group without rows null. Their noises have several laws."""
    shape = (len(levels), rows)
    estimate, std = np.full(rows, np.nan), np.full(rows, np.nan)
    lower, upper = np.full(shape, np.nan), np.full(shape, np.nan)
    for size, part in parts.items():
        places = by_size[size]
        estimate[places], std[places] = part.estimate, part.std
        lower[:, places], upper[:, places] = part.lower, part.upper
    known = hash(tuple(place for part in parts.values() for place in part.origins))
    return Numbers(estimate, lower, upper, std, value.covers, origins={(-1, known, ""): 1})


def _not_below_zero(counts: Numbers) -> Numbers:
    """Sums of counts, which are counts."""
    ends = [
        plausible_counts(counts.estimate, lower, upper)
        for lower, upper in zip(counts.lower, counts.upper, strict=True)
    ]
    return replace(
        counts,
        estimate=ends[0][0],
        lower=np.array([each[1] for each in ends]),
        upper=np.array([each[2] for each in ends]),
        unit=Unit.COUNT,
    )


def _mean_not_below_zero(means: Numbers) -> Numbers:
    """Means of counts. Where noise pushed one below 0, its interval starts at 0 and keeps its width above."""
    return replace(
        means,
        estimate=np.maximum(means.estimate, 0.0),
        lower=np.maximum(means.lower, 0.0),
        upper=means.upper - np.minimum(means.estimate, 0.0),
    )


def _deviation(value: Numbers, groups: Groups, levels: Levels, tag: str) -> Numbers:
    def of_rows(x: Floats) -> Floats:
        return np.asarray(np.std(x, axis=-1, ddof=1)) if x.shape[-1] > 1 else np.asarray(np.nan)

    middle = _reduced(value, groups, of_rows, levels, tag)
    lower, upper = middle.lower.copy(), middle.upper.copy()
    for place, rows in enumerate(groups):
        if len(rows) > 1:
            own = value.estimate[rows]
            moves = np.maximum(value.upper[:, rows] - own, own - value.lower[:, rows])
            reach = np.sqrt((moves**2).sum(axis=1) / (len(rows) - 1))
            lower[:, place] = np.maximum(0.0, middle.estimate[place] - reach)
            upper[:, place] = middle.estimate[place] + reach
    return replace(middle, lower=lower, upper=upper)


def _of_labels(function: str, value: Labels, groups: Groups) -> Value:
    if function not in ("min", "max"):
        raise BadQuestion(f"{function}() takes numbers, and the values here are texts.")
    choose = min if function == "min" else max
    found: list[object] = []
    for rows in groups:
        there = [each for each in value.values[rows] if each is not None]
        found.append(choose(there) if there else None)
    return Labels.of(found)


def running(function: str, value: Numbers, order: npt.NDArray[np.int64], levels: Levels) -> Numbers:
    """SUM, AVG, COUNT, MIN or MAX of the rows up to each one, in an order."""
    places = np.arange(1, len(order) + 1)
    steps: dict[str, Callable[[Floats], Floats]] = {
        "sum": lambda x: np.cumsum(x, axis=-1),
        "avg": lambda x: np.cumsum(x, axis=-1) / places,
        "min": lambda x: np.minimum.accumulate(x, axis=-1),
        "max": lambda x: np.maximum.accumulate(x, axis=-1),
    }
    step = steps.get(function)
    if step is None:
        raise BadQuestion(f"{function}() OVER takes no ORDER BY.")
    back = np.empty(len(order), dtype=np.int64)
    back[order] = np.arange(len(order))
    with np.errstate(invalid="ignore"):
        return Numbers(
            step(value.estimate[order])[back],
            step(value.lower[:, order])[:, back],
            step(value.upper[:, order])[:, back],
            step(value.std[order])[back],
            value.covers,
            origins=retagged(value, "running", len(order)),
        )


def ranks(
    keys: Sequence[Value],
    order: npt.NDArray[np.int64],
    levels: Levels,
    *,
    kind: str,
    descends: bool,
) -> Numbers:
    """The place of each row by its keys: `rank`, `dense_rank` or `row_number`.

    Of noisy numbers the interval says which places are possible: at least one after each row that is
    surely before it, at most one after each that may be.
    """
    rows, value = len(order), keys[0]
    found = np.empty(rows)
    if kind == "row_number":
        found[order] = np.arange(1, rows + 1)
    else:
        alike = [tuple(key.plain[row] for key in keys) for row in range(rows)]
        rank = dense = 0
        for place, row in enumerate(order):
            if place == 0 or alike[row] != alike[order[place - 1]]:
                rank, dense = place + 1, dense + 1
            found[row] = rank if kind == "rank" else dense
    if isinstance(value, Labels) or value.is_exact:
        return Numbers.exact(found, len(levels))
    low, high = (-value.upper, -value.lower) if descends else (value.lower, value.upper)
    lower, upper = np.empty(low.shape), np.empty(low.shape)
    for level in range(len(levels)):
        surely = np.searchsorted(np.sort(high[level]), low[level], side="left")
        maybe = np.searchsorted(np.sort(low[level]), high[level], side="right")
        lower[level], upper[level] = 1 + surely, maybe
    if kind == "dense_rank":
        lower = np.ones_like(lower)
    return Numbers(
        found,
        np.minimum(lower, found),
        np.maximum(upper, found),
        (upper[0] - lower[0]) / 4,
        value.covers,
        origins=retagged(value, "rank", rows),
    )
