"""Groups of several keys together: which of them some row could be in. The schema decides that, and no row.

`GROUP BY quarter(d), month(d)` has 12 groups of dates and not 48: a row of January is in the first quarter. Keys that
share a column are looked at on the pieces of it on which none of them changes.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise, product
from math import inf, lcm, nextafter, prod

import numpy as np

from discreet.arrays import Bools, Integers
from discreet.questions.cells.halving import reach_of_cells, reach_outside
from discreet.questions.cells.reach import NULL, Reach, numbers
from discreet.questions.cells.reaching.expressions import reach_of
from discreet.questions.conditions import anywhere
from discreet.questions.expressions import Expression, Unit, columns_of
from discreet.questions.keys import (
    ComputedKey,
    Key,
    cell_reaches,
    key_size,
    possible_codes,
    unclamped,
)
from discreet.schema import Column, OrderedColumn, Schema

MOST_TOGETHER = 1 << 12
"""Groups, or pieces of a column, that are looked at one by one, whether a condition rules them out."""
MOST_PIECES = 1 << 17
"""Pieces of one column that keys share."""
MOST_PRODUCTS = 1 << 20
"""Combinations of pieces of several columns that keys share."""


def possible_groups(
    keys: Sequence[Key], condition: Expression, schema: Schema, *, raw: bool = True
) -> list[tuple[int, ...]]:
    """The groups of some keys together that some row could be in and satisfy a condition, as rows of codes."""
    possible = [possible_codes(key, condition, schema, raw=raw) for key in keys]
    rows = list(product(*possible))
    together = possible_together(keys, rows, condition, schema, raw=raw)
    return [row for row, is_possible in zip(rows, together, strict=True) if is_possible]


def possible_together(
    keys: Sequence[Key],
    rows: Sequence[Sequence[int]],
    condition: Expression,
    schema: Schema,
    *,
    raw: bool = True,
) -> list[bool]:
    """For each row of codes, one a key, whether some row of the table could be in that group and satisfy a condition.

    `WHERE a = 1 AND b = 2 OR a = 3 AND b = 4` leaves two groups, although each value of both keys is possible.
    """
    meet = _meet(keys, rows, condition, schema, raw=raw)
    named = set(columns_of(condition))
    plain = [
        (place, key) for place, key in enumerate(keys) if isinstance(key, str) and key in named
    ]
    if len(plain) < 2 or len(rows) > MOST_TOGETHER:
        return meet
    elsewhere = anywhere(condition)
    names = [key for _, key in plain]
    reaches = [cell_reaches(schema.column(key), raw=raw) for key in names]

    def is_possible(codes: Sequence[int]) -> bool:
        pieces = [own[codes[place]] for own, (place, _) in zip(reaches, plain, strict=True)]
        return any(
            True in reach_of(condition, elsewhere | dict(zip(names, each, strict=True))).options
            for each in product(*pieces)
        )

    return [able and is_possible(codes) for able, codes in zip(meet, rows, strict=True)]


def _meet(
    keys: Sequence[Key],
    rows: Sequence[Sequence[int]],
    condition: Expression,
    schema: Schema,
    *,
    raw: bool,
) -> list[bool]:
    """Whether the groups of a row share some piece of every column that several keys are made from."""
    kept: Bools = np.ones(len(rows), dtype=np.bool_)
    for places in _sharing(keys):
        shared = [keys[place] for place in places]
        sizes = tuple(key_size(key, schema) for key in shared)
        found = _found(shared, condition, schema, raw=raw)
        if found is not None and len(rows):
            codes = np.array([[row[place] for place in places] for row in rows], dtype=np.int64)
            kept &= np.isin(
                np.ravel_multi_index(tuple(codes.T), sizes), np.ravel_multi_index(found, sizes)
            )
    return [bool(each) for each in kept]


def _sharing(keys: Sequence[Key]) -> list[list[int]]:
    """The places of keys that are made from the same columns, directly or through others; no key alone."""
    groups: list[tuple[set[str], list[int]]] = []
    for place, key in enumerate(keys):
        columns, places = set(_columns(key)), [place]
        apart = [each for each in groups if not each[0] & columns]
        for own, theirs in (each for each in groups if each[0] & columns):
            columns, places = columns | own, theirs + places
        groups = [*apart, (columns, places)]
    return [sorted(places) for _, places in groups if len(places) > 1]


def _columns(key: Key) -> tuple[str, ...]:
    return (key,) if isinstance(key, str) else key.bins.columns


def _found(
    keys: Sequence[Key], condition: Expression, schema: Schema, *, raw: bool
) -> tuple[Integers, ...] | None:
    """The codes of each key in all groups that the pieces of the keys' columns make; `None` if there are too many."""
    names = dict.fromkeys(name for key in keys for name in _columns(key))
    columns = [schema.column(name) for name in names]
    if prod(key_size(key, schema) for key in keys) >= 2**62:
        return None
    pieces = [_pieces(column, keys) for column in columns]
    known = [each for each in pieces if each is not None]
    if len(known) < len(pieces) or prod(len(each.cells) for each in known) > MOST_PRODUCTS:
        return None
    if len(known) == 1:
        known[0].choose(columns[0], condition, raw=raw)
    places = np.indices(tuple(len(each.cells) for each in known)).reshape(len(known), -1)
    codes: list[Integers] = []
    for key in keys:
        if isinstance(key, ComputedKey) and not key.bins.starts:
            number = np.zeros(places.shape[1], dtype=np.int64)
            for name in key.bins.columns:
                axis = list(names).index(name)
                number = number * columns[axis].cells + known[axis].cells[places[axis]]
            codes.append(np.array(key.bins.codes, dtype=np.int64)[number])
            continue
        axis = list(names).index(_columns(key)[0])
        own = known[axis].cells if isinstance(key, str) else known[axis].codes[key]
        codes.append(own[places[axis]])
    counted = np.all([each >= 0 for each in codes], axis=0)
    return tuple(each[counted] for each in codes)


