"""Aggregates over the rows of a result: sums, means, extremes and quantiles of noisy numbers.

All of them are monotone in every number, so the aggregate of the lower ends is a lower end of the
aggregate; only the standard deviation is not. It moves by no more than the root mean square of the
numbers' own moves (the triangle inequality of the Euclidean norm).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.arrays import Floats
from discreet.artifacts.answer import Unit
from discreet.errors import BadQuestion
from discreet.families.shared.estimate.rounding import plausible_counts
from discreet.postprocessing.arithmetic import are_counts, numbers_of, of_noise
from discreet.postprocessing.joint_noise import JointNoise
from discreet.postprocessing.plan import Order
from discreet.postprocessing.values import (
    Labels,
    Levels,
    Noise,
    Numbers,
    Origin,
    Value,
    chosen_from,
)
from discreet.questions.cells.values import Span
from discreet.schema.columns.column import OTHER_LABEL

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
    if isinstance(value, Labels) and function in ("min", "max"):
        return _of_labels(function, value, groups)
    if isinstance(value, Labels):
        if OTHER_LABEL in value.values:
            raise BadQuestion(f"{function}() takes numbers, and one value here is {OTHER_LABEL}.")
        value = numbers_of(value, levels)
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
        "quantile of rows": lambda x: np.quantile(x, level, axis=-1, method="inverted_cdf"),
    }.get(function)
    if reduce is None:
        raise BadQuestion(f"{function}() cannot be taken over the rows of a result.")
    return _reduced(value, kept, reduce, levels, tag)


def open_count(rows: int, fewest: Floats, most: Floats, origins: Mapping[Origin, int]) -> Numbers:
    """The number of rows that noisy numbers chose: at least those that are surely there, at most those that may be."""
    lower, upper = (each.astype(np.float64)[:, np.newaxis] for each in (fewest, most))
    spread = (upper[0] - lower[0]) / 4
    return Numbers(np.array([float(rows)]), lower, upper, spread, origins=dict(origins))


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
    """As `_present`, where further numbers may exist that no question asked for."""
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
        if not groups or not all(len(each) for each in groups):
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
    """The least or the greatest of exact values; where noise decided one of them, it is not sure."""
    choose = min if function == "min" else max
    found: list[object] = []
    for rows in groups:
        there = [each for each in value.values[rows] if each is not None]
        try:
            found.append(choose(there, key=_ordered) if there else None)
        except TypeError:
            raise BadQuestion(f"{function}() takes values of one kind.") from None
    unsure = None
    if value.unsure is not None:
        unsure = np.array([value.unsure[:, rows].any(axis=1) for rows in groups]).T
    return Labels(Labels.of(found).values, unsure, value.origins)


def _ordered(value: Any) -> Any:
    """A cell of several values stands where its first one does."""
    return value.first if isinstance(value, Span) else value


def running(
    function: str,
    value: Numbers,
    order: npt.NDArray[np.int64],
    last: npt.NDArray[np.int64],
) -> Numbers:
    """SUM, AVG, MIN or MAX of the rows up to the last that each one sees, in an order. Nulls are passed over."""
    known = ~value.is_null[order]
    seen = np.cumsum(known)
    steps: dict[str, tuple[float, Callable[[Floats], Floats]]] = {
        "sum": (0.0, lambda x: np.cumsum(x, axis=-1)),
        "avg": (0.0, lambda x: np.cumsum(x, axis=-1) / seen),
        "min": (np.inf, lambda x: np.minimum.accumulate(x, axis=-1)),
        "max": (-np.inf, lambda x: np.maximum.accumulate(x, axis=-1)),
    }
    if function not in steps:
        raise BadQuestion(f"{function}() OVER takes no ORDER BY.")
    nothing, step = steps[function]
    back = np.empty(len(order), dtype=np.int64)
    back[order] = np.arange(len(order))

    def run(x: Floats) -> Floats:
        found = step(np.where(known, x[..., order], nothing))
        return np.where(seen > 0, found, np.nan)[..., last[back]]

    with np.errstate(invalid="ignore", divide="ignore"):
        return Numbers(
            run(value.estimate),
            run(value.lower),
            run(value.upper),
            run(value.std),
            value.covers,
            origins=retagged(value, "running", len(order)),
        )


def ranks(
    keys: Sequence[Value],
    asked: Sequence[Order],
    order: npt.NDArray[np.int64],
    levels: Levels,
    *,
    kind: str,
) -> Numbers:
    """The place of each row by its keys: `rank`, `dense_rank` or `row_number`.

    Of noisy numbers the interval says which places are possible: at least one after each row that is
    surely before it, at most one after each that may be. Rows that differ in an exact key before it have a sure order.
    """
    rows = len(order)
    found = np.empty(rows)
    if kind == "row_number":
        found[order] = np.arange(1, rows + 1)
    else:
        found[order] = _counted_places([each.keys for each in keys], order, kind)
    noisy = next((n for n, each in enumerate(keys) if not _is_exact(each)), None)
    if noisy is None:
        return Numbers.exact(found, len(levels))
    value = keys[noisy]
    assert isinstance(value, Numbers)
    descends = asked[noisy].is_descending
    low, high = (-value.upper, -value.lower) if descends else (value.lower, value.upper)
    lower, upper = np.empty(low.shape), np.empty(low.shape)
    for start, block in _blocks([each.keys for each in keys[:noisy]], order):
        for level in range(len(levels)):
            least, most = low[level][block], high[level][block]
            surely = np.searchsorted(np.sort(most), least, side="left")
            maybe = np.searchsorted(np.sort(least), most, side="right")
            lower[level][block], upper[level][block] = 1 + start + surely, start + maybe
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


def _is_exact(value: Value) -> bool:
    return isinstance(value, Labels) or value.is_exact


def _counted_places(
    keys: Sequence[list[Any]], order: npt.NDArray[np.int64], kind: str
) -> list[int]:
    """`rank` or `dense_rank` of the rows in their order."""
    found: list[int] = []
    for start, block in _blocks(keys, order):
        rank = start + 1 if kind == "rank" else (found[-1] + 1 if found else 1)
        found += [rank] * len(block)
    return found


def _blocks(
    keys: Sequence[list[Any]], order: npt.NDArray[np.int64]
) -> list[tuple[int, npt.NDArray[np.int64]]]:
    """Rows that follow one another and are alike in some keys, with the number of rows before them."""
    starts = [
        place
        for place, row in enumerate(order)
        if place == 0 or any(key[row] != key[order[place - 1]] for key in keys)
    ]
    ends = [*starts[1:], len(order)][: len(starts)]
    return [(start, order[start:end]) for start, end in zip(starts, ends, strict=True)]
