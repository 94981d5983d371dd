"""Window functions: what a row knows of the others in its partition."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from discreet.postprocessing.across import Groups, across, ranks, retagged, running
from discreet.postprocessing.arithmetic import chosen, numbers_of
from discreet.postprocessing.joint_noise import JointNoise
from discreet.postprocessing.plan import Over
from discreet.postprocessing.rows import Places, sorted_places, stacked
from discreet.postprocessing.values import Labels, Levels, Numbers, Value

AGGREGATES = ("sum", "avg", "count", "min", "max")
RANKS = ("rank", "dense_rank", "row_number")
SHIFTS = ("lag", "lead", "first_value", "last_value")


def over(
    asked: Over, arguments: Sequence[Value], keys: Sequence[Value], groups: Groups, levels: Levels
) -> Value:
    """A window function of all rows; `groups` are the partitions, `keys` what they are ordered by."""
    rows = sum(len(each) for each in groups)
    if asked.function in AGGREGATES and (not keys or asked.is_whole):
        value = arguments[0] if arguments else None
        tag = f"over {asked.partition}"
        found = across(asked.function, value, groups, levels, level=0.5, tag=tag)
        where = np.empty(rows, dtype=np.int64)
        for place, own in enumerate(groups):
            where[own] = place
        return found.taken(where)
    pieces = [
        _ordered(
            asked,
            [each.taken(own) for each in arguments],
            [each.taken(own) for each in keys],
            own,
            levels,
        )
        for own in groups
    ]
    back = np.empty(rows, dtype=np.int64)
    back[np.concatenate([*groups, np.array([], dtype=np.int64)])] = np.arange(rows)
    return stacked(pieces, levels).taken(back)


def _ordered(
    asked: Over, arguments: list[Value], keys: list[Value], own: Places, levels: Levels
) -> Value:
    """A window function over one partition."""
    rows, name = len(own), asked.function
    order = sorted_places(keys, asked.order, rows)
    if name in RANKS:
        return ranks(
            keys or [Labels.of([0] * rows)],
            order,
            levels,
            kind=name,
            descends=bool(asked.order) and asked.order[0].is_descending,
        )
    if name in SHIFTS:
        return _shifted(asked, arguments, order, levels)
    if name == "ntile":
        tiles = max(1, int(numbers_of(arguments[0], levels).estimate[0])) if rows else 1
        return _by_place(np.floor(np.arange(rows) * tiles / max(rows, 1)) + 1, order, levels)
    if name == "count":
        return _by_place(np.arange(1.0, rows + 1), order, levels)
    return running(name, numbers_of(arguments[0], levels), order, levels)


def _by_place(
    numbers: np.ndarray[tuple[int], np.dtype[np.float64]], order: Places, levels: Levels
) -> Numbers:
    """The number of each row's place in the order."""
    found = np.empty(len(order))
    found[order] = numbers
    return Numbers.exact(found, len(levels))


def _shifted(asked: Over, arguments: list[Value], order: Places, levels: Levels) -> Value:
    """The value of another row: the one before, the one after, the first, the last so far."""
    value, rows = arguments[0], len(order)
    if not rows:
        return value
    back = np.empty(rows, dtype=np.int64)
    back[order] = np.arange(rows)
    if asked.function in ("first_value", "last_value"):
        at = np.zeros(rows, dtype=np.int64) if asked.function == "first_value" else back
        return _moved(value.taken(order[at]), asked.function)
    step = 1 if len(arguments) < 2 else int(numbers_of(arguments[1], levels).estimate[0])
    source = back - step if asked.function == "lag" else back + step
    outside = (source < 0) | (source >= rows)
    found = _moved(value.taken(order[np.clip(source, 0, rows - 1)]), f"{asked.function} {step}")
    otherwise: Value = Labels.of([None] * rows)
    if len(arguments) > 2:
        otherwise = arguments[2]
    elif isinstance(found, Numbers):
        otherwise = Numbers.exact(np.full(rows, np.nan), len(levels))
    return chosen(~outside, None, found, otherwise, levels)


def _moved(value: Value, tag: str) -> Value:
    """The numbers of other rows."""
    value = replace(value, origins=retagged(value, tag, 1))
    if isinstance(value, Numbers) and not isinstance(value.noise, JointNoise):
        return replace(value, noise=None)  # of independent rows, another row's draws have no name
    return value
