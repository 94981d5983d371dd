"""Rows of results: put in order, into groups, side by side and one after the other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.arrays import Bools, Floats
from discreet.artifacts.answers import Answers
from discreet.errors import BadQuestion
from discreet.postprocessing.across import Groups
from discreet.postprocessing.arithmetic import chosen, numbers_of
from discreet.postprocessing.plan import Order
from discreet.postprocessing.values import Labels, Levels, Numbers, Value, joined_origins
from discreet.questions.cells.values import Span

Places = npt.NDArray[np.int64]

FAR_WIDER = 2.0
"""Times all the other intervals together."""


def sorted_places(
    keys: Sequence[Value], order: Sequence[Order], rows: int, last: Bools | None = None
) -> Places:
    """The rows in the order of ORDER BY. Rows that are alike stay as they were. Those of `last` come last."""
    places = np.arange(rows)
    for value, how in reversed(list(zip(keys, order, strict=True))):
        codes = _sortable(value)[places]
        nothing = value.is_null[places]
        ranked = -codes if how.is_descending else codes
        ends = np.where(nothing, -1 if how.nulls_first else 1, 0)
        places = places[np.lexsort((ranked, ends))]
    return places if last is None else places[np.argsort(last[places], kind="stable")]


def unplaced(value: Value) -> Bools:
    """Rows whose number says nothing of their place: its interval is far wider than those of all others together.

    So it is for the mean of a group that may hold no row. Weighted sums of counts are left alone: their noise is alike in
    all groups. If this befalls more than half of the rows, it tells none apart, unless they all have the same interval,
    which contains every other one: the declared bounds of a mean, of groups of which nothing is known.
    """
    nothing = np.zeros(len(value), dtype=np.bool_)
    if not isinstance(value, Numbers) or value.is_exact or value.noise is not None:
        return nothing
    lower, upper = value.lower[0], value.upper[0]
    order = np.argsort(np.where(value.is_null, -np.inf, lower - upper), kind="stable")
    order = order[int(value.is_null.sum()) :]  # the widest first
    for place in range(len(order) // 2, 0, -1):
        wide, rest = order[:place], order[place:]
        least, most = lower[rest].min(), upper[rest].max()
        far = ~(upper[wide] - lower[wide] < FAR_WIDER * (most - least))
        if np.all(far & (lower[wide] <= least) & (upper[wide] >= most)):
            nothing[wide] = True
            break
    return nothing | _known_by_bounds_alone(lower, upper, ~value.is_null)


def _known_by_bounds_alone(lower: Floats, upper: Floats, present: Bools) -> Bools:
    """Rows, two or more, with one interval that contains all others and is far wider than most of them."""
    if not present.any():
        return present
    widest = present & (lower == lower[present].min()) & (upper == upper[present].max())
    rest = present & ~widest
    if widest.sum() < 2 or not rest.any():
        return np.zeros(len(present), dtype=np.bool_)
    usual = float(np.median(upper[rest] - lower[rest]))
    whole = upper[widest][0] - lower[widest][0]
    return np.asarray(widest & (whole > 0) & (whole >= FAR_WIDER * usual))


def _sortable(value: Value) -> npt.NDArray[np.float64]:
    """Numbers that sort as the values do; null is anything."""
    if isinstance(value, Numbers):
        return np.where(np.isnan(value.estimate), 0.0, value.estimate)
    distinct: dict[Any, int] = {}
    present = {each for each in value.values if each is not None}
    for place, each in enumerate(sorted(present, key=_sort_key)):
        distinct[each] = place
    return np.array([distinct.get(each, 0) for each in value.values], dtype=np.float64)


def _sort_key(value: Any) -> tuple[int, Any]:
    """Values of different types one after the other: truths, numbers, dates, texts."""
    if isinstance(value, Span):
        return _sort_key(value.first)
    if isinstance(value, (bool, int, float)):
        return 0, float(value)
    return (1, value.isoformat()) if hasattr(value, "isoformat") else (2, str(value))


def partitioned(values: Sequence[Value], rows: int) -> Groups:
    """The places of rows that are alike, in the order in which they first come."""
    if not values:
        return [np.array([place]) for place in range(rows)]
    found: dict[tuple[Any, ...], list[int]] = {}
    for place, key in enumerate(zip(*(each.keys for each in values), strict=True)):
        found.setdefault(key, []).append(place)
    return [np.array(places, dtype=np.int64) for places in found.values()]


def first_of_each(value: Value, rows: Places) -> Places:
    keys = value.keys
    found = {keys[row]: row for row in reversed(rows)}
    return np.array(sorted(found.values()), dtype=np.int64)


def joined_places(
    first: Answers,
    codes: Places,
    own: Sequence[int],
    other: Answers,
    theirs: Places,
    their_axes: Sequence[int],
    axes: Sequence[int],
) -> Places:
    """For each group of the first question its place among another's groups; -1 where it has none."""
    mine = codes[:, list(own)]
    are_own = not (first.is_through_others or other.is_through_others)
    if are_own and np.array_equal(mine, theirs) and len(own) == len(axes):
        return np.arange(len(mine))
    known = {
        tuple(other.value(axis, int(code)) for axis, code in zip(their_axes, row, strict=True)): at
        for at, row in enumerate(theirs)
    }
    wanted = [axes[each] for each in own]
    return np.array(
        [
            known.get(
                tuple(first.value(axis, int(code)) for axis, code in zip(wanted, row, strict=True)),
                -1,
            )
            for row in mine
        ],
        dtype=np.int64,
    )


