"""Tables while they are worked out: a result, and what an expression can see of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from discreet.arrays import Floats
from discreet.postprocessing.across import Groups, retagged
from discreet.postprocessing.logic import holds
from discreet.postprocessing.plan import Select
from discreet.postprocessing.rows import Places
from discreet.postprocessing.values import Labels, Levels, Numbers, Origin, Value, chosen_among
from discreet.schema.columns.column import NULL_LABEL


@dataclass(frozen=True, slots=True, eq=False)
class Doubt:
    """How many rows there may be, at each level, where noisy numbers chose them."""

    fewest: Floats
    most: Floats
    origins: Mapping[Origin, int]

    @classmethod
    def of(cls, condition: Labels, rows: int, before: Doubt | None, levels: Levels) -> Doubt | None:
        """How many rows a condition leaves. `before` is the doubt about their number before it."""
        if before is None and not condition.origins:
            return None
        unsure = condition.unsure
        if unsure is None:
            unsure = np.zeros((len(levels), len(condition)), dtype=np.bool_)
        kept = holds(condition)
        fewest, most = (kept & ~unsure).sum(axis=1), (kept | unsure).sum(axis=1)
        origins = retagged(condition, "counted", rows)
        if before is not None:
            fewest = np.maximum(0, fewest - (rows - before.fewest))
            most = most + before.most - rows
            origins |= before.origins
        return cls(fewest, most, origins)


@dataclass(slots=True, eq=False)
class Result:
    """A table that was worked out: columns of values, and what to know of them."""

    names: list[str]
    values: list[Value]
    rows: int
    notes: dict[str, None]
    shows: int = 0
    """How many columns are shown; the others only sort."""
    doubt: Doubt | None = None


@dataclass(slots=True, eq=False)
class Frame:
    """What an expression can see: the rows of a source, or the groups that they are put into."""

    rows: int
    keys: list[Value]
    measures: dict[tuple[int, int], Numbers]
    fields: list[Value]
    inner: Frame | None = None
    """The rows behind the groups."""
    groups: Groups | None = None
    doubt: Doubt | None = None

    def taken(self, places: Places) -> Frame:
        return replace(
            self,
            rows=len(places),
            keys=[each.taken(places) for each in self.keys],
            measures={name: each.taken(places) for name, each in self.measures.items()},
            fields=[each.taken(places) for each in self.fields],
            groups=None if self.groups is None else [self.groups[place] for place in places],
            doubt=None,
        )

    def chosen(self, places: Places) -> Frame:
        """The rows that noisy numbers chose."""
        found = self.taken(places)
        measures = {name: chosen_among(each, self.rows) for name, each in found.measures.items()}
        found.measures = {
            name: each for name, each in measures.items() if isinstance(each, Numbers)
        }
        found.fields = [chosen_among(each, self.rows) for each in found.fields]
        return found


MOST_NAMED = 3
"""Groups that a note names."""


def note_open_sides(found: Labels, frame: Frame, what: str, notes: dict[str, None]) -> None:
    """Says for how many rows, and some of which, a filter goes by an estimate whose interval lies on both sides."""
    if found.unsure is not None and found.unsure[0].any():
        edge = np.flatnonzero(found.unsure[0])
        named = _named(frame, edge)
        notes[
            f"{what} follows the estimates. For {len(edge):,} of {frame.rows:,} groups the interval "
            f"does not say on which side they lie{named}."
        ] = None


def note_open_order(
    keys: Sequence[Value], select: Select, order: Places, notes: dict[str, None]
) -> None:
    """Says where the estimates order what the intervals do not."""
    first = keys[0]
    if not isinstance(first, Numbers) or first.is_exact or len(order) < 2:
        return
    lower, upper = first.lower[0][order], first.upper[0][order]
    stop = len(order) if select.limit is None else select.offset + select.limit
    if select.limit is not None and 0 < stop < len(order):
        last = upper[:stop].min() if not select.order[0].is_descending else lower[:stop].min()
        rest = lower[stop:] if not select.order[0].is_descending else upper[stop:]
        close = int(
            (rest <= last).sum() if not select.order[0].is_descending else (rest >= last).sum()
        )
        if close:
            notes[
                f"The order follows the estimates. Of the groups that LIMIT leaves out, {close:,} may "
                "belong among those shown: their intervals overlap."
            ] = None
            return
    overlap = int(((lower[1:] <= upper[:-1]) & (lower[:-1] <= upper[1:]))[: max(stop - 1, 0)].sum())
    if overlap:
        notes[
            f"The order follows the estimates. For {overlap:,} of {min(stop, len(order)) - 1:,} pairs of "
            "neighbouring rows the intervals overlap, so their order is not certain."
        ] = None


def note_open_window(function: str, notes: dict[str, None]) -> None:
    """Says that noisy numbers chose the rows that a window function takes together."""
    notes[
        f"{function}() OVER follows the estimates: noisy numbers order the rows, or part them. Its interval is about the rows "
        "that the estimates put together."
    ] = None


def note_open_filter(found: Labels, notes: dict[str, None]) -> None:
    """A note on FILTER (WHERE ...) over the rows of a result, if noisy numbers decide it."""
    if found.unsure is not None and found.unsure[0].any():
        notes[
            f"FILTER follows the estimates. For {int(found.unsure[0].sum()):,} of {len(found):,} rows the interval does "
            "not say on which side they lie."
        ] = None


def _named(frame: Frame, places: Places) -> str:
    """Some groups by their names."""
    labels = [each for each in [*frame.keys, *frame.fields] if isinstance(each, Labels)]
    if not labels:
        return ""
    shown = [
        ", ".join(_key_text(each.values[place]) for each in labels) for place in places[:MOST_NAMED]
    ]
    more = " ..." if len(places) > MOST_NAMED else ""
    return f" ({'; '.join(shown)}{more})"


def _key_text(value: object) -> str:
    """A group's key as the answer's table writes it."""
    if value is None:
        return NULL_LABEL
    return str(value).lower() if isinstance(value, bool) else str(value)
