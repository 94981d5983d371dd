"""Tables while they are worked out: a result, and what an expression can see of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from discreet.arrays import Floats
from discreet.postprocessing.across import Groups, retagged
from discreet.postprocessing.logic import holds
from discreet.postprocessing.rows import Places
from discreet.postprocessing.values import Labels, Levels, Numbers, Origin, Value, chosen_among


@dataclass(frozen=True, slots=True, eq=False)
class Doubt:
    """How many rows there may be, at each level, where noisy numbers chose them."""

    fewest: Floats
    most: Floats
    origins: Mapping[Origin, int]

    @classmethod
    def of(cls, condition: Labels, rows: int, before: Doubt | None, levels: Levels) -> Doubt | None:
        """Of the rows for which a condition holds, among some of which the number may be in doubt already."""
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