@dataclass(slots=True)
class _Pieces:
    """The pieces of a column on which no key changes: the cell of each, and its group of every key over the line."""

    cells: Integers
    codes: dict[ComputedKey, Integers]
    reaches: list[Reach]
    """What a row of a piece may hold; of pieces that repeat, nothing."""

    def choose(self, column: Column, condition: Expression, *, raw: bool) -> None:
        """Keep the pieces on which some row could satisfy a condition."""
        if column.name not in columns_of(condition) or len(self.reaches) > MOST_TOGETHER:
            return
        elsewhere = anywhere(condition)
        wide = [unclamped(each, column) if raw else each for each in self.reaches]
        kept = [
            place
            for place, each in enumerate(wide)
            if True in reach_of(condition, elsewhere | {column.name: each}).options
        ]
        if self.reaches:
            self.cells = self.cells[kept]
            self.codes = {key: each[kept] for key, each in self.codes.items()}


def _pieces(column: Column, keys: Sequence[Key]) -> _Pieces | None:
    on_line = [
        key
        for key in keys
        if isinstance(key, ComputedKey) and key.bins.starts and column.name in key.bins.columns
    ]
    by_cell = any(column.name in _columns(key) for key in keys if key not in on_line)
    if by_cell and column.cells > MOST_PIECES:
        return None
    special: list[tuple[int, list[int], Reach]] = []
    if column.other_cell is not None:
        others = [key.bins.other for key in on_line]
        special.append((column.other_cell, others, reach_outside(column)))
    if column.null_cell is not None:
        special.append((column.null_cell, [key.bins.null for key in on_line], NULL))
    starts: Sequence[Unit] = ()
    if on_line:
        assert isinstance(column, OrderedColumn)
        found = _starts(column, on_line, by_cell=by_cell)
        if found is None:
            return None
        starts, is_whole = found
        end = column.extent(column.value_cells - 1)[1]
        cells = [column.code_of_unit(start) if by_cell else 0 for start in starts]
        lasts = [*(_before(later) for _, later in pairwise(starts)), end] if is_whole else []
        reaches = [numbers(first, last) for first, last in zip(starts, lasts, strict=False)]
    else:
        cells = list(range(column.value_cells))
        reaches = [reach_of_cells(column, code, code + 1) for code in cells]
        is_whole = True
    if is_whole:
        reaches += [reach for *_, reach in special]
    return _Pieces(
        np.array([*cells, *(cell for cell, _, _ in special)], dtype=np.int64),
        {
            key: np.array(
                [*(_code(key, start) for start in starts), *(own[at] for _, own, _ in special)],
                dtype=np.int64,
            )
            for at, key in enumerate(on_line)
        },
        reaches,
    )


def _starts(
    column: OrderedColumn, keys: Sequence[ComputedKey], *, by_cell: bool
) -> tuple[list[Unit], bool] | None:
    """The first units of all pieces in order, and whether they are of the whole line: keys that repeat need one period."""
    low, high = column.extent(0)[0], column.extent(column.value_cells - 1)[1]
    periods = [key.bins.period for key in keys]
    is_whole = by_cell or 0 in periods or high - low < lcm(*periods)
    last = high if is_whole else low + lcm(*periods) - 1
    spans = [(last - low) // each + 2 if each else 1 for each in periods]
    many = sum(len(key.bins.starts) * each for key, each in zip(keys, spans, strict=True))
    if many > MOST_PIECES:
        return None
    found: set[Unit] = {low}
    for key in keys:
        found.update(start for start in _placed(key, low, last) if low <= start <= last)
    if by_cell:
        found.update(column.extent(code)[0] for code in range(column.value_cells))
    return sorted(found), is_whole


def _placed(key: ComputedKey, low: Unit, last: Unit) -> Iterator[Unit]:
    """Where the bins of a key start."""
    period = key.bins.period
    if not period:
        yield from key.bins.starts
        return
    for number in range(int(low) // period, int(last) // period + 1):
        yield from (start + number * period for start in key.bins.starts)


def _code(key: ComputedKey, unit: Unit) -> int:
    place = unit % key.bins.period if key.bins.period else unit
    return key.bins.codes[max(bisect_right(key.bins.starts, place) - 1, 0)]


def _before(unit: Unit) -> Unit:
    return unit - 1 if isinstance(unit, int) else nextafter(unit, -inf)
