"""The rows of two results side by side.

A number keeps its interval in a join. Numbers of the right side are other rows' numbers, so they count apart from
those of the left side even where both rest on the same question: both must hold (union bound). Numbers that know
their recorded draws are still recognised. Where a row is there several times, its independent draws are no longer
one for each row, so they are forgotten, and intervals hold however the rows' errors are related.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from discreet.errors import BadQuestion
from discreet.postprocessing.across import retagged
from discreet.postprocessing.arithmetic import chosen
from discreet.postprocessing.joint_noise import JointNoise
from discreet.postprocessing.plan import Join
from discreet.postprocessing.rows import Places, taken_or_null
from discreet.postprocessing.values import Levels, Numbers, Value
from discreet.postprocessing.working.frames import Result

MOST_ROWS = 100_000
"""Rows that a join may have."""
NOISY_KEY = (
    "JOIN puts rows together by what they are groups of. A noisy number is equal to another one by chance alone: compare "
    "them in WHERE or SELECT."
)


def joined(
    join: Join, left: Result, right: Result, keys: Sequence[tuple[Value, Value]], levels: Levels
) -> Result:
    """Left rows in their order, each with the right rows that it meets; then right rows that met none, if they stay."""
    if any(each.origins for pair in keys for each in pair):
        raise BadQuestion(NOISY_KEY)
    ours, theirs = _meeting(join, left.rows, right.rows, keys)
    tag = f"joined to {left.shows} columns"
    values = [
        *(_taken(each, ours, levels) for each in left.values[: left.shows]),
        *(_taken(_apart(each, tag), theirs, levels) for each in right.values[: right.shows]),
    ]
    for one, other in join.merged if join.keeps_right else ():
        values[one] = chosen(ours < 0, None, values[left.shows + other], values[one], levels)
    names = [*left.names[: left.shows], *right.names[: right.shows]]
    return Result(names, values, len(ours), left.notes | right.notes, len(names))


def _meeting(
    join: Join, rows: int, others: int, keys: Sequence[tuple[Value, Value]]
) -> tuple[Places, Places]:
    """The places of rows that meet, on both sides; -1 beside a row that meets none."""
    wanted = _keys([each for each, _ in keys], rows, join.nulls_meet)
    held: dict[Any, list[int]] = defaultdict(list)
    for place, key in enumerate(_keys([each for _, each in keys], others, join.nulls_meet)):
        if key is not None:
            held[key].append(place)
    if sum(len(held.get(key, ())) for key in wanted if key is not None) > MOST_ROWS:
        raise BadQuestion(
            f"The JOIN has more than {MOST_ROWS:,} rows. Join by more keys, or group by fewer columns first."
        )
    pairs, met = [], set[int]()
    for place, key in enumerate(wanted):
        found = [] if key is None else held.get(key, [])
        met.update(found)
        pairs += [(place, each) for each in found or ([-1] if join.keeps_left else [])]
    if join.keeps_right:
        pairs += [(-1, place) for place in range(others) if place not in met]
    both = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    return both[:, 0], both[:, 1]


def _keys(values: Sequence[Value], rows: int, nulls_meet: Sequence[bool]) -> list[Any]:
    """What each row is joined by; `None` where a null meets nothing."""
    found: list[Any] = [()] * rows
    for value, nulls in zip(values, nulls_meet, strict=True):
        plain, nothing = value.plain.tolist(), value.is_null
        for place, key in enumerate(found):
            if key is None:
                continue
            if nothing[place]:
                found[place] = (*key, None) if nulls else None
            else:
                found[place] = (*key, plain[place])
    return found


def _apart(value: Value, tag: str) -> Value:
    """The numbers of the right side, which are not the row's own."""
    return _with_named_draws(replace(value, origins=retagged(value, tag, 1)))


def _taken(value: Value, places: Places, levels: Levels) -> Value:
    """The values at some places, and null where there is none."""
    met = places[places >= 0]
    found = taken_or_null(value, places, levels)
    return _with_named_draws(found) if len(np.unique(met)) < len(met) else found


def _with_named_draws(value: Value) -> Value:
    """Without independent draws of each row: where rows are elsewhere or there twice, only recorded draws are known."""
    if isinstance(value, Numbers) and not isinstance(value.noise, JointNoise):
        return replace(value, noise=None)
    return value
