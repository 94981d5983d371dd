"""Window functions: what a row knows of the others in its partition."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from discreet.arrays import Bools, Floats
from discreet.errors import BadQuestion
from discreet.postprocessing.across import Groups, across, ranks, retagged, running
from discreet.postprocessing.arithmetic import chosen, constant_of, numbers_of
from discreet.postprocessing.joint_noise import JointNoise
from discreet.postprocessing.plan import ROWS, WHOLE, Over
from discreet.postprocessing.rows import Places, sorted_places, stacked, taken_or_null
from discreet.postprocessing.values import Labels, Levels, Numbers, Value, chosen_from
from discreet.schema.columns.column import OTHER_LABEL

AGGREGATES = ("sum", "avg", "count", "min", "max")
RANKS = ("rank", "dense_rank", "row_number")
PLACES = (*RANKS, "ntile")
"""Functions whose intervals say which places are possible."""


def over(
    asked: Over, arguments: Sequence[Value], keys: Sequence[Value], groups: Groups, levels: Levels
) -> Value:
    """A window function of all rows; `groups` are the partitions, `keys` what they are ordered by."""
    rows = sum(len(each) for each in groups)
    sees_all = asked.frame == WHOLE or (not keys and asked.frame != ROWS)
    if asked.function in AGGREGATES and sees_all:
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
        return ranks(keys, asked.order, order, levels, kind=name)
    if name == "ntile":
        return _tiles(_step(arguments[0], levels), keys, asked, order, levels)
    if name in ("lag", "lead"):
        return _neighbours(asked, arguments, order, _placed(keys, rows)[order], levels)
    if asked.around is not None:
        return _framed(asked, arguments, order[_placed(keys, rows)[order]], rows, levels)
    last = _last_seen(asked.frame, keys, order)
    if name in ("first_value", "last_value"):
        return _first_or_last(asked, arguments[0], order, last)
    if name == "count":
        known = ~arguments[0].is_null[order] if arguments else np.ones(rows, dtype=np.bool_)
        return _by_place(np.cumsum(known, dtype=np.float64)[last], order, levels)
    return running(name, numbers_of(arguments[0], levels), order, last)


def _last_seen(frame: str, keys: list[Value], order: Places) -> Places:
    """For each place in the order, the last place that its row sees."""
    rows = len(order)
    if frame == ROWS:
        return np.arange(rows)
    ends = np.full(rows, rows - 1)
    if frame != WHOLE:  # up to the last row that is alike
        columns = [each.keys for each in keys]
        for place in range(rows - 2, -1, -1):
            own, after = order[place], order[place + 1]
            alike = all(column[own] == column[after] for column in columns)
            ends[place] = ends[place + 1] if alike else place
    return ends


def _step(value: Value, levels: Levels) -> int:
    """The number that `ntile`, `lag` and `lead` take."""
    given = constant_of(numbers_of(value, levels))
    if given is None or given != int(given):
        raise BadQuestion("ntile(n), lag(x, n) and lead(x, n) take one whole number n.")
    return int(given)


def _tiles(tiles: int, keys: list[Value], asked: Over, order: Places, levels: Levels) -> Numbers:
    """Parts of nearly equal size, the larger ones first. The possible places of a row say which part it may be in."""
    if tiles < 1:
        raise BadQuestion("ntile(n) takes a number n of at least 1.")
    size, larger = divmod(len(order), tiles)
    first = larger * (size + 1)

    def tile(place: Floats) -> Floats:
        behind = larger + (place - 1 - first) // max(size, 1)
        return np.where(place - 1 < first, (place - 1) // (size + 1), behind) + 1

    places = ranks(keys, asked.order, order, levels, kind="row_number")
    lower, upper = tile(places.lower), tile(places.upper)
    std = (upper[0] - lower[0]) / 4
    return replace(places, estimate=tile(places.estimate), lower=lower, upper=upper, std=std)


def _by_place(numbers: Floats, order: Places, levels: Levels) -> Numbers:
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


def _first_or_last(asked: Over, value: Value, order: Places, last: Places) -> Value:
    """The value of the first row, or of the last that a row sees."""
    if not len(order):
        return value
    at = np.empty(len(order), dtype=np.int64)
    at[order] = order[0] if asked.function == "first_value" else order[last]
    return _moved(value.taken(at), asked.function)


def _framed(asked: Over, arguments: list[Value], chain: Places, rows: int, levels: Levels) -> Value:
    """An aggregate of the rows around each one, among those that have a place in the order; null for the others."""
    before, after = asked.around or (None, None)
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
    step = 1 if len(arguments) < 2 else _step(arguments[1], levels)
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
    """The numbers of other rows; where noisy numbers chose these, the intervals of all rows must hold."""
    among = chosen_from(value)
    value = replace(value, origins=retagged(value, tag, among))
    if isinstance(value, Numbers) and (among > 1 or not isinstance(value.noise, JointNoise)):
        return replace(value, noise=None)  # of independent rows, another row's draws have no name
    return value
