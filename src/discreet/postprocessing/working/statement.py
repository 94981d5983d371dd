"""Does the work of a statement: from the answers of its questions to its result.

Filters, orders and limits go by the estimates. Where an interval leaves it open on which side of a filter
a row lies, or which of two rows comes first, a note says so.

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
from discreet.postprocessing import logic
from discreet.postprocessing.across import retagged
from discreet.postprocessing.arithmetic import chosen
from discreet.postprocessing.joint_noise import JointNoise
from discreet.postprocessing.plan import (
    Declared,
    Expression,
    Join,
    Measured,
    OneRow,
    Select,
    Table,
    Union,
)
from discreet.postprocessing.rows import (
    Places,
    partitioned,
    sorted_places,
    stacked,
    taken_or_null,
    unplaced,
)
from discreet.postprocessing.values import Levels, Numbers, Value, chosen_among
from discreet.postprocessing.working.expressions import ExpressionWork
from discreet.postprocessing.working.frames import (
    Doubt,
    Frame,
    Result,
    note_open_order,
    note_open_sides,
)
from discreet.postprocessing.working.measured_groups import MeasuredGroups

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
    """Drops noise that is independent in each row: once a row stands twice, only recorded draws are known."""
    if isinstance(value, Numbers) and not isinstance(value.noise, JointNoise):
        return replace(value, noise=None)
    return value


EMPTY_GROUPS = "Every group that the schema declares is a row of the subquery, also an empty one, such as (other) and null, because it is private which groups are empty. To use only some groups, write WHERE column IN (...) after the subquery."


class Work(ExpressionWork):
    """The work on one statement's answers, at some levels of confidence."""

    def __init__(self, groups: MeasuredGroups) -> None:
        super().__init__(groups.levels)
        self._measured_groups = groups

    def result(self, table: Table) -> Result:
        """What a table is worked out to."""
        if isinstance(table, Select):
            return self._select(table)
        if isinstance(table, Join):
            return self._joined(table)
        parts = [self.result(each) for each in table.tables]
        found = self._united(parts)
        return self._distinct(found) if table.is_distinct else found

    def _joined(self, join: Join) -> Result:
        left, right = (self.result(each) for each in (join.left, join.right))
        frames = [Frame(each.rows, [], {}, each.values) for each in (left, right)]
        keys = [
            (self._value(ours, frames[0]), self._value(theirs, frames[1]))
            for ours, theirs in join.keys
        ]
        return joined(join, left, right, keys, self._levels)

    def _select(self, select: Select) -> Result:
        notes: dict[str, None] = {}
        frame = self._frame(select, notes)
        if select.having is not None:
            frame = self._filtered(frame, select.having, "HAVING", notes)
        values = [self._value(each.value, frame) for each in select.outputs]
        if select.qualify is not None:
            condition = logic.truths(self._value(select.qualify, frame))
            kept = np.flatnonzero(logic.holds(condition))
            note_open_sides(condition, frame, "QUALIFY", notes)
            doubt = Doubt.of(condition, frame.rows, frame.doubt, self._levels)
            if logic.is_open(condition):
                values = [chosen_among(each, frame.rows) for each in values]
            frame, values = frame.taken(kept), [each.taken(kept) for each in values]
            frame.doubt = doubt
        sort_keys = [self._value(each.key, frame) for each in select.order]
        found = Result(
            [each.name for each in select.outputs],
            values,
            frame.rows,
            notes,
            sum(not each.is_hidden for each in select.outputs),
            None
            if select.is_distinct or select.limit is not None or select.offset
            else frame.doubt,
        )
        if select.is_distinct:
            if sort_keys:
                found.values += sort_keys
                found = self._distinct(found)
                sort_keys = found.values[len(select.outputs) :]
                del found.values[len(select.outputs) :]
            else:
                found = self._distinct(found)
        if sort_keys:
            last = np.zeros(found.rows, dtype=np.bool_)
            if not self._measured_groups.is_added_up(sort_keys[0]):
                last = unplaced(sort_keys[0])
            order = sorted_places(sort_keys, select.order, found.rows, last)
            note_open_order(sort_keys, select, order, notes)
            if last.any():
                notes[
                    f"For {int(last.sum()):,} of {found.rows:,} rows the noise hides the place in the order, as for the mean of a group that may be empty. They come last."
                ] = None
            found.values = [each.taken(order) for each in found.values]
        if select.limit is not None or select.offset:
            stop = None if select.limit is None else select.offset + select.limit
            kept = np.arange(found.rows)[select.offset : stop]
            if len(kept) < found.rows and any(each.origins for each in sort_keys):
                found.values = [chosen_among(each, found.rows) for each in found.values]
            found.values = [each.taken(kept) for each in found.values]
            found.rows = len(kept)
        return found

    def _frame(self, select: Select, notes: dict[str, None]) -> Frame:
        source = select.source
        if isinstance(source, OneRow):
            return Frame(1, [], {}, [])
        if isinstance(source, Declared):
            return self._measured_groups.declared(source, notes)
        if isinstance(source, Measured):
            return self._measured_groups.measured(source, notes)
        inside = self.result(source)
        notes |= inside.notes
        frame = Frame(inside.rows, [], {}, inside.values, doubt=inside.doubt)
        if select.keys is not None and _has_groups(source):
            notes[EMPTY_GROUPS] = None
        if select.where is not None:
            frame = self._filtered(frame, select.where, "WHERE", notes)
        return frame if select.keys is None else self._grouped(frame, select.keys)

    def _grouped(self, frame: Frame, keys: Sequence[Expression]) -> Frame:
        """The rows of a result, put into groups; without keys they are one group."""
        values = [self._value(each, frame) for each in keys]
        if any(each.origins for each in values):  # groups by noisy numbers choose rows as well
            frame = frame.chosen(np.arange(frame.rows))
        groups = partitioned(values, frame.rows)
        if not keys:
            groups = [np.arange(frame.rows)]
        first = np.array([each[0] for each in groups if len(each)], dtype=np.int64)
        own = [each.taken(first) for each in values] if keys else []
        return Frame(len(groups), own, {}, [], inner=frame, groups=groups)

    def _filtered(
        self, frame: Frame, condition: Expression, what: str, notes: dict[str, None]
    ) -> Frame:
        found = logic.truths(self._value(condition, frame))
        kept = np.flatnonzero(logic.holds(found))
        note_open_sides(found, frame, what, notes)
        made = frame.chosen(kept) if logic.is_open(found) else frame.taken(kept)
        return replace(made, doubt=Doubt.of(found, frame.rows, frame.doubt, self._levels))

    def _distinct(self, found: Result) -> Result:
        places = [
            int(each[0])
            for each in partitioned(found.values[: found.shows] or found.values, found.rows)
        ]
        kept = np.array(places, dtype=np.int64)
        return replace(found, values=[each.taken(kept) for each in found.values], rows=len(kept))

    def _united(self, parts: list[Result]) -> Result:
        width = parts[0].shows
        if any(each.shows != width for each in parts):
            raise BadQuestion("The parts of a UNION have different numbers of columns.")
        hidden = min(len(each.values) for each in parts)
        notes: dict[str, None] = {}
        for each in parts:
            notes |= each.notes
        values = [
            stacked([each.values[place] for each in parts], self._levels) for place in range(hidden)
        ]
        return Result(
            parts[0].names[:hidden], values, sum(each.rows for each in parts), notes, width
        )


def _has_groups(table: Table) -> bool:
    """Whether the rows of a result are groups of a question."""
    if isinstance(table, Join):
        return _has_groups(table.left) or _has_groups(table.right)
    if isinstance(table, Union):
        return any(_has_groups(each) for each in table.tables)
    if isinstance(table.source, Select | Union | Join):
        return table.keys is None and _has_groups(table.source)
    return isinstance(table.source, Measured) and bool(table.source.keys)