def taken_or_null(value: Value, places: Places, levels: Levels) -> Value:
    """The values at some places, and null where the place is -1."""
    missing = places < 0
    nothing: Value = Labels.of([None] * len(places))
    if isinstance(value, Numbers):
        nothing = Numbers.exact(np.full(len(places), np.nan), len(levels))
    if not len(value):
        return nothing
    found = value.taken(np.maximum(places, 0))
    return chosen(missing, None, nothing, found, levels) if missing.any() else found


def stacked(parts: list[Value], levels: Levels) -> Value:
    """The rows of several columns, one after the other."""
    if len(parts) == 1:
        return parts[0]
    if all(isinstance(each, Labels) for each in parts) or not parts:
        labels = [each for each in parts if isinstance(each, Labels)]
        values = np.concatenate([each.values for each in labels]) if labels else np.empty(0, object)
        unsure = None
        if any(each.unsure is not None for each in labels):
            unsure = np.concatenate(
                [
                    np.zeros((len(levels), len(each)), bool) if each.unsure is None else each.unsure
                    for each in labels
                ],
                axis=1,
            )
        return Labels(values, unsure, joined_origins(*labels))
    try:
        numbers = [numbers_of(each, levels) for each in parts]
    except BadQuestion:
        mixed = [
            list(each.values) if isinstance(each, Labels) else _exact_values(each) for each in parts
        ]
        return Labels.of([each for part in mixed for each in part])
    covers = numbers[0].covers
    for each in numbers[1:]:
        covers = covers.joined(each.covers)
    return Numbers(
        np.concatenate([each.estimate for each in numbers]),
        np.concatenate([each.lower for each in numbers], axis=1),
        np.concatenate([each.upper for each in numbers], axis=1),
        np.concatenate([each.std for each in numbers]),
        covers,
        numbers[0].unit,
        _most_origins(numbers),
    )


def _most_origins(numbers: Sequence[Numbers]) -> dict[tuple[int, int, str], int]:
    """Rows rest on the numbers of their own part alone: the part with the most counts."""
    return dict(max(numbers, key=lambda each: each.shared).origins)


def _exact_values(value: Numbers) -> list[Any]:
    if not value.is_exact:
        raise BadQuestion("The parts of a UNION hold numbers and texts in one column.")
    return [None if np.isnan(each) else each for each in value.estimate]
