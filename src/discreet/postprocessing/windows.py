"""Window functions: what a row knows of the others in its partition."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from discreet.arrays import Bools
from discreet.postprocessing.across import Groups, across, ranks, retagged, running
from discreet.postprocessing.arithmetic import chosen, numbers_of
from discreet.postprocessing.joint_noise import JointNoise
from discreet.postprocessing.plan import Over
from discreet.postprocessing.rows import Places, sorted_places, stacked, taken_or_null
from discreet.postprocessing.values import Labels, Levels, Numbers, Value
from discreet.schema.columns.column import OTHER_LABEL

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
    if name in ("lag", "lead"):
        return _neighbours(asked, arguments, order, _placed(keys, rows)[order], levels)
    if asked.frame is not None:
        return _framed(asked, arguments, order[_placed(keys, rows)[order]], rows, levels)
    if name in SHIFTS:
        return _first_or_last(asked, arguments[0], order)
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


def _placed(keys: list[Value], rows: int) -> Bools:
    """The rows that have a place in the order of some keys: null and undeclared values are listed, and have none."""
    found = np.ones(rows, dtype=np.bool_)
    for key in keys:
        if isinstance(key, Labels):
            found &= np.array([each is not None and each != OTHER_LABEL for each in key.values])
    return found


def _first_or_last(asked: Over, value: Value, order: Places) -> Value:
    """The value of the first row, or of the last so far, which is the row itself."""
    if not len(order):
        return value
    if asked.function == "first_value":
        value = value.taken(np.full(len(order), order[0]))
    return _moved(value, asked.function)


def _framed(asked: Over, arguments: list[Value], chain: Places, rows: int, levels: Levels) -> Value:
    """An aggregate of the rows around each one, among those that have a place in the order; null for the others."""
    before, after = asked.frame or (None, None)
    frames = [
        chain[
            0 if before is None else max(0, place - before) : None
            if after is None
            else place + after + 1
        ]
        for place in range(len(chain))
    ]
    value = arguments[0] if arguments else None
    tag = f"from {before} before to {after} after"
    found = across(asked.function, value, frames, levels, level=0.5, tag=tag)
    back = np.full(rows, -1, dtype=np.int64)
    back[chain] = np.arange(len(chain))
    return taken_or_null(found, back, levels)


def _neighbours(
    asked: Over, arguments: list[Value], order: Places, placed: Bools, levels: Levels
) -> Value:
    """The value of the row before, or after, among those that have a place in the order."""
    value, rows = arguments[0], len(order)
    if not rows:
        return value
    chain = order[placed]
    back = np.full(rows, -1, dtype=np.int64)
    back[chain] = np.arange(len(chain))
    step = 1 if len(arguments) < 2 else int(numbers_of(arguments[1], levels).estimate[0])
    source = back - step if asked.function == "lag" else back + step
    outside = (back < 0) | (source < 0) | (source >= len(chain))
    at = chain[np.clip(source, 0, len(chain) - 1)] if len(chain) else order
    found = _moved(value.taken(at), f"{asked.function} {step}")
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
